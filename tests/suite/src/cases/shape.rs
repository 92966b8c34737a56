//! Dimshuffle, reshape, broadcast, new axes and extents: data movement, so exact.

use crate::data::random;
use crate::group::Group;
use workalike::Result;
use workalike::graph::IntoOperand;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![shapes()]
}

fn shapes() -> Result<Group> {
    let mut group = Group::new("shape");
    for dtype in [DType::F32, DType::I64, DType::BF16, DType::Bool] {
        let d = dtype.short();
        let x = group.input(random(dtype, &[3, 4, 5], 1)?);
        let row = group.input(random(dtype, &[1, 5], 2)?);
        let scalar = group.input(random(dtype, &[], 3)?);
        let empty = group.input(random(dtype, &[3, 0, 2], 4)?);
        let orders: [&[usize]; 6] = [&[0, 1, 2], &[0, 2, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 1], &[2, 1, 0]];
        let all = dtype == DType::F32;
        for order in if all { &orders[..] } else { &orders[3..4] } {
            let text = order.iter().map(usize::to_string).collect::<String>();
            let axes: Vec<Option<usize>> = order.iter().copied().map(Some).collect();
            group.exact(format!("dimshuffle_{text}_{d}"), x.dimshuffle(axes));
        }
        group.exact(format!("new_axes_{d}"), x.dimshuffle([None, Some(2), None, Some(0), Some(1), None]));
        group.exact(format!("dropped_axis_{d}"), row.dimshuffle([Some(1)]));
        group.exact(format!("scalar_to_matrix_{d}"), scalar.dimshuffle([None, None]));
        for axis in if all { [0isize, 1, 3, -1, -4].iter() } else { [1].iter() } {
            group.exact(format!("expand_dims_{axis}_{d}"), x.expand_dims(*axis));
        }
        let shapes: [&[isize]; 8] =
            [&[60], &[-1], &[12, 5], &[3, 20], &[4, -1, 3], &[5, 4, 3], &[2, 3, 2, 5], &[1, 60, 1]];
        for shape in if all { &shapes[..] } else { &shapes[3..5] } {
            let text = shape.iter().map(isize::to_string).collect::<Vec<_>>().join("x");
            group.exact(format!("reshape_{text}_{d}"), x.reshape(shape));
            group.exact(format!("reshape_{text}_of_transposed_{d}"), x.t().reshape(shape));
        }
        group.exact(format!("reshape_empty_{d}"), empty.reshape([0, 7]));
        group.exact(format!("reshape_scalar_{d}"), scalar.reshape([1, 1]));
        group.exact(format!("reshape_twice_{d}"), x.reshape([12, 5]).t().reshape([2, 30]));
        let rows = x.extent(0);
        let run_time = vec![rows.clone().into_operand(), (-1i64).into_operand()];
        group.exact(format!("reshape_by_extent_{d}"), x.reshape_to(run_time));
        group.exact(format!("broadcast_row_{d}"), row.broadcast_to([4, 5]));
        group.exact(format!("broadcast_more_axes_{d}"), row.broadcast_to([2, 3, 4, 5]));
        group.exact(format!("broadcast_scalar_{d}"), scalar.broadcast_to([3, 2]));
        group.exact(format!("broadcast_to_nothing_{d}"), row.broadcast_to([0, 5]));
        group.exact(format!("broadcast_then_transposed_{d}"), row.broadcast_to([4, 5]).t());
        group.exact(format!("broadcast_then_reshaped_{d}"), row.broadcast_to([4, 5]).reshape([2, 10]));
        group.exact(format!("itself_{d}"), &x);
        group.exact(format!("zeros_like_{d}"), zeros_like(&x));
        for axis in [0isize, 1, -1] {
            group.exact(format!("extent_{axis}_{d}"), x.extent(axis) + x.cast(DType::I64).sum(..));
        }
    }
    let n = group.input(Value::from(6i64));
    let x = group.input(random(DType::F32, &[24], 5)?);
    group.exact("reshape_by_input", x.reshape_to(vec![(-1i64).into_operand(), n.clone().into_operand()]));
    group.exact("arange_by_input", arange(&n));
    group.exact("arange_between", arange_between(&n, &n * 5i64, 4i64));
    group.exact("arange_down", arange_between(&n, -10i64, -3i64));
    group.exact("arange_empty", arange_between(&n, 2i64, 1i64));
    group.exact("arange_of_extent", arange(x.extent(0)) * &n);
    Ok(group)
}
