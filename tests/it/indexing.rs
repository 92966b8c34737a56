//! Indexing as in NumPy: refused indices and their errors, and indices that depend on values.

use workalike::ops::Ix;
use workalike::prelude::*;

#[test]
fn masks_follow_their_values_from_call_to_call() {
    let x = vector::<f32>("x");
    let f = function([&x]).output(x.index(idx![x.greater(0.0)])).compile().unwrap();
    let mut sim = f.optimize(Host::auto().strict()).unwrap();
    for (given, want) in [
        (vec![1f32, -2., 3.], vec![1f32, 3.]),
        (vec![-1., -2., 3.], vec![3.]),
        (vec![-1., -2., -3.], vec![]),
        (vec![1., 2., 3., 4., 0., 5.], vec![1., 2., 3., 4., 5.]),
        (vec![], vec![]),
    ] {
        assert_eq!(f.call_reference(args![given.clone()]).unwrap()[0].to_vec::<f32>().unwrap(), want);
        assert_eq!(f.call(args![given.clone()]).unwrap()[0].to_vec::<f32>().unwrap(), want);
        assert_eq!(sim.call(args![given]).unwrap()[0].to_vec::<f32>().unwrap(), want);
    }
}

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
fn invalid_indices_are_refused_immediately() {
    let x = tensor::<f32>("x", [Some(3), Some(4)]);
    let i = constant(vec![0i64, 1]);
    says(&text(x.try_index(idx![0, 0, 0])), &["too many indices", "2 axes", "3 were indexed"]);
    says(&text(x.try_index(idx![ELLIPSIS, 0, ELLIPSIS])), &["single ELLIPSIS"]);
    says(&text(x.try_index(idx![constant(1.5f64)])), &["float64()", "integer or boolean arrays"]);
    says(&text(x.try_index(idx![[true, false]])), &["boolean index", "axis 0", "extent is 3", "array 2"]);
    says(&text(x.try_index(idx![.., [0i64, 4]])), &["index 4 is out of bounds for axis 1 with extent 4"]);
    says(&text(x.try_index(idx![&i, [0i64, 1, 2]])), &["broadcast together", "int64(2,)", "int64(3,)"]);
    says(&text(x.try_set_index(idx![&i], constant(vec![1f32, 2.]))), &["does not fit the part"]);
    says(&text(x.try_set_index(idx![0], constant(array![[1f32], [2.]]))), &["float32(2, 1)", "1 axes"]);
    says(&text(x.try_index(idx![constant(true)])), &["at least one axis"]);
}

#[test]
fn run_time_errors_name_the_node() {
    let (x, m, i) = (matrix::<f32>("x"), vector::<bool>("m"), vector::<i64>("i"));
    let a = array![[1f32, 2.], [3., 4.], [5., 6.]];
    let f = function([&x, &m]).output(x.index(idx![&m])).compile().unwrap();
    says(&text(f.call(args![&a, vec![true, false]])), &["nonzero", "axis 0", "extent is 3", "array 2"]);
    let f = function([&x, &i]).output(x.index(idx![.., &i])).compile().unwrap();
    says(&text(f.call(args![&a, vec![0i64, 2]])), &["advanced_subtensor", "out of range"]);
    let y = matrix::<f32>("y");
    let f = function([&x, &i, &y]).output(x.set_index(idx![&i], &y)).compile().unwrap();
    let message = text(f.call(args![&a, vec![0i64, 2], array![[1f32, 2.], [1., 2.], [1., 2.]]]));
    says(&message, &["advanced_set_subtensor", "(3, 2)", "(2, 2)"]);
}

#[test]
fn an_index_out_of_range_is_an_error_whatever_is_read_at_it() {
    let (x, i) = (matrix::<f32>("x"), vector::<i64>("i"));
    let taken = x.index(idx![&i]);
    let outputs = [
        ("a part", taken.index(idx![0..2]) * 2.0),
        ("every second", taken.index(idx![Ix::from(..).step(2)]) * 2.0),
        ("one", taken.index(idx![0]) * 2.0),
        ("parts", taken.index(idx![0..2]) + taken.index(idx![2..4])),
        ("turned around", taken.index(idx![Ix::from(..).step(-1)]) * 2.0),
        ("a column", taken.index(idx![.., 0..1]) * 2.0),
        ("transposed", taken.t() * 2.0),
        ("sums of parts", taken.index(idx![1..3]).sum(0)),
        ("nothing", taken.index(idx![0..0]) * 2.0),
        ("written to", x.set_index(idx![&i], 1f32)),
        ("added to", x.inc_index(idx![&i], 1f32)),
    ];
    let full = array![[1f32, 2.], [3., 4.], [5., 6.], [7., 8.]];
    let empty = Array2::<f32>::zeros((4, 0));
    for (what, output) in outputs {
        let f = function([&x, &i]).output(output).compile().unwrap();
        let mut sim = f.optimize(Host::auto().strict()).unwrap();
        for given in [&full, &empty] {
            let good = vec![0i64, 1, 2, 3, 1];
            let expected = f.call_reference(args![given, good.clone()]).unwrap();
            let found = f.call(args![given, good]).unwrap();
            assert_eq!(found[0].shape(), expected[0].shape(), "{what}");
            assert_eq!(found[0].to_f64s(), expected[0].to_f64s(), "{what}");
            for bad in [vec![0i64, 1, 2, 3, 99], vec![0, -5, 2, 3, 1], vec![4, 1, 1, 1, 1]] {
                let here = format!("{what} of {:?} at {bad:?}", given.shape());
                assert!(f.call_reference(args![given, bad.clone()]).is_err(), "{here}: reference");
                let found = f.call(args![given, bad.clone()]);
                assert!(found.is_err(), "{here}: {found:?}");
                assert!(sim.call(args![given, bad]).is_err(), "{here}: simulator");
            }
        }
    }
}

#[test]
fn distinct_elements_are_found_on_the_host() {
    let x = matrix::<f32>("x");
    let u = x.unique();
    let f = function([&x]).outputs([&u.values, &u.index, &u.inverse, &u.counts]).compile().unwrap();
    let a = array![[3f32, -0., f32::NAN, 3.], [f32::NAN, 0., 1., 3.]];
    for outputs in [f.call(args![&a]).unwrap(), f.call_reference(args![&a]).unwrap()] {
        let values = outputs[0].to_vec::<f32>().unwrap();
        assert_eq!(values[..3], [0., 1., 3.]);
        assert!(values.len() == 4 && values[3].is_nan());
        assert_eq!(outputs[1].to_vec::<i64>().unwrap(), [1, 6, 0, 2]);
        assert_eq!(outputs[2].to_vec::<i64>().unwrap(), [2, 0, 3, 2, 3, 0, 1, 2]);
        assert_eq!(outputs[2].shape(), [2, 4]);
        assert_eq!(outputs[3].to_vec::<i64>().unwrap(), [2, 1, 3, 2]);
    }
    let mut strict = f.optimize(Host::auto().strict()).unwrap();
    says(&text(strict.call(args![&a])), &["unique", "no device rule"]);
    // Values are selected by their first position, so they have a gradient.
    let g = grad(u.values.sqr().sum(..), [&x]).unwrap();
    let f = function([&x]).outputs(&g).compile().unwrap();
    let g = f.call(args![array![[2f32, 1.], [2., 5.]]]).unwrap()[0].to_vec::<f32>().unwrap();
    assert_eq!(g, [4., 2., 0., 10.]);
}

#[test]
fn positions_out_of_range_name_the_op() {
    use workalike::ops::{Bins, Mode, ravel_multi_index, unravel_index};
    let i = vector::<i64>("i");
    let outputs = [
        ("unravel_index", unravel_index(&i, [2, 3]).swap_remove(1), "out of bounds"),
        ("ravel_multi_index", ravel_multi_index([&i, &i], [2, 3], Mode::Raise), "coordinates"),
        ("choose", i.choose([constant(1f32), constant(2f32)], Mode::Raise), "choices"),
        ("bincount", i.bincount(None, Bins::AtLeast(0)), "negative"),
        ("segments", i.segment_sum(&i, 3), "segment"),
    ];
    for (name, output, why) in outputs {
        let f = function([&i]).output(output).compile().unwrap();
        assert!(f.call(args![vec![0i64, 1]]).is_ok(), "{name}");
        says(&text(f.call(args![vec![0i64, -1]])), &[name, why]);
        says(&text(f.call_reference(args![vec![0i64, -1]])), &[name, why]);
    }
    says(
        &text(ravel_multi_index([constant(vec![2i64])], [2], Mode::Raise).checked()),
        &["coordinates", "from 0 to 1"],
    );
}

#[test]
fn a_shared_variable_is_a_position() {
    let (at, table) = (shared("at", 1i64), constant(vec![5f32, 6.0, 7.0]));
    let none: [&Variable; 0] = [];
    let f = function(none)
        .output_named("entry", table.index(idx![&at]))
        .update(&at, &at + 1i64)
        .compile()
        .unwrap();
    assert_eq!(f.call(args![]).unwrap()["entry"], Value::from(6f32));
    assert_eq!(f.call(args![]).unwrap()["entry"], Value::from(7f32));
    assert!(f.call(args![]).is_err());
}

/// What is promised to be in range is not checked, but where it is looked for.
#[test]
fn promised_indices_are_not_checked() {
    let build = |promised: bool| {
        let (table, k) = (shared("table", vec![1f32, 2.0, 3.0]), vector::<i64>("k"));
        let i = (&k * 2i64) - 1i64;
        let i = if promised { i.in_bounds() } else { i };
        let rows = table.index(idx![&i]) * 10.0;
        function([&k]).output(&rows).update(&table, table.set_index(idx![&i], &rows)).compile().unwrap()
    };
    let of = |values: Vec<f32>| Value::from(values);
    for (function, backend, checks) in [
        (build(false), Host::auto().in_bounds(false), true),
        (build(true), Host::auto().in_bounds(false), false),
        (build(false), Host::auto().in_bounds(true), false),
        (build(true), Host::auto().nan_guard(true), true),
        (build(false), Host::auto().in_bounds(true).nan_guard(true), true),
    ] {
        let mut sim = function.optimize(backend).unwrap();
        let plan = sim.plan(args![vec![1i64]]).unwrap().to_string();
        assert_eq!(plan.contains("check"), checks, "{plan}");
        assert_eq!(sim.call(args![vec![1i64]]).unwrap()[0], of(vec![20.0]));
        assert!(sim.verify(args![vec![9i64]], 1).is_err(), "the reference finds it");
        let wrong = sim.call(args![vec![9i64]]);
        if checks {
            says(&text(wrong), &["out of range"]);
        } else {
            assert_eq!(wrong.unwrap()[0], of(vec![30.0]), "the nearest position");
        }
        assert!(sim.call(args![vec![1i64]]).is_ok());
    }
    // Elements that the host would look at before the call.
    let (x, k) = (vector::<f32>("x"), vector::<i64>("k"));
    for (k_used, promised) in [(k.clone(), false), (k.in_bounds(), true)] {
        let mut sim = function([&x, &k])
            .output(x.index(idx![&k_used]))
            .compile()
            .unwrap()
            .optimize(Host::auto())
            .unwrap();
        assert_eq!(sim.call(args![vec![1f32, 2.0], vec![5i64]]).is_ok(), promised);
        assert_eq!(sim.call(args![vec![1f32, 2.0], vec![-1i64]]).unwrap()[0], of(vec![2.0]));
    }
}
