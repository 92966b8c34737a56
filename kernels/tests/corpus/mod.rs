//! Nests of every kind with input data, for which the interpreter, the printers and all devices must agree.
//!
//! A device crate includes this module with `#[path]` and compares its device's results with `interpret`.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "each test binary uses its part")]

mod adds;
mod cases;
mod neighbours;
mod products;
mod semirings;
pub use adds::{addable, adds};
pub use cases::{all, casts, folds, primitives, shapes};
pub use neighbours::neighbours;
pub use products::{product, products};

use workalike_kernels::nest::*;
use workalike_kernels::ops::ScalarOp;
use workalike_kernels::{DType, Scalar};

/// A Nest and the initial contents of its operands.
pub struct Case {
    /// The Nest.
    pub nest: Nest,
    /// The bytes of each operand.
    pub operands: Vec<Vec<u8>>,
    /// Error bound of float results, in ulp of their dtype.
    pub ulp: u32,
}

/// A linear congruential generator.
pub struct Random(u64);

impl Random {
    /// The next 32 bits.
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 32) as u32
    }
}

/// `n` elements of small values; with `special`, some are NaN, infinities or at the ends of a range.
pub fn data(dtype: DType, n: usize, special: bool, seed: u64) -> Vec<u8> {
    const SPECIALS: [f64; 24] = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        0.0,
        1e30,
        -1e30,
        1e-40,
        65520.0,
        65519.9,
        2147483648.0,
        -2147483649.0,
        4294967296.0,
        9.3e18,
        -9.3e18,
        1.9e19,
        127.5,
        128.0,
        -128.9,
        255.9,
        -0.7,
        32768.0,
        3.0e-8,
        16777217.0,
    ];
    let mut random = Random(seed);
    let mut bytes = Vec::with_capacity(n * dtype.size());
    for _ in 0..n {
        let r = random.next();
        let scalar = if special && r.is_multiple_of(3) {
            if dtype.is_integer() && r & 64 != 0 {
                Scalar::from_i128(dtype, ((random.next() as i128) << 32) | random.next() as i128)
            } else {
                Scalar::from_f64(dtype, SPECIALS[(r >> 8) as usize % SPECIALS.len()])
            }
        } else {
            Scalar::from_f64(dtype, ((r >> 8) % 64) as f64 / 8.0 - 4.0)
        };
        bytes.extend(&scalar.to_le_bytes()[..dtype.size()]);
    }
    bytes
}

/// Builds a Nest: operands are contiguous, inputs first.
pub struct Builder {
    nest: Nest,
    operands: Vec<Vec<u8>>,
    ulp: u32,
}

impl Builder {
    pub fn new(name: &str, axes: &[u64], grid: usize) -> Builder {
        let nest = Nest { name: name.into(), axes: axes.to_vec(), grid, operands: vec![], phases: vec![] };
        Builder { nest, operands: vec![], ulp: 0 }
    }
    pub fn ulp(mut self, ulp: u32) -> Builder {
        self.ulp = ulp;
        self
    }
    pub fn input(self, dtype: DType, shape: &[u64]) -> Builder {
        let n = shape.iter().product::<u64>() as usize;
        let seed = 7 + self.operands.len() as u64;
        self.given(dtype, shape, data(dtype, n, false, seed))
    }
    pub fn special(self, dtype: DType, shape: &[u64]) -> Builder {
        let n = shape.iter().product::<u64>() as usize;
        let seed = 99 + self.operands.len() as u64;
        self.given(dtype, shape, data(dtype, n, true, seed))
    }
    pub fn given(mut self, dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Builder {
        self.nest.operands.push(Operand::contiguous(dtype, shape, false));
        self.operands.push(bytes);
        self
    }
    pub fn output(mut self, dtype: DType, shape: &[u64]) -> Builder {
        self.nest.operands.push(Operand::contiguous(dtype, shape, true));
        self.operands.push(vec![0; shape.iter().product::<u64>() as usize * dtype.size()]);
        self
    }
    /// Marks the last operand as written.
    pub fn written(mut self) -> Builder {
        self.nest.operands.last_mut().expect("an operand").written = true;
        self
    }
    pub fn phase(mut self, kind: PhaseKind, build: impl FnOnce(&mut Build)) -> Builder {
        let mut body =
            Build { phase: Phase { kind, block: Block::default(), folds: vec![], stores: vec![] } };
        build(&mut body);
        self.nest.phases.push(body.phase);
        self
    }
    pub fn done(self) -> Case {
        Case { nest: self.nest, operands: self.operands, ulp: self.ulp }
    }
}

/// Builds a phase.
pub struct Build {
    pub phase: Phase,
}

impl Build {
    pub fn push(&mut self, inst: Inst) -> Value {
        self.phase.block.push(inst)
    }
    pub fn op(&mut self, op: ScalarOp, args: &[Value]) -> Value {
        self.push(Inst::Op { op, args: args.to_vec() })
    }
    pub fn constant(&mut self, dtype: DType, x: f64) -> Value {
        self.push(Inst::Const(Scalar::from_f64(dtype, x)))
    }
    pub fn cast(&mut self, value: Value, to: DType) -> Value {
        self.push(Inst::Cast { to, value })
    }
    /// A load along axes.
    pub fn load(&mut self, operand: usize, axes: &[usize]) -> Value {
        self.load_at(operand, along(axes))
    }
    pub fn load_at(&mut self, operand: usize, index: Vec<Index>) -> Value {
        self.push(Inst::Load { operand, index })
    }
    pub fn position(&mut self, value: Value, extent: u64, mode: IndexMode) -> Value {
        self.push(Inst::Position { value, extent, mode })
    }
    pub fn folded(&mut self, phase: usize, fold: usize) -> Value {
        self.push(Inst::Folded { phase, fold })
    }
    pub fn fold(&mut self, fold: Fold, value: Value) {
        self.phase.folds.push(FoldOf { fold, value, index: None });
    }
    pub fn arg_fold(&mut self, fold: Fold, value: Value, index: Value) {
        self.phase.folds.push(FoldOf { fold, value, index: Some(index) });
    }
    pub fn store(&mut self, operand: usize, axes: &[usize], value: Value) {
        self.store_at(operand, along(axes), value, None);
    }
    pub fn store_at(&mut self, operand: usize, index: Vec<Index>, value: Value, when: Option<Value>) {
        self.phase.stores.push(Store { operand, index, value, when, add: false });
    }
    pub fn add_at(&mut self, operand: usize, index: Vec<Index>, value: Value, when: Option<Value>) {
        self.phase.stores.push(Store { operand, index, value, when, add: true });
    }
}

pub fn along(axes: &[usize]) -> Vec<Index> {
    axes.iter().map(|&a| Index::axis(a)).collect()
}

/// Every index mode; `status` is the operand of reports.
pub fn modes(status: usize) -> [IndexMode; 4] {
    [IndexMode::Clamp, IndexMode::Wrap, IndexMode::FromEnd, IndexMode::Report { status, node: 17 }]
}

pub fn computed(value: Value) -> Index {
    Index { dynamic: Some(value), ..Index::default() }
}
