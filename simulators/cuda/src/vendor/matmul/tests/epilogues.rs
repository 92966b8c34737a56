//! Which Nests are recognized as epilogues, and which are not.

mod layouts;

use super::*;
use workalike_kernels::nest::{Block, Index, Inst, Operand, Phase, PhaseKind, Store};
use workalike_kernels::ops;
use workalike_kernels::ops::{ADD, DIV, MAXIMUM, MUL, NEG, SUB, TANH};

const M: u64 = 6;
const N: u64 = 4;

fn product(dtype: DType) -> Matmul {
    Matmul { dtype, batch: 1, m: M, n: N, k: 5, a: [0, 5, 1], b: [0, N as i64, 1], fast: false }
}

/// The operands of every Nest here: the product, two addends, two biases, and the result.
const P: usize = 0;
const C: usize = 1;
const C2: usize = 2;
const BIAS: usize = 3;
const BIAS2: usize = 4;
const OUT: usize = 5;

/// Builds a Nest instruction by instruction; its last value is stored.
struct Writer {
    dtype: DType,
    insts: Vec<Inst>,
}

impl Writer {
    fn new(dtype: DType) -> Writer {
        Writer { dtype, insts: vec![] }
    }

    fn push(&mut self, inst: Inst) -> u32 {
        self.insts.push(inst);
        self.insts.len() as u32 - 1
    }

    /// A load of the element at the point, or at its column.
    fn load(&mut self, operand: usize) -> u32 {
        let index = match operand {
            BIAS | BIAS2 => vec![Index::axis(1)],
            _ => vec![Index::axis(0), Index::axis(1)],
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
        let stores = vec![Store {
            operand: OUT,
            index: vec![Index::axis(0), Index::axis(1)],
            value,
            when: None,
            add: false,
        }];
        let block = Block { insts: self.insts };
        let whole = |written| Operand::contiguous(self.dtype, &[M, N], written);
        let row = || Operand::contiguous(self.dtype, &[N], false);
        Nest {
            name: "then".into(),
            axes: vec![M, N],
            grid: 2,
            operands: vec![whole(false), whole(false), whole(false), row(), row(), whole(true)],
            phases: vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores }],
        }
    }
}

/// The epilogue that a block of instructions is recognized as.
fn read(dtype: DType, write: impl FnOnce(&mut Writer)) -> Option<LinearForm> {
    let mut writer = Writer::new(dtype);
    write(&mut writer);
    epilogue(&product(dtype), &writer.nest(), P)
}

fn sum(alpha: f64, beta: f64, added: Option<usize>, bias: Option<usize>) -> Option<LinearForm> {
    Some(LinearForm { alpha, beta, added, bias, relu: false, result: OUT })
}

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

#[test]
fn a_scaled_product_is_one() {
    for dtype in FLOATS {
        let scaled = |by: f64| {
            read(dtype, |w| {
                let (p, by) = (w.load(P), w.number(by));
                w.op(MUL, &[p, by]);
            })
        };
        let tenth = Scalar::from_f64(dtype, 0.1).to_f64();
        assert_eq!(scaled(0.1), sum(tenth, 0.0, None, None), "{dtype:?}");
        assert_eq!(scaled(-2.0), sum(-2.0, 0.0, None, None));
        for by in [0.0, -0.0, f64::NAN, f64::INFINITY] {
            assert_eq!(scaled(by), None, "{by}");
        }
    }
    // Too small for a normal f32.
    let tiny = |dtype| {
        read(dtype, |w| {
            let (p, by) = (w.load(P), w.number(1e-30));
            let once = w.op(MUL, &[p, by]);
            w.op(MUL, &[by, once]);
        })
    };
    assert_eq!(tiny(DType::F32), None);
    assert!(tiny(DType::F64).is_some());
}

#[test]
fn an_update_with_decay_is_one() {
    for dtype in FLOATS {
        // w - 0.25 * (p + 0.5 * w)
        let got = read(dtype, |w| {
            let (old, p, decay, rate) = (w.load(C), w.load(P), w.number(0.5), w.number(0.25));
            let decayed = w.op(MUL, &[decay, old]);
            let gradient = w.op(ADD, &[p, decayed]);
            let step = w.op(MUL, &[gradient, rate]);
            w.op(SUB, &[old, step]);
        });
        assert_eq!(got, sum(-0.25, 0.875, Some(C), None), "{dtype:?}");
        // 3 * c - p / 4, with the operand loaded twice and a negation.
        let got = read(dtype, |w| {
            let (p, c, again, four) = (w.load(P), w.load(C), w.load(C), w.number(4.0));
            let part = w.op(DIV, &[p, four]);
            let turned = w.op(NEG, &[part]);
            let twice = w.op(ADD, &[c, again]);
            let thrice = w.op(ADD, &[twice, c]);
            w.op(ADD, &[turned, thrice]);
        });
        assert_eq!(got, sum(-0.25, 3.0, Some(C), None), "{dtype:?}");
    }
}

#[test]
fn what_is_stored_may_be_what_is_added() {
    let mut writer = Writer::new(DType::F32);
    let (p, old) = (writer.load(P), writer.load(OUT));
    writer.op(SUB, &[old, p]);
    assert_eq!(epilogue(&product(DType::F32), &writer.nest(), P), sum(-1.0, 1.0, Some(OUT), None));
}

#[test]
fn a_bias_is_one_unscaled_and_not_of_doubles() {
    let biased = |dtype, by: f64| {
        read(dtype, |w| {
            let (p, b, by) = (w.load(P), w.load(BIAS), w.number(by));
            let b = w.op(MUL, &[b, by]);
            w.op(ADD, &[p, b]);
        })
    };
    for dtype in FLOATS {
        let want = if dtype == DType::F64 { None } else { sum(1.0, 0.0, None, Some(BIAS)) };
        assert_eq!(biased(dtype, 1.0), want, "{dtype:?}");
        assert_eq!(biased(dtype, 2.0), None);
        assert_eq!(biased(dtype, -1.0), None);
    }
    let both = read(DType::F32, |w| {
        let (p, c, b, two) = (w.load(P), w.load(C), w.load(BIAS), w.number(2.0));
        let c = w.op(MUL, &[two, c]);
        let sum = w.op(SUB, &[b, c]);
        w.op(SUB, &[sum, p]);
    });
    assert_eq!(both, sum(-1.0, -2.0, Some(C), Some(BIAS)));
}

#[test]
fn a_second_one_of_either_is_none() {
    for (first, second) in [(C, C2), (BIAS, BIAS2), (C, OUT)] {
        let got = read(DType::F32, |w| {
            let (p, x, y) = (w.load(P), w.load(first), w.load(second));
            let sum = w.op(ADD, &[p, x]);
            w.op(ADD, &[sum, y]);
        });
        assert_eq!(got, None, "{first} {second}");
    }
    let got = read(DType::F32, |w| {
        let loads = [P, C, BIAS, C2, BIAS2].map(|operand| w.load(operand));
        loads[1..].iter().fold(loads[0], |sum, x| w.op(ADD, &[sum, *x]));
    });
    assert_eq!(got, None);
}

#[test]
fn what_is_no_sum_of_scaled_operands_is_none() {
    type Write = fn(&mut Writer);
    let writes: [(&str, Write); 9] = [
        ("a function", |w| {
            let p = w.load(P);
            w.op(TANH, &[p]);
        }),
        ("the larger", |w| {
            let (p, zero) = (w.load(P), w.number(0.0));
            w.op(MAXIMUM, &[p, zero]);
        }),
        ("a product of operands", |w| {
            let (p, c) = (w.load(P), w.load(C));
            w.op(MUL, &[p, c]);
        }),
        ("a quotient by an operand", |w| {
            let (p, c) = (w.load(P), w.load(C));
            w.op(DIV, &[p, c]);
        }),
        ("a number added", |w| {
            let (p, one) = (w.load(P), w.number(1.0));
            w.op(ADD, &[p, one]);
        }),
        ("a number added and taken away", |w| {
            let (p, one) = (w.load(P), w.number(1.0));
            let more = w.op(ADD, &[p, one]);
            w.op(SUB, &[more, one]);
        }),
        ("without the product", |w| {
            let (_, c, two) = (w.load(P), w.load(C), w.number(2.0));
            w.op(MUL, &[c, two]);
        }),
        ("what cancels", |w| {
            let (p, c, most) = (w.load(P), w.load(C), w.number(0.75));
            let most = w.op(MUL, &[c, most]);
            let rest = w.op(SUB, &[c, most]);
            w.op(ADD, &[p, rest]);
        }),
        ("what cancels altogether", |w| {
            let (p, c) = (w.load(P), w.load(C));
            let sum = w.op(ADD, &[p, c]);
            w.op(SUB, &[sum, c]);
        }),
    ];
    for (what, write) in writes {
        assert_eq!(read(DType::F32, write), None, "{what}");
    }
}

#[test]
fn quotients_are_exact_or_of_sums() {
    let divided = |operand: usize, by: f64| {
        read(DType::F32, |w| {
            let (p, x, by) = (w.load(P), w.load(operand), w.number(by));
            let part = w.op(DIV, &[x, by]);
            if operand != P {
                w.op(ADD, &[p, part]);
            }
        })
    };
    assert_eq!(divided(C, 8.0), sum(1.0, 0.125, Some(C), None));
    assert_eq!(divided(C, 3.0), None);
    assert_eq!(divided(C, 0.0), None);
    assert_eq!(divided(P, 3.0), sum(f64::from(1.0f32 / 3.0), 0.0, None, None));
    assert_eq!(divided(P, 0.0), None);
}

#[test]
fn casts_between_what_is_stored_and_computed_are_none_at_all() {
    for dtype in [DType::F16, DType::BF16] {
        let through = |by: DType| {
            read(dtype, |w| {
                let (p, c) = (w.load(P), w.load(C));
                let [p, c] = [p, c].map(|value| w.push(Inst::Cast { to: by, value }));
                let sum = w.op(ADD, &[p, c]);
                w.push(Inst::Cast { to: dtype, value: sum });
            })
        };
        assert_eq!(through(DType::F32), sum(1.0, 1.0, Some(C), None), "{dtype:?}");
        assert_eq!(through(DType::F64), None);
        let other = if dtype == DType::F16 { DType::BF16 } else { DType::F16 };
        assert_eq!(through(other), None);
    }
    let by_double = read(DType::F32, |w| {
        let p = w.load(P);
        let wide = w.push(Inst::Cast { to: DType::F64, value: p });
        w.push(Inst::Cast { to: DType::F32, value: wide });
    });
    assert_eq!(by_double, None);
}

/// `p + c`, as a start for changes.
fn plus(dtype: DType) -> Nest {
    let mut writer = Writer::new(dtype);
    let (p, c) = (writer.load(P), writer.load(C));
    writer.op(ADD, &[p, c]);
    writer.nest()
}

#[test]
fn one_store_of_every_element_and_nothing_else() {
    let (dtype, p) = (DType::F32, product(DType::F32));
    assert_eq!(epilogue(&p, &plus(dtype), P), sum(1.0, 1.0, Some(C), None));
    type Change = fn(&mut Nest);
    let changes: [(&str, Change); 11] = [
        ("adds", |n| n.phases[0].stores[0].add = true),
        ("chooses", |n| n.phases[0].stores[0].when = Some(0)),
        ("stores twice", |n| {
            let store = Store { operand: C2, ..n.phases[0].stores[0].clone() };
            n.operands[C2].written = true;
            n.phases[0].stores.push(store);
        }),
        ("stores nothing", |n| n.phases[0].stores.clear()),
        ("has a second phase", |n| n.phases.push(n.phases[0].clone())),
        ("folds", |n| n.phases[0].kind = PhaseKind::Reduce),
        ("has an inner axis", |n| n.grid = 1),
        ("has other points", |n| n.axes = vec![M, N + 1]),
        ("stores another type", |n| n.operands[OUT].dtype = DType::F64),
        ("adds another type", |n| n.operands[C].dtype = DType::F64),
        ("stores transposed", |n| n.operands[OUT].strides = vec![1, M as i64]),
    ];
    for (what, change) in changes {
        let mut nest = plus(dtype);
        change(&mut nest);
        assert_eq!(epilogue(&p, &nest, P), None, "{what}");
    }
    // An operand that is not the product, and one that does not exist.
    assert_eq!(epilogue(&p, &plus(dtype), C2), None);
    assert_eq!(epilogue(&p, &plus(dtype), 99), None);
    assert_eq!(epilogue(&Matmul { m: M + 1, ..p.clone() }, &plus(dtype), P), None);
    assert_eq!(epilogue(&Matmul { m: 0, ..p }, &plus(dtype), P), None);
    let whole_numbers = Matmul { dtype: DType::I32, ..product(DType::F32) };
    assert_eq!(epilogue(&whole_numbers, &plus(DType::I32), P), None);
}
