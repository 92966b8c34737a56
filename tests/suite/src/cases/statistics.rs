//! Ops composed of folds: products, variances, norms, log-sum-exp, and the variants that ignore NaN.

use super::magnitude;
use crate::data::random;
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::{Tier, eps};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![golden(), choices()]
}

const SUBSETS: [&[isize]; 3] = [&[1], &[0, 2], &[0, 1, 2]];

/// A name, a result, and the scale of its error: the result itself, or an intermediate sum. `None`: exact.
type Case = (&'static str, Variable, Option<Variable>);

fn of_all(x: &Variable, axes: &[isize]) -> Vec<Case> {
    let total = |of: &Variable| Some(magnitude(of).sum(axes));
    let mean = |of: &Variable| Some(magnitude(of).mean(axes));
    let mut cases: Vec<Case> = vec![
        ("prod", x.prod(axes), x.dtype().is_float().then(|| magnitude(&x.prod(axes)))),
        // The squares around the mean are at most those around 0.
        ("var", x.var(axes), mean(&x.cast(DType::F64).sqr())),
        ("std1", x.std(over(axes).ddof(1).keepdims()), Some(magnitude(x).max(over(axes).keepdims()))),
        ("all", x.all(axes), None),
        ("any", x.any(axes), None),
        ("count_nonzero", x.count_nonzero(axes), None),
    ];
    if x.dtype() != DType::Bool {
        cases.push(("ptp", x.ptp(axes), None));
        for (name, order) in [("norm2", 2.0), ("norm1", 1.0), ("norm3", 3.0)] {
            cases.push((name, x.norm(order, axes), total(x)));
        }
    }
    if x.dtype().is_float() {
        cases.push(("logsumexp", x.logsumexp(axes), Some(magnitude(x).max(axes) + 4.0)));
    }
    cases
}

fn without_nan(x: &Variable, axes: &[isize]) -> Vec<Case> {
    let total = Some(magnitude(x).nansum(axes) + 1.0);
    vec![
        ("nansum", x.nansum(axes), total.clone()),
        ("nanprod", x.nanprod(axes), Some(magnitude(x).nanprod(axes))),
        ("nanmax", x.nanmax(axes), None),
        ("nanmin", x.nanmin(axes), None),
        ("nanmean", x.nanmean(axes), total.clone()),
        ("nanvar", x.nanvar(axes), Some(magnitude(&x.sqr()).nansum(axes) + 1.0)),
        ("nanstd", x.nanstd(axes), total),
    ]
}

fn golden() -> Result<Group> {
    let golden = Golden::statistics();
    let mut group = Group::new("statistics");
    for dtype in [DType::F16, DType::F32, DType::F64, DType::I8, DType::U32, DType::Bool] {
        let x = group.input(golden.value(&format!("x.{dtype}"))?);
        for axes in SUBSETS {
            let at: String = axes.iter().map(isize::to_string).collect();
            let mut cases = of_all(&x, axes);
            if dtype.is_float() {
                let holes = group.input(golden.value(&format!("holes.{dtype}.{at}"))?);
                cases.extend(without_nan(&holes, axes));
            }
            for (what, output, scale) in cases {
                let value = golden.value(&format!("{what}.{dtype}.{at}"))?;
                // A dozen intermediate roundings of at most 8 ulp of the scale each, and the rounding of the
                // result to a half.
                let steps = 64.0 * eps(output.dtype().register()) + eps(output.dtype());
                let tier =
                    scale.map_or(Tier::Exact, |scale| Tier::Within((magnitude(&output) + scale) * steps));
                group.golden(format!("{what}_{}_{at}", dtype.short()), output, value, tier);
            }
        }
    }
    Ok(group)
}

/// The options of `over`.
fn choices() -> Result<Group> {
    let mut group = Group::new("reduce_choices");
    for dtype in [DType::F16, DType::I8, DType::U16, DType::Bool, DType::F32] {
        let d = dtype.short();
        let x = group.input(random(dtype, &[6, 5, 4], 11)?);
        group.exact(format!("max_keepdims_{d}"), x.max(over([0, 2]).keepdims()));
        group.exact(format!("argmin_keepdims_{d}"), x.argmin(over(1).keepdims()));
        if !dtype.is_float() {
            group.exact(format!("sum_narrow_{d}"), x.sum(over(0).dtype(DType::I32)));
            group.exact(format!("sum_accumulated_{d}"), x.sum(over(..).acc_dtype(DType::U8)));
            group.exact(format!("prod_keepdims_{d}"), x.prod(over(1).keepdims()));
        }
        // In float64, whose errors are negligible for a narrower result.
        let wide = x.sum(over(-1).acc_dtype(DType::F64).dtype(DType::F64));
        let bound = magnitude(&x).sum(-1) * (8.0 * f64::EPSILON);
        group.against(format!("sum_in_f64_{d}"), wide, &x.cast(DType::F64).sum(-1), Tier::Within(bound));
        let none = group.input(Value::zeros(dtype, &[2, 0])?);
        group.exact(format!("prod_of_none_{d}"), none.prod(1));
        group.exact(format!("all_of_none_{d}"), none.all(1));
    }
    let rows = [f64::INFINITY, 1.0, f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::NAN, 1.0];
    let x = group.input(Value::from_vec(&[4, 2], rows.to_vec())?);
    let want = [f64::INFINITY, f64::NEG_INFINITY, 2f64.ln(), f64::NAN];
    group.golden(
        "logsumexp_of_infinities",
        x.logsumexp(1),
        Value::from(want.to_vec()),
        Tier::Within(zeros_like(x.sum(1)) + 1e-15),
    );
    Ok(group)
}
