//! Gradients at the edges of domains: at zeros, infinities and NaN, at poles, branch points and ties.
//!
//! `golden/slopes.csv` has for each op, arguments and argument the slope that is decided, beside those of JAX
//! and PyTorch, and the reason. Slopes are the limit where there is one, or that of a function that is
//! constant there; else what JAX and PyTorch agree on. docs/ops.md says where they differ.

use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure, wrong};
use std::collections::BTreeMap;
use workalike::Result;
use workalike::grad::{Disconnected, Grad};
use workalike::kernels::ops::ScalarOp;
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 3] =
        [("of_elements", elements), ("of_vectors", vectors), ("of_determinants", determinants)];
    family("slopes", &stories)
}

/// A line of the table: arguments, and the slope in the argument `wrt`.
struct Row {
    arguments: &'static str,
    wrt: usize,
    slope: &'static str,
}

/// The lines by op.
fn table() -> BTreeMap<&'static str, Vec<Row>> {
    let mut table: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for line in include_str!("../../golden/slopes.csv").lines().skip(1) {
        let mut cells = line.split(',');
        let mut cell = || cells.next().unwrap_or_default();
        let (op, arguments, wrt, slope) = (cell(), cell(), cell(), cell());
        table.entry(op).or_default().push(Row { arguments, wrt: wrt.parse().unwrap_or(0), slope });
    }
    table
}

fn number(text: &str) -> Result<f64> {
    text.parse().map_err(|_| wrong(format!("no number: {text}")))
}

/// The numbers of `[1.0 2.0]`.
fn numbers(text: &str) -> Result<Vec<f64>> {
    text.trim_matches(['[', ']']).split_whitespace().map(number).collect()
}

/// The gradient; zeros of a step function.
fn slope(cost: &Variable, x: &Variable) -> Result<Vec<Variable>> {
    Grad::of(cost).disconnected(Disconnected::Zero).wrt([x])
}

/// Whether a slope is the wanted one. The special functions in it have bounds of their own.
fn is(got: f64, want: f64) -> bool {
    got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= 1e-10 + 1e-7 * want.abs()
}

fn elements(stage: &Stage) -> Result<()> {
    let mut wrongs = Vec::new();
    for (name, rows) in table() {
        if rows.iter().any(|row| row.arguments.starts_with('[')) {
            continue;
        }
        let arity = rows[0].arguments.split(';').count();
        let x: Vec<Variable> = (0..arity).map(|at| vector::<f64>(&format!("x{at}"))).collect();
        let y = match name {
            "where" => where_(x[0].not_equal(0.0), &x[1], &x[2]),
            "rsqrt" => x[0].rsqrt(),
            name => {
                let op = ScalarOp::named(name).ok_or_else(|| wrong(format!("no op is called {name}")))?;
                workalike::ops::elementwise(op, &x)?
            }
        };
        for wrt in 0..arity {
            let rows: Vec<&Row> = rows.iter().filter(|row| row.wrt == wrt).collect();
            if rows.is_empty() {
                continue;
            }
            let f = function(&x).outputs(slope(&y.sum(..), &x[wrt])?).allow_unused_inputs().compile()?;
            let mut columns = vec![Vec::new(); arity];
            for row in &rows {
                for (column, argument) in columns.iter_mut().zip(row.arguments.split(';')) {
                    column.push(number(argument)?);
                }
            }
            let args =
                || columns.iter().fold(Args::new(), |args, column| args.with(Value::from(column.clone())));
            // Some of them are host nodes on some devices.
            let mut sim = stage.function(&f)?.optimize(stage.open()?)?;
            for (how, got) in [("", sim.call(args())?), ("by reference, ", f.call_reference(args())?)] {
                for (row, got) in rows.iter().zip(got[0].to_vec::<f64>()?) {
                    if !is(got, number(row.slope)?) {
                        wrongs
                            .push(format!("{how}{name}({}), {wrt}: {got}, not {}", row.arguments, row.slope));
                    }
                }
            }
        }
    }
    ensure(wrongs.is_empty(), || wrongs.join("\n"))
}

/// Powers of ten: which element of a result a slope came through.
fn weights(y: &Variable) -> Variable {
    (y * constant(10.0).pow(arange(y.extent(0)))).sum(..)
}

/// What is differentiated.
fn of_vector(name: &str, x: &Variable) -> Result<Variable> {
    let (name, argument) = name.split_once(' ').unwrap_or((name, "0"));
    Ok(match (name, argument) {
        ("sum", _) => x.sum(..),
        ("prod", _) => x.prod(..),
        ("max", _) => x.max(..),
        ("min", _) => x.min(..),
        ("ptp", _) => x.ptp(..),
        ("mean", _) => x.mean(..),
        ("var", "ddof=1") => x.var(over(..).ddof(1)),
        ("std", "ddof=1") => x.std(over(..).ddof(1)),
        ("var", _) => x.var(..),
        ("std", _) => x.std(..),
        ("norm", order) => x.norm(number(order)?, ..),
        ("logsumexp", _) => x.logsumexp(..),
        ("softmax", _) => weights(&softmax(x, 0)),
        ("log_softmax", _) => weights(&log_softmax(x, 0)),
        ("cumsum", _) => weights(&x.cumsum(0)),
        ("cumprod", _) => weights(&x.cumprod(0)),
        ("cummax", _) => weights(&x.cummax(0)),
        ("cummin", _) => weights(&x.cummin(0)),
        ("sort", _) => weights(&x.sort(0)),
        ("topk", _) => x.topk(1, 0).sum(..),
        ("median", _) => x.median(..),
        ("quantile", q) => x.quantile(number(q)?, ..),
        ("nansum", _) => x.nansum(..),
        ("nanprod", _) => x.nanprod(..),
        ("nanmax", _) => x.nanmax(..),
        ("nanmean", _) => x.nanmean(..),
        ("nanstd", _) => x.nanstd(..),
        _ => return Err(wrong(format!("unknown: {name}"))),
    })
}

fn vectors(stage: &Stage) -> Result<()> {
    let mut wrongs = Vec::new();
    for (name, rows) in table() {
        if rows.iter().all(|row| !row.arguments.starts_with('[')) {
            continue;
        }
        let x = vector::<f64>("x");
        let f = function([&x]).outputs(slope(&of_vector(name, &x)?, &x)?).compile()?;
        let mut sim = stage.function(&f)?.optimize(stage.open()?)?;
        for row in rows {
            let args = || args![numbers(row.arguments).unwrap_or_default()];
            let want = numbers(row.slope)?;
            for (how, got) in [("", sim.call(args())?), ("by reference, ", f.call_reference(args())?)] {
                let got = got[0].to_vec::<f64>()?;
                if got.len() != want.len() || !got.iter().zip(&want).all(|(got, want)| is(*got, *want)) {
                    wrongs.push(format!("{how}{name}({}): {got:?}, not {want:?}", row.arguments));
                }
            }
        }
    }
    ensure(wrongs.is_empty(), || wrongs.join("\n"))
}

/// A determinant is a polynomial: its slopes are the cofactors, at singular matrices too.
fn determinants(stage: &Stage) -> Result<()> {
    let a = tensor::<f64>("a", [None, None, None]);
    let f = function([&a]).outputs(grad(linalg::det(&a).sum(..), [&a])?).compile()?;
    let mut sim = stage.function(&f)?.optimize(stage.open()?)?;
    let cases: [(usize, &[f64], &[f64]); 5] = [
        (1, &[0., 3.], &[1., 1.]),
        (
            2,
            &[1., 2., 2., 4., 0., 1., 0., 0., 0., 0., 0., 0., 2., 1., 1., 3.],
            &[4., -2., -2., 1., 0., 0., -1., 0., 0., 0., 0., 0., 3., -1., -1., 2.],
        ),
        (3, &[1., 2., 3., 4., 5., 6., 7., 8., 9.], &[-3., 6., -3., 6., -12., 6., -3., 6., -3.]),
        (3, &[1., 2., 3., 2., 4., 6., 3., 6., 9.], &[0.; 9]),
        (0, &[], &[]),
    ];
    for (n, matrices, want) in cases {
        let count = if n == 0 { 2 } else { matrices.len() / (n * n) };
        let given = Value::from_vec(&[count, n, n], matrices.to_vec())?;
        for got in [sim.call(args![&given])?, f.call_reference(args![&given])?] {
            let got = got[0].to_vec::<f64>()?;
            let near = got.len() == want.len() && got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12);
            ensure(near, || format!("{matrices:?}: {got:?}, not {want:?}"))?;
        }
    }
    Ok(())
}
