//! Where the keys of streams come from: a seed, with states in shared variables; or a key that is a value.

use super::super::creation::arange_between;
use super::super::elemwise::{cast, elemwise};
use super::super::methods::fail;
use super::{IntoSize, RandomStreams};
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, SharedVariable, Variable};
use crate::value::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use workalike_kernels::ops::philox4x32_10;
use workalike_kernels::{DType, ops as scalar};

/// What the keys of streams are made from.
#[derive(Debug)]
pub(super) enum KeySource {
    /// A seed, and the states of the streams that were written, by their numbers.
    Seed { seed: AtomicU64, states: Mutex<BTreeMap<u64, SharedVariable>> },
    /// A 0-d uint64.
    Key(Variable),
}

/// The lanes of `philox` that make keys of a key: one for streams, the other for what users derive, so that
/// these never coincide.
const STREAMS: u64 = 0;
const DERIVED: u64 = 1;

/// The key of a stream of draws with a key.
pub(super) fn of_stream(key: &Variable, number: u64) -> Result<Variable> {
    derived(key, Variable::constant(number), STREAMS)
}

/// Key and counter of a stream that has drawn nothing.
pub(super) fn first_state(seed: u64, number: u64) -> Value {
    let words =
        philox4x32_10([number as u32, (number >> 32) as u32, 1, 0], [seed as u32, (seed >> 32) as u32]);
    Value::from(vec![u64::from(words[0]) | u64::from(words[1]) << 32, 0u64])
}

fn derived(key: &Variable, numbers: Variable, lane: u64) -> Result<Variable> {
    let inputs = [key.clone(), numbers, Variable::constant(lane)];
    elemwise(scalar::PHILOX, inputs.map(Operand::Variable).to_vec())
}

/// A key: a number, or a 0-d uint64.
fn key_of(key: impl IntoOperand) -> Result<Variable> {
    match key.into_operand() {
        Operand::Int(n) => match u64::try_from(n) {
            Ok(n) => Ok(Variable::constant(n)),
            Err(_) => Err(fail("key", format!("{n} is no uint64"))),
        },
        Operand::Variable(key) if key.checked()?.dtype() == DType::U64 && key.ndim() == 0 => Ok(key),
        Operand::Variable(key) => Err(fail("key", format!("expected a 0-d uint64, got {}", key.ty()))),
        Operand::Float(_) | Operand::Bool(_) | Operand::Complex(_) => {
            Err(fail("key", "expected a 0-d uint64".into()))
        }
    }
}

impl RandomStreams {
    /// Streams from a seed. Equal seeds give equal draws, in the order they are written. Their states are
    /// shared variables: each call draws anew.
    pub fn new(seed: u64) -> RandomStreams {
        let source = KeySource::Seed { seed: AtomicU64::new(seed), states: Mutex::default() };
        RandomStreams { source, made: AtomicU64::new(0) }
    }

    /// Streams from a key, a number or a 0-d uint64 that may be an input or a computed value: JAX's
    /// `random`. They have no state: equal keys give equal draws, call after call. Draws that are written
    /// one after the other are independent of each other. New keys come from [`split`] and [`fold_in`].
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let key = scalar::<u64>("key");
    /// let streams = RandomStreams::from_key(&key);
    /// let f = function([&key]).output(streams.normal::<f32>([4])).output(split(&key, 2)).compile()?;
    /// let first = f.call(args![42u64])?;
    /// assert_eq!(f.call(args![42u64])?[0], first[0]);
    /// let next = first[1].to_vec::<u64>()?[0];
    /// assert_ne!(f.call(args![next])?[0], first[0]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[track_caller]
    pub fn from_key(key: impl IntoOperand) -> RandomStreams {
        let _scope = source_location::enter();
        let key = key_of(key).unwrap_or_else(Variable::poison);
        RandomStreams { source: KeySource::Key(key), made: AtomicU64::new(0) }
    }

    /// Sets the states of all streams that were written, and the seed of those to come, as if this were made
    /// by [`RandomStreams::new`] with this seed (Theano's `seed`). Simulators keep their states: give them
    /// `sim.set(&state, state.get_value()?)` of each of the [states](RandomStreams::states). Streams from a
    /// key have no states, and stay as they are.
    ///
    /// # Errors
    /// If there is no memory, or an op asks while the Function that performs it holds a state.
    pub fn seed(&self, new: u64) -> Result<()> {
        let KeySource::Seed { seed, states } = &self.source else { return Ok(()) };
        let known = states.lock().unwrap_or_else(PoisonError::into_inner).clone();
        crate::graph::set_values(known.iter().map(|(number, state)| (state, first_state(new, *number))))?;
        seed.store(new, Ordering::Relaxed);
        Ok(())
    }

    /// The state of each stream, in the order they were written: two uint64, a key and the number of elements
    /// drawn (Theano's `state_updates`). A Function that draws updates it.
    pub fn states(&self) -> Vec<SharedVariable> {
        match &self.source {
            KeySource::Seed { states, .. } => {
                states.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
            }
            KeySource::Key(_) => vec![],
        }
    }
}

/// `count` keys from a key, as a uint64 vector: JAX's `split`. They are independent of each other, of the key
/// and of what is drawn with it; equal to `fold_in` of their positions.
///
/// # Errors
/// (In the result.) If the key is no number or 0-d uint64, or `count` no extent.
#[track_caller]
pub fn split(key: impl IntoOperand, count: impl IntoOperand) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let (extents, further) = [count].into_size().checked_extents("draw")?;
        let numbers = cast(&arange_between(0, super::count(&extents, &further)?, 1), DType::U64)?;
        derived(&key_of(key)?, numbers, DERIVED)
    };
    build().unwrap_or_else(Variable::poison)
}

/// A key from a key and a number, such as that of an iteration: JAX's `fold_in`. Of integers with axes, a key
/// for each.
///
/// # Errors
/// (In the result.) If the key is no number or 0-d uint64, or the numbers are no integers.
#[track_caller]
pub fn fold_in(key: impl IntoOperand, numbers: impl IntoOperand) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let numbers = Operand::resolve_for("fold_in", vec![numbers.into_operand()]).swap_remove(0);
        match numbers.checked()?.dtype() {
            dtype if dtype.is_integer() => derived(&key_of(key)?, cast(&numbers, DType::U64)?, DERIVED),
            _ => Err(fail("fold_in", format!("expected integers, got {}", numbers.ty()))),
        }
    };
    build().unwrap_or_else(Variable::poison)
}
