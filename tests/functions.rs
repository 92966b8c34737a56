//! What `function()` takes, and the ways a Function is called.

#![allow(clippy::unwrap_used)] // tests

use std::sync::Arc;
use workalike::Result;
use workalike::prelude::*;

fn item(outputs: &Outputs) -> f64 {
    outputs[0].item::<f64>().unwrap()
}

#[test]
fn inputs_are_lists_tuples_or_nothing() {
    let (x, y, lr) = (scalar::<f64>("x"), scalar::<f64>("y"), scalar::<f64>("lr"));
    let sum = &x + &y;
    assert_eq!(item(&function(()).output(constant(2.5)).compile().unwrap().call(args![]).unwrap()), 2.5);
    for f in [
        function([&x, &y]),
        function(vec![x.clone(), y.clone()]),
        function(&[x.clone(), y.clone()]),
        function([&x, &y].into_iter()),
        function((&x, y.clone())),
        function((In::new(&x), &y)),
    ] {
        assert_eq!(item(&f.output(&sum).compile().unwrap().call(args![1.0, 2.0]).unwrap()), 3.0);
    }
    let f = function((&x, In::new(&lr).default(0.1))).output(&x * &lr).compile().unwrap();
    assert_eq!(item(&f.call(args![20.0]).unwrap()), 2.0);
    assert_eq!(item(&f.call(args![20.0; lr = 0.5]).unwrap()), 10.0);
}

#[test]
fn updates_take_references_handles_and_cells() {
    let (a, b) = (shared("a", 1.0), shared("b", 2.0));
    let swapped: Vec<(SharedVariable, Variable)> = vec![(a.clone(), (*b).clone()), (b.clone(), (*a).clone())];
    function(()).updates(swapped).compile().unwrap().call(args![]).unwrap();
    assert_eq!(a.get_value().unwrap().item::<f64>().unwrap(), 2.0);
    let f = function(()).updates([(&a, &a + 1.0), (&b, &b * 10.0)]).compile().unwrap();
    f.call(args![]).unwrap();
    assert_eq!(b.get_value().unwrap().item::<f64>().unwrap(), 10.0);
    let found = f.shared("a").unwrap();
    function(()).update(found.cell().unwrap(), &found * 2.0).compile().unwrap().call(args![]).unwrap();
    assert_eq!(a.get_value().unwrap().item::<f64>().unwrap(), 6.0);
}

#[test]
fn two_outputs_of_one_name_are_refused() {
    let x = scalar::<f64>("x");
    let twice = function([&x]).output_named("y", &x + 1.0).output_named("y", &x + 2.0).compile();
    assert!(twice.unwrap_err().to_string().contains("two outputs are called y"));
    let (v, w) = (shared("w", 1.0), shared("w", 2.0));
    assert!(function(()).output(&v).output(&w).compile().is_err());
    // The very same output may be there twice.
    assert!(function([&x]).output(&x).output(&x).compile().is_ok());
}

#[test]
fn backends_come_by_reference_and_boxed() {
    let x = scalar::<f64>("x");
    let f = function([&x]).output(&x + 1.0).compile().unwrap();
    let host = Host::auto();
    let boxed: Box<dyn Open> = Box::new(host.strict().fixed_size());
    let counted: Arc<dyn Open + Send + Sync> = Arc::new(host);
    let any: Box<dyn Backend<Simulator = Simulator>> = Box::new(host);
    let tuned = host.dynamic();
    let sims: [Result<Simulator>; 9] = [
        f.optimize(host),
        f.optimize(&host),
        f.optimize(&tuned),
        f.optimize(&boxed),
        f.optimize(boxed.as_ref()),
        f.optimize(counted),
        f.optimize(&*any),
        f.optimize(any),
        function([&x]).output(&x + 1.0).compile_for(&host),
    ];
    for sim in sims {
        assert_eq!(item(&sim.unwrap().call(args![1.0]).unwrap()), 2.0);
    }
    assert_eq!(item(&f.optimize(f.optimize(host).unwrap().device()).unwrap().call(args![1.0]).unwrap()), 2.0);
    function([&x]).output(&x + 1.0).compile_for(host).unwrap();
}

#[test]
fn options_hold_behind_a_box() {
    let x = vector::<f64>("x");
    let f = function([&x]).output(&x + 1.0).compile().unwrap();
    let boxed: Box<dyn Open> = Box::new(Host::auto().fixed_size());
    for mut sim in [f.optimize(&boxed).unwrap(), f.optimize(boxed.deterministic(false)).unwrap()] {
        sim.call(args![vec![1.0]]).unwrap();
        assert!(sim.call(args![vec![1.0, 2.0]]).unwrap_err().to_string().contains("had (1,)"));
    }
}

#[test]
fn a_bundle_becomes_one_simulator() {
    let (n, inc) = (shared("n", 0i64), scalar::<i64>("inc"));
    let add = function([&inc]).update(&n, &n + &inc).compile().unwrap();
    let get = function(()).output(&n).compile().unwrap();
    let bundle = Bundle::new().with("add", &add).with("get", &get);
    let mut sim = bundle.optimize(Host::auto().strict()).unwrap();
    assert_eq!(sim.methods().collect::<Vec<_>>(), ["add", "get"]);
    sim.run_n(5, args![2i64]).unwrap();
    assert_eq!(sim.call_method("get", args![]).unwrap()[0].item::<i64>().unwrap(), 10);
    assert!(Bundle::new().optimize(Host::auto()).unwrap_err().to_string().contains("at least one Function"));
}

#[test]
fn arguments_are_used_again_by_reference() {
    let x = vector::<f64>("x");
    let f = function([&x]).output(x.sum(..)).compile().unwrap();
    let mut sim = f.optimize(Host::auto()).unwrap();
    let args = args![vec![1.0, 2.0]];
    assert_eq!(f.call(&args).unwrap()[0], sim.call(&args).unwrap()[0]);
    assert_eq!(f.call_reference(&args).unwrap()[0], sim.run_n(2, &args).unwrap()[0]);
    assert_eq!(sim.call_device(&args).unwrap()[0].to_value().unwrap(), f.call(args).unwrap()[0]);
}

#[test]
fn some_outputs_by_name_and_position() {
    let (x, calls) = (vector::<f64>("x"), shared("calls", 0i64));
    let f = function([&x])
        .output_named("sum", x.sum(..))
        .output_named("double", &x * 2.0)
        .update(&calls, &calls + 1i64)
        .compile()
        .unwrap();
    let mut sim = f.optimize(Host::auto()).unwrap();
    let args = args![vec![1.0, 2.0]];
    for outputs in [f.call_outputs([1, 0], &args).unwrap(), sim.call_outputs((1, "sum"), &args).unwrap()] {
        assert_eq!(outputs.len(), 2);
        assert_eq!(outputs[0].to_vec::<f64>().unwrap(), [2.0, 4.0]);
        assert_eq!(outputs["sum"].item::<f64>().unwrap(), 3.0);
    }
    assert_eq!(f.call_outputs(["sum"], &args).unwrap().len(), 1);
    assert!(f.call_outputs((), &args).unwrap().is_empty());
    // The updates are made in each.
    assert_eq!(calls.get_value().unwrap().item::<i64>().unwrap(), 3);
    for error in [f.call_outputs([2], &args).unwrap_err(), sim.call_outputs(["mean"], &args).unwrap_err()] {
        let text = error.to_string();
        assert!(text.contains("has no output") && text.contains("sum, double"), "{text}");
    }
}

#[test]
fn a_function_runs_many_steps() {
    let (x, state) = (scalar::<f64>("x"), shared("state", 1.0));
    let f = function([&x]).output(&state).update(&state, &state * 0.5 + &x).compile().unwrap();
    let alone = f.fork().unwrap();
    let xs: Vec<f64> = (0..50).map(f64::from).collect();
    for &x in &xs {
        alone.call(args![x]).unwrap();
    }
    let version = state.cell().unwrap().version();
    let last = f.run_n(50, args![each(xs)]).unwrap();
    assert_eq!(state.get_value().unwrap(), alone.shared("state").unwrap().get_value().unwrap());
    assert!(last.len() == 1 && state.cell().unwrap().version() > version);
    assert!(f.run_n(0, args![1.0]).unwrap().is_empty());
    assert!(f.run_n(3, args![each(vec![1.0])]).unwrap_err().to_string().contains("3 slices"));
    assert!(f.call(args![each(vec![1.0])]).is_err());
}

#[test]
fn many_steps_resize_state() {
    let grown = shared_dynamic("grown", vec![1.0, 2.0], &[0]);
    let n = shared("n", 2i64);
    // 2 elements, then 3, 4, and 2 again.
    let next = &n % 3i64 + 2i64;
    let f = function(()).update(&grown, arange(&next).cast(DType::F64)).update(&n, &next).compile().unwrap();
    let reference = f.fork().unwrap();
    for steps in 1..6 {
        f.run_n(steps, args![]).unwrap();
        for _ in 0..steps {
            reference.call_reference(args![]).unwrap();
        }
        let wanted = reference.shared("grown").unwrap().get_value().unwrap();
        assert_eq!(grown.get_value().unwrap(), wanted, "{steps} steps");
        assert_eq!(f.call_outputs((), args![]).unwrap().len(), 0);
        reference.call_reference(args![]).unwrap();
    }
}
