//! Shapes, joins, creation, and elements by position.

use super::reductions::mode;
use super::{Made, one};
use crate::arguments::{Arguments, list};
use crate::errors::raised;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use workalike::DType;
use workalike::graph::{Operand, Variable};
use workalike::ops::{self, Ix, Mode, Pad};

pub(super) fn call(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    for family in [shapes, axes, diagonals, positions, joins, created] {
        if let Some(made) = family(name, given)? {
            return Ok(Some(made));
        }
    }
    Ok(None)
}

fn shapes(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let x = |given: &mut Arguments<'_>| given.variable("x");
    match name {
        "reshape" => one(x(given)?.try_reshape(given.size_or_rest("shape")?)),
        "broadcast_to" => one(x(given)?.try_broadcast_to(given.size("shape")?)),
        "flatten" | "ravel" => one(x(given)?.try_flatten()),
        "shape" => one(x(given)?.try_shape()),
        "extent" => one(x(given)?.try_extent(given.get("axis")?)),
        "specify_shape" => {
            let (x, shape) = (x(given)?, given.list::<Option<usize>>("shape")?.unwrap_or_default());
            one(x.try_specify_shape(shape))
        }
        "astype" | "cast" => {
            let (x, dtype) = (x(given)?, given.dtype()?);
            let Some(dtype) = dtype else { return given.refuse("the argument dtype is missing") };
            one(x.try_cast(dtype))
        }
        "tile" => one(x(given)?.try_tile(given.size("reps")?)),
        "repeat" => {
            let (x, counts) = (x(given)?, given.operand("repeats")?);
            let axis = given.option("axis")?.map(|axis| axis.extract::<isize>()).transpose()?;
            one(match axis {
                Some(axis) => x.try_repeat(counts, axis),
                None => x.try_flatten().and_then(|flat| flat.try_repeat(counts, 0)),
            })
        }
        "pad" => padded(given),
        "sliding_window_view" => {
            let (x, window) = (x(given)?, given.any("window_shape")?);
            let each = |given: Option<Bound<'_, PyAny>>, rank: usize| match given {
                None => Ok(vec![1; rank]),
                Some(given) => {
                    given.extract::<usize>().map_or_else(|_| list(&given), |all| Ok(vec![all; rank]))
                }
            };
            let window = each(Some(window), 1)?;
            let stride = each(given.option("stride")?, window.len())?;
            let dilation = each(given.option("dilation")?, window.len())?;
            one(x.try_sliding_windows(window, stride, dilation))
        }
        _ => Ok(None),
    }
}

/// New axes of extent 1 at these positions of the result.
fn expanded(x: Variable, axes: &[isize]) -> workalike::Result<Variable> {
    let rank = (x.ndim() + axes.len()) as isize;
    // One at a time: a position from the end, and one beyond, is that of the result that is left to make.
    let mut axes: Vec<isize> = axes.iter().map(|&axis| if axis < 0 { axis + rank } else { axis }).collect();
    axes.sort_unstable();
    if let Some(beyond) = axes.iter().find(|axis| !(0..rank).contains(*axis)) {
        let expected = format!("positions among {rank} axes");
        return Err(workalike::Error::mismatch("expand_dims", expected, beyond.to_string()));
    }
    if let Some(twice) = axes.windows(2).find(|pair| pair[0] == pair[1]) {
        let given = format!("axis {} twice", twice[0]);
        return Err(workalike::Error::mismatch("expand_dims", "axes that differ", given));
    }
    axes.into_iter().try_fold(x, |x, axis| x.try_expand_dims(axis))
}

fn padded(given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let x = given.variable("x")?;
    let widths = given.any("pad_width")?;
    let widths: Vec<[usize; 2]> = match (widths.extract::<usize>(), widths.extract::<[usize; 2]>()) {
        (Ok(all), _) => vec![[all, all]; x.ndim()],
        (_, Ok(pair)) => vec![pair; x.ndim()],
        _ => list(&widths)?,
    };
    let name = given.get_or("mode", "constant".to_string())?;
    let value = given.get_or("constant_values", 0.0)?;
    let mode = match name.as_str() {
        "constant" => Pad::Constant(value),
        "edge" => Pad::Edge,
        "linear_ramp" => Pad::LinearRamp(given.get_or("end_values", 0.0)?),
        "maximum" => Pad::Maximum,
        "mean" => Pad::Mean,
        "median" => Pad::Median,
        "minimum" => Pad::Minimum,
        "reflect" => Pad::Reflect,
        "symmetric" => Pad::Symmetric,
        "wrap" => Pad::Wrap,
        other => return Err(PyValueError::new_err(format!("pad: there is no mode {other}"))),
    };
    one(x.try_pad(widths, mode))
}

fn axes(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let x = |given: &mut Arguments<'_>| given.variable("x");
    match name {
        "transpose" | "permute_dims" => {
            let (x, axes) = (x(given)?, given.option("axes")?);
            let Some(axes) = axes else { return one(x.try_t()) };
            let mut order: Vec<isize> = crate::arguments::list(&axes)?;
            for further in given.rest() {
                order.push(further.extract()?);
            }
            let order: Vec<i64> = order.into_iter().map(|axis| axis as i64).collect();
            one(x.try_transpose(order))
        }
        "moveaxis" => one(x(given)?.try_moveaxis(given.get("source")?, given.get("destination")?)),
        "swapaxes" => one(x(given)?.try_swapaxes(given.get("axis1")?, given.get("axis2")?)),
        "expand_dims" => {
            let (x, axis) = (x(given)?, given.any("axis")?);
            let axes = axis.extract::<isize>().map_or_else(|_| list(&axis), |one| Ok(vec![one]))?;
            one(expanded(x, &axes))
        }
        "dimshuffle" => {
            let x = x(given)?;
            // Theano writes 'x' for a new axis.
            let axis = |axis: &Bound<'_, PyAny>| match axis.extract::<String>() {
                Ok(name) if name == "x" => Ok(None),
                _ => axis.extract::<Option<usize>>(),
            };
            let all = match given.rest().as_slice() {
                [one] if axis(one).is_err() => list::<Bound<'_, PyAny>>(one)?.iter().map(axis).collect(),
                several => several.iter().map(axis).collect::<PyResult<Vec<_>>>(),
            };
            one(x.try_dimshuffle(all?))
        }
        "squeeze" => {
            let x = x(given)?;
            let axes: Vec<isize> = match given.option("axis")? {
                Some(axis) => crate::arguments::list(&axis)?,
                None => {
                    (0..x.ndim()).filter(|&axis| x.ty().shape[axis] == Some(1)).map(|a| a as isize).collect()
                }
            };
            one(x.try_squeeze(axes))
        }
        "flip" => one(x(given)?.try_flip(given.axes()?)),
        "roll" => rolled(given),
        "diff" => {
            let (x, times) = (x(given)?, given.get_or("n", 1)?);
            if times > 1_000 {
                return given.refuse(format!("n is at most 1000, got {times}"));
            }
            one(x.try_diff(times, given.axis(-1)?))
        }
        _ => Ok(None),
    }
}

/// NumPy's `roll`: along axes, or of the flat array.
fn rolled(given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let (x, shift) = (given.variable("x")?, given.any("shift")?);
    let shift = crate::arguments::sequence(&shift)?;
    let shift = shift.iter().map(crate::operand::operand_of).collect::<PyResult<Vec<_>>>()?;
    if let Some(axis) = given.option("axis")? {
        let axes: Vec<i64> = crate::arguments::list(&axis)?;
        return one(x.try_roll(shift, axes));
    }
    let shape: Vec<Operand> = (0..x.ndim()).map(|axis| Operand::Variable(x.extent(axis as isize))).collect();
    one(x.try_flatten().and_then(|x| x.try_roll(shift, [0])).and_then(|x| x.try_reshape(shape)))
}

fn diagonals(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let x = |given: &mut Arguments<'_>| given.variable("x");
    match name {
        "tril" => one(x(given)?.try_tril(given.get_or("k", 0)?)),
        "triu" => one(x(given)?.try_triu(given.get_or("k", 0)?)),
        "diag" => one(x(given)?.try_diag(given.get_or("k", 0)?)),
        "trace" => one(x(given)?.try_trace(given.get_or("offset", 0)?)),
        "diagonal" => {
            let (x, offset) = (x(given)?, given.get_or("offset", 0)?);
            one(x.try_diagonal(offset, given.get_or("axis1", 0)?, given.get_or("axis2", 1)?))
        }
        "fill_diagonal" => one(x(given)?.try_fill_diagonal(given.operand("value")?)),
        _ => Ok(None),
    }
}

fn positions(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let x = |given: &mut Arguments<'_>| given.variable("x");
    match name {
        "take" => {
            let (x, indices) = (x(given)?, given.operand("indices")?);
            let axis = given.option("axis")?.map(|axis| axis.extract::<isize>()).transpose()?;
            let mode = mode(given)?;
            // Without a mode, negative positions count from the end.
            let take = |x: &Variable, axis: isize| match mode {
                Mode::Raise => x.try_take(indices.clone(), axis),
                mode => x.try_take_mode(indices.clone(), axis, mode),
            };
            one(match axis {
                Some(axis) => take(&x, axis),
                None => x.try_flatten().and_then(|flat| take(&flat, 0)),
            })
        }
        "take_along_axis" => one(x(given)?.try_take_along_axis(given.variable("indices")?, given.axis(-1)?)),
        "put_along_axis" | "add_along_axis" => {
            let (x, indices, values) = (x(given)?, given.variable("indices")?, given.operand("values")?);
            let axis = given.get("axis")?;
            one(match name {
                "put_along_axis" => x.try_put_along_axis(indices, values, axis),
                _ => x.try_add_along_axis(indices, values, axis),
            })
        }
        "nonzero" => x(given)?.try_nonzero().map(|list| Some(Made::Several(list))).map_err(raised),
        "unravel_index" => {
            let (x, shape) = (given.variable("indices")?, given.operands("shape")?);
            Ok(Some(Made::Several(ops::unravel_index(&x, shape))))
        }
        "ravel_multi_index" => {
            let (list, shape) = (given.variables("multi_index")?, given.operands("dims")?);
            one(Ok(ops::ravel_multi_index(list, shape, mode(given)?)))
        }
        "flatnonzero" => one(x(given)?.try_flatnonzero()),
        "argwhere" => one(x(given)?.try_argwhere()),
        "compress" => {
            let (condition, x) = (given.variable("condition")?, x(given)?);
            let axis = given.option("axis")?.map(|axis| axis.extract::<isize>()).transpose()?;
            one(match axis {
                Some(axis) => x.try_compress(condition, axis),
                None => x.try_flatten().and_then(|flat| flat.try_compress(condition, 0)),
            })
        }
        "extract" => {
            let (condition, x) = (given.variable("condition")?, x(given)?);
            one(x.try_extract(condition))
        }
        "choose" => {
            let (x, choices) = (x(given)?, given.variables("choices")?);
            one(x.try_choose(choices, mode(given)?))
        }
        "one_hot" => {
            let (x, classes) = (x(given)?, given.operand("num_classes")?);
            one(x.try_one_hot(classes, given.dtype()?.unwrap_or(DType::F32)))
        }
        _ => Ok(None),
    }
}

fn joins(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    match name {
        "concatenate" | "concat" => {
            let list = given.variables("arrays")?;
            match given.axis_or_flat(0)? {
                Some(axis) => one(Ok(ops::concatenate(list, axis))),
                None => {
                    let flat = list.iter().map(Variable::try_flatten).collect::<workalike::Result<Vec<_>>>();
                    one(flat.map(|flat| ops::concatenate(flat, 0)))
                }
            }
        }
        "stack" => {
            let list = given.variables("arrays")?;
            one(Ok(ops::stack(list, given.axis(0)?)))
        }
        "split" => {
            let (x, at) = (given.variable("x")?, given.any("indices_or_sections")?);
            let axis = given.axis(0)?;
            parts(&x, &at, axis).map(|parts| Some(Made::Several(parts)))
        }
        "meshgrid" => {
            let list = given.rest().iter().map(crate::operand::variable_of).collect::<PyResult<Vec<_>>>()?;
            Ok(Some(Made::Several(ops::meshgrid(list))))
        }
        _ => Ok(None),
    }
}

/// NumPy's `split`: equal parts, or parts between positions.
fn parts(x: &Variable, at: &Bound<'_, PyAny>, axis: isize) -> PyResult<Vec<Variable>> {
    let front = x.try_moveaxis(axis, 0).map_err(raised)?;
    let back =
        |part: workalike::Result<Variable>| part.and_then(|part| part.try_moveaxis(0, axis)).map_err(raised);
    match at.extract::<i64>() {
        Ok(count) if (1..=1 << 16).contains(&count) => {
            // A reshape is an error where the parts are not equal.
            let rest = (1..front.ndim()).map(|axis| Operand::Variable(front.extent(axis as isize)));
            let shape: Vec<Operand> =
                [Operand::Int(count.into()), Operand::Int(-1)].into_iter().chain(rest).collect();
            let blocks = front.try_reshape(shape).map_err(raised)?;
            (0..count).map(|block| back(blocks.try_index([Ix::from(block)]))).collect()
        }
        Ok(count) => Err(PyValueError::new_err(format!("split: expected 1 to 65536 parts, got {count}"))),
        Err(_) => {
            let positions = list::<i64>(at)?;
            let starts = std::iter::once(0).chain(positions.iter().copied());
            let bounded = starts.clone().zip(&positions).map(|(from, &to)| Ix::from(from..to));
            let last = Ix::from(positions.last().copied().unwrap_or(0)..);
            bounded.chain([last]).map(|part| back(front.try_index([part]))).collect()
        }
    }
}

/// A number in the dtype that is asked for.
fn filling(given: &mut Arguments<'_>) -> PyResult<(Operand, Option<DType>)> {
    let (value, dtype) = (given.any("fill_value")?, given.dtype()?);
    let operand = crate::operand::operand_of(&value)?;
    match dtype {
        Some(dtype) if !matches!(operand, Operand::Variable(_)) => {
            let number = crate::arrays::exact_number(&value, dtype)?;
            Ok((Operand::Variable(Variable::constant(number)), None))
        }
        dtype => Ok((operand, dtype)),
    }
}

fn created(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let as_dtype = |x: Variable, dtype: Option<DType>| match dtype {
        Some(dtype) => x.try_cast(dtype),
        None => Ok(x),
    };
    match name {
        "zeros" | "ones" => {
            let shape = given.size("shape")?;
            let value = if name == "zeros" { 0.0 } else { 1.0 };
            one(as_dtype(ops::full(shape, value), given.dtype()?))
        }
        "full" => {
            let shape = given.size("shape")?;
            let (value, dtype) = filling(given)?;
            one(as_dtype(ops::full(shape, value), dtype))
        }
        "zeros_like" => one(as_dtype(ops::zeros_like(given.variable("x")?), given.dtype()?)),
        "ones_like" => one(as_dtype(ops::ones_like(given.variable("x")?), given.dtype()?)),
        "full_like" => {
            let x = given.variable("x")?;
            let (value, dtype) = filling(given)?;
            one(match (&value, dtype) {
                // Of a dtype of its own.
                (Operand::Variable(_), None) => Ok(ops::full(ops::like(&x), value)),
                _ => as_dtype(ops::full_like(x, value), dtype),
            })
        }
        "arange" => {
            let (first, stop, step) =
                (given.operand("start")?, given.option("stop")?, given.operand_or("step", Operand::Int(1))?);
            let range = match stop {
                Some(stop) => ops::arange_between(first, crate::operand::operand_of(&stop)?, step),
                None => ops::arange(first),
            };
            one(as_dtype(range, given.dtype()?))
        }
        "linspace" => {
            let (start, stop) = (given.operand("start")?, given.operand("stop")?);
            one(as_dtype(ops::linspace(start, stop, given.get_or("num", 50)?), given.dtype()?))
        }
        "eye" | "tri" => {
            let rows = given.operand("N")?;
            let columns = given.operand_or("M", rows.clone())?;
            let (offset, dtype) =
                (given.operand_or("k", Operand::Int(0))?, given.dtype()?.unwrap_or(DType::F64));
            one(Ok(match name {
                "eye" => ops::eye(rows, columns, offset, dtype),
                _ => ops::tri(rows, columns, offset, dtype),
            }))
        }
        _ => Ok(None),
    }
}
