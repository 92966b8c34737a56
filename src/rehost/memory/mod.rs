//! The memory plan: the positions of a Program's scratch buffers in the arena, from their lifetimes.
//!
//! - here: lifetimes, and the [`Layout`];
//! - `bodies`: the memory of bodies;
//! - `place`: packing lifetimes into the arena;
//! - `report`: what the plan needs.

mod bodies;
mod place;
mod report;

pub use crate::memory_report::{BufferUse, MemoryReport};
pub(crate) use bodies::settle_bodies;

use super::dependences::Dependences;
use crate::lower::program::{Buffer, BufferId, Program, Role};
use place::{Item, lower_bound, place};

/// The positions of buffers in the arena.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Offset in the arena, for inputs and scratch buffers that are used.
    pub offsets: Vec<Option<u64>>,
    /// Their [`lifetimes`].
    pub lives: Vec<Option<(usize, usize)>>,
    /// The size of the arena.
    pub arena: ArenaSize,
}

/// The size of an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArenaSize {
    /// Bytes of arena that the Program needs.
    pub bytes: u64,
    /// Maximum number of bytes alive at once: no plan needs less.
    pub lower_bound: u64,
}

/// Lays out the buffers of the arena, by their [`lifetimes`].
pub fn plan(program: &Program, alignment: u64) -> Layout {
    plan_of(program, alignment, |_, _| true)
}

/// Lays out those for which `placed` holds.
fn plan_of(program: &Program, alignment: u64, placed: impl Fn(BufferId, &Buffer) -> bool) -> Layout {
    let mut lives = lifetimes(program);
    let buffers = program.buffers.iter().enumerate();
    let others = buffers.filter(|(id, buffer)| !placed(*id, buffer)).map(|(id, _)| id);
    others.for_each(|id| lives[id] = None);
    let size = |id: BufferId| program.buffers[id].bytes().max(1).next_multiple_of(alignment.max(1));
    let alive = lives.iter().enumerate().filter_map(|(id, life)| Some((id, (*life)?)));
    let (ids, items): (Vec<BufferId>, Vec<Item>) =
        alive.map(|(id, (first, last))| (id, Item { bytes: size(id), first, last })).unzip();
    let (places, bytes) = place(&items);
    let mut offsets = vec![None; program.buffers.len()];
    ids.iter().zip(places).for_each(|(&id, offset)| offsets[id] = Some(offset));
    Layout { offsets, arena: ArenaSize { bytes, lower_bound: lower_bound(&items) }, lives }
}

/// For each buffer that lies in the arena, the first and the last step at which it is alive: inputs
/// throughout (they may stay constant over many steps), scratch from the first step that touches it to the
/// last, outputs and pending updates to the end, which is one past the last step.
pub fn lifetimes(program: &Program) -> Vec<Option<(usize, usize)>> {
    let dependences = Dependences::of(program);
    let end = program.steps.len();
    let life = |(id, buffer): (BufferId, &Buffer)| match buffer.role {
        Role::Input(_) => dependences.touched(id, end).map(|_| (0, end)),
        Role::Temp => dependences.touched(id, end),
        Role::Shared(_) | Role::Constant(_) | Role::Status => None,
    };
    program.buffers.iter().enumerate().map(life).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::program::Step;
    use workalike_kernels::DType;
    use workalike_kernels::nest::Nest;

    fn copy(from: BufferId, to: BufferId) -> Step {
        Step::Nest { nest: Nest::copy(DType::F32, &[64]), buffers: vec![from, to] }
    }

    #[test]
    fn a_chain_of_any_length_needs_two_scratch_buffers() {
        let mut program = Program::default();
        let ids: Vec<BufferId> = (0..100).map(|_| program.buffer(DType::F32, &[64], Role::Temp)).collect();
        program.steps = ids.windows(2).map(|w| copy(w[0], w[1])).collect();
        program.outputs = vec![ids[99]];
        let layout = plan(&program, 256);
        assert_eq!(layout.arena, ArenaSize { bytes: 512, lower_bound: 512 });
        for w in ids.windows(2) {
            assert_ne!(layout.offsets[w[0]], layout.offsets[w[1]]);
        }
    }
}
