//! Arrays that are assembled: recognised among the steps of a Program.

use super::{
    BufferId, CostModel, Dependences, Index, Inst, Nest, Operand, Phase, Program, Role, Step, evaluation,
};
use crate::engine::fuse::edit::adopt;
use crate::engine::fuse::touches_mutable;
use workalike_kernels::DType;
use workalike_kernels::nest::{IndexMode, Value};
use workalike_kernels::ops::WHERE;

/// More parts than this are not compared with each other.
const MAX_PARTS: usize = 256;

/// An array whose elements maps store, each a box of it.
pub(super) struct Assembly<'p> {
    pub(super) buffer: BufferId,
    pub(super) dtype: DType,
    /// Its extents other than 1: those are the dimensions that indices here speak of.
    pub(super) shape: Vec<u64>,
    /// Where parts overlap, a later one overwrites those before it.
    pub(super) parts: Vec<AssemblyPart<'p>>,
    /// The parts are slices along this dimension, in ascending order, without gaps.
    pub(super) along: Option<usize>,
}

/// A map that stores a box of an array.
pub(super) struct AssemblyPart<'p> {
    pub(super) nest: &'p Nest,
    pub(super) buffers: &'p [BufferId],
    /// What it stores.
    pub(super) value: Value,
    /// The box: for each dimension of the array the first position, and the one past the last.
    pub(super) low: Vec<i64>,
    pub(super) high: Vec<i64>,
    /// The dimension along which each of its axes runs.
    pub(super) dimensions: Vec<usize>,
    /// It loads the element of the array that it stores.
    pub(super) continues: bool,
}

/// The extents other than 1.
fn solid(shape: &[u64]) -> Vec<u64> {
    shape.iter().copied().filter(|&extent| extent != 1).collect()
}

impl<'p> Assembly<'p> {
    /// The array in a buffer, if all that is stored to it can be computed by readers, and stores every
    /// element.
    pub(super) fn of(program: &'p Program, uses: &Dependences, buffer: BufferId) -> Option<Assembly<'p>> {
        let described = &program.buffers[buffer];
        let (dtype, shape) = (described.dtype, solid(&described.shape));
        let choice = [DType::Bool, dtype, dtype];
        if shape.contains(&0) || WHERE.signature(&choice).is_none_or(|s| s.args != choice) {
            return None;
        }
        if uses.writers[buffer].len() > MAX_PARTS {
            return None;
        }
        let whole = Operand::contiguous(dtype, &shape, false);
        let part = |&at: &usize| AssemblyPart::of(program, at, buffer, &whole);
        let parts: Vec<AssemblyPart<'p>> = uses.writers[buffer].iter().map(part).collect::<Option<_>>()?;
        let mut assembly = Assembly { buffer, dtype, shape, parts, along: None };
        if assembly.is_disjoint() {
            assembly.order_parts();
            return Some(assembly);
        }
        let covers = |p: &AssemblyPart<'_>| !p.continues && p.points() == assembly.points();
        assembly.parts.iter().any(covers).then_some(assembly)
    }

    /// Number of elements.
    pub(super) fn points(&self) -> u64 {
        self.shape.iter().product()
    }

    /// The name of the steps that assemble it.
    pub(super) fn name(&self) -> &str {
        self.parts.last().map_or("join", |part| &part.nest.name)
    }

    /// Whether the parts fill the array without overlaps.
    fn is_disjoint(&self) -> bool {
        let points = self.parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.points()));
        let apart = |a: &AssemblyPart<'_>, b: &AssemblyPart<'_>| {
            (0..self.shape.len()).any(|d| a.high[d] <= b.low[d] || b.high[d] <= a.low[d])
        };
        points == Some(self.points())
            && self.parts.iter().enumerate().all(|(at, a)| self.parts[..at].iter().all(|b| apart(a, b)))
    }

    /// Orders disjoint parts such that few comparisons choose among them.
    fn order_parts(&mut self) {
        let full = |d: usize| self.parts.iter().all(|p| p.high[d] - p.low[d] == self.shape[d] as i64);
        let mut cut = (0..self.shape.len()).filter(|&d| !full(d));
        self.along = cut.next().filter(|_| cut.next().is_none());
        // Constants first: they are what other parts overwrite.
        let in_slices = self.along.is_some();
        let is_constant = |p: &AssemblyPart<'_>| matches!(p.insts(), [Inst::Const(_)]);
        self.parts.sort_by_key(|p| (!in_slices && !is_constant(p), p.low.clone()));
    }

    /// The index of a load in the array's own dimensions, if the operand is the whole array.
    pub(super) fn reads<'i>(&self, seen: &Operand, index: &'i [Index]) -> Option<&'i [Index]> {
        let whole = Operand { written: seen.written, ..Operand::contiguous(self.dtype, &self.shape, false) };
        (*seen == whole).then_some(index)
    }

    /// The cost of the steps that store it.
    pub(super) fn stored(&self, cost: &CostModel) -> f64 {
        let part = |part: &AssemblyPart<'_>| {
            let (flops, bytes) = evaluation(part.nest);
            let bytes = bytes + self.dtype.size() as f64;
            part.points() as f64 * (bytes + flops * cost.flop) + cost.launch
        };
        self.parts.iter().map(part).sum()
    }

    /// Adds the operands of all parts to a reader. Returns their positions there, for each part.
    pub(super) fn adopt(&self, nest: &mut Nest, buffers: &mut Vec<BufferId>) -> Vec<Vec<usize>> {
        self.parts.iter().map(|part| adopt(nest, buffers, part.nest, part.buffers)).collect()
    }
}

impl<'p> AssemblyPart<'p> {
    fn of(program: &'p Program, at: usize, buffer: BufferId, whole: &Operand) -> Option<AssemblyPart<'p>> {
        let step = &program.steps[at];
        let Step::Nest { nest, buffers } = step else { return None };
        let [phase] = &nest.phases[..] else { return None };
        let [store] = &phase.stores[..] else { return None };
        let other_mutable = |b: &BufferId| *b != buffer && program.buffers[*b].mutable;
        let known = nest.is_map()
            && buffers[store.operand] == buffer
            && store.when.is_none()
            && !store.add
            && !nest.axes.contains(&0)
            && !buffers.iter().any(other_mutable)
            && !buffers.iter().any(|b| program.buffers[*b].role == Role::Status)
            && !phase.reports();
        debug_assert!(!known || touches_mutable(program, step));
        if !known {
            return None;
        }
        let is_whole = |operand: usize| {
            let operand = &nest.operands[operand];
            (&operand.shape, &operand.strides, operand.dtype) == (&whole.shape, &whole.strides, whole.dtype)
        };
        let own = |index: &[Index], operand| is_whole(operand) && *index == store.index;
        let continues = continues(phase, |operand| buffers[operand] == buffer, own)?;
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let mut dimensions = vec![None; nest.axes.len()];
        for (d, index) in store.index.iter().enumerate() {
            let len = match index.terms[..] {
                [] => 1,
                [(axis, 1)] if dimensions[axis].is_none() => {
                    dimensions[axis] = Some(d);
                    nest.axes[axis] as i64
                }
                _ => return None,
            };
            if index.dynamic.is_some() {
                return None;
            }
            low.push(index.offset);
            high.push(index.offset + len);
        }
        let dimensions = dimensions.into_iter().collect::<Option<Vec<usize>>>()?;
        is_whole(store.operand).then_some(AssemblyPart {
            nest,
            buffers,
            value: store.value,
            low,
            high,
            dimensions,
            continues,
        })
    }

    pub(super) fn points(&self) -> u64 {
        self.nest.grid_points()
    }

    pub(super) fn insts(&self) -> &'p [Inst] {
        &self.nest.phases[0].block.insts
    }

    /// Whether an operand is the array of another part's, in the same layout.
    fn reads_as(&self, operand: usize, other: &AssemblyPart<'_>, of_other: usize) -> bool {
        let (a, b) = (&self.nest.operands[operand], &other.nest.operands[of_other]);
        self.buffers[operand] == other.buffers[of_other] && (&a.shape, &a.strides) == (&b.shape, &b.strides)
    }

    /// Whether another part computes the same, but for where it loads from the same arrays.
    pub(super) fn computes_as(&self, other: &AssemblyPart<'_>) -> bool {
        let alike = |(a, b): (&Inst, &Inst)| match (a, b) {
            (Inst::Load { operand: a, index: at }, Inst::Load { operand: b, index: there }) => {
                let fixed = there.iter().all(|index| index.dynamic.is_none());
                fixed && at.len() == there.len() && self.reads_as(*a, other, *b)
            }
            (a, b) => a == b,
        };
        let (ours, theirs) = (self.insts(), other.insts());
        (self.value, self.continues) == (other.value, other.continues)
            && ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(alike)
    }
}

/// Whether a phase loads what `is_array` names. `None` if it does at another index than its `own`, or
/// reports.
fn continues(
    phase: &Phase,
    is_array: impl Fn(usize) -> bool,
    own: impl Fn(&[Index], usize) -> bool,
) -> Option<bool> {
    let mut continues = false;
    for inst in &phase.block.insts {
        match inst {
            Inst::Load { operand, index } if is_array(*operand) => {
                if !own(index, *operand) {
                    return None;
                }
                continues = true;
            }
            Inst::Position { mode: IndexMode::Report { .. }, .. } => return None,
            _ => {}
        }
    }
    Some(continues)
}
