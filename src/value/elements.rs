//! The elements of a Value, as Rust types, `ndarray` views and scalars, and their conversion to other dtypes.

use super::{Value, shrunk};
use crate::error::{Error, Result, array_text};
use crate::fallible;
use bytemuck::{CheckedBitPattern, NoUninit};
use half::{bf16, f16};
use ndarray::{ArrayD, ArrayViewD, IxDyn, ShapeBuilder};
use num_complex::{Complex32, Complex64};
use std::fmt;
use std::panic::Location;
use workalike_kernels::{DType, Scalar};

/// A Rust type that is a dtype.
pub trait Element:
    NoUninit + CheckedBitPattern + Default + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// Its dtype.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($t:ty = $d:ident),*) => { $(impl Element for $t { const DTYPE: DType = DType::$d; })* };
}
elements!(
    bool = Bool,
    i8 = I8,
    i16 = I16,
    i32 = I32,
    i64 = I64,
    u8 = U8,
    u16 = U16,
    u32 = U32,
    u64 = U64,
    f16 = F16,
    bf16 = BF16,
    f32 = F32,
    f64 = F64,
    Complex32 = C64,
    Complex64 = C128
);

impl Value {
    /// Viewed as an `ndarray`, without a copy where the strides are not negative.
    ///
    /// # Errors
    /// If `T` is not the dtype, or a stride is negative (use [`Value::contiguous`] first).
    pub fn view<T: Element>(&self) -> Result<ArrayViewD<'_, T>> {
        self.expect_dtype(T::DTYPE)?;
        let negative =
            || Error::mismatch("view", "strides that are not negative", format!("{:?}", self.strides));
        let strides = self
            .strides
            .iter()
            .map(|&s| usize::try_from(s))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| negative())?;
        let all: &[T] = bytemuck::checked::try_cast_slice(self.buffer.bytes())
            .map_err(|e| Error::mismatch("view", format!("memory of {}", T::DTYPE), e.to_string()))?;
        let inexpressible =
            |e: ndarray::ShapeError| Error::mismatch("view", "a layout ndarray can express", e.to_string());
        if self.is_empty() {
            // The strides of an empty array are meaningless, and may reach beyond the memory.
            return ArrayViewD::from_shape(IxDyn(&self.shape), &[]).map_err(inexpressible);
        }
        let shape = IxDyn(&self.shape).strides(IxDyn(&strides));
        ArrayViewD::from_shape(shape, &all[self.offset.min(all.len())..]).map_err(inexpressible)
    }

    /// An owned `ndarray`.
    ///
    /// # Errors
    /// If `T` is not the dtype.
    pub fn to_array<T: Element>(&self) -> Result<ArrayD<T>> {
        Ok(self.contiguous()?.view::<T>()?.to_owned())
    }

    /// All elements, row-major.
    ///
    /// # Errors
    /// If `T` is not the dtype.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.expect_dtype(T::DTYPE)?;
        let whole = self.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        if bytes.len() != whole.byte_len() {
            return Err(shrunk());
        }
        fallible::collected(bytes.chunks_exact(self.dtype.size()).map(bytemuck::checked::pod_read_unaligned))
    }

    /// The only element of an array of size 1.
    ///
    /// # Errors
    /// If `T` is not the dtype or there is not exactly one element.
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        self.expect_dtype(T::DTYPE)?;
        let place = Location::caller();
        if self.len() != 1 {
            let got = format!("{} (at {place})", array_text(self.dtype, &self.shape));
            return Err(Error::mismatch("item", "one element", got));
        }
        match self.to_vec::<T>()?.as_slice() {
            [one] => Ok(*one),
            _ => Err(shrunk()),
        }
    }

    /// The only element of an array of size 1, of whatever dtype.
    pub fn to_scalar(&self) -> Option<Scalar> {
        let whole = self.contiguous().ok()?;
        Scalar::from_le_bytes(self.dtype, whole.contiguous_bytes()?)
    }

    /// Elements, row-major, as scalars.
    pub(crate) fn scalars(&self) -> impl Iterator<Item = Scalar> + '_ {
        let size = self.dtype.size();
        let bytes = self.buffer.bytes();
        self.positions()
            .filter_map(move |p| Scalar::from_le_bytes(self.dtype, bytes.get(p * size..(p + 1) * size)?))
    }

    /// Maps each element, row-major. Out of memory is an error.
    pub(crate) fn try_map<T>(&self, each: impl FnMut(Scalar) -> T) -> Result<Vec<T>> {
        let mut list = fallible::with_capacity(self.len())?;
        list.extend(self.scalars().map(each));
        if list.len() == self.len() { Ok(list) } else { Err(shrunk()) }
    }

    /// The array converted to another dtype, each element as [`Scalar::cast`].
    pub fn cast(&self, dtype: DType) -> Result<Value> {
        if dtype == self.dtype {
            return Ok(self.clone());
        }
        Value::filled(dtype, &self.shape, |bytes| {
            for (target, scalar) in bytes.chunks_exact_mut(dtype.size()).zip(self.scalars()) {
                target.copy_from_slice(&scalar.cast(dtype).to_le_bytes()[..dtype.size()]);
            }
        })
    }

    /// Whether an input of this dtype accepts this array: whether no value of its dtype would change. For
    /// numbers (`rank` 0) only the given values count, and floats round: `3` and `0.1` are accepted as
    /// float32, `0.5` is not an integer, and 300 not an int8.
    pub(crate) fn converts_to(&self, dtype: DType, rank: usize) -> bool {
        let own = self.dtype;
        if own.promote(dtype) == dtype {
            return true;
        }
        if rank > 0 || own == DType::Bool || dtype == DType::Bool {
            return false;
        }
        // Numbers lose no imaginary part.
        if own.is_complex() || dtype.is_complex() {
            return dtype.is_complex()
                && (own.is_complex() || own.is_float() || self.converts_to(dtype.real(), rank));
        }
        let same = |s: Scalar| {
            let n = s.to_i128();
            let there = s.cast(dtype);
            if dtype.is_float() {
                there.to_f64() == n as f64 && n as f64 as i128 == n
            } else {
                there.to_i128() == n
            }
        };
        if own.is_float() { dtype.is_float() } else { self.scalars().all(same) }
    }

    /// Every element as f64, row-major.
    pub fn to_f64s(&self) -> Vec<f64> {
        self.scalars().map(Scalar::to_f64).collect()
    }

    #[track_caller]
    fn expect_dtype(&self, dtype: DType) -> Result<()> {
        if dtype == self.dtype {
            return Ok(());
        }
        let got = format!("{} (at {}); cast converts it", self.dtype.name(), Location::caller());
        Err(Error::mismatch("array", dtype.name(), got))
    }
}
