//! Analysis of a Nest before the plan is chosen: dtypes, index maps, loop invariance.
//!
//! The Nest was verified, or rewritten from one that was. What the host needs beyond that is checked here.

use super::lane_rows::differing;
use crate::affine::injective;
use crate::cast::cast;
use workalike_kernels::DType;
use workalike_kernels::nest::{Affine, Index, IndexMode, Inst, Nest, Operand, PhaseKind, Value};
use workalike_kernels::ops::{self, TileFn};
use workalike_kernels::verify::dtypes;

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
    /// Per op, conversion and position: its loop.
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
    (0..nest.phases.len())
        .map(|at| of_phase(nest, at).map_err(|message| format!("phase {at}: {message}")))
        .collect()
}

fn of_phase(nest: &Nest, at: usize) -> Planned<Facts> {
    let phase = &nest.phases[at];
    let insts = &phase.block.insts;
    let dtypes = dtypes(nest, at).map_err(|error| error.to_string())?;
    let mut facts = Facts {
        roots: roots(insts, &dtypes),
        loads: vec![None; insts.len()],
        tiles: insts.iter().map(|inst| tile(inst, &dtypes)).collect::<Planned<_>>()?,
        dtypes,
        stores: Vec::new(),
        reports: Vec::new(),
        inner: Vec::new(),
        visits: nest.grid_points() > 0 && (phase.kind == PhaseKind::Point || nest.inner_points() > 0),
    };
    for (i, inst) in insts.iter().enumerate() {
        match inst {
            Inst::Load { operand, index } => facts.loads[i] = Some(touch(nest, *operand, index, insts)?),
            Inst::Position { value, extent, mode: IndexMode::Report { status, node } } => {
                let extent = i64::try_from(*extent).map_err(|_| "a position beyond int64")?;
                let touch = touch(nest, *status, &[], insts)?;
                facts.reports.push(IndexReport { value: *value, extent, node: *node, touch });
            }
            _ => {}
        }
    }
    for store in &phase.stores {
        if store.add {
            return Err(format!(
                "it adds to elements of operand {}, which the host does in order only",
                store.operand
            ));
        }
        facts.stores.push(touch(nest, store.operand, &store.index, insts)?);
    }
    let inner: Vec<usize> = (nest.grid..nest.axes.len()).filter(|a| nest.axes[*a] > 1).collect();
    facts.inner = differing(nest, &phase.block, &facts, &inner);
    Ok(facts)
}

/// See [`Facts::roots`].
fn roots(insts: &[Inst], dtypes: &[DType]) -> Vec<usize> {
    // A conversion to a half rounds, so it is another number in the same kind of register.
    let stays = |from: DType, to: DType| from.register() == to.register() && (from == to || !to.is_half());
    let mut roots: Vec<usize> = Vec::with_capacity(insts.len());
    for (i, inst) in insts.iter().enumerate() {
        roots.push(match inst {
            Inst::Cast { to, value } if stays(dtypes[*value as usize], *to) => roots[*value as usize],
            _ => i,
        });
    }
    roots
}

/// See [`Facts::tiles`].
fn tile(inst: &Inst, dtypes: &[DType]) -> Planned<Option<TileFn>> {
    Ok(match inst {
        Inst::Op { op, args } => {
            let given: Vec<DType> = args.iter().map(|a| dtypes[*a as usize]).collect();
            let tiles = op.signature(&given).and_then(|signature| op.tiles(&signature));
            Some(tiles.ok_or_else(|| format!("{op:?} has no loop for {given:?}"))?.fast)
        }
        Inst::Call { .. } => return Err("the host compiles no functions in C".into()),
        Inst::Cast { to, value } => Some(cast(dtypes[*value as usize], *to)),
        Inst::Position { mode, .. } => Some(ops::position(*mode)),
        Inst::Const(_) | Inst::Axis(_) | Inst::Load { .. } | Inst::Folded { .. } => None,
    })
}

fn touch(nest: &Nest, at: usize, index: &[Index], insts: &[Inst]) -> Planned<Touch> {
    let operand: &Operand = &nest.operands[at];
    let overflow = || format!("an address in operand {at} overflows");
    let mut affine = Affine::zero(nest.axes.len());
    let mut dynamic: Vec<DynamicIndex> = Vec::new();
    for ((index, &extent), &stride) in index.iter().zip(&operand.shape).zip(&operand.strides) {
        let Some(value) = index.dynamic else {
            affine.add(index, stride).ok_or_else(overflow)?;
            continue;
        };
        let mut own = Affine::zero(nest.axes.len());
        own.add(index, 1).ok_or_else(overflow)?;
        let extent = i64::try_from(extent).map_err(|_| overflow())?;
        let alone = own == Affine::zero(nest.axes.len());
        let (value, wraps) = if alone { position(insts, value, extent) } else { (value, 0) };
        dynamic.push(DynamicIndex { value, wraps, affine: own, extent, stride });
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
                IndexMode::Clamp => (*given, 0),
                IndexMode::FromEnd | IndexMode::Report { .. } => (*given, extent),
                IndexMode::Wrap => (value, 0),
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
