//! Inputs that keep a value between calls (`In::update`): calls, iterations, failures, `apply`.

use workalike::prelude::*;

/// `at` counts up by one from the value that a call gives. The output is the element of the table there, and
/// `sum` adds up the outputs.
fn walker() -> Function {
    let (k, at) = (scalar::<i64>("k"), scalar::<i64>("at"));
    let (table, sum) = (constant(vec![10i64, 20, 30]), shared("sum", 0i64));
    let found = table.index(idx![&at * &k]);
    let inputs = (In::new(&k), In::new(&at).default(0).update(&at + 1i64));
    function(inputs).output(&found).update(&sum, &sum + &found).compile().unwrap()
}

fn number(value: Value) -> i64 {
    value.item().unwrap()
}

fn saved(f: &Function) -> Function {
    Bundle::from_bytes(&Bundle::new().with("f", f).to_bytes().unwrap()).unwrap()["f"].clone()
}

fn item(outputs: &Outputs) -> f64 {
    outputs[0].item::<f64>().unwrap()
}

fn state(f: &Function, name: &str) -> Value {
    f.shared(name).unwrap().get_value().unwrap()
}

#[test]
fn inputs_keep_values_between_calls() {
    let (x, s, n) = (scalar::<f64>("x"), scalar::<f64>("s"), vector::<f64>("n"));
    let f = function((
        &x,
        In::new(&s).default(0).update(&s + &x),
        In::new(&n).default(vec![1.0]).update(&n * 2.0),
    ));
    let f = f.output_named("sum", &s + &x).output_named("n", n.sum(..)).compile().unwrap();
    for f in [f.fork().unwrap(), saved(&f)] {
        assert_eq!(f.state_inputs().len(), 2);
        let mut sim = f.optimize(Host::auto()).unwrap();
        calls_update_the_state(&f, &mut sim);
        an_argument_replaces_the_state(&f, &mut sim);
        refused_arguments_change_nothing(&f, &mut sim);
        // Without updates the value is read, and cannot be an argument.
        let before = state(&f, "s");
        let still = f.without_updates().unwrap();
        still.call(args![1.0]).unwrap();
        assert!(still.call(args![1.0; s = 1.0]).is_err());
        assert_eq!(before, state(&f, "s"));
    }
}

fn calls_update_the_state(f: &Function, sim: &mut Simulator) {
    // Left out, by name, by position, and by name alone.
    let calls = [
        (args![1.0], 1.0, 1.0),
        (args![2.0], 3.0, 2.0),
        (args![1.0; s = 10.0], 11.0, 4.0),
        (args![1.0], 12.0, 8.0),
        (args![1.0, 20.0, vec![5.0, 6.0]], 21.0, 11.0),
        (args! {"n" => vec![1.0, 2.0], "x" => 4.0}, 25.0, 3.0),
    ];
    for (args, sum, n) in calls {
        for outputs in [f.call(&args).unwrap(), sim.call(&args).unwrap()] {
            assert_eq!(
                (outputs["sum"].item::<f64>().unwrap(), outputs["n"].item::<f64>().unwrap()),
                (sum, n)
            );
        }
    }
    assert_eq!(state(f, "s").item::<f64>().unwrap(), 25.0);
    assert_eq!(state(f, "n"), sim.get_value("n").unwrap());
}

fn an_argument_replaces_the_state(f: &Function, sim: &mut Simulator) {
    // Iterations carry the value on; an argument is the first one's.
    for last in [f.run_n(3, args![1.0; s = 0.0]).unwrap(), sim.run_n(3, args![1.0; s = 0.0]).unwrap()] {
        assert_eq!(last["sum"].item::<f64>().unwrap(), 3.0);
    }
    assert_eq!(
        sim.call_device(args![1.0; s = 7.0]).unwrap()[0].to_value().unwrap().item::<f64>().unwrap(),
        8.0
    );
    assert_eq!(f.call_outputs(["sum"], args![1.0; s = 7.0]).unwrap()["sum"].item::<f64>().unwrap(), 8.0);
    assert_eq!(f.call_reference(args![1.0]).unwrap()["sum"].item::<f64>().unwrap(), 9.0);
}

fn refused_arguments_change_nothing(f: &Function, sim: &mut Simulator) {
    let before = (state(f, "s"), sim.get_value("s").unwrap());
    for args in [args![1.0; s = vec![1.0]], args![vec![1.0]; s = 2.0], args![1.0, 2.0; s = 3.0]] {
        assert!(f.call(&args).is_err() && sim.call(&args).is_err() && f.call_reference(&args).is_err());
        assert!(f.run_n(2, &args).is_err() && sim.run_n(2, &args).is_err());
    }
    assert!(f.run_n(2, args![1.0; s = each(vec![1.0, 2.0])]).is_err());
    let error = f.call(args![1.0, 2.0, vec![1.0], 4.0]).unwrap_err().to_string();
    assert!(error.contains("takes 3 inputs, got 4"), "{error}");
    assert_eq!(before, (state(f, "s"), sim.get_value("s").unwrap()));
}

#[test]
fn inputs_with_updates_come_last_and_have_defaults() {
    let (x, s) = (scalar::<f64>("x"), scalar::<f64>("s"));
    let wrong = function((In::new(&s).default(0.0).update(&s + &x), &x)).compile().unwrap_err().to_string();
    assert!(wrong.contains("input x must come before"), "{wrong}");
    let wrong = function((&x, In::new(&s).update(&s + &x))).compile().unwrap_err().to_string();
    assert!(wrong.contains("input s has an update and needs a default"), "{wrong}");
}

#[test]
fn applied_functions_have_state_too() {
    let (x, s) = (scalar::<f64>("x"), scalar::<f64>("s"));
    let f = function((&x, In::new(&s).default(5.0).update(&s + &x))).output(&s * &x).compile().unwrap();
    let (f, y) = (saved(&f), scalar::<f64>("y"));
    let left = f.apply_with_updates([&y]).unwrap();
    let g = function([&y]).output(&left[0]).updates(left.updates).compile().unwrap();
    assert_eq!(item(&g.call(args![2.0]).unwrap()), 10.0);
    assert_eq!(item(&f.call(args![2.0]).unwrap()), 14.0);
    let given = function([&y]).output(&f.apply((&y, ("s", constant(3.0)))).unwrap()[0]).compile().unwrap();
    assert_eq!(item(&given.call(args![2.0]).unwrap()), 6.0);
}

#[test]
fn a_failed_function_keeps_the_state_of_the_last_good_iteration() {
    let f = walker();
    let state = || ["at", "sum"].map(|name| number(f.shared(name).unwrap().get_value().unwrap()));
    f.call(args![1i64]).unwrap();
    assert_eq!(state(), [1, 10]);
    let versions: Vec<u64> = f.cells().iter().map(|cell| cell.version()).collect();
    assert!(f.call(args![1i64; at = 7i64]).is_err());
    assert!(f.call_reference(args![1i64; at = 7i64]).is_err());
    assert!(f.run_n(5, args![1i64; at = 7i64]).is_err(), "the first iteration fails");
    assert_eq!(state(), [1, 10]);
    assert!(versions.iter().eq(f.cells().iter().map(|cell| cell.version()).collect::<Vec<_>>().iter()));
    let error = f.run_n(5, args![1i64; at = 0i64]).unwrap_err().to_string();
    assert!(error.contains("iteration 3 of 5"), "{error}");
    assert_eq!(state(), [3, 70]);
}

#[test]
fn a_failed_simulator_keeps_the_state_of_the_last_good_iteration() {
    let f = walker();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let state = |sim: &Simulator| ["at", "sum"].map(|name| number(sim.get_value(name).unwrap()));
    sim.call(args![1i64]).unwrap();
    for round in 0..2 {
        let bad = || args![1i64; at = 7i64];
        assert!(sim.call(bad()).is_err());
        assert!(sim.call_device(bad()).is_err(), "a call with a value for its state is waited for");
        assert!(sim.submit(bad()).and_then(|pending| pending.wait()).is_err());
        assert!(sim.call_borrowed(bad()).is_err());
        assert!(sim.run_n(5, bad()).is_err(), "the first iteration fails");
        assert_eq!(state(&sim), [1, 10], "round {round}");
    }
    sim.sync_to_parent().unwrap();
    assert!(sim.call(args![1i64; at = 7i64]).is_err());
    // A failed call marks nothing as changed, so the new value of the parent is no conflict.
    f.shared("at").unwrap().set_value(5i64).unwrap();
    assert_eq!(sim.sync_from_parent().unwrap(), ["at"]);
    let error = sim.run_n(5, args![1i64; at = 0i64]).unwrap_err().to_string();
    assert!(error.contains("iteration 3 of 5"), "{error}");
    assert_eq!(state(&sim), [3, 70]);
    assert_eq!(number(sim.submit(args![1i64; at = 1i64]).unwrap().wait().unwrap()[0].clone()), 20);
    assert_eq!(state(&sim), [2, 90]);
}

#[test]
fn verification_starts_from_the_given_value() {
    let sim = walker().optimize(Host::threads(1)).unwrap();
    let found = sim.verify(args![1i64; at = 2i64], 1).unwrap();
    assert!(found.passed() && found.compared == 3, "{found}");
    assert!(sim.verify(args![1i64; at = 3i64], 1).is_err());
    assert_eq!(number(sim.get_value("at").unwrap()), 0, "the Simulator is untouched");
}

#[test]
fn plans_are_made_for_the_current_state() {
    let (x, v) = (scalar::<f32>("x"), vector::<f32>("v"));
    let inputs = (In::new(&x), In::new(&v).default(vec![0f32; 3]).update(&v * &x));
    let f = function(inputs).output(v.sum(..)).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    assert!(sim.plan(args![2f32; v = vec![1f32; 3]]).is_ok());
    assert!(sim.memory_report(args![2f32; v = vec![1f32; 3]]).is_ok());
    let other = || args![2f32; v = vec![1f32; 4]];
    let refused = [
        sim.plan(other()).map(drop),
        sim.memory_report(other()).map(drop),
        sim.reserve_for(other()),
        sim.prepare(other()),
    ];
    for refused in refused {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("shape (3,)") && error.contains("set_value"), "{error}");
    }
    assert_eq!(sim.call(other()).unwrap()[0].item::<f32>().unwrap(), 4.0);
}
