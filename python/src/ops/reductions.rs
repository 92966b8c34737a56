//! Reductions, running folds, sorts, searches and segments.

use super::{Made, one};
use crate::arguments::{Arguments, list};
use crate::errors::raised;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use workalike::graph::{Operand, Variable};
use workalike::ops::{self, Bins, Mode, Side};

/// Reductions that take a Variable and NumPy's `axis`, `keepdims`, `dtype`, `ddof`.
macro_rules! reductions {
    ($name:expr, $given:expr; $($known:literal => $method:ident,)*) => {
        match $name {
            $($known => {
                let x = $given.variable("x")?;
                let axes = $given.reduction($name)?;
                return one(x.$method(axes));
            })*
            _ => {}
        }
    };
}

pub(super) fn call(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    reductions! { name, given;
        "sum" => try_sum, "prod" => try_prod, "mean" => try_mean, "var" => try_var, "std" => try_std,
        "max" => try_max, "min" => try_min, "ptp" => try_ptp, "all" => try_all, "any" => try_any,
        "argmax" => try_argmax, "argmin" => try_argmin, "count_nonzero" => try_count_nonzero,
        "nansum" => try_nansum, "nanprod" => try_nanprod, "nanmax" => try_nanmax, "nanmin" => try_nanmin,
        "nanargmax" => try_nanargmax, "nanargmin" => try_nanargmin, "nanmean" => try_nanmean,
        "nanvar" => try_nanvar, "nanstd" => try_nanstd, "logsumexp" => try_logsumexp,
        "median" => try_median, "nanmedian" => try_nanmedian, "prod_without_zeros" => try_prod_without_zeros,
    }
    if let Some(made) = along_axes(name, given)? {
        return Ok(Some(made));
    }
    segments(name, given)
}

/// An array and an axis, or the flat array and its only one.
fn flat_or(given: &mut Arguments<'_>, default: isize) -> PyResult<(Variable, isize)> {
    let x = given.variable("x")?;
    Ok(match given.axis_or_flat(default)? {
        Some(axis) => (x, axis),
        None => (x.try_flatten().map_err(raised)?, 0),
    })
}

/// One quantile, or several along a new first axis.
fn quantiles(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let (x, q) = (given.variable("x")?, given.any("q")?);
    let axes = given.reduction(name)?;
    let of = |q: f64| match name {
        "quantile" => x.try_quantile(q, axes.clone()),
        _ => x.try_nanquantile(q, axes.clone()),
    };
    match q.extract::<f64>() {
        Ok(q) => one(of(q)),
        Err(_) => {
            let all = list::<f64>(&q)?.into_iter().map(of).collect::<workalike::Result<Vec<_>>>();
            one(all.map(|all| ops::stack(all, 0)))
        }
    }
}

/// Functions along one axis.
fn along_axes(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let last = |given: &mut Arguments<'_>| given.axis(-1);
    match name {
        "cumsum" | "cumprod" | "cummax" | "cummin" => {
            let x = given.variable("x")?;
            // NumPy's default is the flat array.
            let x = match given.option("axis")? {
                Some(axis) => (x, axis.extract::<isize>()?),
                None => (x.try_flatten().map_err(raised)?, 0),
            };
            one(match name {
                "cumsum" => x.0.try_cumsum(x.1),
                "cumprod" => x.0.try_cumprod(x.1),
                "cummax" => x.0.try_cummax(x.1),
                _ => x.0.try_cummin(x.1),
            })
        }
        "sort" | "argsort" => {
            let (x, axis) = flat_or(given, -1)?;
            one(if name == "sort" { x.try_sort(axis) } else { x.try_argsort(axis) })
        }
        "topk" | "argtopk" => {
            let (x, k) = (given.variable("x")?, given.get("k")?);
            let axis = last(given)?;
            one(if name == "topk" { x.try_topk(k, axis) } else { x.try_argtopk(k, axis) })
        }
        "quantile" | "nanquantile" => quantiles(name, given),
        "unique" => {
            let unique = given.variable("x")?.try_unique().map_err(raised)?;
            Ok(Some(Made::One(unique.values)))
        }
        "searchsorted" => {
            let (x, numbers) = (given.variable("x")?, given.operand("v")?);
            let side = match given.get_or("side", "left".to_string())?.as_str() {
                "left" => Side::Left,
                "right" => Side::Right,
                other => return Err(PyValueError::new_err(format!("side is left or right, not {other}"))),
            };
            one(x.try_searchsorted(numbers, side))
        }
        "digitize" => {
            let (x, edges) = (given.variable("x")?, given.variable("bins")?);
            one(x.try_digitize(edges, given.get_or("right", false)?))
        }
        _ => Ok(None),
    }
}

/// What a position beyond an axis is: NumPy's `mode`.
pub(super) fn mode(given: &mut Arguments<'_>) -> PyResult<Mode> {
    match given.get_or("mode", "raise".to_string())?.as_str() {
        "raise" => Ok(Mode::Raise),
        "wrap" => Ok(Mode::Wrap),
        "clip" => Ok(Mode::Clip),
        other => Err(PyValueError::new_err(format!("mode is raise, wrap or clip, not {other}"))),
    }
}

fn segments(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    if name == "bincount" {
        let (x, weights) = (given.variable("x")?, given.option("weights")?);
        let weights = weights.map(|weights| crate::operand::variable_of(&weights)).transpose()?;
        let least = given.get_or("minlength", 0)?;
        let length = given.get_or::<Option<usize>>("length", None)?;
        let bins = length.map_or(Bins::AtLeast(least), Bins::Exactly);
        return one(x.try_bincount(weights.as_ref(), bins));
    }
    if !name.starts_with("segment_") {
        return Ok(None);
    }
    let (x, ids, segments): (_, _, Operand) =
        (given.variable("data")?, given.variable("segment_ids")?, given.operand("num_segments")?);
    one(match name {
        "segment_sum" => x.try_segment_sum(ids, segments),
        "segment_prod" => x.try_segment_prod(ids, segments),
        "segment_max" => x.try_segment_max(ids, segments),
        "segment_min" => x.try_segment_min(ids, segments),
        "segment_mean" => x.try_segment_mean(ids, segments),
        _ => return Ok(None),
    })
}
