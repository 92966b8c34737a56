//! Reductions over every set of axes, for every dtype, with ties, NaN, empty arrays and many elements.

use super::magnitude;
use crate::data::{below, numbers, random, special};
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::{Tier, eps, sum};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![axes(), ties(), large(), semirings()]
}

pub(super) const SUBSETS: [&[isize]; 7] = [&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]];

fn reduced(axes: &[isize], shape: &[usize]) -> usize {
    axes.iter().map(|&a| shape[a.unsigned_abs()]).product()
}

/// The sum over axes, and its bound.
fn sum_case(x: &Variable, shape: &[usize], axes: &[isize]) -> (Variable, Tier) {
    let output = x.sum(axes);
    let dtype = output.dtype();
    if !dtype.is_float() {
        return (output, Tier::Exact);
    }
    (output, sum(reduced(axes, shape), dtype.register(), dtype, &magnitude(x).sum(axes)))
}

/// The mean over axes: the sum's bound, and a division.
fn mean_case(x: &Variable, shape: &[usize], axes: &[isize]) -> (Variable, Tier) {
    let output = x.mean(axes);
    let (n, dtype) = (reduced(axes, shape), output.dtype());
    let steps = 2.0 * (n.max(1) as f64).log2() * eps(dtype.register()) + 4.0 * eps(dtype);
    (output, Tier::Within(magnitude(x).sum(axes) * (steps / n as f64)))
}

fn add_sum(group: &mut Group, name: String, x: &Variable, shape: &[usize], axes: &[isize]) {
    let (output, tier) = sum_case(x, shape, axes);
    group.case(name, output, tier);
}

/// Compiling kernels takes time, so only some dtypes are tested with every set of axes.
fn subsets(dtype: DType) -> &'static [&'static [isize]] {
    match dtype {
        DType::F32 | DType::I64 | DType::Bool => &SUBSETS,
        _ => &[&[1], &[0, 2], &[0, 1, 2]],
    }
}

fn text(axes: &[isize]) -> String {
    axes.iter().map(isize::to_string).collect()
}

fn axes() -> Result<Group> {
    let golden = Golden::reduce();
    let mut group = Group::new("reduce");
    for dtype in DType::REAL {
        // NumPy's values, if there are any.
        let known = golden.find(&format!("x.{dtype}"))?;
        let x = known.clone().map_or_else(|| random(dtype, &[5, 6, 7], 1), Ok)?;
        let shape = x.shape().to_vec();
        let x = group.input(x);
        for axes in subsets(dtype) {
            let sums = [("sum", sum_case(&x, &shape, axes)), ("mean", mean_case(&x, &shape, axes))];
            let exact = [
                ("max", x.max(*axes)),
                ("min", x.min(*axes)),
                ("argmax", x.argmax(*axes)),
                ("argmin", x.argmin(*axes)),
            ];
            let all = sums.into_iter().chain(exact.map(|(what, output)| (what, (output, Tier::Exact))));
            for (what, (output, tier)) in all {
                let name = format!("{what}_{}_{}", dtype.short(), text(axes));
                match known {
                    Some(_) => {
                        let value = golden.value(&format!("{what}.{dtype}.{}", text(axes)))?;
                        group.golden(name, output, value, tier);
                    }
                    None => group.case(name, output, tier),
                }
            }
        }
    }
    // The same for views and for computed arguments.
    let x = group.input(random(DType::F32, &[5, 6, 7], 2)?);
    let row = group.input(random(DType::F32, &[7], 3)?);
    for axes in SUBSETS {
        let at = text(axes);
        add_sum(&mut group, format!("sum_transposed_{at}"), &x.t(), &[7, 6, 5], axes);
        group.exact(format!("argmax_transposed_{at}"), x.t().argmax(axes));
        group.exact(format!("max_of_sum_{at}"), (&x + &row).max(axes));
        group.exact(format!("max_and_add_{at}"), x.max(axes) + 1.0);
    }
    Ok(group)
}

fn ties() -> Result<Group> {
    let mut group = Group::new("reduce_edges");
    let nan = f64::NAN;
    let rows = [
        [1.0, 3.0, 3.0, 2.0, 3.0, 1.0],
        [nan, 1.0, nan, 2.0, 9.0, 0.0],
        [0.0, -0.0, 0.0, -0.0, 0.0, -0.0],
        [f64::NEG_INFINITY; 6],
        [f64::INFINITY, 1.0, f64::INFINITY, nan, 0.0, 2.0],
        [-5.0, -5.0, -5.0, -5.0, -5.0, -5.0],
        [f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0, 0.0, 0.0],
    ];
    for dtype in DType::REAL {
        let x = group.input(numbers(dtype, &[7, 6], rows.as_flattened())?);
        for axis in if dtype.is_float() { [0, 1].iter() } else { [1].iter() }.copied() {
            for (what, output) in [
                ("argmax", x.argmax(axis)),
                ("argmin", x.argmin(axis)),
                ("max", x.max(axis)),
                ("min", x.min(axis)),
            ] {
                // The order of the two zeros is unspecified.
                let output = if what.len() == 3 && dtype.is_float() { output + 0.0 } else { output };
                group.exact(format!("{what}_{}_{axis}", dtype.short()), output);
            }
            if dtype.is_float() {
                let wide = &group_sum(&x, axis);
                group.against(
                    format!("sum_{}_{axis}", dtype.short()),
                    x.sum(axis),
                    wide,
                    Tier::Within(wide * 0.0),
                );
            }
        }
        let none = group.input(Value::zeros(dtype, &[3, 0, 2])?);
        for axes in if dtype == DType::F32 { &SUBSETS[..] } else { &SUBSETS[3..4] } {
            group.exact(format!("sum_empty_{}_{}", dtype.short(), text(axes)), none.sum(*axes));
        }
        group.exact(format!("max_of_none_{}", dtype.short()), none.max(0));
        let one = group.input(random(dtype, &[1, 1], 3)?);
        group.exact(format!("sum_one_{}", dtype.short()), one.sum(..));
        group.exact(format!("argmax_one_{}", dtype.short()), one.argmax(..));
        let scalar = group.input(random(dtype, &[], 4)?);
        group.exact(format!("sum_zero_d_{}", dtype.short()), scalar.sum(..));
    }
    // Integers at their limits wrap in the accumulator; sums that equal a limit do not.
    let x = group.input(Value::from(vec![i64::MAX, 1, -1, i64::MIN, 5]));
    group.exact("sum_i64_wraps", x.sum(..));
    group.exact("max_i64_extreme", x.max(..));
    group.exact("argmin_i64_extreme", x.argmin(..));
    let x = group.input(Value::from(vec![u64::MAX, u64::MAX - 1, 0, u64::MAX]));
    group.exact("max_u64_extreme", x.max(..));
    group.exact("argmax_u64_extreme", x.argmax(..));
    group.exact("argmin_u64_extreme", x.argmin(..));
    let x = group.input(Value::from(vec![127i8; 1000]));
    group.exact("sum_i8_widens", x.sum(..));
    Ok(group)
}

/// Small integers: every order of additions gives the same sum.
fn group_sum(x: &Variable, axis: i32) -> Variable {
    x.cast(DType::F64).sum(axis)
}

fn large() -> Result<Group> {
    let mut group = Group::new("reduce_large");
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32, DType::U8, DType::Bool] {
        let d = dtype.short();
        let n = 100_003;
        let x = group.input(random(dtype, &[n], 1)?);
        add_sum(&mut group, format!("sum_all_{d}"), &x, &[n], &[0]);
        let (output, tier) = mean_case(&x, &[n], &[0]);
        group.case(format!("mean_all_{d}"), output, tier);
        group.exact(format!("max_all_{d}"), x.max(..));
        group.exact(format!("argmin_all_{d}"), x.argmin(..));
        let shapes: &[_] =
            if dtype == DType::F32 { &[(3, 5000), (5000, 3), (1000, 70)] } else { &[(3, 5000)] };
        for &(rows, columns) in shapes {
            let x = group.input(random(dtype, &[rows, columns], 2)?);
            for axis in [0isize, 1] {
                let name = |what: &str| format!("{what}_{rows}x{columns}_{d}_{axis}");
                add_sum(&mut group, name("sum"), &x, &[rows, columns], &[axis]);
                group.exact(name("argmax"), x.argmax([axis]));
            }
        }
    }
    // A sum whose terms are far larger than the result; the bound is that of two sums of the same number of
    // terms.
    let x = group.input(numbers(
        DType::F32,
        &[4096],
        &crate::data::uniform(4096, 9).iter().map(|u| u * 1e6).collect::<Vec<_>>(),
    )?);
    add_sum(&mut group, "sum_cancelling".into(), &(&x - x.mean(..)), &[4096 * 4096], &[0]);
    Ok(group)
}

/// Extremes of sums over pairs, and where they are, which are products over other semirings; and extremes of
/// everything.
fn semirings() -> Result<Group> {
    let mut group = Group::new("reduce_semirings");
    for dtype in [DType::F32, DType::F64, DType::I32, DType::F16] {
        for [m, k, n] in [[5, 7, 9], [33, 70, 40], [64, 512, 65]] {
            let name = |what: &str| format!("{what}_{m}x{k}x{n}_{}", dtype.short());
            let x = group.input(random(dtype, &[m, k], 1)?);
            let y = group.input(random(dtype, &[k, n], 2)?);
            let (sum, away) = (x.expand_dims(2) + &y, x.expand_dims(2) - &y);
            group.exact(name("max"), sum.max(1));
            group.exact(name("argmax"), sum.argmax(1));
            group.exact(name("min"), away.min(1));
            group.exact(name("argmin"), away.argmin(1));
            group.exact(name("best"), (sum.max(1) * 2).cast(DType::F64) + sum.argmax(1).cast(DType::F64));
        }
    }
    // Ties, NaN and infinities.
    let x = group.input(below(3, DType::F32, &[20, 300], 3)?);
    let y = group.input(below(3, DType::F32, &[300, 30], 4)?);
    let odd = group.input(special(DType::F32)?);
    let odd = concatenate((0..300).map(|_| odd.index(idx![..10])), 0).reshape([300, 10]);
    for (name, y) in [("ties", y), ("special", odd)] {
        let sum = x.expand_dims(2) + y;
        group.exact(format!("max_{name}"), sum.max(1));
        group.exact(format!("argmax_{name}"), sum.argmax(1));
        group.exact(format!("argmin_{name}"), sum.argmin(1));
    }
    for (name, x) in [
        ("ties", below(50, DType::I32, &[700, 1100], 5)?),
        ("floats", random(DType::F32, &[90_001], 6)?),
        ("halves", random(DType::F16, &[301, 303], 7)?),
    ] {
        let x = group.input(x);
        group.exact(format!("argmax_of_all_{name}"), x.argmax(..));
        group.exact(format!("argmin_of_all_{name}"), (-&x).argmin(..));
    }
    let nan = where_(arange(100_000i64).equal(70_123), f32::NAN, 1.0f32);
    group.exact("argmax_of_nan", nan.argmax(..));
    Ok(group)
}
