//! Vectors of one instruction set level, for the kernels of products, folds and chains.
//!
//! The first lanes of a vector can be loaded and stored alone, so that remainders cost no more than whole
//! vectors. The operations that chains use have the same bits, lane by lane, as the op table's.

#[cfg(target_arch = "x86_64")]
mod x86;

use bytemuck::Pod;
use std::array::from_fn;
use std::fmt::Debug;
use std::ops::Add;
use workalike_kernels::level::BASELINE_FMA;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

/// f32 or f64.
pub(crate) trait VectorElement:
    Pod + Debug + Default + From<u8> + Send + Sync + Add<Output = Self>
{
    /// Bytes.
    const SIZE: usize = size_of::<Self>();

    /// The transpose of a 4 by 4 block: element `j` of row `i`, at `from[i * step + j]`, goes to `to[j *
    /// to_step + i]`.
    ///
    /// # Safety
    /// All sixteen must be valid at both addresses, which must not overlap.
    unsafe fn transpose_4x4(from: *const Self, step: isize, to: *mut Self, to_step: usize);
}

/// A vector.
///
/// The functions may be called only on processors that have the instructions of the level. Pointers need no
/// alignment, but must be readable for all loaded lanes and writable for all stored ones, which are those of
/// the [mask](Vector::mask) where one is given.
pub(crate) trait Vector: Copy {
    type Item: VectorElement;
    /// A bool for each lane.
    type Truth: Copy;
    const LANES: usize;

    unsafe fn zero() -> Self;
    unsafe fn splat(x: Self::Item) -> Self;
    /// The first `lanes`, at most [`Vector::LANES`].
    unsafe fn mask(lanes: usize) -> Self::Truth;
    unsafe fn load(from: *const Self::Item) -> Self;
    /// Lanes outside the mask are zero, and not read.
    unsafe fn load_part(from: *const Self::Item, mask: Self::Truth) -> Self;
    unsafe fn store(self, to: *mut Self::Item);
    unsafe fn store_part(self, to: *mut Self::Item, mask: Self::Truth);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    unsafe fn neg(self) -> Self;
    unsafe fn sqrt(self) -> Self;
    /// `self + a * b`.
    unsafe fn add_product(self, a: Self, b: Self) -> Self;
    /// The sum of all lanes, in a fixed order.
    unsafe fn sum(self) -> Self::Item;
    /// `x` where it is greater than `self`, else `self`; so a NaN in `x` changes nothing.
    unsafe fn greater(self, x: Self) -> Self;
    /// `x` where it is less than `self`, else `self`.
    unsafe fn less(self, x: Self) -> Self;
    unsafe fn lt(self, other: Self) -> Self::Truth;
    unsafe fn le(self, other: Self) -> Self::Truth;
    unsafe fn eq(self, other: Self) -> Self::Truth;
    unsafe fn ne(self, other: Self) -> Self::Truth;
    unsafe fn never() -> Self::Truth;
    unsafe fn choose(truth: Self::Truth, yes: Self, no: Self) -> Self;
    /// From bytes, of which any but 0 is true.
    unsafe fn load_truth(from: *const u8) -> Self::Truth;
    /// To bytes, each 0 or 1.
    unsafe fn store_truth(truth: Self::Truth, to: *mut u8);

    /// The greater one; NaN if either is NaN; of equals, `other`.
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: the caller guarantees a processor of the level. Only NaN differs from itself; a NaN in
        // `other` is not exceeded.
        unsafe { Self::choose(self.ne(self), self, other.greater(self)) }
    }
    /// The lesser one; NaN if either is NaN; of equals, `other`.
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        // SAFETY: the caller guarantees a processor of the level. Only NaN differs from itself; a NaN in
        // `other` is kept, for no lane is less.
        unsafe { Self::choose(self.ne(self), self, other.less(self)) }
    }
    /// 1 where true, else 0.
    #[inline(always)]
    unsafe fn ones(truth: Self::Truth) -> Self {
        // SAFETY: the caller guarantees a processor of the level.
        unsafe { Self::choose(truth, Self::splat(1u8.into()), Self::zero()) }
    }
}

/// Portable vectors, for the instruction set of the compilation target.
#[derive(Clone, Copy)]
pub(crate) struct PortableVector<T, const L: usize>([T; L]);

macro_rules! plain {
    ($t:ty, $lanes:literal) => {
        impl Vector for PortableVector<$t, $lanes> {
            type Item = $t;
            type Truth = [bool; $lanes];
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> Self {
                PortableVector([0.0; $lanes])
            }
            #[inline(always)]
            unsafe fn splat(x: $t) -> Self {
                PortableVector([x; $lanes])
            }
            #[inline(always)]
            unsafe fn mask(lanes: usize) -> Self::Truth {
                from_fn(|i| i < lanes)
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: the caller guarantees readable lanes; an unaligned read takes them from anywhere.
                PortableVector(unsafe { from.cast::<[$t; $lanes]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn load_part(from: *const $t, mask: Self::Truth) -> Self {
                if mask == [true; $lanes] {
                    // SAFETY: the caller guarantees that the lanes of the mask are readable.
                    return unsafe { Self::load(from) };
                }
                let mut all = [0.0; $lanes];
                for (i, lane) in all.iter_mut().enumerate() {
                    if mask[i] {
                        // SAFETY: the caller guarantees that the lanes of the mask are readable.
                        *lane = unsafe { *from.add(i) };
                    }
                }
                PortableVector(all)
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: the caller guarantees writable lanes; an unaligned write puts them anywhere.
                unsafe { to.cast::<[$t; $lanes]>().write_unaligned(self.0) };
            }
            #[inline(always)]
            unsafe fn store_part(self, to: *mut $t, mask: Self::Truth) {
                if mask == [true; $lanes] {
                    // SAFETY: the caller guarantees that the lanes of the mask are writable.
                    return unsafe { self.store(to) };
                }
                for (i, lane) in self.0.into_iter().enumerate() {
                    if mask[i] {
                        // SAFETY: the caller guarantees that the lanes of the mask are writable.
                        unsafe { *to.add(i) = lane };
                    }
                }
            }
            #[inline(always)]
            unsafe fn add(mut self, other: Self) -> Self {
                for i in 0..$lanes {
                    self.0[i] += other.0[i];
                }
                self
            }
            #[inline(always)]
            unsafe fn sub(mut self, other: Self) -> Self {
                for i in 0..$lanes {
                    self.0[i] -= other.0[i];
                }
                self
            }
            #[inline(always)]
            unsafe fn div(mut self, other: Self) -> Self {
                for i in 0..$lanes {
                    self.0[i] /= other.0[i];
                }
                self
            }
            #[inline(always)]
            unsafe fn neg(self) -> Self {
                PortableVector(self.0.map(|x| -x))
            }
            #[inline(always)]
            unsafe fn sqrt(self) -> Self {
                PortableVector(self.0.map(<$t>::sqrt))
            }
            #[inline(always)]
            unsafe fn mul(mut self, other: Self) -> Self {
                for i in 0..$lanes {
                    self.0[i] *= other.0[i];
                }
                self
            }
            #[inline(always)]
            unsafe fn add_product(mut self, a: Self, b: Self) -> Self {
                for i in 0..$lanes {
                    let (a, b) = (a.0[i], b.0[i]);
                    self.0[i] = if BASELINE_FMA { a.mul_add(b, self.0[i]) } else { self.0[i] + a * b };
                }
                self
            }
            #[inline(always)]
            unsafe fn sum(self) -> $t {
                self.0.into_iter().sum()
            }
            #[inline(always)]
            unsafe fn greater(mut self, x: Self) -> Self {
                for i in 0..$lanes {
                    self.0[i] = if x.0[i] > self.0[i] { x.0[i] } else { self.0[i] };
                }
                self
            }
            #[inline(always)]
            unsafe fn less(mut self, x: Self) -> Self {
                for i in 0..$lanes {
                    self.0[i] = if x.0[i] < self.0[i] { x.0[i] } else { self.0[i] };
                }
                self
            }
            #[inline(always)]
            unsafe fn lt(self, other: Self) -> Self::Truth {
                from_fn(|i| self.0[i] < other.0[i])
            }
            #[inline(always)]
            unsafe fn le(self, other: Self) -> Self::Truth {
                from_fn(|i| self.0[i] <= other.0[i])
            }
            #[inline(always)]
            unsafe fn eq(self, other: Self) -> Self::Truth {
                from_fn(|i| self.0[i] == other.0[i])
            }
            #[inline(always)]
            unsafe fn ne(self, other: Self) -> Self::Truth {
                from_fn(|i| self.0[i] != other.0[i])
            }
            #[inline(always)]
            unsafe fn never() -> Self::Truth {
                [false; $lanes]
            }
            #[inline(always)]
            unsafe fn choose(truth: Self::Truth, yes: Self, no: Self) -> Self {
                PortableVector(from_fn(|i| if truth[i] { yes.0[i] } else { no.0[i] }))
            }
            #[inline(always)]
            unsafe fn load_truth(from: *const u8) -> Self::Truth {
                // SAFETY: the caller guarantees a readable byte for each lane.
                let bytes = unsafe { from.cast::<[u8; $lanes]>().read() };
                bytes.map(|byte| byte != 0)
            }
            #[inline(always)]
            unsafe fn store_truth(truth: Self::Truth, to: *mut u8) {
                // SAFETY: the caller guarantees a writable byte for each lane.
                unsafe { to.cast::<[u8; $lanes]>().write(truth.map(u8::from)) };
            }
        }
    };
}
plain!(f32, 4);
plain!(f64, 2);

#[cfg(not(target_arch = "x86_64"))]
macro_rules! scalar_transpose {
    ($($t:ty),*) => { $(impl Element for $t {
        #[inline(always)]
        unsafe fn transpose_4x4(from: *const $t, step: isize, to: *mut $t, to_step: usize) {
            for i in 0..4 {
                for j in 0..4 {
                    // SAFETY: `i` and `j` are below 4, and the caller guarantees these sixteen at both
                    // addresses.
                    unsafe { *to.add(j * to_step + i) = *from.offset(i as isize * step).add(j) };
                }
            }
        }
    })* };
}
#[cfg(not(target_arch = "x86_64"))]
scalar_transpose!(f32, f64);
