//! Computes constants that follow a formula instead of loading them: arrays of one repeated value, and ranges
//! of integers.

use super::edit::replace_loads;
use crate::lower::dead_code::tidy;
use crate::lower::program::{BufferId, Program, Role, Step};
use crate::value::Value;
use std::collections::HashMap;
use workalike_kernels::nest::{BlockWriter, Index, Inst, Nest, Value as Ssa};
use workalike_kernels::{DType, Scalar, ops};

/// A formula for the element at row-major position `i` of a constant.
#[derive(Clone, Copy, Debug)]
enum Formula {
    /// One value.
    Splat(Scalar),
    /// `start + step * i`, in i64.
    Range { start: i64, step: i64 },
}

impl Formula {
    fn of(value: &Value) -> Option<Formula> {
        let mut scalars = value.scalars();
        let first = scalars.next()?;
        // Compares bits, not values: -0 and 0 differ, and every NaN equals itself.
        let same = |a: Scalar, b: Scalar| a.to_le_bytes() == b.to_le_bytes();
        if value.scalars().all(|s| same(s, first)) {
            return Some(Formula::Splat(first));
        }
        if first.dtype() != DType::I64 {
            return None;
        }
        let start = i64::try_from(first.to_i128()).ok()?;
        let step = i64::try_from(scalars.next()?.to_i128()).ok()?.checked_sub(start)?;
        let regular = value
            .scalars()
            .zip(0i128..)
            .all(|(s, i)| s.to_i128() == i128::from(start) + i128::from(step) * i);
        regular.then_some(Formula::Range { start, step })
    }
}

impl Formula {
    /// The same elements for a Nest that reads them by another dtype of the same size, as float64 is moved on
    /// devices without it.
    fn read_as(self, dtype: DType) -> Formula {
        match self {
            Formula::Splat(scalar) => {
                let bytes = scalar.to_le_bytes();
                Formula::Splat(Scalar::from_le_bytes(dtype, &bytes[..dtype.size()]).unwrap_or(scalar))
            }
            range => range,
        }
    }
}

/// Replaces the loads, and drops the constants that are no longer read.
pub(super) fn run(program: &mut Program) {
    let formulas: HashMap<BufferId, Formula> = program
        .buffers
        .iter()
        .enumerate()
        .filter_map(|(id, buffer)| match buffer.role {
            Role::Constant(at) => Some((id, Formula::of(program.constants.get(at)?)?)),
            _ => None,
        })
        .collect();
    for step in &mut program.steps {
        if let Step::Nest { nest, buffers } = step
            && buffers.iter().any(|b| formulas.contains_key(b))
        {
            compute(nest, buffers, &formulas);
        }
    }
    drop_unread(program);
}

fn compute(nest: &mut Nest, buffers: &mut Vec<BufferId>, formulas: &HashMap<BufferId, Formula>) {
    for at in 0..nest.phases.len() {
        let computed =
            replace_loads(&nest.phases[at], nest.operands.len(), |writer, operand, index, values| {
                let read = &nest.operands[operand];
                let formula = formulas.get(&buffers[operand]).map(|formula| formula.read_as(read.dtype));
                Some(formula.map(|formula| match formula {
                    Formula::Splat(scalar) => writer.push(Inst::Const(scalar)),
                    Formula::Range { start, step } => {
                        let place = address(writer, index, &read.strides, values);
                        let (scaled, start) = (writer.scaled(place, step), writer.number(start));
                        writer.op(ops::ADD, &[scaled, start])
                    }
                }))
            });
        // Every load can be replaced.
        if let Some(computed) = computed {
            nest.phases[at] = computed;
        }
    }
    tidy(nest, buffers);
}

/// The row-major position of an index list, as an i64 value.
fn address(writer: &mut BlockWriter, index: &[Index], strides: &[i64], values: &[Ssa]) -> Ssa {
    let index = writer.indices(index, None, values);
    let mut whole = Index::default();
    let mut parts = Vec::new();
    for (one, &stride) in index.iter().zip(strides) {
        whole.offset += one.offset * stride;
        one.terms.iter().for_each(|&(axis, c)| whole.add_term(axis, c * stride));
        if let Some(value) = one.dynamic {
            parts.push(writer.scaled(value, stride));
        }
    }
    whole.dynamic = writer.sum(parts);
    writer.materialize(&whole)
}

/// Drops constants whose buffers no step, output or update names.
fn drop_unread(program: &mut Program) {
    let mut used = vec![false; program.buffers.len()];
    for step in &program.steps {
        step.reads().into_iter().chain(step.writes()).for_each(|id| used[id] = true);
    }
    program.outputs.iter().chain(program.updates.iter().map(|u| &u.1)).for_each(|&id| used[id] = true);
    let mut kept = Vec::new();
    for (id, buffer) in program.buffers.iter_mut().enumerate() {
        let Role::Constant(at) = buffer.role else { continue };
        if used[id] {
            kept.push(program.constants[at].clone());
            buffer.role = Role::Constant(kept.len() - 1);
        } else {
            // A buffer that no step touches has no address.
            buffer.role = Role::Temp;
        }
    }
    program.constants = kept;
}
