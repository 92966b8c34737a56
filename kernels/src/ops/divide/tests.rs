//! Quotients of floats against exact arithmetic.

use crate::dtype::DType;
use crate::ops::{Build, Ex, FLOOR_DIVIDE, FMOD, ScalarOp, Slope, TRUNC_DIVIDE};

/// Both loops of an op.
macro_rules! loops {
    ($t:ty, $dtype:expr, $op:expr, $pairs:expr) => {{
        let (a, b): (Vec<$t>, Vec<$t>) = $pairs.iter().copied().unzip();
        let tiles = $op.tiles(&$op.signature(&[$dtype; 2]).unwrap()).unwrap();
        [tiles.fast, tiles.plain].map(|tile| {
            let mut out = vec![<$t>::NAN; a.len()];
            let args: [&[u8]; 2] = [bytemuck::cast_slice(&a), bytemuck::cast_slice(&b)];
            tile(&args, bytemuck::cast_slice_mut(&mut out), a.len());
            out
        })
    }};
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 11
}

/// Pairs whose quotients are whole, or next to a whole number: up to the largest that has neighbours 1 apart.
macro_rules! near_whole {
    ($t:ty, $exact:expr) => {{
        let mut state = 9u64;
        let mut pairs: Vec<($t, $t)> = Vec::new();
        for _ in 0..20_000 {
            let (count, digits) = (random(&mut state), random(&mut state));
            let whole = (count >> (count % 53)) as $t;
            let b = (digits as $t + 1.0) * (2.0 as $t).powi((count % 80) as i32 - 90);
            let b = if digits & 1 == 0 { b } else { -b };
            let a = whole * b;
            pairs.extend([a, a.next_up(), a.next_down(), -a, (whole + 0.5) * b].map(|a| (a, b)));
        }
        pairs.retain(|(a, b)| (a / b).abs() <= $exact);
        pairs
    }};
}

#[test]
fn f32_quotients_are_exact() {
    let mut pairs = near_whole!(f32, (1u32 << 24) as f32);
    pairs.extend([(19.516_172, 0.260_215_64), (4_515_724.0, 0.572_786_33), (1.0, 0.1), (-1.0, 0.1)]);
    // A quotient of two f32 in f64 is on the same side of a whole number as the exact one.
    let exact = |a: f32, b: f32| f64::from(a) / f64::from(b);
    for got in loops!(f32, DType::F32, FLOOR_DIVIDE, pairs) {
        for ((a, b), got) in pairs.iter().zip(got) {
            assert_eq!(f64::from(got), exact(*a, *b).floor(), "floor of {a:e} / {b:e}");
        }
    }
    for got in loops!(f32, DType::F32, TRUNC_DIVIDE, pairs) {
        for ((a, b), got) in pairs.iter().zip(got) {
            assert_eq!(f64::from(got), exact(*a, *b).trunc(), "{a:e} / {b:e} toward 0");
        }
    }
}

/// The magnitude of the exact quotient rounded down, and whether it is less than the quotient.
fn divided(a: f64, b: f64) -> (u128, bool) {
    let parts = |x: f64| {
        let (bits, fraction) = (x.to_bits() << 1, (1u64 << 52) - 1);
        (((bits >> 1) & fraction) | 1 << 52, (bits >> 53) as i32)
    };
    let ((top, up), (bottom, down)) = (parts(a), parts(b));
    if up < down {
        let bottom = u128::from(bottom) << (down - up).min(60);
        return (u128::from(top) / bottom, true);
    }
    let top = u128::from(top) << (up - down);
    (top / u128::from(bottom), top % u128::from(bottom) != 0)
}

#[test]
fn f64_quotients_are_exact() {
    let mut pairs = near_whole!(f64, (1u64 << 53) as f64);
    pairs.retain(|(a, _)| *a != 0.0);
    pairs.extend([(1.0, 0.1), (-1.0, 0.1), (1.0, -0.1), (0.3, 0.1), (6.0, 0.1), (1e15, 0.3)]);
    let floors = loops!(f64, DType::F64, FLOOR_DIVIDE, pairs);
    let whole = loops!(f64, DType::F64, TRUNC_DIVIDE, pairs);
    for (i, (a, b)) in pairs.iter().enumerate() {
        let (quotient, rest) = divided(*a, *b);
        let negative = (*a < 0.0) != (*b < 0.0);
        let sign = if negative { -1.0 } else { 1.0 };
        for [floor, whole] in [[&floors[0], &whole[0]], [&floors[1], &whole[1]]] {
            assert_eq!(whole[i], sign * quotient as f64, "{a:e} / {b:e} toward 0");
            let down = quotient + u128::from(negative && rest);
            assert_eq!(floor[i], sign * down as f64, "floor of {a:e} / {b:e}");
        }
    }
}

#[test]
fn quotients_of_zeros_infinities_and_far_magnitudes() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    // Dividend, divisor, floor_divide (as NumPy), trunc_divide.
    let cases = [
        (0.0, 3.0, 0.0, 0.0),
        (-0.0, 3.0, -0.0, -0.0),
        (0.0, -3.0, -0.0, -0.0),
        (1.0, 3.0, 0.0, 0.0),
        (-1.0, 3.0, -1.0, -0.0),
        (1.0, -3.0, -1.0, -0.0),
        (-2.0, 3.0, -1.0, -0.0),
        (-6.0, 3.0, -2.0, -2.0),
        (-7.0, 3.0, -3.0, -2.0),
        (5.0, inf, 0.0, 0.0),
        (-5.0, inf, -1.0, -0.0),
        (5.0, -inf, -1.0, -0.0),
        (1.0, 0.0, inf, inf),
        (-1.0, 0.0, -inf, -inf),
        (0.0, 0.0, nan, nan),
        (inf, 0.0, inf, inf),
        (inf, -0.0, -inf, -inf),
        (inf, 2.0, nan, inf),
        (-inf, 2.0, nan, -inf),
        (inf, inf, nan, nan),
        (nan, 1.0, nan, nan),
        (1.0, nan, nan, nan),
        (-5e-324, 1e300, -1.0, -0.0),
        (5e-324, 1e300, 0.0, 0.0),
        (1e-310, 5e-324, 20_240_225_330_731.0, 20_240_225_330_731.0),
        (1e300, 1e-300, inf, inf),
        (1e30, 0.1, 1e31, 1e31),
        (-1e30, 0.1, -1e31, -1e31),
    ];
    let pairs = cases.map(|case| (case.0, case.1));
    let same = |got: f64, want: f64| got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
    for (floor, whole) in
        loops!(f64, DType::F64, FLOOR_DIVIDE, pairs).iter().zip(&loops!(f64, DType::F64, TRUNC_DIVIDE, pairs))
    {
        for (i, (a, b, down, toward)) in cases.iter().enumerate() {
            assert!(same(floor[i], *down), "floor of {a:e} / {b:e}: {:e}, not {down:e}", floor[i]);
            assert!(same(whole[i], *toward), "{a:e} / {b:e} toward 0: {:e}, not {toward:e}", whole[i]);
        }
    }
}

/// The ops of a derivative.
struct Ops(Vec<ScalarOp>);

impl Build for Ops {
    fn op(&mut self, op: ScalarOp, _: &[Ex]) -> Ex {
        self.0.push(op);
        3 + self.0.len()
    }
    fn constant(&mut self, like: Ex, _: f64) -> Ex {
        like
    }
    fn cast(&mut self, value: Ex, _: DType) -> Ex {
        value
    }
    fn dtype(&self, _: Ex) -> DType {
        DType::F64
    }
}

#[test]
fn the_slope_of_fmod_is_the_quotient_of_its_value() {
    let mut ops = Ops(Vec::new());
    let slopes = FMOD.row().derivative.unwrap()(&mut ops, &[0, 1], 2, 3);
    assert_eq!(ops.0.iter().filter(|op| **op == TRUNC_DIVIDE).count(), 1);
    assert!(matches!(slopes[..], [Slope::Is(3), Slope::Is(_)]));
}
