//! Any elementwise op of the library's table, by the name it has in NumPy, SciPy or PyTensor.

use super::words;
use workalike::kernels::ops::ScalarOp;
use workalike::ops::elementwise as apply;
use workalike::prelude::*;
use workalike_cli_common::report::{Failure, Result};

/// Synonyms: all names of a group are accepted, whichever of them the table uses.
const SYNONYMS: &[&[&str]] = &[
    &["negative", "neg"],
    &["absolute", "abs"],
    &["sqr", "square"],
    &["sigmoid", "expit"],
    &["logical_not", "not"],
    &["bitwise_not", "invert", "bitwise_invert"],
    &["sign", "sgn"],
    &["arcsin", "asin"],
    &["arccos", "acos"],
    &["arctan", "atan"],
    &["arcsinh", "asinh"],
    &["arccosh", "acosh"],
    &["arctanh", "atanh"],
    &["gammaln", "loggamma"],
    &["digamma", "psi"],
    &["rint", "round_half_to_even"],
    &["deg2rad", "radians"],
    &["rad2deg", "degrees"],
    &["reciprocal", "inv"],
    &["log1mexp", "log1m_exp"],
    &["add", "plus"],
    &["subtract", "sub", "minus"],
    &["multiply", "mul", "times"],
    &["true_divide", "divide", "div", "true_div"],
    &["floor_divide", "int_div", "floor_div"],
    &["remainder", "mod"],
    &["power", "pow"],
    &["arctan2", "atan2"],
    &["equal", "eq"],
    &["not_equal", "ne", "neq"],
    &["less", "lt"],
    &["less_equal", "le"],
    &["greater", "gt"],
    &["greater_equal", "ge"],
    &["logical_and", "and"],
    &["logical_or", "or"],
    &["logical_xor", "xor"],
    &["left_shift", "bitwise_left_shift", "lshift"],
    &["right_shift", "bitwise_right_shift", "rshift"],
    &["where", "switch"],
];

/// The inputs' names. Below, the kinds of ops by number of arguments: the kind, the output's name and a
/// description.
const INPUTS: [&str; 3] = ["x", "y", "z"];
const KINDS: [(&str, &str, &str); 3] = [
    ("unary", "y", "the ops of one argument"),
    ("binary", "out", "the ops of two arguments"),
    ("ternary", "out", "the ops of three arguments"),
];

/// Without given ranks, there is a method for each rank of each input up to this one.
const RANKS: usize = 3;

/// The number of arguments of ops of this kind: `unary`, `binary` or `ternary`.
pub(super) fn arity(kind: &str) -> Option<usize> {
    KINDS.iter().position(|k| k.0 == kind).map(|at| at + 1)
}

/// An op of `arity` inputs. `dtypes` and `ranks` have one element for all inputs or one for each. Without
/// ranks there is a method for every combination of ranks.
pub(super) fn elementwise(arity: usize, op: &str, dtypes: &str, ranks: Option<&str>) -> Result<Bundle> {
    let op = find(op, arity)?;
    let dtypes = each(dtypes, arity, "dtypes", words::dtype)?;
    let dtypes = match dtypes[..] {
        [dtype] => op.arguments_of(dtype),
        _ => dtypes,
    };
    if op.signature(&dtypes).is_none() {
        let (name, given) = (op.row().name, dtypes.iter().map(|d| d.name()).collect::<Vec<_>>().join(", "));
        let known: Vec<&str> = DType::REAL
            .into_iter()
            .filter(|&d| op.signature(&vec![d; arity]).is_some())
            .map(|d| d.name())
            .collect();
        return Err(Failure::new(format!(
            "{name} is not defined for {given}; it is for {}",
            known.join(", ")
        )));
    }
    if let Some(ranks) = ranks {
        let ranks = each(ranks, arity, "numbers of axes", words::rank)?;
        let ranks = if let [rank] = ranks[..] { vec![rank; arity] } else { ranks };
        return Ok(Bundle::new().with("main", &function_of(op, &dtypes, &ranks)?));
    }
    let one = vec![1; arity];
    let mut bundle = Bundle::new().with("main", &function_of(op, &dtypes, &one)?);
    for number in 0..(RANKS + 1).pow(arity as u32) {
        let ranks: Vec<usize> =
            (0..arity as u32).map(|i| number / (RANKS + 1).pow(i) % (RANKS + 1)).collect();
        if ranks != one {
            let name: Vec<String> = ranks.iter().map(usize::to_string).collect();
            bundle = bundle.with(&format!("rank{}", name.join("_")), &function_of(op, &dtypes, &ranks)?);
        }
    }
    Ok(bundle)
}

fn function_of(op: ScalarOp, dtypes: &[DType], ranks: &[usize]) -> Result<Function> {
    let inputs: Vec<Variable> = (INPUTS.iter().zip(dtypes).zip(ranks))
        .map(|((name, &dtype), &rank)| Variable::input(name, TensorType::of_rank(dtype, rank)))
        .collect();
    Ok(function(&inputs)
        .output_named(KINDS[dtypes.len() - 1].1, words::expression(apply(op, &inputs))?)
        .compile()?)
}

/// Expands one element for all arguments to one for each.
fn each<T>(text: &str, arity: usize, what: &str, read: fn(&str) -> Result<T>) -> Result<Vec<T>> {
    let list: Vec<T> = text.split(',').map(read).collect::<Result<_>>()?;
    match list.len() {
        n if n == 1 || n == arity => Ok(list),
        n => Err(Failure::new(format!("{n} {what} for {arity} arguments: give one for all or one for each"))),
    }
}

/// The names of the ops in the table with this number of arguments.
pub(super) fn names(arity: usize) -> Vec<&'static str> {
    let rows = ScalarOp::all().map(ScalarOp::row).filter(|row| row.arity == arity);
    let mut names: Vec<&str> = rows.map(|row| row.name).collect();
    names.sort_unstable();
    names
}

fn find(name: &str, arity: usize) -> Result<ScalarOp> {
    let group = SYNONYMS.iter().find(|group| group.contains(&name));
    let spellings = std::iter::once(&name).chain(group.into_iter().copied().flatten());
    let found = spellings.filter_map(|spelling| ScalarOp::named(spelling)).next();
    let Some(op) = found else {
        return Err(words::unknown(name, KINDS[arity - 1].2, &names(arity)));
    };
    match op.row().arity {
        n if n == arity => Ok(op),
        n => {
            let own = op.row().name;
            let hint = match KINDS.get(n - 1) {
                Some((kind, ..)) => format!("make {kind}:{own}:DTYPE"),
                None => "there is no built-in of so many".into(),
            };
            Err(Failure::new(format!("{own} takes {n} arguments, not {arity}: {hint}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_compiles_for_every_dtype_it_is_defined_for() {
        for (arity, op) in (1..=3).flat_map(|arity| names(arity).into_iter().map(move |op| (arity, op))) {
            for dtype in DType::REAL {
                let row = ScalarOp::named(op).unwrap();
                let defined = row.signature(&vec![dtype; arity]).is_some();
                let made = elementwise(arity, op, dtype.name(), Some("2"));
                assert_eq!(made.is_ok(), defined, "{op} {dtype}: {:?}", made.err());
            }
        }
    }

    #[test]
    fn an_op_of_more_arguments_is_refused() {
        for op in ScalarOp::all() {
            for arity in (1..=KINDS.len()).filter(|n| *n != op.row().arity) {
                let error = elementwise(arity, op.row().name, "float32", None).err().map(|e| e.to_string());
                assert!(error.is_some_and(|text| text.contains("arguments, not")), "{op:?}");
            }
        }
    }

    #[test]
    fn no_name_has_two_meanings() {
        let mut all: Vec<&str> = SYNONYMS.iter().copied().flatten().copied().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
        // The table uses one name of each group.
        for group in SYNONYMS {
            assert_eq!(group.iter().filter(|name| ScalarOp::named(name).is_some()).count(), 1, "{group:?}");
        }
    }

    #[test]
    fn there_is_a_method_for_each_number_of_axes() {
        for (arity, op, count) in [(1, "exp", 4), (2, "add", 16), (3, "clip", 64)] {
            let bundle = elementwise(arity, op, "f32", None).unwrap();
            assert_eq!(bundle.len(), count);
            assert!(bundle.iter().any(|m| m.0 == "main" && m.1.inputs().iter().all(|i| i.ty.ndim() == 1)));
        }
        let mixed = elementwise(2, "add", "f32,i64", Some("2,0")).unwrap();
        let inputs: Vec<String> = mixed["main"].inputs().iter().map(|i| i.ty.to_string()).collect();
        assert_eq!(inputs, ["float32(?, ?)", "int64()"]);
    }

    #[test]
    fn spellings_and_mistakes() {
        assert_eq!(find("neg", 1), find("negative", 1));
        assert_eq!(find("square", 1), find("sqr", 1));
        assert_eq!(find("expit", 1).unwrap().row().name, "sigmoid");
        assert_eq!(find("pow", 2).unwrap().row().name, "power");
        for (arity, name, word) in [
            (1, "frobnicate", "tanh"),
            (1, "add", "make binary:add:DTYPE"),
            (2, "mutliply", "did you mean multiply?"),
            (3, "exp", "takes 1 arguments"),
        ] {
            let error = find(name, arity).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        for (arity, op, dtypes, ranks, word) in [
            (1, "exp", "float33", "1", "float32"),
            (1, "exp", "f32", "9", "0 to 8"),
            (2, "add", "f32,f32,f32", "1", "3 dtypes for 2 arguments"),
            (2, "add", "f32", "1,2,3", "3 numbers of axes for 2 arguments"),
            (2, "bitwise_and", "f32", "1", "not defined for float32, float32; it is for bool, int8"),
        ] {
            let error = elementwise(arity, op, dtypes, Some(ranks)).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
