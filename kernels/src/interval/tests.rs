use super::*;
use crate::interpret::interpret;
use crate::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use crate::ops::*;

/// The results of an op at points, by the reference. Scalars of the dtypes in which the op takes them.
fn results(op: ScalarOp, points: &[Vec<Scalar>], signature: &OpSignature) -> Vec<Scalar> {
    let n = points.len() as u64;
    let dtypes = signature.args.iter().copied().chain([signature.result]);
    let operands: Vec<Operand> =
        dtypes.enumerate().map(|(at, d)| Operand::contiguous(d, &[n], at == signature.args.len())).collect();
    let arity = signature.args.len();
    let mut insts: Vec<Inst> =
        (0..arity).map(|operand| Inst::Load { operand, index: vec![Index::axis(0)] }).collect();
    insts.push(Inst::Op { op, args: (0..arity as u32).collect() });
    let store =
        Store { operand: arity, index: vec![Index::axis(0)], value: arity as u32, when: None, add: false };
    let phase = Phase { kind: PhaseKind::Point, block: Block { insts }, folds: vec![], stores: vec![store] };
    let nest = Nest { name: "op".into(), axes: vec![n], grid: 1, operands, phases: vec![phase] };
    let column = |at: usize| {
        points
            .iter()
            .flat_map(|point| point[at].to_le_bytes()[..point[at].dtype().size()].to_vec())
            .collect::<Vec<u8>>()
    };
    let mut data: Vec<Vec<u8>> = (0..arity).map(column).collect();
    let size = signature.result.size();
    data.push(vec![0; points.len() * size]);
    interpret(&nest, &mut data).expect("a sound Nest");
    data[arity]
        .chunks(size)
        .map(|bytes| Scalar::from_le_bytes(signature.result, bytes).expect("a scalar"))
        .collect()
}

/// Numbers with a fixed seed (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    /// A number in which limits of dtypes, small integers and fractions are frequent.
    fn number(&mut self, dtype: DType) -> f64 {
        let all = Interval::of_dtype(dtype);
        let small = self.below(41) as f64 - 20.0;
        let value = match self.below(8) {
            0 => all.low,
            1 => all.high,
            2 => small * 1e9,
            3 | 4 if dtype.is_float() => small / 8.0,
            _ => small,
        };
        let inside = value.clamp(all.low, all.high);
        if dtype.is_float() { Scalar::from_f64(dtype, inside).to_f64() } else { inside }
    }

    fn interval(&mut self, dtype: DType) -> Interval {
        let (a, b) = (self.number(dtype), self.number(dtype));
        let whole = !dtype.is_float() || self.below(2) == 0;
        let (a, b) = if whole { (a.trunc(), b.trunc()) } else { (a, b) };
        Interval { whole, ..Interval::new(dtype, a.min(b), a.max(b)) }
    }

    /// A value in a range, the ends often.
    fn within(&mut self, range: &Interval) -> Scalar {
        let (low, high) = (range.low, range.high);
        let near = (low.max(-50.0).min(high), high.min(50.0).max(low));
        let between = near.0 + (near.1 - near.0) * (self.below(1025) as f64 / 1024.0);
        let value = [low, high, between, near.0, near.1][self.below(5) as usize];
        let value = if range.whole && value.is_finite() { value.trunc() } else { value };
        scalar(range.dtype, value)
    }
}

/// The number in a dtype; the bounds of 64-bit integers are no float64s.
fn scalar(dtype: DType, value: f64) -> Scalar {
    if dtype.is_float() {
        Scalar::from_f64(dtype, value)
    } else {
        Scalar::from_i128(dtype, clamped(dtype, value))
    }
}

fn clamped(dtype: DType, value: f64) -> i128 {
    let bits = 8 * dtype.size() as u32;
    let (low, high) = match dtype {
        DType::Bool => (0, 1),
        d if d.is_signed() => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        _ => (0, (1i128 << bits) - 1),
    };
    (value as i128).clamp(low, high)
}

fn holds(range: &Interval, value: Scalar) -> bool {
    let number = value.to_f64();
    number.is_nan()
        || (range.low <= number
            && number <= range.high
            && (!range.whole || number.is_infinite() || number.trunc() == number))
}

#[test]
fn results_of_every_op_are_in_the_range_that_follows() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    // Nests have no compositions; these are ranges of the ops that they are made of.
    for op in ScalarOp::all().filter(|op| matches!(op.row().body, OpBody::Primitive { .. })) {
        for dtype in DType::REAL {
            let given = op.arguments_of(dtype);
            let Some(signature) = op.signature(&given).filter(|s| s.args == given) else { continue };
            for _ in 0..60 {
                let args: Vec<Interval> = given.iter().map(|&d| random.interval(d)).collect();
                let range = op.interval(&args);
                assert_eq!(range.dtype, signature.result, "{op:?}");
                let points: Vec<Vec<Scalar>> =
                    (0..20).map(|_| args.iter().map(|arg| random.within(arg)).collect()).collect();
                for (point, result) in points.iter().zip(results(op, &points, &signature)) {
                    assert!(
                        holds(&range, result),
                        "{op:?} of {args:?} at {point:?} is {result:?}, not in {range:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn converted_values_are_in_the_range_that_follows() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for (from, to) in DType::REAL.into_iter().flat_map(|from| DType::REAL.map(|to| (from, to))) {
        for _ in 0..40 {
            let given = random.interval(from);
            let range = given.cast(to);
            for _ in 0..20 {
                let value = random.within(&given);
                assert!(holds(&range, value.cast(to)), "{value:?} of {given:?} as {to}, not in {range:?}");
            }
            let nan = Scalar::from_f64(from, f64::NAN);
            assert!(
                !from.is_float() || holds(&range, nan.cast(to)),
                "NaN of {given:?} as {to}, not in {range:?}"
            );
        }
    }
}

fn int(low: f64, high: f64) -> Interval {
    Interval::new(DType::I64, low, high)
}

#[test]
fn indices_that_wrap_around_an_axis_are_within_it() {
    let any = Interval::of_dtype(DType::I64);
    let n = int(16.0, 16.0);
    let wrapped = REMAINDER.interval(&[any, n]);
    assert!(wrapped.is_within(0, 16) && !wrapped.is_within(0, 15) && !wrapped.is_within(1, 16));
    let next = ADD.interval(&[wrapped, int(1.0, 1.0)]);
    assert!(next.is_within(1, 17) && !next.is_within(0, 16));
    assert!(REMAINDER.interval(&[next, n]).is_within(0, 16));
    // Whole floats too, of any size; others may be rounded to the divisor.
    let floats = |low, high| Interval::new(DType::F32, low, high);
    let floor = FLOOR.interval(&[Interval::of_dtype(DType::F32)]);
    let cells = Interval::of(Scalar::from_f64(DType::F32, 16.0));
    assert!(REMAINDER.interval(&[floor, cells]).cast(DType::I32).is_within(0, 16));
    let rounded = REMAINDER.interval(&[floats(-1.0, 1.0), cells]).cast(DType::I32);
    assert!(rounded.is_within(0, 17) && !rounded.is_within(0, 16));
}

#[test]
fn sums_that_may_wrap_may_be_anything() {
    let small = Interval::new(DType::I8, 0.0, 100.0);
    assert_eq!(ADD.interval(&[small, small]), Interval::of_dtype(DType::I8));
    assert_eq!(small.sum(2.0), Interval::of_dtype(DType::I8));
    assert_eq!(small.cast(DType::I16).sum(2.0), Interval::new(DType::I16, 0.0, 200.0));
    let large = int(0.0, EXACT);
    assert_eq!(ADD.interval(&[large, large]), Interval::of_dtype(DType::I64));
    assert_eq!(NEG.interval(&[Interval::of_dtype(DType::I32)]), Interval::of_dtype(DType::I32));
}

#[test]
fn compositions_follow_from_their_parts() {
    let clipped = CLIP.interval(&[Interval::of_dtype(DType::I32), of(DType::I32, 2.0), of(DType::I32, 9.0)]);
    assert_eq!(clipped, Interval::new(DType::I32, 2.0, 9.0));
    assert_eq!(
        RELU.interval(&[of(DType::I32, -3.0).or(of(DType::I32, 7.0))]),
        Interval::new(DType::I32, 0.0, 7.0)
    );
}

/// The exact product may be up to half a unit apart from the rounded one, and a device may use it.
#[test]
fn a_difference_of_products_keeps_what_their_rounding_lost() {
    let [a, b] = [10_000.1, 10_000.3].map(|number| Interval::of(Scalar::from_f64(DType::F32, number)));
    let product = MUL.interval(&[a, b]);
    let difference = SUB.interval(&[product, product]);
    let lost = a.low * b.low - product.low;
    assert!(lost != 0.0 && difference.low <= -lost.abs() && lost.abs() <= difference.high, "{difference:?}");
}

#[test]
fn integers_that_float64_rounds_are_not_bounded_by_it() {
    let beyond = Scalar::from_i128(DType::I64, (1 << 53) + 1);
    assert_eq!(Interval::of(beyond), Interval::of_dtype(DType::I64));
    // 2^63 + 1 is the product of these.
    let many = Interval::new(DType::I64, -77_158_673_929.0, 0.0).sum(119_537_721.0);
    assert_eq!(many, Interval::of_dtype(DType::I64));
}

fn of(dtype: DType, value: f64) -> Interval {
    Interval::new(dtype, value, value)
}
