//! Conversion of halves to and from f32, in operations that vectorize at every level.

use super::cast::CastLoop;
use workalike_kernels::DType;
use workalike_kernels::level::run;

/// Widens halves of this type to f32; both slices have the same length.
pub(super) fn widen(dtype: DType, from: &[u16], to: &mut [f32]) {
    match dtype {
        DType::F16 => run(CastLoop { from, to, cast: widen_f16 }),
        _ => run(CastLoop { from, to, cast: widen_bf16 }),
    }
}

/// Rounds f32 to the bits of a half type, to nearest even.
pub(super) fn narrow(dtype: DType, from: &[f32], to: &mut [u16]) {
    match dtype {
        DType::F16 => run(CastLoop { from, to, cast: narrow_f16 }),
        _ => run(CastLoop { from, to, cast: narrow_bf16 }),
    }
}

/// Rounds to a half, which stays f32.
#[inline(always)]
pub(super) fn round<const F16: bool>(x: f32) -> f32 {
    widen_one::<F16>(narrow_one::<F16>(x))
}

#[inline(always)]
pub(super) fn widen_one<const F16: bool>(bits: u16) -> f32 {
    if F16 { widen_f16(bits) } else { widen_bf16(bits) }
}

#[inline(always)]
pub(super) fn narrow_one<const F16: bool>(x: f32) -> u16 {
    if F16 { narrow_f16(x) } else { narrow_bf16(x) }
}

#[inline(always)]
fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[inline(always)]
fn narrow_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let odd = (bits >> 16) & 1;
    let near = bits.wrapping_add(0x7fff + odd) >> 16;
    // Truncation may drop the bits that make it a NaN.
    let bits = if x.is_nan() { (bits >> 16) | 0x40 } else { near };
    bits as u16
}

/// The bits of 2 to the power of -14, the least f16 that is not subnormal.
const NORMAL: u32 = 113 << 23;
/// The exponents of f32 minus those of f16.
const BIAS: u32 = 112 << 23;
/// The bits of 0.5, whose last bit is worth as much as that of subnormal f16: 2 to the power of -24.
const HALF: u32 = 126 << 23;

#[inline(always)]
fn widen_f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff) << 13;
    // Infinity and NaN have the greatest exponent of both types.
    let bias = if bits & 0x7c00 == 0x7c00 { 2 * BIAS } else { BIAS };
    let subnormal = (f32::from_bits(magnitude + NORMAL) - f32::from_bits(NORMAL)).to_bits();
    let wide = if bits & 0x7c00 == 0 { subnormal } else { magnitude + bias };
    f32::from_bits(sign | wide)
}

#[inline(always)]
fn narrow_f16(x: f32) -> u16 {
    let bits = x.to_bits();
    let (sign, magnitude) = ((bits >> 16) & 0x8000, bits & 0x7fff_ffff);
    let odd = (magnitude >> 13) & 1;
    // What is too large becomes infinity.
    let normal = (magnitude.wrapping_sub(BIAS).wrapping_add(0xfff + odd) >> 13).min(0x7c00);
    // The addition rounds to the last bit of a subnormal number.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(HALF);
    let number = if magnitude < NORMAL { subnormal } else { normal };
    let nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    (sign | if x.is_nan() { nan } else { number }) as u16
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
