//! What a newcomer does wrong first, and what the message says to do.

use workalike::prelude::*;

#[track_caller]
fn says<T>(result: workalike::Result<T>, words: &[&str]) {
    let text = result.err().expect("an error").to_string();
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    let (x, w) = (matrix::<f32>("x"), shared("w", Value::zeros(DType::F32, &[4, 3]).unwrap()));
    let f = function([&x]).output(x.dot(&w)).compile().unwrap();
    let wrong = || Value::zeros(DType::F32, &[2, 5]).unwrap();
    let words = ["cannot multiply", "x is (2, 5), w is (4, 3)", "wrong_calls.rs:"];
    says(f.call(args![wrong()]), &words);
    says(f.call_reference(args![wrong()]), &words);
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    says(sim.call(args![wrong()]), &words);
    // Through conversions; what has no name is left out.
    let y = vector::<f64>("y");
    let f = function([&x, &y]).output((&x * 2.0).dot(y.cast(DType::F32))).compile().unwrap();
    says(f.call(args![wrong(), vec![1f64; 3]]), &["cannot multiply", "; y is (3,) (written"]);
    sim.call(args![Value::zeros(DType::F32, &[2, 4]).unwrap()]).unwrap();
}

#[test]
fn arguments_of_another_dtype() {
    let x = matrix::<f32>("x");
    let f = function([&x]).output(&x + 1.0).compile().unwrap();
    let hint = "In::new(..).allow_downcast()";
    says(
        f.call(args![ndarray::array![[1.0, 2.0]]]),
        &["input x: expected float32(?, ?), got float64(1, 2)", hint],
    );
    says(f.call(args![ndarray::array![[1i64, 2]]]), &["got int64(1, 2)", hint]);
    let willing = function([In::new(&x).allow_downcast()]).output(&x + 1.0).compile().unwrap();
    willing.call(args![ndarray::array![[1.0, 2.0]]]).unwrap();
    let text = willing.call(args![vec![1f32]]).unwrap_err().to_string();
    assert!(!text.contains("allow_downcast"), "{text}");
}

#[test]
fn inputs_and_updates_given_twice() {
    let (a, b, n) = (scalar::<f32>("a"), scalar::<f32>("a"), shared("n", 0f32));
    says(
        function([&a, &b]).output(&a + &b).compile(),
        &["two inputs are called a", "In::new(..).name(\"..\")"],
    );
    let renamed = function([In::new(&a), In::new(&b).name("b")]).output(&a + &b).compile().unwrap();
    renamed.call(args! {"a" => 1f32, "b" => 2f32}).unwrap();
    let here = format!("wrong_calls.rs:{}:", line!() + 1);
    let twice = function([&a]).update(&n, &n + 1.0).update(&n, &n + &a).compile();
    says(twice, &["shared variable n is updated twice, by what was written at", &here]);
}

#[test]
fn a_gradient_that_is_not_there() {
    let (x, w) = (vector::<f32>("x"), shared("w", [1f32]));
    let hint = "Grad::of(&cost).disconnected(Disconnected::Zero)";
    says(grad(x.sqr().sum(..), [&w]), &["depends smoothly on w", hint]);
    let zero =
        Grad::of(&x.sqr().sum(..)).disconnected(workalike::grad::Disconnected::Zero).wrt([&w]).unwrap();
    let zero = function(()).output(&zero[0]).compile().unwrap().call(args![]).unwrap();
    assert_eq!(zero[0].to_f64s(), [0.0]);
}

#[test]
fn values_of_another_dtype_or_size_name_the_line() {
    let value = Value::zeros(DType::F32, &[2, 3]).unwrap();
    let here = format!("wrong_calls.rs:{}:", line!() + 1);
    says(value.to_vec::<f64>(), &["expected float64, got float32", &here, "cast converts it"]);
    let here = format!("wrong_calls.rs:{}:", line!() + 1);
    says(value.item::<f32>(), &["item: expected one element, got float32(2, 3)", &here]);
    let here = format!("wrong_calls.rs:{}:", line!() + 1);
    says(value.item::<f64>(), &["expected float64", &here]);
}

#[test]
fn a_conflict_names_every_way_out() {
    let n = shared("n", 1i64);
    let f = function(()).update(&n, &n + 1).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    sim.call(args![]).unwrap();
    n.set_value(10i64).unwrap();
    says(sim.sync_to_parent(), &["sync_to_parent_keeping", "reset()"]);
    sim.reset().unwrap();
    assert_eq!(sim.get(&n).unwrap().item::<i64>().unwrap(), 10);
}

#[test]
fn integers_that_widen_floats_are_warned_of() {
    let (x, k) = (vector::<f32>("x"), vector::<i64>("k"));
    let f = function([&x, &k]).output(&x * &k).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    sim.call(args![vec![1f32], vec![2i64]]).unwrap();
    let warnings = sim.warnings().join("\n");
    for word in
        ["of float32 and int64 computes in float64", "wrong_calls.rs:", "cast the integers to float32"]
    {
        assert!(warnings.contains(word), "{warnings:?} does not say {word:?}");
    }
    // Meant ones are not: a cast of the program, numbers, a weak extent.
    let streams = RandomStreams::new(1);
    for meant in [
        x.cast(DType::F64) * k.cast(DType::F64),
        &x * k.cast(DType::F32) + 1 + x.extent(0),
        streams.gamma::<f32>(&x, 1.0, like(&x)) + k.cast(DType::F32),
        x.take(&k, 0),
    ] {
        let f = function([&x, &k]).output(meant).compile().unwrap();
        let mut sim = f.optimize(Host::threads(1)).unwrap();
        sim.call(args![vec![1f32], vec![0i64]]).unwrap();
        let warnings = sim.warnings();
        assert!(warnings.iter().all(|w| !w.contains("float64")), "{warnings:?}");
    }
}
