//! Layout assignment for operands of reductions: an operand that is read many times with a stride along the
//! lanes of a tile is copied first, to where it is contiguous along them.
//!
//! In `((x[:, None, :] - y[None]) ** 2).sum(-1)` with short rows, lanes are neighbours along the last grid
//! axis, and the elements of `y` for a tile are a row apart. Each element is read once per row of `x`, so a
//! transposed copy of `y` costs little. Only for devices that interpret tiles: on others, threads keep their
//! rows in registers or caches.

use super::CostModel;
use crate::lower::program::{BufferId, Program, Role, Step};
use workalike_kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};

/// Inner points from which on they are the lanes of tiles themselves (the host's `Side::Inner`).
const LONG: u64 = 512;
/// The fewest lanes that pay for tiles of grid points.
const LANES: u64 = 64;

/// Inserts the copies.
pub(super) fn run(program: &mut Program) {
    for step in std::mem::take(&mut program.steps) {
        match step {
            Step::Nest { mut nest, mut buffers } => {
                transpose_operands(program, &mut nest, &mut buffers);
                program.steps.push(Step::Nest { nest, buffers });
            }
            other => program.steps.push(other),
        }
    }
}

/// A load's operand and index.
type Read = (usize, Vec<Index>);

/// Copies the operands of `nest` for which that pays, and lets it read the copies.
fn transpose_operands(program: &mut Program, nest: &mut Nest, buffers: &mut Vec<BufferId>) {
    let Some(reads) = strided_reads(nest) else { return };
    let written: Vec<BufferId> =
        nest.operands.iter().zip(&*buffers).filter(|(operand, _)| operand.written).map(|(_, b)| *b).collect();
    if buffers.len() + reads.len() > super::limits::MAX_OPERANDS
        || reads.iter().any(|(operand, _)| written.contains(&buffers[*operand]))
    {
        return;
    }
    for read in reads {
        let (operand, index) = &read;
        let dtype = nest.operands[*operand].dtype;
        let axes = copied_axes(nest, &read);
        let shape: Vec<u64> = axes.iter().map(|&axis| nest.axes[axis]).collect();
        let buffer = program.buffer(dtype, &shape, Role::Temp);
        let copy = copy(nest, *operand, index, &axes);
        program.steps.push(Step::Nest { nest: copy, buffers: vec![buffers[*operand], buffer] });
        let copied = nest.operands.len();
        nest.operands.push(Operand::contiguous(dtype, &shape, false));
        buffers.push(buffer);
        let direct: Vec<Index> = axes.into_iter().map(Index::axis).collect();
        for inst in nest.phases.iter_mut().flat_map(|phase| &mut phase.block.insts) {
            if matches!(inst, Inst::Load { operand: o, index: i } if o == operand && i == index) {
                *inst = Inst::Load { operand: copied, index: direct.clone() };
            }
        }
    }
    super::edit::tidy(nest, buffers);
}

/// The loads of Reduce phases that are strided along the lanes, if copies of them pay and all other loads of
/// these phases are contiguous or uniform along the lanes.
fn strided_reads(nest: &Nest) -> Option<Vec<Read>> {
    let lanes = nest.grid.checked_sub(1)?;
    let short = (2..LONG).contains(&nest.inner_points());
    if !short || nest.axes[lanes] < LANES || nest.grid_points() == 0 {
        return None;
    }
    if nest.phases.iter().any(|phase| !matches!(phase.kind, PhaseKind::Reduce | PhaseKind::Point)) {
        return None;
    }
    let mut reads: Vec<Read> = Vec::new();
    for phase in nest.phases.iter().filter(|phase| phase.kind == PhaseKind::Reduce) {
        for inst in &phase.block.insts {
            let Inst::Load { operand, index } = inst else { continue };
            let read = (*operand, index.clone());
            let address = nest.operands[*operand].affine(index, nest.axes.len())?;
            if matches!(address.coefficients[lanes], 0 | 1) || reads.contains(&read) {
                continue;
            }
            if !pays(nest, &read) {
                return None;
            }
            reads.push(read);
        }
    }
    (!reads.is_empty()).then_some(reads)
}

/// Whether each element is read often, and the copy is no larger than what it copies.
fn pays(nest: &Nest, read: &Read) -> bool {
    let operand = &nest.operands[read.0];
    let extents = |axes: &[usize]| axes.iter().fold(1u64, |n, &axis| n.saturating_mul(nest.axes[axis]));
    let copied = extents(&copied_axes(nest, read));
    let points = nest.axes.iter().fold(1u64, |n, &extent| n.saturating_mul(extent));
    // Dimensions of stride 0 repeat elements.
    let own = operand.shape.iter().zip(&operand.strides).filter(|(_, stride)| **stride != 0);
    let elements = own.fold(1u64, |n, (&extent, _)| n.saturating_mul(extent));
    copied <= elements && points / CostModel::REUSE >= copied
}

/// The axes along which a read varies: inner axes, then grid axes, the axis of the lanes last.
fn copied_axes(nest: &Nest, (_, index): &Read) -> Vec<usize> {
    let varies = |axis: &usize| index.iter().any(|i| i.terms.iter().any(|term| term.0 == *axis));
    (nest.grid..nest.axes.len()).chain(0..nest.grid).filter(varies).collect()
}

/// Copies what `index` reads at each point of `axes` to a contiguous buffer.
fn copy(nest: &Nest, operand: usize, index: &[Index], axes: &[usize]) -> Nest {
    let shape: Vec<u64> = axes.iter().map(|&axis| nest.axes[axis]).collect();
    let place = |axis: usize| axes.iter().position(|&a| a == axis);
    let index = index.iter().map(|index| {
        let mut moved = Index::constant(index.offset);
        let terms = index.terms.iter().filter_map(|&(axis, factor)| Some((place(axis)?, factor)));
        terms.for_each(|(axis, factor)| moved.add_term(axis, factor));
        moved
    });
    let source = Operand { written: false, ..nest.operands[operand].clone() };
    let target = Operand::contiguous(source.dtype, &shape, true);
    let block = Block { insts: vec![Inst::Load { operand: 0, index: index.collect() }] };
    let to = (0..shape.len()).map(Index::axis).collect();
    let stores = vec![Store { operand: 1, index: to, value: 0, when: None, add: false }];
    let phases = vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores }];
    Nest { name: "transpose".into(), grid: shape.len(), axes: shape, operands: vec![source, target], phases }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    /// The names of the kernels of `((x[:, None] - y[None]) ** 2).sum(-1)` on the host.
    fn kernels(rows: usize, others: usize, columns: usize) -> Vec<String> {
        let (x, y) = (matrix::<f32>("x"), matrix::<f32>("y"));
        let away = x.expand_dims(1) - y.expand_dims(0);
        let f = function([&x, &y]).output(away.sqr().sum(-1)).compile().unwrap();
        let value = |rows: usize, seed: usize| {
            Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 7 + j * 3 + seed) % 11) as f32)
        };
        let mut sim = f.optimize(Host::auto()).unwrap();
        let got = sim.call(args![value(rows, 1), value(others, 2)]).unwrap();
        let want = f.call_reference(args![value(rows, 1), value(others, 2)]).unwrap();
        assert_eq!(got[0].to_f64s(), want[0].to_f64s());
        let plan = sim.plan(args![value(rows, 1), value(others, 2)]).unwrap();
        plan.steps.iter().map(|step| step.name.clone()).collect()
    }

    #[test]
    fn an_operand_that_is_read_often_with_a_stride_is_transposed() {
        assert_eq!(kernels(40, 96, 9), ["transpose", "subtract_sqr_sum"]);
    }

    #[test]
    fn what_is_read_seldom_or_along_long_rows_is_not() {
        assert_eq!(kernels(3, 96, 9), ["subtract_sqr_sum"]);
        assert_eq!(kernels(40, 96, 700), ["subtract_sqr_sum"]);
    }
}
