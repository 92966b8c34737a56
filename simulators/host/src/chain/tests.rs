//! Every step at every level of this processor, against plain Rust.

use super::*;
use workalike_kernels::level::BASELINE_FMA;

const ALL: [Step; 28] = [
    Step::Load,
    Step::Store,
    Step::LoadMask,
    Step::StoreMask,
    Step::Add,
    Step::AddProduct,
    Step::AddSquare,
    Step::Sub,
    Step::SubOther,
    Step::Mul,
    Step::Div,
    Step::DivOther,
    Step::Max,
    Step::MaxOther,
    Step::Min,
    Step::MinOther,
    Step::Neg,
    Step::Sqr,
    Step::Sqrt,
    Step::Lt,
    Step::Le,
    Step::Gt,
    Step::Ge,
    Step::Eq,
    Step::Ne,
    Step::Where,
    Step::WhereOther,
    Step::Ones,
];

type Run = unsafe fn(&[Code], &[Place; PLACES], usize);

macro_rules! of_float {
    ($name:ident, $t:ty, $plain:ident, $avx2:ident, $avx512:ident) => {
        #[test]
        fn $name() {
            let special = [
                1.5,
                -0.0,
                0.0,
                <$t>::NAN,
                <$t>::INFINITY,
                <$t>::NEG_INFINITY,
                1e-41,
                -7.25,
                0.1,
                3e38,
                -2.0,
            ];
            let tile = |shift: usize| -> Vec<$t> {
                (0..512).map(|i| special[(i * (shift + 2) + i / 11 + shift) % special.len()]).collect()
            };
            let max = |a: $t, b: $t| if a > b || a.is_nan() { a } else { b };
            let min = |a: $t, b: $t| if a < b || a.is_nan() { a } else { b };
            let all: &[(Level, Run)] = &[
                (Level::Baseline, blocks::$plain),
                #[cfg(target_arch = "x86_64")]
                (Level::Avx2, blocks::$avx2),
                #[cfg(target_arch = "x86_64")]
                (Level::Avx512, blocks::$avx512),
            ];
            for &(at, run) in all.iter().filter(|(at, _)| *at <= level()) {
                let lanes = vector_bytes(at) / size_of::<$t>();
                for step in ALL {
                    for n in [lanes, lanes + 1, 8 * lanes - 1, 8 * lanes, 8 * lanes + 3, 300] {
                        // a; b; bytes of a condition; the accumulator and the mask after the step.
                        let (mut a, mut b) = (tile(0), tile(3));
                        let mut condition: Vec<u8> = (0..512).map(|i| (i % 3) as u8 * 7).collect();
                        let (mut out, mut bits) = (vec![<$t>::default(); 512], vec![9u8; 512]);
                        let (was, conditions) = (b.clone(), condition.clone());
                        let mut places = [Place { at: std::ptr::null_mut(), size: 0 }; PLACES];
                        let size = size_of::<$t>();
                        places[0] = Place { at: a.as_mut_ptr().cast(), size };
                        places[1] = Place { at: b.as_mut_ptr().cast(), size };
                        places[2] = Place { at: condition.as_mut_ptr(), size: 1 };
                        places[3] = Place { at: out.as_mut_ptr().cast(), size };
                        places[4] = Place { at: bits.as_mut_ptr(), size: 1 };
                        let place = match step {
                            Step::Store => 3,
                            Step::LoadMask => 2,
                            Step::StoreMask => 4,
                            _ => 1,
                        };
                        let code = [
                            (Step::Load, 0),
                            (Step::LoadMask, 2),
                            (step, place),
                            (Step::Store, 3),
                            (Step::StoreMask, 4),
                        ];
                        let code = code.map(|(step, place)| Code { step, place, with: 0 });
                        // SAFETY: the level was detected; all places hold 512 lanes, and no place is both
                        // read and written.
                        unsafe { run(&code, &places, n) };
                        assert!(out[n..].iter().all(|x| *x == 0.0) && bits[n..].iter().all(|x| *x == 9));
                        for i in 0..n {
                            let (x, y, mask) = (a[i], was[i], conditions[i] != 0);
                            let value = match step {
                                Step::Load => y,
                                Step::Add => x + y,
                                Step::AddProduct if at > Level::Baseline || BASELINE_FMA => x.mul_add(y, x),
                                Step::AddProduct => x + x * y,
                                Step::AddSquare if at > Level::Baseline || BASELINE_FMA => x.mul_add(x, y),
                                Step::AddSquare => y + x * x,
                                Step::Sub => x - y,
                                Step::SubOther => y - x,
                                Step::Mul => x * y,
                                Step::Div => x / y,
                                Step::DivOther => y / x,
                                Step::Max => max(x, y),
                                Step::MaxOther => max(y, x),
                                Step::Min => min(x, y),
                                Step::MinOther => min(y, x),
                                Step::Neg => -x,
                                Step::Sqr => x * x,
                                Step::Sqrt => x.sqrt(),
                                Step::Where => {
                                    if mask {
                                        x
                                    } else {
                                        y
                                    }
                                }
                                Step::WhereOther => {
                                    if mask {
                                        y
                                    } else {
                                        x
                                    }
                                }
                                Step::Ones => mask.into(),
                                _ => x,
                            };
                            let mask = match step {
                                Step::Lt => x < y,
                                Step::Le => x <= y,
                                Step::Gt => x > y,
                                Step::Ge => x >= y,
                                Step::Eq => x == y,
                                Step::Ne => x != y,
                                _ => mask,
                            };
                            let same =
                                out[i].to_bits() == value.to_bits() || out[i].is_nan() && value.is_nan();
                            assert!(same, "{step:?} of {x} and {y}, {lanes} lanes: {}, not {value}", out[i]);
                            assert_eq!(bits[i], u8::from(mask), "{step:?} of {x} and {y}, {lanes} lanes");
                        }
                    }
                }
            }
        }
    };
}
of_float!(steps_of_f32, f32, plain_f32, avx2_f32, avx512_f32);
of_float!(steps_of_f64, f64, plain_f64, avx2_f64, avx512_f64);
