//! The memory plan: the positions of a Program's scratch buffers in the arena of their device, from their
//! lifetimes.
//!
//! - here: lifetimes, and the [`Layout`];
//! - `place`: packing lifetimes into the arena;
//! - `report`: the plan as text.

mod place;
mod report;

pub use report::{BufferUse, MemoryReport};

use super::dependences::Dependences;
use crate::lower::program::{Buffer, BufferId, LogicalDevice, Program, Role};
use place::{Item, lower_bound, place};
use std::collections::BTreeMap;

/// The positions of buffers in the arenas.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Offset in the arena of its device, for inputs and scratch buffers that are used.
    pub offsets: Vec<Option<u64>>,
    /// Their [`lifetimes`].
    pub lives: Vec<Option<(usize, usize)>>,
    /// The arena of each device that needs one.
    pub arenas: BTreeMap<LogicalDevice, ArenaSize>,
}

/// The size of an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArenaSize {
    /// Bytes of arena that the Program needs.
    pub bytes: u64,
    /// Maximum number of bytes alive at once: no plan needs less.
    pub lower_bound: u64,
}

impl Layout {
    /// The arena of a device; of size 0 if the Program needs none there.
    pub fn arena(&self, device: LogicalDevice) -> ArenaSize {
        self.arenas.get(&device).copied().unwrap_or_default()
    }
}

/// Lays out the buffers of the arenas, by their [`lifetimes`].
pub fn plan(program: &Program, alignment: u64) -> Layout {
    let lives = lifetimes(program);
    let size = |id: BufferId| program.buffers[id].bytes().max(1).next_multiple_of(alignment.max(1));
    let mut alive: BTreeMap<LogicalDevice, (Vec<BufferId>, Vec<Item>)> = BTreeMap::new();
    for (id, life) in lives.iter().enumerate() {
        let Some((first, last)) = *life else { continue };
        let (ids, items) = alive.entry(program.buffers[id].device).or_default();
        ids.push(id);
        items.push(Item { bytes: size(id), first, last });
    }
    let mut offsets = vec![None; program.buffers.len()];
    let mut arenas = BTreeMap::new();
    for (device, (ids, items)) in alive {
        let (places, bytes) = place(&items);
        ids.iter().zip(places).for_each(|(&id, offset)| offsets[id] = Some(offset));
        arenas.insert(device, ArenaSize { bytes, lower_bound: lower_bound(&items) });
    }
    Layout { offsets, lives, arenas }
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
    use crate::dtype::DType;
    use crate::kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
    use crate::lower::program::Step;

    fn copy(from: BufferId, to: BufferId) -> Step {
        let block = Block { insts: vec![Inst::Load { operand: 0, index: vec![Index::axis(0)] }] };
        let stores =
            vec![Store { operand: 1, index: vec![Index::axis(0)], value: 0, when: None, add: false }];
        let phases = vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores }];
        let operands =
            vec![Operand::contiguous(DType::F32, &[64], false), Operand::contiguous(DType::F32, &[64], true)];
        let nest = Nest { name: "copy".into(), axes: vec![64], grid: 1, operands, phases };
        Step::Nest { nest, buffers: vec![from, to] }
    }

    #[test]
    fn a_chain_of_any_length_needs_two_scratch_buffers() {
        let mut program = Program::default();
        let ids: Vec<BufferId> = (0..100).map(|_| program.buffer(DType::F32, &[64], Role::Temp)).collect();
        program.steps = ids.windows(2).map(|w| copy(w[0], w[1])).collect();
        program.outputs = vec![ids[99]];
        let layout = plan(&program, 256);
        assert_eq!(layout.arena(LogicalDevice::FIRST), ArenaSize { bytes: 512, lower_bound: 512 });
        for w in ids.windows(2) {
            assert_ne!(layout.offsets[w[0]], layout.offsets[w[1]]);
        }
    }

    #[test]
    fn each_device_has_an_arena_of_its_own() {
        let mut program = Program::default();
        let ids: Vec<BufferId> = (0..5).map(|_| program.buffer(DType::F32, &[64], Role::Temp)).collect();
        // A chain of two steps on the second device, and a step on the first device between them.
        ids[2..].iter().for_each(|&id| program.buffers[id].device = LogicalDevice(1));
        program.steps = vec![copy(ids[2], ids[3]), copy(ids[0], ids[1]), copy(ids[3], ids[4])];
        program.outputs = vec![ids[4]];
        let layout = plan(&program, 256);
        let two_buffers = ArenaSize { bytes: 512, lower_bound: 512 };
        assert_eq!(layout.arena(LogicalDevice::FIRST), two_buffers);
        assert_eq!(layout.arena(LogicalDevice(1)), two_buffers);
        assert_eq!(layout.arena(LogicalDevice(2)), ArenaSize::default());
        // The first is dead when the last is written.
        assert_eq!(layout.offsets[ids[2]], layout.offsets[ids[4]]);
    }
}
