//! Computes constants that follow a formula instead of loading them: arrays of one repeated value, and ranges
//! of integers.

use super::edit::{Writer, tidy};
use crate::dtype::DType;
use crate::kernels::Scalar;
use crate::kernels::nest::{Index, Inst, Nest, Value as Ssa};
use crate::kernels::ops;
use crate::lower::program::{BufferId, Program, Role, Step};
use crate::value::Value;
use std::collections::HashMap;

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
    let same: Vec<usize> = (0..nest.operands.len()).collect();
    for at in 0..nest.phases.len() {
        let phase = nest.phases[at].clone();
        let mut writer = Writer::new(phase.kind);
        let mut values: Vec<Ssa> = Vec::with_capacity(phase.block.insts.len());
        for inst in &phase.block.insts {
            let formula = match inst {
                Inst::Load { operand, index } => {
                    let read = &nest.operands[*operand];
                    let formula = formulas.get(&buffers[*operand]).map(|f| f.read_as(read.dtype));
                    formula.map(|f| (f, &read.strides, index))
                }
                _ => None,
            };
            values.push(match formula {
                None => writer.copy(inst, None, &same, &values),
                Some((Formula::Splat(scalar), ..)) => writer.push(Inst::Const(scalar)),
                Some((Formula::Range { start, step }, strides, index)) => {
                    let place = address(&mut writer, index, strides, &values);
                    let scaled = writer.scaled(place, step);
                    let start = writer.number(start);
                    writer.push(Inst::Op { op: ops::ADD, args: vec![scaled, start] })
                }
            });
        }
        let stores = phase.stores.iter().map(|s| writer.store(s, None, &same, &values)).collect();
        let target = &mut nest.phases[at];
        for fold in &mut target.folds {
            fold.value = values[fold.value as usize];
            fold.index = fold.index.map(|i| values[i as usize]);
        }
        target.stores = stores;
        target.block = writer.block;
    }
    tidy(nest, buffers);
}

/// The row-major position of an index list, as an i64 value.
fn address(writer: &mut Writer, index: &[Index], strides: &[i64], values: &[Ssa]) -> Ssa {
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
