//! Errors of the functions for all halves, and exact results.

use crate::dtype::DType;
use crate::ops::{self, ScalarOp};
use half::f16;

/// A row, and the exact function.
type Exact = (ScalarOp, fn(f64) -> f64);

/// The largest error of a row's loop over all halves, once rounded, in ulp. NaN, zeros and infinities must be
/// exact.
fn worst(op: ScalarOp, exact: impl Fn(f64) -> f64) -> f64 {
    let all: Vec<f32> = (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f32()).collect();
    let mut out = vec![0.0f32; all.len()];
    let tiles = op.tiles(&op.signature(&[DType::F16]).unwrap()).unwrap();
    (tiles.fast)(&[bytemuck::cast_slice(&all)], bytemuck::cast_slice_mut(&mut out), all.len());
    let mut worst = 0.0;
    for (x, y) in all.iter().zip(&out) {
        let (got, want) = (f16::from_f32(*y), exact(f64::from(*x)));
        let nearest = f16::from_f64(want);
        if got == nearest && got.is_sign_negative() == nearest.is_sign_negative()
            || got.is_nan() && nearest.is_nan()
        {
            continue;
        }
        assert!(got.is_finite() && nearest.is_finite(), "{op:?} of {x:e}: {got}, not {nearest}");
        assert!(nearest.to_f32() != 0.0 || want != 0.0, "{op:?} of {x:e}: {got}, not {nearest}");
        let magnitude = f16::from_bits(nearest.to_bits() & 0x7fff);
        let ulp = f16::from_bits(magnitude.to_bits() + 1).to_f64() - magnitude.to_f64();
        let error = (got.to_f64() - want).abs() / ulp;
        assert!(error < 1.0, "{op:?} of {x:e}: {got}, not {nearest}, {error} ulp");
        worst = f64::max(worst, error);
    }
    worst
}

#[test]
fn exact_halves_need_no_rounding() {
    let infinite = f32::INFINITY;
    let rows: [(ScalarOp, &[(f32, f32)]); 14] = [
        (ops::EXP, &[(0.0, 1.0), (-0.0, 1.0), (infinite, infinite), (-infinite, 0.0)]),
        (ops::EXP2, &[(0.0, 1.0), (3.0, 8.0), (-7.0, 1.0 / 128.0), (15.0, 32768.0), (infinite, infinite)]),
        (ops::EXP2, &[(-infinite, 0.0), (-24.0, 5.960_464_5e-8)]),
        (ops::EXPM1, &[(0.0, 0.0), (infinite, infinite), (-infinite, -1.0), (-20.0, -1.0)]),
        (ops::LOG, &[(1.0, 0.0), (0.0, -infinite), (infinite, infinite)]),
        (ops::LOG2, &[(1.0, 0.0), (8.0, 3.0), (1.0 / 1024.0, -10.0), (infinite, infinite)]),
        (ops::LOG10, &[(1.0, 0.0), (10.0, 1.0), (100.0, 2.0), (1000.0, 3.0), (10000.0, 4.0)]),
        (ops::CBRT, &[(27.0, 3.0), (-8.0, -2.0), (1.0, 1.0), (infinite, infinite)]),
        (ops::SIN, &[(0.0, 0.0)]),
        (ops::COS, &[(0.0, 1.0)]),
        (ops::SINH, &[(0.0, 0.0), (infinite, infinite), (-infinite, -infinite)]),
        (ops::COSH, &[(0.0, 1.0), (infinite, infinite), (-infinite, infinite)]),
        (ops::ARCCOSH, &[(1.0, 0.0), (infinite, infinite)]),
        (ops::ARCTANH, &[(0.0, 0.0), (1.0, infinite), (-1.0, -infinite)]),
    ];
    for (op, pairs) in rows {
        let tiles = op.tiles(&op.signature(&[DType::F16]).unwrap()).unwrap();
        for (x, want) in pairs {
            let mut got = [f32::NAN];
            (tiles.fast)(&[bytemuck::cast_slice(&[*x])], bytemuck::cast_slice_mut(&mut got), 1);
            assert_eq!(got, [*want], "{op:?} of {x}");
        }
    }
}

#[test]
fn all_halves_are_nearly_rounded() {
    let rows: [Exact; 18] = [
        (ops::CBRT, f64::cbrt),
        (ops::EXP, f64::exp),
        (ops::EXP2, f64::exp2),
        (ops::EXPM1, f64::exp_m1),
        (ops::LOG, f64::ln),
        (ops::LOG2, f64::log2),
        (ops::LOG10, f64::log10),
        (ops::LOG1P, f64::ln_1p),
        (ops::SIN, f64::sin),
        (ops::COS, f64::cos),
        (ops::TAN, f64::tan),
        (ops::ARCTAN, f64::atan),
        (ops::SINH, f64::sinh),
        (ops::COSH, f64::cosh),
        (ops::ARCSINH, libm::asinh),
        (ops::ARCCOSH, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }),
        (ops::ARCTANH, libm::atanh),
        (ops::TANH, f64::tanh),
    ];
    for (op, exact) in rows {
        let worst = worst(op, exact);
        println!("{op:?}: {worst:.3} ulp");
        assert!(worst < 0.6, "{op:?}: {worst} ulp");
    }
}

#[test]
fn valid_quick_logarithms_equal_the_others() {
    // Within a kernel, products of halves may be below all halves.
    let below = (0..200u32).map(|i| f32::from_bits(1 + i * 83_886));
    let all = (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f32()).chain(below);
    for x in all {
        for (all, (quick, held)) in [
            (super::log(x), super::quick_log(x)),
            (super::log2(x), super::quick_log2(x)),
            (super::log10(x), super::quick_log10(x)),
        ] {
            assert!(!held || all.to_bits() == quick.to_bits(), "{x:e}: {quick:e}, not {all:e}");
        }
    }
}
