//! Rewrites of a Nest before it is planned, which change no result: halves that are only copied become 16-bit
//! integers, and an Ordered phase that updates elements in sequence becomes tiles of values with updates at
//! the end.

use super::facts::{Facts, Planned, facts};
use half::{bf16, f16};
use std::borrow::Cow;
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{Index, Inst, Nest, Phase, PhaseKind, Value};
use workalike_kernels::ops;
use workalike_kernels::ops::lanes;

/// Updates the elements at these addresses, in sequence, by the first `n` lanes of a value.
///
/// # Safety
/// `to` must be aligned for the elements, readable and writable at every address, and no other thread may use
/// them.
pub(crate) type Update = unsafe fn(to: *mut u8, addresses: &[i64], value: &[u8], n: usize);

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

/// The same Nest with 16-bit integers for halves, if it only copies them, selects among them and changes
/// their signs.
fn as_bits(nest: &Nest, facts: &[Facts]) -> Option<Nest> {
    if !nest.operands.iter().any(|o| o.dtype.is_half()) {
        return None;
    }
    let mut bits = nest.clone();
    bits.operands.iter_mut().filter(|o| o.dtype.is_half()).for_each(|o| o.dtype = DType::U16);
    for (phase, facts) in bits.phases.iter_mut().zip(facts) {
        let half = |value: u32| facts.dtypes[value as usize].is_half();
        let mut signs = false;
        for (i, inst) in phase.block.insts.iter_mut().enumerate() {
            match inst {
                // The masks become values at the front of the phase.
                Inst::Op { op, args } if half(i as u32) && matches!(*op, ops::ABS | ops::NEG) => {
                    let at = if *op == ops::ABS { MAGNITUDE } else { SIGN };
                    *op = if *op == ops::ABS { ops::BITWISE_AND } else { ops::BITWISE_XOR };
                    args.push(at);
                    signs = true;
                }
                Inst::Const(scalar) if scalar.dtype().is_half() => {
                    *scalar = Scalar::from_i128(DType::U16, scalar.bits().into());
                }
                Inst::Op { op: ops::WHERE, .. } | Inst::Load { .. } | Inst::Const(_) | Inst::Axis(_) => (),
                Inst::Op { args, .. } if half(i as u32) || args.iter().any(|a| half(*a)) => return None,
                Inst::Cast { to, value } if half(*value) && facts.dtypes[*value as usize] == *to => {
                    *to = DType::U16
                }
                Inst::Cast { to, value } if half(*value) || to.is_half() => return None,
                Inst::Folded { .. } if half(i as u32) => return None,
                Inst::Op { .. } | Inst::Cast { .. } | Inst::Folded { .. } | Inst::Position { .. } => (),
            }
        }
        if phase.folds.iter().any(|f| half(f.value)) {
            return None;
        }
        for store in &phase.stores {
            let dtype = nest.operands[store.operand].dtype;
            let given = facts.dtypes[store.value as usize];
            if (dtype.is_half() || given.is_half()) && dtype != given {
                return None;
            }
        }
        if signs {
            masks_first(phase);
        }
    }
    Some(bits)
}

/// Placeholders for the masks of a half's magnitude and sign.
const MAGNITUDE: Value = Value::MAX - 1;
const SIGN: Value = Value::MAX;

/// Inserts the masks as values at the front of the phase.
fn masks_first(phase: &mut Phase) {
    let masks = [0x7fff, 0x8000].map(|bits| Inst::Const(Scalar::from_i128(DType::U16, bits)));
    let moved = |value: &mut Value| {
        *value = match *value {
            MAGNITUDE => 0,
            SIGN => 1,
            other => other + masks.len() as Value,
        }
    };
    let index = |index: &mut Index| index.dynamic.iter_mut().for_each(moved);
    for inst in &mut phase.block.insts {
        match inst {
            Inst::Load { index: at, .. } => at.iter_mut().for_each(index),
            Inst::Cast { value, .. } | Inst::Position { value, .. } => moved(value),
            Inst::Op { args, .. } => args.iter_mut().for_each(moved),
            Inst::Const(_) | Inst::Axis(_) | Inst::Folded { .. } => (),
        }
    }
    for store in &mut phase.stores {
        store.index.iter_mut().for_each(index);
        [&mut store.value].into_iter().chain(&mut store.when).for_each(moved);
    }
    for fold in &mut phase.folds {
        [&mut fold.value].into_iter().chain(&mut fold.index).for_each(moved);
    }
    phase.block.insts.splice(0..0, masks);
}

/// If the points of an Ordered phase can be computed a tile at a time, since each reads what others store
/// only to update it: the update of each store, and its value.
fn updates(phase: &Phase, facts: &Facts) -> Option<Vec<Option<(Update, u32)>>> {
    let written = |operand: usize| phase.stores.iter().filter(move |s| s.operand == operand).count();
    if phase.kind != PhaseKind::Ordered || phase.stores.iter().any(|s| written(s.operand) != 1) {
        return None;
    }
    let insts = &phase.block.insts;
    let update = |at: usize| {
        let (store, touch) = (&phase.stores[at], &facts.stores[at]);
        let root = facts.roots[store.value as usize];
        let Inst::Op { op, args } = &insts[root] else { return None };
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
    let reads = facts.loads.iter().enumerate().filter_map(|(i, load)| Some((i, load.as_ref()?.operand)));
    if reads.into_iter().any(|(i, operand)| written(operand) > 0 && !changed(i)) {
        return None;
    }
    Some(found.into_iter().map(|f| f.map(|(_, update, value)| (update, value))).collect())
}

/// The number of uses of a value.
fn uses(phase: &Phase, facts: &Facts, root: usize) -> usize {
    let mut count = super::patterns::ends(phase, facts).iter().filter(|end| **end == root).count();
    for i in (0..phase.block.insts.len()).filter(|i| facts.roots[*i] == *i) {
        super::patterns::each_used(&phase.block.insts, facts, i, |used| count += usize::from(used == root));
    }
    count
}

/// # Safety
/// Same as [`Update`].
#[inline(always)]
unsafe fn change<T: Copy, V: bytemuck::AnyBitPattern>(
    (to, addresses, value, n): (*mut u8, &[i64], &[u8], usize),
    f: impl Fn(T, V) -> T,
) {
    let to = to.cast::<T>();
    for (&address, &value) in addresses[..n].iter().zip(lanes::<V>(value)) {
        // SAFETY: the caller guarantees an aligned element of `T` at each address, which no other thread
        // uses.
        unsafe {
            let to = to.offset(address as isize);
            *to = f(*to, value);
        }
    }
}

/// The update of an element by an op of the table and a value.
fn rule(op: ops::ScalarOp, dtype: DType) -> Option<Update> {
    macro_rules! update {
        ($t:ty, $v:ty, $f:expr) => {{
            /// # Safety
            /// Same as [`Update`].
            unsafe fn update(to: *mut u8, addresses: &[i64], value: &[u8], n: usize) {
                // SAFETY: the caller guarantees what `Update` requires, for elements of the dtype.
                unsafe { change::<$t, $v>((to, addresses, value, n), $f) }
            }
            update
        }};
    }
    macro_rules! integer {
        ($t:ty) => {
            match op {
                ops::ADD => update!($t, $t, |a: $t, b: $t| a.wrapping_add(b)),
                ops::MUL => update!($t, $t, |a: $t, b: $t| a.wrapping_mul(b)),
                ops::MAXIMUM => update!($t, $t, |a: $t, b: $t| a.max(b)),
                ops::MINIMUM => update!($t, $t, |a: $t, b: $t| a.min(b)),
                _ => return None,
            }
        };
    }
    macro_rules! float {
        ($t:ty, $v:ty, $from:expr, $to:expr) => {
            match op {
                ops::ADD => update!($t, $v, |a: $t, b: $v| $to($from(a) + b)),
                ops::MUL => update!($t, $v, |a: $t, b: $v| $to($from(a) * b)),
                ops::MAXIMUM => {
                    update!($t, $v, |a: $t, b: $v| if $from(a) > b || $from(a).is_nan() { a } else { $to(b) })
                }
                ops::MINIMUM => {
                    update!($t, $v, |a: $t, b: $v| if $from(a) < b || $from(a).is_nan() { a } else { $to(b) })
                }
                _ => return None,
            }
        };
    }
    let update: Update = match dtype {
        DType::Bool => match op {
            ops::ADD | ops::MAXIMUM => update!(u8, u8, |a: u8, b: u8| a | b),
            ops::MUL | ops::MINIMUM => update!(u8, u8, |a: u8, b: u8| a & b),
            _ => return None,
        },
        DType::I8 => integer!(i8),
        DType::I16 => integer!(i16),
        DType::I32 => integer!(i32),
        DType::I64 => integer!(i64),
        DType::U8 => integer!(u8),
        DType::U16 => integer!(u16),
        DType::U32 => integer!(u32),
        DType::U64 => integer!(u64),
        DType::F32 => float!(f32, f32, |a: f32| a, |b: f32| b),
        DType::F64 => float!(f64, f64, |a: f64| a, |b: f64| b),
        DType::F16 => float!(f16, f32, f16::to_f32, f16::from_f32),
        DType::BF16 => float!(bf16, f32, bf16::to_f32, bf16::from_f32),
    };
    Some(update)
}
