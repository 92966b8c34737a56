//! Sync between Simulators and their parents: conflicts, and how each is settled.

use workalike::Result;
use workalike::prelude::*;

const NONE: [&Variable; 0] = [];

fn number(value: Result<Value>) -> i64 {
    value.unwrap().item().unwrap()
}

fn says<T>(outcome: Result<T>, parts: &[&str]) {
    let Err(error) = outcome else { panic!("no error with {parts:?}") };
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} are not all in: {text}");
}

/// A counter, a Function that increments it, and a Simulator.
fn counter() -> (SharedVariable, Function, Simulator) {
    let (w, by) = (shared("w", 1i64), scalar::<i64>("by"));
    let f = function([&by]).update(&w, &w + &by).compile().unwrap();
    let sim = f.optimize(Host::threads(1)).unwrap();
    (w, f, sim)
}

/// Asserts that there is no conflict, and that both sides have this value.
fn settled(sim: &mut Simulator, w: &SharedVariable, value: i64) {
    assert!(sim.sync_to_parent().unwrap().is_empty());
    assert!(sim.sync_from_parent().unwrap().is_empty());
    assert_eq!((number(sim.get(w)), number(w.get_value())), (value, value));
}

/// The value of the Simulator is 11, that of the parent 5; both were 1.
fn conflict() -> (SharedVariable, Function, Simulator) {
    let (w, f, mut sim) = counter();
    sim.call(args![10i64]).unwrap();
    w.set_value(5i64).unwrap();
    says(sim.sync_to_parent(), &["w changed in the parent", "Keep::Simulator", "Keep::Parent"]);
    says(sim.sync_from_parent(), &["w changed both", "Keep::Simulator", "Keep::Parent"]);
    assert_eq!((number(sim.get(&w)), number(w.get_value())), (11, 5));
    (w, f, sim)
}

#[test]
fn an_explicit_side_settles_a_conflict_for_good() {
    let (w, _f, mut sim) = conflict();
    assert_eq!(sim.sync_to_parent_keeping(Keep::Simulator).unwrap(), ["w"]);
    settled(&mut sim, &w, 11);
    let (w, _f, mut sim) = conflict();
    assert!(sim.sync_to_parent_keeping(Keep::Parent).unwrap().is_empty());
    settled(&mut sim, &w, 5);
    let (w, _f, mut sim) = conflict();
    assert_eq!(sim.sync_from_parent_keeping(Keep::Parent).unwrap(), ["w"]);
    settled(&mut sim, &w, 5);
    let (w, _f, mut sim) = conflict();
    assert!(sim.sync_from_parent_keeping(Keep::Simulator).unwrap().is_empty());
    assert_eq!(sim.sync_to_parent().unwrap(), ["w"]);
    settled(&mut sim, &w, 11);
    let (w, _f, mut sim) = conflict();
    assert_eq!(sim.reset().unwrap(), ["w"]);
    settled(&mut sim, &w, 5);
}

#[test]
fn one_sided_changes_are_copied_whichever_side_is_kept() {
    for keep in [Keep::Simulator, Keep::Parent] {
        let (w, _f, mut sim) = counter();
        sim.call(args![10i64]).unwrap();
        assert_eq!(sim.sync_to_parent_keeping(keep).unwrap(), ["w"]);
        settled(&mut sim, &w, 11);
        w.set_value(7i64).unwrap();
        assert_eq!(sim.sync_from_parent_keeping(keep).unwrap(), ["w"]);
        settled(&mut sim, &w, 7);
    }
}

/// Two parents with cells of one id.
fn two_parents() -> (SharedVariable, SharedVariable, Simulator) {
    let (w, f, mut sim) = counter();
    let loaded = Bundle::from_bytes(&Bundle::new().with("f", &f).to_bytes().unwrap()).unwrap();
    sim.add_method("again", &loaded["f"]).unwrap();
    let other = SharedVariable::of(loaded["f"].cells()[0].clone());
    (w, other, sim)
}

#[test]
fn two_parents_that_disagree_are_settled_by_an_explicit_side() {
    type Settle = fn(&mut Simulator) -> Result<Vec<String>>;
    let ways: [(Settle, i64); 5] = [
        (|sim| sim.sync_from_parent_keeping(Keep::Parent), 5),
        (|sim| sim.sync_from_parent_keeping(Keep::Simulator), 1),
        (|sim| sim.sync_to_parent_keeping(Keep::Simulator), 1),
        (|sim| sim.reset(), 5),
        (|sim| sim.reset_only([] as [&SharedVariable; 0]).and(sim.sync_from_parent_keeping(Keep::Parent)), 5),
    ];
    for (settle, value) in ways {
        let (w, other, mut sim) = two_parents();
        w.set_value(5i64).unwrap();
        other.set_value(6i64).unwrap();
        says(
            sim.sync_from_parent(),
            &["w changed to different values in two parent Functions", "Keep::Parent"],
        );
        settle(&mut sim).unwrap();
        sim.sync_to_parent().unwrap();
        settled(&mut sim, &w, value);
        settled(&mut sim, &other, value);
    }
    // The Simulator changed too.
    for (keep, value) in [(Keep::Simulator, 11), (Keep::Parent, 5)] {
        let (w, other, mut sim) = two_parents();
        sim.call(args![10i64]).unwrap();
        w.set_value(5i64).unwrap();
        other.set_value(6i64).unwrap();
        sim.sync_to_parent_keeping(keep).unwrap();
        settled(&mut sim, &w, value);
        settled(&mut sim, &other, value);
    }
}

#[test]
fn a_parent_that_did_not_change_gets_the_others_value_with_the_next_sync() {
    let (w, other, mut sim) = two_parents();
    other.set_value(6i64).unwrap();
    assert_eq!(sim.sync_from_parent().unwrap(), ["w"]);
    assert_eq!(sim.sync_to_parent().unwrap(), ["w"]);
    settled(&mut sim, &w, 6);
    settled(&mut sim, &other, 6);
}

#[test]
fn equal_values_are_no_conflict() {
    let w = shared("w", vec![f32::NAN, 1.0]);
    let f = function(NONE).update(&w, &w + 0.0).compile().unwrap();
    let mut sims = [f.optimize(Host::threads(1)).unwrap(), f.optimize(Host::threads(1)).unwrap()];
    for sim in &mut sims {
        sim.call(args![]).unwrap();
        assert!(sim.sync_to_parent().unwrap().is_empty(), "the value is the parent's");
    }
    f.call(args![]).unwrap();
    sims[0].call(args![]).unwrap();
    assert!(sims[0].sync_from_parent().unwrap().is_empty());
    f.call(args![]).unwrap();
    sims[0].call(args![]).unwrap();
    assert!(sims[0].sync_to_parent().unwrap().is_empty());
    // Another parent with an equal value, whose version is new.
    f.call(args![]).unwrap();
    sims[0].add_method("g", &f.renamed("g")).unwrap();
    sims[0].set_value("w", vec![2f32, 3.0]).unwrap();
    assert_eq!(sims[0].sync_to_parent().unwrap(), ["w"]);
}

/// Calls of the parent, before and after the Simulator's, that leave the value as it is.
#[test]
fn calls_that_change_nothing_are_no_conflict() {
    let (x, w) = (vector::<f32>("x"), shared("w", vec![1f32, 2.0]));
    let rows = shared_dynamic("rows", vec![1f32, 2.0], &[0]);
    let f = function([&x])
        .output(&w * 1.0)
        .update(&w, &w + &x)
        .update(&rows, &rows + x.sum(..))
        .compile()
        .unwrap();
    let zeros = || args![[0f32, 0.0]];
    for before in [true, false] {
        let mut sim = f.optimize(Host::auto()).unwrap();
        if before {
            f.call(zeros()).unwrap();
            f.run_n(3, zeros()).unwrap();
        }
        sim.call(args![[1f32, 1.0]]).unwrap();
        if !before {
            f.call(zeros()).unwrap();
            f.run_n(3, zeros()).unwrap();
        }
        assert_eq!(sim.sync_to_parent().unwrap(), ["w", "rows"]);
        assert!(sim.sync_from_parent().unwrap().is_empty());
        // A real change is one.
        sim.call(args![[1f32, 1.0]]).unwrap();
        f.call(args![[3f32, 4.0]]).unwrap();
        says(sim.sync_to_parent(), &["w", "changed in the parent", "reset()"]);
        sim.reset().unwrap();
    }
}

#[test]
fn a_call_that_fails_changes_nothing_that_could_be_synced() {
    let (w, x) = (shared("a", vec![0f32; 2]), vector::<f32>("x"));
    let f = function([&x]).update(&w, &w + &x).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    sim.call(args![vec![1f32; 3]]).unwrap_err();
    sim.run_n(3, args![vec![1f32; 3]]).unwrap_err();
    sim.typed::<(Vec<f32>,), ()>().unwrap().call((vec![1f32; 3],)).unwrap_err();
    sim.call_trusted(&[Value::from(vec![1f32; 3])]).unwrap_err();
    sim.profile(2, args![vec![1f32; 3]]).unwrap_err();
    assert!(sim.sync_to_parent().unwrap().is_empty());
    w.set_value(vec![5f32; 2]).unwrap();
    assert_eq!(sim.sync_from_parent().unwrap(), ["a"], "nothing is in its way");
    f.call(args![vec![1f32; 3]]).unwrap_err();
    sim.call(args![vec![1f32; 2]]).unwrap();
    assert_eq!(sim.sync_to_parent().unwrap(), ["a"], "the parent's call failed and changed nothing");
}

#[test]
fn a_simulator_is_reset_though_its_parent_did_not_change() {
    let (w, v) = (shared("w", 1i64), shared("v", 2i64));
    let f = function(NONE).update(&w, &w + 1i64).update(&v, &v + 1i64).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    sim.run_n(5, args![]).unwrap();
    assert!(sim.sync_from_parent().unwrap().is_empty());
    assert_eq!(sim.reset_only([&v]).unwrap(), ["v"]);
    assert_eq!((number(sim.get(&w)), number(sim.get(&v))), (6, 2));
    assert_eq!(sim.reset().unwrap(), ["w"]);
    settled(&mut sim, &w, 1);
    settled(&mut sim, &v, 2);
    says(sim.reset_only([&shared("w", 1i64)]), &["w is in no method"]);
}

#[test]
fn a_parent_is_brought_back_to_the_value_of_a_simulator_that_did_not_change() {
    let (w, _f, mut sim) = counter();
    w.set_value(9i64).unwrap();
    assert_eq!(sim.sync_to_parent_keeping(Keep::Simulator).unwrap(), ["w"]);
    settled(&mut sim, &w, 1);
}

#[test]
fn some_variables_are_synced_and_others_are_not() {
    let (w, v) = (shared("w", 1i64), shared("v", 2i64));
    let f = function(NONE).update(&w, &w + 1i64).update(&v, &v + 1i64).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    sim.call(args![]).unwrap();
    assert_eq!(sim.sync_to_parent_only([&v, &v]).unwrap(), ["v"]);
    assert_eq!((number(w.get_value()), number(v.get_value())), (1, 3));
    w.set_value(10i64).unwrap();
    v.set_value(20i64).unwrap();
    assert_eq!(sim.sync_from_parent_only([&v]).unwrap(), ["v"], "the conflict of w is not asked about");
    says(sim.sync_from_parent_only([&w]), &["w changed both"]);
    assert_eq!((number(sim.get(&w)), number(sim.get(&v))), (2, 20));
}

#[test]
fn a_method_is_added_with_either_value() {
    for (keep, value) in [(Keep::Simulator, 11), (Keep::Parent, 7)] {
        let (w, f, mut sim) = counter();
        let loaded = Bundle::from_bytes(&Bundle::new().with("f", &f).to_bytes().unwrap()).unwrap();
        let other = SharedVariable::of(loaded["f"].cells()[0].clone());
        other.set_value(7i64).unwrap();
        sim.call(args![10i64]).unwrap();
        says(sim.add_method("g", &loaded["f"]), &["another value", "Keep::Simulator", "Keep::Parent"]);
        sim.add_method_keeping("g", &loaded["f"], keep).unwrap();
        sim.sync_to_parent().unwrap();
        settled(&mut sim, &w, value);
        settled(&mut sim, &other, value);
    }
}

#[test]
fn shared_variables_of_one_name_are_reached_by_handle() {
    let layers = [shared("w", 1i64), shared("w", 2i64)];
    let f = function(NONE).output(&layers[0] + &layers[1]).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    assert_eq!(layers.each_ref().map(|w| number(sim.get(w))), [1, 2]);
    sim.set(&layers[1], 5i64).unwrap();
    assert_eq!(layers.each_ref().map(|w| number(sim.get(w))), [1, 5]);
    says(sim.get_value("w"), &["2 shared variables are called w", "get(&w)"]);
    says(sim.set_value("w", 7i64), &["2 shared variables are called w", "set(&w, ..)"]);
    assert_eq!(layers.each_ref().map(|w| number(sim.get(w))), [1, 5]);
    says(sim.get(&shared("w", 0i64)), &["in no method", "w, w"]);
    says(sim.set(&layers[0], 1f32), &["shared variable w", "int64", "float32"]);
    assert_eq!(sim.sync_to_parent().unwrap(), ["w"]);
    assert_eq!(get_values(&layers).unwrap(), [Value::from(1i64), Value::from(5i64)]);
}
