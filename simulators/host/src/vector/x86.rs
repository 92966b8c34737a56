//! AVX2 with FMA, and AVX-512.

use super::{Vector, VectorElement};
use std::arch::x86_64::*;

impl VectorElement for f32 {
    #[inline(always)]
    unsafe fn transpose_4x4(from: *const f32, step: isize, to: *mut f32, to_step: usize) {
        // SAFETY: the caller guarantees these elements at both addresses; every x86-64 has SSE.
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

impl VectorElement for f64 {
    #[inline(always)]
    unsafe fn transpose_4x4(from: *const f64, step: isize, to: *mut f64, to_step: usize) {
        for i in [0, 2] {
            for j in [0, 2] {
                // SAFETY: the caller guarantees these elements at both addresses; every x86-64 has SSE2.
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

/// Ones, then zeros: a mask of `lanes` ones starts that many before the zeros.
static ONES: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

macro_rules! binary {
    ($($name:ident: $intrinsic:ident),*) => { $(
        #[inline(always)]
        unsafe fn $name(self, other: Self) -> Self {
            // SAFETY: the caller guarantees a processor of the level.
            Self(unsafe { $intrinsic(self.0, other.0) })
        }
    )* };
}

macro_rules! compares {
    ($compare:ident; $($name:ident: $how:ident),*) => { $(
        #[inline(always)]
        unsafe fn $name(self, other: Self) -> Self::Truth {
            // SAFETY: the caller guarantees a processor of the level.
            unsafe { $compare::<$how>(self.0, other.0) }
        }
    )* };
}

/// The methods whose intrinsics have analogous names at all levels.
macro_rules! methods {
    ($t:ty, $compare:ident, [$zero:ident, $splat:ident, $load:ident, $store:ident, $add:ident, $sub:ident, $mul:ident, $div:ident,
     $fma:ident, $max:ident, $min:ident, $sqrt:ident, $xor:ident]) => {
        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: the caller guarantees a processor of the level.
            Self(unsafe { $zero() })
        }
        #[inline(always)]
        unsafe fn splat(x: $t) -> Self {
            // SAFETY: the caller guarantees a processor of the level.
            Self(unsafe { $splat(x) })
        }
        #[inline(always)]
        unsafe fn load(from: *const $t) -> Self {
            // SAFETY: the caller guarantees readable lanes, and a processor of the level.
            Self(unsafe { $load(from) })
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut $t) {
            // SAFETY: the caller guarantees writable lanes, and a processor of the level.
            unsafe { $store(to, self.0) };
        }
        binary!(add: $add, sub: $sub, mul: $mul, div: $div);
        compares!($compare; lt: _CMP_LT_OQ, le: _CMP_LE_OQ, eq: _CMP_EQ_OQ, ne: _CMP_NEQ_UQ);
        #[inline(always)]
        unsafe fn add_product(self, a: Self, b: Self) -> Self {
            // SAFETY: the caller guarantees a processor of the level.
            Self(unsafe { $fma(a.0, b.0, self.0) })
        }
        #[inline(always)]
        unsafe fn neg(self) -> Self {
            // SAFETY: the caller guarantees a processor of the level.
            Self(unsafe { $xor(self.0, $splat(-0.0)) })
        }
        #[inline(always)]
        unsafe fn sqrt(self) -> Self {
            // SAFETY: the caller guarantees a processor of the level.
            Self(unsafe { $sqrt(self.0) })
        }
        #[inline(always)]
        unsafe fn greater(self, x: Self) -> Self {
            // SAFETY: the caller guarantees a processor of the level. The instruction returns the second
            // operand if either is NaN, or both are equal.
            Self(unsafe { $max(x.0, self.0) })
        }
        #[inline(always)]
        unsafe fn less(self, x: Self) -> Self {
            // SAFETY: the caller guarantees a processor of the level. The instruction returns the second
            // operand if either is NaN, or both are equal.
            Self(unsafe { $min(x.0, self.0) })
        }
    };
}

/// Truths of AVX2, as vectors of ones and zeros.
macro_rules! truths_avx2 {
    ($t:ty, $v:ty,
     [$maskload:ident, $maskstore:ident, $zero:ident, $blend:ident, $bits:ident, $from_bits:ident]) => {
        type Item = $t;
        type Truth = $v;
        const LANES: usize = size_of::<$v>() / size_of::<$t>();
        #[inline(always)]
        unsafe fn mask(lanes: usize) -> $v {
            let words = lanes * (size_of::<$t>() / 4);
            // SAFETY: at most eight words, so the offset is 0 to 8, and eight words follow in the sixteen.
            unsafe { $from_bits(_mm256_loadu_si256(ONES.as_ptr().add(8 - words).cast())) }
        }
        #[inline(always)]
        unsafe fn load_part(from: *const $t, mask: $v) -> Self {
            // SAFETY: the caller guarantees readable lanes of the mask, and a processor of the level.
            Self(unsafe { $maskload(from, $bits(mask)) })
        }
        #[inline(always)]
        unsafe fn store_part(self, to: *mut $t, mask: $v) {
            // SAFETY: the caller guarantees writable lanes of the mask, and a processor of the level.
            unsafe { $maskstore(to, $bits(mask), self.0) };
        }
        #[inline(always)]
        unsafe fn never() -> $v {
            // SAFETY: the caller guarantees a processor of the level.
            unsafe { $zero() }
        }
        #[inline(always)]
        unsafe fn choose(truth: $v, yes: Self, no: Self) -> Self {
            // SAFETY: the caller guarantees a processor of the level.
            Self(unsafe { $blend(no.0, yes.0, truth) })
        }
    };
}

impl Vector for Avx2<__m256> {
    truths_avx2!(
        f32,
        __m256,
        [
            _mm256_maskload_ps,
            _mm256_maskstore_ps,
            _mm256_setzero_ps,
            _mm256_blendv_ps,
            _mm256_castps_si256,
            _mm256_castsi256_ps
        ]
    );
    methods!(
        f32,
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
            _mm256_fmadd_ps,
            _mm256_max_ps,
            _mm256_min_ps,
            _mm256_sqrt_ps,
            _mm256_xor_ps
        ]
    );
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: the caller guarantees a processor of the level.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    unsafe fn load_truth(from: *const u8) -> __m256 {
        // SAFETY: the caller guarantees a readable byte for each lane, and a processor of the level.
        unsafe {
            let lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast()));
            _mm256_castsi256_ps(_mm256_cmpgt_epi32(lanes, _mm256_setzero_si256()))
        }
    }
    #[inline(always)]
    unsafe fn store_truth(truth: __m256, to: *mut u8) {
        // SAFETY: the caller guarantees a writable byte for each lane, and a processor of the level.
        unsafe {
            let lanes = _mm256_castps_si256(truth);
            let (low, high) = (_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes));
            let bytes = _mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128());
            _mm_storel_epi64(to.cast(), _mm_and_si128(bytes, _mm_set1_epi8(1)));
        }
    }
}

impl Vector for Avx2<__m256d> {
    truths_avx2!(
        f64,
        __m256d,
        [
            _mm256_maskload_pd,
            _mm256_maskstore_pd,
            _mm256_setzero_pd,
            _mm256_blendv_pd,
            _mm256_castpd_si256,
            _mm256_castsi256_pd
        ]
    );
    methods!(
        f64,
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
            _mm256_fmadd_pd,
            _mm256_max_pd,
            _mm256_min_pd,
            _mm256_sqrt_pd,
            _mm256_xor_pd
        ]
    );
    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        // SAFETY: the caller guarantees a processor of the level.
        unsafe {
            let two = _mm_add_pd(_mm256_castpd256_pd128(self.0), _mm256_extractf128_pd::<1>(self.0));
            _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
        }
    }
    #[inline(always)]
    unsafe fn load_truth(from: *const u8) -> __m256d {
        // SAFETY: the caller guarantees a readable byte for each lane, and a processor of the level.
        unsafe {
            let lanes = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(from.cast::<i32>().read_unaligned()));
            _mm256_castsi256_pd(_mm256_cmpgt_epi64(lanes, _mm256_setzero_si256()))
        }
    }
    #[inline(always)]
    unsafe fn store_truth(truth: __m256d, to: *mut u8) {
        // SAFETY: the caller guarantees a writable byte for each lane, and a processor of the level.
        unsafe {
            let bits = _mm256_movemask_pd(truth) as u32;
            let bytes = bits & 1 | (bits & 2) << 7 | (bits & 4) << 14 | (bits & 8) << 21;
            to.cast::<u32>().write_unaligned(bytes);
        }
    }
}

macro_rules! avx512 {
    ($t:ty, $v:ty, $mask:ty, $lanes:literal, $compare:ident,
     [$load_part:ident, $store_part:ident, $sum:ident, $blend:ident, $load_bytes:ident, $store_bytes:ident], $methods:tt) => {
        impl Vector for Avx512<$v> {
            type Item = $t;
            type Truth = $mask;
            const LANES: usize = $lanes;
            methods!($t, $compare, $methods);
            #[inline(always)]
            unsafe fn mask(lanes: usize) -> $mask {
                ((1u32 << lanes) - 1) as $mask
            }
            #[inline(always)]
            unsafe fn load_part(from: *const $t, mask: $mask) -> Self {
                // SAFETY: the caller guarantees readable lanes of the mask, and a processor of the level.
                Self(unsafe { $load_part(mask, from) })
            }
            #[inline(always)]
            unsafe fn store_part(self, to: *mut $t, mask: $mask) {
                // SAFETY: the caller guarantees writable lanes of the mask, and a processor of the level.
                unsafe { $store_part(to, mask, self.0) };
            }
            #[inline(always)]
            unsafe fn sum(self) -> $t {
                // SAFETY: the caller guarantees a processor of the level.
                unsafe { $sum(self.0) }
            }
            #[inline(always)]
            unsafe fn never() -> $mask {
                0
            }
            #[inline(always)]
            unsafe fn choose(truth: $mask, yes: Self, no: Self) -> Self {
                // SAFETY: the caller guarantees a processor of the level.
                Self(unsafe { $blend(truth, no.0, yes.0) })
            }
            #[inline(always)]
            unsafe fn load_truth(from: *const u8) -> $mask {
                // SAFETY: the caller guarantees a readable byte for each lane, and a processor of the level.
                unsafe {
                    let bytes = $load_bytes(from.cast());
                    _mm_test_epi8_mask(bytes, bytes) as $mask
                }
            }
            #[inline(always)]
            unsafe fn store_truth(truth: $mask, to: *mut u8) {
                // SAFETY: the caller guarantees a writable byte for each lane, and a processor of the level.
                unsafe { $store_bytes(to.cast(), _mm_maskz_set1_epi8(truth as __mmask16, 1)) };
            }
        }
    };
}
avx512!(
    f32,
    __m512,
    __mmask16,
    16,
    _mm512_cmp_ps_mask,
    [
        _mm512_maskz_loadu_ps,
        _mm512_mask_storeu_ps,
        _mm512_reduce_add_ps,
        _mm512_mask_blend_ps,
        _mm_loadu_si128,
        _mm_storeu_si128
    ],
    [
        _mm512_setzero_ps,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_div_ps,
        _mm512_fmadd_ps,
        _mm512_max_ps,
        _mm512_min_ps,
        _mm512_sqrt_ps,
        _mm512_xor_ps
    ]
);
avx512!(
    f64,
    __m512d,
    __mmask8,
    8,
    _mm512_cmp_pd_mask,
    [
        _mm512_maskz_loadu_pd,
        _mm512_mask_storeu_pd,
        _mm512_reduce_add_pd,
        _mm512_mask_blend_pd,
        _mm_loadl_epi64,
        _mm_storel_epi64
    ],
    [
        _mm512_setzero_pd,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_div_pd,
        _mm512_fmadd_pd,
        _mm512_max_pd,
        _mm512_min_pd,
        _mm512_sqrt_pd,
        _mm512_xor_pd
    ]
);
