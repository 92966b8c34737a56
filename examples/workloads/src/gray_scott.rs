//! Reaction and diffusion (P. Gray and S. Scott, 1984; J. Pearson, "Complex patterns in a simple system",
//! 1993): two substances on a torus, by expressions and by a kernel in C that is in the file beside them.
//! docs/simulation.md explains the parts.

use crate::pictures::Picture;
use crate::{Device, temporary_file};
use std::ops::ControlFlow;
use workalike::Result;
use workalike::custom::{Grid, KernelOp, KernelSource};
use workalike::prelude::*;

const N: usize = 128;
const STEPS: usize = 600;
const EVERY: usize = 100; // steps between frames
const DU: f32 = 0.16;
const DV: f32 = 0.08;
const FEED: f32 = 0.037;
const KILL: f32 = 0.06;

/// Two fields with some squares of the other substance.
fn start() -> [Vec<f32>; 2] {
    let (mut u, mut v) = (vec![1f32; N * N], vec![0f32; N * N]);
    for (y, x) in [(50, 45), (75, 80), (30, 100), (100, 25)] {
        for at in (y..y + 12).flat_map(|i| i * N + x..i * N + x + 12) {
            (u[at], v[at]) = (0.5, 0.25);
        }
    }
    [u, v]
}

/// The fields after a step; also the reference of the kernel.
fn step(u: &Variable, v: &Variable) -> [Variable; 2] {
    let laplacian = |a: &Variable| a.roll(1, 0) + a.roll(-1, 0) + a.roll(1, 1) + a.roll(-1, 1) - a * 4.0;
    let reaction = u * v * v;
    [
        u + (laplacian(u) * DU - &reaction + (1.0 - u) * FEED),
        v + (laplacian(v) * DV + &reaction - v * (FEED + KILL)),
    ]
}

const TEXT: &str = "
KERNEL void gray_scott(GLOBAL_MEM const f32 *u, GLOBAL_MEM const f32 *v, GLOBAL_MEM f32 *un, GLOBAL_MEM f32 *vn,
    i32 n, i32 m, f32 du, f32 dv, f32 feed, f32 kill)
{
    const i32 x = GID_0 * LDIM_0 + LID_0, y = GID_1 * LDIM_1 + LID_1;
    if (x >= m || y >= n) return;
    const i32 up = ((y + n - 1) % n) * m, down = ((y + 1) % n) * m, row = y * m;
    const i32 left = (x + m - 1) % m, right = (x + 1) % m, i = row + x;
    const f32 a = u[i], b = v[i], abb = a * b * b;
    const f32 la = u[up + x] + u[down + x] + u[row + left] + u[row + right] - a * 4.0f;
    const f32 lb = v[up + x] + v[down + x] + v[row + left] + v[row + right] - b * 4.0f;
    un[i] = a + (la * du - abb + (1.0f - a) * feed);
    vn[i] = b + (lb * dv + abb - b * (feed + kill));
}";

fn kernel() -> Result<KernelOp> {
    let (u, v) = (matrix::<f32>("u"), matrix::<f32>("v"));
    let [un, vn] = step(&u, &v);
    let (n, m) = (u.extent(0), u.extent(1));
    KernelOp::new("gray_scott", KernelSource::dialect(TEXT)?, [&u, &v], [&un, &vn])?.launch(
        "gray_scott",
        Grid::items([&m, &n]),
        (&u, &v, &un, &vn, &n, &m, DU, DV, FEED, KILL),
    )
}

/// A step by expressions or by the kernel, over the same fields.
fn functions() -> Result<Bundle> {
    let [u, v] = start();
    let u = shared("u", Value::from_vec(&[N, N], u)?);
    let v = shared("v", Value::from_vec(&[N, N], v)?);
    let compiled = |[un, vn]: [Variable; 2]| {
        function(()).output_named("mean", vn.mean(..)).update(&u, un).update(&v, vn).compile()
    };
    let by_kernel = kernel()?.apply([&*u, &*v]);
    let by_kernel = [by_kernel[0].clone(), by_kernel[1].clone()];
    Ok(Bundle::new().with("roll", &compiled(step(&u, &v))?).with("kernel", &compiled(by_kernel)?))
}

/// The same in a plain loop.
fn plain() -> Vec<f32> {
    let [mut u, mut v] = start();
    for _ in 0..STEPS {
        let laplacian = |a: &[f32], y: usize, x: usize| {
            let (up, down, left, right) = ((y + N - 1) % N, (y + 1) % N, (x + N - 1) % N, (x + 1) % N);
            a[up * N + x] + a[down * N + x] + a[y * N + left] + a[y * N + right] - a[y * N + x] * 4.0
        };
        let next = (0..N * N).map(|i| {
            let (a, b, y, x) = (u[i], v[i], i / N, i % N);
            let reaction = a * b * b;
            (
                a + (laplacian(&u, y, x) * DU - reaction + (1.0 - a) * FEED),
                b + (laplacian(&v, y, x) * DV + reaction - b * (FEED + KILL)),
            )
        });
        (u, v) = next.collect();
    }
    v
}

/// The largest difference of two fields.
fn off(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |off, (a, b)| off.max((a - b).abs()))
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let (want, file) = (plain(), temporary_file("gray_scott"));
    functions()?.save(&file)?;
    // Kernels of a file run only if that is allowed; without, their references do.
    let mut report = String::new();
    for (name, allowed) in [("roll", true), ("kernel", true), ("kernel", false)] {
        let bundle = Bundle::load_with(&file, LoadOptions::new().allow_kernels(allowed))?;
        let mut sim = bundle[name].optimize(device)?;
        let (frames, mean) = (sim.probe("v", EVERY, STEPS / EVERY)?, sim.probe("mean", 1, STEPS)?);
        let mut looks = 0;
        sim.run_n_watched(STEPS, EVERY, args![], |_, _| {
            looks += 1; // where a progress bar moves on
            ControlFlow::Continue(())
        })?;
        assert_eq!(looks, STEPS / EVERY);
        let off = off(&sim.get_value("v")?.to_vec::<f32>()?, &want);
        assert!(off < 1e-4, "{name} is {off} off the plain loop");
        let (frames, mean) =
            (sim.take_probe(frames)?.to_vec::<f32>()?, sim.take_probe(mean)?.to_vec::<f32>()?);
        assert!(frames[frames.len() - N * N..] == sim.get_value("v")?.to_vec::<f32>()?);
        if name == "roll" {
            Picture::field(&frames[frames.len() - N * N..], N, [0.0, 0.4]).keep("gray_scott")?;
            Picture::curve(&mean, 600, 200).keep("gray_scott_mean")?;
        }
        report +=
            &format!("{name}, kernels allowed: {allowed}: off {off:.0e}, mean {:.4}\n", mean[STEPS - 1]);
    }
    let _ = std::fs::remove_file(&file);
    Ok(report.trim_end().into())
}
