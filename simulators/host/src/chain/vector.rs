//! Vectors of floats as chains see them: each function gives, lane by lane, bit for bit what the op table's does.

use std::arch::x86_64::*;

/// A vector of f32 or f64.
///
/// # Safety
/// All functions may be called only on processors that have the instructions of the level; pointers must be valid for all
/// lanes, but need not be aligned.
pub(super) trait Lanes: Copy {
    /// A bool for each lane.
    type Mask: Copy;
    const LANES: usize;
    /// Bytes of a lane.
    const SIZE: usize;

    unsafe fn zero() -> Self;
    unsafe fn never() -> Self::Mask;
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    unsafe fn add(self, b: Self) -> Self;
    unsafe fn sub(self, b: Self) -> Self;
    unsafe fn mul(self, b: Self) -> Self;
    unsafe fn div(self, b: Self) -> Self;
    /// NaN if either is; of equals, `b`.
    unsafe fn max(self, b: Self) -> Self;
    unsafe fn min(self, b: Self) -> Self;
    unsafe fn neg(self) -> Self;
    unsafe fn sqrt(self) -> Self;
    unsafe fn lt(self, b: Self) -> Self::Mask;
    unsafe fn le(self, b: Self) -> Self::Mask;
    unsafe fn eq(self, b: Self) -> Self::Mask;
    unsafe fn ne(self, b: Self) -> Self::Mask;
    unsafe fn choose(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// 1 where true, else 0.
    unsafe fn ones(mask: Self::Mask) -> Self;
    /// From bytes, of which any but 0 is true.
    unsafe fn load_mask(from: *const u8) -> Self::Mask;
    /// To bytes, each 0 or 1.
    unsafe fn store_mask(mask: Self::Mask, to: *mut u8);
}

#[derive(Clone, Copy)]
pub(super) struct Avx2<V>(V);

#[derive(Clone, Copy)]
pub(super) struct Avx512<V>(V);

macro_rules! binary {
    ($($name:ident: $intrinsic:ident),*) => { $(
        #[inline(always)]
        unsafe fn $name(self, b: Self) -> Self {
            // SAFETY: the caller's promise.
            Self(unsafe { $intrinsic(self.0, b.0) })
        }
    )* };
}

macro_rules! compares {
    ($cmp:ident, $mask:ty; $($name:ident: $how:ident),*) => { $(
        #[inline(always)]
        unsafe fn $name(self, b: Self) -> $mask {
            // SAFETY: the caller's promise.
            unsafe { $cmp::<$how>(self.0, b.0) }
        }
    )* };
}

/// What all levels do with intrinsics of like names.
macro_rules! methods {
    ($t:ty, $mask:ty, $lanes:literal, $cmp:ident, [$zero:ident, $splat:ident, $load:ident, $store:ident, $add:ident, $sub:ident,
     $mul:ident, $div:ident, $max:ident, $min:ident, $sqrt:ident, $xor:ident]) => {
        type Mask = $mask;
        const LANES: usize = $lanes;
        const SIZE: usize = size_of::<$t>();

        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: the caller's promise.
            Self(unsafe { $zero() })
        }
        #[inline(always)]
        unsafe fn load(from: *const u8) -> Self {
            // SAFETY: the caller's promise.
            Self(unsafe { $load(from.cast()) })
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut u8) {
            // SAFETY: the caller's promise.
            unsafe { $store(to.cast(), self.0) };
        }
        binary!(add: $add, sub: $sub, mul: $mul, div: $div);
        compares!($cmp, $mask; lt: _CMP_LT_OQ, le: _CMP_LE_OQ, eq: _CMP_EQ_OQ, ne: _CMP_NEQ_UQ);
        #[inline(always)]
        unsafe fn max(self, b: Self) -> Self {
            // SAFETY: the caller's promise. The instruction gives `b` if either is NaN, or both are equal.
            unsafe { Self::choose($cmp::<_CMP_UNORD_Q>(self.0, self.0), self, Self($max(self.0, b.0))) }
        }
        #[inline(always)]
        unsafe fn min(self, b: Self) -> Self {
            // SAFETY: the caller's promise. As the maximum.
            unsafe { Self::choose($cmp::<_CMP_UNORD_Q>(self.0, self.0), self, Self($min(self.0, b.0))) }
        }
        #[inline(always)]
        unsafe fn neg(self) -> Self {
            // SAFETY: the caller's promise.
            Self(unsafe { $xor(self.0, $splat(-0.0)) })
        }
        #[inline(always)]
        unsafe fn sqrt(self) -> Self {
            // SAFETY: the caller's promise.
            Self(unsafe { $sqrt(self.0) })
        }
        #[inline(always)]
        unsafe fn ones(mask: $mask) -> Self {
            // SAFETY: the caller's promise.
            unsafe { Self::choose(mask, Self($splat(1.0)), Self($zero())) }
        }
    };
}

impl Lanes for Avx512<__m512> {
    methods!(
        f32,
        __mmask16,
        16,
        _mm512_cmp_ps_mask,
        [
            _mm512_setzero_ps,
            _mm512_set1_ps,
            _mm512_loadu_ps,
            _mm512_storeu_ps,
            _mm512_add_ps,
            _mm512_sub_ps,
            _mm512_mul_ps,
            _mm512_div_ps,
            _mm512_max_ps,
            _mm512_min_ps,
            _mm512_sqrt_ps,
            _mm512_xor_ps
        ]
    );
    #[inline(always)]
    unsafe fn never() -> __mmask16 {
        0
    }
    #[inline(always)]
    unsafe fn choose(mask: __mmask16, yes: Self, no: Self) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm512_mask_blend_ps(mask, no.0, yes.0) })
    }
    #[inline(always)]
    unsafe fn load_mask(from: *const u8) -> __mmask16 {
        // SAFETY: the caller's promise.
        unsafe {
            let bytes = _mm_loadu_si128(from.cast());
            _mm_test_epi8_mask(bytes, bytes)
        }
    }
    #[inline(always)]
    unsafe fn store_mask(mask: __mmask16, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { _mm_storeu_si128(to.cast(), _mm_maskz_set1_epi8(mask, 1)) };
    }
}

impl Lanes for Avx512<__m512d> {
    methods!(
        f64,
        __mmask8,
        8,
        _mm512_cmp_pd_mask,
        [
            _mm512_setzero_pd,
            _mm512_set1_pd,
            _mm512_loadu_pd,
            _mm512_storeu_pd,
            _mm512_add_pd,
            _mm512_sub_pd,
            _mm512_mul_pd,
            _mm512_div_pd,
            _mm512_max_pd,
            _mm512_min_pd,
            _mm512_sqrt_pd,
            _mm512_xor_pd
        ]
    );
    #[inline(always)]
    unsafe fn never() -> __mmask8 {
        0
    }
    #[inline(always)]
    unsafe fn choose(mask: __mmask8, yes: Self, no: Self) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm512_mask_blend_pd(mask, no.0, yes.0) })
    }
    #[inline(always)]
    unsafe fn load_mask(from: *const u8) -> __mmask8 {
        // SAFETY: the caller's promise.
        unsafe {
            let bytes = _mm_loadl_epi64(from.cast());
            _mm_test_epi8_mask(bytes, bytes) as __mmask8
        }
    }
    #[inline(always)]
    unsafe fn store_mask(mask: __mmask8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { _mm_storel_epi64(to.cast(), _mm_maskz_set1_epi8(mask as __mmask16, 1)) };
    }
}

impl Lanes for Avx2<__m256> {
    methods!(
        f32,
        __m256,
        8,
        _mm256_cmp_ps,
        [
            _mm256_setzero_ps,
            _mm256_set1_ps,
            _mm256_loadu_ps,
            _mm256_storeu_ps,
            _mm256_add_ps,
            _mm256_sub_ps,
            _mm256_mul_ps,
            _mm256_div_ps,
            _mm256_max_ps,
            _mm256_min_ps,
            _mm256_sqrt_ps,
            _mm256_xor_ps
        ]
    );
    #[inline(always)]
    unsafe fn never() -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn choose(mask: __m256, yes: Self, no: Self) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_blendv_ps(no.0, yes.0, mask) })
    }
    #[inline(always)]
    unsafe fn load_mask(from: *const u8) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe {
            let lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast()));
            _mm256_castsi256_ps(_mm256_cmpgt_epi32(lanes, _mm256_setzero_si256()))
        }
    }
    #[inline(always)]
    unsafe fn store_mask(mask: __m256, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            let lanes = _mm256_castps_si256(mask);
            let (low, high) = (_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes));
            let bytes = _mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128());
            _mm_storel_epi64(to.cast(), _mm_and_si128(bytes, _mm_set1_epi8(1)));
        }
    }
}

impl Lanes for Avx2<__m256d> {
    methods!(
        f64,
        __m256d,
        4,
        _mm256_cmp_pd,
        [
            _mm256_setzero_pd,
            _mm256_set1_pd,
            _mm256_loadu_pd,
            _mm256_storeu_pd,
            _mm256_add_pd,
            _mm256_sub_pd,
            _mm256_mul_pd,
            _mm256_div_pd,
            _mm256_max_pd,
            _mm256_min_pd,
            _mm256_sqrt_pd,
            _mm256_xor_pd
        ]
    );
    #[inline(always)]
    unsafe fn never() -> __m256d {
        // SAFETY: the caller's promise.
        unsafe { _mm256_setzero_pd() }
    }
    #[inline(always)]
    unsafe fn choose(mask: __m256d, yes: Self, no: Self) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_blendv_pd(no.0, yes.0, mask) })
    }
    #[inline(always)]
    unsafe fn load_mask(from: *const u8) -> __m256d {
        // SAFETY: the caller's promise.
        unsafe {
            let lanes = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(from.cast::<i32>().read_unaligned()));
            _mm256_castsi256_pd(_mm256_cmpgt_epi64(lanes, _mm256_setzero_si256()))
        }
    }
    #[inline(always)]
    unsafe fn store_mask(mask: __m256d, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            let bits = _mm256_movemask_pd(mask) as u32;
            let bytes = bits & 1 | (bits & 2) << 7 | (bits & 4) << 14 | (bits & 8) << 21;
            to.cast::<u32>().write_unaligned(bytes);
        }
    }
}
