//! The arguments of `function()`, and the ways to call a Function.

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
    // The same Variable may be an output twice.
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
    assert_eq!(sim.method("get").unwrap().call(args![]).unwrap()[0].item::<i64>().unwrap(), 10);
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
    // Each call makes the updates.
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

#[test]
fn shared_variables_advance_by_default() {
    let step = shared("step", 2i64);
    let by = step.clone();
    let count = shared("count", 0i64).with_default_update(move |n| n + &by);
    let f = function(()).output(&count).compile().unwrap();
    f.call(args![]).unwrap();
    assert_eq!(f.call(args![]).unwrap()[0].item::<i64>().unwrap(), 2);
    let value = || count.get_value().unwrap().item::<i64>().unwrap();
    assert_eq!(value(), 4);
    // An explicit update replaces the default update; without default updates there is none.
    function(()).output(&count).update(&count, constant(100i64)).compile().unwrap().call(args![]).unwrap();
    assert_eq!(value(), 100);
    for f in [
        function(()).output(&count).no_default_updates(),
        function(()).output(&count).no_default_updates_for([&count]),
        function(()).output(&step),
    ] {
        f.compile().unwrap().call(args![]).unwrap();
    }
    assert_eq!(value(), 100);
    // An update that reads another variable with a default update advances that one too.
    let inner = shared("inner", 1i64).with_default_update(|n| n * 2i64);
    let read = inner.clone();
    let outer = shared("outer", 0i64).with_default_update(move |n| n + &read);
    let mut sim = function(()).output(&outer).compile_for(Host::auto()).unwrap();
    sim.run_n(4, args![]).unwrap();
    assert_eq!(sim.get(&outer).unwrap().item::<i64>().unwrap(), 15);
    let wrong = shared("wrong", 0i64).with_default_update(|n| n.cast(DType::F64));
    assert!(
        function(()).output(&wrong).compile().unwrap_err().to_string().contains("wrong changes its type")
    );
}

#[test]
fn some_streams_stand_still() {
    let streams = RandomStreams::new(5);
    let (a, b) = (streams.uniform::<f64>([4]), streams.normal::<f64>([4]));
    let f = function(()).outputs([&a, &b]).no_default_updates_for([&b * 2.0]).compile().unwrap();
    let (first, second) = (f.call(args![]).unwrap(), f.call(args![]).unwrap());
    assert!(first[0] != second[0] && first[1] == second[1]);
}

#[test]
fn givens_are_followed() {
    let (x, y, z) = (scalar::<f64>("x"), scalar::<f64>("y"), scalar::<f64>("z"));
    for givens in [[(&x, &y + 1.0), (&y, &z * 2.0)], [(&y, &z * 2.0), (&x, &y + 1.0)]] {
        let f = function([&z]).output(&x * 10.0).givens(givens).compile().unwrap();
        assert_eq!(item(&f.call(args![3.0]).unwrap()), 70.0);
    }
    // A replacement that contains the replaced Variable means the original.
    let f = function([&x]).output(&x * 10.0).givens([(&x, &x + 1.0)]).compile().unwrap();
    assert_eq!(item(&f.call(args![3.0]).unwrap()), 40.0);
    // An intermediate expression may be replaced.
    let h = &x * 2.0;
    let f = function([&z]).output(h.sin()).givens([(&h, &z + 0.0), (&x, &z * 5.0)]).compile().unwrap();
    assert_eq!(item(&f.call(args![3.0]).unwrap()), 3f64.sin());
    let cycle = function([&z]).output(&x + &y + &z).givens([(&x, &y + 1.0), (&y, &x + 1.0)]).compile();
    let text = cycle.unwrap_err().to_string();
    assert!(text.contains("the replacements of x, y are made of each other"), "{text}");
    let twice = function([&z]).output(&x + &z).givens([(&x, &z), (&x, &z)]).compile();
    assert!(twice.unwrap_err().to_string().contains("x is replaced twice"));
    // A long chain.
    let chain: Vec<Variable> = (0..300).map(|i| scalar::<f64>(&format!("v{i}"))).collect();
    let pairs = chain.windows(2).map(|w| (w[0].clone(), &w[1] + 1.0));
    let f = function([&chain[299]]).output(&chain[0] * 1.0).givens(pairs.rev()).compile().unwrap();
    assert_eq!(item(&f.call(args![1.0]).unwrap()), 300.0);
}

#[test]
fn numbers_keep_their_types() {
    let (x, n) = (scalar::<f32>("x"), scalar::<i8>("n"));
    let f = function([&x, &n]).output(&x * 2.0).output(&n + &n).compile().unwrap();
    let outputs = f.call(args![3, 4i64]).unwrap();
    assert_eq!((outputs[0].item::<f32>().unwrap(), outputs[1].item::<i8>().unwrap()), (6.0, 8));
    assert!(f.call(args![3, 400]).unwrap_err().to_string().contains("input n: expected int8(), got int32()"));
    function([In::new(&x).default(1)]).output(&x * 2.0).compile().unwrap().call(args![]).unwrap();
}

#[test]
fn inputs_convert_according_to_their_options() {
    let x = vector::<f32>("x");
    let plain = function([&x]).output(x.sum(..)).compile().unwrap();
    let strict = function([In::new(&x).strict()]).output(x.sum(..)).compile().unwrap();
    let down = function([In::new(&x).allow_downcast()]).output(x.sum(..)).compile().unwrap();
    let all = function([&x]).output(x.sum(..)).allow_input_downcast().compile().unwrap();
    let kept = function([In::new(&x).strict()]).output(x.sum(..)).allow_input_downcast().compile().unwrap();
    let wide = args![vec![0.1f64, 2.0]];
    let narrow = args![vec![1i8, 2]];
    for (f, takes_wide, takes_narrow) in [
        (&plain, false, true),
        (&strict, false, false),
        (&down, true, true),
        (&all, true, true),
        (&kept, false, false),
    ] {
        for f in [f.clone(), saved(f)] {
            let mut sim = f.optimize(Host::auto()).unwrap();
            assert_eq!((f.call(&wide).is_ok(), sim.call(&wide).is_ok()), (takes_wide, takes_wide));
            assert_eq!((f.call(&narrow).is_ok(), sim.call(&narrow).is_ok()), (takes_narrow, takes_narrow));
        }
    }
    let n = vector::<i32>("n");
    let counts = function([In::new(&n).allow_downcast()]).output(n.sum(..)).compile().unwrap();
    assert!(counts.call(args![vec![1i64, 2]]).is_ok());
    assert!(counts.call(args![vec![1i64 << 40]]).is_err());
    assert!(counts.call(args![vec![1.0f64]]).is_err());
}

fn saved(f: &Function) -> Function {
    Bundle::from_bytes(&Bundle::new().with("f", f).to_bytes().unwrap()).unwrap()["f"].clone()
}

#[test]
fn outputs_are_borrowed_one_by_one() {
    let x = vector::<f64>("x");
    let f = function([&x])
        .output(Out::new(&x * 2.0).name("large").borrow(true))
        .output_named("sum", x.sum(..))
        .output(Out::new(x.max(..)).borrow(false))
        .compile()
        .unwrap();
    for f in [f.clone(), saved(&f), f.renamed("other")] {
        assert_eq!(f.borrowed_outputs(), [0]);
        // Calls that copy return all outputs.
        assert_eq!(f.call(args![vec![1.0, 3.0]]).unwrap().len(), 3);
        let mut sim = f.optimize(Host::auto()).unwrap();
        assert_eq!(sim.call(args![vec![1.0, 3.0]]).unwrap()["large"].to_vec::<f64>().unwrap(), [2.0, 6.0]);
        let lent = sim.call_borrowed(args![vec![1.0, 4.0]]).unwrap();
        let owned = lent.outputs().unwrap();
        assert!(owned.len() == 2 && owned.get("large").is_none());
        assert_eq!((owned["sum"].item::<f64>().unwrap(), owned[1].item::<f64>().unwrap()), (5.0, 4.0));
        assert_eq!(lent.to_value(0).unwrap().to_vec::<f64>().unwrap(), [2.0, 8.0]);
    }
}

#[test]
fn mutable_inputs_are_donated() {
    let x = vector::<f32>("x");
    let f = function([In::new(&x).mutable()]).output(&x * 0.5).compile().unwrap();
    let mut sim = saved(&f).optimize(Host::auto()).unwrap();
    let kept = sim.upload(vec![8f32; 100]).unwrap();
    let mut state = sim.call_device(args![&kept]).unwrap().remove(0);
    for _ in 0..2 {
        state = sim.call_device(args![state]).unwrap().remove(0);
    }
    assert_eq!(state.to_value().unwrap().to_vec::<f32>().unwrap(), [1.0; 100]);
    // Another handle holds it, so it is unchanged.
    assert_eq!(kept.to_value().unwrap().to_vec::<f32>().unwrap(), [8.0; 100]);
    let host = Value::from(vec![8f32; 100]);
    sim.call(args![&host]).unwrap();
    assert_eq!(host.to_vec::<f32>().unwrap(), [8.0; 100]);
}

#[test]
fn no_steps_give_empty_stacks() {
    let (x, w) = (matrix::<f64>("x"), shared("w", vec![1.0, 2.0]));
    let f = function([&x]).output_named("y", x.dot(&w)).update(&w, &w * 2.0).compile().unwrap();
    let mut sim = f.optimize(Host::auto()).unwrap();
    let none = Value::from(Array3::<f64>::zeros((0, 3, 2)));
    for args in [args![each(none)], args![Array2::<f64>::ones((3, 2))]] {
        assert_eq!(sim.run_n_collect(0, args).unwrap()["y"].shape(), [0, 3]);
    }
    assert_eq!(sim.get(&w).unwrap(), w.get_value().unwrap());
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Job {
    f: Function,
    g: Function,
}

#[test]
fn functions_of_one_message_keep_their_common_state() {
    let w = shared("w", 1i64);
    let f = function(()).update(&w, &w + 1i64).compile().unwrap();
    let g = function(()).output(&w * 10i64).compile().unwrap();
    let config = bincode::config::standard();
    let bytes = bincode::serde::encode_to_vec(Job { f, g }, config).unwrap();
    let read = || bincode::serde::decode_from_slice::<Job, _>(&bytes, config).unwrap().0;
    let job = common_state(read);
    job.f.call(args![]).unwrap();
    assert_eq!(job.g.call(args![]).unwrap()[0].item::<i64>().unwrap(), 20);
    let mut sim = job.f.optimize(Host::threads(1)).unwrap();
    sim.add_method("g", &job.g).unwrap();
    // Each message has variables of its own otherwise.
    let apart = read();
    apart.f.call(args![]).unwrap();
    assert_eq!(apart.g.call(args![]).unwrap()[0].item::<i64>().unwrap(), 10);
    // Values of different moments are no common state.
    let bytes = |f: &Function| Bundle::new().with("f", f).to_bytes().unwrap();
    let before = bytes(&job.f);
    job.f.call(args![]).unwrap();
    let after = bytes(&job.f);
    let error = common_state(|| Bundle::from_bytes(&before).and(Bundle::from_bytes(&after))).unwrap_err();
    assert!(error.to_string().contains("shared variable w has another value"), "{error}");
    assert!(Bundle::from_bytes(&after).is_ok());
}
