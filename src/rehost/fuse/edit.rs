//! Editing Nests: copying one block into another, with axes and operands replaced.

use super::is_nothing;
use crate::dtype::DType;
use crate::kernels::Scalar;
use crate::kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store, Value};
use crate::kernels::ops;
use crate::lower::program::{BufferId, Program, Role, Step};
pub(super) use crate::lower::tidy::{rename, tidy};
use crate::rehost::dependences::Dependences;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

#[cfg(test)]
thread_local! {
    /// Instructions that were appended to blocks in this thread: the work of fusion.
    pub(super) static APPENDED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Appends to a block. An equal instruction that is already there is reused (also a load, where the order of
/// loads does not matter).
pub(super) struct Writer {
    pub(super) block: Block,
    reuse_loads: bool,
    /// The first instruction with each hash.
    known: HashMap<u64, Value, BuildHasherDefault<Mixer>>,
}

impl Writer {
    pub(super) fn new(kind: PhaseKind) -> Writer {
        Writer::on(Block::default(), kind)
    }

    /// Continues a block.
    pub(super) fn on(block: Block, kind: PhaseKind) -> Writer {
        #[cfg(test)]
        APPENDED.set(APPENDED.get() + block.insts.len());
        let mut known = HashMap::with_capacity_and_hasher(block.insts.len(), Default::default());
        for (at, inst) in block.insts.iter().enumerate() {
            known.entry(hash(inst)).or_insert(at as Value);
        }
        Writer { block, reuse_loads: kind != PhaseKind::Ordered, known }
    }

    pub(super) fn push(&mut self, inst: Inst) -> Value {
        #[cfg(test)]
        APPENDED.set(APPENDED.get() + 1);
        let next = self.block.insts.len() as Value;
        match self.known.entry(hash(&inst)) {
            Entry::Vacant(free) => _ = free.insert(next),
            Entry::Occupied(first) if self.reuse_loads || !matches!(inst, Inst::Load { .. }) => {
                if self.block.insts[*first.get() as usize] == inst {
                    return *first.get();
                }
                // Two instructions have the same hash, which is very rare.
                if let Some(at) = self.block.insts.iter().position(|i| *i == inst) {
                    return at as Value;
                }
            }
            Entry::Occupied(_) => {}
        }
        self.block.insts.push(inst);
        next
    }

    pub(super) fn number(&mut self, value: i64) -> Value {
        self.push(Inst::Const(Scalar::from_i128(DType::I64, value as i128)))
    }

    pub(super) fn scaled(&mut self, value: Value, factor: i64) -> Value {
        if factor == 1 {
            return value;
        }
        let factor = self.number(factor);
        self.push(Inst::Op { op: ops::MUL, args: vec![value, factor] })
    }

    pub(super) fn sum(&mut self, values: Vec<Value>) -> Option<Value> {
        values.into_iter().reduce(|a, b| self.push(Inst::Op { op: ops::ADD, args: vec![a, b] }))
    }

    /// An index as an i64 value.
    pub(super) fn materialize(&mut self, index: &Index) -> Value {
        let mut parts: Vec<Value> = index.dynamic.into_iter().collect();
        for &(axis, coefficient) in &index.terms {
            let axis = self.push(Inst::Axis(axis));
            parts.push(self.scaled(axis, coefficient));
        }
        if index.offset != 0 || parts.is_empty() {
            parts.push(self.number(index.offset));
        }
        // `parts` is not empty, so there is a sum.
        self.sum(parts).unwrap_or(0)
    }

    /// Rewrites an index over old axes to new axes: `coordinates` gives the position of each old axis, and
    /// `values` the new number of each old value.
    fn compose(&mut self, index: &Index, coordinates: Option<&[Index]>, values: &[Value]) -> Index {
        let mut dynamic: Vec<Value> = index.dynamic.iter().map(|&v| values[v as usize]).collect();
        let Some(coordinates) = coordinates else {
            return Index { dynamic: dynamic.pop(), ..index.clone() };
        };
        for &(axis, coefficient) in &index.terms {
            if let Some(value) = coordinates[axis].dynamic {
                dynamic.push(self.scaled(value, coefficient));
            }
        }
        Index { dynamic: self.sum(dynamic), ..over(index, coordinates) }
    }

    pub(super) fn indices(
        &mut self,
        list: &[Index],
        coordinates: Option<&[Index]>,
        values: &[Value],
    ) -> Vec<Index> {
        list.iter().map(|i| self.compose(i, coordinates, values)).collect()
    }

    /// Copies an instruction, with `coordinates` for its axes (or the axes as they are), and with operands
    /// and values renamed.
    pub(super) fn copy(
        &mut self,
        inst: &Inst,
        coordinates: Option<&[Index]>,
        operands: &[usize],
        values: &[Value],
    ) -> Value {
        let inst = match inst {
            Inst::Axis(axis) => match coordinates {
                Some(coordinates) => return self.materialize(&coordinates[*axis].clone()),
                None => Inst::Axis(*axis),
            },
            Inst::Load { operand, index } => {
                Inst::Load { operand: operands[*operand], index: self.indices(index, coordinates, values) }
            }
            Inst::Cast { to, value } => Inst::Cast { to: *to, value: values[*value as usize] },
            Inst::Op { op, args } => {
                Inst::Op { op: *op, args: args.iter().map(|&a| values[a as usize]).collect() }
            }
            Inst::Call { function, args } => Inst::Call {
                function: function.clone(),
                args: args.iter().map(|&a| values[a as usize]).collect(),
            },
            Inst::Position { value, extent, mode } => {
                let mode = mode.renumbered(operands);
                Inst::Position { value: values[*value as usize], extent: *extent, mode }
            }
            Inst::Const(_) | Inst::Folded { .. } => inst.clone(),
        };
        self.push(inst)
    }

    /// Moves an instruction here, operands and values renamed.
    pub(super) fn take(&mut self, mut inst: Inst, operands: &[usize], values: &[Value]) -> Value {
        match &mut inst {
            Inst::Load { operand, .. } => *operand = operands[*operand],
            Inst::Position { mode, .. } => *mode = mode.renumbered(operands),
            _ => {}
        }
        rename(&mut inst, values);
        self.push(inst)
    }

    /// Copies a store in the same way.
    pub(super) fn store(
        &mut self,
        store: &Store,
        coordinates: Option<&[Index]>,
        operands: &[usize],
        values: &[Value],
    ) -> Store {
        Store {
            operand: operands[store.operand],
            index: self.indices(&store.index, coordinates, values),
            value: values[store.value as usize],
            when: store.when.map(|w| values[w as usize]),
            add: store.add,
        }
    }
}

/// A phase with each load replaced by the value that `replace` computes, unless that is `None`; an outer
/// `None` if one cannot be replaced. `replace` is given the writer, the operand and index of the load, and
/// the new number of each old value.
pub(super) fn replace_loads(
    phase: &Phase,
    operands: usize,
    mut replace: impl FnMut(&mut Writer, usize, &[Index], &[Value]) -> Option<Option<Value>>,
) -> Option<Phase> {
    let same: Vec<usize> = (0..operands).collect();
    let mut writer = Writer::new(phase.kind);
    let mut values: Vec<Value> = Vec::with_capacity(phase.block.insts.len());
    for inst in &phase.block.insts {
        let replaced = match inst {
            Inst::Load { operand, index } => replace(&mut writer, *operand, index, &values)?,
            _ => None,
        };
        values.push(replaced.unwrap_or_else(|| writer.copy(inst, None, &same, &values)));
    }
    let stores = phase.stores.iter().map(|s| writer.store(s, None, &same, &values)).collect();
    let mut folds = phase.folds.clone();
    for fold in &mut folds {
        fold.value = values[fold.value as usize];
        fold.index = fold.index.map(|i| values[i as usize]);
    }
    Some(Phase { kind: phase.kind, block: writer.block, folds, stores })
}

/// The static part of an index over old axes, rewritten to new axes: `coordinates` gives the position of each
/// old axis.
pub(super) fn over(index: &Index, coordinates: &[Index]) -> Index {
    let mut result = Index::constant(index.offset);
    for &(axis, coefficient) in &index.terms {
        let at = &coordinates[axis];
        result.offset += coefficient * at.offset;
        at.terms.iter().for_each(|&(a, c)| result.add_term(a, coefficient * c));
    }
    result
}

/// A fast hash: fusing a chain hashes each instruction many times.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 ^= self.0 >> 32;
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

fn hash(inst: &Inst) -> u64 {
    BuildHasherDefault::<Mixer>::default().hash_one(inst)
}

/// Adds the operands of one Nest to another; an operand of equal buffer and layout is shared. Returns their
/// new positions.
pub(super) fn adopt(
    nest: &mut Nest,
    buffers: &mut Vec<BufferId>,
    from: &Nest,
    from_buffers: &[BufferId],
) -> Vec<usize> {
    let adopted = from.operands.iter().zip(from_buffers).map(|(operand, &buffer)| {
        let same = |(o, b): (&Operand, &BufferId)| {
            *b == buffer && o.shape == operand.shape && o.strides == operand.strides
        };
        let at = nest.operands.iter().zip(buffers.iter()).position(same);
        let at = at.unwrap_or_else(|| {
            nest.operands.push(Operand { written: false, ..operand.clone() });
            buffers.push(buffer);
            buffers.len() - 1
        });
        nest.operands[at].written |= operand.written;
        at
    });
    adopted.collect()
}

/// Drops stores to scratch that is never read, Nests without stores or reports, and steps that were fused
/// away.
pub(super) fn drop_unread_stores(program: &mut Program) {
    let mut uses = Dependences::of(program);
    for position in (0..program.steps.len()).rev() {
        let Step::Nest { nest, buffers } = &program.steps[position] else { continue };
        let dead = |b: BufferId| {
            program.buffers[b].role == Role::Temp
                && !uses.roots[b]
                && uses.readers[b].iter().all(|&r| r == position)
                && !program.buffers[b].mutable
        };
        if !buffers.iter().zip(&nest.operands).any(|(&b, o)| o.written && dead(b)) {
            continue;
        }
        let (mut nest, mut buffers) = (nest.clone(), buffers.clone());
        for phase in &mut nest.phases {
            phase.stores.retain(|s| !dead(buffers[s.operand]));
        }
        if nest.phases.iter().all(|p| p.stores.is_empty() && !p.reports()) {
            nest.phases.clear();
        }
        tidy(&mut nest, &mut buffers);
        uses.replace(program, position, Step::Nest { nest, buffers });
    }
    program.steps.retain(|step| !is_nothing(step));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::nest::Mode;

    #[test]
    fn copies_keep_index_modes() {
        let report = |value, status| {
            let mode = Mode::Report { status, node: 3 };
            Inst::Position { value, extent: 4, mode }
        };
        let mut writer = Writer::new(PhaseKind::Point);
        let given = writer.number(9);
        let copied = writer.copy(&report(1, 0), None, &[2], &[7, given]);
        assert_eq!(writer.block.insts[copied as usize], report(given, 2));
        assert_eq!(writer.take(report(1, 0), &[2], &[7, given]), copied, "it is there");
    }

    #[test]
    fn what_reports_is_kept() {
        let words = [false, true].map(|written| Operand::contiguous(DType::I64, &[], written));
        let insts = vec![
            Inst::Load { operand: 0, index: vec![] },
            Inst::Position { value: 0, extent: 4, mode: Mode::FromEnd },
            Inst::Position { value: 0, extent: 4, mode: Mode::Report { status: 2, node: 3 } },
        ];
        let block = Block { insts };
        let phases = vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores: vec![] }];
        let operands = vec![words[0].clone(), words[0].clone(), words[1].clone()];
        let mut nest = Nest { name: "check".into(), axes: vec![], grid: 0, operands, phases };
        let mut buffers = vec![5, 6, 7];
        tidy(&mut nest, &mut buffers);
        assert_eq!((buffers, nest.operands), (vec![5, 7], words.to_vec()));
        let report = Inst::Position { value: 0, extent: 4, mode: Mode::Report { status: 1, node: 3 } };
        assert_eq!(nest.phases[0].block.insts[1..], [report]);
    }
}
