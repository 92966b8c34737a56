//! Updates of elements in memory, in sequence.

use super::rules::{FoldRule, Max, Min, Product, Sum};
use crate::halves;
use bytemuck::{AnyBitPattern, NoUninit};
use workalike_kernels::DType;
use workalike_kernels::ops::{self, ScalarOp, lanes};

/// Updates the elements at these addresses, in sequence, by the first `n` lanes of a value.
///
/// # Safety
/// `to` must be aligned for the elements, readable and writable at every address, and no other thread may use
/// them.
pub(crate) type Update = unsafe fn(to: *mut u8, addresses: &[i64], value: &[u8], n: usize);

/// An element as memory holds it.
pub(crate) trait StoredElement: Copy {
    /// The element in a register.
    type Number: AnyBitPattern + NoUninit;
    fn widen(self) -> Self::Number;
    fn narrow(number: Self::Number) -> Self;
}

macro_rules! stored {
    ($($t:ty),*) => {
        $(impl StoredElement for $t {
            type Number = $t;
            #[inline(always)]
            fn widen(self) -> $t {
                self
            }
            #[inline(always)]
            fn narrow(number: $t) -> $t {
                number
            }
        })*
    };
}
stored!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

/// The bits of a float16 (`F16`) or bfloat16.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Half<const F16: bool>(u16);

impl<const F16: bool> StoredElement for Half<F16> {
    type Number = f32;
    #[inline(always)]
    fn widen(self) -> f32 {
        halves::widen_one::<F16>(self.0)
    }
    #[inline(always)]
    fn narrow(number: f32) -> Self {
        Half(halves::narrow_one::<F16>(number))
    }
}

/// Updates elements by a rule.
///
/// # Safety
/// Same as [`Update`], for elements of `T`.
unsafe fn update<T: StoredElement, R: FoldRule<T::Number>>(
    to: *mut u8,
    addresses: &[i64],
    value: &[u8],
    n: usize,
) {
    let to = to.cast::<T>();
    for (&address, &value) in addresses[..n].iter().zip(lanes::<T::Number>(value)) {
        // SAFETY: the caller guarantees an aligned element of `T` at each address, which no other thread
        // uses.
        unsafe {
            let to = to.offset(address as isize);
            *to = T::narrow(R::fold((*to).widen(), value));
        }
    }
}

/// The update of elements of `T` by an op of the table and a value.
fn rule_of<T: StoredElement>(op: ScalarOp) -> Option<Update>
where
    Sum: FoldRule<T::Number>,
    Product: FoldRule<T::Number>,
    Max: FoldRule<T::Number>,
    Min: FoldRule<T::Number>,
{
    let update: Update = match op {
        ops::ADD => update::<T, Sum>,
        ops::MUL => update::<T, Product>,
        ops::MAXIMUM => update::<T, Max>,
        ops::MINIMUM => update::<T, Min>,
        _ => return None,
    };
    Some(update)
}

/// The update of an element of this dtype.
pub(crate) fn rule(op: ScalarOp, dtype: DType) -> Option<Update> {
    match (dtype, op) {
        // For bools Or is Max and And is Min.
        (DType::Bool, ops::ADD) => rule_of::<u8>(ops::MAXIMUM),
        (DType::Bool, ops::MUL) => rule_of::<u8>(ops::MINIMUM),
        (DType::Bool | DType::U8, _) => rule_of::<u8>(op),
        (DType::U16, _) => rule_of::<u16>(op),
        (DType::U32, _) => rule_of::<u32>(op),
        (DType::U64, _) => rule_of::<u64>(op),
        (DType::I8, _) => rule_of::<i8>(op),
        (DType::I16, _) => rule_of::<i16>(op),
        (DType::I32, _) => rule_of::<i32>(op),
        (DType::I64, _) => rule_of::<i64>(op),
        (DType::F32, _) => rule_of::<f32>(op),
        (DType::F64, _) => rule_of::<f64>(op),
        (DType::F16, _) => rule_of::<Half<true>>(op),
        (DType::BF16, _) => rule_of::<Half<false>>(op),
        (DType::C64 | DType::C128, _) => None,
    }
}
