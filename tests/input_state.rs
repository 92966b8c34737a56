//! Inputs that keep a value of their own (`In::update`), when a call that was given one fails.

#![allow(clippy::unwrap_used)]

use workalike::prelude::*;

/// `at` counts up by one from the value that a call gives; the output is the table's element there. `sum`
/// adds them up.
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

#[test]
fn a_function_that_fails_keeps_what_its_last_good_iteration_left() {
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
fn a_simulator_that_fails_keeps_what_its_last_good_iteration_left() {
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
    // A call that failed marks nothing as changed: what the parent is given now is no conflict.
    f.shared("at").unwrap().set_value(5i64).unwrap();
    assert_eq!(sim.sync_from_parent().unwrap(), ["at"]);
    let error = sim.run_n(5, args![1i64; at = 0i64]).unwrap_err().to_string();
    assert!(error.contains("iteration 3 of 5"), "{error}");
    assert_eq!(state(&sim), [3, 70]);
    assert_eq!(number(sim.submit(args![1i64; at = 1i64]).unwrap().wait().unwrap()[0].clone()), 20);
    assert_eq!(state(&sim), [2, 90]);
}

#[test]
fn verification_starts_from_the_value_that_it_is_given() {
    let sim = walker().optimize(Host::threads(1)).unwrap();
    let found = sim.verify(args![1i64; at = 2i64], 1).unwrap();
    assert!(found.passed() && found.compared == 3, "{found}");
    assert!(sim.verify(args![1i64; at = 3i64], 1).is_err());
    assert_eq!(number(sim.get_value("at").unwrap()), 0, "the Simulator is untouched");
}

#[test]
fn plans_are_made_for_the_state_that_is_there() {
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
