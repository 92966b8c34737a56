//! One elementwise expression over operands of every layout and size.

use crate::data::random;
use crate::group::Group;
use workalike::ops::Ix;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![layouts(), sizes()]
}

/// Exact in every dtype, with each argument used twice.
fn expression(x: &Variable, y: &Variable) -> Variable {
    x.maximum(y) + x * y
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
        group.exact(format!("contiguous_{d}"), expression(&x, &y));
        group.exact(format!("same_{d}"), expression(&x, &x));
        group.exact(format!("transposed_right_{d}"), expression(&x, &t.t()));
        group.exact(format!("transposed_left_{d}"), expression(&t.t(), &x));
        group.exact(format!("transposed_both_{d}"), expression(&x.t(), &y.t()));
        group.exact(format!("transposed_result_{d}"), expression(&x, &y).t() + &t);
        let part = big.index(idx![Ix::from(1..15).step(2), Ix::from(0..39).step(3)]);
        group.exact(format!("strided_{d}"), expression(&x, &part));
        group.exact(format!("reversed_{d}"), expression(&x.index(idx![every(-1), every(-1)]), &y));
        group.exact(format!("reversed_strided_{d}"), expression(&part.index(idx![every(-1)]), &t.t()));
        group.exact(format!("row_{d}"), expression(&x, &row));
        group.exact(format!("column_{d}"), expression(&column, &x));
        group.exact(format!("row_column_{d}"), expression(&row, &column));
        group.exact(format!("vector_{d}"), expression(&x, &vector));
        group.exact(format!("scalar_{d}"), expression(&scalar, &x));
        group.exact(format!("row_scalar_{d}"), expression(&row, &scalar));
        group.exact(format!("zero_d_{d}"), expression(&scalar, &scalar));
        group.exact(format!("empty_{d}"), expression(&empty, &row));
        group.exact(format!("cube_{d}"), expression(&x.expand_dims(1), &t.t().expand_dims(0)));
        group.exact(format!("broadcast_{d}"), expression(&row.broadcast_to([7, 13]), &x));
    }
    // Arguments that are themselves views of host memory.
    let whole = random(DType::F32, &[6, 8], 10)?;
    let view = whole.view_as(&[8, 3], &[1, 16], 0)?;
    let v = group.input(view);
    let backward = group.input(whole.view_as(&[8, 3], &[-1, 16], 7)?);
    group.exact("host_view", expression(&v, &backward));
    Ok(group)
}

fn sizes() -> Result<Group> {
    let mut group = Group::new("sizes");
    for n in [0, 1, 2, 3, 7, 31, 33, 64, 1000, 1023, 4099, 70_001] {
        for dtype in [DType::F32, DType::F16, DType::I8] {
            let (x, y) = (group.input(random(dtype, &[n], 1)?), group.input(random(dtype, &[n], 2)?));
            group.exact(format!("{n}_{}", dtype.short()), expression(&x, &y));
        }
    }
    for (rows, columns) in [(1, 1), (1, 4099), (4099, 1), (3, 1000), (1000, 3), (129, 65)] {
        let x = group.input(random(DType::F32, &[rows, columns], 3)?);
        let y = group.input(random(DType::F32, &[columns], 4)?);
        group.exact(format!("{rows}x{columns}"), expression(&x, &y));
    }
    let axes = [2usize, 3, 1, 2, 5, 3];
    let x = group.input(random(DType::F32, &axes, 5)?);
    let y = group.input(random(DType::F32, &axes, 6)?);
    group.exact("six_axes", expression(&x, &y));
    group.exact("six_axes_reversed", expression(&x.t(), &y.t()));
    let order = [5, 3, 1, 0, 2, 4].map(Some);
    group.exact("six_axes_permuted", expression(&x.dimshuffle(order), &y.dimshuffle(order)));
    Ok(group)
}
