//! Conversion of halves to and from f32, vectorized: x86-64 has float16 instructions above the baseline, and
//! bfloat16 needs only a shift.

use workalike_kernels::DType;
use workalike_kernels::level::{Loop, run};

/// Widens halves of this type to f32; both slices have the same length.
pub(super) fn widen(dtype: DType, from: &[u16], to: &mut [f32]) {
    let n = from.len().min(to.len());
    let (from, to) = (&from[..n], &mut to[..n]);
    match dtype {
        DType::F16 => float16::widen(from, to),
        _ => run(WidenBf16 { from, to }),
    }
}

/// Rounds f32 to the bits of a half type, to nearest even.
pub(super) fn narrow(dtype: DType, from: &[f32], to: &mut [u16]) {
    let n = from.len().min(to.len());
    let (from, to) = (&from[..n], &mut to[..n]);
    match dtype {
        DType::F16 => float16::narrow(from, to),
        _ => run(NarrowBf16 { from, to }),
    }
}

struct WidenBf16<'a> {
    from: &'a [u16],
    to: &'a mut [f32],
}

impl Loop for WidenBf16<'_> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        self.to.iter_mut().zip(self.from).for_each(|(to, bits)| *to = f32::from_bits(u32::from(*bits) << 16));
    }
}

struct NarrowBf16<'a> {
    from: &'a [f32],
    to: &'a mut [u16],
}

impl Loop for NarrowBf16<'_> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (to, from) in self.to.iter_mut().zip(self.from) {
            let bits = from.to_bits();
            let odd = (bits >> 16) & 1;
            let near = bits.wrapping_add(0x7fff + odd) >> 16;
            // Truncation may drop the bits that make it a NaN.
            *to = if from.is_nan() { (bits >> 16) | 0x40 } else { near } as u16;
        }
    }
}

/// The level is always the baseline, so `half` may detect what it uses.
#[cfg(not(target_arch = "x86_64"))]
mod float16 {
    use half::f16;
    use half::slice::HalfFloatSliceExt;

    pub(super) fn widen(from: &[u16], to: &mut [f32]) {
        bytemuck::cast_slice::<u16, f16>(from).convert_to_f32_slice(to);
    }

    pub(super) fn narrow(from: &[f32], to: &mut [u16]) {
        bytemuck::cast_slice_mut::<u16, f16>(to).convert_from_f32_slice(from);
    }
}

#[cfg(target_arch = "x86_64")]
mod float16 {
    use half::f16;
    use std::arch::x86_64::*;
    use workalike_kernels::level::{Level, level};

    pub(super) fn widen(from: &[u16], to: &mut [f32]) {
        match level() {
            // The other conversions of `half` detect F16C themselves.
            Level::Baseline => {
                to.iter_mut().zip(from).for_each(|(to, bits)| *to = f16::from_bits(*bits).to_f32_const());
            }
            // SAFETY: the processor has AVX2 and F16C, which are part of both levels.
            Level::Avx2 | Level::Avx512 => unsafe { widen_f16c(from, to) },
        }
    }

    pub(super) fn narrow(from: &[f32], to: &mut [u16]) {
        match level() {
            Level::Baseline => {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = f16::from_f32_const(*from).to_bits());
            }
            // SAFETY: the processor has AVX2 and F16C, which are part of both levels.
            Level::Avx2 | Level::Avx512 => unsafe { narrow_f16c(from, to) },
        }
    }

    /// Both slices have the same length.
    #[target_feature(enable = "avx2,f16c")]
    fn widen_f16c(from: &[u16], to: &mut [f32]) {
        let (sources, rest) = from.as_chunks::<8>();
        let (targets, rest_to) = to.as_chunks_mut::<8>();
        for (from, to) in sources.iter().zip(targets) {
            widen_8(from, to);
        }
        if !rest.is_empty() {
            let (mut last, mut last_to) = ([0; 8], [0.0; 8]);
            last[..rest.len()].copy_from_slice(rest);
            widen_8(&last, &mut last_to);
            rest_to.copy_from_slice(&last_to[..rest_to.len()]);
        }
    }

    /// Both slices have the same length.
    #[target_feature(enable = "avx2,f16c")]
    fn narrow_f16c(from: &[f32], to: &mut [u16]) {
        let (sources, rest) = from.as_chunks::<8>();
        let (targets, rest_to) = to.as_chunks_mut::<8>();
        for (from, to) in sources.iter().zip(targets) {
            narrow_8(from, to);
        }
        if !rest.is_empty() {
            let (mut last, mut last_to) = ([0.0; 8], [0; 8]);
            last[..rest.len()].copy_from_slice(rest);
            narrow_8(&last, &mut last_to);
            rest_to.copy_from_slice(&last_to[..rest_to.len()]);
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn widen_8(from: &[u16; 8], to: &mut [f32; 8]) {
        // SAFETY: eight elements are read, and eight are written; neither access needs alignment.
        unsafe {
            let half = _mm_loadu_si128(from.as_ptr().cast::<__m128i>());
            _mm256_storeu_ps(to.as_mut_ptr(), _mm256_cvtph_ps(half));
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn narrow_8(from: &[f32; 8], to: &mut [u16; 8]) {
        // SAFETY: eight elements are read, and eight are written; neither access needs alignment.
        unsafe {
            let half = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.as_ptr()));
            _mm_storeu_si128(to.as_mut_ptr().cast::<__m128i>(), half);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// Every half, in lengths that are not multiples of a vector.
    #[test]
    fn all_halves_round_trip() {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        for dtype in [DType::F16, DType::BF16] {
            for part in [&all[..], &all[..1], &all[3..10], &all[0x3c00..0x3c00 + 37]] {
                let (mut wide, mut back) = (vec![0.0; part.len()], vec![0; part.len()]);
                widen(dtype, part, &mut wide);
                narrow(dtype, &wide, &mut back);
                for ((bits, wide), back) in part.iter().zip(&wide).zip(&back) {
                    let want = match dtype {
                        DType::F16 => f16::from_bits(*bits).to_f32(),
                        _ => bf16::from_bits(*bits).to_f32(),
                    };
                    assert!(*wide == want || wide.is_nan() && want.is_nan(), "{dtype} {bits:#x}: {wide}");
                    assert!(back == bits || want.is_nan(), "{dtype} {bits:#x}: {back:#x}");
                }
            }
        }
    }

    #[test]
    fn rounding_agrees_with_scalar_casts() {
        let mut values: Vec<f32> =
            (0..60_000u32).map(|k| f32::from_bits(k.wrapping_mul(71_582_789))).collect();
        values.extend([65519.99, 65520.0, -1e-9, 2f32.powi(-25), f32::NAN, f32::from_bits(0x7f80_0001)]);
        for dtype in [DType::F16, DType::BF16] {
            let mut bits = vec![0; values.len()];
            narrow(dtype, &values, &mut bits);
            for (x, bits) in values.iter().zip(&bits) {
                let want = match dtype {
                    DType::F16 => f16::from_f32(*x).to_bits(),
                    _ => bf16::from_f32(*x).to_bits(),
                };
                assert_eq!(*bits, want, "{dtype} {x}");
            }
        }
    }
}
