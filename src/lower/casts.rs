//! Casts that a reader of their results may do by itself.

use super::program::{BufferId, Step};
use super::view::count;
use super::{Lowering, View};
use workalike_kernels::nest::{Index, Inst};

impl Lowering<'_> {
    /// The view of a buffer's elements as they were before a cast, if they were cast.
    pub(crate) fn before_cast(&self, view: &View) -> Option<View> {
        let made = self.program.steps.iter().rev().find(|step| step.writes().contains(&view.buffer))?;
        let (source, points) = cast_into(view.buffer, made)?;
        let [from, to] = [source, view.buffer].map(|buffer| &self.program.buffers[buffer]);
        (from.shape == to.shape && count(&to.shape) == Some(points)).then(|| view.of_buffer(source))
    }
}

/// The buffer of which a step casts so many elements into this buffer, from the first on, if it does nothing
/// else.
fn cast_into(buffer: BufferId, step: &Step) -> Option<(BufferId, u64)> {
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
    let whole =
        nest.grid == nest.axes.len() && in_order(*operand, index) && in_order(store.operand, &store.index);
    (casts && whole).then(|| (buffers[*operand], nest.grid_points()))
}
