//! Collectives: what the members of a group exchange.

use super::{Made, one};
use crate::arguments::Arguments;
use crate::errors::exception;
use pyo3::prelude::*;
use workalike::ops::{Reduction, Route, group_rank, group_size};

/// A shift, or pairs of members.
#[derive(FromPyObject)]
enum Along {
    Shift(i64),
    Pairs(Vec<(usize, usize)>),
}

impl From<Along> for Route {
    fn from(along: Along) -> Route {
        match along {
            Along::Shift(by) => Route::Shift(by),
            Along::Pairs(pairs) => Route::Pairs(pairs),
        }
    }
}

fn reduction(given: &mut Arguments<'_>) -> PyResult<Reduction> {
    match given.get::<String>("reduction")?.as_str() {
        "sum" => Ok(Reduction::Sum),
        "mean" => Ok(Reduction::Mean),
        "max" => Ok(Reduction::Max),
        "min" => Ok(Reduction::Min),
        other => Err(exception("ArgumentError", format!("reduction is sum, mean, max or min, not {other}"))),
    }
}

pub(super) fn call(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let x = |given: &mut Arguments<'_>| given.variable("x");
    let group = |given: &mut Arguments<'_>| given.get::<String>("group");
    one(match name {
        "all_reduce" => {
            let (x, how) = (x(given)?, reduction(given)?);
            x.try_all_reduce(how, &group(given)?)
        }
        "all_gather" => {
            let (x, axis) = (x(given)?, given.get("axis")?);
            x.try_all_gather(axis, &group(given)?)
        }
        "reduce_scatter" => {
            let (x, how, axis) = (x(given)?, reduction(given)?, given.get("axis")?);
            x.try_reduce_scatter(how, axis, &group(given)?)
        }
        "broadcast_from" => {
            let (x, root) = (x(given)?, given.get("root")?);
            x.try_broadcast_from(root, &group(given)?)
        }
        "collective_permute" => {
            let (x, along) = (x(given)?, given.get::<Along>("route")?);
            x.try_collective_permute(along, &group(given)?)
        }
        "own_part" => {
            let (x, axis) = (x(given)?, given.get("axis")?);
            x.try_own_part(axis, &group(given)?)
        }
        "group_rank" => Ok(group_rank(&group(given)?)),
        "group_size" => Ok(group_size(&group(given)?)),
        _ => return Ok(None),
    })
}
