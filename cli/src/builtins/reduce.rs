//! Reductions and other ops along axes: running folds, sorts, softmax.

use super::words::{self, MAX_AXES};
use workalike::ops::{log_softmax, over, softmax};
use workalike::prelude::*;
use workalike_cli_common::report::{Failure, Result};

/// Builds the output from the input, the axes and the parameter of the op.
type Make = fn(&Variable, &[isize], f64) -> workalike::Result<Variable>;

/// An op along axes.
struct Along {
    name: &'static str,
    /// The meaning of the number after `=`, and its default; `None` if the op takes no number.
    number: Option<(&'static str, f64)>,
    /// Whether the op takes exactly one axis.
    one_axis: bool,
    make: Make,
}

const fn plain(name: &'static str, make: Make) -> Along {
    Along { name, number: None, one_axis: false, make }
}

const fn with(name: &'static str, number: &'static str, default: f64, make: Make) -> Along {
    Along { name, number: Some((number, default)), one_axis: false, make }
}

const fn one(along: Along) -> Along {
    Along { one_axis: true, ..along }
}

const DDOF: &str = "ddof";

/// Every op that `reduce:` knows.
const ALL: &[Along] = &[
    plain("sum", |x, a, _| x.try_sum(a)),
    plain("prod", |x, a, _| x.try_prod(a)),
    plain("prod_without_zeros", |x, a, _| x.try_prod_without_zeros(a)),
    plain("mean", |x, a, _| x.try_mean(a)),
    with("var", DDOF, 0.0, |x, a, n| x.try_var(over(a).ddof(n as usize))),
    with("std", DDOF, 0.0, |x, a, n| x.try_std(over(a).ddof(n as usize))),
    plain("max", |x, a, _| x.try_max(a)),
    plain("min", |x, a, _| x.try_min(a)),
    plain("ptp", |x, a, _| x.try_ptp(a)),
    plain("argmax", |x, a, _| x.try_argmax(a)),
    plain("argmin", |x, a, _| x.try_argmin(a)),
    plain("all", |x, a, _| x.try_all(a)),
    plain("any", |x, a, _| x.try_any(a)),
    plain("count_nonzero", |x, a, _| x.try_count_nonzero(a)),
    plain("logsumexp", |x, a, _| x.try_logsumexp(a)),
    with("norm", "order", 2.0, |x, a, n| x.try_norm(n, a)),
    plain("median", |x, a, _| x.try_median(a)),
    with("quantile", "part", 0.5, |x, a, n| x.try_quantile(n, a)),
    plain("nansum", |x, a, _| x.try_nansum(a)),
    plain("nanprod", |x, a, _| x.try_nanprod(a)),
    plain("nanmean", |x, a, _| x.try_nanmean(a)),
    with("nanvar", DDOF, 0.0, |x, a, n| x.try_nanvar(over(a).ddof(n as usize))),
    with("nanstd", DDOF, 0.0, |x, a, n| x.try_nanstd(over(a).ddof(n as usize))),
    plain("nanmax", |x, a, _| x.try_nanmax(a)),
    plain("nanmin", |x, a, _| x.try_nanmin(a)),
    plain("nanargmax", |x, a, _| x.try_nanargmax(a)),
    plain("nanargmin", |x, a, _| x.try_nanargmin(a)),
    plain("nanmedian", |x, a, _| x.try_nanmedian(a)),
    with("nanquantile", "part", 0.5, |x, a, n| x.try_nanquantile(n, a)),
    plain("cumsum", |x, a, _| x.try_cumsum(a)),
    plain("cumprod", |x, a, _| x.try_cumprod(a)),
    plain("cummax", |x, a, _| x.try_cummax(a)),
    plain("cummin", |x, a, _| x.try_cummin(a)),
    plain("sort", |x, a, _| x.try_sort(a)),
    plain("argsort", |x, a, _| x.try_argsort(a)),
    one(with("topk", "how many", 1.0, |x, a, n| x.try_topk(n as usize, a[0]))),
    one(with("argtopk", "how many", 1.0, |x, a, n| x.try_argtopk(n as usize, a[0]))),
    one(with("diff", "times", 1.0, |x, a, n| x.try_diff(n as usize, a[0]))),
    one(plain("softmax", |x, a, _| softmax(x, a[0]).checked().cloned())),
    one(plain("log_softmax", |x, a, _| log_softmax(x, a[0]).checked().cloned())),
];

/// Without a given rank, there is a method for each rank up to this one that has the axes.
const RANKS: usize = 4;

/// `out = op(x)` over axes: numbers separated by commas, negative ones from the end, or `all`.
pub(super) fn reduce(op: &str, dtype: &str, axes: &str, rank: Option<&str>) -> Result<Bundle> {
    let (op, number) = find(op)?;
    let dtype = words::dtype(dtype)?;
    let axes = read_axes(axes)?;
    if op.one_axis && axes.as_ref().is_none_or(|axes| axes.len() != 1) {
        return Err(Failure::new(format!("{} takes one axis", op.name)));
    }
    let method = |rank: usize| -> Result<Function> {
        let x = Variable::input("x", TensorType::of_rank(dtype, rank));
        let axes = axes.clone().unwrap_or_else(|| (0..rank as isize).collect());
        Ok(function([&x]).output_named("out", words::expression((op.make)(&x, &axes, number))?).compile()?)
    };
    if let Some(rank) = rank {
        return Ok(Bundle::new().with("main", &method(words::rank(rank)?)?));
    }
    let needed = axes.iter().flatten().map(|&a| if a < 0 { a.unsigned_abs() } else { a.unsigned_abs() + 1 });
    let least = needed.max().unwrap_or(usize::from(axes.is_none()));
    let mut bundle = Bundle::new();
    let mut refused = None;
    // `all` also accepts a 0-d array.
    let further = (axes.is_none()).then_some(0).into_iter();
    for rank in (least..=least.max(RANKS)).chain(further) {
        match method(rank) {
            Ok(made) if bundle.is_empty() => bundle = bundle.with("main", &made),
            Ok(made) => bundle = bundle.with(&format!("rank{rank}"), &made),
            Err(failure) => refused = refused.or(Some(failure)),
        }
    }
    match refused {
        Some(failure) if bundle.is_empty() => Err(failure),
        _ => Ok(bundle),
    }
}

/// Parses the axes; `None` means all of them.
fn read_axes(text: &str) -> Result<Option<Vec<isize>>> {
    let most = MAX_AXES as isize;
    if text == "all" {
        return Ok(None);
    }
    let axis = |part: &str| part.trim().parse().ok().filter(|a| (-most..most).contains(a));
    let axes: Option<Vec<isize>> = text.split(',').map(axis).collect();
    axes.map(Some).ok_or_else(|| {
        let last = most - 1;
        Failure::new(format!(
            "axes are numbers from -{most} to {last} with commas between, or all, not '{text}'"
        ))
    })
}

/// `OP` or `OP=NUMBER`.
fn find(text: &str) -> Result<(&'static Along, f64)> {
    let (name, number) = text.split_once('=').map_or((text, None), |(name, number)| (name, Some(number)));
    let Some(op) = ALL.iter().find(|op| op.name == name) else {
        let known: Vec<&str> = ALL.iter().map(|op| op.name).collect();
        return Err(words::unknown(name, "the ops along axes", &known));
    };
    let number = match (number, op.number) {
        (None, default) => default.map_or(0.0, |d| d.1),
        (Some(_), None) => return Err(Failure::new(format!("{name} takes no number"))),
        (Some(given), Some((what, _))) => {
            let whole = matches!(what, DDOF | "how many" | "times");
            let read = given
                .parse()
                .ok()
                .filter(|n: &f64| !n.is_nan() && (!whole || (n.fract() == 0.0 && *n >= 0.0)));
            let kind = if whole { "a whole number" } else { "a number" };
            read.ok_or_else(|| Failure::new(format!("{name}={given}: {what} is {kind}")))?
        }
    };
    Ok((op, number))
}

/// The names for `--list`, with the parameter of ops that take one.
pub(super) fn names() -> Vec<String> {
    let name = |op: &Along| match op.number {
        None => op.name.to_string(),
        Some((what, default)) => format!("{}[={what} ({default})]", op.name),
    };
    ALL.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_compiles_for_floats() {
        for op in ALL {
            for dtype in ["f16", "bf16", "f32", "f64"] {
                let made = reduce(op.name, dtype, "1", None);
                let methods: Vec<String> = made
                    .unwrap()
                    .iter()
                    .map(|(name, f)| format!("{name} {}", f.inputs()[0].ty.ndim()))
                    .collect();
                assert_eq!(methods, ["main 2", "rank3 3", "rank4 4"], "{} {dtype}", op.name);
            }
        }
    }

    #[test]
    fn axes_say_how_many_there_are_at_least() {
        let ranks = |axes: &str| -> Vec<usize> {
            reduce("sum", "i8", axes, None).unwrap().iter().map(|m| m.1.inputs()[0].ty.ndim()).collect()
        };
        assert_eq!(ranks("all"), [1, 2, 3, 4, 0]);
        assert_eq!(ranks("-1"), [1, 2, 3, 4]);
        assert_eq!(ranks("0,2"), [3, 4]);
        assert_eq!(ranks("-3,2"), [3, 4]);
        assert_eq!(ranks("5"), [6]);
        // At the lowest rank both numbers name the same axis, at others not.
        assert_eq!(ranks("0,-1"), [2, 3, 4]);
        assert_eq!(reduce("sum", "i8", "-1", Some("5")).unwrap().len(), 1);
    }

    #[test]
    fn numbers() {
        assert_eq!(find("norm").unwrap().1, 2.0);
        assert_eq!(find("norm=-inf").unwrap().1, f64::NEG_INFINITY);
        assert_eq!(find("quantile=0.25").unwrap().1, 0.25);
    }

    #[test]
    fn mistakes() {
        for (op, dtype, axes, rank, word) in [
            ("smu", "f32", "0", None, "did you mean sum?"),
            ("frobnicate", "f32", "0", None, "logsumexp"),
            ("sum", "f33", "0", None, "float32"),
            ("sum", "f32", "x", None, "or all, not 'x'"),
            ("sum", "f32", "99", None, "-8 to 7"),
            ("sum", "f32", "", None, "or all"),
            ("sum", "f32", "2", Some("2"), "axis 2 is out of range for 2 axes"),
            ("sum", "f32", "-3", Some("2"), "axis -3 is out of range for 2 axes"),
            ("sum", "f32", "1,1", None, "twice"),
            ("sum", "f32", "0", Some("many"), "0 to 8"),
            ("sum=2", "f32", "0", None, "takes no number"),
            ("var=0.5", "f32", "0", None, "a whole number"),
            ("quantile=2", "f32", "0", None, "within 0 and 1"),
            ("topk", "f32", "0,1", None, "one axis"),
            ("cumsum", "f32", "0,1", Some("3"), "one axis or all"),
            ("ptp", "bool", "0", None, "bool"),
        ] {
            let error = reduce(op, dtype, axes, rank).unwrap_err().to_string();
            assert!(error.contains(word), "{op} {axes}: {error}");
        }
    }
}
