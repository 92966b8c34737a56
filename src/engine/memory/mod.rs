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
use place::{LiveInterval, lower_bound, place};

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

/// Inputs of at most so many bytes are adjacent, and such outputs too: one transfer moves all of them
/// (`engine/storage/transfers.rs`). Larger ones take longer to move than a transfer costs.
pub(crate) const SMALL: u64 = 16 << 10;

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
    let groups = adjacent(program, &lives);
    let item = |group: &Vec<BufferId>| {
        let lives = || group.iter().filter_map(|&id| lives[id]);
        let (first, last) = (lives().map(|life| life.0).min(), lives().map(|life| life.1).max());
        let bytes = group.iter().map(|&id| size(id)).sum();
        LiveInterval { bytes, first: first.unwrap_or(0), last: last.unwrap_or(0) }
    };
    let items: Vec<LiveInterval> = groups.iter().map(item).collect();
    let (places, bytes) = place(&items);
    let mut offsets = vec![None; program.buffers.len()];
    for (group, mut offset) in groups.iter().zip(places) {
        for &id in group {
            offsets[id] = Some(offset);
            offset += size(id);
        }
    }
    Layout { offsets, arena: ArenaSize { bytes, lower_bound: lower_bound(&items) }, lives }
}

/// The buffers that have lives, in groups that are adjacent: the small inputs, the small outputs, and each
/// other buffer by itself.
fn adjacent(program: &Program, lives: &[Option<(usize, usize)>]) -> Vec<Vec<BufferId>> {
    let is_small = |id: BufferId| lives[id].is_some() && program.buffers[id].bytes() <= SMALL;
    let mut outputs: Vec<BufferId> = Vec::new();
    for &id in &program.outputs {
        if is_small(id) && program.buffers[id].role == Role::Temp && !outputs.contains(&id) {
            outputs.push(id);
        }
    }
    let (mut inputs, mut groups) = (vec![], vec![]);
    for id in (0..lives.len()).filter(|&id| lives[id].is_some()) {
        match program.buffers[id].role {
            Role::Input(_) if is_small(id) => inputs.push(id),
            _ if outputs.contains(&id) => {}
            _ => groups.push(vec![id]),
        }
    }
    groups.extend([inputs, outputs].into_iter().filter(|group| !group.is_empty()));
    groups
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

    #[test]
    fn small_inputs_are_adjacent_and_small_outputs_too() {
        let mut program = Program::default();
        let shapes: [&[u64]; 5] = [&[64], &[1 << 20], &[3], &[64], &[]];
        let inputs: Vec<BufferId> =
            (0..5).map(|i| program.buffer(DType::F32, shapes[i], Role::Input(i))).collect();
        let outputs: Vec<BufferId> =
            shapes.iter().map(|shape| program.buffer(DType::F32, shape, Role::Temp)).collect();
        let copy = |at: usize| Step::Nest {
            nest: Nest::copy(DType::F32, shapes[at]),
            buffers: vec![inputs[at], outputs[at]],
        };
        program.steps = (0..5).rev().map(copy).collect();
        program.outputs = [&outputs[..], &outputs[..1]].concat();
        let layout = plan(&program, 256);
        for ids in [inputs, outputs] {
            let small: Vec<u64> =
                [0, 2, 3, 4].iter().filter_map(|&at: &usize| layout.offsets[ids[at]]).collect();
            let next: Vec<u64> = small.iter().map(|offset| offset - small[0]).collect();
            assert_eq!(next, [0, 256, 512, 768]);
        }
        assert_eq!(layout.arena.bytes, 2 * ((4 << 20) + 1024));
    }
}
