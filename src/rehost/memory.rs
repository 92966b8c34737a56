//! The memory plan: where a Program's scratch buffers lie in the arena, from their lifetimes.

use super::program::{BufferId, Program, Role};
use std::collections::BTreeMap;

/// Where buffers lie.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Offset in the arena, for inputs and scratch buffers that are used.
    pub offsets: Vec<Option<u64>>,
    /// Bytes of arena that the Program needs.
    pub bytes: u64,
}

/// Free ranges of the arena, by offset.
struct Free {
    ranges: BTreeMap<u64, u64>,
    end: u64,
}

impl Free {
    /// The smallest free range that fits, else new space at the end.
    fn take(&mut self, bytes: u64) -> u64 {
        let fit = self.ranges.iter().filter(|(_, len)| **len >= bytes).min_by_key(|(_, len)| **len);
        if let Some((&offset, &len)) = fit {
            self.ranges.remove(&offset);
            if len > bytes {
                self.ranges.insert(offset + bytes, len - bytes);
            }
            return offset;
        }
        // A free range at the very end is extended rather than left behind.
        if let Some((&offset, &len)) = self.ranges.last_key_value()
            && offset + len == self.end
        {
            self.ranges.remove(&offset);
            self.end = offset + bytes;
            return offset;
        }
        self.end += bytes;
        self.end - bytes
    }

    fn give(&mut self, offset: u64, bytes: u64) {
        let (mut offset, mut bytes) = (offset, bytes);
        if let Some((&before, &len)) = self.ranges.range(..offset).next_back()
            && before + len == offset
        {
            self.ranges.remove(&before);
            offset = before;
            bytes += len;
        }
        if let Some(len) = self.ranges.remove(&(offset + bytes)) {
            bytes += len;
        }
        self.ranges.insert(offset, bytes);
    }
}

/// For each buffer that lies in the arena, the first and the last step at which it is alive: inputs throughout (they may
/// stay constant over many steps), scratch from the first step that touches it to the last, outputs and pending updates to
/// the end, which is one past the last step.
pub fn lifetimes(program: &Program) -> Vec<Option<(usize, usize)>> {
    let end = program.steps.len();
    let mut alive: Vec<Option<(usize, usize)>> = vec![None; program.buffers.len()];
    let mut touch = |id: BufferId, step: usize| {
        let (first, last) = alive[id].unwrap_or((step, step));
        alive[id] = Some((first.min(step), last.max(step)));
    };
    for (position, step) in program.steps.iter().enumerate() {
        step.reads().into_iter().chain(step.writes()).for_each(|id| touch(id, position));
    }
    for &id in program.outputs.iter().chain(program.updates.iter().map(|u| &u.1)) {
        touch(id, end);
    }
    for (span, buffer) in alive.iter_mut().zip(&program.buffers) {
        match buffer.role {
            Role::Input(_) => *span = span.map(|_| (0, end)),
            Role::Temp => {}
            _ => *span = None,
        }
    }
    alive
}

/// Bytes that a buffer takes in the arena.
fn place_bytes(program: &Program, id: BufferId, alignment: u64) -> u64 {
    program.buffers[id].bytes().max(1).next_multiple_of(alignment.max(1))
}

/// The most bytes that are alive at one step: no layout needs less.
pub fn lower_bound(program: &Program, alignment: u64) -> u64 {
    let mut change = vec![0i128; program.steps.len() + 2];
    for (id, span) in lifetimes(program).into_iter().enumerate() {
        let Some((first, last)) = span else { continue };
        let bytes = i128::from(place_bytes(program, id, alignment));
        change[first] += bytes;
        change[last + 1] -= bytes;
    }
    let alive = change.iter().scan(0i128, |sum, by| {
        *sum += by;
        Some(*sum)
    });
    alive.max().map_or(0, |most| most as u64)
}

/// Lays out what lies in the arena, by its [`lifetimes`].
pub fn plan(program: &Program, alignment: u64) -> Layout {
    let count = program.buffers.len();
    let end = program.steps.len();
    let alive = lifetimes(program);
    let size = |id: BufferId| place_bytes(program, id, alignment);
    let mut starts: Vec<Vec<BufferId>> = vec![vec![]; end + 1];
    let mut stops: Vec<Vec<BufferId>> = vec![vec![]; end + 1];
    for (id, span) in alive.iter().enumerate() {
        let Some((first, last)) = *span else { continue };
        starts[first].push(id);
        stops[last].push(id);
    }
    let mut free = Free { ranges: BTreeMap::new(), end: 0 };
    let mut offsets = vec![None; count];
    for step in 0..=end {
        // Large buffers first: they leave fewer holes.
        starts[step].sort_by_key(|&id| std::cmp::Reverse(size(id)));
        for &id in &starts[step] {
            offsets[id] = Some(free.take(size(id)));
        }
        for &id in &stops[step] {
            if let Some(offset) = offsets[id] {
                free.give(offset, size(id));
            }
        }
    }
    Layout { offsets, bytes: free.end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
    use crate::rehost::program::Step;

    fn copy(from: BufferId, to: BufferId) -> Step {
        let block = Block { insts: vec![Inst::Load { operand: 0, index: vec![Index::axis(0)] }] };
        let stores = vec![Store { operand: 1, index: vec![Index::axis(0)], value: 0, when: None }];
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
        assert_eq!(layout.bytes, 512);
        assert_eq!(lower_bound(&program, 256), 512);
        for w in ids.windows(2) {
            assert_ne!(layout.offsets[w[0]], layout.offsets[w[1]]);
        }
    }
}
