//! The work of fusion is in proportion to a graph, and joined clusters compute what the reference does.

use crate::prelude::*;
use workalike_kernels::nest::BlockWriter;

/// `n` ops on `y`, half of them sines of multiples.
fn iterate(mut y: Variable, n: usize, mut visit: impl FnMut(&Variable)) -> Variable {
    for i in 0..n {
        y = if i % 2 == 0 { (&y * (1.0 + 0.001 * (i % 7) as f64)).sin() } else { &y + 0.5 };
        visit(&y);
    }
    y
}

fn chain(n: usize) -> Function {
    let x = vector::<f32>("x");
    let y = iterate(&x + 0.0, n, |_| ());
    let slope = grad(y.sum(..), [&x]).unwrap().remove(0);
    function([&x]).output(y).output(slope).compile().unwrap()
}

/// A chain of which every value is an output.
fn outputs(n: usize) -> Function {
    let x = vector::<f32>("x");
    let mut all = vec![];
    iterate(&x + 0.0, n, |y| all.push(y.clone()));
    function([&x]).outputs(all).compile().unwrap()
}

/// A chain of which every value is summed too.
fn sums(n: usize) -> Function {
    let x = vector::<f32>("x");
    let mut all = vec![];
    iterate(&x + 0.0, n, |y| all.push(y.sum(..)));
    function([&x]).outputs(all).compile().unwrap()
}

/// A balanced tree of sums, and its gradient.
fn tree(n: usize) -> Function {
    let x = vector::<f32>("x");
    let mut level: Vec<Variable> = (0..n).map(|i| (&x * (1.0 + i as f64)).sin()).collect();
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| pair[1..].iter().fold(pair[0].clone(), |a, b| a + b)).collect();
    }
    let slope = grad(level[0].sum(..), [&x]).unwrap().remove(0);
    function([&x]).output(&level[0]).output(slope).compile().unwrap()
}

/// Short chains that share an input.
fn branches(n: usize) -> Function {
    let x = vector::<f32>("x");
    let all = (0..n / 20).map(|i| iterate(&x + i as f64, 20, |_| ()));
    function([&x]).outputs(all).compile().unwrap()
}

/// Instructions that fusion appends for vectors of `extent` elements, and launches of a call.
fn work(f: &Function, extent: usize) -> (usize, u64) {
    let mut sim = f.optimize(Host::threads(1).strict()).unwrap();
    let before = BlockWriter::work_of_thread();
    let launches = sim.plan(Args::new().with(of_shape::<f32>(&[extent]).unwrap())).unwrap().total.launches;
    (BlockWriter::work_of_thread() - before, launches)
}

#[test]
fn work_is_in_proportion_to_the_graph() {
    for (name, make) in [
        ("chain", chain as fn(usize) -> Function),
        ("outputs", outputs),
        ("sums", sums),
        ("tree", tree),
        ("branches", branches),
    ] {
        for extent in [1, 1000] {
            let [small, large] = [1000, 4000].map(|n| work(&make(n), extent).0);
            assert!(large < 5 * small, "{name} of {extent}: {small} of 1,000 Nodes, {large} of 4,000");
            assert!(large < 200 * 4000, "{name} of {extent}: {large} of 4,000 Nodes");
        }
    }
}

#[test]
fn chain_of_ten_thousand_nodes() {
    let f = chain(10_000);
    let (appended, launches) = work(&f, 4);
    assert!(appended < 2_000_000 && launches < 1000, "{appended} instructions, {launches} launches");
    let x = vec![0.1f32, 0.3, -0.2, 0.7];
    let [got, expected] = [f.call(args![x.clone()]), f.call_reference(args![x])];
    let (got, expected) = (got.unwrap()[0].to_f64s(), expected.unwrap()[0].to_f64s());
    assert!(got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4), "{got:?} {expected:?}");
}

/// A graph of `n` ops on random earlier values of two shapes, some of which are outputs or summed.
fn random_graph(seed: u64, n: usize) -> Function {
    let mut state = seed;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let inputs = [matrix::<f32>("x"), matrix::<f32>("y")];
    let mut values = inputs.to_vec();
    let mut outputs = vec![];
    for at in 0..n {
        let recent = values.len().min(24);
        let [a, b] = [random(recent), random(recent)].map(|back| &values[values.len() - 1 - back]);
        let next = match random(8) {
            0 => a.sin(),
            1 => (a * 0.5).tanh(),
            2 => a.maximum(b),
            3 => (a - b) * 0.5,
            4 if at % 5 == 0 => a - a.mean(1).expand_dims(1),
            5 if at % 5 == 0 => a + 0.1 * b.roll(1, 0),
            6 if at % 9 == 0 => a * b.t().t().sum(0).tanh(),
            _ => (a + b) * 0.5,
        };
        if random(40) == 0 {
            outputs.push(if random(2) == 0 { next.clone() } else { next.sum(..) });
        }
        values.push(next);
    }
    outputs.extend(values.pop());
    let cost = inputs.iter().chain(&outputs).map(|value| value.sum(..)).reduce(|a, b| a + b).unwrap();
    let slopes = grad(&cost, &inputs).unwrap();
    function(&inputs).outputs(outputs).outputs(slopes).compile().unwrap()
}

#[test]
fn joined_clusters_compute_what_the_reference_does() {
    let given = |offset: usize| {
        let values: Vec<f32> = (0..35).map(|i| ((i * 7 + offset) % 11) as f32 / 11.0 - 0.4).collect();
        Value::from_vec(&[5, 7], values).unwrap()
    };
    for seed in 0..12 {
        let f = random_graph(seed, 400);
        let args = || args![given(1), given(4)];
        let (got, expected) = (f.call(args()).unwrap(), f.call_reference(args()).unwrap());
        for (at, ((_, got), (_, expected))) in got.iter().zip(expected.iter()).enumerate() {
            let (got, expected) = (got.to_f64s(), expected.to_f64s());
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-3 * b.abs().max(1.0);
            assert!(got.iter().zip(&expected).all(near), "seed {seed}, output {at}: {got:?} {expected:?}");
        }
    }
}

/// Launches and bytes of a call with vectors of zeros.
fn planned(inputs: &[Variable], outputs: Vec<Variable>) -> (u64, u64) {
    let f = function(inputs).outputs(outputs).compile().unwrap();
    let mut sim = f.optimize(Host::default().strict()).unwrap();
    let given = inputs.iter().fold(Args::new(), |args, _| args.with(of_shape::<f32>(&[1 << 20]).unwrap()));
    let plan = sim.plan(given).unwrap();
    (plan.total.launches, plan.total.bytes() >> 20)
}

#[test]
fn iterations_of_a_map_are_one_launch() {
    let inputs = [vector::<f32>("x"), vector::<f32>("y")];
    let [x, y] = &inputs;
    let [mut a, mut b, mut count] = [x.clone(), y.clone(), zeros_like(x)];
    for _ in 0..100 {
        (a, b) = (&a * &a - &b * &b + x, 2.0 * &a * &b + y);
        count = count + (&a * &a + &b * &b).less(4.0);
    }
    assert_eq!(planned(&inputs, vec![count]), (1, 12));
}

#[test]
fn steps_of_a_differential_equation_are_one_launch() {
    let inputs = [vector::<f32>("x"), vector::<f32>("y"), vector::<f32>("z")];
    let mut state = inputs.to_vec();
    // Lorenz's system, by Heun's method.
    let slope = |s: &[Variable]| -> Vec<Variable> {
        let (x, y, z) = (&s[0], &s[1], &s[2]);
        vec![10.0 * (y - x), x * (28.0 - z) - y, x * y - z * (8.0 / 3.0)]
    };
    let after = |s: &[Variable], by: f64, slope: &[Variable]| -> Vec<Variable> {
        s.iter().zip(slope).map(|(s, slope)| s + by * slope).collect()
    };
    for _ in 0..40 {
        let first = slope(&state);
        let second = slope(&after(&state, 0.01, &first));
        state = after(&after(&state, 0.005, &first), 0.005, &second);
    }
    assert_eq!(planned(&inputs, state), (1, 24));
}

/// A mean with weights that depend on the terms: two sums need each weight.
#[test]
fn two_sums_over_many_neighbours_are_one_launch() {
    let inputs = [vector::<f32>("x")];
    let slice = |at: i64| inputs[0].index(idx![at..at + (1 << 20) - 64]);
    let (here, mut sum, mut weights) = (slice(25), zeros_like(slice(25)), zeros_like(slice(25)));
    for at in 0..49 {
        let weight = ((at - 25) as f64 - (slice(at) - &here).sqr() * 12.5).exp();
        sum = sum + &weight * slice(at);
        weights = weights + weight;
    }
    let (launches, bytes) = planned(&inputs, vec![sum / weights]);
    assert!(launches == 1 && bytes < 16, "{launches} launches, {bytes} MiB");
}

#[test]
fn what_does_not_fit_is_cut_where_little_is_stored() {
    let inputs = [vector::<f32>("x")];
    let mut x = inputs[0].clone();
    for k in 0..1500 {
        x = (&x * &x - 0.5 * k as f64).sin() + &x * 0.5;
    }
    let (launches, bytes) = planned(&inputs, vec![x]);
    assert!(launches <= 4 && bytes <= 8 * launches, "{launches} launches, {bytes} MiB");
}
