//! Memory of Simulators: the pool of results, the memory of a call, out of memory.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use common::Budget;
use workalike::Error;
use workalike::ops::Ix;
use workalike::prelude::*;

/// `y = tanh(x * 2) + 1`, and its sum.
fn example() -> Function {
    let x = vector::<f32>("x");
    let y = (&x * 2.0).tanh() + 1.0;
    function([&x]).output(&y).output(y.sum(..)).compile().unwrap()
}

fn expected(x: f32) -> f32 {
    (x * 2.0).tanh() + 1.0
}

#[test]
fn nothing_is_allocated_after_warm_up() {
    let budget = Budget::of(1 << 30);
    let mut sim = example().optimize(budget.clone()).unwrap();
    let x = sim.upload(vec![0.5f32; 10_000]).unwrap();
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(sim.call_device(args![&x]).unwrap());
    }
    held.clear();
    let counts = &budget.counts;
    let (allocations, recordings, live) = (counts.allocations(), counts.recordings(), counts.live());
    for round in 0..50 {
        for _ in 0..8 {
            held.push(sim.call_device(args![&x]).unwrap());
        }
        for outputs in held.drain(..) {
            let y = outputs[0].to_value().unwrap().to_vec::<f32>().unwrap();
            assert!(y.iter().all(|y| (y - expected(0.5)).abs() < 1e-6), "round {round}");
        }
    }
    assert_eq!(counts.allocations(), allocations);
    assert_eq!(counts.live(), live);
    assert!(counts.recordings() <= recordings + 2, "{} recordings", counts.recordings() - recordings);
}

#[test]
fn results_and_arguments_are_not_copied() {
    let budget = Budget::of(1 << 30);
    let x = vector::<f32>("x");
    // Reversed, so that it cannot be computed in place.
    let f = function([&x]).output(x.index([Ix::from(..).step(-1)]) + 1.0).compile().unwrap();
    let mut sim = f.optimize(budget.clone()).unwrap();
    let mut state = sim.upload((0..1000).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    for _ in 0..10 {
        state = sim.call_device(args![state]).unwrap().remove(0);
    }
    let (copies, recordings) = (budget.counts.copies(), budget.counts.recordings());
    for _ in 0..90 {
        state = sim.call_device(args![state]).unwrap().remove(0);
    }
    assert_eq!(budget.counts.copies(), copies);
    assert_eq!(budget.counts.recordings(), recordings);
    let after: Vec<f32> = (0..1000).map(|i| (i + 100) as f32).collect();
    assert_eq!(state.to_value().unwrap().to_vec::<f32>().unwrap(), after);
}

#[test]
fn results_survive_later_calls_while_they_are_held() {
    let mut sim = example().optimize(Budget::of(1 << 30)).unwrap();
    let results: Vec<_> =
        (0..20).map(|i| sim.call_device(args![vec![i as f32 / 10.0; 100]]).unwrap()).collect();
    for (i, outputs) in results.iter().enumerate() {
        let y = outputs[0].to_value().unwrap().to_vec::<f32>().unwrap();
        assert!(y.iter().all(|y| (y - expected(i as f32 / 10.0)).abs() < 1e-6), "{i}");
        let sum = outputs[1].to_value().unwrap().item::<f32>().unwrap();
        assert!((sum - y.iter().sum::<f32>()).abs() < 1e-3);
    }
}

#[test]
fn a_donated_array_without_other_handles_is_overwritten() {
    let budget = Budget::of(1 << 30);
    let x = vector::<f32>("x");
    let f = function([&x]).output(&x + 1.0).compile().unwrap();
    let mut sim = f.optimize(budget.clone()).unwrap();
    let mut state = sim.upload(vec![0f32; 1000]).unwrap();
    for _ in 0..4 {
        state = sim.call_device(args![state.donate()]).unwrap().remove(0);
    }
    sim.trim();
    let live = budget.counts.live();
    for _ in 0..6 {
        state = sim.call_device(args![state.donate()]).unwrap().remove(0);
    }
    sim.trim();
    assert_eq!(budget.counts.live(), live);
    assert_eq!(state.to_value().unwrap().to_vec::<f32>().unwrap(), [10.0; 1000]);
    // A second handle keeps its value, donated or not.
    let other = state.clone();
    for _ in 0..3 {
        let next = sim.call_device(args![other.clone().donate()]).unwrap().remove(0);
        assert_eq!(next.to_value().unwrap().to_vec::<f32>().unwrap(), [11.0; 1000]);
    }
    assert_eq!(other.to_value().unwrap().to_vec::<f32>().unwrap(), [10.0; 1000]);
}

#[test]
fn a_donated_array_that_is_read_later_is_not_written_over() {
    let x = vector::<f32>("x");
    let y = &x + 1.0;
    // The reversed sum reads all of x for each element.
    let f = function([&x]).output(x.index([Ix::from(..).step(-1)]) + &y).output(&y).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    for _ in 0..5 {
        let given = sim.upload(vec![1f32, 2.0, 3.0]).unwrap();
        let outputs = sim.call_device(args![given.donate()]).unwrap();
        assert_eq!(outputs[0].to_value().unwrap().to_vec::<f32>().unwrap(), [5.0, 5.0, 5.0]);
        assert_eq!(outputs[1].to_value().unwrap().to_vec::<f32>().unwrap(), [2.0, 3.0, 4.0]);
    }
}

#[test]
fn a_donated_array_is_not_written_over_in_another_layout() {
    // Both results fit in the memory of the array, but neither can be computed in place.
    let x = matrix::<f64>("x");
    let narrower = function([&x]).output(x.cast(DType::F32) + 1.0).compile().unwrap();
    let turned = function([&x]).output(x.t() + 1.0).compile().unwrap();
    let given = Array2::from_shape_fn((300, 300), |(i, j)| (300 * i + j) as f64);
    for f in [narrower, turned] {
        let expected = f.call_reference(args![given.clone()]).unwrap()[0].to_f64s();
        let mut sim = f.optimize(Host::threads(2)).unwrap();
        for _ in 0..5 {
            let array = sim.upload(given.clone()).unwrap();
            let outputs = sim.call_device(args![array.donate()]).unwrap();
            assert_eq!(outputs[0].to_value().unwrap().to_f64s(), expected);
        }
    }
}

#[test]
fn idle_memory_is_freed_when_needed() {
    // Besides a call, three results fit in the budget.
    let budget = Budget::of(1 << 20);
    let x = vector::<f32>("x");
    let f = function([&x]).output(&x + 1.0).compile().unwrap();
    let mut sim = f.optimize(budget.clone()).unwrap();
    let small = vec![1f32; 20_000];
    let held: Vec<_> = (0..3).map(|_| sim.call_device(args![&Value::from(small.clone())]).unwrap()).collect();
    drop(held);
    assert!(sim.memory_report(args![&Value::from(small)]).unwrap().pool.idle > 0);
    let large = sim.call(args![vec![2f32; 100_000]]).unwrap();
    assert_eq!(large[0].to_vec::<f32>().unwrap(), vec![3f32; 100_000]);
}

#[test]
fn out_of_memory_names_the_plan_and_smaller_calls_still_run() {
    let w = shared("w", Array2::<f32>::ones((64, 64)));
    let x = matrix::<f32>("x");
    let f = function([&x]).output((x.dot(&w) + 1.0).tanh()).update(&w, &w * 1.0 + 1.0);
    let f = f.name("step").compile().unwrap();
    let mut sim = f.optimize(Budget::of(1 << 20)).unwrap();
    let rows = |n: usize| Array2::<f32>::zeros((n, 64));
    for round in 0..3 {
        let error = sim.call(args![rows(4000)]).unwrap_err();
        let Error::OutOfMemory { plan, .. } = &error else { panic!("{error}") };
        assert!(plan.arena > 1 << 20 && plan.inputs == 4000 * 64 * 4, "{plan}");
        let text = error.to_string();
        for part in ["out of memory", "memory of step on budget", "input x", "float32(4000, 64)", "arena"] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
        assert!(sim.call_device(args![rows(4000)]).is_err());
        let small = sim.call(args![rows(8)]).unwrap();
        assert_eq!(small[0].shape(), [8, 64]);
        // The failed calls made no update.
        assert_eq!(sim.get_value("w").unwrap().to_vec::<f32>().unwrap()[0], 2.0 + round as f32);
    }
}

#[test]
fn varying_shapes_stay_within_bounds() {
    let budget = Budget::of(8 << 20);
    let x = vector::<f32>("x");
    let table = constant(Value::from((0..50_000).map(|i| i as f32).collect::<Vec<_>>()));
    let f = function([&x]).output(x.sum(..) * &table).compile().unwrap();
    let mut sim = f.optimize(budget.clone()).unwrap();
    let mut most = 0;
    for n in 1..200 {
        let out = sim.call(args![vec![1f32; n]]).unwrap();
        assert_eq!(out[0].to_vec::<f32>().unwrap()[7], 7.0 * n as f32);
        most = most.max(budget.counts.live());
    }
    // One copy of the constant, one arena.
    assert!(most < 2 * 200_000 + 200_000, "{most}");
}

#[test]
fn a_report_predicts_the_memory_of_a_call() {
    let budget = Budget::of(64 << 20);
    let w = shared("w", Array2::<f32>::zeros((512, 256)));
    let x = matrix::<f32>("x");
    let f = function([&x]).output((x.dot(&w) * 2.0).sum(0)).compile().unwrap();
    let sim = f.optimize(budget.clone()).unwrap();
    let (live, recordings) = (budget.counts.live(), budget.counts.recordings());
    let report = sim.memory_report(args![of_shape::<f32>(&[1 << 20, 512]).unwrap()]).unwrap();
    assert_eq!((budget.counts.live(), budget.counts.recordings()), (live, recordings));
    assert_eq!(report.state, 512 * 256 * 4);
    assert_eq!(report.inputs, (1 << 20) * 512 * 4);
    assert_eq!(report.outputs, 256 * 4);
    assert!(report.arena >= report.lower_bound && report.lower_bound >= report.inputs);
    assert!(report.needed() > 64 << 20, "{report}");
    assert_eq!(report.largest[0].bytes, report.inputs);
    let text = report.to_string();
    for part in ["shared variables", "512.0 KiB", "input x", "shared w", "matmul", "2.0 GiB"] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn reserved_memory_is_not_allocated_later() {
    let budget = Budget::of(64 << 20);
    let mut sim = example().optimize(budget.clone()).unwrap();
    sim.reserve_for(args![of_shape::<f32>(&[100_000]).unwrap()]).unwrap();
    let allocations = budget.counts.allocations();
    sim.call(args![vec![0f32; 100_000]]).unwrap();
    sim.call(args![vec![0f32; 50_000]]).unwrap();
    let outputs = sim.call_device(args![vec![0f32; 100_000]]).unwrap();
    assert_eq!(budget.counts.allocations(), allocations);
    drop(outputs);
    let live = budget.counts.live();
    let freed = sim.trim();
    assert!(freed >= 400_000, "{freed}");
    assert_eq!(budget.counts.live(), live - freed);
    assert_eq!(sim.call(args![vec![0f32; 10]]).unwrap()[0].to_vec::<f32>().unwrap(), [1.0; 10]);
    sim.reserve(10 << 20).unwrap();
    assert!(budget.counts.live() >= 10 << 20);
    assert!(sim.reserve(1 << 30).is_err());
    assert_eq!(sim.call(args![vec![0f32; 10]]).unwrap()[0].to_vec::<f32>().unwrap(), [1.0; 10]);
}

#[test]
fn an_arena_that_gave_way_comes_back() {
    let x = vector::<f32>("x");
    let f = function([&x]).output(&x + 1.0).compile().unwrap();
    let mut sim = f.optimize(Budget::of(1 << 20)).unwrap();
    // The arena is larger than any call needs, so results do not fit.
    sim.reserve(900 << 10).unwrap();
    for _ in 0..3 {
        let outputs = sim.call_device(args![vec![1f32; 50_000]]).unwrap();
        assert_eq!(outputs[0].to_value().unwrap().to_vec::<f32>().unwrap(), [2.0; 50_000]);
    }
    // The status word, in which a step reports an index out of range, does not fit either.
    let i = vector::<i64>("i");
    let f = function([&x, &i]).output(x.index(idx![&i])).compile().unwrap();
    let mut sim = f.optimize(Budget::of(1 << 20)).unwrap();
    sim.reserve(1 << 20).unwrap();
    let outputs = sim.call(args![vec![1f32, 2.0, 3.0], vec![2i64, 0]]).unwrap();
    assert_eq!(outputs[0].to_vec::<f32>().unwrap(), [3.0, 1.0]);
    assert!(sim.call(args![vec![1f32, 2.0, 3.0], vec![3i64]]).is_err());
}

#[test]
fn results_on_the_host_outlive_the_simulator() {
    let mut sim = example().optimize(Host::threads(1)).unwrap();
    let first = sim.call(args![vec![0.25f32; 100_000]]).unwrap();
    let second = sim.call(args![vec![0.75f32; 100_000]]).unwrap();
    drop(sim);
    for (outputs, x) in [(first, 0.25), (second, 0.75)] {
        assert!(outputs[0].to_vec::<f32>().unwrap().iter().all(|y| (y - expected(x)).abs() < 1e-6));
    }
}
