//! Errors of users: the message has the op or variable, the expected and given values, and the source line.

use workalike::Error;
use workalike::prelude::*;

fn text<T>(result: workalike::Result<T>) -> String {
    match result {
        Ok(_) => panic!("that should have failed"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

#[test]
fn an_ill_typed_expression_names_its_place() {
    let a = tensor::<f32>("a", [None, Some(3)]);
    let b = tensor::<f32>("b", [Some(4), None]);
    let line = line!() + 1;
    let bad = a.dot(&b);
    let later = (&bad + 1.0).exp().sum(..);
    let message = text(function([&a, &b]).output(&later).compile());
    says(&message, &["dot", "float32(?, 3)", "float32(4, ?)", &format!("errors.rs:{line}")]);
    says(&text(grad(&later, [&a])), &["dot"]);
    says(&text(a.try_dot(&b)), &["dot"]);
    says(&text((&a + &tensor::<f32>("c", [None, Some(5)])).checked()), &["add", "axis 1", "float32(?, 5)"]);
    says(&text(a.try_sum(2isize)), &["sum", "axis 2"]);
    says(&text((-a.greater(0.0)).checked()), &["negative", "bool"]);
    says(&text(constant(array![1f32, 2.]).try_index(idx![5])), &["out of bounds"]);
}

#[test]
fn compile_refuses_invalid_functions() {
    let (x, y) = (vector::<f32>("x"), vector::<f32>("y"));
    let w = shared("w", array![1f32, 2.]);
    says(&text(function([&x]).output(&x + &y).compile()), &["y", "not among the inputs"]);
    says(&text(function([&x, &y]).output(&x * 2.0).compile()), &["input y is not used"]);
    says(&text(function([&x, &x]).output(&x * 2.0).compile()), &["given twice"]);
    says(
        &text(function([&x]).output(&x).update(&w, &w + &x.cast(DType::F64)).compile()),
        &["w", "float32", "float64"],
    );
    says(
        &text(function([&x]).output(&x).update(&w, w.sum(..) + x.sum(..)).compile()),
        &["w", "float32(2,)", "float32()"],
    );
    says(
        &text(function([&x]).output(&x).update(&w, &w * 2.0).update(&w, &w * 3.0).compile()),
        &["w", "twice"],
    );
    says(&text(grad(&x, [&x])), &["0-d float"]);
    says(&text(grad(x.sum(..), [&y])), &["y"]);
}

#[test]
fn a_call_refuses_invalid_arguments() {
    let (x, n) = (matrix::<f32>("x"), scalar::<i64>("n"));
    let f = function([&x, &n]).name("scale").output(&x * &n.cast(DType::F32)).compile().unwrap();
    let a = array![[1f32, 2.]];
    says(&text(f.call(args![&a])), &["scale", "input n", "missing"]);
    says(&text(f.call(args![&a, 1i64, 2i64])), &["takes 2 inputs, got 3"]);
    says(&text(f.call(args![&a; m = 1i64])), &["no input m", "x, n"]);
    says(&text(f.call(args![&a, 1i64; n = 1i64])), &["twice"]);
    says(&text(f.call(args![array![1f32], 1i64])), &["input x", "float32(?, ?)", "float32(1,)"]);
    says(&text(f.call(args![array![[1f64]], 1i64])), &["input x", "float64"]);
    says(&text(f.call(args![each(array![[[1f32]]]), 1i64])), &["run_n"]);
    assert_eq!(f.call(args![&a, 3i32]).unwrap()[0].to_vec::<f32>().unwrap(), [3., 6.]); // int32 widens
}

#[test]
fn shapes_that_meet_only_at_run_time_name_op_and_shapes() {
    let (x, y) = (vector::<f32>("x"), vector::<f32>("y"));
    let f = function([&x, &y]).output(&x + &y).compile().unwrap();
    let message = text(f.call(args![vec![1f32, 2.], vec![1f32, 2., 3.]]));
    says(&message, &["add", "(2,)", "(3,)"]);
    let message = text(f.call_reference(args![vec![1f32, 2.], vec![1f32, 2., 3.]]));
    says(&message, &["add"]);
}

#[test]
fn an_index_out_of_range_is_an_error_everywhere() {
    let (x, i) = (vector::<f32>("x"), vector::<i64>("i"));
    let f = function([&x, &i]).output(x.index(idx![&i])).compile().unwrap();
    let call = |i: Vec<i64>| f.call(args![vec![1f32, 2., 3.], i]);
    assert_eq!(call(vec![0, -1]).unwrap()[0].to_vec::<f32>().unwrap(), [1., 3.]);
    says(&text(call(vec![0, 3])), &["advanced_subtensor", "out of range"]);
    assert!(call(vec![2]).is_ok(), "the error is not remembered");
    assert!(f.call_reference(args![vec![1f32], vec![-2i64]]).is_err());
}

#[test]
fn conflicts_between_simulators_and_parents_are_reported() {
    let inc = scalar::<i64>("inc");
    let state = shared("state", 0i64);
    let f = function([&inc]).output(&state).update(&state, &state + &inc).compile().unwrap();
    let mut sim = f.optimize(Host::auto()).unwrap();
    sim.call(args![5i64]).unwrap();
    state.set_value(100i64).unwrap();
    says(&text(sim.sync_to_parent()), &["state", "changed in the parent"]);
    assert_eq!(state.get_value().unwrap().item::<i64>().unwrap(), 100, "nothing was written");
    assert_eq!(sim.sync_to_parent_keeping(Keep::Simulator).unwrap(), ["state"]);
    assert_eq!(state.get_value().unwrap().item::<i64>().unwrap(), 5);
    assert!(sim.sync_to_parent().unwrap().is_empty(), "nothing changed since");
    state.set_value(7i64).unwrap();
    assert_eq!(sim.sync_from_parent().unwrap(), ["state"]);
    assert_eq!(sim.get_value("state").unwrap().item::<i64>().unwrap(), 7);

    // The same variable from two loads of one file, with other values.
    let bytes = Bundle::new().with("f", &f).to_bytes().unwrap();
    let other = Bundle::from_bytes(&bytes).unwrap();
    other["f"].shared("state").unwrap().set_value(9i64).unwrap();
    says(&text(sim.add_method("g", &other["f"])), &["state", "another value", "Keep::Parent"]);
    sim.add_method_keeping("g", &other["f"], Keep::Parent).unwrap();
    assert_eq!(sim.get_value("state").unwrap().item::<i64>().unwrap(), 9);
    says(&text(sim.add_method("g", &f)), &["already has a method g"]);
    says(&text(sim.method("h").map(drop)), &["no method h"]);
    assert!(matches!(sim.get_value("nothing"), Err(Error::Sync(_))));
    sim.add_method("k", &f.fork().unwrap()).unwrap(); // separate state
}
