//! `run_n` equals that many calls, for any number of iterations, sizes of slices and samples, and kinds of
//! updates.

#![allow(clippy::unwrap_used, missing_docs)]

use workalike::graph::TensorType;
use workalike::prelude::*;

const NONE: [&Variable; 0] = [];

fn numbers(shape: &[usize]) -> Value {
    let len = shape.iter().product();
    Value::from_vec(shape, (0..len).map(|i: usize| (i * 7 % 11) as f32 - 4.0).collect()).unwrap()
}

fn slice(sequence: &Value, step: usize) -> Value {
    let shape = &sequence.shape()[1..];
    let size = shape.iter().product::<usize>() * sequence.dtype().size();
    let whole = sequence.contiguous().unwrap();
    Value::from_bytes(sequence.dtype(), shape, &whole.contiguous_bytes().unwrap()[step * size..][..size])
        .unwrap()
}

/// Runs `n` iterations by calls, by `run_n` and by `run_n_collect`, and compares all outputs and the state.
#[track_caller]
fn same(f: &Function, n: usize, constant: &[Value], sequences: &[Value]) {
    let [by_call, by_run, by_collect] = [0; 3].map(|_| f.fork().unwrap());
    let mut sim = by_call.optimize(Host::threads(2)).unwrap();
    let mut want: Vec<Vec<Value>> = vec![];
    for step in 0..n {
        let args = constant.iter().cloned().fold(Args::new(), |a, v| a.with(v));
        let args = sequences.iter().fold(args, |a, s| a.with(slice(s, step)));
        want.push(sim.call(args).unwrap().into_values());
    }
    let args = constant.iter().cloned().fold(Args::new(), |a, v| a.with(v));
    let args = sequences.iter().fold(args, |a, s| a.with(each(s.clone())));
    let mut runs = by_run.optimize(Host::threads(2)).unwrap();
    let last = runs.run_n(n as u64, args.clone()).unwrap().into_values();
    assert_eq!(Some(&last), want.last(), "the last outputs of {n} steps");
    let mut collects = by_collect.optimize(Host::threads(2)).unwrap();
    let all = collects.run_n_collect(n as u64, args).unwrap();
    for output in 0..all.len() {
        assert_eq!(all[output].shape()[0], n);
        for (step, want) in want.iter().enumerate() {
            assert_eq!(slice(&all[output], step), want[output], "output {output} of step {step} of {n}");
        }
    }
    for name in f.cells().iter().map(|c| c.name()) {
        let want = sim.get_value(name).unwrap();
        assert_eq!(runs.get_value(name).unwrap(), want, "{name} after {n} steps");
        assert_eq!(collects.get_value(name).unwrap(), want, "{name} after {n} collected steps");
    }
}

/// Numbers of iterations around the sizes of blocks.
const COUNTS: [usize; 12] = [1, 2, 3, 7, 8, 9, 15, 16, 17, 130, 1030, 2500];

#[test]
fn a_counter_takes_any_number_of_steps() {
    let state = shared("state", 0i64);
    let f = function(NONE).output(&state).update(&state, &state + 1i64).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let mut total = 0;
    for n in [0u64, 1, 5, 511, 512, 513, 1024, 4097, 65_537, 3] {
        let last = sim.run_n(n, args![]).unwrap();
        assert_eq!(last.is_empty(), n == 0);
        total += n as i64;
        if n > 0 {
            assert_eq!(last[0].item::<i64>().unwrap(), total - 1);
        }
        assert_eq!(sim.get_value("state").unwrap().item::<i64>().unwrap(), total);
    }
}

#[test]
fn updates_through_scratch_and_in_place() {
    let (x, y, z) =
        (shared("x", numbers(&[3, 3])), shared("y", numbers(&[3, 3])), shared("z", numbers(&[3])));
    let f = function(NONE)
        .output(&x)
        .output(x.sum(..))
        .update(&x, (&y - &x).t())
        .update(&y, (&x * 0.5).t() + &z)
        .update(&z, &z * 0.25 + 1.0)
        .compile()
        .unwrap();
    COUNTS.iter().for_each(|n| same(&f, *n, &[], &[]));
}

#[test]
fn a_swap_and_an_output_that_is_an_update() {
    let (x, y) = (shared("x", numbers(&[5])), shared("y", numbers(&[5])));
    let new = (&x + &y) * 0.5;
    let f = function(NONE).output(&new).update(&x, &y).update(&y, &new).compile().unwrap();
    COUNTS.iter().for_each(|n| same(&f, *n, &[], &[]));
    let order = constant(vec![4i64, 2, 0, 1, 3]);
    let turned = x.index(idx![&order]);
    let f = function(NONE).output(&turned).update(&x, &turned).compile().unwrap();
    COUNTS.iter().for_each(|n| same(&f, *n, &[], &[]));
    let f = function(NONE).output(x.max(..)).update(&x, &turned).compile().unwrap();
    COUNTS.iter().for_each(|n| same(&f, *n, &[], &[]));
}

#[test]
fn slices_of_every_size() {
    for extent in [0usize, 1, 3, 16, 64, 1000] {
        let (scale, v) = (scalar::<f32>("scale"), vector::<f32>("v"));
        let sum = shared("sum", Value::zeros(DType::F32, &[extent]).unwrap());
        let f = function([&scale, &v])
            .output(&sum + &v)
            .update(&sum, &sum * 0.5 + &v * &scale)
            .compile()
            .unwrap();
        for n in [1usize, 2, 9, 17, 700] {
            same(&f, n, &[Value::from(0.5f32)], &[numbers(&[n, extent])]);
        }
    }
}

#[test]
fn a_sequence_larger_than_one_upload() {
    // 40 slices of 4 MiB are uploaded in several chunks.
    let v = vector::<f32>("v");
    let sum = shared("sum", Value::zeros(DType::F32, &[1 << 20]).unwrap());
    let f = function([&v]).output(sum.max(..)).update(&sum, &sum * 0.5 + &v).compile().unwrap();
    same(&f, 40, &[], &[numbers(&[40, 1 << 20])]);
}

#[test]
fn steps_with_values_that_decide_shapes() {
    let (data, i) = (shared("data", numbers(&[50])), scalar::<i64>("i"));
    let sum = shared("sum", 0f32);
    let part = data.index(idx![range(&i, &i + 3i64)]);
    let f = function([&i]).output(&part).update(&sum, &sum + part.sum(..)).compile().unwrap();
    let starts = Value::from((0..40i64).collect::<Vec<_>>());
    same(&f, 40, &[], &[starts]);
}

#[test]
fn an_index_out_of_range_is_reported_and_then_forgotten() {
    let (table, i) = (shared("table", numbers(&[8])), vector::<i64>("i"));
    let sum = shared("sum", 0f32);
    let f = function([&i]).output(table.index(idx![&i])).update(&sum, &sum + 1.0).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let mut steps = vec![0i64; 900];
    steps[500] = 8;
    let bad = Value::from_vec(&[900, 1], steps).unwrap();
    assert!(sim.run_n(900, args![each(bad.clone())]).unwrap_err().to_string().contains("out of range"));
    assert!(sim.run_n_collect(900, args![each(bad)]).is_err());
    sim.run_n(900, args![vec![7i64]]).unwrap();
    // The 500 iterations before the bad one, twice.
    assert_eq!(sim.get_value("sum").unwrap().item::<f32>().unwrap(), 1900.0);
}

#[test]
fn methods_take_turns() {
    let (x, y) = (shared("x", numbers(&[3, 3])), shared("y", numbers(&[3, 3])));
    let f = function(NONE).update(&x, (&y + &x * 0.5).t()).compile().unwrap();
    let g = function(NONE).update(&y, x.t() * 0.5).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    sim.add_method("g", &g).unwrap();
    let mut one = f.optimize(Host::threads(1)).unwrap();
    one.add_method("g", &g).unwrap();
    for n in [300u64, 7, 300, 64] {
        sim.run_n(n, args![]).unwrap();
        sim.method("g").unwrap().run_n(n, args![]).unwrap();
        for _ in 0..n {
            one.call(args![]).unwrap();
        }
        for _ in 0..n {
            one.method("g").unwrap().call(args![]).unwrap();
        }
        for name in ["x", "y"] {
            assert_eq!(sim.get_value(name).unwrap(), one.get_value(name).unwrap());
        }
    }
}

#[test]
fn a_loop_ends_with_the_first_step_whose_condition_is_false() {
    for stop in [0i64, 1, 2, 3, 10, 64, 100, 777, 5000] {
        let (count, kept) = (shared("count", 0i64), shared("kept", numbers(&[3, 3])));
        let f = function(NONE)
            .output_named("more", count.less(stop))
            .output(&count)
            .update(&count, &count + 1i64)
            .update(&kept, (&kept + 1.0).t())
            .compile()
            .unwrap();
        let g = f.fork().unwrap();
        let mut sim = f.optimize(Host::threads(1)).unwrap();
        let (steps, outputs) = sim.run_while("more", 3000, args![]).unwrap();
        assert_eq!(steps, 3000.min(stop as u64 + 1));
        assert_eq!(outputs[1].item::<i64>().unwrap(), steps as i64 - 1);
        let mut other = g.optimize(Host::threads(1)).unwrap();
        other.run_n(steps, args![]).unwrap();
        for name in ["count", "kept"] {
            assert_eq!(sim.get_value(name).unwrap(), other.get_value(name).unwrap());
        }
    }
}

#[test]
fn a_loop_with_slices() {
    let v = tensor::<f32>("v", TensorType::of_rank(DType::F32, 0).shape.to_vec());
    let sum = shared("sum", 0f32);
    let f = function([&v])
        .output_named("more", (&sum + &v).less(500.0))
        .update(&sum, &sum + &v)
        .compile()
        .unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let ones = Value::from(vec![1f32; 2000]);
    let (steps, _) = sim.run_while("more", 2000, args![each(ones)]).unwrap();
    assert_eq!((steps, sim.get_value("sum").unwrap().item::<f32>().unwrap()), (500, 500.0));
}

#[test]
fn invalid_conditions_are_refused() {
    let x = shared("x", 0f32);
    let f = function(NONE).output_named("x", &x).output(x.less(1.0)).update(&x, &x + 1.0).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let wrong = sim.run_while("y", 3, args![]).unwrap_err().to_string();
    assert!(wrong.contains("no output y") && wrong.contains("x"), "{wrong}");
    let wrong = sim.run_while("x", 3, args![]).unwrap_err().to_string();
    assert!(wrong.contains("bool"), "{wrong}");
    assert_eq!(sim.get_value("x").unwrap().item::<f32>().unwrap(), 0.0);
}
