//! Complex numbers: functions, products and views of them against the reference; as inputs, outputs, state
//! and carried values of loops on a device.

use super::{Story, family, magnitude};
use crate::data::random;
use crate::group::Group;
use crate::stage::{Scenario, Stage, ensure};
use crate::tolerance::{Tier, eps};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![elementwise(), moved(), gradients()]
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let list: [Story; 3] = [("state", state), ("loops", loops), ("device_arrays", device_arrays)];
    family("complex", &list)
}

/// Within some units of a result's larger part, of the order of `size`.
fn units(output: &Variable, size: f64) -> Tier {
    let largest = magnitude(output).max(..).maximum(size);
    Tier::Within(zeros_like(output.cast(DType::F64)) + largest * (64.0 * eps(output.dtype())))
}

fn elementwise() -> Result<Group> {
    let mut group = Group::new("complex_elementwise");
    for dtype in [DType::F32, DType::F64] {
        let [z, w] = [1, 2].map(|seed| random(dtype, &[33, 5, 2], seed));
        let (z, w) = (view_as_complex(group.input(z?)), view_as_complex(group.input(w?)));
        let x = group.input(random(dtype, &[5], 3)?);
        let list = [
            ("add", &z + &w),
            ("mul", &z * &w),
            ("div", &z / (&w + 4.0)),
            ("real_mul", &x * &z),
            ("real_div", &z / (&x + 4.0)),
            ("chain", ((&z * &w).conj() - &w * 2.0) * &z),
            ("exp", (&z * 0.5).exp()),
            ("log", (&z + 5.0).log()),
            ("sqrt", (&z + 0.25).sqrt()),
            ("power", (&z + 5.0).pow(&w * 0.125)),
            ("cube", z.pow(3)),
            ("sin", z.sin()),
            ("cosh", z.cosh()),
            ("tanh", z.tanh()),
            ("where", where_(x.less(0.0), &z, w.sqr())),
            ("polar", from_polar(w.abs(), z.angle())),
        ];
        for (name, output) in list {
            let pairs = view_as_real(output);
            group.case(format!("{name}_{}", dtype.short()), &pairs, units(&pairs, 1.0));
        }
    }
    Ok(group)
}

fn moved() -> Result<Group> {
    let mut group = Group::new("complex_moved");
    for dtype in [DType::F32, DType::F64] {
        let z = view_as_complex(group.input(random(dtype, &[6, 7, 2], 4)?));
        let w = view_as_complex(group.input(random(dtype, &[7, 3, 2], 5)?));
        let rows = constant(vec![3i64, 0, 3]);
        let list = [
            ("transposed", z.t() * 2.0),
            ("slice", z.index(idx![1..5, range(0, 7).step(2)])),
            ("rows", z.index(idx![&rows]).conj()),
            ("joined", concatenate([&z, &(&z * Complex::new(0.0, 1.0))], 1)),
            ("written", z.set_index(idx![2..4], z.index(idx![..2]).sqr())),
            ("scattered", z.inc_index(idx![&rows], z.index(idx![..3]))),
            ("summed", z.sum(0)),
            ("mean", z.mean(1)),
            ("running", z.cumsum(0)),
            ("dot", z.dot(&w)),
            ("real_dot", z.real().dot(&w)),
            ("reshaped", z.reshape([3, 14]).sum(1)),
        ];
        for (name, output) in list {
            let pairs = view_as_real(output);
            group.case(format!("{name}_{}", dtype.short()), &pairs, units(&pairs, 8.0));
        }
    }
    Ok(group)
}

fn gradients() -> Result<Group> {
    let mut group = Group::new("complex_gradients");
    for dtype in [DType::F32, DType::F64] {
        let x = group.input(random(dtype, &[24, 2], 6)?);
        let z = &view_as_complex(&x);
        let list = [
            ("abs", (z + 3.0).abs().sum(..)),
            ("product", (z * z.conj() * z).real().sum(..)),
            ("quotient", (1.0 / (z + 4.0)).imag().sum(..)),
            ("exp", (z * 0.5).exp().real().sum(..)),
            ("log", (z + 4.0).log().imag().sum(..)),
            ("dot", z.reshape([4, 6]).dot(z.reshape([6, 4])).abs().sqr().sum(..)),
            ("fft", fft::fft(z).abs().sqr().sum(..)),
        ];
        for (name, cost) in list {
            let slope = grad(&cost, [&x])?.swap_remove(0);
            group.case(format!("{name}_{}", dtype.short()), &slope, units(&slope, 16.0));
        }
    }
    Ok(group)
}

type C = Complex<f64>;

/// A rotation of complex state, as input and output, several steps in a call, and synced back.
fn state(stage: &Stage) -> Result<()> {
    let start = vec![C::new(1.0, 0.0), C::new(-0.5, 2.0), C::new(0.0, 3.0)];
    let z = shared("z", start.clone());
    let turn = scalar::<C>("turn");
    let f = function([&turn]).update(&z, &z * &turn).outputs([&z.abs().sum(..), &z.conj()]).compile()?;
    let f = stage.function(&f)?;
    let mut simulator = f.optimize(stage.open()?)?;
    let by = C::from_polar(1.0, 0.25);
    simulator.run_n(4, args![by])?;
    let outputs = simulator.call(args![by])?;
    let factor = C::from_polar(1.0, 1.0);
    let near = |got: &[C], want: &[C]| got.iter().zip(want).all(|(a, b)| (a - b).norm() < 1e-12);
    let conjugates: Vec<C> = start.iter().map(|z| (z * factor).conj()).collect();
    let got: Vec<C> = outputs[1].to_vec()?;
    ensure(got.len() == 3 && near(&got, &conjugates), || format!("{got:?}"))?;
    simulator.sync_to_parent()?;
    let got: Vec<C> = f.shared("z")?.get_value()?.to_vec()?;
    let want: Vec<C> = start.iter().map(|z| z * factor * by).collect();
    ensure(near(&got, &want), || format!("{got:?} {want:?}"))
}

/// Julia sets: complex values that a loop carries, and stacks, with the gradient through it.
fn loops(stage: &Stage) -> Result<()> {
    let (z, c) = (vector::<C>("z"), scalar::<C>("c"));
    let last = fori(5, &z, |_, z| z.sqr() + &c);
    let steps = constant(Array1::<f64>::from_iter((0..5).map(f64::from)));
    let path = scan(&steps, &z, |_, z| z.sqr() + &c);
    let slope = grad(last.abs().sqr().sum(..), [&z])?.swap_remove(0);
    let f = function([&z, &c]).outputs([&last, &path, &slope]).compile()?;
    let f = stage.function(&f)?;
    let mut simulator = f.optimize(stage.open()?)?;
    let (start, c) = (vec![C::new(0.1, -0.2), C::new(-0.3, 0.4)], C::new(-0.4, 0.3));
    let outputs = simulator.call(args![start.clone(), c])?;
    let (mut want, mut derivative) = (start, vec![C::new(1.0, 0.0); 2]);
    let mut rows = Vec::new();
    for _ in 0..5 {
        for (z, d) in want.iter_mut().zip(&mut derivative) {
            (*d, *z) = (*d * *z * 2.0, *z * *z + c);
        }
        rows.extend(want.clone());
    }
    // d|f|^2 with respect to z is 2 f conj(f').
    let slopes: Vec<C> = want.iter().zip(&derivative).map(|(f, d)| f * d.conj() * 2.0).collect();
    for (output, want) in [(0, want), (1, rows), (2, slopes)] {
        let got: Vec<C> = outputs[output].to_vec()?;
        let near = got.len() == want.len() && got.iter().zip(&want).all(|(a, b)| (a - b).norm() < 1e-12);
        ensure(near, || format!("output {output}: {got:?}, expected {want:?}"))?;
    }
    Ok(())
}

/// Complex arrays on the device: parts of them, numbers stored to them, results that stay there.
fn device_arrays(stage: &Stage) -> Result<()> {
    let z = vector::<Complex<f32>>("z");
    let f = stage.function(&function([&z]).output(&z * Complex::new(0.0f32, 1.0)).compile()?)?;
    let mut simulator = f.optimize(stage.open()?)?;
    let start: Vec<Complex<f32>> = (0..4).map(|at| Complex::new(at as f32, 1.0)).collect();
    let turned = simulator.call_device(args![start.clone()])?.swap_remove(0);
    let again = simulator.call(args![&turned])?;
    let want: Vec<Complex<f32>> = start.iter().map(|z| -z).collect();
    ensure(again[0].to_vec::<Complex<f32>>()? == want, || format!("{:?}", again[0]))
}
