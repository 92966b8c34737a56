//! Conversions between all dtypes: integers wrap, floats saturate when converted to integers, NaN becomes 0,
//! everything else is rounded once.

use crate::data::{joined, numbers, random, special};
use crate::group::Group;
use workalike::Result;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![casts()]
}

fn casts() -> Result<Group> {
    let mut group = Group::new("cast");
    // Halves, ties, and the limits of every integer type.
    let edges: Vec<f64> = [7, 8, 15, 16, 31, 32, 52, 53, 63, 64]
        .iter()
        .map(|&bits| 2f64.powi(bits))
        .flat_map(|p| [p, p - 1.0, p + 1.0, -p, -p - 1.0, 1.0 - p, p - 0.5, p * (1.0 + 2f64.powi(-20))])
        .chain([0.4, 0.5, 0.6, 1.5, 2.5, -0.5, -0.6, -1.5, 1.0 + 2f64.powi(-8), 1.0 + 2f64.powi(-11)])
        .chain([
            1.0 + 2f64.powi(-8) + 2f64.powi(-40),
            1.0 + 2f64.powi(-11) + 2f64.powi(-40),
            65519.9,
            65520.0,
            2f64.powi(-25),
        ])
        .collect();
    for from in DType::REAL {
        let edges = numbers(from, &[edges.len()], &edges)?;
        let x = group.input(joined(&[special(from)?, edges, random(from, &[100], 1)?])?);
        for to in DType::REAL {
            if to != from {
                group.exact(format!("{}_to_{}", from.short(), to.short()), x.cast(to));
            }
        }
    }
    // A conversion rounds, even if the next op works at higher precision.
    let x = group.input(random(DType::F32, &[100], 2)?);
    let w = group.input(random(DType::F64, &[100], 3)?);
    for through in [DType::F16, DType::BF16] {
        group.exact(format!("f32_through_{}", through.short()), x.cast(through).cast(DType::F32));
        group.exact(format!("f64_through_{}", through.short()), w.cast(through).cast(DType::F64));
    }
    group.exact("f64_through_f32", w.cast(DType::F32).cast(DType::F64));
    group.exact("f64_through_i8", (&w * 100.0).cast(DType::I8).cast(DType::F64));
    Ok(group)
}
