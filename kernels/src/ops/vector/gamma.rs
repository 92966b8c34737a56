//! The gamma function: from 0 to 8 the recurrence reduces the argument to a series between 1 and 2; elsewhere
//! Stirling's series and reflection are used.
//!
//! The second method costs several times the first. A block of lanes is recomputed by it if any of its lanes
//! needs it.

use super::Vector;
use super::float::{MachineFloat, choose, horner};
use crate::dtype::DType;
use crate::ops::host_loops::{HostLoops, LoopBody, lanes, lanes_mut, tiles};
use std::f64::consts::PI;

/// `1 / gamma(x)` in `2 x - 3`, for x from 1 to 2.
#[rustfmt::skip]
const INVERSE: [f64; 16] = [
    std::f64::consts::FRAC_2_SQRT_PI, -0.020_587_263_222_641_55, -0.131_663_608_881_386_17,
    0.021_887_753_255_491_794, 0.003_185_428_765_482_7, -0.001_317_349_042_766_369_6,
    0.000_103_326_528_535_544_06, 1.656_821_439_279_107_2e-5, -4.338_790_023_175_905e-6,
    2.975_734_857_523_557_6e-7, 2.476_086_975_259_896e-8, -6.785_564_183_706_895e-9,
    5.265_033_028_381_591e-10, 7.088_662_914_563_05e-12, -5.494_526_824_267_024e-12,
    5.131_033_939_660_537e-13,
];
/// `B(2k) / (2k (2k - 1))`.
#[rustfmt::skip]
const STIRLING: [f64; 8] = [
    1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0,
    -3617.0 / 122_400.0,
];
/// The root of 2 pi.
const ROOT_TAU: f64 = 2.506_628_274_631_000_7;
/// The recurrence is used up to here.
const NEAR: f64 = 8.0;
/// Lanes of a block.
const BLOCK: usize = 64;

/// A float of a loop.
trait Gamma: MachineFloat + Vector + bytemuck::Pod {
    /// The terms of [`INVERSE`] that matter.
    const TERMS: usize;
}
impl Gamma for f32 {
    const TERMS: usize = 11;
}
impl Gamma for f64 {
    const TERMS: usize = INVERSE.len();
}

/// Whether [`near`] is valid.
#[inline(always)]
fn is_near<T: Gamma>(x: T) -> bool {
    (x > T::ZERO) & (x < T::of(NEAR))
}

/// The gamma function from 0 to [`NEAR`].
#[inline(always)]
fn near<T: Gamma>(x: T) -> T {
    let (product, inverse) = parts(x);
    product / (choose(x < T::ONE, x, T::ONE) * inverse)
}

/// Numerator and denominator of it; below 1, of the number times its gamma function.
#[inline(always)]
fn parts<T: Gamma>(x: T) -> (T, T) {
    // (x - 1) (x - 2) .. down to between 1 and 2.
    let mut product = T::ONE;
    let mut k = 1;
    while k < NEAR as i32 - 1 {
        let factor = x - T::of(f64::from(k));
        product = product * choose(factor >= T::ONE, factor, T::ONE);
        k += 1;
    }
    let reduced = x - choose(x < T::ONE, -T::ONE, x.floor() - T::ONE);
    let u = reduced + reduced - T::of(3.0);
    let mut inverse = T::of(INVERSE[T::TERMS - 1]);
    let mut i = T::TERMS - 1;
    while i > 0 {
        i -= 1;
        inverse = inverse.mul_add(u, T::of(INVERSE[i]));
    }
    (product, inverse)
}

/// By Stirling's series from [`NEAR`] on, and below 0 by reflection.
#[inline(always)]
fn far(x: f64) -> f64 {
    let z = x.abs();
    // For larger magnitudes the result overflows or underflows.
    let y = choose(z > 200.0, 200.0, z);
    let inverse = 1.0 / y;
    let square = inverse * inverse;
    let tail = horner(square, &STIRLING);
    // The power in two equal factors, because it may overflow when the result does not.
    let root = y.mul_add(0.5, -0.25);
    let root = Vector::pow(y, root);
    let first = root * (Vector::exp(-y) * Vector::exp(tail * inverse) * ROOT_TAU);
    let right = first * root;
    // gamma(-z) is -pi / (z sin(pi z) gamma(z)).
    let nearest = z.round_ties_even();
    let fraction = z - nearest;
    let half = 0.5 * nearest;
    let sine = Vector::sin(fraction * PI);
    let sine = choose(half.floor() == half, sine, -sine);
    let (product, inverse) = parts(z);
    let small = -PI * inverse / (sine * choose(z < 1.0, product, z * product));
    let left = choose(z < NEAR, small, -PI / sine / z / first / root);
    let left = choose(fraction == 0.0, f64::NAN, left);
    let result = choose(x < 0.0, left, right);
    choose(x == 0.0, 1.0 / x, result)
}

/// The loop over blocks.
struct GammaLoop<T>(std::marker::PhantomData<T>);

impl<T: Gamma> LoopBody for GammaLoop<T> {
    #[inline(always)]
    fn run<const FMA: bool>(args: &[&[u8]], out: &mut [u8], n: usize) {
        let (all, out) = (&lanes::<T>(args[0])[..n], &mut lanes_mut::<T>(out)[..n]);
        for (all, out) in all.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            if !FMA {
                out.iter_mut().zip(all).for_each(|(out, x)| *out = T::of(libm::tgamma(x.to_f64())));
                continue;
            }
            let mut all_near = true;
            for (out, x) in out.iter_mut().zip(all) {
                *out = near(*x);
                all_near &= is_near(*x);
            }
            if !all_near {
                for (out, x) in out.iter_mut().zip(all) {
                    *out = choose(is_near(*x), *out, T::of(far(x.to_f64())));
                }
            }
        }
    }
}

/// The loops of the row.
pub(in crate::ops) fn loops(dtype: DType) -> Option<HostLoops> {
    match dtype {
        DType::F32 => Some(tiles::<GammaLoop<f32>>()),
        DType::F64 => Some(tiles::<GammaLoop<f64>>()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loop over these.
    fn gamma64(xs: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; xs.len()];
        let tile = loops(DType::F64).unwrap().fast;
        tile(&[bytemuck::cast_slice(xs)], bytemuck::cast_slice_mut(&mut out), xs.len());
        out
    }

    fn gamma32(xs: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; xs.len()];
        let tile = loops(DType::F32).unwrap().fast;
        tile(&[bytemuck::cast_slice(xs)], bytemuck::cast_slice_mut(&mut out), xs.len());
        out
    }

    /// Rounded from 40 digits: for both methods, next to poles, and at the ends of the range.
    #[test]
    fn known_values() {
        let known = include!("tests/gamma.in");
        let xs: Vec<f64> = known.iter().map(|k| k.0).collect();
        for ((x, want), got) in known.iter().zip(gamma64(&xs)) {
            let error = (got - want).abs() / (want.abs().next_up() - want.abs());
            assert!(error <= 10.0, "gamma of {x:e}: {got:e}, not {want:e}, {error} ulp");
        }
    }

    #[test]
    fn ends() {
        let inf = f64::INFINITY;
        let xs = [
            0.0,
            -0.0,
            inf,
            -inf,
            f64::NAN,
            -1.0,
            -2.0,
            -170.0,
            171.7,
            1e300,
            5e-324,
            -5e-324,
            -300.5,
            -1e300,
        ];
        let got = gamma64(&xs);
        let nan = f64::NAN;
        let want = [inf, -inf, inf, nan, nan, nan, nan, nan, inf, inf, inf, -inf, -0.0, nan];
        for ((x, got), want) in xs.iter().zip(got).zip(want) {
            assert!(got == want || got.is_nan() && want.is_nan(), "gamma of {x:e}: {got:e}, not {want:e}");
        }
    }

    #[test]
    fn singles_are_near_the_doubles() {
        let xs: Vec<f32> = (1..200_000).map(|i| (i as f32 - 100_000.0) * 4.1e-4).collect();
        let want = gamma64(&xs.iter().map(|x| f64::from(*x)).collect::<Vec<_>>());
        for ((x, got), want) in xs.iter().zip(gamma32(&xs)).zip(want) {
            let nearest = want as f32;
            if nearest.is_infinite() || nearest.is_nan() {
                assert!(got == nearest || got.is_nan() && nearest.is_nan(), "gamma of {x:e}: {got:e}");
                continue;
            }
            let error = (f64::from(got) - want).abs() / f64::from(nearest.abs().next_up() - nearest.abs());
            assert!(error <= 6.0, "gamma of {x:e}: {got:e}, not {want:e}, {error} ulp");
        }
    }
}
