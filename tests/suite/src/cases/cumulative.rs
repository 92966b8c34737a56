//! Running folds: NumPy's values, and sizes at which devices choose different kernels.

use super::magnitude;
use crate::data::{below, random};
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::{Tier, eps};
use workalike::Result;
use workalike::kernels::nest::Fold;
use workalike::ops::CumOp;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![golden(), sizes(), casts(), corners()]
}

/// The bound of a sum for each running sum, and the rounding of the result.
fn sums(x: &Variable, axis: isize, n: usize) -> Tier {
    let total = magnitude(x).cumsum(axis);
    Tier::Within(total * (2.0 * (n.max(2) as f64).log2() * eps(x.dtype().register()) + eps(x.dtype())))
}

/// Folds of elements that were cast, which devices may convert as they read them.
fn casts() -> Result<Group> {
    let mut group = Group::new("cumulative_casts");
    for (shape, axis) in [(&[9000][..], 0), (&[3, 2000], 1), (&[700, 5], 0)] {
        let name: Vec<String> = shape.iter().map(usize::to_string).collect();
        let name = name.join("x");
        for dtype in [DType::Bool, DType::I8, DType::U8, DType::I32] {
            let x = group.input(random(dtype, shape, 7)?);
            let d = dtype.short();
            group.exact(format!("sum_{d}_{name}"), x.cumsum(axis));
            // Turned and reversed before and after the cast.
            let turned = x.flip(0).cast(DType::I64);
            group.exact(format!("turned_{d}_{name}"), turned.t().cumsum(0));
            group.exact(format!("turned_before_{d}_{name}"), x.t().flip(0).cast(DType::I64).cumsum(0));
            // A part of what was cast, and what was cast only in part.
            let wide = x.cast(DType::I64);
            group.exact(format!("part_{d}_{name}"), wide.index(idx![2..]).cumsum(axis));
            let head = wide.set_index(idx![..2], 7i64);
            group.exact(format!("replaced_{d}_{name}"), head.cumsum(axis));
        }
        let x = group.input(random(DType::F32, shape, 8)?);
        group.exact(format!("mask_{name}"), x.greater(0.0).cumsum(axis) - 1i64);
        group.exact(format!("truncated_{name}"), (&x * 9.0).cast(DType::I32).cumsum(axis));
    }
    Ok(group)
}

/// One rounding per product.
fn products(y: &Variable, n: usize) -> Tier {
    Tier::Within(magnitude(y) * (n as f64 * eps(y.dtype().register()) + eps(y.dtype())))
}

fn golden() -> Result<Group> {
    let golden = Golden::cumulative();
    let mut group = Group::new("cumulative");
    for dtype in [DType::F16, DType::F32, DType::F64, DType::I8, DType::U32, DType::Bool] {
        let x = group.input(golden.value(&format!("x.{dtype}"))?);
        for at in ["0", "1", "all"] {
            let along = |x: &Variable| if at == "all" { x.flatten() } else { x.clone() };
            let axis = isize::from(at == "1");
            let (row, n) = (along(&x), if at == "all" { 28 } else { 7 });
            let float = dtype.is_float();
            let cases = [
                ("cumsum", row.cumsum(axis), if float { sums(&row, axis, n) } else { Tier::Exact }),
                (
                    "cumprod",
                    row.cumprod(axis),
                    if float { products(&row.cumprod(axis), n) } else { Tier::Exact },
                ),
                ("cummax", row.cummax(axis), Tier::Exact),
                ("cummin", row.cummin(axis), Tier::Exact),
            ];
            for (what, output, tier) in cases {
                let value = golden.value(&format!("{what}.{dtype}.{at}"))?;
                group.golden(format!("{what}_{}_{at}", dtype.short()), output, value, tier);
            }
            if float {
                let places = arange(28).reshape([4, 7]);
                let holes = where_(places.equal(8i64), f64::NAN, &x);
                for (what, output) in
                    [("cummax", along(&holes).cummax(axis)), ("cummin", along(&holes).cummin(axis))]
                {
                    let value = golden.value(&format!("{what}_nan.{dtype}.{at}"))?;
                    group.golden(format!("{what}_nan_{}_{at}", dtype.short()), output, value, Tier::Exact);
                }
            }
        }
        if dtype != DType::Bool {
            let flat = x.cumsum(..);
            let tier = if dtype.is_float() { sums(&x.flatten(), 0, 28) } else { Tier::Exact };
            group.golden(
                format!("cumsum_flat_{}", dtype.short()),
                flat,
                golden.value(&format!("cumsum.{dtype}.all"))?,
                tier,
            );
        }
    }
    Ok(group)
}

fn back(x: &Variable, fold: Fold, axis: usize) -> Variable {
    match Variable::apply(CumOp { fold, axis, reverse: true }, std::slice::from_ref(x)) {
        Ok(mut outputs) => outputs.swap_remove(0),
        Err(error) => Variable::poison(error),
    }
}

/// One row, many rows, columns: few and many, short and long.
fn sizes() -> Result<Group> {
    let mut group = Group::new("cumulative_sizes");
    let shapes: [(&[usize], usize); 9] = [
        (&[33], 0),
        (&[1025], 0),
        (&[70_001], 0),
        (&[3, 20_000], 1),
        (&[300, 100], 1),
        (&[1200, 7], 0),
        (&[40, 150], 0),
        (&[5, 31, 9], 1),
        (&[2, 3000, 3], 1),
    ];
    for (shape, axis) in shapes {
        let name: Vec<String> = shape.iter().map(usize::to_string).collect();
        let name = format!("{}_{axis}", name.join("x"));
        let (n, at) = (shape[axis], axis as isize);
        for dtype in [DType::F32, DType::F64, DType::BF16] {
            let d = dtype.short();
            let x = group.input(random(dtype, shape, 5)?);
            group.against(
                format!("sum_{d}_{name}"),
                x.cumsum(at),
                &x.cast(DType::F64).cumsum(at),
                sums(&x, at, n),
            );
            group.exact(format!("max_{d}_{name}"), x.cummax(at));
            group.exact(format!("back_min_{d}_{name}"), back(&x, Fold::Min, axis));
        }
        let x = group.input(random(DType::I32, shape, 6)?);
        group.exact(format!("sum_i32_{name}"), x.cumsum(at));
        group.exact(format!("product_i32_{name}"), (&x * 2i64 + 1i64).cumprod(over(at).dtype(DType::I32)));
        group.exact(format!("back_sum_i32_{name}"), back(&x.cast(DType::I64), Fold::Sum, axis));
        let near_one = group.input(below(2, DType::F64, shape, 7)?);
        let y = (near_one * 2i64 - 1i64).cumprod(at);
        group.exact(format!("product_f64_{name}"), y);
    }
    Ok(group)
}

fn corners() -> Result<Group> {
    let mut group = Group::new("cumulative_corners");
    let odd = [1.0, f64::INFINITY, 2.0, f64::NEG_INFINITY, 3.0, f64::NAN, 1.0];
    for dtype in [DType::F32, DType::F64] {
        let d = dtype.short();
        let x = group.input(Value::from_vec(&[7], odd.to_vec())?.cast(dtype)?);
        group.exact(format!("sum_of_infinities_{d}"), x.cumsum(0));
        group.exact(format!("max_of_infinities_{d}"), x.cummax(0));
        group.exact(format!("min_of_infinities_{d}"), x.cummin(0));
        let none = group.input(Value::zeros(dtype, &[3, 0])?);
        group.exact(format!("of_none_{d}"), none.cumsum(1));
        group.exact(format!("beside_none_{d}"), none.cumprod(0));
    }
    // Views as arguments, and results used by other steps.
    let x = group.input(random(DType::I32, &[6, 10], 8)?);
    group.exact("transposed", x.t().cumsum(0));
    group.exact("sliced", x.index(workalike::idx![1.., range(2, 9).step(2)]).cumsum(1));
    group.exact("fused_around", (x.cast(DType::I64) * 3i64).cumsum(0) + 1i64);
    group.exact("of_broadcast", x.index(workalike::idx![0..1]).broadcast_to([4, 10]).cumsum(0));
    Ok(group)
}
