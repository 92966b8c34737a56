//! Removes axes and dimensions of extent 1 from Nests, so that Nests over the same points look the same.

use crate::lower::program::{Program, Step};
use workalike_kernels::nest::{Index, Inst, Nest};

pub(super) fn run(program: &mut Program) {
    for step in &mut program.steps {
        if let Step::Nest { nest, .. } = step {
            squeeze(nest);
        }
    }
}

/// Drops axes and operand dimensions of extent 1.
pub(super) fn squeeze(nest: &mut Nest) {
    let solid = |extents: &[u64]| -> Vec<bool> { extents.iter().map(|&e| e != 1).collect() };
    let axes = solid(&nest.axes);
    let dimensions: Vec<Vec<bool>> = nest.operands.iter().map(|o| solid(&o.shape)).collect();
    if axes.iter().chain(dimensions.iter().flatten()).all(|&keep| keep) {
        return;
    }
    let position: Vec<usize> = (0..axes.len()).map(|a| axes[..a].iter().filter(|&&k| k).count()).collect();
    let index = |operand: usize, list: &mut Vec<Index>| {
        keep(list, &dimensions[operand]);
        for one in list {
            // The only position along such an axis is 0.
            one.terms.retain(|&(axis, _)| axes[axis]);
            one.terms.iter_mut().for_each(|(axis, _)| *axis = position[*axis]);
        }
    };
    for phase in &mut nest.phases {
        for inst in &mut phase.block.insts {
            match inst {
                Inst::Load { operand, index: list } => index(*operand, list),
                Inst::Axis(axis) if axes[*axis] => *axis = position[*axis],
                Inst::Axis(_) => {
                    *inst =
                        Inst::Const(workalike_kernels::Scalar::from_i128(workalike_kernels::DType::I64, 0));
                }
                _ => {}
            }
        }
        phase.stores.iter_mut().for_each(|s| index(s.operand, &mut s.index));
    }
    for (operand, dimensions) in nest.operands.iter_mut().zip(&dimensions) {
        keep(&mut operand.shape, dimensions);
        keep(&mut operand.strides, dimensions);
    }
    nest.grid = axes[..nest.grid].iter().filter(|&&k| k).count();
    keep(&mut nest.axes, &axes);
}

fn keep<T>(list: &mut Vec<T>, wanted: &[bool]) {
    let mut wanted = wanted.iter();
    list.retain(|_| *wanted.next().unwrap_or(&true));
}
