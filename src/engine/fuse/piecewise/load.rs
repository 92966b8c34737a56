//! A load of an assembled array as a choice among its parts.

use super::assembly::{Assembly, AssemblyPart};
use super::{CostModel, Index, Inst, evaluation};
use workalike_kernels::nest::{BlockWriter, IndexMode, Value};
use workalike_kernels::ops::{AND, GE, LT, REMAINDER, TRUNC_DIVIDE, WHERE};

/// The parts that the positions of a load lie in.
pub(super) struct PartChoice<'c> {
    /// Where the load's position is along each dimension of the array.
    at: &'c [Index],
    /// In the order in which they overwrite each other. The first needs no condition.
    candidates: Vec<CandidatePart>,
}

/// A part that some positions lie in.
struct CandidatePart {
    /// Its position among the parts.
    part: usize,
    /// The dimensions in which some positions of the load are before or after the part.
    before: Vec<usize>,
    after: Vec<usize>,
}

impl CandidatePart {
    /// Whether all positions lie in the part.
    fn is_certain(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }
}

/// The least and greatest position of a load along a dimension of this extent, over these axes.
fn range(index: &Index, extent: u64, axes: &[u64]) -> (i64, i64) {
    let (low, high) = index.range(axes);
    match (index.dynamic, i64::try_from(low), i64::try_from(high)) {
        (None, Ok(low), Ok(high)) => (low, high),
        _ => (0, extent as i64 - 1),
    }
}

impl<'c> PartChoice<'c> {
    /// The choice for a load at `at` that visits all points of `axes`. `None` if the parts do not decide it.
    pub(super) fn of(assembly: &Assembly<'_>, at: &'c [Index], axes: &[u64]) -> Option<PartChoice<'c>> {
        let ranges: Vec<(i64, i64)> =
            at.iter().zip(&assembly.shape).map(|(index, &extent)| range(index, extent, axes)).collect();
        let mut candidates: Vec<CandidatePart> = Vec::new();
        for (position, part) in assembly.parts.iter().enumerate() {
            let misses = |(d, range): (usize, &(i64, i64))| range.1 < part.low[d] || range.0 >= part.high[d];
            if ranges.iter().enumerate().any(misses) {
                continue;
            }
            let dimensions = || 0..ranges.len();
            let before = dimensions().filter(|&d| ranges[d].0 < part.low[d]).collect();
            let after = dimensions().filter(|&d| ranges[d].1 >= part.high[d]).collect();
            let candidate = CandidatePart { part: position, before, after };
            if candidate.is_certain() && !part.continues {
                candidates.clear();
            }
            candidates.push(candidate);
        }
        let first = candidates.first()?;
        (!assembly.parts[first.part].continues).then_some(PartChoice { at, candidates })
    }

    /// The cost of one such load, in bytes of traffic.
    pub(super) fn cost(&self, assembly: &Assembly<'_>, cost: &CostModel) -> f64 {
        let chosen = self.candidates.len() > 1;
        let gathers = if chosen { cost.gather } else { 0.0 };
        let share = |part: &AssemblyPart<'_>| (part.points() as f64 / assembly.points() as f64).min(1.0);
        let mut parts = self.candidates.iter().map(|candidate| &assembly.parts[candidate.part]);
        if let (true, Some(most)) = (cost.edges_apart, parts.find(|part| share(part) >= CostModel::MOST)) {
            let (flops, bytes) = evaluation(most.nest);
            return bytes + flops * cost.flop;
        }
        if let (true, Some(first)) = (self.is_one_computation(assembly), self.candidates.first()) {
            // A choice among many is mostly one along an outer axis, and made once for many elements.
            let tests = (self.candidates.len() - 1).min(4) as f64;
            let (flops, bytes) = evaluation(assembly.parts[first.part].nest);
            return bytes + (flops + 2.0 * tests * CostModel::CHOICE_FLOPS) * cost.flop + gathers;
        }
        let of = |candidate: &CandidatePart| {
            let part = &assembly.parts[candidate.part];
            let (flops, bytes) = evaluation(part.nest);
            let tests = (candidate.before.len() + candidate.after.len()) as f64;
            let flops = flops + tests * (CostModel::CHOICE_FLOPS + CostModel::CLAMP_FLOPS);
            // Outside the part, its elements at the edge are loaded again and again.
            let share = if chosen { share(part) } else { 1.0 };
            let gathers = if bytes > 0.0 { gathers } else { 0.0 };
            share * bytes + flops * cost.flop + gathers
        };
        self.candidates.iter().map(of).sum()
    }

    /// About how many instructions the choice takes.
    pub(super) fn size(&self, assembly: &Assembly<'_>) -> usize {
        let tests = |c: &CandidatePart| 4 * (c.before.len() + c.after.len()) + 1;
        self.candidates.iter().map(|c| tests(c) + assembly.parts[c.part].insts().len()).sum()
    }

    /// Whether all candidates compute the same of elements of the same arrays, at other positions: copies
    /// from one array, as the two parts of a roll are.
    fn is_one_computation(&self, assembly: &Assembly<'_>) -> bool {
        let Some((first, others)) = self.candidates.split_first() else { return false };
        let first = &assembly.parts[first.part];
        let is_fixed = |inst: &Inst| match inst {
            Inst::Load { index, .. } => index.iter().all(|index| index.dynamic.is_none()),
            Inst::Axis(_) => false,
            inst => inst.status().is_none(),
        };
        !first.continues
            && first.insts().iter().all(is_fixed)
            && others.iter().all(|other| first.computes_as(&assembly.parts[other.part]))
    }

    /// Appends the computation of the element. `operands` are the positions of each part's operands.
    pub(super) fn compute(
        &self,
        assembly: &Assembly<'_>,
        writer: &mut BlockWriter,
        operands: &[Vec<usize>],
    ) -> Option<Value> {
        if self.candidates.len() > 1 && self.is_one_computation(assembly) {
            return self.compute_at_choice(assembly, writer, operands);
        }
        let mut chosen = None;
        for candidate in &self.candidates {
            let part = &assembly.parts[candidate.part];
            let place: Vec<Index> = part
                .dimensions
                .iter()
                .enumerate()
                .map(|(axis, &d)| self.place(writer, candidate, d, part.low[d], part.nest.axes[axis]))
                .collect();
            let mut values: Vec<Value> = Vec::with_capacity(part.insts().len());
            for inst in part.insts() {
                values.push(match inst {
                    Inst::Load { operand, .. } if part.buffers[*operand] == assembly.buffer => chosen?,
                    _ => writer.copy(inst, Some(&place), &operands[candidate.part], &values),
                });
            }
            let value = *values.get(part.value as usize)?;
            chosen = Some(match chosen {
                Some(before) => self.choose(assembly, writer, candidate, value, before),
                None => value,
            });
        }
        chosen
    }

    /// The computation that all parts have in common, of loads at chosen positions.
    fn compute_at_choice(
        &self,
        assembly: &Assembly<'_>,
        writer: &mut BlockWriter,
        operands: &[Vec<usize>],
    ) -> Option<Value> {
        let part = self.candidates.first()?.part;
        let mut values: Vec<Value> = Vec::new();
        for (at, inst) in assembly.parts[part].insts().iter().enumerate() {
            values.push(match inst {
                Inst::Load { operand, .. } => {
                    let operand = *operands.get(part)?.get(*operand)?;
                    self.load_at_choice(assembly, writer, operand, at)?
                }
                _ => writer.copy(inst, None, operands.get(part)?, &values),
            });
        }
        values.get(assembly.parts[part].value as usize).copied()
    }

    /// The load that is instruction `inst` of every part, with a chosen index along each dimension.
    fn load_at_choice(
        &self,
        assembly: &Assembly<'_>,
        writer: &mut BlockWriter,
        operand: usize,
        inst: usize,
    ) -> Option<Value> {
        let mut indices: Vec<Vec<Index>> = Vec::with_capacity(self.candidates.len());
        for candidate in &self.candidates {
            let part = &assembly.parts[candidate.part];
            let Inst::Load { index, .. } = part.insts().get(inst)? else { return None };
            let place: Vec<Index> =
                part.dimensions.iter().map(|&d| shifted(&self.at[d], part.low[d])).collect();
            indices.push(writer.indices(index, Some(&place), &[]));
        }
        let (first, others) = indices.split_first()?;
        let mut index = first.clone();
        for d in 0..index.len() {
            if others.iter().all(|other| other[d] == first[d]) {
                continue;
            }
            if let Some(regular) = self.regular_index(assembly, writer, d, &indices) {
                index[d] = regular;
                continue;
            }
            let mut chosen = writer.materialize(&first[d]);
            for (candidate, other) in self.candidates[1..].iter().zip(others) {
                let value = writer.materialize(&other[d]);
                chosen = self.choose(assembly, writer, candidate, value, chosen);
            }
            index[d] = Index { dynamic: Some(chosen), ..Index::default() };
        }
        Some(writer.push(Inst::Load { operand, index }))
    }

    /// The index along dimension `d` of the source, if the parts are slices of one position whose indices
    /// differ by regular offsets: those of the windows of a convolution, for example.
    fn regular_index(
        &self,
        assembly: &Assembly<'_>,
        writer: &mut BlockWriter,
        d: usize,
        indices: &[Vec<Index>],
    ) -> Option<Index> {
        let along = assembly.along?;
        let part = |candidate: &CandidatePart| &assembly.parts[candidate.part];
        if self.candidates.iter().any(|c| part(c).high[along] - part(c).low[along] != 1) {
            return None;
        }
        let first = &indices.first()?[d];
        let offsets = indices.iter().map(|index| {
            let index = &index[d];
            let alike = (&index.terms, index.dynamic) == (&first.terms, first.dynamic);
            alike.then(|| index.offset.checked_sub(first.offset)).flatten()
        });
        let pattern = Regular::of(&offsets.collect::<Option<Vec<i64>>>()?)?;
        let number = shifted(&self.at[along], part(self.candidates.first()?).low[along]);
        let mut at = writer.materialize(&number);
        let mut apply = |op, at, by: i64| {
            let by = writer.number(by);
            writer.push(Inst::Op { op, args: vec![at, by] })
        };
        if pattern.repeats > 1 {
            at = apply(TRUNC_DIVIDE, at, pattern.repeats);
        }
        if let Some(period) = pattern.period {
            at = apply(REMAINDER, at, period);
        }
        let offset = writer.scaled(at, pattern.step);
        let dynamic = writer.sum(first.dynamic.into_iter().chain([offset]).collect());
        Some(Index { dynamic, ..first.clone() })
    }

    /// The position along one axis of a part of `extent` elements: clamped to the part if some positions of
    /// the load lie outside.
    fn place(
        &self,
        writer: &mut BlockWriter,
        candidate: &CandidatePart,
        d: usize,
        low: i64,
        extent: u64,
    ) -> Index {
        let exact = shifted(&self.at[d], low);
        if !candidate.before.contains(&d) && !candidate.after.contains(&d) {
            return exact;
        }
        let value = writer.materialize(&exact);
        let inside = writer.push(Inst::Position { value, extent, mode: IndexMode::Clamp });
        Index { dynamic: Some(inside), ..Index::default() }
    }

    /// `value` if the position lies in the candidate's part, else `before`.
    fn choose(
        &self,
        assembly: &Assembly<'_>,
        writer: &mut BlockWriter,
        candidate: &CandidatePart,
        value: Value,
        before: Value,
    ) -> Value {
        if value == before {
            return value;
        }
        let part: &AssemblyPart<'_> = &assembly.parts[candidate.part];
        let after = candidate.after.iter().filter(|&&d| assembly.along != Some(d));
        let tests = candidate.before.iter().map(|&d| (GE, d, part.low[d]));
        let tests = tests.chain(after.map(|&d| (LT, d, part.high[d])));
        let mut inside = None;
        for (op, d, bound) in tests {
            let (at, bound) = (writer.materialize(&self.at[d]), writer.number(bound));
            let test = writer.push(Inst::Op { op, args: vec![at, bound] });
            inside = Some(match inside {
                Some(others) => writer.push(Inst::Op { op: AND, args: vec![others, test] }),
                None => test,
            });
        }
        match inside {
            Some(inside) => writer.push(Inst::Op { op: WHERE, args: vec![inside, value, before] }),
            None => value,
        }
    }
}

/// The numbers `step * (k / repeats % period)` for k = 0, 1, ..
#[derive(Debug, PartialEq)]
struct Regular {
    step: i64,
    repeats: i64,
    /// `None`: they never return to 0.
    period: Option<i64>,
}

impl Regular {
    /// The numbers as such a pattern; at least three of them.
    fn of(numbers: &[i64]) -> Option<Regular> {
        if numbers.len() < 3 {
            return None;
        }
        let repeats = numbers.iter().position(|&n| n != 0)?;
        let step = numbers[repeats];
        let every = || numbers.iter().step_by(repeats);
        let period = every().skip(1).position(|&n| n == 0).map(|at| at as i64 + 1);
        let expected = |k: usize| {
            let k = (k / repeats) as i64;
            step.checked_mul(period.map_or(k, |period| k % period))
        };
        let regular = numbers.iter().enumerate().all(|(k, &n)| expected(k) == Some(n));
        regular.then_some(Regular { step, repeats: repeats as i64, period })
    }
}

/// An index that starts `low` positions later.
fn shifted(index: &Index, low: i64) -> Index {
    Index { offset: index.offset - low, ..index.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_of_windows_are_regular() {
        let of = |numbers: &[i64]| Regular::of(numbers).map(|r| (r.step, r.repeats, r.period));
        assert_eq!(of(&[0, 1, 2, 3]), Some((1, 1, None)));
        assert_eq!(of(&[0, 1, 2, 0, 1, 2]), Some((1, 1, Some(3))));
        assert_eq!(of(&[0, 0, 0, 4, 4, 4, 8]), Some((4, 3, None)));
        assert_eq!(of(&[0, 0, -1, -1, 0, 0, -1]), Some((-1, 2, Some(2))));
        assert_eq!(of(&[0, 1, 3]), None);
        assert_eq!(of(&[0, 0, 0]), None);
        assert_eq!(of(&[0, 1]), None, "two are a choice");
        assert_eq!(of(&[0, i64::MAX, 7]), None);
    }
}
