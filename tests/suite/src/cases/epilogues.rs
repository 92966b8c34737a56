//! Epilogues of products: biases, activations, scaled sums, updates in place.

use super::{family, magnitude};
use crate::data::random;
use crate::group::Group;
use crate::stage::{Scenario, Stage};
use crate::tolerance::{Bound, Tier, eps};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![pure()]
}

pub(super) fn scenarios() -> Vec<Scenario> {
    family("epilogues", &[("layers_and_updates", updates), ("factor_is_updated", factor)])
}

/// Extents of one product each: rows, k, columns. The last is large enough for a library on a wide device,
/// and is not split along k.
fn pure() -> Result<Group> {
    let mut group = Group::new("epilogues");
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let d = dtype.short();
        let all = [(33, 20, 17), (1, 40, 35), (20, 500, 130), (600, 150, 520)];
        let sizes = if dtype == DType::F32 { &all[..] } else { &all[..2] };
        for (seed, &(m, k, n)) in sizes.iter().enumerate() {
            let seed = 10 * seed as u32;
            let bias = group.input(random(dtype, &[n], seed)?);
            let column = group.input(random(dtype, &[m, 1], seed + 1)?);
            let whole = group.input(random(dtype, &[m, n], seed + 2)?);
            let b = group.input(random(dtype, &[k, n], seed + 3)?);
            let mut product = |transposed: bool, seed| -> Result<(Variable, Variable)> {
                let a = if transposed {
                    group.input(random(dtype, &[k, m], seed)?).t()
                } else {
                    group.input(random(dtype, &[m, k], seed)?)
                };
                let size = magnitude(&a).dot(magnitude(&b));
                Ok((a.dot(&b), size * (k as f64 * eps(dtype.register()) + 2.0 * eps(dtype))))
            };
            let products = (4..10).map(|i| product(i % 2 == 0, seed + i)).collect::<Result<Vec<_>>>()?;
            let more = |x: &Variable| magnitude(x) * (4.0 * eps(dtype));
            let mut case = |what: &str, output: Variable, within: Variable| {
                group.case(format!("{what}_{m}x{k}x{n}_{d}"), output, Tier::Within(within));
            };
            let (p, within) = &products[0];
            case("bias", p + &bias, within + more(&bias));
            let (p, within) = &products[1];
            case("tanh", (p + &bias).tanh(), within + more(&bias) + 6.0 * eps(dtype));
            let (p, within) = &products[2];
            case("relu", (p + &bias).maximum(0.0), within + more(&bias));
            let (p, within) = &products[3];
            case("scaled_sum", &whole * 0.75 - p * 1.5, within * 1.5 + more(&whole));
            let (p, within) = &products[4];
            case("by_rows", p * 0.5 + &column, within + more(&column));
            let (p, within) = &products[5];
            case("transposed", (p + &whole).t(), (within + more(&whole)).t());
        }
    }
    Ok(group)
}

/// A bound of 400 eps of the largest element, which counts as at least 1.
fn near(want: &Value) -> Bound {
    let numbers = want.to_f64s();
    let largest = numbers.iter().fold(1.0, |most: f64, v| most.max(v.abs()));
    let bounds = vec![400.0 * eps(want.dtype()) * largest; numbers.len()];
    Value::from_vec(want.shape(), bounds).map_or(Bound::Exact, Bound::Within)
}

/// A training step of a layer: its products end in a bias and in updates of variables that they do not read.
fn updates(stage: &Stage) -> Result<()> {
    let cases = [
        (DType::F16, 7, 20, 9),
        (DType::BF16, 1, 20, 9),
        (DType::F64, 33, 17, 40),
        (DType::F32, 1, 40, 30),
        (DType::F32, 33, 17, 41),
        (DType::F32, 150, 600, 500),
    ];
    for (dtype, batch, inputs, outputs) in cases {
        let x = Variable::input("x", TensorType::new(dtype, vec![None, None]));
        let w = shared("w", random(dtype, &[inputs, outputs], 1)?);
        let b = shared("b", random(dtype, &[outputs], 2)?);
        let h = (x.dot(&w) + &b).tanh();
        let g = x.t().dot(&h) * (0.05 / batch as f64);
        let f = function([&x])
            .output(h.sum(..))
            .update(&w, &w - (&g + &w * 0.25))
            .update(&b, &b - 0.05 * h.mean(0))
            .compile()?;
        let steps = (0..3).map(|step| Ok(vec![random(dtype, &[batch, inputs], step)?]));
        stage.steps(&f, &steps.collect::<Result<Vec<_>>>()?, near)?;
    }
    Ok(())
}

/// The new value of a variable that the product reads must not be written before the product is complete.
fn factor(stage: &Stage) -> Result<()> {
    for dtype in [DType::F32, DType::F64] {
        let w = shared("w", random(dtype, &[45, 45], 1)?);
        let v = shared("v", random(dtype, &[45, 45], 2)?);
        let none: [&Variable; 0] = [];
        let f = function(none)
            .update(&w, &w - 0.01 * w.dot(&v))
            .update(&v, 0.5 * &v + 0.01 * w.t().dot(&w))
            .compile()?;
        stage.steps(&f, &vec![vec![]; 4], near)?;
    }
    Ok(())
}
