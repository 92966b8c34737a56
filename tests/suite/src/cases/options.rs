//! Options that trade guarantees for speed: the guarantees that remain, and the bounds of the results.

use super::{family, magnitude};
use crate::data::{below, random};
use crate::stage::{Scenario, Stage, ensure, equal, fails, near};
use crate::tolerance::{Bound, Tier, sum};
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    family(
        "options",
        &[
            ("increments_in_any_order", increments),
            ("increments_of_state_in_any_order", of_state),
            ("gradients_of_embeddings_in_any_order", embeddings),
            ("increments_in_any_order_out_of_range", out_of_range),
            ("fast_math_is_near", fast_is_near),
            ("fast_math_keeps_nan_and_infinity", fast_keeps_specials),
            ("fast_math_is_kept_apart", fast_is_kept_apart),
        ],
    )
}

fn options(fast_math: bool, deterministic: bool) -> Options {
    Options { strict: true, fast_math, deterministic, ..Options::default() }
}

/// On the device itself and on a wide device: narrow devices prefer the ordered form as soon as it occupies
/// them.
fn in_any_order(stage: &Stage, f: &Function) -> Result<[Simulator; 2]> {
    let device = stage.open()?;
    let wide = crate::wide::passing_for_wide(device.clone());
    Ok([
        f.optimize(device.with_options(options(false, false)))?,
        f.optimize(wide.with_options(options(false, false)))?,
    ])
}

/// Calls a Function twice in each way, and compares the outputs with the reference. Returns whether the wide
/// device used atomic adds.
fn check(stage: &Stage, f: &Function, args: &Args, bounds: &[Bound]) -> Result<bool> {
    let f = stage.function(f)?;
    let wanted = f.call_reference(args.clone())?;
    let simulators = in_any_order(stage, &f)?;
    let mut added = false;
    for mut simulator in simulators {
        for round in 0..2 {
            let got = simulator.call(args.clone())?;
            for (at, bound) in bounds.iter().enumerate() {
                near(&format!("output {at} of call {round}"), &got[at], &wanted[at], bound)?;
            }
        }
        added = simulator.sources().concat().contains("add_to_");
    }
    Ok(added)
}

const DTYPES: [DType; 10] = [
    DType::F32,
    DType::F64,
    DType::I32,
    DType::U32,
    DType::I64,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::I8,
    DType::Bool,
];

/// `n` positions, most of them equal, some negative.
fn positions(n: usize, extent: usize, seed: u32) -> Result<Value> {
    let random = below(3 * extent, DType::I64, &[n], seed)?.to_vec::<i64>()?;
    let extent = extent as i64;
    let place = |r: i64| if r < extent { r - extent * (r % 2) } else { extent / 2 };
    Ok(Value::from(random.into_iter().map(place).collect::<Vec<i64>>()))
}

fn increments(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    for dtype in DTYPES.into_iter().filter(|&d| d != DType::F64 || device.properties().f64) {
        for (n, shape) in [
            (2000, vec![40]),
            (300, vec![9, 5]),
            (240, vec![4, 3, 2]),
            (0, vec![9, 5]),
            (1, vec![1, 3]),
            // Too many to one element, and too many wide rows, where they can be sorted.
            (2000, vec![9]),
            (2500, vec![90, 5]),
        ] {
            let [x, y] =
                [("x", shape.len()), ("y", shape.len())].map(|(name, rank)| variable(name, dtype, rank));
            let (i, rest) = (vector::<i64>("i"), &shape[1..]);
            let many: Vec<usize> = std::iter::once(n).chain(rest.iter().copied()).collect();
            let (a, b) = (random(dtype, &shape, 1)?, random(dtype, &many, 2)?);
            let places = positions(n, shape[0], 3)?;
            // Every addition may round all terms of an element, because the order is unknown.
            let total = magnitude(&x).inc_index(idx![&i], magnitude(&y)) * 8.0;
            let f = function([&x, &y, &i]).output(x.inc_index(idx![&i], &y)).compile()?;
            let args = args![&a, &b, &places];
            let bound = match sum(n + 1, dtype, dtype, &total) {
                Tier::Within(bound) if dtype.is_float() => {
                    let bound = function([&x, &y, &i]).output(bound).compile()?;
                    Bound::Within(bound.call_reference(args.clone())?[0].clone())
                }
                _ => Bound::Exact,
            };
            let added = check(stage, &f, &args, &[bound])?;
            ensure(added == (n > 0 && device.adds_to(dtype)), || {
                format!("{dtype} {shape:?}: by addition in any order: {added}")
            })?;
        }
    }
    Ok(())
}

fn variable(name: &str, dtype: DType, rank: usize) -> Variable {
    Variable::input(name, workalike::graph::TensorType::new(dtype, vec![None; rank]))
}

/// Two index arrays, updated state, and incremented elements that are read in the same call.
fn of_state(stage: &Stage) -> Result<()> {
    let (i, j) = (vector::<i64>("i"), vector::<i64>("j"));
    let counts = shared("counts", random(DType::I32, &[6, 4], 1)?);
    let new = counts.inc_index(idx![&i, &j], constant(1i32));
    let f = function([&i, &j]).output(new.sum(..)).output(&counts * 2i32).update(&counts, &new).compile()?;
    let f = stage.function(&f)?;
    let reference = f.fork()?;
    for mut simulator in in_any_order(stage, &f)? {
        let reference = reference.fork()?;
        for step in 0..5 {
            let args = args![positions(500, 6, step)?, positions(500, 4, 10 + step)?];
            let wanted = reference.call_reference(args.clone())?;
            let got = simulator.call(args)?;
            equal("the sum", &got[0], wanted[0].clone())?;
            equal("the old value", &got[1], wanted[1].clone())?;
        }
        let args = args![positions(500, 6, 7)?, positions(500, 4, 8)?];
        simulator.run_n(20, args.clone())?;
        for _ in 0..20 {
            reference.call_reference(args.clone())?;
        }
        let wanted = reference.shared("counts")?.get_value()?;
        equal("the state", &simulator.get_value("counts")?, wanted)?;
    }
    Ok(())
}

/// Small integers, so that every order gives the same sum: the gradient of an embedding counts its uses.
fn embeddings(stage: &Stage) -> Result<()> {
    let (table, words, weights) =
        (matrix::<f32>("table"), matrix::<i64>("words"), tensor::<f32>("weights", [None; 3]));
    let g = grad((table.index(idx![&words]) * &weights).sum(..), [&table])?;
    let f = function([&table, &words, &weights]).output(&g[0]).compile()?;
    let args = args![
        random(DType::F32, &[50, 8], 1)?,
        below(50, DType::I64, &[6, 30], 2)?,
        below(9, DType::F32, &[6, 30, 8], 3)?
    ];
    let added = check(stage, &f, &args, &[Bound::Exact])?;
    ensure(added == stage.open()?.adds_to(DType::F32), || format!("by addition in any order: {added}"))
}

fn out_of_range(stage: &Stage) -> Result<()> {
    let i = vector::<i64>("i");
    let x = shared("x", vec![1f32, 2.0, 3.0]);
    let f = stage.function(&function([&i]).output(x.inc_index(idx![&i], 1.0)).compile()?)?;
    for mut simulator in in_any_order(stage, &f)? {
        for bad in [3i64, -4, i64::MIN] {
            fails(&format!("{bad}"), simulator.call(args![vec![0, bad]]), &["out of"])?;
        }
        equal("the call after it", &simulator.call(args![vec![-1i64, 0, 0]])?[0], vec![3f32, 2.0, 4.0])?;
        equal("the state", &simulator.get_value("x")?, vec![1f32, 2.0, 3.0])?;
    }
    Ok(())
}

/// Elementary functions and a few compositions of two arrays.
fn waves() -> Result<Function> {
    let (x, y) = (vector::<f32>("x"), vector::<f32>("y"));
    function([&x, &y])
        .output(x.exp())
        .output(x.log())
        .output(x.sqrt())
        .output(x.sin())
        .output(x.cos())
        .output(x.tanh())
        .output(&x / &y)
        .output(&x * &y + &x)
        .output(&x - x.maximum(&x))
        .output(x.maximum(&y))
        .output(&x * 0.0)
        .output(x.less(&y))
        .output(x.not_equal(&x))
        .output(x.max(..))
        .compile()
}

/// The bound of fast results: the least accurate are the hyperbolic tangent and TF32, with 11 bits each.
fn coarse(want: &Value) -> Result<Bound> {
    let bounds = want.to_f64s().iter().map(|v| v.abs() * 2f64.powi(-10) + 2f64.powi(-20)).collect();
    Ok(Bound::Within(Value::from_vec::<f64>(want.shape(), bounds)?))
}

fn fast(stage: &Stage, f: &Function) -> Result<Simulator> {
    stage.function(f)?.optimize(stage.open()?.with_options(options(true, true)))
}

fn fast_is_near(stage: &Stage) -> Result<()> {
    let f = waves()?;
    let args = args![random(DType::F32, &[5000], 1)?, random(DType::F32, &[5000], 2)?];
    let (wanted, got) = (f.call_reference(args.clone())?, fast(stage, &f)?.call(args)?);
    for at in 0..got.len() {
        near(&format!("output {at}"), &got[at], &wanted[at], &coarse(&wanted[at])?)?;
    }
    // Arguments far from 0.
    let far = Value::from((0..2000).map(|i| 37.3 * i as f32 - 4e4).collect::<Vec<f32>>());
    let args = args![&far, &far];
    let (wanted, got) = (f.call_reference(args.clone())?, fast(stage, &f)?.call(args)?);
    for at in [3, 4, 5, 6] {
        near(&format!("output {at}, far"), &got[at], &wanted[at], &coarse(&wanted[at])?)?;
    }
    let (a, b) = (matrix::<f32>("a"), matrix::<f32>("b"));
    let magnitude = magnitude(&a).dot(magnitude(&b)) * 2f64.powi(-10);
    let (f, bound) =
        (function([&a, &b]).output(a.dot(&b)).compile()?, function([&a, &b]).output(magnitude).compile()?);
    for [m, k, n] in [[5, 70, 9], [512, 300, 256]] {
        let args = args![random(DType::F32, &[m, k], 1)?, random(DType::F32, &[k, n], 2)?];
        let bound = Bound::Within(bound.call_reference(args.clone())?[0].clone());
        let wanted = f.call_reference(args.clone())?;
        near("a product", &fast(stage, &f)?.call(args)?[0], &wanted[0], &bound)?;
    }
    Ok(())
}

fn fast_keeps_specials(stage: &Stage) -> Result<()> {
    const VALUES: [f32; 12] =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, 1.0, -1.0, 1e30, -1e30, 100.0, -100.0, 3e38, 0.5];
    let f = waves()?;
    let mut simulator = fast(stage, &f)?;
    for shift in 0..VALUES.len() {
        let pairs = (0..60).map(|i| (VALUES[i % 12], VALUES[(i + shift) % 12]));
        let (x, y): (Vec<f32>, Vec<f32>) = pairs.unzip();
        let args = args![x, y];
        let (wanted, got) = (f.call_reference(args.clone())?, simulator.call(args)?);
        for at in 0..got.len() {
            let (wanted, got) = (wanted[at].to_f64s(), got[at].to_f64s());
            for (i, (&want, &got)) in wanted.iter().zip(&got).enumerate() {
                let same = match want.is_finite() {
                    true => (got - want).abs() <= want.abs() * 2f64.powi(-10) + 2f64.powi(-20),
                    false => got == want || got.is_nan() && want.is_nan(),
                };
                ensure(same, || format!("output {at}, element {i}, shift {shift}: {got}, not {want}"))?;
            }
        }
    }
    Ok(())
}

/// The kernel cache distinguishes kernels of the same Nests with other options.
fn fast_is_kept_apart(stage: &Stage) -> Result<()> {
    let f = waves()?;
    let args = args![random(DType::F32, &[777], 1)?, random(DType::F32, &[777], 2)?];
    let exact = || stage.simulator(&stage.function(&f)?)?.call(args.clone());
    let before = exact()?;
    fast(stage, &f)?.call(args.clone())?;
    let after = exact()?;
    for at in 0..before.len() {
        equal(&format!("output {at}"), &after[at], before[at].clone())?;
    }
    Ok(())
}
