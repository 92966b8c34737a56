//! Conversion of halves to and from f32, many at a time: the processor has instructions for float16, and bfloat16 needs a shift.

use workalike_kernels::DType;
use workalike_kernels::level::{Loop, run};

/// Widens halves of this type to f32; `from` and `to` are as long as each other.
pub(super) fn widen(dtype: DType, from: &[u16], to: &mut [f32]) {
    let n = from.len().min(to.len());
    let (from, to) = (&from[..n], &mut to[..n]);
    match dtype {
        DType::F16 => f16::widen(from, to),
        _ => run(WidenBf16 { from, to }),
    }
}

/// Rounds f32 to the bits of a half type, to nearest even.
pub(super) fn narrow(dtype: DType, from: &[f32], to: &mut [u16]) {
    let n = from.len().min(to.len());
    let (from, to) = (&from[..n], &mut to[..n]);
    match dtype {
        DType::F16 => f16::narrow(from, to),
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
            // What makes it a NaN may be in the digits that go.
            *to = if from.is_nan() { (bits >> 16) | 0x40 } else { near } as u16;
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod f16 {
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
mod f16 {
    use half::f16;
    use half::slice::HalfFloatSliceExt;
    use std::arch::x86_64::*;
    use workalike_kernels::level::{Level, level};

    pub(super) fn widen(from: &[u16], to: &mut [f32]) {
        match level() {
            Level::Baseline => bytemuck::cast_slice::<u16, f16>(from).convert_to_f32_slice(to),
            // SAFETY: `level` found these instructions on this processor.
            Level::Avx2 => unsafe { widen_avx2(from, to) },
            // SAFETY: as above.
            Level::Avx512 => unsafe { widen_avx512(from, to) },
        }
    }

    pub(super) fn narrow(from: &[f32], to: &mut [u16]) {
        match level() {
            Level::Baseline => bytemuck::cast_slice_mut::<u16, f16>(to).convert_from_f32_slice(from),
            // SAFETY: `level` found these instructions on this processor.
            Level::Avx2 => unsafe { narrow_avx2(from, to) },
            // SAFETY: as above.
            Level::Avx512 => unsafe { narrow_avx512(from, to) },
        }
    }

    /// Does `$each` for whole vectors of `$lanes`, and for what is left over by way of vectors that are filled up.
    macro_rules! vectors {
        ($from:ident, $to:ident, $lanes:literal, |$source:ident, $target:ident| $each:expr) => {
            let (sources, rest) = $from.as_chunks::<$lanes>();
            let (targets, rest_to) = $to.as_chunks_mut::<$lanes>();
            for ($source, $target) in sources.iter().zip(targets) {
                $each
            }
            if !rest.is_empty() {
                let (mut all, mut all_to) = ([rest[0]; $lanes], [rest_to[0]; $lanes]);
                all[..rest.len()].copy_from_slice(rest);
                {
                    let ($source, $target) = (&all, &mut all_to);
                    $each
                }
                rest_to.copy_from_slice(&all_to[..rest_to.len()]);
            }
        };
    }

    #[target_feature(enable = "avx2,f16c")]
    fn widen_avx2(from: &[u16], to: &mut [f32]) {
        vectors!(from, to, 8, |source, target| {
            // SAFETY: eight lanes are read, and eight are written.
            unsafe {
                let half = _mm_loadu_si128(source.as_ptr().cast::<__m128i>());
                _mm256_storeu_ps(target.as_mut_ptr(), _mm256_cvtph_ps(half));
            }
        });
    }

    #[target_feature(enable = "avx512f,avx2,f16c")]
    fn widen_avx512(from: &[u16], to: &mut [f32]) {
        vectors!(from, to, 16, |source, target| {
            // SAFETY: sixteen lanes are read, and sixteen are written.
            unsafe {
                let half = _mm256_loadu_si256(source.as_ptr().cast::<__m256i>());
                _mm512_storeu_ps(target.as_mut_ptr(), _mm512_cvtph_ps(half));
            }
        });
    }

    #[target_feature(enable = "avx2,f16c")]
    fn narrow_avx2(from: &[f32], to: &mut [u16]) {
        vectors!(from, to, 8, |source, target| {
            // SAFETY: eight lanes are read, and eight are written.
            unsafe {
                let half = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(source.as_ptr()));
                _mm_storeu_si128(target.as_mut_ptr().cast::<__m128i>(), half);
            }
        });
    }

    #[target_feature(enable = "avx512f,avx2,f16c")]
    fn narrow_avx512(from: &[f32], to: &mut [u16]) {
        vectors!(from, to, 16, |source, target| {
            // SAFETY: sixteen lanes are read, and sixteen are written.
            unsafe {
                let half = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_loadu_ps(source.as_ptr()));
                _mm256_storeu_si256(target.as_mut_ptr().cast::<__m256i>(), half);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;

    /// Every half, and lengths that are no whole vectors.
    #[test]
    fn all_halves_come_through() {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        for dtype in [DType::F16, DType::BF16] {
            for part in [&all[..], &all[..1], &all[3..10], &all[0x3c00..0x3c00 + 37]] {
                let (mut wide, mut back) = (vec![0.0; part.len()], vec![0; part.len()]);
                widen(dtype, part, &mut wide);
                narrow(dtype, &wide, &mut back);
                for ((bits, wide), back) in part.iter().zip(&wide).zip(&back) {
                    let want = match dtype {
                        DType::F16 => half::f16::from_bits(*bits).to_f32(),
                        _ => bf16::from_bits(*bits).to_f32(),
                    };
                    assert!(*wide == want || wide.is_nan() && want.is_nan(), "{dtype} {bits:#x}: {wide}");
                    assert!(back == bits || want.is_nan(), "{dtype} {bits:#x}: {back:#x}");
                }
            }
        }
    }

    #[test]
    fn roundings_are_those_of_the_scalar() {
        let mut values: Vec<f32> =
            (0..60_000u32).map(|k| f32::from_bits(k.wrapping_mul(71_582_789))).collect();
        values.extend([65519.99, 65520.0, -1e-9, 2f32.powi(-25), f32::NAN, f32::from_bits(0x7f80_0001)]);
        for dtype in [DType::F16, DType::BF16] {
            let mut bits = vec![0; values.len()];
            narrow(dtype, &values, &mut bits);
            for (x, bits) in values.iter().zip(&bits) {
                let want = match dtype {
                    DType::F16 => half::f16::from_f32(*x).to_bits(),
                    _ => bf16::from_f32(*x).to_bits(),
                };
                assert_eq!(*bits, want, "{dtype} {x}");
            }
        }
    }
}
