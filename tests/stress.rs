//! A stress test: threads, Simulators and syncs over one state, in a random order per thread.
//!
//! Every step adds one to `a`, `b` and `count` together. Every reader must find them equal, and at the end
//! they must be the number of steps that were made in, or published to, the parent.
//! `WORKALIKE_STRESS_ROUNDS=100000 cargo test --release --test stress` is a long run.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use workalike::prelude::*;
use workalike::{Error, Result};

const NONE: [&Variable; 0] = [];
const THREADS: u64 = 6;
/// Elements of `a` and `b`: enough to detect a torn read.
const LENGTH: usize = 2000;

struct State {
    variables: [SharedVariable; 3],
    step: Function,
    look: Function,
    /// Steps made in the parent or published to it.
    steps: AtomicI64,
}

impl State {
    fn new() -> State {
        let (a, b) = (shared("a", vec![0i64; LENGTH]), shared("b", vec![0i64; LENGTH]));
        let count = shared("count", 0i64);
        let step = function(NONE).update(&a, &a + 1).update(&b, &b + 1).update(&count, &count + 1);
        let look = function(NONE)
            .output((&a - &count).abs().max(..))
            .output((&b - &count).abs().max(..))
            .output(&count);
        let (step, look) = (step.compile().unwrap(), look.compile().unwrap());
        State { variables: [a, b, count], step, look, steps: AtomicI64::new(0) }
    }

    /// A Simulator with both methods.
    fn simulator(&self, threads: usize) -> Simulator {
        let mut sim = self.step.renamed("step").optimize(Host::threads(threads)).unwrap();
        sim.add_method("look", &self.look).unwrap();
        sim
    }

    /// One random action; `own` is the thread's Simulator, `common` that of all threads.
    fn act(&self, draw: u64, own: &mut Simulator, common: &Mutex<Simulator>) {
        let n = (draw >> 8) % 5;
        match draw % 8 {
            0 => {
                self.step.call(args![]).unwrap();
                self.steps.fetch_add(1, Relaxed);
            }
            1 => drop(whole(&self.look.call(args![]).unwrap())),
            2 => {
                let [a, b, count] = &self.variables;
                let values = get_values([a, b, count]).unwrap();
                let count = values[2].item::<i64>().unwrap();
                assert!(values[..2].iter().all(|v| v.to_vec::<i64>().unwrap() == vec![count; LENGTH]));
            }
            3 => {
                let bytes = Bundle::new().with("look", &self.look).to_bytes().unwrap();
                whole(&Bundle::from_bytes(&bytes).unwrap()["look"].call(args![]).unwrap());
            }
            4 => drop(whole(&self.look.fork().unwrap().call(args![]).unwrap())),
            5 => self.publish(&mut common.lock().unwrap(), n),
            _ => self.publish(own, n),
        }
    }

    /// Reads the parent's state, makes `n` steps and publishes them, unless the parent changed meanwhile.
    fn publish(&self, sim: &mut Simulator, n: u64) {
        sim.sync_from_parent().unwrap();
        let before = whole(&sim.method("look").unwrap().call(args![]).unwrap());
        sim.run_n(n, args![]).unwrap();
        assert_eq!(whole(&sim.method("look").unwrap().call(args![]).unwrap()), before + n as i64);
        match sim.sync_to_parent() {
            // Nothing to publish, or another thread has published equal values.
            Ok(names) if names.is_empty() => {}
            Ok(names) => {
                assert!(n > 0);
                assert_eq!(names, ["a", "b", "count"]);
                self.steps.fetch_add(n as i64, Relaxed);
            }
            Err(Error::Sync(_)) => {
                sim.reset().unwrap();
                whole(&sim.method("look").unwrap().call(args![]).unwrap());
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// The count, if all variables have it.
fn whole(outputs: &Outputs) -> i64 {
    let numbers: Vec<i64> = outputs.iter().map(|(_, value)| value.item().unwrap()).collect();
    assert_eq!(numbers[..2], [0, 0], "the variables are of different steps: {numbers:?}");
    numbers[2]
}

#[test]
fn variables_that_are_updated_together_are_never_seen_apart_and_every_step_counts() -> Result<()> {
    let rounds = std::env::var("WORKALIKE_STRESS_ROUNDS").map_or(150, |rounds| rounds.parse().unwrap());
    let state = State::new();
    let common = Mutex::new(state.simulator(2));
    // Before any call: a method is refused if its state changed since the first method was added.
    let simulators: Vec<Simulator> = (0..THREADS).map(|t| state.simulator(1 + t as usize % 2)).collect();
    std::thread::scope(|scope| {
        for (thread, mut own) in (0..THREADS).zip(simulators) {
            let (state, common) = (&state, &common);
            scope.spawn(move || {
                let mut draw = thread;
                for _ in 0..rounds {
                    // Knuth's MMIX generator; its high bits are the most random ones.
                    draw = draw.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    state.act(draw >> 33, &mut own, common);
                }
            });
        }
    });
    assert_eq!(whole(&state.look.call(args![])?), state.steps.into_inner());
    Ok(())
}
