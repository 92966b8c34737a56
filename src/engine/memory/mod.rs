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
use crate::lower::program::{Buffer, BufferId, LibraryStep, Program, Role, Step};
use place::{LiveInterval, lower_bound, place};
use std::collections::BTreeMap;
use workalike_device::{Device, LibraryOp, Properties};

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

/// The most bytes that are not used twice where steps run concurrently.
const APART: u64 = 1 << 20;

/// Lays out the buffers of the arena, by their [`lifetimes`]. Where steps run concurrently the smallest
/// buffers have memory of their own, 1 MiB in all: a step that stores to the memory of another
/// one's result would wait until that was read.
pub fn plan(program: &Program, device: &dyn Device) -> Layout {
    let Properties { alignment, .. } = device.properties();
    let apart = if device.properties().is_wide() { APART } else { 0 };
    let sharing = Sharing { apart, overwrites: &|op, result| device.overwrites(op, result) };
    plan_of(program, *alignment, |_, _| true, sharing)
}

/// What a device says of memory that is used twice.
#[derive(Clone, Copy)]
struct Sharing<'d> {
    /// The smallest buffers, of at most so many bytes, have memory of their own.
    apart: u64,
    /// As [`Device::overwrites`].
    overwrites: &'d dyn Fn(&dyn LibraryOp, usize) -> Option<usize>,
}

impl Sharing<'_> {
    /// All memory is used again.
    const ALL: Sharing<'static> = Sharing { apart: 0, overwrites: &|_, _| None };
}

/// Lays out those for which `placed` holds.
fn plan_of(
    program: &Program,
    alignment: u64,
    placed: impl Fn(BufferId, &Buffer) -> bool,
    sharing: Sharing<'_>,
) -> Layout {
    let mut lives = lifetimes(program);
    let buffers = program.buffers.iter().enumerate();
    let others = buffers.filter(|(id, buffer)| !placed(*id, buffer)).map(|(id, _)| id);
    others.for_each(|id| lives[id] = None);
    let size = |id: BufferId| program.buffers[id].bytes().max(1).next_multiple_of(alignment.max(1));
    let overwritten = overwritten(program, &lives, sharing);
    let mut needed = lives.clone();
    for (&result, &input) in &overwritten {
        if let (Some((_, end)), Some((_, last))) = (needed[result].take(), &mut needed[input]) {
            *last = end.max(*last);
        }
    }
    let groups = adjacent(program, &needed);
    let item = |group: &Vec<BufferId>| {
        let lives = || group.iter().filter_map(|&id| needed[id]);
        let (first, last) = (lives().map(|life| life.0).min(), lives().map(|life| life.1).max());
        let bytes = group.iter().map(|&id| size(id)).sum();
        LiveInterval { bytes, first: first.unwrap_or(0), last: last.unwrap_or(0) }
    };
    let items: Vec<LiveInterval> = groups.iter().map(item).collect();
    let (places, bytes) = place(&with_own_memory(&items, sharing.apart, program.steps.len()));
    let mut offsets = vec![None; program.buffers.len()];
    for (group, mut offset) in groups.iter().zip(places) {
        for &id in group {
            offsets[id] = Some(offset);
            offset += size(id);
        }
    }
    for (result, input) in overwritten {
        offsets[result] = offsets[input];
    }
    Layout { offsets, arena: ArenaSize { bytes, lower_bound: lower_bound(&items) }, lives }
}

/// The items, of which the smallest are alive throughout.
fn with_own_memory(items: &[LiveInterval], apart: u64, end: usize) -> Vec<LiveInterval> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&at| items[at].bytes);
    let (mut all, mut room) = (items.to_vec(), apart);
    for at in order {
        let Some(rest) = room.checked_sub(items[at].bytes) else { break };
        room = rest;
        all[at] = LiveInterval { first: 0, last: end, ..items[at] };
    }
    all
}

/// The results that library ops store in the memory of an input, and the buffer that has the memory. Large
/// results only: small ones may have to be adjacent.
///
/// A sum of gradients over members is one, which need not be done before other steps use its memory.
fn overwritten(
    program: &Program,
    lives: &[Option<(usize, usize)>],
    sharing: Sharing<'_>,
) -> BTreeMap<BufferId, BufferId> {
    let mut found = BTreeMap::new();
    for (at, step) in program.steps.iter().enumerate() {
        let Step::Library(LibraryStep { op, inputs, outputs, .. }) = step else { continue };
        for (result, &output) in outputs.iter().enumerate() {
            let input = (sharing.overwrites)(op.as_ref(), result).and_then(|input| inputs.get(input));
            let Some(&(input, 0)) = input else { continue };
            let [new, old] = [output, input].map(|id| &program.buffers[id]);
            let alike = new.bytes() == old.bytes() && [new, old].iter().all(|b| b.role == Role::Temp);
            let once = inputs.iter().filter(|(id, _)| *id == input).count() == 1;
            let ends = lives[input].is_some_and(|life| life.1 == at);
            let begins = lives[output].is_some_and(|life| life.0 == at);
            if alike && once && ends && begins && new.bytes() > APART {
                found.insert(output, found.get(&input).copied().unwrap_or(input));
            }
        }
    }
    found
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
    use std::sync::Arc;
    use workalike_kernels::DType;
    use workalike_kernels::library::LibraryError;
    use workalike_kernels::nest::{Nest, Operand};

    /// All buffers, on a device that says nothing of memory.
    fn everywhere(program: &Program) -> Layout {
        plan_of(program, 256, |_, _| true, Sharing::ALL)
    }

    fn copy(from: BufferId, to: BufferId) -> Step {
        Step::Nest { nest: Nest::copy(DType::F32, &[64]), buffers: vec![from, to] }
    }

    #[test]
    fn a_chain_of_any_length_needs_two_scratch_buffers() {
        let mut program = Program::default();
        let ids: Vec<BufferId> = (0..100).map(|_| program.buffer(DType::F32, &[64], Role::Temp)).collect();
        program.steps = ids.windows(2).map(|w| copy(w[0], w[1])).collect();
        program.outputs = vec![ids[99]];
        let layout = everywhere(&program);
        assert_eq!(layout.arena, ArenaSize { bytes: 512, lower_bound: 512 });
        for w in ids.windows(2) {
            assert_ne!(layout.offsets[w[0]], layout.offsets[w[1]]);
        }
    }

    #[test]
    fn concurrent_steps_do_not_share_small_buffers() {
        let mut program = Program::default();
        let large = APART / 4;
        let ids: Vec<BufferId> = (0..8)
            .map(|at| program.buffer(DType::F32, &[if at < 4 { 64 } else { large }], Role::Temp))
            .collect();
        program.steps = (0..4).map(|at| copy(ids[at], ids[at + 4])).collect();
        program.outputs = vec![ids[7]];
        let layout = plan_of(&program, 256, |_, _| true, Sharing { apart: APART, ..Sharing::ALL });
        let small: Vec<Option<u64>> = ids[..4].iter().map(|&id| layout.offsets[id]).collect();
        assert!((0..4).all(|at| small[..at].iter().all(|other| *other != small[at])), "{small:?}");
        // The large ones, each of which is alive at one step, are at one place.
        assert!(ids[4..].iter().all(|&id| layout.offsets[id] == layout.offsets[ids[4]]));
        assert_eq!(layout.arena.lower_bound, everywhere(&program).arena.lower_bound);
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
        let layout = everywhere(&program);
        for ids in [inputs, outputs] {
            let small: Vec<u64> =
                [0, 2, 3, 4].iter().filter_map(|&at: &usize| layout.offsets[ids[at]]).collect();
            let next: Vec<u64> = small.iter().map(|offset| offset - small[0]).collect();
            assert_eq!(next, [0, 256, 512, 768]);
        }
        assert_eq!(layout.arena.bytes, 2 * ((4 << 20) + 1024));
    }

    /// An op of which the device may store the result in the memory of its input.
    #[derive(Clone, Debug)]
    struct InPlace(u64);

    impl LibraryOp for InPlace {
        fn name(&self) -> String {
            "in_place".into()
        }

        fn dtype(&self) -> DType {
            DType::F32
        }

        fn extents(&self) -> Vec<u64> {
            vec![self.0]
        }

        fn operands(&self) -> Vec<Operand> {
            [false, true].map(|written| Operand::contiguous(DType::F32, &[self.0], written)).to_vec()
        }

        fn verify(&self) -> std::result::Result<(), LibraryError> {
            Ok(())
        }

        fn flops(&self) -> f64 {
            0.0
        }
    }

    /// Gradients that are computed, reduced, and used behind the last reduction, and the reductions.
    fn gradients(n: u64, read_later: bool) -> (Program, Vec<(BufferId, BufferId)>) {
        let mut program = Program::default();
        let [x, used] = [0; 2].map(|_| program.buffer(DType::F32, &[n], Role::Input(0)));
        let pairs: Vec<(BufferId, BufferId)> = (0..3)
            .map(|_| [0; 2].map(|_| program.buffer(DType::F32, &[n], Role::Temp)))
            .map(|[own, sum]| (own, sum))
            .collect();
        let copy = |from, to| Step::Nest { nest: Nest::copy(DType::F32, &[n]), buffers: vec![from, to] };
        for &(own, sum) in &pairs {
            let (inputs, outputs) = (vec![(own, 0)], vec![sum]);
            let op = Arc::new(InPlace(n));
            let reduce = LibraryStep { op, inputs, outputs, scratch: None, epilogue: None };
            program.steps.extend([copy(x, own), Step::Library(reduce)]);
        }
        for &(own, sum) in &pairs {
            program.steps.push(copy(if read_later { own } else { sum }, used));
            program.steps.push(copy(sum, used));
        }
        (program, pairs)
    }

    #[test]
    fn large_results_are_in_the_memory_of_inputs_that_end_there() {
        let sharing = Sharing { overwrites: &|_, result| Some(result), ..Sharing::ALL };
        let in_place = |program: &Program| plan_of(program, 256, |_, _| true, sharing);
        let n = 1 << 20;
        let (program, pairs) = gradients(n, false);
        let layout = in_place(&program);
        let places: Vec<u64> = pairs.iter().filter_map(|(own, _)| layout.offsets[*own]).collect();
        assert!(pairs.iter().all(|(own, sum)| layout.offsets[*own] == layout.offsets[*sum]));
        // All are alive when the first one is used.
        assert!(places[0] != places[1] && places[1] != places[2] && places[0] != places[2]);
        let (program, pairs) = gradients(n, true);
        let layout = in_place(&program);
        assert!(pairs.iter().all(|(own, sum)| layout.offsets[*own] != layout.offsets[*sum]));
        let (program, pairs) = gradients(64, false);
        let layout = in_place(&program);
        assert!(pairs.iter().all(|(own, sum)| layout.offsets[*own] != layout.offsets[*sum]), "small ones");
    }
}
