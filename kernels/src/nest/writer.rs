//! Writing blocks: instructions appended one by one, each only once.

use super::{Block, Index, Inst, PhaseKind, Store, Value};
use crate::dtype::DType;
use crate::ops::{ADD, MUL, ScalarOp};
use crate::scalar::Scalar;
use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

thread_local! {
    static APPENDED: Cell<usize> = const { Cell::new(0) };
}

/// Appends to a block. An equal instruction that is already there is reused; a load only where the order of
/// loads does not matter, which is in all but Ordered phases.
pub struct BlockWriter {
    block: Block,
    reuse_loads: bool,
    /// The first instruction with each hash.
    known: HashMap<u64, Value, BuildHasherDefault<Mixer>>,
}

impl BlockWriter {
    /// Begins the block of a phase of this kind.
    pub fn new(kind: PhaseKind) -> BlockWriter {
        BlockWriter::on(Block::default(), kind)
    }

    /// Continues a block. Its values keep their numbers.
    pub fn on(block: Block, kind: PhaseKind) -> BlockWriter {
        count(block.insts.len());
        let mut known = HashMap::with_capacity_and_hasher(block.insts.len(), Default::default());
        for (at, inst) in block.insts.iter().enumerate() {
            known.entry(hash(inst)).or_insert(at as Value);
        }
        BlockWriter { block, reuse_loads: kind != PhaseKind::Ordered, known }
    }

    /// The number of instructions that writers of this thread were given so far: the work of passes, for
    /// tests that it is in proportion to the graph.
    pub fn work_of_thread() -> usize {
        APPENDED.get()
    }

    /// What was written so far.
    pub fn insts(&self) -> &[Inst] {
        &self.block.insts
    }

    /// The block.
    pub fn finish(self) -> Block {
        self.block
    }

    /// The value of an instruction, which is appended if no equal one is there.
    pub fn push(&mut self, inst: Inst) -> Value {
        count(1);
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

    /// An i64.
    pub fn number(&mut self, value: i64) -> Value {
        self.push(Inst::Const(Scalar::from_i128(DType::I64, value.into())))
    }

    /// A primitive of arguments that have exactly its dtypes.
    pub fn op(&mut self, op: ScalarOp, args: &[Value]) -> Value {
        self.push(Inst::Op { op, args: args.to_vec() })
    }

    /// A multiple of an i64.
    pub fn scaled(&mut self, value: Value, factor: i64) -> Value {
        if factor == 1 {
            return value;
        }
        let factor = self.number(factor);
        self.op(MUL, &[value, factor])
    }

    /// The sum of values of one dtype, from left to right; `None` if there are none.
    pub fn sum(&mut self, values: Vec<Value>) -> Option<Value> {
        values.into_iter().reduce(|a, b| self.op(ADD, &[a, b]))
    }

    /// An index as an i64 value.
    pub fn materialize(&mut self, index: &Index) -> Value {
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

    /// Indices of another block in this one: `values` gives the new number of each old value, `coordinates`
    /// the position of each old axis, unless the axes are the same.
    pub fn indices(&mut self, list: &[Index], coordinates: Option<&[Index]>, values: &[Value]) -> Vec<Index> {
        list.iter().map(|index| self.compose(index, coordinates, values)).collect()
    }

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
        Index { dynamic: self.sum(dynamic), ..index.over(coordinates) }
    }

    /// Copies an instruction of another block, with `coordinates` for its axes (or the axes as they are), and
    /// with operands and values renumbered.
    pub fn copy(
        &mut self,
        inst: &Inst,
        coordinates: Option<&[Index]>,
        operands: &[usize],
        values: &[Value],
    ) -> Value {
        match (inst, coordinates) {
            (Inst::Axis(axis), Some(coordinates)) => self.materialize(&coordinates[*axis]),
            (Inst::Load { operand, index }, Some(_)) => {
                let index = self.indices(index, coordinates, values);
                self.push(Inst::Load { operand: operands[*operand], index })
            }
            _ => self.take(inst.clone(), operands, values),
        }
    }

    /// Moves an instruction of another block here, with operands and values renumbered.
    pub fn take(&mut self, mut inst: Inst, operands: &[usize], values: &[Value]) -> Value {
        inst.renumber_operands(operands);
        inst.map_values(|value| values[value as usize]);
        self.push(inst)
    }

    /// A store of another block, likewise.
    pub fn store(
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

fn count(appended: usize) {
    APPENDED.set(APPENDED.get() + appended);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nest::IndexMode;

    #[test]
    fn copies_keep_index_modes() {
        let report = |value, status| {
            let mode = IndexMode::Report { status, node: 3 };
            Inst::Position { value, extent: 4, mode }
        };
        let mut writer = BlockWriter::new(PhaseKind::Point);
        let given = writer.number(9);
        let copied = writer.copy(&report(1, 0), None, &[2], &[7, given]);
        assert_eq!(writer.insts()[copied as usize], report(given, 2));
        assert_eq!(writer.take(report(1, 0), &[2], &[7, given]), copied, "it is there");
    }

    #[test]
    fn loads_are_repeated_where_their_order_matters() {
        for (kind, insts) in [(PhaseKind::Map, 1), (PhaseKind::Ordered, 2)] {
            let mut writer = BlockWriter::new(kind);
            (0..2).for_each(|_| _ = writer.push(Inst::Load { operand: 0, index: vec![] }));
            assert_eq!(writer.finish().insts.len(), insts, "{kind:?}");
        }
    }

    #[test]
    fn axes_are_replaced_by_their_coordinates() {
        let mut writer = BlockWriter::new(PhaseKind::Point);
        // The old axis is at 2 * axis + 5, plus a value.
        let value = writer.push(Inst::Axis(3));
        let coordinates = [Index { offset: 5, terms: vec![(1, 2)], dynamic: Some(value) }];
        let load =
            Inst::Load { operand: 0, index: vec![Index { offset: 1, terms: vec![(0, 10)], dynamic: None }] };
        let copied = writer.copy(&load, Some(&coordinates), &[4], &[]);
        let Inst::Load { operand: 4, index } = &writer.insts()[copied as usize] else { panic!("a load") };
        assert_eq!((index[0].offset, &index[0].terms), (51, &vec![(1, 20)]));
        let scaled = Inst::Op { op: MUL, args: vec![value, index[0].dynamic.unwrap() - 1] };
        assert_eq!(writer.insts()[index[0].dynamic.unwrap() as usize], scaled);
    }
}
