//! One elementwise expression over operands of every layout and size.

use super::magnitude;
use crate::data::random;
use crate::group::Group;
use crate::tolerance::{Tier, eps};
use workalike::ops::Ix;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![layouts(), sizes()]
}

/// Uses each argument twice. Halves may keep more digits between the ops; all else is exact.
fn add(group: &mut Group, name: String, x: &Variable, y: &Variable) {
    let output = x.maximum(y) + x * y;
    let tier = if output.dtype().is_half() {
        let product = magnitude(x) * magnitude(y);
        Tier::Within((product + magnitude(&output)) * eps(output.dtype()))
    } else {
        Tier::Exact
    };
    group.case(name, output, tier);
}

fn layouts() -> Result<Group> {
    let mut group = Group::new("layouts");
    for dtype in [DType::F32, DType::F64, DType::BF16, DType::I64, DType::U8, DType::Bool] {
        let d = dtype.short();
        let x = group.input(random(dtype, &[7, 13], 1)?);
        let y = group.input(random(dtype, &[7, 13], 2)?);
        let t = group.input(random(dtype, &[13, 7], 3)?);
        let big = group.input(random(dtype, &[16, 40], 4)?);
        let row = group.input(random(dtype, &[1, 13], 5)?);
        let column = group.input(random(dtype, &[7, 1], 6)?);
        let vector = group.input(random(dtype, &[13], 7)?);
        let scalar = group.input(random(dtype, &[], 8)?);
        let empty = group.input(random(dtype, &[0, 13], 9)?);
        let every = |step: i64| Ix::from(..).step(step);
        add(&mut group, format!("contiguous_{d}"), &x, &y);
        add(&mut group, format!("same_{d}"), &x, &x);
        add(&mut group, format!("transposed_right_{d}"), &x, &t.t());
        add(&mut group, format!("transposed_left_{d}"), &t.t(), &x);
        add(&mut group, format!("transposed_both_{d}"), &x.t(), &y.t());
        group.exact(format!("transposed_result_{d}"), x.maximum(&y).t() + &t);
        let part = big.index(idx![Ix::from(1..15).step(2), Ix::from(0..39).step(3)]);
        add(&mut group, format!("strided_{d}"), &x, &part);
        add(&mut group, format!("reversed_{d}"), &x.index(idx![every(-1), every(-1)]), &y);
        add(&mut group, format!("reversed_strided_{d}"), &part.index(idx![every(-1)]), &t.t());
        add(&mut group, format!("row_{d}"), &x, &row);
        add(&mut group, format!("column_{d}"), &column, &x);
        add(&mut group, format!("row_column_{d}"), &row, &column);
        add(&mut group, format!("vector_{d}"), &x, &vector);
        add(&mut group, format!("scalar_{d}"), &scalar, &x);
        add(&mut group, format!("row_scalar_{d}"), &row, &scalar);
        add(&mut group, format!("zero_d_{d}"), &scalar, &scalar);
        add(&mut group, format!("empty_{d}"), &empty, &row);
        add(&mut group, format!("cube_{d}"), &x.expand_dims(1), &t.t().expand_dims(0));
        add(&mut group, format!("broadcast_{d}"), &row.broadcast_to([7, 13]), &x);
    }
    // Arguments that are views of host memory.
    let whole = random(DType::F32, &[6, 8], 10)?;
    let view = whole.view_as(&[8, 3], &[1, 16], 0)?;
    let v = group.input(view);
    let backward = group.input(whole.view_as(&[8, 3], &[-1, 16], 7)?);
    add(&mut group, "host_view".into(), &v, &backward);
    Ok(group)
}

fn sizes() -> Result<Group> {
    let mut group = Group::new("sizes");
    for n in [0, 1, 2, 3, 7, 31, 33, 64, 1000, 1023, 4099, 70_001] {
        for dtype in [DType::F32, DType::F16, DType::I8] {
            let (x, y) = (group.input(random(dtype, &[n], 1)?), group.input(random(dtype, &[n], 2)?));
            add(&mut group, format!("{n}_{}", dtype.short()), &x, &y);
        }
    }
    for (rows, columns) in [(1, 1), (1, 4099), (4099, 1), (3, 1000), (1000, 3), (129, 65)] {
        let x = group.input(random(DType::F32, &[rows, columns], 3)?);
        let y = group.input(random(DType::F32, &[columns], 4)?);
        add(&mut group, format!("{rows}x{columns}"), &x, &y);
    }
    let axes = [2usize, 3, 1, 2, 5, 3];
    let x = group.input(random(DType::F32, &axes, 5)?);
    let y = group.input(random(DType::F32, &axes, 6)?);
    add(&mut group, "six_axes".into(), &x, &y);
    add(&mut group, "six_axes_reversed".into(), &x.t(), &y.t());
    let order = [5, 3, 1, 0, 2, 4].map(Some);
    add(&mut group, "six_axes_permuted".into(), &x.dimshuffle(order), &y.dimshuffle(order));
    Ok(group)
}
