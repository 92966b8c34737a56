//! Positions that differ from row to row: along one axis, beside the same position along all others.

use super::advanced_indexing::{AdvancedIncSubtensor, AdvancedSubtensor};
use super::axes::normalize_axis;
use super::creation::arange;
use super::elemwise::cast;
use super::methods::{fail, methods};
use super::shape::{DimShuffle, ShapeOf};
use crate::error::Result;
use crate::graph::{IntoOperand, Operand, Variable};

/// For each axis of `x` an array of positions: those given along `axis`, and every one along each other.
fn everywhere(op: &str, x: &Variable, indices: &Variable, axis: isize) -> Result<Vec<Variable>> {
    let axis = normalize_axis(axis, x.ndim()).map_err(|m| fail(op, m))?;
    if indices.ndim() != x.ndim() {
        let message = format!(
            "the indices {} and the array {} must have the same number of axes",
            indices.ty(),
            x.ty()
        );
        return Err(fail(op, message));
    }
    if !indices.dtype().is_integer() {
        return Err(fail(op, format!("indices must be integers, got {}", indices.ty())));
    }
    let along = |a: usize| {
        let order = (0..x.ndim()).map(|b| (a == b).then_some(0)).collect();
        DimShuffle::of(arange(ShapeOf::of(x, a)?).checked()?, order)
    };
    (0..x.ndim()).map(|a| if a == axis { Ok(indices.clone()) } else { along(a) }).collect()
}

fn write(op: &str, set: bool, x: &Variable, indices: &Variable, y: Operand, axis: isize) -> Result<Variable> {
    let y = Operand::resolve(vec![Operand::Variable(x.clone()), y]).swap_remove(1);
    let y = cast(y.checked()?, x.dtype())?;
    let arrays = everywhere(op, x, indices.checked()?, axis)?;
    let first = [x.clone(), DimShuffle::pad_left(&y, x.ndim())?];
    Variable::apply1(AdvancedIncSubtensor { set }, &first.into_iter().chain(arrays).collect::<Vec<_>>())
}

methods! {
    /// Of each row along an axis the elements at positions of its own (NumPy's `take_along_axis`): what
    /// `argmax` or `argsort` gave.
    take_along_axis / try_take_along_axis(x, indices: impl Into<Variable>, axis: isize) {
        let indices = indices.into();
        let arrays = everywhere("take_along_axis", x, indices.checked()?, axis)?;
        Variable::apply1(AdvancedSubtensor, &std::iter::once(x.clone()).chain(arrays).collect::<Vec<_>>())
    }
    /// `x` with the elements at positions of each row's own replaced (NumPy's `put_along_axis`); the last
    /// holds where they repeat.
    put_along_axis / try_put_along_axis(x, indices: impl Into<Variable>, values: impl IntoOperand, axis: isize) {
        write("put_along_axis", true, x, &indices.into(), values.into_operand(), axis)
    }
    /// `x` with values added to the elements at positions of each row's own; they add up where positions
    /// repeat.
    add_along_axis / try_add_along_axis(x, indices: impl Into<Variable>, values: impl IntoOperand, axis: isize) {
        write("add_along_axis", false, x, &indices.into(), values.into_operand(), axis)
    }
}
