//! Sorts, topk, medians and quantiles: NumPy's values, and sizes at which devices choose different kernels.

use super::magnitude;
use crate::data::{below, joined, random, special};
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::{Tier, eps};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![golden(), quantiles(), sizes(), first(), corners()]
}

fn golden() -> Result<Group> {
    let golden = Golden::sorting();
    let mut group = Group::new("sorting");
    for dtype in DType::REAL {
        let x = group.input(golden.value(&format!("x.{dtype}"))?);
        for at in ["0", "1", "all"] {
            let (row, axis) =
                if at == "all" { (x.flatten(), 0) } else { (x.clone(), isize::from(at == "1")) };
            let d = dtype.short();
            let value = |what: &str| golden.find(&format!("{what}.{dtype}.{at}"));
            for (what, output) in [
                ("sort", row.sort(axis)),
                ("argsort", row.argsort(axis)),
                ("topk", row.topk(3, axis)),
                ("argtopk", row.argtopk(3, axis)),
            ] {
                match value(what)? {
                    Some(value) => group.golden(format!("{what}_{d}_{at}"), output, value, Tier::Exact),
                    None => group.exact(format!("{what}_{d}_{at}"), output),
                }
            }
        }
        group.golden(
            format!("sort_flat_{}", dtype.short()),
            x.sort(..),
            golden.value(&format!("sort.{dtype}.all"))?,
            Tier::Exact,
        );
    }
    Ok(group)
}

fn quantiles() -> Result<Group> {
    let golden = Golden::sorting();
    let mut group = Group::new("quantiles");
    for dtype in [DType::F32, DType::F64, DType::I32, DType::U8] {
        let full = group.input(golden.value(&format!("full.{dtype}"))?);
        let gone = group.input(golden.value(&format!("gone.{dtype}"))?);
        for (at, axes) in [("0", &[0isize][..]), ("1", &[1]), ("01", &[0, 1])] {
            let mut cases = vec![
                ("median".to_string(), full.median(axes)),
                ("median_nan".into(), gone.median(axes)),
                ("nanmedian".into(), gone.nanmedian(axes)),
            ];
            for (name, q) in [("0.0", 0.0), ("0.3", 0.3), ("1.0", 1.0)] {
                cases.push((format!("quantile{name}"), full.quantile(q, axes)));
                cases.push((format!("nanquantile{name}"), gone.nanquantile(q, axes)));
            }
            for (what, output) in cases {
                let value = golden.value(&format!("{what}.{dtype}.{at}"))?;
                // A few roundings between two numbers of at most 8, and one of NumPy's.
                let bound = Tier::Within(magnitude(&output) * 0.0 + 64.0 * eps(output.dtype()));
                group.golden(format!("{what}_{}_{at}", dtype.short()), output, value, bound);
            }
        }
        group.exact(format!("kept_{}", dtype.short()), full.median(over(0).keepdims()));
    }
    Ok(group)
}

fn sizes() -> Result<Group> {
    let mut group = Group::new("sorting_sizes");
    let shapes: [(&[usize], usize); 8] = [
        (&[33], 0),
        (&[1000], 0),
        (&[5000], 0),
        (&[40_000], 0),
        (&[70, 130], 1),
        (&[130, 70], 0),
        (&[3, 400, 5], 1),
        (&[1500, 2], 0),
    ];
    for (shape, axis) in shapes {
        let name: Vec<String> = shape.iter().map(usize::to_string).collect();
        let name = format!("{}_{axis}", name.join("x"));
        let axis = axis as isize;
        for dtype in [DType::F32, DType::F64, DType::I64, DType::BF16, DType::U8] {
            let x = group.input(random(dtype, shape, 3)?);
            let d = dtype.short();
            group.exact(format!("sort_{d}_{name}"), x.sort(axis));
            group.exact(format!("argsort_{d}_{name}"), x.argsort(axis));
            group.exact(format!("topk_{d}_{name}"), x.topk(2, axis));
            group.exact(format!("argtopk_{d}_{name}"), x.argtopk(17, axis));
        }
        // Many equal elements.
        let x = group.input(below(3, DType::I32, shape, 4)?);
        let order = x.argsort(axis);
        group.exact(format!("argsort_equal_{name}"), &order);
        // Where each is in that order, and elements moved to positions that do not repeat.
        group.exact(format!("ranks_{name}"), order.argsort(axis));
        let put = zeros_like(&x).put_along_axis(order.cast(DType::I32), &x + 1, axis);
        group.exact(format!("put_in_order_{name}"), put);
        // The values and the positions by two ops.
        let y = group.input(random(DType::F32, shape, 5)?);
        group.exact(format!("sorted_beside_{name}"), y.sort(axis));
        group.exact(format!("order_beside_{name}"), y.argsort(axis) * 2i64);
        let [values, indices] = x.topk_both(9, axis);
        group.exact(format!("both_values_{name}"), values);
        group.exact(format!("both_indices_{name}"), indices);
    }
    Ok(group)
}

/// The first of long rows, and places in the middle of them.
fn first() -> Result<Group> {
    let mut group = Group::new("sorting_first");
    // A device without sorts counts, for each element, those before it, up to some length of rows.
    for (rows, n) in [(2, 4500), (80, 17_000)] {
        for dtype in [DType::F32, DType::F16, DType::F64] {
            let x = group.input(random(dtype, &[rows, n], 3)?);
            let d = dtype.short();
            group.exact(format!("few_{d}_{rows}"), x.topk(40, 1));
            group.exact(format!("many_{d}_{rows}"), x.argtopk(900, 1));
            group.exact(format!("median_{d}_{rows}"), x.median(1));
        }
        // Nearly all are equal, or in order.
        let equal = group.input(below(2, DType::I32, &[rows, n], 4)?);
        let [values, indices] = equal.topk_both(100, 1);
        group.exact(format!("equal_values_{rows}"), values);
        group.exact(format!("equal_indices_{rows}"), indices);
        group.exact(format!("equal_median_{rows}"), equal.cast(DType::F32).median(1));
        let ascending = arange(n as i64) + &equal;
        group.exact(format!("ascending_{rows}"), ascending.argtopk(300, 1));
    }
    Ok(group)
}

fn corners() -> Result<Group> {
    let mut group = Group::new("sorting_corners");
    for dtype in DType::REAL {
        let d = dtype.short();
        let odd = group.input(joined(&[special(dtype)?, special(dtype)?])?);
        group.exact(format!("special_{d}"), odd.sort(0));
        group.exact(format!("special_order_{d}"), odd.argsort(0));
        group.exact(format!("special_largest_{d}"), odd.topk(if dtype == DType::Bool { 3 } else { 5 }, 0));
        let none = group.input(Value::zeros(dtype, &[2, 0])?);
        group.exact(format!("none_{d}"), none.sort(1));
        group.exact(format!("beside_none_{d}"), none.argsort(0));
        group.exact(format!("none_of_all_{d}"), odd.topk(0, 0));
    }
    let x = group.input(random(DType::I32, &[6, 10], 8)?);
    group.exact("transposed", x.t().sort(0));
    group.exact("sliced", x.index(workalike::idx![1.., range(2, 9).step(2)]).argsort(1));
    group.exact("fused_around", (x.cast(DType::I64) * -3i64).sort(0) + 1i64);
    Ok(group)
}
