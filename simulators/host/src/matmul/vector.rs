//! Vectors of one level of instructions, as the kernels of products and of folds see them.
//!
//! The first lanes of a vector can be loaded and stored alone, so that ragged edges cost what full vectors do.

use std::fmt::Debug;
use std::ops::Add;

/// f32 or f64.
pub(crate) trait Element: Copy + Debug + Default + Send + Sync + Add<Output = Self> + 'static {
    /// Bytes.
    const SIZE: usize = size_of::<Self>();

    /// The transpose of a 4 by 4 block: element `j` of row `i`, at `from[i * step + j]`, goes to `to[j * to_step + i]`.
    ///
    /// # Safety
    /// All sixteen must be valid at both places, which must not overlap.
    unsafe fn transpose_4x4(from: *const Self, step: isize, to: *mut Self, to_step: usize);
}

/// A vector.
///
/// # Safety
/// All functions may be called only on processors that have the instructions of the level; pointers must be valid for the lanes
/// that are loaded or stored.
pub(crate) trait Vector: Copy {
    type Item: Element;
    /// Which lanes: the first so many.
    type Mask: Copy;
    /// In which lanes a NaN was seen.
    type Seen: Copy;
    const LANES: usize;

    unsafe fn zero() -> Self;
    unsafe fn splat(x: Self::Item) -> Self;
    /// The first `lanes`, at most [`Vector::LANES`].
    unsafe fn mask(lanes: usize) -> Self::Mask;
    unsafe fn load(from: *const Self::Item) -> Self;
    /// Lanes outside the mask are zero, and not read.
    unsafe fn load_part(from: *const Self::Item, mask: Self::Mask) -> Self;
    unsafe fn store(self, to: *mut Self::Item);
    unsafe fn store_part(self, to: *mut Self::Item, mask: Self::Mask);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// `self + a * b`.
    unsafe fn add_product(self, a: Self, b: Self) -> Self;
    /// The sum of all lanes, in a fixed order.
    unsafe fn sum(self) -> Self::Item;
    /// `x` where it is greater than `self`, else `self`; so a NaN in `x` changes nothing.
    unsafe fn greater(self, x: Self) -> Self;
    /// `x` where it is less than `self`, else `self`.
    unsafe fn less(self, x: Self) -> Self;
    /// 0 in place of NaN.
    unsafe fn number_or_zero(self) -> Self;
    unsafe fn unseen() -> Self::Seen;
    /// What was seen, and the lanes in which `a` or `b` is NaN.
    unsafe fn see(seen: Self::Seen, a: Self, b: Self) -> Self::Seen;
    unsafe fn saw(seen: Self::Seen) -> bool;
}

/// What the compiler's target has anyway.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T, const L: usize>([T; L]);

const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

macro_rules! plain {
    ($t:ty, $lanes:literal) => {
        impl Vector for Plain<$t, $lanes> {
            type Item = $t;
            type Mask = usize;
            type Seen = bool;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> Self {
                Plain([0.0; $lanes])
            }
            #[inline(always)]
            unsafe fn splat(x: $t) -> Self {
                Plain([x; $lanes])
            }
            #[inline(always)]
            unsafe fn mask(lanes: usize) -> usize {
                lanes
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: the caller's promise.
                Plain(unsafe { from.cast::<[$t; $lanes]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn load_part(from: *const $t, mask: usize) -> Self {
                if mask == $lanes {
                    // SAFETY: the caller's promise.
                    return unsafe { Self::load(from) };
                }
                let mut all = [0.0; $lanes];
                for (i, lane) in all.iter_mut().enumerate() {
                    if i < mask {
                        // SAFETY: the caller's promise.
                        *lane = unsafe { *from.add(i) };
                    }
                }
                Plain(all)
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: the caller's promise.
                unsafe { to.cast::<[$t; $lanes]>().write_unaligned(self.0) };
            }
            #[inline(always)]
            unsafe fn store_part(self, to: *mut $t, mask: usize) {
                if mask == $lanes {
                    // SAFETY: the caller's promise.
                    return unsafe { self.store(to) };
                }
                for (i, lane) in self.0.into_iter().enumerate() {
                    if i < mask {
                        // SAFETY: the caller's promise.
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
                    self.0[i] = if FUSED { a.mul_add(b, self.0[i]) } else { self.0[i] + a * b };
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
            unsafe fn number_or_zero(mut self) -> Self {
                for x in &mut self.0 {
                    *x = if x.is_nan() { 0.0 } else { *x };
                }
                self
            }
            #[inline(always)]
            unsafe fn unseen() -> bool {
                false
            }
            #[inline(always)]
            unsafe fn see(mut seen: bool, a: Self, b: Self) -> bool {
                for i in 0..$lanes {
                    seen |= a.0[i].is_nan() | b.0[i].is_nan();
                }
                seen
            }
            #[inline(always)]
            unsafe fn saw(seen: bool) -> bool {
                seen
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
                    // SAFETY: the caller's promise.
                    unsafe { *to.add(j * to_step + i) = *from.offset(i as isize * step).add(j) };
                }
            }
        }
    })* };
}
#[cfg(not(target_arch = "x86_64"))]
scalar_transpose!(f32, f64);

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! AVX2 with FMA, and AVX-512.

    use super::{Element, Vector};
    use std::arch::x86_64::*;

    impl Element for f32 {
        #[inline(always)]
        unsafe fn transpose_4x4(from: *const f32, step: isize, to: *mut f32, to_step: usize) {
            // SAFETY: the caller's promise; every x86-64 has SSE.
            unsafe {
                let [a, b, c, d] = [0, 1, 2, 3].map(|i| _mm_loadu_ps(from.offset(i * step)));
                let (low, high) = (_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
                let (low_2, high_2) = (_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
                _mm_storeu_ps(to, _mm_movelh_ps(low, low_2));
                _mm_storeu_ps(to.add(to_step), _mm_movehl_ps(low_2, low));
                _mm_storeu_ps(to.add(2 * to_step), _mm_movelh_ps(high, high_2));
                _mm_storeu_ps(to.add(3 * to_step), _mm_movehl_ps(high_2, high));
            }
        }
    }

    impl Element for f64 {
        #[inline(always)]
        unsafe fn transpose_4x4(from: *const f64, step: isize, to: *mut f64, to_step: usize) {
            for i in [0, 2] {
                for j in [0, 2] {
                    // SAFETY: the caller's promise; every x86-64 has SSE2.
                    unsafe {
                        let from = from.offset(i as isize * step).add(j);
                        let to = to.add(j * to_step + i);
                        let (a, b) = (_mm_loadu_pd(from), _mm_loadu_pd(from.offset(step)));
                        _mm_storeu_pd(to, _mm_unpacklo_pd(a, b));
                        _mm_storeu_pd(to.add(to_step), _mm_unpackhi_pd(a, b));
                    }
                }
            }
        }
    }

    #[derive(Clone, Copy)]
    pub(crate) struct Avx2<V>(V);

    #[derive(Clone, Copy)]
    pub(crate) struct Avx512<V>(V);

    /// All ones, then zeros: a mask of `lanes` begins so many before the zeros.
    static ONES: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

    macro_rules! methods {
        ($t:ty, $zero:ident, $splat:ident, $load:ident, $store:ident, $add:ident, $mul:ident, $fma:ident, $max:ident, $min:ident) => {
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { $zero() })
            }
            #[inline(always)]
            unsafe fn splat(x: $t) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { $splat(x) })
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { $load(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: the caller's promise.
                unsafe { $store(to, self.0) };
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { $add(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn mul(self, other: Self) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { $mul(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn add_product(self, a: Self, b: Self) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { $fma(a.0, b.0, self.0) })
            }
            #[inline(always)]
            unsafe fn greater(self, x: Self) -> Self {
                // SAFETY: the caller's promise. The instruction gives the second one if either is NaN.
                Self(unsafe { $max(x.0, self.0) })
            }
            #[inline(always)]
            unsafe fn less(self, x: Self) -> Self {
                // SAFETY: the caller's promise. As the maximum.
                Self(unsafe { $min(x.0, self.0) })
            }
        };
    }

    /// NaNs of AVX2, as vectors of ones and zeros.
    macro_rules! seen_avx2 {
        ($v:ty, $zero:ident, $compare:ident, $or:ident, $bits:ident, $and:ident) => {
            #[inline(always)]
            unsafe fn number_or_zero(self) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { $and($compare::<_CMP_ORD_Q>(self.0, self.0), self.0) })
            }
            #[inline(always)]
            unsafe fn unseen() -> $v {
                // SAFETY: the caller's promise.
                unsafe { $zero() }
            }
            #[inline(always)]
            unsafe fn see(seen: $v, a: Self, b: Self) -> $v {
                // SAFETY: the caller's promise.
                unsafe { $or(seen, $compare::<_CMP_UNORD_Q>(a.0, b.0)) }
            }
            #[inline(always)]
            unsafe fn saw(seen: $v) -> bool {
                // SAFETY: the caller's promise.
                unsafe { $bits(seen) != 0 }
            }
        };
    }

    impl Vector for Avx2<__m256> {
        type Item = f32;
        type Mask = __m256i;
        type Seen = __m256;
        const LANES: usize = 8;
        seen_avx2!(__m256, _mm256_setzero_ps, _mm256_cmp_ps, _mm256_or_ps, _mm256_movemask_ps, _mm256_and_ps);
        methods!(
            f32,
            _mm256_setzero_ps,
            _mm256_set1_ps,
            _mm256_loadu_ps,
            _mm256_storeu_ps,
            _mm256_add_ps,
            _mm256_mul_ps,
            _mm256_fmadd_ps,
            _mm256_max_ps,
            _mm256_min_ps
        );
        #[inline(always)]
        unsafe fn mask(lanes: usize) -> __m256i {
            // SAFETY: at most eight lanes, so from 0 to 8 of sixteen on there are eight more.
            unsafe { _mm256_loadu_si256(ONES.as_ptr().add(8 - lanes).cast()) }
        }
        #[inline(always)]
        unsafe fn load_part(from: *const f32, mask: __m256i) -> Self {
            // SAFETY: the caller's promise.
            Self(unsafe { _mm256_maskload_ps(from, mask) })
        }
        #[inline(always)]
        unsafe fn store_part(self, to: *mut f32, mask: __m256i) {
            // SAFETY: the caller's promise.
            unsafe { _mm256_maskstore_ps(to, mask, self.0) };
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            // SAFETY: the caller's promise.
            unsafe {
                let four = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
                let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
                _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
            }
        }
    }

    impl Vector for Avx2<__m256d> {
        type Item = f64;
        type Mask = __m256i;
        type Seen = __m256d;
        const LANES: usize = 4;
        seen_avx2!(
            __m256d,
            _mm256_setzero_pd,
            _mm256_cmp_pd,
            _mm256_or_pd,
            _mm256_movemask_pd,
            _mm256_and_pd
        );
        methods!(
            f64,
            _mm256_setzero_pd,
            _mm256_set1_pd,
            _mm256_loadu_pd,
            _mm256_storeu_pd,
            _mm256_add_pd,
            _mm256_mul_pd,
            _mm256_fmadd_pd,
            _mm256_max_pd,
            _mm256_min_pd
        );
        #[inline(always)]
        unsafe fn mask(lanes: usize) -> __m256i {
            // SAFETY: at most four lanes of two words, so from 0 to 8 of sixteen words on there are eight more.
            unsafe { _mm256_loadu_si256(ONES.as_ptr().add(8 - 2 * lanes).cast()) }
        }
        #[inline(always)]
        unsafe fn load_part(from: *const f64, mask: __m256i) -> Self {
            // SAFETY: the caller's promise.
            Self(unsafe { _mm256_maskload_pd(from, mask) })
        }
        #[inline(always)]
        unsafe fn store_part(self, to: *mut f64, mask: __m256i) {
            // SAFETY: the caller's promise.
            unsafe { _mm256_maskstore_pd(to, mask, self.0) };
        }
        #[inline(always)]
        unsafe fn sum(self) -> f64 {
            // SAFETY: the caller's promise.
            unsafe {
                let two = _mm_add_pd(_mm256_castpd256_pd128(self.0), _mm256_extractf128_pd::<1>(self.0));
                _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
            }
        }
    }

    macro_rules! avx512 {
        ($t:ty, $v:ty, $mask:ty, $lanes:literal, $load_part:ident, $store_part:ident, $sum:ident, $compare:ident, $some:ident,
         [$($method:ident),*]) => {
            impl Vector for Avx512<$v> {
                type Item = $t;
                type Mask = $mask;
                type Seen = $mask;
                const LANES: usize = $lanes;
                methods!($t, $($method),*);
                #[inline(always)]
                unsafe fn mask(lanes: usize) -> $mask {
                    ((1u32 << lanes) - 1) as $mask
                }
                #[inline(always)]
                unsafe fn load_part(from: *const $t, mask: $mask) -> Self {
                    // SAFETY: the caller's promise.
                    Self(unsafe { $load_part(mask, from) })
                }
                #[inline(always)]
                unsafe fn store_part(self, to: *mut $t, mask: $mask) {
                    // SAFETY: the caller's promise.
                    unsafe { $store_part(to, mask, self.0) };
                }
                #[inline(always)]
                unsafe fn sum(self) -> $t {
                    // SAFETY: the caller's promise.
                    unsafe { $sum(self.0) }
                }
                #[inline(always)]
                unsafe fn number_or_zero(self) -> Self {
                    // SAFETY: the caller's promise.
                    Self(unsafe { $some($compare::<_CMP_ORD_Q>(self.0, self.0), self.0) })
                }
                #[inline(always)]
                unsafe fn unseen() -> $mask {
                    0
                }
                #[inline(always)]
                unsafe fn see(seen: $mask, a: Self, b: Self) -> $mask {
                    // SAFETY: the caller's promise.
                    seen | unsafe { $compare::<_CMP_UNORD_Q>(a.0, b.0) }
                }
                #[inline(always)]
                unsafe fn saw(seen: $mask) -> bool {
                    seen != 0
                }
            }
        };
    }
    avx512!(
        f32,
        __m512,
        __mmask16,
        16,
        _mm512_maskz_loadu_ps,
        _mm512_mask_storeu_ps,
        _mm512_reduce_add_ps,
        _mm512_cmp_ps_mask,
        _mm512_maskz_mov_ps,
        [
            _mm512_setzero_ps,
            _mm512_set1_ps,
            _mm512_loadu_ps,
            _mm512_storeu_ps,
            _mm512_add_ps,
            _mm512_mul_ps,
            _mm512_fmadd_ps,
            _mm512_max_ps,
            _mm512_min_ps
        ]
    );
    avx512!(
        f64,
        __m512d,
        __mmask8,
        8,
        _mm512_maskz_loadu_pd,
        _mm512_mask_storeu_pd,
        _mm512_reduce_add_pd,
        _mm512_cmp_pd_mask,
        _mm512_maskz_mov_pd,
        [
            _mm512_setzero_pd,
            _mm512_set1_pd,
            _mm512_loadu_pd,
            _mm512_storeu_pd,
            _mm512_add_pd,
            _mm512_mul_pd,
            _mm512_fmadd_pd,
            _mm512_max_pd,
            _mm512_min_pd
        ]
    );
}
