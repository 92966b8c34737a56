//! A body on all slices at once.

use super::pack::Pack;
use super::scan::{Scan, Scanned};
use super::{unfitting, unpacked};
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{TensorType, Variable, rebuild};
use crate::op::Batched;
use crate::ops::batching::{batched_by, repeated};
use crate::ops::methods::fail;
use crate::ops::specify_shape::EqualExtents;
use std::collections::HashMap;

/// The results of the body for each slice of arrays along their first axis, stacked, as [`map`](super::map)
/// gives them; but all slices are computed at once: JAX's `vmap`. Each op of the body becomes one op on the
/// whole batch ([`Op::batch`](crate::ops::Op::batch)). Where one has no rule for that, the body runs slice by
/// slice. What the body uses from outside is the same for all slices, also random draws.
///
/// The arrays have equal extents along their first axis. For another axis, move it:
/// `vmap(x.moveaxis(1, 0), ..)`.
///
/// ```
/// use workalike::prelude::*;
/// // The distance of each point from each of its own two neighbours.
/// let (points, pairs) = (matrix::<f64>("points"), tensor3::<f64>("pairs"));
/// let distances = vmap((&points, &pairs), |(point, pair)| (pair - point).sqr().sum(1).sqrt());
/// let f = function([&points, &pairs]).output(distances).compile()?;
/// let out = f.call(args![array![[0.0, 0.0]], array![[[3.0, 4.0], [0.0, 2.0]]]])?;
/// assert_eq!(out[0].to_vec::<f64>()?, [5.0, 2.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// # Errors
/// (In the results.) If an array has no axes, their first extents differ, or the body does not fit its
/// slices.
#[doc(alias("vectorize", "batch"))]
#[track_caller]
#[must_use]
pub fn vmap<S: Pack, R: Pack>(arrays: S, body: impl FnOnce(S::Variables) -> R) -> R::Variables {
    let _scope = source_location::enter();
    let mut returned = 0;
    let build = || {
        let arrays = in_step(arrays.into_list())?;
        let slice = |array: &Variable| {
            let ty = array.ty();
            Variable::input("slice", TensorType::new(ty.dtype, ty.shape[1..].to_vec()))
        };
        let slices: Vec<Variable> = arrays.iter().map(slice).collect();
        let results = {
            let _lines_of_the_body = source_location::leave();
            S::unpack(slices.clone()).map(|slices| body(slices).into_list())
        };
        let results = results.unwrap_or_else(|| vec![unfitting("arrays")]);
        returned = results.len();
        results.iter().try_for_each(|result| result.checked().map(|_| ()))?;
        at_once(&arrays, &slices, &results).or_else(|_| one_by_one(arrays, &slices, &results))
    };
    let made = build();
    unpacked::<R>(made, returned)
}

/// Arrays whose first axes have one extent, which is checked in the call where types do not tell.
fn in_step(mut arrays: Vec<Variable>) -> Result<Vec<Variable>> {
    for at in 0..arrays.len() {
        let array = arrays[at].checked()?.clone();
        if array.ndim() == 0 {
            return Err(fail("vmap", format!("array {at} is {}, which has no slices", array.ty())));
        }
        if at > 0 {
            arrays[at] = EqualExtents::of("vmap", (&array, 0), (&arrays[0], 0))?;
        }
    }
    Ok(arrays)
}

fn at_once(arrays: &[Variable], slices: &[Variable], results: &[Variable]) -> Result<Vec<Variable>> {
    let first = arrays.first().ok_or_else(|| fail("vmap", "there are no arrays".into()))?;
    let count = match first.ty().shape[0] {
        Some(count) => Variable::constant(count as i64),
        None => first.try_extent(0)?,
    };
    let stands = slices.iter().zip(arrays).map(|(slice, array)| (slice.key(), Batched::each(array.clone())));
    let whole = |result: Batched| match result.batched {
        true => Ok(result.variable),
        false => repeated(&result.variable, &count),
    };
    batched_by(results, stands.collect(), &count)?.into_iter().map(whole).collect()
}

fn one_by_one(arrays: Vec<Variable>, slices: &[Variable], results: &[Variable]) -> Result<Vec<Variable>> {
    let loops = arrays.into_iter().fold(Scan::new().named("vmap"), Scan::sequence);
    let scanned = loops.try_run(|given| {
        let mut known: HashMap<_, _> =
            slices.iter().zip(given).map(|(slice, given)| (slice.key(), given.clone())).collect();
        let rebuilt = rebuild(results, &mut known, |_, _| Ok(None));
        rebuilt.unwrap_or_else(|error| vec![Variable::poison(error)])
    })?;
    Ok(Scanned::stacked(scanned))
}
