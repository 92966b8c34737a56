//! Loops of float16 and bfloat16, for all numbers: each result is that of f32, rounded.

use crate::dtype::DType;
use crate::ops::{self, ScalarOp};
use crate::scalar::Scalar;

/// A row, and the exact function.
type Exact = (ScalarOp, fn(f64) -> f64);

fn loop_over(op: ScalarOp, dtype: DType, xs: &[f32]) -> Vec<f32> {
    let mut out = vec![f32::NAN; xs.len()];
    let tiles = op.tiles(&op.signature(&[dtype]).unwrap()).unwrap();
    (tiles.fast)(&[bytemuck::cast_slice(xs)], bytemuck::cast_slice_mut(&mut out), xs.len());
    out
}

/// All finite halves.
fn all(dtype: DType) -> Vec<f32> {
    let number = |bits: u16| Scalar::from_le_bytes(dtype, &bits.to_le_bytes()).unwrap().to_f64() as f32;
    (0..=u16::MAX).map(number).filter(|x| x.is_finite()).collect()
}

#[test]
fn all_halves_are_computed_in_f32() {
    let rows: [Exact; 21] = [
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
        (ops::ARCSIN, f64::asin),
        (ops::ARCCOS, f64::acos),
        (ops::ARCTAN, f64::atan),
        (ops::SINH, f64::sinh),
        (ops::COSH, f64::cosh),
        (ops::TANH, f64::tanh),
        (ops::ARCSINH, libm::asinh),
        (ops::ARCCOSH, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }),
        (ops::ARCTANH, libm::atanh),
        (ops::ERF, libm::erf),
    ];
    for dtype in [DType::F16, DType::BF16] {
        let xs = all(dtype);
        for (op, exact) in rows {
            let rounded = |y: f32| Scalar::from_f64(dtype, f64::from(y));
            let differs = |(x, y): (&f32, &f32)| {
                let (got, want) = (rounded(*y), rounded(exact(f64::from(*x)) as f32));
                got.bits() != want.bits() && !(got.to_f64().is_nan() && want.to_f64().is_nan())
            };
            let count = xs.iter().zip(&loop_over(op, dtype, &xs)).filter(|pair| differs(*pair)).count();
            // An error of 1 ulp of f32 matters only next to the middle between two halves.
            assert!(count <= 2, "{op:?} of {dtype}: {count} of {} differ", xs.len());
        }
    }
}

/// Within a kernel results are not rounded to halves, but may be rounded to integers.
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
        let xs: Vec<f32> = pairs.iter().map(|pair| pair.0).collect();
        let wants: Vec<f32> = pairs.iter().map(|pair| pair.1).collect();
        assert_eq!(loop_over(op, DType::F16, &xs), wants, "{op:?} of {xs:?}");
    }
}
