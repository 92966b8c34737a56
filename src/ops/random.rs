//! Random streams: counter-based draws whose state is a shared variable.
//!
//! A stream's state is two u64: a key and a counter. Element `i` of a draw (row-major) is a function of
//! `(key, counter + i)` alone, through Philox4x32-10 (the op `philox`); the draw's default update adds the
//! number of elements to the counter. So raw bits, integers and uniforms are equal bit for bit on every
//! device; what is computed from them by logarithms and the like agrees within their tolerance.
//!
//! - here: streams and their states; `size`: the shapes of draws;
//! - `continuous`: uniform, normal and exponential draws;
//! - `discrete`: bits, integers, choices and permutations.

mod continuous;
mod discrete;
mod size;

pub use size::{IntoSize, Size, like};

use super::creation::arange_between;
use super::elemwise::{cast, elemwise};
use super::methods::fail;
use super::{Extent, IncSubtensor, Reshape, Slot, Subtensor, subtensor::Bound};
use crate::error::Result;
use crate::graph::{Operand, SharedVariable, Variable};
use crate::value::{Value, checked_len};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workalike_kernels::DType;
use workalike_kernels::ops as scalar;
use workalike_kernels::ops::philox4x32_10;

/// A seed from which any number of independent streams is made, one for each draw that is written.
///
/// Sizes are arrays of numbers or of 0-d integer Variables, tuples of both, `()` for a 0-d draw, or [`like`]
/// an array. Parameters are numbers or Variables that broadcast to the size.
///
/// ```
/// use workalike::prelude::*;
/// let streams = RandomStreams::new(42);
/// let x = matrix::<f32>("x");
/// let u = streams.uniform::<f32>([2, 3]);
/// let noise = streams.normal::<f32>(like(&x));
/// let batch = streams.integers(0, x.extent(0), [64]);
/// let f = function([&x]).output(&u).output(&x + noise).output(x.take(batch, 0)).compile()?;
/// let data = Value::zeros(DType::F32, &[1000, 8])?;
/// assert_ne!(f.call(args![&data])?[0], f.call(args![&data])?[0]); // the streams move on at each call
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Debug)]
pub struct RandomStreams {
    seed: u64,
    made: AtomicU64,
}

/// The random bits of a draw: `bits(lane)` gives one u64 for each element, `lane` 0 or 1, from one counter.
struct Bits {
    key: Variable,
    counters: Variable,
}

impl Bits {
    fn lane(&self, lane: u64) -> Result<Variable> {
        let lane = Variable::constant(lane);
        let inputs = vec![self.key.clone(), self.counters.clone(), lane];
        elemwise(scalar::PHILOX, inputs.into_iter().map(Operand::Variable).collect())
    }
}

impl RandomStreams {
    /// Streams from a seed. Equal seeds give equal draws, in the order they are written.
    pub fn new(seed: u64) -> RandomStreams {
        RandomStreams { seed, made: AtomicU64::new(0) }
    }

    /// The bits of a new stream, of this size.
    fn draw(&self, size: Size) -> Result<Bits> {
        let (extents, further) = size.extents()?;
        let count = count(&extents, &further)?;
        let state = self.stream(&count)?;
        let start = Operand::Variable(part(&state, 1)?);
        let numbers = cast(&arange_between(0, &count, 1), DType::U64)?;
        let counters = elemwise(scalar::ADD, vec![Operand::Variable(numbers), start])?;
        let counters = Reshape::of(&counters, extents, &further)?;
        Ok(Bits { key: part(&state, 0)?, counters })
    }

    /// A new state, which advances by `count` at each call.
    fn stream(&self, count: &Variable) -> Result<SharedVariable> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let words = philox4x32_10(
            [number as u32, (number >> 32) as u32, 1, 0],
            [self.seed as u32, (self.seed >> 32) as u32],
        );
        let key = words[0] as u64 | (words[1] as u64) << 32;
        let step = cast(count, DType::U64)?;
        let advance = move |state: &Variable| {
            let slots = vec![Slot::Index(Bound::At(1))];
            Variable::apply1(IncSubtensor { slots, set: false }, &[state.clone(), step.clone()])
                .unwrap_or_else(Variable::poison)
        };
        let value = Value::from(vec![key, 0u64]);
        SharedVariable::build(&format!("rng{number}"), value, &[], Some(Arc::new(advance)))
    }
}

/// The number of elements of these extents, as a 0-d int64.
fn count(extents: &[Extent], further: &[Variable]) -> Result<Variable> {
    let fixed: Vec<usize> = extents
        .iter()
        .filter_map(|extent| match extent {
            Extent::Fixed(n) => Some(*n),
            _ => None,
        })
        .collect();
    let fixed = checked_len(&fixed, DType::U64).map_err(|e| fail("draw", e.to_string()))?;
    let mut count = Variable::constant(fixed as i64);
    for extent in further {
        count = count.try_mul(extent)?;
    }
    Ok(count)
}

fn part(state: &Variable, at: i64) -> Result<Variable> {
    Variable::apply1(Subtensor { slots: vec![Slot::Index(Bound::At(at))] }, std::slice::from_ref(state))
}
