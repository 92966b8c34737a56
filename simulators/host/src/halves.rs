//! Conversion of halves to and from f32, many at a time. `half` uses the processor's instructions for float16; bfloat16 needs a
//! shift.

use half::f16;
use half::slice::HalfFloatSliceExt;
use workalike_kernels::DType;
use workalike_kernels::level::{Loop, run};

/// Widens halves of this type to f32; `from` and `to` are as long as each other.
pub(super) fn widen(dtype: DType, from: &[u16], to: &mut [f32]) {
    let n = from.len().min(to.len());
    let (from, to) = (&from[..n], &mut to[..n]);
    match dtype {
        DType::F16 => bytemuck::cast_slice::<u16, f16>(from).convert_to_f32_slice(to),
        _ => run(WidenBf16 { from, to }),
    }
}

/// Rounds f32 to the bits of a half type, to nearest even.
pub(super) fn narrow(dtype: DType, from: &[f32], to: &mut [u16]) {
    let n = from.len().min(to.len());
    let (from, to) = (&from[..n], &mut to[..n]);
    match dtype {
        DType::F16 => bytemuck::cast_slice_mut::<u16, f16>(to).convert_from_f32_slice(from),
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
    fn roundings_are_those_of_the_scalar() {
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
