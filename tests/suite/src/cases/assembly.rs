//! Arrays that are assembled part by part, which fusion reads by parts: joins, rolls, pads, updates of slices
//! and the gradients of slices, with readers of every form.

// Negative ends count from the end.
#![allow(clippy::reversed_empty_ranges)]

use super::magnitude;
use super::subtensor::by;
use crate::data::{below, random};
use crate::group::Group;
use crate::tolerance::Tier;
use workalike::Result;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![joins(), stencils(), pads(), updates(), slice_gradients()]
}

const DTYPES: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::I64];

fn joins() -> Result<Group> {
    let mut group = Group::new("assembled_joins");
    for dtype in DTYPES {
        let d = dtype.short();
        let x = &group.input(random(dtype, &[6, 37], 1)?);
        let y = &group.input(random(dtype, &[6, 37], 2)?);
        let row = &group.input(random(dtype, &[1, 37], 3)?);
        let join = &concatenate([x, row, y], 0);
        group.exact(format!("negated_{d}"), -join);
        group.exact(format!("beside_{d}"), concatenate([x, y], 1) + concatenate([y, x], 1));
        group.exact(format!("with_constants_{d}"), concatenate([&(x + x), &zeros_like(row), y], 0) + row);
        group.exact(format!("a_part_{d}"), -join.index(idx![1..5]));
        group.exact(format!("across_parts_{d}"), -join.index(idx![5..9, by(.., -3)]));
        group.exact(format!("max_{d}"), join.max(0));
        group.exact(format!("max_of_rows_{d}"), concatenate([x, y], 1).max(1));
        group.exact(format!("of_joins_{d}"), -concatenate([join, &stack([row, row], 0).reshape([2, 37])], 0));
        group.exact(format!("transposed_{d}"), -join.t());
        group.exact(format!("stack_{d}"), -stack([x, y, x], 1));
        group.exact(format!("kept_{d}"), join.clone());
        let columns = (0..9).map(|k| x.index(idx![.., k..k + 29]));
        group.exact(format!("windows_{d}"), -stack(columns, 0));
    }
    Ok(group)
}

fn stencils() -> Result<Group> {
    let mut group = Group::new("assembled_stencils");
    for dtype in [DType::F32, DType::F64] {
        let d = dtype.short();
        let u = &group.input(random(dtype, &[33, 50], 4)?);
        let line = &group.input(random(dtype, &[101], 5)?);
        let around = u.roll(1, 0) + u.roll(-1, 0) + u.roll(1, 1) + u.roll(-1, 1);
        group.exact(format!("roll_{d}"), u + (&around - 4.0 * u) * 0.25);
        group.exact(format!("roll_twice_{d}"), -u.roll(3, 0).roll(-7, 1).roll(5, 0));
        group.exact(format!("upwind_{d}"), line - 0.5 * (line - line.roll(1, 0)));
        group.exact(format!("largest_{d}"), (u.roll(1, 1) - u).max(1));
        group.exact(format!("flipped_{d}"), u.roll(2, 1).flip(1) + u);
        let w = u.pad([[1, 1], [1, 1]], Pad::Wrap);
        let at = |i: usize, j: usize| w.index(idx![i..i + 33, j..j + 50]);
        group.exact(format!("wrapped_{d}"), u + 0.5 * (at(0, 1) + at(2, 1) + at(1, 0) + at(1, 2) - 4.0 * u));
    }
    Ok(group)
}

fn pads() -> Result<Group> {
    let mut group = Group::new("assembled_pads");
    let modes = [
        ("constant", Pad::Constant(2.0)),
        ("edge", Pad::Edge),
        ("ramp", Pad::LinearRamp(3.0)),
        ("reflect", Pad::Reflect),
        ("symmetric", Pad::Symmetric),
        ("wrap", Pad::Wrap),
    ];
    for dtype in [DType::F32, DType::I64] {
        let d = dtype.short();
        let x = &group.input(random(dtype, &[11, 14], 6)?);
        for (name, mode) in modes {
            let padded = x.pad([[2, 1], [3, 4]], mode);
            group.exact(format!("{name}_{d}"), -&padded);
            let taps = (0..3).map(|k| padded.index(idx![k..k + 11, 2 * k..2 * k + 14]));
            group.exact(format!("{name}_taps_{d}"), taps.reduce(|a, b| a.maximum(b)).unwrap_or(padded));
        }
    }
    Ok(group)
}

fn updates() -> Result<Group> {
    let mut group = Group::new("assembled_updates");
    for dtype in DTYPES {
        let d = dtype.short();
        let x = &group.input(random(dtype, &[12, 25], 7)?);
        let row = &group.input(random(dtype, &[25], 8)?);
        let edges = x
            .set_index(idx![0], row)
            .set_index(idx![-1], row)
            .set_index(idx![.., 0], 1)
            .set_index(idx![.., -1], 2);
        group.exact(format!("edges_{d}"), -&edges);
        group.exact(format!("inside_{d}"), -edges.index(idx![1..-1, 1..-1]));
        let twice = x
            .set_index(idx![2..8, 3..20], 5)
            .inc_index(idx![4..10, ..], row)
            .set_index(idx![5..6, 1..9], row.index(idx![..8]));
        group.exact(format!("overlapping_{d}"), twice.max(1));
        group.exact(format!("every_third_{d}"), -x.set_index(idx![.., by(.., 3)], 4));
        // Fused sums of halves are rounded once.
        if !dtype.is_half() {
            let interior =
                x.index(idx![1..-1, 1..-1]) + x.index(idx![2.., 1..-1]) + x.index(idx![1..-1, ..-2]);
            group.exact(format!("of_neighbours_{d}"), x.set_index(idx![1..-1, 1..-1], interior) + x);
        }
        group.exact(format!("all_of_it_{d}"), -x.set_index(idx![..], row).inc_index(idx![3], row));
    }
    Ok(group)
}

/// Of whole numbers, so that sums in any order are equal.
fn slice_gradients() -> Result<Group> {
    let mut group = Group::new("assembled_gradients");
    let x = &group.input(below(9, DType::F64, &[3, 14, 15], 9)?);
    let k = &group.input(below(9, DType::F64, &[3, 3], 10)?);
    let window = |i: usize, j: usize| x.index(idx![.., i..i + 12, j..j + 13]);
    let taps: Vec<Variable> =
        (0..9).map(|t| window(t / 3, t % 3) * k.index(idx![t as i64 / 3, t as i64 % 3])).collect();
    let sum = taps.iter().skip(1).fold(taps[0].clone(), |sum, tap| sum + tap);
    for (name, cost) in [("filter", sum.sqr().sum(..)), ("stack", stack(&taps, 0).max(0).sqr().sum(..))] {
        let g = grad(&cost, [x, k])?;
        for (of, g) in ["image", "weights"].iter().zip(g) {
            // Equal maxima share the gradient, and parts like thirds are rounded.
            let tier = Tier::Within(magnitude(&g) * 1e-13);
            group.case(format!("{name}_{of}"), g, tier);
        }
    }
    Ok(group)
}
