//! Values at corners: integers without a common dtype, and reductions of nothing.

use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 2] =
        [("signed_beside_unsigned", signed_beside_unsigned), ("reductions_of_nothing", nothing)];
    family("corners", &stories)
}

/// Comparisons are exact, as in NumPy 2.
fn signed_beside_unsigned(stage: &Stage) -> Result<()> {
    let signed = [i64::MIN, -1, 0, 1, (1 << 53) + 1, i64::MAX];
    let unsigned = [0u64, 1, 1 << 53, (1 << 53) + 1, i64::MAX as u64, 1 << 63, u64::MAX];
    let pairs: Vec<(i64, u64)> = signed.iter().flat_map(|&a| unsigned.map(|b| (a, b))).collect();
    let (a, b) = (vector::<i64>("a"), vector::<u64>("b"));
    let compared = |a: &Variable, b: &Variable| {
        [a.equal(b), a.not_equal(b), a.less(b), a.less_equal(b), a.greater(b), a.greater_equal(b)]
    };
    let outputs = compared(&a, &b).into_iter().chain(compared(&b, &a));
    let f = stage.function(&function([&a, &b]).outputs(outputs).compile()?)?;
    let (left, right): (Vec<i64>, Vec<u64>) = pairs.iter().copied().unzip();
    let args = || args![left.clone(), right.clone()];
    let mut sim = stage.simulator(&f)?;
    for got in [sim.call(args())?, f.call_reference(args())?] {
        for (at, &(a, b)) in pairs.iter().enumerate() {
            let order = i128::from(a).cmp(&i128::from(b));
            let both = [order, order.reverse()].map(|order| {
                [order.is_eq(), order.is_ne(), order.is_lt(), order.is_le(), order.is_gt(), order.is_ge()]
            });
            for (output, want) in both.concat().into_iter().enumerate() {
                let got = got[output].to_vec::<bool>()?[at];
                ensure(got == want, || format!("{a} and {b}, comparison {output}: {got}"))?;
            }
        }
    }
    let (a, b) = (vector::<i8>("a"), vector::<u64>("b"));
    let f = stage.function(&function([&a, &b]).output(a.less(&b)).compile()?)?;
    let less = stage.simulator(&f)?.call(args![vec![-1i8, 1], vec![u64::MAX, 1u64]])?;
    ensure(less[0].to_vec::<bool>()? == [true, false], || format!("{:?}", less[0]))
}

/// What NumPy and SciPy give for an axis without elements.
fn nothing(stage: &Stage) -> Result<()> {
    type Reduction = fn(&Variable) -> Variable;
    let cases: [(&str, f64, Reduction); 13] = [
        ("sum", 0.0, |x| x.sum(0)),
        ("prod", 1.0, |x| x.prod(0)),
        ("mean", f64::NAN, |x| x.mean(0)),
        ("var", f64::NAN, |x| x.var(0)),
        ("std", f64::NAN, |x| x.std(0)),
        ("norm", 0.0, |x| x.norm(2.0, 0)),
        ("logsumexp", f64::NEG_INFINITY, |x| x.logsumexp(0)),
        ("median", f64::NAN, |x| x.median(0)),
        ("quantile", f64::NAN, |x| x.quantile(0.3, 0)),
        ("quantile 0", f64::NAN, |x| x.quantile(0.0, 0)),
        ("nanmedian", f64::NAN, |x| x.nanmedian(0)),
        ("nanmean", f64::NAN, |x| x.nanmean(0)),
        ("nansum", 0.0, |x| x.nansum(0)),
    ];
    for dtype in [DType::F32, DType::I32] {
        let x = Variable::input("x", TensorType::of_rank(dtype, 2));
        let typed = cases.iter().filter(|(name, ..)| dtype.is_float() || !name.starts_with("logsumexp"));
        for (name, want, reduction) in typed {
            let f = stage.function(&function([&x]).output(reduction(&x)).compile()?)?;
            for shape in [[0usize, 2], [3, 2], [0, 0], [0, 1]] {
                let values: Vec<f64> = (0..shape[0] * shape[1]).map(|v| v as f64).collect();
                let x = Value::from_vec(&shape, values)?.cast(dtype)?;
                let want: Vec<f64> = match shape[0] {
                    0 => vec![*want; shape[1]],
                    _ => f.call_reference(args![&x])?[0].to_f64s(),
                };
                for got in [stage.simulator(&f)?.call(args![&x])?, f.call_reference(args![&x])?] {
                    let got = got[0].to_f64s();
                    let same =
                        |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-5;
                    let all = got.len() == want.len() && got.iter().zip(&want).all(same);
                    ensure(all, || format!("{name} of {dtype}{shape:?}: {got:?}, not {want:?}"))?;
                }
            }
        }
    }
    Ok(())
}
