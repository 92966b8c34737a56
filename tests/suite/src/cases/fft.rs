//! Fourier transforms: every kind, at lengths that libraries treat differently, against the reference; in the
//! middle of other steps, and in the steps of a simulation.

use super::{Story, family, magnitude};
use crate::data::random;
use crate::group::Group;
use crate::stage::{Scenario, Stage, ensure};
use crate::tolerance::{Tier, eps};
use workalike::Result;
use workalike::ops::fft::Norm;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![lengths(), axes(), around()]
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let list: [Story; 2] = [("steps", steps), ("empty", empty)];
    family("fft", &list)
}

/// Errors grow with the logarithm of the length, and are relative to the root of the sum of squares: Higham,
/// "Accuracy and Stability of Numerical Algorithms", theorem 24.2. `squares` are the sums of squares of what
/// is transformed at a time, of so many points; the results are multiplied by `scale`.
fn bound(output: &Variable, squares: Variable, dtype: DType, points: f64, scale: f64) -> Tier {
    let size = (squares.max(..) * points).sqrt();
    let unit = 4.0 * eps(dtype) * (2.0 + points.log2());
    Tier::Within(zeros_like(output.cast(DType::F64)) + size * (unit * scale))
}

/// The same for all of an array, transformed without a scale.
fn whole(output: &Variable, x: &Variable, points: usize) -> Tier {
    bound(output, magnitude(x).sqr().sum(..), x.dtype(), points as f64, 1.0)
}

/// Powers of two, products of small primes, primes, and lengths beyond one kernel.
fn lengths() -> Result<Group> {
    let mut group = Group::new("fft_lengths");
    for dtype in [DType::F32, DType::F64] {
        for (batch, n) in
            [(3, 1usize), (5, 2), (7, 3), (2, 8), (3, 60), (2, 97), (4, 1024), (1, 2003), (1, 32768)]
        {
            let x = group.input(random(dtype, &[batch, n], 1)?);
            let z = group.input(random(dtype, &[batch, n, 2], 2)?);
            let half = group.input(random(dtype, &[batch, n / 2 + 1, 2], 3)?);
            let one = fft::over([-1]).lengths([n as i64]);
            let points = n as f64;
            let squares = |x: &Variable, axes: &[isize]| magnitude(x).sqr().sum(axes);
            for (what, output, squares, scale) in [
                ("fft", view_as_real(fft::fft(view_as_complex(&z))), squares(&z, &[-2, -1]), 1.0),
                ("ifft", view_as_real(fft::ifft(view_as_complex(&z))), squares(&z, &[-2, -1]), 1.0 / points),
                ("rfft", view_as_real(fft::rfft(&x)), squares(&x, &[-1]), 1.0),
                ("irfft", one.irfft(view_as_complex(&half)), squares(&half, &[-2, -1]), 2.0 / points),
            ] {
                let tier = bound(&output, squares, dtype, points, scale);
                group.case(format!("{what}_{batch}x{n}_{}", dtype.short()), &output, tier);
            }
        }
    }
    Ok(group)
}

/// Several axes, in any order, with cut and filled lengths and every norm.
fn axes() -> Result<Group> {
    let mut group = Group::new("fft_axes");
    for dtype in [DType::F32, DType::F64] {
        let x = group.input(random(dtype, &[2, 3, 4, 5, 6], 4)?);
        let z = group.input(random(dtype, &[2, 3, 4, 5, 2], 5)?);
        let lists: [&[isize]; 6] = [&[0], &[1, -1], &[-1, 0], &[1, 2, 3], &[2, 0, 3, 1], &[0, 1, 2, 3]];
        for axes in lists {
            for norm in [Norm::Backward, Norm::Ortho, Norm::Forward] {
                let of = fft::over(axes.iter().copied()).norm(norm);
                let filled = of.clone().lengths(axes.iter().map(|axis| 5 + (axis & 1) as i64));
                let name = |what: &str| format!("{what}_{axes:?}_{norm:?}_{}", dtype.short());
                for (what, output, input, forward) in [
                    ("fft", view_as_real(of.fft(view_as_complex(&z))), &z, true),
                    ("ifft", view_as_real(filled.ifft(view_as_complex(&z))), &z, false),
                    ("rfft", view_as_real(filled.rfft(&x)), &x, true),
                    ("irfft", of.irfft(view_as_complex(&z)), &z, false),
                ] {
                    // No axis has more than eight points, and half a spectrum counts twice.
                    let most = 8f64.powi(axes.len() as i32);
                    let shape = [2.0, 3.0, 4.0, 5.0, 6.0];
                    let length = |axis: &isize| match what {
                        "ifft" | "rfft" => 5.0 + (axis & 1) as f64,
                        "irfft" if Some(axis) == axes.last() => {
                            2.0 * (shape[axis.rem_euclid(4) as usize] - 1.0)
                        }
                        _ => shape[axis.rem_euclid(4) as usize],
                    };
                    let points: f64 = axes.iter().map(length).product();
                    let scale = match (norm, forward) {
                        (Norm::Ortho, _) => points.powf(-0.5),
                        (Norm::Backward, false) | (Norm::Forward, true) => 1.0 / points,
                        _ => 1.0,
                    };
                    let rank = if what == "rfft" { 5 } else { 4 };
                    let mut along: Vec<isize> = axes.iter().map(|axis| axis.rem_euclid(rank)).collect();
                    along.extend((what != "rfft").then_some(4));
                    let squares = magnitude(input).sqr().sum(along);
                    group.case(name(what), &output, bound(&output, squares, dtype, most, 2.0 * scale));
                }
            }
        }
    }
    Ok(group)
}

/// Elementwise steps before and after, views as inputs, and gradients.
fn around() -> Result<Group> {
    let mut group = Group::new("fft_around");
    for dtype in [DType::F32, DType::F64] {
        let name = |what: &str| format!("{what}_{}", dtype.short());
        let (x, w) = (group.input(random(dtype, &[6, 16], 6)?), group.input(random(dtype, &[9, 2], 7)?));
        let filtered = fft::irfft(fft::rfft(x.tanh()) * view_as_complex(&w)) + &x;
        group.case(name("filter"), &filtered, whole(&filtered, &(&x * 0.5), 64));
        let views = view_as_real(fft::rfft(x.t().flip(0)) * 0.5);
        group.case(name("views"), &views, whole(&views, &x, 16));
        let power = fft::rfft(&x).abs().sqr().mean(0);
        group.case(name("power"), &power, whole(&power, &(&x * 4.0), 64));
        // Parseval's theorem.
        let spectrum = fft::over([0, 1]).norm(Norm::Ortho).fft(complex(&x, &x * 0.5));
        let (sum, of_x) = (spectrum.abs().sqr().sum(..), x.sqr().sum(..) * 1.25);
        let unit = Tier::Within(magnitude(&of_x) * (64.0 * eps(dtype)));
        group.against(name("energy"), &sum, &of_x, unit);
        let builds = [
            ("fft", view_as_real(fft::fftn(complex(&x, x.sin()))).sqr().sum(..)),
            ("rfft", (view_as_real(fft::rfftn(&x)).sqr() * 0.5).sum(..)),
            ("irfft", fft::irfft(view_as_complex(x.reshape([6, 8, 2]))).sqr().sum(..)),
            ("odd", fft::over([-1]).lengths([15i64]).irfft(fft::rfft(&x)).sqr().sum(..)),
        ];
        for (what, cost) in builds {
            let slope = Grad::of(&cost).wrt([&x])?.swap_remove(0);
            group.case(name(&format!("gradient_{what}")), &slope, whole(&slope, &(&x * 8.0), 256));
        }
    }
    Ok(group)
}

/// The heat equation on a ring, in Fourier space: state on the device, several steps in a call.
fn steps(stage: &Stage) -> Result<()> {
    let n = 64usize;
    let start: Vec<f64> =
        (0..n).map(|at| (std::f64::consts::TAU * 3.0 * at as f64 / n as f64).cos() + 2.0).collect();
    let u = shared("u", Value::from_vec(&[n], start.clone())?);
    let frequency = fft::rfftfreq(n as i64, 1.0 / n as f64);
    let decay = (frequency.sqr() * -0.01).exp();
    let next = fft::irfft(fft::rfft(&u) * decay);
    let f = stage.function(&function(()).update(&u, &next).output(u.sum(..)).compile()?)?;
    let mut simulator = f.optimize(stage.open()?)?;
    simulator.call(args![])?;
    simulator.run_n(9, args![])?;
    // Frequency 3 decays by exp(-0.09) a step; the mean stays.
    let factor = (-0.9f64).exp();
    let got = simulator.get_value("u")?.to_vec::<f64>()?;
    let off = got.iter().zip(&start).map(|(got, start)| (got - (2.0 + (start - 2.0) * factor)).abs());
    ensure(off.fold(0.0, f64::max) < 1e-12, || format!("{got:?}"))
}

/// Batches without arrays; lengths of zero are an error that leaves the Simulator usable.
fn empty(stage: &Stage) -> Result<()> {
    let x = matrix::<f32>("x");
    let f = stage.function(&function([&x]).output(fft::irfft(fft::rfft(&x))).compile()?)?;
    let mut simulator = f.optimize(stage.open()?)?;
    let of = |shape: [usize; 2]| Ok::<_, workalike::Error>(args![Value::zeros(DType::F32, &shape)?]);
    ensure(simulator.call(of([0, 4])?)?[0].shape() == [0, 4], || "no arrays".into())?;
    ensure(simulator.call(of([4, 0])?).is_err(), || "arrays without elements".into())?;
    ensure(simulator.call(of([2, 6])?)?[0].shape() == [2, 6], || "two arrays".into())
}
