//! Which Nests are recognized as epilogues, and which are not.

use super::*;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{Block, Index, Inst, Operand, Phase, PhaseKind, Store};
use workalike_kernels::ops;
use workalike_kernels::ops::{ADD, MAXIMUM, MUL, SUB, TANH};

const BATCH: u64 = 2;
const FILTERS: u64 = 6;
const PLANE: [u64; 2] = [5, 4];

/// The operands of every Nest here: the convolution, two addends, two biases, and the result.
const Y: usize = 0;
const Z: usize = 1;
const Z2: usize = 2;
const BIAS: usize = 3;
const BIAS2: usize = 4;
const OUT: usize = 5;

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

fn call(dtype: DType, [batch, filters]: [u64; 2], output: &[u64]) -> LibraryConvolution {
    let all = |number: u64| vec![number; output.len()];
    LibraryConvolution {
        dtype,
        role: ConvolutionDirection::Forward,
        batch,
        channels: 3,
        filters,
        groups: 1,
        input: output.to_vec(),
        window: all(1),
        output: output.to_vec(),
        stride: all(1),
        padding: all(0),
        dilation: all(1),
        fast: false,
    }
}

fn usual(dtype: DType) -> LibraryConvolution {
    call(dtype, [BATCH, FILTERS], &PLANE)
}

/// Builds a Nest instruction by instruction; its last value is stored.
struct Writer {
    dtype: DType,
    insts: Vec<Inst>,
}

impl Writer {
    fn push(&mut self, inst: Inst) -> u32 {
        self.insts.push(inst);
        self.insts.len() as u32 - 1
    }

    /// A load of the element at the point, or of its filter.
    fn load(&mut self, operand: usize) -> u32 {
        let index = match operand {
            BIAS | BIAS2 => vec![Index::axis(1)],
            _ => (0..4).map(Index::axis).collect(),
        };
        self.push(Inst::Load { operand, index })
    }

    fn op(&mut self, op: ops::ScalarOp, args: &[u32]) -> u32 {
        self.push(Inst::Op { op, args: args.to_vec() })
    }

    fn number(&mut self, value: f64) -> u32 {
        self.push(Inst::Const(Scalar::from_f64(self.dtype, value)))
    }

    fn nest(self) -> Nest {
        let value = self.insts.len() as u32 - 1;
        let axes = vec![BATCH, FILTERS, PLANE[0], PLANE[1]];
        let index = (0..4).map(Index::axis).collect();
        let stores = vec![Store { operand: OUT, index, value, when: None, add: false }];
        let block = Block { insts: self.insts };
        let whole = |written| Operand::contiguous(self.dtype, &axes, written);
        let each = || Operand::contiguous(self.dtype, &[FILTERS], false);
        let operands = vec![whole(false), whole(false), whole(false), each(), each(), whole(true)];
        let phases = vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores }];
        Nest { name: "then".into(), axes, grid: 4, operands, phases }
    }
}

fn written(dtype: DType, write: impl FnOnce(&mut Writer)) -> Nest {
    let mut writer = Writer { dtype, insts: vec![] };
    write(&mut writer);
    writer.nest()
}

/// The epilogue that a block of instructions is recognized as.
fn read(dtype: DType, write: impl FnOnce(&mut Writer)) -> Option<LinearForm> {
    epilogue(&usual(dtype), &written(dtype, write), Y)
}

fn of(added: Option<usize>, bias: usize, relu: bool) -> Option<LinearForm> {
    let beta = if added.is_some() { 1.0 } else { 0.0 };
    Some(LinearForm { alpha: 1.0, beta, added, bias: Some(bias), relu, result: OUT })
}

/// `y + bias`.
fn biased(w: &mut Writer) -> u32 {
    let (y, bias) = (w.load(Y), w.load(BIAS));
    w.op(ADD, &[y, bias])
}

#[test]
fn a_bias_is_one_with_and_without_relu() {
    for dtype in FLOATS {
        let plain = read(dtype, |w| {
            biased(w);
        });
        assert_eq!(plain, of(None, BIAS, false), "{dtype:?}");
        for zero_first in [false, true] {
            let relu = read(dtype, |w| {
                let (sum, zero) = (biased(w), w.number(0.0));
                w.op(MAXIMUM, &if zero_first { [zero, sum] } else { [sum, zero] });
            });
            assert_eq!(relu, of(None, BIAS, true), "{dtype:?}");
        }
    }
}

#[test]
fn something_may_be_added_in_any_order() {
    for dtype in FLOATS {
        for order in [[Y, Z, BIAS], [Y, BIAS, Z], [BIAS, Z, Y], [Z, Y, BIAS]] {
            let got = read(dtype, |w| {
                let [a, b, c] = order.map(|operand| w.load(operand));
                let sum = w.op(ADD, &[b, c]);
                let sum = w.op(ADD, &[a, sum]);
                let zero = w.number(0.0);
                w.op(MAXIMUM, &[sum, zero]);
            });
            assert_eq!(got, of(Some(Z), BIAS, true), "{dtype:?} {order:?}");
        }
    }
    let in_place = read(DType::F32, |w| {
        let (sum, old) = (biased(w), w.load(OUT));
        w.op(ADD, &[sum, old]);
    });
    assert_eq!(in_place, of(Some(OUT), BIAS, false));
}

#[test]
fn halves_may_be_computed_in_floats() {
    for dtype in [DType::F16, DType::BF16] {
        let got = read(dtype, |w| {
            let sum = biased(w);
            let wide = w.push(Inst::Cast { to: DType::F32, value: sum });
            let zero = w.push(Inst::Const(Scalar::from_f64(DType::F32, 0.0)));
            let above = w.op(MAXIMUM, &[wide, zero]);
            w.push(Inst::Cast { to: dtype, value: above });
        });
        assert_eq!(got, of(None, BIAS, true), "{dtype:?}");
    }
}

#[test]
fn what_is_no_such_sum_is_none() {
    type Write = fn(&mut Writer);
    let others: [(&str, Write); 12] = [
        ("nothing", |w| {
            w.load(Y);
        }),
        ("no bias", |w| {
            let (y, z) = (w.load(Y), w.load(Z));
            w.op(ADD, &[y, z]);
        }),
        ("ReLU alone", |w| {
            let (y, zero) = (w.load(Y), w.number(0.0));
            w.op(MAXIMUM, &[y, zero]);
        }),
        ("two biases", |w| {
            let (sum, other) = (biased(w), w.load(BIAS2));
            w.op(ADD, &[sum, other]);
        }),
        ("two added", |w| {
            let (sum, z, other) = (biased(w), w.load(Z), w.load(Z2));
            let sum = w.op(ADD, &[sum, z]);
            w.op(ADD, &[sum, other]);
        }),
        ("twice the convolution", |w| {
            let (sum, y) = (biased(w), w.load(Y));
            w.op(ADD, &[sum, y]);
        }),
        ("scaled", |w| {
            let (sum, two) = (biased(w), w.number(2.0));
            w.op(MUL, &[sum, two]);
        }),
        ("subtracted", |w| {
            let (y, bias) = (w.load(Y), w.load(BIAS));
            w.op(SUB, &[y, bias]);
        }),
        ("another activation", |w| {
            let sum = biased(w);
            w.op(TANH, &[sum]);
        }),
        ("above one", |w| {
            let (sum, one) = (biased(w), w.number(1.0));
            w.op(MAXIMUM, &[sum, one]);
        }),
        ("above the negative zero", |w| {
            let (sum, zero) = (biased(w), w.number(-0.0));
            w.op(MAXIMUM, &[sum, zero]);
        }),
        ("added after ReLU", |w| {
            let (sum, zero) = (biased(w), w.number(0.0));
            let above = w.op(MAXIMUM, &[sum, zero]);
            let z = w.load(Z);
            w.op(ADD, &[above, z]);
        }),
    ];
    for (name, write) in others {
        assert_eq!(read(DType::F32, write), None, "{name}");
    }
}

#[test]
fn the_convolution_and_the_store_must_be_plain() {
    let nest = written(DType::F32, |w| {
        biased(w);
    });
    let f32s = usual(DType::F32);
    assert!(epilogue(&f32s, &nest, Y).is_some());
    for operand in [Z, BIAS, OUT] {
        assert_eq!(epilogue(&f32s, &nest, operand), None, "{operand}");
    }
    for role in [ConvolutionDirection::InputGradient, ConvolutionDirection::FilterGradient] {
        assert_eq!(epilogue(&LibraryConvolution { role, ..f32s.clone() }, &nest, Y), None);
    }
    assert_eq!(epilogue(&usual(DType::F64), &nest, Y), None);
    assert_eq!(epilogue(&call(DType::F32, [BATCH, FILTERS], &[5, 5]), &nest, Y), None);
    type Change = fn(&mut Nest);
    let changed: [Change; 6] = [
        |n| n.phases[0].stores[0].add = true,
        |n| n.phases[0].stores[0].index.swap(0, 1),
        |n| n.phases.push(n.phases[0].clone()),
        |n| n.phases[0].kind = PhaseKind::Map,
        |n| n.operands[Z].written = true,
        |n| n.operands[BIAS].strides[0] = 2,
    ];
    for (at, change) in changed.into_iter().enumerate() {
        let mut nest = nest.clone();
        change(&mut nest);
        assert_eq!(epilogue(&f32s, &nest, Y), None, "{at}");
    }
}

/// `y + bias` over `axes`, where `bias` has these strides.
fn over(axes: &[u64], steps: &[i64]) -> Nest {
    let own: Vec<Index> = (0..axes.len()).map(Index::axis).collect();
    let load = |operand| Inst::Load { operand, index: own.clone() };
    let insts = vec![load(0), load(1), Inst::Op { op: ADD, args: vec![0, 1] }];
    let stores = vec![Store { operand: 2, index: own.clone(), value: 2, when: None, add: false }];
    let whole = |written| Operand::contiguous(DType::F32, axes, written);
    let bias = Operand { strides: steps.to_vec(), ..whole(false) };
    let phases = vec![Phase { kind: PhaseKind::Point, block: Block { insts }, folds: vec![], stores }];
    let operands = vec![whole(false), bias, whole(true)];
    Nest { name: "over".into(), axes: axes.to_vec(), grid: axes.len(), operands, phases }
}

#[test]
fn axes_may_be_cut_and_joined() {
    let of_these =
        |extents: [u64; 2], output: &[u64], axes: &[u64], steps: &[i64]| {
            let found = epilogue(&call(DType::F32, extents, output), &over(axes, steps), 0);
            assert!(found.is_none_or(|e| e
                == LinearForm { alpha: 1.0, beta: 0.0, added: None, bias: Some(1), relu: false, result: 2 }));
            found.is_some()
        };
    for (axes, steps, want) in [
        (&[2, 6, 5, 4][..], &[0, 1, 0, 0][..], true),
        (&[2, 6, 20], &[0, 1, 0], true),
        (&[2, 1, 6, 20], &[0, 9, 1, 0], true),
        (&[2, 3, 2, 20], &[0, 2, 1, 0], true),
        (&[2, 3, 2, 10, 2], &[0, 2, 1, 0, 0], true),
        (&[2, 3, 2, 20], &[0, 1, 2, 0], false),
        (&[2, 3, 2, 20], &[0, 0, 1, 0], false),
        (&[2, 6, 20], &[6, 1, 0], false),
        (&[2, 6, 20], &[0, 0, 1], false),
        (&[2, 6, 20], &[0, 2, 0], false),
        (&[2, 6, 20], &[0, -1, 0], false),
        // Axes that are parts of two.
        (&[12, 20], &[1, 0], false),
        (&[2, 120], &[0, 1], false),
        (&[2, 12, 10], &[0, 1, 0], false),
        (&[240], &[0], false),
    ] {
        assert_eq!(of_these([2, 6], &[5, 4], axes, steps), want, "{axes:?} {steps:?}");
    }
    // One image, one position, one filter.
    assert!(of_these([1, 6], &[20], &[6, 20], &[1, 0]));
    assert!(of_these([2, 6], &[1, 1], &[2, 6], &[0, 1]));
    assert!(of_these([2, 1], &[20], &[40], &[0]));
    assert!(!of_these([2, 6], &[1, 1], &[12], &[1]));
    // As long as the result: it may be stored over.
    assert!(!of_these([1, 6], &[1], &[6], &[1]));
    assert!(!of_these([1, 6], &[1, 1], &[1, 6, 1, 1], &[0, 1, 0, 0]));
    assert!(!of_these([1, 1], &[1, 1, 1], &[], &[]));
}

#[test]
fn two_that_could_be_either_are_left_to_a_nest() {
    let call = call(DType::F32, [1, 6], &[1]);
    let mut nest = over(&[6], &[1]);
    let block = &mut nest.phases[0].block;
    block.insts.push(Inst::Load { operand: 2, index: vec![Index::axis(0)] });
    block.insts.push(Inst::Op { op: ADD, args: vec![3, 2] });
    nest.phases[0].stores[0].value = 4;
    assert_eq!(epilogue(&call, &nest, 0), None);
}
