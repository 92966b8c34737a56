//! Shared variables and threads: a set of variables is one state, and no call deadlocks with itself.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex};
use workalike::graph::TensorType;
use workalike::ops::{Gradient, Known, Op};
use workalike::prelude::*;
use workalike::{Error, Result};

const NONE: [&Variable; 0] = [];
const ROUNDS: usize = 200;

/// Two variables that the first Function updates together. The second Function returns their largest
/// difference and the largest difference within the first variable.
struct Pair {
    a: SharedVariable,
    b: SharedVariable,
    step: Function,
    look: Function,
}

fn pair() -> Pair {
    let n = 3000;
    let (a, b) = (shared("a", vec![0f32; n]), shared("b", vec![0f32; n]));
    let step = function(NONE).update(&a, &a + 1.0).update(&b, &b + 1.0).compile().unwrap();
    let apart = (&a - &b).abs().max(..);
    let within = (&a - a.index(idx![0])).abs().max(..);
    let look = function(NONE).output(apart).output(within).compile().unwrap();
    Pair { a, b, step, look }
}

fn whole(outputs: &Outputs) {
    assert_eq!(outputs[0].item::<f32>().unwrap(), 0.0, "one variable is ahead of the other");
    assert_eq!(outputs[1].item::<f32>().unwrap(), 0.0, "half a variable is ahead of the other half");
}

/// Runs both concurrently, [`ROUNDS`] times each.
fn beside(mut write: impl FnMut() + Send, mut read: impl FnMut() + Send) {
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            (0..ROUNDS).for_each(|_| write());
        });
        start.wait();
        (0..ROUNDS).for_each(|_| read());
    });
}

#[test]
fn calls_see_other_calls_whole() {
    let Pair { step, look, .. } = pair();
    beside(|| drop(step.call(args![]).unwrap()), || whole(&look.call(args![]).unwrap()));
    beside(|| drop(step.call_reference(args![]).unwrap()), || whole(&look.call_reference(args![]).unwrap()));
}

#[test]
fn published_values_are_seen_together() {
    let Pair { step, look, .. } = pair();
    let mut sim = step.optimize(Host::threads(1)).unwrap();
    let mut publish = || {
        sim.run_n(3, args![]).unwrap();
        assert_eq!(sim.sync_to_parent().unwrap(), ["a", "b"]);
    };
    let mut watch = look.optimize(Host::threads(1)).unwrap();
    beside(&mut publish, || {
        watch.sync_from_parent().unwrap();
        whole(&watch.call(args![]).unwrap());
    });
    beside(&mut publish, || whole(&look.call(args![]).unwrap()));
    beside(&mut publish, || whole(&look.optimize(Host::threads(1)).unwrap().call(args![]).unwrap()));
    beside(&mut publish, || {
        watch.reset().unwrap();
        whole(&watch.call(args![]).unwrap());
    });
}

#[test]
fn contexts_read_their_parents_at_one_moment() {
    // Writing the first one to its device takes long: a thread that writes meanwhile would show between them.
    let (a, b) = (shared("a", vec![0f32; 1 << 20]), shared("b", 0f32).on("d1"));
    let look = function(NONE).output(a.index(idx![-1])).output(transfer(&*b, "d0") + 0.0).compile().unwrap();
    let devices = || contexts([("d0", Host::threads(1)), ("d1", Host::threads(1))]);
    let mut sim = look.optimize(devices()).unwrap();
    let mut next = 0f32;
    let write = || {
        next += 1.0;
        set_values([(&a, Value::from(vec![next; 1 << 20])), (&b, Value::from(next))]).unwrap();
    };
    let mut looks = 0;
    beside(write, || {
        looks += 1;
        if looks % 4 == 0 {
            sim = look.optimize(devices()).unwrap();
        } else if looks % 8 == 1 {
            sim.reset().unwrap();
        } else {
            sim.sync_from_parent().unwrap();
        }
        let seen = sim.call(args![]).unwrap();
        assert_eq!(seen[0], seen[1], "one variable is ahead of the other");
    });
}

#[test]
fn concurrent_saves_forks_and_reads_are_consistent() {
    let Pair { a, b, step, look } = pair();
    let write = || drop(step.call(args![]).unwrap());
    beside(write, || {
        let bytes = Bundle::new().with("look", &look).to_bytes().unwrap();
        whole(&Bundle::from_bytes(&bytes).unwrap()["look"].call(args![]).unwrap());
    });
    beside(write, || whole(&look.fork().unwrap().call(args![]).unwrap()));
    beside(write, || {
        let values = get_values([&a, &b]).unwrap();
        assert_eq!(values[0], values[1]);
    });
    let (old, new) = (Value::from(vec![-1f32; 3000]), Value::from(vec![-2f32; 3000]));
    let mut round = 0;
    let set = || {
        round += 1;
        let value = if round % 2 == 0 { &old } else { &new };
        set_values([(&b, value), (&a, value)]).unwrap();
    };
    beside(set, || whole(&look.call(args![]).unwrap()));
}

#[test]
fn large_values_are_published_whole() {
    let n = (4 << 20) / 4; // large enough to be swapped rather than copied
    let (a, b) = (shared("a", vec![0f32; n]), shared("b", vec![0f32; n]));
    let look = function(NONE).output((&a - &b).abs().max(..)).compile().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..10 {
                let value = Value::from(vec![round as f32; n]);
                set_values([(&a, &value), (&b, &value)]).unwrap();
            }
        });
        for _ in 0..10 {
            assert_eq!(look.call(args![]).unwrap()[0].item::<f32>().unwrap(), 0.0);
        }
    });
    assert_eq!(a.get_value().unwrap().to_vec::<f32>().unwrap(), vec![9f32; n]);
}

#[test]
fn of_two_simulators_that_publish_at_once_one_gets_the_conflict() {
    for _ in 0..30 {
        let w = shared("w", vec![0f32; 50_000]);
        let by = scalar::<f32>("by");
        let f = function([&by]).update(&w, &w + &by).compile().unwrap();
        let (both, published) = (Barrier::new(2), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for by in [1f32, 2.0] {
                let (f, w, both, published) = (&f, &w, &both, &published);
                scope.spawn(move || {
                    let mut sim = f.optimize(Host::threads(1)).unwrap();
                    both.wait(); // both start from the same value
                    sim.call(args![by]).unwrap();
                    both.wait();
                    match sim.sync_to_parent() {
                        Ok(names) => {
                            assert_eq!(names, ["w"]);
                            published.fetch_add(by as usize, Relaxed);
                        }
                        Err(error) => assert!(error.to_string().contains("changed in the parent"), "{error}"),
                    }
                    both.wait();
                    let by = published.load(Relaxed);
                    assert_eq!(w.get_value().unwrap().to_vec::<f32>().unwrap()[0], by as f32);
                });
            }
        });
        assert_ne!(published.into_inner(), 3, "both syncs succeeded, and one update was lost");
    }
}

type Deed = Arc<dyn Fn(&Value) -> Result<()> + Send + Sync>;

/// A user-defined op that runs a closure in `perform` and returns its input.
struct Does(Deed);

impl std::fmt::Debug for Does {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Does")
    }
}

impl Op for Does {
    fn id(&self) -> &'static str {
        "tests.does"
    }
    fn types(&self, inputs: &[&TensorType]) -> std::result::Result<Vec<TensorType>, String> {
        Ok(vec![inputs[0].clone()])
    }
    fn shapes(&self, inputs: &[Known]) -> std::result::Result<Vec<Vec<usize>>, String> {
        Ok(vec![inputs[0].shape.to_vec()])
    }
    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }
    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        (self.0)(&inputs[0])?;
        Ok(vec![inputs[0].clone()])
    }
}

/// A Function of `x` over a shared variable that runs `does` during the call.
fn doing(w: &SharedVariable, does: impl Fn(&Value) -> Result<()> + Send + Sync + 'static) -> Function {
    let x = vector::<f32>("x");
    let y = Variable::apply(Does(Arc::new(does)), &[&x * 2.0]).unwrap().swap_remove(0);
    function([&x]).output(y.exp()).update(w, &**w + y.sum(..)).compile().unwrap()
}

fn says<T>(outcome: Result<T>, parts: &[&str]) {
    let Err(error) = outcome else { panic!("no error with {parts:?}") };
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} are not all in: {text}");
}

#[test]
fn a_call_nested_in_one_that_holds_its_shared_variable_is_refused() {
    let w = shared("w", 1f32);
    let read = function(NONE).output(&w + 1.0).compile().unwrap();
    let held = "shared variable w is held by the call that this one is nested in";
    let (f, g, h, i) = (read.clone(), read.clone(), read.clone(), read);
    let (v, u) = (w.clone(), w.clone());
    let asks: [(&str, Deed); 6] = [
        ("call", Arc::new(move |_| f.call(args![]).map(drop))),
        ("call_reference", Arc::new(move |_| g.call_reference(args![]).map(drop))),
        ("get_value", Arc::new(move |_| u.get_value().map(drop))),
        ("set_value", Arc::new(move |_| v.set_value(5f32))),
        ("to_bytes", Arc::new(move |_| Bundle::new().with("f", &h).to_bytes().map(drop))),
        ("optimize", Arc::new(move |_| i.optimize(Host::threads(1)).map(drop))),
    ];
    for (what, ask) in asks {
        let f = doing(&w, move |value| ask(value));
        for outcome in [f.call(args![vec![1f32]]), f.call_reference(args![vec![1f32]])] {
            let Err(error) = outcome else { panic!("{what} is not refused") };
            assert!(error.to_string().contains(held), "{what}: {error}");
        }
        assert_eq!(w.get_value().unwrap().item::<f32>().unwrap(), 1.0, "{what}");
        // A Simulator does not lock its parents' variables.
        f.optimize(Host::threads(1)).unwrap().call(args![vec![1f32]]).unwrap();
        w.set_value(1f32).unwrap();
    }
}

#[test]
fn a_call_of_the_very_function_that_performs_the_op_is_refused() {
    let place: Arc<Mutex<Option<Function>>> = Arc::default();
    let inner = place.clone();
    let x = vector::<f32>("x");
    let again = move |value: &Value| {
        let f = inner.lock().unwrap().clone();
        f.map_or(Ok(()), |f| f.call(args![value]).map(drop))
    };
    let y = Variable::apply(Does(Arc::new(again)), &[&x + 1.0]).unwrap().swap_remove(0);
    let f = function([&x]).output(&y).compile().unwrap();
    f.call(args![vec![1f32]]).unwrap();
    *place.lock().unwrap() = Some(f.clone());
    says(f.call(args![vec![1f32]]), &["must not call the Function it is part of"]);
    *place.lock().unwrap() = None;
    f.call(args![vec![1f32]]).unwrap();
}

#[test]
fn nested_calls_over_other_variables_go_on_beside_other_threads() {
    let (w, other) = (shared("w", 0f32), shared("other", 0f32));
    let inner = function(NONE).update(&other, &other + 1.0).compile().unwrap();
    let nested = inner.clone();
    let outer = doing(&w, move |_| nested.call(args![]).map(drop));
    beside(|| drop(outer.call(args![vec![1f32]]).unwrap()), || drop(inner.call(args![]).unwrap()));
    assert_eq!(other.get_value().unwrap().item::<f32>().unwrap(), 2.0 * ROUNDS as f32);
}

#[test]
fn two_threads_whose_ops_call_into_each_other_do_not_wait_for_ever() {
    let (a, b) = (shared("a", 0f32), shared("b", 0f32));
    let calls = |w: &SharedVariable| function(NONE).output(w).compile().unwrap();
    let (read_a, read_b, both) = (calls(&a), calls(&b), Arc::new(Barrier::new(2)));
    let nested = |f: Function, both: Arc<Barrier>| {
        move |_: &Value| {
            both.wait(); // each thread holds its own variable now
            f.call(args![]).map(drop)
        }
    };
    let over_a = doing(&a, nested(read_b, both.clone()));
    let over_b = doing(&b, nested(read_a, both));
    let outcomes: Vec<Result<Outputs>> = std::thread::scope(|scope| {
        let threads = [&over_a, &over_b].map(|f| scope.spawn(|| f.call(args![vec![1f32]])));
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let refused: Vec<&Error> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
    assert!(!refused.is_empty(), "neither waited for the other");
    assert!(refused.iter().all(|e| e.to_string().contains("in another thread")), "{refused:?}");
}
