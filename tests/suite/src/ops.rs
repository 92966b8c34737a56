//! Generates `docs/ops.md`: every op with its properties, taken from the code. Only the introductions are
//! written by hand.

use crate::catalogue::{Entry, Kit, Make, entries};
use crate::formula::gradients;
use crate::names::{elsewhere, named, spelled};
use crate::snapshot::Paper;
use crate::tolerance::ulps;
use std::fmt::Write;
use workalike::kernels::ops::{OpBody, ScalarOp};
use workalike::kernels::print::Dialect;
use workalike::ops::elementwise;
use workalike::prelude::*;
use workalike::{Error, Result};

/// The head of the document; `FLOATS` is replaced by the dtypes that become float.
const HEAD: &str = "# Ops

Generated from the elementwise table and from the ops; do not edit. To generate it again:
`BLESS=1 cargo test -p workalike-suite --test documents`.

- **op**: the name in files, in `ScalarOp::named` and in `workalike make`.
- **NumPy, Theano**: the name of the same function elsewhere.
- **Rust**: an expression; `x` is a `Variable`. **path**: the method, function or operator trait. `Variable` is
  `workalike::graph::Variable`, `ops` is `workalike::ops`. Most methods have a `try_` form that returns a `Result`.
- **dtypes**: the result dtype for arguments of one dtype. *same* is the dtype of the arguments. *float* is
  FLOATS.
  Dtypes that are not listed are refused when the expression is built. Arguments of different dtypes are promoted
  first, as in NumPy; comparisons of signed integers with uint64 are exact, as in NumPy 2. `cast` of a float to an
  integer saturates, and NaN becomes 0.
- **error**: the bound in ulp of the result, for float32, and for float64 on the host where that differs. `exact`
  means exact or correctly rounded; a `floor_divide` or `trunc_divide` of floats beyond 2^24 (float64: 2^53) is the
  quotient, rounded. `N, or N of M`: ulp of the result or of M, whichever is larger. Halves are computed in float32 and
  rounded once, of several ops in one kernel the last. Which zero `max` and `min` of zeros of both signs give is open.
- **measured**: the worst errors of float32 in four million arguments of all magnitudes, on the host and on OpenCL
  (PoCL), in the same unit. Empty where the reference computes the op. `make ulps` measures them;
  `tests/suite/golden/ulps.csv` has those of the other floats, and the arguments.
- **gradient**: for arguments `a`, `b`, `c`, `d`, result `y` and its gradient `g`: a formula for each argument, or
  `yes`. `0`: the gradient is zero, or the result is not a float. `unknown`, `none`: there is no formula, and asking
  for the gradient is an error. At the edge of a domain the slope is the limit, or 0 where the function is constant
  (`x ** 0` at 0); at a kink of `abs`, `relu`, `hypot`, a norm or a standard deviation it is 0, and equal arguments of
  `maximum` and `minimum` or equal extremes of an axis share it. `where(c, a, b)` multiplies the slope of the branch not
  taken by 0, so that an infinite slope there gives NaN, as in JAX and PyTorch. `logsumexp` and `softmax` of infinities have
  the slope NaN, as there. The second derivative of `det` at a singular matrix is an error. 1,500 such points are tested: `tests/suite/golden/slopes.csv`.
- **host**, **OpenCL**, **CUDA**: how the device computes the op. `kernel`: generated code (on the host: the tile
  interpreter). `library`: code of the device's own (products, sorts, running folds). `loop`, `while`, `branch`: bodies
  of such steps. `host node`: the reference runs on the host, between copies; strict mode refuses it. On devices without
  float64, ops that need float64 are host nodes.
- Elementwise arguments broadcast as in NumPy; a gradient is summed over an axis only if the type says that its extent
  is 1. Axes may be negative. Reductions take one axis, several axes or all (`..`), and the options
  `over(axes).keepdims()`, `.dtype(..)`, `.acc_dtype(..)`, `.ddof(..)`.

`workalike make unary:OP:DTYPE`, `binary:`, `ternary:` and `reduce:OP:DTYPE:AXES` make a Function of one op.
";

/// The devices in the table: the host, and the devices for which kernels are printed.
fn places() -> [(&'static str, Place); 3] {
    let paper = |dialect| Place::Paper(Paper { dialect, cpu: false, matmul: true });
    [("host", Place::Host), ("OpenCL", paper(Dialect::OpenClC)), ("CUDA", paper(Dialect::CudaCpp))]
}

#[derive(Clone, Copy)]
enum Place {
    Host,
    Paper(Paper),
}

impl Place {
    /// The kinds of steps of a call.
    fn kinds(self, function: &Function, args: Args) -> Result<Vec<&'static str>> {
        let options = Options { fuse: false, ..Options::default() };
        let mut simulator = match self {
            Place::Host => function.optimize(Host::threads(1).with_options(options))?,
            Place::Paper(paper) => function.optimize(paper.with_options(options))?,
        };
        let plan = simulator.plan(args)?;
        let mut kinds: Vec<&str> = plan.steps.iter().map(|s| s.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        Ok(kinds)
    }
}

/// The document.
///
/// # Errors
/// If an op that takes its arguments cannot be compiled or lowered.
pub fn text() -> Result<String> {
    let floats = |to: DType| {
        let narrow = DType::REAL.into_iter().filter(move |d| !d.is_float() && d.to_float() == to);
        format!("{to} for {}", narrow.map(DType::name).collect::<Vec<_>>().join(", "))
    };
    let floats: Vec<String> = [DType::F16, DType::F32, DType::F64].map(floats).into();
    let mut text = HEAD.replace("FLOATS", &format!("{}, and a float itself", floats.join(", ")));
    elementwise_ops(&mut text)?;
    let entries = entries().map_err(Error::Internal)?;
    let mut family = "";
    for entry in &entries {
        if entry.family != family {
            family = entry.family;
            let title = family[..1].to_uppercase() + &family[1..];
            head(
                &mut text,
                &title,
                &[
                    "Rust",
                    "NumPy, Theano",
                    "path",
                    "what it computes",
                    "dtypes",
                    "gradient",
                    "host",
                    "OpenCL",
                    "CUDA",
                ],
            );
        }
        row(&mut text, &described(entry)?);
    }
    text.push_str("\n## In files\n\nThe families of ops that a saved Function may name: ");
    let ids: Vec<String> = workalike::ops::ids().map(|id| format!("`{id}`")).collect();
    writeln!(text, "{}.", ids.join(", ")).map_err(|e| Error::Internal(e.to_string()))?;
    Ok(text)
}

fn head(text: &mut String, title: &str, columns: &[&str]) {
    text.push_str(&format!("\n## {title}\n\n"));
    row(text, &columns.iter().map(|c| (*c).to_string()).collect::<Vec<_>>());
    row(text, &vec!["---".to_string(); columns.len()]);
}

fn row(text: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
    text.push_str(&format!("| {} |\n", cells.join(" | ")));
}

/// Columns of the rows of the elementwise table.
const ROW_COLUMNS: [&str; 12] = [
    "op",
    "NumPy, Theano",
    "Rust",
    "path",
    "what it computes",
    "dtypes",
    "error",
    "measured",
    "gradient",
    "host",
    "OpenCL",
    "CUDA",
];

fn elementwise_ops(text: &mut String) -> Result<()> {
    for (arity, title) in [
        (1, "Elementwise, of one argument"),
        (2, "Elementwise, of two arguments"),
        (3, "Elementwise, of three arguments"),
        (4, "Elementwise, of four arguments"),
    ] {
        head(text, title, &ROW_COLUMNS);
        for op in ScalarOp::all().filter(|op| op.row().arity == arity) {
            let accepted: Vec<DType> =
                DType::REAL.into_iter().filter(|&d| op.signature(&op.arguments_of(d)).is_some()).collect();
            let result = |d: DType| op.signature(&op.arguments_of(d)).map(|s| s.result);
            let made = matches!(op.row().body, OpBody::Composition(_));
            let doc = if made { format!("{}; made of other ops", op.row().doc) } else { op.row().doc.into() };
            let (written, path) = spelled(op);
            let mut cells = vec![format!("`{}`", op.row().name), elsewhere(op.row().name)?];
            cells.extend([format!("`{written}`"), format!("`{path}`"), doc, dtypes(result), error(op)]);
            cells.push(measured(op));
            let formulas: Vec<String> = gradients(op).into_iter().map(quoted).collect();
            cells.push(if formulas.iter().all(|f| f == "0") { "0".into() } else { formulas.join("; ") });
            cells.extend(native(&accepted, |dtype| example_of(op, dtype))?);
            row(text, &cells);
        }
    }
    Ok(())
}

fn quoted(formula: String) -> String {
    if formula == "0" || formula == "unknown" { formula } else { format!("`{formula}`") }
}

fn error(op: ScalarOp) -> String {
    let row = op.row();
    match (row.ulp, row.scale) {
        (0, _) => "exact".into(),
        (n, Some(0.0)) => format!("{n}"),
        (n, Some(scale)) => format!("{n}, or {n} of {scale}"),
        (_, None) => format!("{}; 2", ulps(op, DType::F32, false)),
    }
}

/// The worst errors of float32 that `make ulps` found, on the host and on OpenCL.
fn measured(op: ScalarOp) -> String {
    let list = include_str!("../golden/ulps.csv");
    let found = ["host", "opencl"].map(|device| {
        let start = format!("{device},float32,{},", op.row().name);
        let rest = list.lines().find_map(|line| line.strip_prefix(&start))?;
        rest.split(',').next()
    });
    match found {
        [Some(host), Some(opencl)] => format!("{host}; {opencl}"),
        _ => "".into(),
    }
}

/// A Function of one op, and arguments.
fn example_of(op: ScalarOp, dtype: DType) -> Result<(Function, Args)> {
    let inputs: Vec<Variable> = (op.arguments_of(dtype).iter().enumerate())
        .map(|(i, &d)| Variable::input(&format!("i{i}"), TensorType::of_rank(d, 1)))
        .collect();
    let mut args = Args::new();
    for input in &inputs {
        args = args.with(Value::zeros(input.dtype(), &[6])?);
    }
    Ok((function(&inputs).output(elementwise(op, &inputs)?).compile()?, args))
}

fn described(entry: &Entry) -> Result<Vec<String>> {
    let result = |dtype| (entry.make)(&Kit::new(dtype)).ok().map(|v| v.dtype());
    let accepted: Vec<DType> = DType::REAL.into_iter().filter(|&d| result(d).is_some()).collect();
    if accepted.is_empty() {
        let why = (entry.make)(&Kit::new(DType::F64)).err().map_or(String::new(), |e| e.to_string());
        return Err(Error::Internal(format!("the example of {} takes no dtype: {why}", entry.written)));
    }
    // Links are for rustdoc, and the sections for callers; the text is enough here.
    let doc = plain(entry.doc.split("# Errors").next().unwrap_or(&entry.doc));
    let (name, path) = named(&entry.written);
    let mut cells = vec![format!("`{}`", entry.written), elsewhere(&name)?, path, doc, dtypes(result)];
    cells.push(gradient(entry.make)?);
    cells.extend(native(&accepted, |dtype| {
        let kit = Kit::new(dtype);
        let function = function(kit.inputs()).allow_unused_inputs().output((entry.make)(&kit)?).compile()?;
        Ok((function, kit.args()?))
    })?);
    Ok(cells)
}

/// Whether an example has a gradient in float64.
fn gradient(make: Make) -> Result<String> {
    let kit = Kit::new(DType::F64);
    let Ok(result) = make(&kit) else { return Ok("0".into()) };
    if !result.dtype().is_float() {
        return Ok("0".into());
    }
    let wrt = [&kit.x, &kit.y, &kit.v, &kit.c].map(Clone::clone);
    // A loop with a condition refuses.
    let Ok(grads) = Grad::of(&result.sum(..)).wrt_connected(&wrt) else { return Ok("none".into()) };
    let known: Vec<&Variable> = grads.iter().flatten().collect();
    Ok(match known.iter().any(|g| g.checked().is_err()) {
        true => "unknown".into(),
        false if known.is_empty() => "0".into(),
        false => "yes".into(),
    })
}

/// How each device computes an op, for the dtypes it takes.
fn native(accepted: &[DType], example: impl Fn(DType) -> Result<(Function, Args)>) -> Result<Vec<String>> {
    places()
        .iter()
        .map(|(_, place)| {
            let (mut ways, mut nodes): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
            for &dtype in accepted {
                let (function, args) = example(dtype)?;
                for kind in place.kinds(&function, args)? {
                    let way = match kind {
                        "nest" | "copy" => "kernel",
                        "host" => {
                            nodes.push(dtype.name());
                            continue;
                        }
                        other => other,
                    };
                    if !ways.contains(&way) {
                        ways.push(way);
                    }
                }
            }
            ways.sort_unstable();
            let ways = if ways.is_empty() { "no step".into() } else { ways.join(", ") };
            Ok(match nodes.len() {
                0 => ways,
                n if n == accepted.len() => "host node".into(),
                _ => format!("{ways}; host node of {}", nodes.join(", ")),
            })
        })
        .collect()
}

/// `[text](target)` and ``[`text`]`` as `text`.
fn plain(doc: &str) -> String {
    let mut out = String::new();
    let mut rest = doc;
    while let Some(at) = rest.find('[') {
        let (before, after) = rest.split_at(at);
        let Some(end) = after.find(']') else { break };
        let inner = &after[1..end];
        out.push_str(before);
        let tail = &after[end + 1..];
        let target = tail.starts_with('(').then(|| tail.find(')')).flatten();
        match (inner.starts_with('`'), target) {
            (_, Some(close)) => {
                out.push_str(inner);
                rest = &tail[close + 1..];
            }
            (true, None) => {
                out.push_str(&inner.replace("Variable::", "").replace("crate::", ""));
                rest = tail;
            }
            (false, None) => {
                out.push_str(&after[..=end]);
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a dtype is of a class.
type Is = fn(DType) -> bool;

/// The dtypes that an op accepts and those of the result, by class.
fn dtypes(result: impl Fn(DType) -> Option<DType>) -> String {
    let all: Vec<(DType, DType)> = DType::REAL.into_iter().filter_map(|d| Some((d, result(d)?))).collect();
    let any = all.len() == DType::REAL.len();
    if any && all.iter().all(|m| m.1 == all[0].1) {
        return format!("any → {}", all[0].1);
    }
    if any && all.iter().all(|m| m.1 == m.0.to_float()) {
        return "any → *float*".into();
    }
    let classes: [(&str, Is); 4] = [
        ("bool", |d| d == DType::Bool),
        ("int", DType::is_signed),
        ("uint", DType::is_unsigned),
        ("float", DType::is_float),
    ];
    let mut parts: Vec<(String, String)> = Vec::new();
    for (class, is) in classes {
        let made: Vec<(DType, DType)> =
            DType::REAL.into_iter().filter(|&d| is(d)).filter_map(|d| Some((d, result(d)?))).collect();
        let whole = made.len() == DType::REAL.into_iter().filter(|&d| is(d)).count();
        let Some(&(_, first)) = made.first() else { continue };
        let becomes = if made.iter().all(|m| m.0 == m.1) {
            "same".to_string()
        } else if made.iter().all(|m| m.1 == first) {
            first.name().into()
        } else {
            let each: Vec<String> = made.iter().map(|m| format!("{} → {}", m.0, m.1)).collect();
            parts.push((String::new(), each.join(", ")));
            continue;
        };
        let names: Vec<&str> = made.iter().map(|m| m.0.name()).collect();
        let class = if whole { class.to_string() } else { names.join(", ") };
        match parts.last_mut().filter(|p| p.1 == becomes && !p.0.is_empty()) {
            Some(last) => last.0 = format!("{}, {class}", last.0),
            None => parts.push((class, becomes)),
        }
    }
    let said = |(class, becomes): &(String, String)| match class.as_str() {
        "" => becomes.clone(),
        "bool, int, uint, float" => format!("any → {becomes}"),
        class => format!("{class} → {becomes}"),
    };
    parts.iter().map(said).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_are_listed_by_class() {
        assert_eq!(dtypes(Some), "any → same");
        assert_eq!(dtypes(|d| d.is_float().then_some(d)), "float → same");
        assert_eq!(dtypes(|d| (d != DType::Bool).then_some(DType::Bool)), "int, uint, float → bool");
        let text = dtypes(|d| (!d.is_float()).then(|| d.to_float()));
        assert!(text.starts_with("bool → float16; int8 → float16, int16 → float32"), "{text}");
        assert_eq!(dtypes(|d| Some(d.to_float())), "any → *float*");
        assert_eq!(dtypes(|_| Some(DType::Bool)), "any → bool");
    }

    #[test]
    fn links_are_their_text() {
        assert_eq!(
            plain("see [`Variable::sum`], [over](crate::ops::over) and x[0]"),
            "see `sum`, over and x[0]"
        );
    }
}
