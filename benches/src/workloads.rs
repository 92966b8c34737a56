//! The workloads. Their sizes on a GPU and on a CPU are those of the peers' scripts.

use crate::measure::{Bench, Work, labels, normal};
use workalike::Result;
use workalike::kernels::ops::LOG1P;
use workalike::prelude::*;

/// A workload: checks and times its variants on a device.
type Workload = fn(&mut Bench, &str) -> Result<()>;

/// Every workload, by name.
pub(crate) const ALL: &[(&str, Workload)] = &[
    ("trivial", trivial),
    ("exp_ladder", exp_ladder),
    ("fused_elemwise", fused_elemwise),
    ("softmax", softmax_rows),
    ("reduce", reduce),
    ("gemm", gemm),
    ("logreg", logreg),
    ("mlp", mlp),
    ("counter", counter),
    ("lif", lif),
];

const NONE: [&Variable; 0] = [];

fn trivial(bench: &mut Bench, name: &str) -> Result<()> {
    let x = scalar::<f32>("x");
    let f = function([&x]).output(&x + 1.0).compile()?;
    let args = args![1f32];
    let mut sim = bench.checked(name, &f, &args, 1e-6)?;
    bench.time(name, "call", Work { bytes: 8.0, flops: 1.0 }, &mut sim, 1000, |sim, n| {
        (0..n).try_for_each(|_| sim.call(args.clone()).map(drop))
    })
}

fn exp_ladder(bench: &mut Bench, name: &str) -> Result<()> {
    let n = 10 * 30 * 768;
    let x = shared("x", normal(22, &[n], 1.0)?);
    let f = function(NONE).output(x.exp()).compile()?;
    let mut sim = bench.checked(name, &f, &args![], 1e-6)?;
    let size = Work { bytes: 8.0 * n as f64, flops: 8.0 * n as f64 };
    bench.time(name, "host_result", size, &mut sim, 200, |sim, n| {
        (0..n).try_for_each(|_| sim.call(args![]).map(drop))
    })?;
    bench.time(name, "device_result", size, &mut sim, 1000, |sim, n| {
        (0..n).try_for_each(|_| sim.call_device(args![]).map(drop))
    })?;
    bench.time(name, "run_n", size, &mut sim, 1000, |sim, n| sim.run_n(n, args![]).map(drop))
}

fn fused_elemwise(bench: &mut Bench, name: &str) -> Result<()> {
    let n: usize = if bench.large { 1 << 26 } else { 1 << 22 };
    let build = |n: usize| -> Result<Function> {
        let [a, b, c] = [1, 2, 3].map(|seed| normal(seed, &[n], 1.0));
        let (a, b, c) = (shared("a", a?), shared("b", b?), shared("c", c?));
        let y = (&a * &b + 1.5).tanh() * (-&c).exp() + &a / (1.0 + &b * &b);
        let out = shared("out", Value::zeros(DType::F32, &[n])?);
        function(NONE).update(&out, y).compile()
    };
    bench.checked(name, &build(4099)?, &args![], 1e-6)?;
    let mut sim = bench.simulator(&build(n)?)?;
    let size = Work { bytes: 16.0 * n as f64, flops: 40.0 * n as f64 };
    bench.time(name, &n.to_string(), size, &mut sim, 10, |sim, n| sim.run_n(n, args![]).map(drop))
}

fn softmax_rows(bench: &mut Bench, name: &str) -> Result<()> {
    let n = if bench.large { 8192 } else { 2048 };
    let build = |n: usize| -> Result<Function> {
        let x = shared("x", normal(4, &[n, n], 1.0)?);
        let out = shared("out", Value::zeros(DType::F32, &[n, n])?);
        function(NONE).update(&out, softmax(&x, -1)).compile()
    };
    bench.checked(name, &build(130)?, &args![], 1e-5)?;
    let mut sim = bench.simulator(&build(n)?)?;
    let size = Work { bytes: 8.0 * (n * n) as f64, flops: 20.0 * (n * n) as f64 };
    bench.time(name, &format!("{n}x{n}"), size, &mut sim, 10, |sim, n| sim.run_n(n, args![]).map(drop))
}

fn reduce(bench: &mut Bench, name: &str) -> Result<()> {
    let n = if bench.large { 8192 } else { 2048 };
    for (variant, axes) in [("sum axis=None", [0, 1].as_slice()), ("sum axis=0", &[0]), ("sum axis=1", &[1])]
    {
        let build = |n: usize| -> Result<Function> {
            let x = shared("x", normal(5, &[n, n], 1.0)?);
            let shape = if axes.len() == 2 { vec![] } else { vec![n] };
            let out = shared("out", Value::zeros(DType::F32, &shape)?);
            function(NONE).update(&out, x.sum(axes)).compile()
        };
        bench.checked(name, &build(131)?, &args![], 1e-4)?;
        let mut sim = bench.simulator(&build(n)?)?;
        let size = Work { bytes: 4.0 * (n * n) as f64, flops: (n * n) as f64 };
        bench.time(name, variant, size, &mut sim, 20, |sim, n| sim.run_n(n, args![]).map(drop))?;
    }
    Ok(())
}

fn gemm(bench: &mut Bench, name: &str) -> Result<()> {
    for n in if bench.large { [1024usize, 4096] } else { [256, 1024] } {
        let build = |n: usize| -> Result<Function> {
            let (a, b) = (shared("a", normal(6, &[n, n], 1.0)?), shared("b", normal(7, &[n, n], 1.0)?));
            let out = shared("out", Value::zeros(DType::F32, &[n, n])?);
            function(NONE).update(&out, a.dot(&b)).compile()
        };
        bench.checked(name, &build(70)?, &args![], 1e-5)?;
        let mut sim = bench.simulator(&build(n)?)?;
        let size = Work { bytes: 12.0 * (n * n) as f64, flops: 2.0 * (n as f64).powi(3) };
        bench.time(name, &format!("{n} float32"), size, &mut sim, 10, |sim, n| {
            sim.run_n(n, args![]).map(drop)
        })?;
    }
    Ok(())
}

fn logreg(bench: &mut Bench, name: &str) -> Result<()> {
    let (n, d) = (400, 784);
    let (x, y) = (shared("x", normal(8, &[n, d], 1.0)?), shared("y", labels(9, n, 2)?.cast(DType::F32)?));
    let (w, b) = (shared("w", normal(10, &[d], 0.05)?), shared("b", 0f32));
    let p = (x.dot(&w) + &b).sigmoid();
    let entropy = -&y * p.log() - (1.0 - &y) * (1.0 - &p).log();
    let cost = entropy.mean() + 0.01 * w.sqr().sum(..);
    let g = grad(&cost, [&w, &b])?;
    let f = function(NONE).output(p.greater(0.5)).output(&entropy);
    let f = f.update(&w, &w - 0.1 * &g[0]).update(&b, &b - 0.1 * &g[1]).compile()?;
    let mut sim = bench.checked(name, &f, &args![], 1e-4)?;
    let size = Work { bytes: 4.0 * (n * d) as f64, flops: 4.0 * (n * d) as f64 };
    bench.time(name, "run_n", size, &mut sim, 1000, |sim, n| sim.run_n(n, args![]).map(drop))
}

fn mlp(bench: &mut Bench, name: &str) -> Result<()> {
    for batch in [20, 512] {
        let (x, y) = (shared("x", normal(11, &[batch, 784], 1.0)?), shared("y", labels(12, batch, 10)?));
        let (w1, b1) =
            (shared("w1", normal(13, &[784, 500], 0.05)?), shared("b1", Value::zeros(DType::F32, &[500])?));
        let (w2, b2) =
            (shared("w2", normal(14, &[500, 10], 0.05)?), shared("b2", Value::zeros(DType::F32, &[10])?));
        let p = softmax((x.dot(&w1) + &b1).tanh().dot(&w2) + &b2, -1);
        let penalty = w1.sqr().sum(..) + w2.sqr().sum(..);
        let cost = categorical_crossentropy(&p, &y).mean() + 1e-4 * penalty;
        let parameters = [&w1, &b1, &w2, &b2];
        let g = grad(&cost, parameters)?;
        let updates = parameters.iter().zip(&g).map(|(p, g)| ((*p).clone(), *p - 0.01 * g));
        let f = function(NONE).output(&cost).updates(updates.collect::<Vec<_>>()).compile()?;
        let mut sim = bench.checked(name, &f, &args![], 1e-4)?;
        let flops = 2.0 * batch as f64 * (784.0 * 500.0 * 2.0 + 500.0 * 10.0 * 3.0);
        let size = Work { bytes: 4.0 * 2.0 * 784.0 * 500.0, flops };
        bench.time(name, &format!("B={batch}"), size, &mut sim, 200, |sim, n| {
            sim.run_n(n, args![]).map(drop)
        })?;
    }
    Ok(())
}

/// The least that a step can be: what is timed is the way there and back.
fn counter(bench: &mut Bench, name: &str) -> Result<()> {
    let state = shared("state", 0f32);
    let f = function(NONE).update(&state, &state + 1.0).compile()?;
    let mut sim = bench.checked(name, &f, &args![], 1e-6)?;
    let size = Work { bytes: 8.0, flops: 1.0 };
    bench.time(name, "run_n", size, &mut sim, 10_000, |sim, n| sim.run_n(n, args![]).map(drop))?;
    let x = scalar::<f32>("x");
    let f = function([&x]).output(&state).update(&state, &state + &x).compile()?;
    let mut sim = bench.checked(name, &f, &args![1f32], 1e-6)?;
    let xs = |n: u64| Value::from(vec![1f32; n as usize]);
    bench.time(name, "run_n each", size, &mut sim, 10_000, |sim, n| {
        sim.run_n(n, args![each(xs(n))]).map(drop)
    })?;
    bench.time(name, "run_n_collect", size, &mut sim, 10_000, |sim, n| {
        sim.run_n_collect("main", n, args![1f32]).map(drop)
    })
}

/// Leaky integrate-and-fire neurons with 2-d encoders and decoders, and a first-order synapse back to themselves.
fn lif(bench: &mut Bench, name: &str) -> Result<()> {
    for n in if bench.large { [1000usize, 1_000_000] } else { [1000, 100_000] } {
        let (dt, membrane, refractory, synapse) = (1e-3, 0.02, 0.002, 0.1);
        let (encoders, decoders) =
            (shared("encoders", normal(15, &[n, 2], 1.0)?), shared("decoders", normal(16, &[2, n], 1e-4)?));
        let (bias, input) =
            (shared("bias", normal(17, &[n], 1.0)?), shared("input", Value::from(vec![0.5f32, -0.5])));
        let zeros = |shape: &[usize]| Value::zeros(DType::F32, shape);
        let (v, rest) = (shared("v", zeros(&[n])?), shared("rest", zeros(&[n])?));
        let x = shared("x", zeros(&[2])?);
        let current = encoders.dot(&(&x + &input)) + &bias;
        let awake = (dt - &rest).maximum(0.0).minimum(dt);
        let new = &v - (&current - &v) * ((-awake / membrane).exp() - 1.0);
        let fires = new.greater(1.0);
        let late = dt + membrane * (-(&new - 1.0) / (&current - 1.0)).elementwise(LOG1P);
        let spikes = fires.cast(DType::F32) / dt;
        let f = function(NONE)
            .update(&v, where_(&fires, 0.0, new.maximum(0.0)))
            .update(&rest, where_(&fires, refractory + late, &rest - dt))
            .update(&x, &x + (dt / synapse) * (decoders.dot(&spikes) - &x))
            .compile()?;
        let mut sim = bench.checked(name, &f, &args![], 1e-3)?;
        let size = Work { bytes: 4.0 * 9.0 * n as f64, flops: 40.0 * n as f64 };
        bench
            .time(name, &format!("n={n}"), size, &mut sim, 1000, |sim, n| sim.run_n(n, args![]).map(drop))?;
    }
    Ok(())
}
