//! Casts that a reader of their results may do by itself.

use super::Lowering;
use super::program::{BufferId, Step};
use super::view::{View, count};
use workalike_kernels::nest::{Index, Inst};

impl Lowering<'_> {
    /// The view of a buffer's elements as they were before a cast, if they were cast.
    pub(crate) fn before_cast(&self, view: &View) -> Option<View> {
        let made = self.program.steps.iter().rev().find(|step| step.writes().contains(&view.buffer))?;
        let source = cast_into(view.buffer, made)?;
        let elements = |buffer: BufferId| count(&self.program.buffers[buffer].shape);
        let whole =
            elements(view.buffer) == count(source.shape()) && elements(source.buffer) == count(&source.base);
        whole.then(|| view.through(&source))?
    }
}

/// What a step casts into a buffer, from the first element on, if it does nothing else.
fn cast_into(buffer: BufferId, step: &Step) -> Option<View> {
    let Step::Nest { nest, buffers } = step else { return None };
    let [phase] = &nest.phases[..] else { return None };
    let ([Inst::Load { operand, index }, Inst::Cast { value: 0, .. }], [store]) =
        (&phase.block.insts[..], &phase.stores[..])
    else {
        return None;
    };
    let in_order = |operand: usize, index: &[Index]| {
        let address = nest.operands[operand].affine(index, nest.axes.len());
        address.is_some_and(|address| address.is_row_major(&nest.axes))
    };
    let casts = buffers[store.operand] == buffer && store.value == 1 && store.when.is_none() && !store.add;
    let points = nest.grid == nest.axes.len() && in_order(store.operand, &store.index);
    let base = &nest.operands[*operand].shape;
    // An operand is contiguous if an index of its own axes is its row-major position.
    let own: Vec<Index> = (0..base.len()).map(Index::axis).collect();
    let contiguous = nest.operands[*operand].affine(&own, base.len())?.is_row_major(base);
    let known = index.iter().all(|index| index.dynamic.is_none());
    (casts && points && contiguous && known)
        .then(|| View::of_operand(buffers[*operand], base, &nest.axes, index))
}
