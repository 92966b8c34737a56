//! Random streams: counter-based draws whose state is a shared variable.
//!
//! A stream's state is two u64: a key and a counter. Element `i` of a draw (row-major) is a function of
//! `(key, counter + i)` alone, through Philox4x32-10 (the op `philox`); the draw's default update adds the
//! number of elements to the counter. So raw bits, integers and uniforms are equal bit for bit on every
//! device. Normals are Box-Muller compositions: they agree within the tolerance of log, sqrt, sin and cos.

use super::creation::arange_between;
use super::elemwise::{cast, elemwise};
use super::methods::fail;
use super::{Extent, IncSubtensor, Reshape, Slot, Subtensor, subtensor::Bound};
use crate::error::Result;
use crate::graph::{Operand, SharedVariable, Variable, place};
use crate::value::{Element, Value, checked_len};
use std::sync::atomic::{AtomicU64, Ordering};
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::ops as scalar;
use workalike_kernels::ops::{ScalarOp, philox4x32_10};

/// A seed from which any number of independent streams is made, one for each draw that is written.
///
/// ```
/// use workalike::prelude::*;
/// let streams = RandomStreams::new(42);
/// let u = streams.uniform::<f32>(&[2, 3]);
/// let f = function([] as [&Variable; 0]).output(&u).compile()?;
/// assert_ne!(f.call(args![])?[0], f.call(args![])?[0]); // the stream moves on at each call
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Debug)]
pub struct RandomStreams {
    seed: u64,
    made: AtomicU64,
}

impl RandomStreams {
    /// Streams from a seed. Equal seeds give equal draws, in the order they are written.
    pub fn new(seed: u64) -> RandomStreams {
        RandomStreams { seed, made: AtomicU64::new(0) }
    }

    /// Uniform draws in [0, 1): multiples of 2^-8 (bf16), 2^-11 (f16), 2^-24 (f32) or 2^-53 (f64), each as
    /// likely as any other.
    #[track_caller]
    pub fn uniform<T: Element>(&self, shape: &[usize]) -> Variable {
        let _scope = place::enter();
        self.draw(shape, |bits| unit(&bits(0)?, T::DTYPE)).unwrap_or_else(Variable::poison)
    }

    /// Standard normal draws, by Box and Muller: `sqrt(-2 ln u) cos(2 pi v)` with u in (0, 1].
    #[track_caller]
    pub fn normal<T: Element>(&self, shape: &[usize]) -> Variable {
        let _scope = place::enter();
        self.draw(shape, |bits| {
            let dtype = T::DTYPE.promote(DType::F32);
            let one = Operand::Float(1.0);
            let u = op(scalar::SUB, vec![one, Operand::Variable(unit(&bits(0)?, dtype)?)])?;
            let v = unit(&bits(1)?, dtype)?;
            let minus_two_log =
                op(scalar::MUL, vec![Operand::Float(-2.0), Operand::Variable(op1(scalar::LOG, u)?)])?;
            let radius = op1(scalar::SQRT, minus_two_log)?;
            let angle = op(scalar::MUL, vec![Operand::Float(std::f64::consts::TAU), Operand::Variable(v)])?;
            let draw = op(
                scalar::MUL,
                vec![Operand::Variable(radius), Operand::Variable(op1(scalar::COS, angle)?)],
            )?;
            cast(&draw, T::DTYPE)
        })
        .unwrap_or_else(Variable::poison)
    }

    /// Raw random bits.
    #[track_caller]
    pub fn bits(&self, shape: &[usize]) -> Variable {
        let _scope = place::enter();
        self.draw(shape, |bits| bits(0)).unwrap_or_else(Variable::poison)
    }

    /// A new stream, and what `sample` makes of its bits; `bits(lane)` gives u64s in `shape`, one counter
    /// each.
    fn draw(
        &self,
        shape: &[usize],
        sample: impl FnOnce(&dyn Fn(u64) -> Result<Variable>) -> Result<Variable>,
    ) -> Result<Variable> {
        let count = checked_len(shape, DType::U64).map_err(|e| fail("draw", e.to_string()))? as u64;
        let state = self.stream(count)?;
        let counters = op(
            scalar::ADD,
            vec![
                Operand::Variable(cast(&arange_between(0, count, 1), DType::U64)?),
                Operand::Variable(part(&state, 1)?),
            ],
        )?;
        let extents = shape.iter().map(|&e| Extent::Fixed(e)).collect();
        let counters = Reshape::of(&counters, extents, &[])?;
        let key = part(&state, 0)?;
        sample(&|lane| {
            let lane = Variable::constant(lane);
            op(
                scalar::PHILOX,
                vec![key.clone(), counters.clone(), lane].into_iter().map(Operand::Variable).collect(),
            )
        })
    }

    /// A new state, which advances by `count` at each call.
    fn stream(&self, count: u64) -> Result<SharedVariable> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let words = philox4x32_10(
            [number as u32, (number >> 32) as u32, 1, 0],
            [self.seed as u32, (self.seed >> 32) as u32],
        );
        let key = words[0] as u64 | (words[1] as u64) << 32;
        let advance = move |state: &Variable| {
            let step = Variable::constant(count);
            let slots = vec![Slot::Index(Bound::At(1))];
            Variable::apply1(IncSubtensor { slots, set: false }, &[state.clone(), step])
                .unwrap_or_else(Variable::poison)
        };
        let value = Value::from(vec![key, 0u64]);
        SharedVariable::build(&format!("rng{number}"), value, &[], Some(std::sync::Arc::new(advance)))
    }
}

fn part(state: &Variable, at: i64) -> Result<Variable> {
    Variable::apply1(Subtensor { slots: vec![Slot::Index(Bound::At(at))] }, std::slice::from_ref(state))
}

fn op(op: ScalarOp, operands: Vec<Operand>) -> Result<Variable> {
    elemwise(op, operands)
}

fn op1(op: ScalarOp, x: Variable) -> Result<Variable> {
    elemwise(op, vec![Operand::Variable(x)])
}

/// Random bits as a float in [0, 1) of this dtype: as many as its significand has, so that none rounds to 1.
fn unit(bits: &Variable, dtype: DType) -> Result<Variable> {
    let (wide, digits) = match dtype {
        DType::F64 => (DType::F64, 53),
        DType::F32 => (DType::F32, 24),
        DType::F16 => (DType::F32, 11),
        DType::BF16 => (DType::F32, 8),
        other => return Err(fail("draw", format!("expected a float dtype, got {other}"))),
    };
    let shift = Variable::constant(64 - digits as u64);
    let top = op(scalar::RIGHT_SHIFT, vec![Operand::Variable(bits.clone()), Operand::Variable(shift)])?;
    let scale = Variable::constant(Value::scalar(Scalar::from_f64(wide, (-digits as f64).exp2())));
    let unit = op(scalar::MUL, vec![Operand::Variable(cast(&top, wide)?), Operand::Variable(scale)])?;
    cast(&unit, dtype)
}
