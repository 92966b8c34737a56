//! Loops: a sub-graph that runs many times, on sequences and on its own results (Theano's `scan`); and
//! branches.
//!
//! The body is written by a closure over Variables. It runs once, when the expression is built; what it uses
//! from outside becomes an input of the loop, and what does not change from iteration to iteration is
//! computed once, before the loop.
//!
//! - here: [`scan`] and its relatives, for the common cases; `while_loop`: [`while_loop`], and `while_op` its
//!   op; `branch`: [`if_else`], [`switch`];
//! - `scan`: [`Scan`], for several taps, results that are not carried, and the rest;
//! - `pack`: [`Pack`], how a body takes and returns one Variable or several;
//! - `vmap`: a body on all slices at once;
//! - `closed`: sub-graphs; `states`: random streams within.
//!
//! ```
//! use workalike::loops::scan;
//! use workalike::prelude::*;
//! // The states of h' = tanh(x + w h), one for each x.
//! let (xs, h0, w) = (vector::<f64>("xs"), scalar::<f64>("h0"), scalar::<f64>("w"));
//! let states = scan(&xs, &h0, |x, h| (x + &w * h).tanh());
//! let f = function([&xs, &h0, &w]).output(&states).compile()?;
//! let results = f.call(args![vec![1.0, 2.0], 0.0, 0.5])?;
//! let first = 1f64.tanh();
//! assert_eq!(results[0].to_vec::<f64>()?, [first, (2.0 + 0.5 * first).tanh()]);
//! # Ok::<(), workalike::Error>(())
//! ```

mod agreement;
mod branch;
mod closed;
mod pack;
mod scan;
mod states;
mod vmap;
mod while_loop;
mod while_op;

pub use branch::{BranchOp, if_else, switch};
pub use pack::Pack;
pub(in crate::ops) use scan::decode;
pub(crate) use scan::{LoopArgument, LoopParts, Recurrence};
pub use scan::{Scan, ScanOp, Scanned};
pub use vmap::vmap;
pub use while_loop::{While, while_loop};
pub use while_op::WhileOp;

use super::creation::arange;
use super::methods::fail;
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{IntoOperand, Variable};

/// The values that the body computes one after the other, each from a slice of the sequences along their
/// first axis and from the values before: Theano's `scan`, JAX's `lax.scan`.
///
/// `body(x, h)` gets the slices and the carried values, and returns the next carried values, in the order of
/// `initial`. The result has one array for each carried value, of the values after each iteration; take
/// `.index(idx![-1])` for the last: no other is kept then. The sequences have equal extents along their first
/// axis; without sequences, use [`Scan::steps`] or [`fori`].
///
/// A poisoned result has the error if something does not fit: a carried value that changes its dtype or
/// shape, sequences of different lengths (at the call, where types do not tell).
#[track_caller]
#[must_use]
pub fn scan<S: Pack, C: Pack, R: Pack>(
    sequences: S,
    initial: C,
    body: impl FnOnce(S::Variables, C::Variables) -> R,
) -> C::Variables {
    let _scope = source_location::enter();
    run(Scan::new(), sequences, initial, body, Scanned::histories)
}

/// The results of the body for each slice of the sequences, stacked: Theano's `map`, Python's. The iterations
/// do not depend on each other.
#[track_caller]
#[must_use]
pub fn map<S: Pack, R: Pack>(sequences: S, body: impl FnOnce(S::Variables) -> R) -> R::Variables {
    let _scope = source_location::enter();
    let loops = Scan::new().named("map");
    let mut returned = 0;
    let scanned = sequences.into_list().into_iter().fold(loops, Scan::sequence).try_run(|given| {
        let results = S::unpack(given.to_vec()).map(body).map(Pack::into_list);
        returned = results.as_ref().map_or(0, Vec::len);
        results.unwrap_or_else(|| vec![unfitting("sequences")])
    });
    unpacked::<R>(scanned.map(Scanned::stacked), returned)
}

/// The carried values after the last slice of the sequences: Theano's `reduce` and `foldl`, Python's
/// `reduce`. `body` gets the slices, then the values so far.
#[track_caller]
#[must_use]
pub fn reduce<S: Pack, C: Pack, R: Pack>(
    sequences: S,
    initial: C,
    body: impl FnOnce(S::Variables, C::Variables) -> R,
) -> C::Variables {
    let _scope = source_location::enter();
    run(Scan::new().named("reduce"), sequences, initial, body, Scanned::last)
}

/// [`reduce`] by Theano's other name.
#[track_caller]
#[must_use]
pub fn foldl<S: Pack, C: Pack, R: Pack>(
    sequences: S,
    initial: C,
    body: impl FnOnce(S::Variables, C::Variables) -> R,
) -> C::Variables {
    reduce(sequences, initial, body)
}

/// [`reduce`] from the last slice to the first: Theano's `foldr`.
#[track_caller]
#[must_use]
pub fn foldr<S: Pack, C: Pack, R: Pack>(
    sequences: S,
    initial: C,
    body: impl FnOnce(S::Variables, C::Variables) -> R,
) -> C::Variables {
    let _scope = source_location::enter();
    run(Scan::new().named("foldr").reversed(), sequences, initial, body, Scanned::last)
}

/// The carried values after `steps` iterations: JAX's `fori_loop`. `body` gets the number of the iteration,
/// an int64 from 0, then the values so far. `steps` is a number or a 0-d integer Variable, whose value is
/// read before the call.
///
/// ```
/// use workalike::loops::fori;
/// use workalike::prelude::*;
/// let (a, k) = (vector::<f64>("a"), scalar::<i64>("k"));
/// let power = fori(&k, ones_like(&a), |_, product| product * &a);
/// let f = function([&a, &k]).output(&power).compile()?;
/// assert_eq!(f.call(args![vec![2.0, 3.0], 4i64])?[0].to_vec::<f64>()?, [16.0, 81.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[doc(alias("fori_loop"))]
#[track_caller]
#[must_use]
pub fn fori<C: Pack, R: Pack>(
    steps: impl IntoOperand,
    initial: C,
    body: impl FnOnce(Variable, C::Variables) -> R,
) -> C::Variables {
    let _scope = source_location::enter();
    let steps = steps.into_operand();
    let numbers = arange(steps.clone());
    run(Scan::new().named("fori").steps(steps), numbers, initial, body, Scanned::last)
}

fn run<S: Pack, C: Pack, R: Pack>(
    loops: Scan,
    sequences: S,
    initial: C,
    body: impl FnOnce(S::Variables, C::Variables) -> R,
    results: impl FnOnce(Scanned) -> Vec<Variable>,
) -> C::Variables {
    let (sequences, initial) = (sequences.into_list(), initial.into_list());
    let (slices, carried) = (sequences.len(), initial.len());
    let loops = sequences.into_iter().fold(loops, Scan::sequence);
    let loops = initial.into_iter().fold(loops, Scan::recurrent);
    let scanned = loops.try_run(|given| {
        let (x, h) = given.split_at(slices.min(given.len()));
        let (x, h) = (S::unpack(x.to_vec()), C::unpack(h.to_vec()));
        let (Some(x), Some(h)) = (x, h) else { return vec![unfitting("carried values")] };
        let next = body(x, h).into_list();
        match next.len() == carried {
            true => next,
            false => vec![Variable::poison(fail(
                "scan",
                format!("the body returns {} values for {carried} carried ones", next.len()),
            ))],
        }
    });
    unpacked::<C>(scanned.map(results), carried)
}

/// The results, or as many poisoned ones.
fn unpacked<P: Pack>(results: Result<Vec<Variable>>, count: usize) -> P::Variables {
    match results {
        Ok(results) => P::unpack_poisoned(results),
        // The body did not run, so nothing says how many it returns.
        Err(error) if count == 0 => P::filled(&Variable::poison(error)),
        Err(error) => P::unpack_poisoned(vec![Variable::poison(error); count]),
    }
}

/// What the body is given does not have the form that it was declared with.
fn unfitting(what: &str) -> Variable {
    Variable::poison(fail("scan", format!("the {what} are not as many as were given")))
}
