//! Random streams: counter-based draws whose state is a shared variable.
//!
//! A stream's state is two u64: a key and a counter. Element `i` of a draw (row-major) is a function of
//! `(key, counter + i)` alone, through Philox4x32-10 (the op `philox`); the draw's default update adds the
//! number of elements to the counter. So raw bits, integers and uniforms are equal bit for bit on every
//! device; what is computed from them by logarithms and the like agrees within their tolerance.
//!
//! - here: streams and their states; `keys`: seeds, and keys as values;
//! - `continuous`: uniform, normal and exponential draws; `gammas`: gamma, beta and Dirichlet;
//! - `discrete`: bits, integers, choices and permutations; `counts`: Poisson, binomial and multinomial.

mod continuous;
mod counts;
mod discrete;
mod gammas;
mod keys;

use keys::{KeySource, first_state, of_stream};
pub use keys::{fold_in, split};

use super::creation::arange_between;
use super::elemwise::{cast, elemwise};
use super::methods::fail;
use super::shape::{BroadcastLike, Extent, Reshape};
use super::shape_argument::{IntoSize, Size, like};
use super::subtensor::{Bound, IncSubtensor, Slot, Subtensor};
use crate::error::Result;
use crate::graph::{Operand, SharedVariable, Variable};
use crate::value::checked_len;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use workalike_kernels::DType;
use workalike_kernels::ops::{self as scalar, ScalarOp};

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
    source: KeySource,
    made: AtomicU64,
}

/// The random bits of a draw.
struct RandomBits {
    key: Variable,
    counters: Variable,
}

impl RandomBits {
    /// One u64 for each element; `lane` 0 or 1, from one counter.
    fn lane(&self, lane: u64) -> Result<Variable> {
        self.through(scalar::PHILOX, vec![Operand::Variable(Variable::constant(lane))])
    }

    /// The results of an op that draws at keys and counters, with parameters that [fit](Bits::fit).
    fn through(&self, op: ScalarOp, parameters: Vec<Operand>) -> Result<Variable> {
        let place = [&self.key, &self.counters].map(|v| Operand::Variable(v.clone()));
        elemwise(op, place.into_iter().chain(parameters).collect())
    }

    /// A parameter that broadcasts to the size: a larger one would give equal draws to several elements.
    fn fit(&self, parameter: Operand) -> Result<Operand> {
        match parameter {
            Operand::Variable(v) if v.checked()?.ndim() > self.counters.ndim() => {
                Err(fail("draw", format!("a parameter {} has more axes than the size", v.ty())))
            }
            Operand::Variable(v) if v.ndim() > 0 => {
                BroadcastLike::of(&v, &self.counters).map(Operand::Variable)
            }
            other => Ok(other),
        }
    }
}

impl RandomStreams {
    /// The bits of a new stream, of this size.
    fn draw(&self, size: Size) -> Result<RandomBits> {
        let (extents, further) = size.checked_extents("draw")?;
        let count = count(&extents, &further)?;
        let mut counters = cast(&arange_between(0, &count, 1), DType::U64)?;
        let (key, start) = self.stream(&count)?;
        if let Some(start) = start {
            counters = elemwise(scalar::ADD, vec![Operand::Variable(counters), Operand::Variable(start)])?;
        }
        let counters = Reshape::of(&counters, extents, &further)?;
        Ok(RandomBits { key, counters })
    }

    /// The key of a new stream, and its first counter if that is not 0: of streams with a state, the state
    /// advances by `count` at each call.
    fn stream(&self, count: &Variable) -> Result<(Variable, Option<Variable>)> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let (seed, states) = match &self.source {
            KeySource::Key(key) => return Ok((of_stream(key, number)?, None)),
            KeySource::Seed { seed, states } => (seed.load(Ordering::Relaxed), states),
        };
        let step = cast(count, DType::U64)?;
        let advance = move |state: &Variable| {
            let slots = vec![Slot::Index(Bound::At(1))];
            Variable::apply1(IncSubtensor { slots, set: false }, &[state.clone(), step.clone()])
                .unwrap_or_else(Variable::poison)
        };
        let value = first_state(seed, number);
        let state = SharedVariable::build(&format!("rng{number}"), value, &[], Some(Arc::new(advance)))?;
        states.lock().unwrap_or_else(PoisonError::into_inner).insert(number, state.clone());
        Ok((part(&state, 0)?, Some(part(&state, 1)?)))
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
