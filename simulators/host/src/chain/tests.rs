//! Every step at every level of this processor, against plain Rust.

use super::*;
use workalike_kernels::level::BASELINE_FMA;

const ALL: [ChainOpcode; 28] = [
    ChainOpcode::Load,
    ChainOpcode::Store,
    ChainOpcode::LoadMask,
    ChainOpcode::StoreMask,
    ChainOpcode::Add,
    ChainOpcode::AddProduct,
    ChainOpcode::AddSquare,
    ChainOpcode::Sub,
    ChainOpcode::SubOther,
    ChainOpcode::Mul,
    ChainOpcode::Div,
    ChainOpcode::DivOther,
    ChainOpcode::Max,
    ChainOpcode::MaxOther,
    ChainOpcode::Min,
    ChainOpcode::MinOther,
    ChainOpcode::Neg,
    ChainOpcode::Sqr,
    ChainOpcode::Sqrt,
    ChainOpcode::Lt,
    ChainOpcode::Le,
    ChainOpcode::Gt,
    ChainOpcode::Ge,
    ChainOpcode::Eq,
    ChainOpcode::Ne,
    ChainOpcode::Where,
    ChainOpcode::WhereOther,
    ChainOpcode::Ones,
];

type Run = unsafe fn(&[ChainInst], &[LanePointer; PLACES], usize);

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
                        let mut places = [LanePointer { at: std::ptr::null_mut(), size: 0 }; PLACES];
                        let size = size_of::<$t>();
                        places[0] = LanePointer { at: a.as_mut_ptr().cast(), size };
                        places[1] = LanePointer { at: b.as_mut_ptr().cast(), size };
                        places[2] = LanePointer { at: condition.as_mut_ptr(), size: 1 };
                        places[3] = LanePointer { at: out.as_mut_ptr().cast(), size };
                        places[4] = LanePointer { at: bits.as_mut_ptr(), size: 1 };
                        let place = match step {
                            ChainOpcode::Store => 3,
                            ChainOpcode::LoadMask => 2,
                            ChainOpcode::StoreMask => 4,
                            _ => 1,
                        };
                        let code = [
                            (ChainOpcode::Load, 0),
                            (ChainOpcode::LoadMask, 2),
                            (step, place),
                            (ChainOpcode::Store, 3),
                            (ChainOpcode::StoreMask, 4),
                        ];
                        let code = code.map(|(step, place)| ChainInst { step, place, with: 0 });
                        // SAFETY: the level was detected; all places hold 512 lanes, and no place is both
                        // read and written.
                        unsafe { run(&code, &places, n) };
                        assert!(out[n..].iter().all(|x| *x == 0.0) && bits[n..].iter().all(|x| *x == 9));
                        for i in 0..n {
                            let (x, y, mask) = (a[i], was[i], conditions[i] != 0);
                            let value = match step {
                                ChainOpcode::Load => y,
                                ChainOpcode::Add => x + y,
                                ChainOpcode::AddProduct if at > Level::Baseline || BASELINE_FMA => {
                                    x.mul_add(y, x)
                                }
                                ChainOpcode::AddProduct => x + x * y,
                                ChainOpcode::AddSquare if at > Level::Baseline || BASELINE_FMA => {
                                    x.mul_add(x, y)
                                }
                                ChainOpcode::AddSquare => y + x * x,
                                ChainOpcode::Sub => x - y,
                                ChainOpcode::SubOther => y - x,
                                ChainOpcode::Mul => x * y,
                                ChainOpcode::Div => x / y,
                                ChainOpcode::DivOther => y / x,
                                ChainOpcode::Max => max(x, y),
                                ChainOpcode::MaxOther => max(y, x),
                                ChainOpcode::Min => min(x, y),
                                ChainOpcode::MinOther => min(y, x),
                                ChainOpcode::Neg => -x,
                                ChainOpcode::Sqr => x * x,
                                ChainOpcode::Sqrt => x.sqrt(),
                                ChainOpcode::Where => {
                                    if mask {
                                        x
                                    } else {
                                        y
                                    }
                                }
                                ChainOpcode::WhereOther => {
                                    if mask {
                                        y
                                    } else {
                                        x
                                    }
                                }
                                ChainOpcode::Ones => mask.into(),
                                _ => x,
                            };
                            let mask = match step {
                                ChainOpcode::Lt => x < y,
                                ChainOpcode::Le => x <= y,
                                ChainOpcode::Gt => x > y,
                                ChainOpcode::Ge => x >= y,
                                ChainOpcode::Eq => x == y,
                                ChainOpcode::Ne => x != y,
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
