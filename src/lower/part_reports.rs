//! Reports that name a part of a node's input: the matrix of a batch that is singular, say.
//!
//! A report is the number of a node plus one, and above [`NODE_BITS`] the engine's own. A node of a graph of
//! `n` nodes also reports its number plus `n` times 1, 2, ... for the first part, the second, and so on.

use super::Lowering;
use super::build::{NestBuilder, PhaseBuilder};
use workalike_kernels::nest::{Fold, IndexMode, Inst, PhaseKind, Value};
use workalike_kernels::ops::{self as scalar, ScalarOp};
use workalike_kernels::{DType, Scalar};

/// Bits of a report that say node and part.
pub(crate) const NODE_BITS: u32 = 40;

/// The difference of the reports of two neighbouring parts, in a graph of `nodes` nodes; `None` if the report
/// of the last of `parts` parts would not fit.
fn step(nodes: usize, parts: u64) -> Option<i64> {
    let nodes = i64::try_from(nodes).ok()?;
    let last = i64::try_from(parts).ok()?.checked_add(1)?.checked_mul(nodes)?;
    (last < 1 << NODE_BITS).then_some(nodes)
}

/// The node that a report names, and the part of its input. `number` is the report's part below
/// [`NODE_BITS`].
pub(crate) fn named(number: i64, nodes: usize) -> (usize, Option<usize>) {
    let at = usize::try_from(number.saturating_sub(1)).unwrap_or(0);
    let nodes = nodes.max(1);
    (at % nodes, (at / nodes).checked_sub(1))
}

impl Lowering<'_> {
    /// Reports the first part of the node's input at which something is wrong. The first of `axes` counts the
    /// parts; a part is wrong if `fails`, a bool, is true at any of the points along the others. `fails` is
    /// given a Reduce phase over all `axes`. See [`Op::trouble_part`](crate::ops::Op::trouble_part).
    pub fn report_first(
        &mut self,
        name: &str,
        axes: &[u64],
        fails: impl FnOnce(&mut PhaseBuilder<'_>) -> Value,
    ) {
        let Some(&parts) = axes.first().filter(|_| !axes.contains(&0)) else { return };
        let (status, number) = (self.status(), self.report());
        let mut nest = NestBuilder::new(name, &[], axes);
        let mut reduce = nest.phase(PhaseKind::Reduce, &self.program);
        let fails = fails(&mut reduce);
        let (part, none) = (reduce.axis(0), reduce.number(DType::I64, parts.into()));
        let part = reduce.apply(scalar::WHERE, &[fails, part, none]);
        let fold = reduce.fold(Fold::Min, part, None);
        let phase = reduce.finish();
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let first = point.folded(phase, fold, DType::I64);
        let none = point.number(DType::I64, parts.into());
        let found = point.apply(scalar::LT, &[first, none]);
        let report = match step(self.numbers.all, parts) {
            Some(step) => {
                let part = point.nearest(first, parts);
                let step_value = point.number(DType::I64, step.into());
                let parts = point.apply(scalar::MUL, &[part, step_value]);
                let number = point.number(DType::I64, number + i128::from(step));
                point.apply(scalar::ADD, &[parts, number])
            }
            None => point.number(DType::I64, number),
        };
        point.store(status, &[], &[], report, Some(found));
        point.finish();
        self.push(nest);
    }

    /// Whether this instruction is a report of the current node: its number, or what
    /// [`Lowering::report_first`] makes of it, which cannot be that of another node.
    pub(super) fn is_report(&self, insts: &[Inst], at: Value) -> bool {
        let inst = |at: Value| insts.get(at as usize);
        let number = |at: Value| match inst(at) {
            Some(Inst::Const(number)) => Some(Scalar::to_i128(*number)),
            _ => None,
        };
        let arguments = |at: Value, wanted: ScalarOp| match inst(at) {
            Some(Inst::Op { op, args }) if *op == wanted => <[Value; 2]>::try_from(args.as_slice()).ok(),
            _ => None,
        };
        let with_part = || {
            let [parts, first] = arguments(at, scalar::ADD)?;
            let [part, by] = arguments(parts, scalar::MUL)?;
            let Some(Inst::Position { extent, mode: IndexMode::Clamp, .. }) = inst(part) else { return None };
            let step = i128::from(step(self.numbers.all, *extent)?);
            Some(number(by)? == step && number(first)? == self.report() + step)
        };
        number(at) == Some(self.report()) || with_part() == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_name_the_node_and_the_part() {
        for (nodes, parts) in [(1, 1), (3, 5), (100_000, 1000)] {
            let step = step(nodes, parts).unwrap();
            for node in [0, nodes - 1] {
                let plain = node as i64 + 1;
                assert_eq!(named(plain, nodes), (node, None));
                for part in [0, parts - 1] {
                    let report = plain + step * (part as i64 + 1);
                    assert!(report < 1 << NODE_BITS);
                    assert_eq!(named(report, nodes), (node, Some(part as usize)));
                }
            }
        }
    }

    #[test]
    fn parts_without_room_are_not_named() {
        assert_eq!(step(1 << 20, (1 << 20) - 2), Some(1 << 20));
        assert_eq!(step(1 << 20, (1 << 20) - 1), None);
        assert_eq!(step(3, u64::MAX), None);
        assert_eq!(named(0, 0), (0, None), "no report of ours");
    }
}
