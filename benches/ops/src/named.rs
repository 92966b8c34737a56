//! The names of ops in `ops.py`: a row of the table by its name, other ops as `name` or `name:argument`,
//! where a number is an axis or a count.

use workalike::Error;
use workalike::kernels::ops::ScalarOp;
use workalike::ops::{Axes, Elemwise, Ix, Pad, Side, concatenate, stack};
use workalike::prelude::*;

/// The op `name` applied to `x`.
pub(crate) fn named(name: &str, x: &[Variable]) -> Result<Variable, Error> {
    if let Some(op) = ScalarOp::named(name) {
        return row(op, x);
    }
    if let Some(subscripts) = name.strip_prefix("einsum:") {
        return Ok(einsum(subscripts, x));
    }
    let (word, rest) = name.split_once(':').unwrap_or((name, ""));
    let unknown = || Error::mismatch("op", "one of those in named.rs", name);
    if let Some(result) = reduced(word, rest, &x[0])? {
        return Ok(result);
    }
    let number = |default: isize| rest.parse().unwrap_or(default);
    let mid = || x[0].ndim() as isize - 1;
    Ok(match word {
        "sort" => x[0].sort(number(-1)),
        "argsort" => x[0].argsort(number(-1)),
        "topk" => x[0].topk(number(10) as usize, -1),
        "argtopk" => x[0].argtopk(number(10) as usize, -1),
        "cumsum" => x[0].cumsum(number(-1)),
        "cumprod" => x[0].cumprod(number(-1)),
        "cummax" => x[0].cummax(number(-1)),
        "cummin" => x[0].cummin(number(-1)),
        "diff" => x[0].diff(1, number(-1)),
        "searchsorted" => x[0].searchsorted(&x[1], Side::Left),
        "take" => x[0].take(&x[1], number(0)),
        "take_along_axis" => x[0].take_along_axis(&x[1], number(-1)),
        "put" => x[0].set_index([Ix::from(&x[1])], &x[2]),
        "add_at" => x[0].inc_index([Ix::from(&x[1])], &x[2]),
        "mask" => x[0].index([Ix::from(&x[1])]),
        "nonzero" => x[0].flatnonzero(),
        "slice" => x[0].index([Ix::from(..).step(2)]),
        "copy_transposed" => x[0].t(),
        "concatenate" => concatenate(x.iter().cloned(), number(0)),
        "stack" => stack(x.iter().cloned(), number(0)),
        "roll" => x[0].roll(number(7) as i64, mid()),
        "flip" => x[0].flip(number(-1)),
        "tile" => x[0].tile([2, 2]),
        "repeat" => x[0].repeat(2, number(-1)),
        "tril" => x[0].tril(0),
        "triu" => x[0].triu(0),
        "diagonal" => x[0].diagonal(0, 0, 1),
        "trace" => x[0].trace(0),
        "pad" => {
            let widths = vec![[3, 4]; x[0].ndim()];
            let mode = match rest {
                "edge" => Pad::Edge,
                "reflect" => Pad::Reflect,
                "wrap" => Pad::Wrap,
                "symmetric" => Pad::Symmetric,
                _ => Pad::Constant(0.0),
            };
            x[0].pad(widths, mode)
        }
        "cast" => {
            let dtype = DType::REAL.into_iter().find(|d| d.name() == rest).ok_or_else(unknown)?;
            x[0].cast(dtype)
        }
        "dot" => x[0].dot(&x[1]),
        "matmul" => x[0].matmul(&x[1]),
        "outer" => x[0].outer(&x[1]),
        "inner" => x[0].inner(&x[1]),
        "vecdot" => x[0].vecdot(&x[1], -1),
        "kron" => x[0].kron(&x[1]),
        "softmax" => softmax(&x[0], -1),
        _ => return Err(unknown()),
    })
}

/// A row of the table.
fn row(op: ScalarOp, x: &[Variable]) -> Result<Variable, Error> {
    let given: Vec<DType> = x.iter().map(Variable::dtype).collect();
    let wrong = || Error::mismatch(op.row().name, "dtypes it accepts", format!("{given:?}"));
    let signature = op.signature(&given).ok_or_else(wrong)?;
    let cast = |(v, &d): (&Variable, &DType)| if v.dtype() == d { v.clone() } else { v.cast(d) };
    let inputs: Vec<Variable> = x.iter().zip(&signature.args).map(cast).collect();
    Variable::apply(Elemwise { op }, &inputs)?.pop().ok_or_else(wrong)
}

/// A reduction over an axis, or over all.
fn reduced(word: &str, rest: &str, x: &Variable) -> Result<Option<Variable>, Error> {
    match rest.parse::<isize>() {
        Ok(axis) => over_axes(word, x, axis),
        Err(_) => over_axes(word, x, ..),
    }
}

fn over_axes(word: &str, x: &Variable, axes: impl Axes) -> Result<Option<Variable>, Error> {
    Ok(Some(match word {
        "sum" => x.sum(axes),
        "prod" => x.prod(axes),
        "mean" => x.mean(axes),
        "var" => x.var(axes),
        "std" => x.std(axes),
        "max" => x.max(axes),
        "min" => x.min(axes),
        "ptp" => x.ptp(axes),
        "argmax" => x.argmax(axes),
        "argmin" => x.argmin(axes),
        "all" => x.all(axes),
        "any" => x.any(axes),
        "count_nonzero" => x.count_nonzero(axes),
        "nansum" => x.nansum(axes),
        "nanmax" => x.nanmax(axes),
        "nanmean" => x.nanmean(axes),
        "logsumexp" => x.logsumexp(axes),
        "norm" => x.norm(2.0, axes),
        "median" => x.median(axes),
        "quantile" => x.quantile(0.3, axes),
        "ravel_sort" => x.sort(axes),
        "ravel_cumsum" => x.cumsum(axes),
        _ => return Ok(None),
    }))
}
