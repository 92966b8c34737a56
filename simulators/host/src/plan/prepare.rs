//! Rewrites of a Nest before it is planned, which change no result: halves that are only copied become 16-bit
//! integers, and an Ordered phase that updates elements in sequence becomes tiles of values with updates at
//! the end.

use super::analysis::{Facts, Planned, facts};
use super::patterns::{each_used, uses};
use crate::folds::read_modify_write::{Update, rule};
use std::borrow::Cow;
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{Inst, Nest, Phase, PhaseKind, Value};
use workalike_kernels::ops;

/// A Nest to be planned.
pub(crate) struct Prepared<'a> {
    pub(crate) nest: Cow<'a, Nest>,
    pub(crate) facts: Vec<Facts>,
    /// Per Ordered phase that may run by tiles: the update of each store; `None` replaces the element.
    pub(crate) tiled: Vec<Option<Vec<Option<Update>>>>,
}

/// Prepares a Nest.
pub(crate) fn prepare(nest: &Nest) -> Planned<Prepared<'_>> {
    let mut known = facts(nest)?;
    let mut nest = Cow::Borrowed(nest);
    if let Some(bits) = as_bits(&nest, &known) {
        known = facts(&bits)?;
        nest = Cow::Owned(bits);
    }
    let mut tiled = vec![None; nest.phases.len()];
    for at in 0..nest.phases.len() {
        let Some(updates) = updates(&nest.phases[at], &known[at]) else { continue };
        if updates.iter().any(Option::is_some) {
            let stores = &mut nest.to_mut().phases[at].stores;
            for (store, update) in stores.iter_mut().zip(&updates) {
                store.value = update.map_or(store.value, |u| u.1);
            }
        }
        tiled[at] = Some(updates.into_iter().map(|u| u.map(|u| u.0)).collect());
    }
    if matches!(&nest, Cow::Owned(_)) {
        known = facts(&nest)?;
    }
    Ok(Prepared { nest, facts: known, tiled })
}

/// The same Nest with 16-bit integers for halves, if it only copies them and selects among them.
fn as_bits(nest: &Nest, facts: &[Facts]) -> Option<Nest> {
    if !nest.operands.iter().any(|o| o.dtype.is_half()) {
        return None;
    }
    let mut bits = nest.clone();
    bits.operands.iter_mut().filter(|o| o.dtype.is_half()).for_each(|o| o.dtype = DType::U16);
    for (at, (phase, facts)) in bits.phases.iter_mut().zip(facts).enumerate() {
        let half = |value: usize| facts.dtypes[value].is_half();
        for (i, inst) in phase.block.insts.iter_mut().enumerate() {
            let mut takes = half(i);
            each_used(&nest.phases[at].block.insts, facts, i, |root| takes |= half(root));
            match inst {
                Inst::Const(scalar) if takes => *scalar = Scalar::from_i128(DType::U16, scalar.bits().into()),
                Inst::Cast { to, .. } if half(i) && facts.roots[i] != i => *to = DType::U16,
                Inst::Op { op: ops::WHERE, .. } | Inst::Load { .. } => (),
                _ if takes => return None,
                _ => (),
            }
        }
        if phase.folds.iter().any(|f| half(f.value as usize)) {
            return None;
        }
    }
    Some(bits)
}

/// If the points of an Ordered phase can be computed a tile at a time, since each reads what others store
/// only to update it: the update of each store, and its value.
fn updates(phase: &Phase, facts: &Facts) -> Option<Vec<Option<(Update, Value)>>> {
    let written = |operand: usize| phase.stores.iter().filter(move |s| s.operand == operand).count();
    if phase.kind != PhaseKind::Ordered || phase.stores.iter().any(|s| written(s.operand) != 1) {
        return None;
    }
    let update = |at: usize| {
        let (store, touch) = (&phase.stores[at], &facts.stores[at]);
        let root = facts.roots[store.value as usize];
        let Inst::Op { op, args } = &phase.block.insts[root] else { return None };
        let [old, value] = args[..] else { return None };
        let old = facts.roots[old as usize];
        let there = facts.loads[old].as_ref()?;
        let same =
            there.operand == touch.operand && there.affine == touch.affine && there.dynamic == touch.dynamic;
        let alone = |root: usize| uses(phase, facts, root) == 1;
        if !same || touch.dynamic.is_empty() || store.when.is_some() || !alone(old) || !alone(root) {
            return None;
        }
        Some((old, rule(*op, touch.dtype)?, value))
    };
    let found: Vec<_> = (0..phase.stores.len()).map(update).collect();
    let changed = |i: usize| found.iter().flatten().any(|f| f.0 == i);
    let mut reads = facts.loads.iter().enumerate().filter_map(|(i, load)| Some((i, load.as_ref()?.operand)));
    if reads.any(|(i, operand)| written(operand) > 0 && !changed(i)) {
        return None;
    }
    Some(found.into_iter().map(|f| f.map(|(_, update, value)| (update, value))).collect())
}
