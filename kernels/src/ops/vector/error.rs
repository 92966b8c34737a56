//! The error function and its complement.

use super::exponential::{Exponential, exp_near_one, exp_reduced, exp_tail};
use super::float::{MachineFloat, by_halves, choose, horner, lost};

/// Constants of the error function, and what differs between the types.
pub(crate) trait ErrorFunction: Exponential {
    /// `erf(x) / x - 1` in `x^2`, to 1.
    const ERF_NEAR: &'static [Self];
    /// `-log(erfc(x))` in `x - 1`, from 1 to where `erf` is 1.
    const ERF_FAR: &'static [Self];
    /// `erf` is 1 from here on.
    const ERF_END: Self;

    /// `1 - erf(self)`.
    fn complement(self) -> Self;
}

impl ErrorFunction for f32 {
    #[rustfmt::skip]
    const ERF_NEAR: &'static [f32] = &[
        0.128_379_17, -0.376_126_3, 0.112_836_18, -0.026_855_126, 0.005_190_733_4, -0.000_803_075_03,
        7.920_303e-5,
    ];
    #[rustfmt::skip]
    const ERF_FAR: &'static [f32] = &[
        1.849_605_6, 2.638_967_8, 0.843_088_1, 0.041_668_624, -0.010_231_025, 0.002_107_011_4,
        -0.000_265_082_75,
    ];
    const ERF_END: f32 = 3.95;

    /// In f64, the square of x needs no second part.
    #[inline(always)]
    fn complement(self) -> f32 {
        /// `(1 + 2 x) exp(x^2) erfc(x)` in `(x - 2.5) / (x + 2.5)`.
        #[rustfmt::skip]
        const SCALED: [f64; 11] = [
            1.264_838_181_150_326_2, -0.122_356_701_913_739_12, -0.099_024_198_158_314_1,
            0.157_627_956_875_198_48, -0.102_973_569_406_653_52, 0.032_776_549_140_055_546,
            0.000_979_254_371_978_521_3, -0.004_418_637_601_396_668, 0.000_344_207_045_312_724_4,
            0.000_613_278_635_988_139_8, 7.856_472_693_354_461e-5,
        ];
        /// `exp(r)`, for r up to ln 2 / 2.
        #[rustfmt::skip]
        const EXP_SERIES: [f64; 7] = [
            1.000_000_000_553_977_5, 1.000_000_036_335_062_5, 0.499_999_920_841_114_1,
            0.166_664_200_976_600_23, 0.041_668_224_364_891_725, 0.008_374_822_304_505_867,
            0.001_383_692_698_177_963,
        ];
        let a = f64::from(self.abs());
        let a = choose(a > 10.2, 10.2, a);
        let (bottom, line) = (a + 2.5, a.mul_add(2.0, 1.0));
        let inverse = 1.0 / (bottom * line);
        let g = horner((a - 2.5) * (line * inverse), &SCALED);
        let square = a * a;
        let rounded = square.mul_add(-f64::LOG2_E, f64::ROUND);
        let r = (rounded - f64::ROUND).mul_add(-f64::LN2[0], -square);
        let e = horner(r, &EXP_SERIES) * f64::power(rounded, 0);
        let y = g * (bottom * inverse) * e;
        choose(self < 0.0, 2.0 - y, y) as f32
    }
}

/// `(1 + 2 x) exp(x^2) erfc(x)` in `(x - 4) / (x + 4)`: the first coefficient in two parts, the others, and
/// roughly the slope.
const FIRST: [f64; 2] = [1.232_995_118_625_552_6, -4.625_318_921_008_717e-17];
#[rustfmt::skip]
const SCALED: [f64; 23] = [
    -0.139_621_116_840_562_53, 0.015_379_652_102_619_757, 0.068_097_054_254_694_52,
    -0.101_039_066_036_302_68, 0.093_732_834_998_279_67, -0.066_330_365_812_274_04, 0.037_167_515_538_638_86,
    -0.016_197_734_057_074_226, 0.005_031_969_967_712_027_5, -0.000_757_773_293_591_277_3,
    -0.000_199_256_640_115_730_58, 0.000_150_621_698_166_602_42, -2.439_939_468_055_941_2e-5,
    -1.122_210_402_248_162_6e-5, 5.710_100_907_805_567e-6, 2.939_935_826_293_661e-7,
    -8.258_578_104_421_177e-7, 7.433_640_613_101_302e-8, 1.102_868_190_934_795_7e-7,
    -1.765_267_517_969_531_2e-8, -1.409_528_848_063_611_1e-8, 1.740_393_008_181_259_8e-9,
    1.222_186_515_441_481_8e-9,
];
const SLOPE: [f64; 4] =
    [-0.181_406_026_996_516_23, 0.446_176_930_443_167_5, 0.617_298_004_237_721_9, -1.650_983_497_693_565_6];

impl ErrorFunction for f64 {
    #[rustfmt::skip]
    const ERF_NEAR: &'static [f64] = &[
        0.128_379_167_095_512_56, -0.376_126_389_031_833_4, 0.112_837_916_709_365_3,
        -0.026_866_170_641_854_138, 0.005_223_977_595_567_852, -0.000_854_832_541_571_070_1,
        0.000_120_552_780_765_327_68, -1.492_441_338_357_488_9e-5, 1.644_344_471_994_372_8e-6,
        -1.617_818_430_161_756_5e-7, 1.359_009_356_092_671_4e-8, -7.555_765_665_788_599e-10,
    ];
    #[rustfmt::skip]
    const ERF_FAR: &'static [f64] = &[
        1.849_605_509_933_248_2, 2.638_967_514_234_782, 0.843_107_256_359_226_2, 0.041_561_098_027_456_11,
        -0.010_033_825_194_219_01, 0.001_977_901_267_255_633_6, -0.000_237_316_525_775_225_74,
        -2.629_627_330_252_497e-5, 2.719_905_216_643_796e-5, -9.671_517_553_376_984e-6,
        2.131_925_771_350_702_4e-6, -2.045_727_794_108_867e-7, -5.831_301_193_846_858e-8,
        3.358_970_685_401_683e-8, -8.597_500_183_914_14e-9, 1.338_018_095_542_968e-9,
        -1.218_650_668_506_103_5e-10, 5.011_281_255_822_506e-12,
    ];
    const ERF_END: f64 = 5.93;

    #[inline(always)]
    fn complement(self) -> f64 {
        let a = self.abs();
        let a = choose(a > 28.0, 28.0, a);
        // One division serves (a - 4) / (a + 4) and, at the end, 1 / (1 + 2 a); both in two parts.
        let (top, bottom, line) = (a - 4.0, a + 4.0, a.mul_add(2.0, 1.0));
        let (top_low, bottom_low) = ((a - (top + 4.0)), a - (bottom - 4.0));
        let line_low = a.mul_add(2.0, 1.0 - line);
        let inverse = 1.0 / (bottom * line);
        let (of_bottom, of_line) = (line * inverse, bottom * inverse);
        let t = top * of_bottom;
        let t_low = (t.mul_add(-bottom, top) + t.mul_add(-bottom_low, top_low)) * of_bottom;
        let rest = t * by_halves(t, &SCALED);
        let g = FIRST[0] + rest;
        let g_low = lost(FIRST[0], rest, g) + t_low.mul_add(horner(t, &SLOPE), FIRST[1]);
        let v = g * of_line;
        let v_low = (v.mul_add(-line, g) + v.mul_add(-line_low, g_low)) * of_line;
        // exp(-a^2), the square in two parts.
        let square = a * a;
        let square_low = a.mul_add(a, -square);
        let (second, second_low, rounded) = exp_reduced(-square);
        let second_low = second_low - square_low;
        let r = second + second_low;
        let e = 1.0 + r;
        let e_low = lost(1.0, r, e) + (exp_tail(r) + lost(second, second_low, r));
        let y = v * e;
        let y_low = v_low.mul_add(e, v.mul_add(e_low, v.mul_add(e, -y)));
        let y = (y + y_low).scale(rounded);
        choose(self < 0.0, 2.0 - y, y)
    }
}

/// A series: the many terms for f64 in two sums.
#[inline(always)]
fn series<T: MachineFloat>(x: T, c: &[T]) -> T {
    if T::IS_F64 { by_halves(x, c) } else { horner(x, c) }
}

/// The error function.
#[inline(always)]
pub(super) fn erf<T: ErrorFunction>(x: T) -> T {
    let a = x.abs();
    let near = a.mul_add(series(a * a, T::ERF_NEAR), a);
    // 1 - exp(-p).
    let end = choose(a > T::ERF_END, T::ERF_END, a);
    let (r, _, rounded) = exp_reduced(-series(end - T::ONE, T::ERF_FAR));
    let far = T::power(rounded, 0).mul_add(-exp_near_one(r), T::ONE);
    choose(a < T::ONE, near, far).copysign(x)
}

/// `1 - erf(x)`.
#[inline(always)]
pub(super) fn erfc<T: ErrorFunction>(x: T) -> T {
    x.complement()
}
