//! Analysis of a Nest before the plan is chosen: dtypes, index maps, loop invariance.
//!
//! All assumptions of the executor are checked here, so that a malformed Nest is an error and never a panic.

use super::super::affine::{Affine, injective};
use workalike_kernels::DType;
use workalike_kernels::nest::{Index, Inst, Mode, Nest, Operand, Phase, PhaseKind, Value};
use workalike_kernels::ops::{self, TileFn};

/// The result of a planning step; the error says what is wrong with the Nest.
pub(crate) type Planned<T> = Result<T, String>;

/// One load or store.
#[derive(Clone, Debug)]
pub(crate) struct Touch {
    pub(crate) operand: usize,
    pub(crate) dtype: DType,
    /// Addresses in elements; dimensions with a dynamic index are left out.
    pub(crate) affine: Affine,
    pub(crate) dynamic: Vec<DynamicIndex>,
    /// Least and greatest address. Meaningless if the phase visits no point.
    pub(crate) range: (i128, i128),
}

/// The index along a dimension that is computed from data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DynamicIndex {
    pub(crate) value: Value,
    /// Added to a negative value.
    pub(crate) wraps: i64,
    pub(crate) affine: Affine,
    pub(crate) extent: i64,
    pub(crate) stride: i64,
}

/// An index that is reported if it is out of range.
pub(crate) struct IndexReport {
    /// The integer; negative values count from the end.
    pub(crate) value: Value,
    pub(crate) extent: i64,
    /// The number that is stored.
    pub(crate) node: i64,
    /// The store.
    pub(crate) touch: Touch,
}

/// The analysis of a phase.
pub(crate) struct Facts {
    /// Per value.
    pub(crate) dtypes: Vec<DType>,
    /// Per value, the value whose register has its lanes: conversions that leave a register as it is are not
    /// instructions.
    pub(crate) roots: Vec<usize>,
    /// Per load.
    pub(crate) loads: Vec<Option<Touch>>,
    /// Per op and position.
    pub(crate) tiles: Vec<Option<TileFn>>,
    /// Per store.
    pub(crate) stores: Vec<Touch>,
    /// In order.
    pub(crate) reports: Vec<IndexReport>,
    /// Per value: whether it varies along the inner axes.
    pub(crate) inner: Vec<bool>,
    /// Whether the phase visits any point.
    pub(crate) visits: bool,
}

/// The facts of every phase.
pub(crate) fn facts(nest: &Nest) -> Planned<Vec<Facts>> {
    if nest.grid > nest.axes.len() {
        return Err(format!("{} grid axes of {}", nest.grid, nest.axes.len()));
    }
    for operand in &nest.operands {
        if operand.shape.len() != operand.strides.len() {
            return Err("an operand's shape and strides differ in length".into());
        }
    }
    for axes in [&nest.axes[..nest.grid], &nest.axes[nest.grid..], &nest.axes] {
        let points = axes.iter().filter(|e| **e > 0).try_fold(1u64, |all, e| all.checked_mul(*e));
        if points.is_none_or(|p| p > i64::MAX as u64) {
            return Err("more points than can be counted".into());
        }
    }
    let mut all: Vec<Facts> = Vec::new();
    for (at, phase) in nest.phases.iter().enumerate() {
        let facts = of_phase(nest, &all, phase).map_err(|message| format!("phase {at}: {message}"))?;
        all.push(facts);
    }
    Ok(all)
}

fn of_phase(nest: &Nest, earlier: &[Facts], phase: &Phase) -> Planned<Facts> {
    let visits = nest.grid_points() > 0 && (phase.kind == PhaseKind::Point || nest.inner_points() > 0);
    let insts = &phase.block.insts;
    let mut facts = Facts {
        dtypes: Vec::new(),
        roots: Vec::new(),
        loads: vec![None; insts.len()],
        tiles: vec![None; insts.len()],
        stores: Vec::new(),
        reports: Vec::new(),
        inner: Vec::new(),
        visits,
    };
    let axes_seen = if phase.kind == PhaseKind::Point { nest.grid } else { nest.axes.len() };
    let written = |operand: usize| phase.stores.iter().any(|s| s.operand == operand);
    let varies = |affine: &Affine| affine.varies(nest.grid..nest.axes.len(), &nest.axes);
    for (i, inst) in insts.iter().enumerate() {
        let (mut root, mut inner) = (i, false);
        let dtype = match inst {
            Inst::Const(scalar) => scalar.dtype(),
            Inst::Axis(axis) if *axis < axes_seen => {
                inner = *axis >= nest.grid && nest.axes[*axis] > 1;
                DType::I64
            }
            Inst::Axis(axis) => return Err(format!("axis {axis} does not exist here")),
            Inst::Load { operand, index } => {
                let touch = touch(nest, *operand, index, (insts, &facts.dtypes), axes_seen)?;
                inner = written(*operand)
                    || varies(&touch.affine)
                    || touch.dynamic.iter().any(|d| varies(&d.affine) || facts.inner[d.value as usize]);
                let dtype = touch.dtype;
                facts.loads[i] = Some(touch);
                dtype
            }
            Inst::Cast { to, value } => {
                let from =
                    *facts.dtypes.get(*value as usize).ok_or("a value is used before it is defined")?;
                // A conversion to a half rounds, so it is another number in the same kind of register.
                if from.register() == to.register() && (from == *to || !to.is_half()) {
                    root = facts.roots[*value as usize];
                }
                inner = facts.inner[*value as usize];
                *to
            }
            Inst::Op { op, args } => {
                let mut given = Vec::new();
                for arg in args {
                    let dtype = facts.dtypes.get(*arg as usize);
                    given.push(*dtype.ok_or("a value is used before it is defined")?);
                    inner |= facts.inner[*arg as usize];
                }
                let signature = op.signature(&given).filter(|s| s.args == given);
                let signature = signature.ok_or_else(|| format!("{op:?} does not take {given:?}"))?;
                let tiles =
                    op.tiles(&signature).ok_or_else(|| format!("{op:?} has no loop for {given:?}"))?;
                facts.tiles[i] = Some(tiles.fast);
                signature.result
            }
            Inst::Folded { phase: p, fold } => {
                let folds = earlier.get(*p).map(|facts| (facts, &nest.phases[*p].folds));
                let found = folds.and_then(|(facts, folds)| folds.get(*fold).map(|f| (facts, f)));
                let (facts, f) = found.ok_or("it uses a fold that no earlier phase has")?;
                if f.fold.has_index() { DType::I64 } else { facts.dtypes[f.value as usize] }
            }
            Inst::Position { value, extent, mode } => {
                if facts.dtypes.get(*value as usize) != Some(&DType::I64) {
                    return Err("what names a position is not an i64 value".into());
                }
                let extent = i64::try_from(*extent).ok().filter(|extent| *extent <= i64::MAX / 2);
                let extent = extent.ok_or("there are more positions than can be counted from either end")?;
                if let Mode::Report { status, node } = *mode {
                    let touch = touch(nest, status, &[], (insts, &facts.dtypes), axes_seen)?;
                    if touch.dtype != DType::I64 || !nest.operands[status].written {
                        return Err(format!("operand {status} takes reports but is no written int64"));
                    }
                    facts.reports.push(IndexReport { value: *value, extent, node, touch });
                }
                facts.tiles[i] = Some(ops::position(*mode));
                inner = facts.inner[*value as usize];
                DType::I64
            }
        };
        facts.dtypes.push(dtype);
        facts.roots.push(root);
        facts.inner.push(inner);
    }
    let dtype_of = |value: Value| facts.dtypes.get(value as usize).copied().ok_or("a value does not exist");
    for store in &phase.stores {
        let touch = touch(nest, store.operand, &store.index, (insts, &facts.dtypes), axes_seen)?;
        if !nest.operands[store.operand].written {
            return Err(format!("operand {} is stored to but not marked as written", store.operand));
        }
        if store.add {
            return Err(format!(
                "it adds to elements of operand {}, which the host does in order only",
                store.operand
            ));
        }
        if dtype_of(store.value)?.register() != touch.dtype.register() {
            return Err(format!("{} is stored as {}", dtype_of(store.value)?, touch.dtype));
        }
        if store.when.map(dtype_of).transpose()?.is_some_and(|d| d != DType::Bool) {
            return Err("a store's condition is not bool".into());
        }
        facts.stores.push(touch);
    }
    if !phase.folds.is_empty() && phase.kind != PhaseKind::Reduce {
        return Err("only a Reduce phase folds".into());
    }
    for fold in &phase.folds {
        dtype_of(fold.value)?;
        if fold.fold.has_index() != (fold.index.map(dtype_of).transpose()? == Some(DType::I64)) {
            return Err("an index belongs to ArgMax and ArgMin, and is i64".into());
        }
    }
    Ok(facts)
}

fn touch(
    nest: &Nest,
    operand: usize,
    index: &[Index],
    (insts, dtypes): (&[Inst], &[DType]),
    axes: usize,
) -> Planned<Touch> {
    let at = operand;
    let operand: &Operand = nest.operands.get(at).ok_or_else(|| format!("there is no operand {at}"))?;
    if index.len() != operand.shape.len() {
        return Err(format!(
            "{} indices for {} dimensions of operand {at}",
            index.len(),
            operand.shape.len()
        ));
    }
    let overflow = || format!("an index of operand {at} overflows, or names an axis that does not exist");
    let mut affine = Affine::zero(nest.axes.len());
    let mut dynamic: Vec<DynamicIndex> = Vec::new();
    for ((index, &extent), &stride) in index.iter().zip(&operand.shape).zip(&operand.strides) {
        if index.terms.iter().any(|t| t.0 >= axes) {
            return Err(overflow());
        }
        match index.dynamic {
            None => affine.add(index, stride).ok_or_else(overflow)?,
            Some(value) => {
                if dtypes.get(value as usize) != Some(&DType::I64) {
                    return Err(format!("an index of operand {at} is not an i64 value"));
                }
                let mut own = Affine::zero(nest.axes.len());
                own.add(index, 1).ok_or_else(overflow)?;
                let extent = i64::try_from(extent).map_err(|_| overflow())?;
                let alone = own == Affine::zero(nest.axes.len());
                let (value, wraps) = if alone { position(insts, value, extent) } else { (value, 0) };
                dynamic.push(DynamicIndex { value, wraps, affine: own, extent, stride });
            }
        }
    }
    let mut range = affine.range(&nest.axes);
    for d in &dynamic {
        let reach = (d.extent as i128 - 1) * d.stride as i128;
        // There is no element to load or store, so no address is valid.
        range = if d.extent < 1 { (-1, -1) } else { (range.0 + reach.min(0), range.1 + reach.max(0)) };
        if d.extent < 1 {
            break;
        }
    }
    Ok(Touch { operand: at, dtype: operand.dtype, affine, dynamic, range })
}

/// The integer behind an index that is its position in a dimension of this extent, and the number to add if
/// it is negative. The access clamps the index in the same loop.
fn position(insts: &[Inst], value: Value, extent: i64) -> (Value, i64) {
    match insts.get(value as usize) {
        Some(Inst::Position { value: given, extent: among, mode }) if i64::try_from(*among) == Ok(extent) => {
            match mode {
                Mode::Clamp => (*given, 0),
                Mode::FromEnd | Mode::Report { .. } => (*given, extent),
                Mode::Wrap => (value, 0),
            }
        }
        _ => (value, 0),
    }
}

impl Touch {
    /// Whether different grid points touch different addresses, and for `inner`, different inner points too.
    /// `shift` is the distance of a second access with the same map, by a neighbour along an inner axis.
    pub(crate) fn apart(&self, nest_grid: usize, extents: &[u64], inner: bool, shift: i128) -> bool {
        let step = |a: usize| self.affine.coefficients[a] as i128;
        let grid: Vec<(i128, u64)> = (0..nest_grid).map(|a| (step(a), extents[a])).collect();
        let mut others: Vec<(i128, u64)> = (nest_grid..extents.len())
            .filter(|&a| inner || step(a) != 0)
            .map(|a| (step(a), extents[a]))
            .chain(self.dynamic.iter().map(|d| (d.stride as i128, d.extent as u64)))
            .collect();
        if shift == 0 {
            return injective([grid, others].concat());
        }
        (0..others.len()).any(|i| {
            let (step, extent) = others[i];
            if step == 0 || shift % step != 0 {
                return false;
            }
            let more = (shift / step).unsigned_abs().min(u64::MAX as u128 / 2) as u64;
            others[i].1 = extent.saturating_add(more);
            let apart = injective([grid.clone(), others.clone()].concat());
            others[i].1 = extent;
            apart
        })
    }

    /// The distance in elements at which `other` has the same map, if it has.
    pub(crate) fn shift_to(&self, other: &Touch) -> Option<i128> {
        let same = self.dtype.size() == other.dtype.size()
            && self.affine.coefficients == other.affine.coefficients
            && self.dynamic.len() == other.dynamic.len()
            && self
                .dynamic
                .iter()
                .zip(&other.dynamic)
                .all(|(a, b)| (a.stride, a.extent) == (b.stride, b.extent));
        same.then(|| other.affine.offset as i128 - self.affine.offset as i128)
    }
}
