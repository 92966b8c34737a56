//! Any elementwise op of one argument, by the name it has in NumPy, SciPy or PyTensor.

use crate::report::{Failure, Result};
use workalike::kernels::ops::ScalarOp;
use workalike::prelude::*;

/// Names of one op; whichever of them the table uses, all are understood.
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
];

/// More axes than this serve nobody.
const MAX_AXES: usize = 8;

/// `y = op(x)`.
pub(super) fn unary(op: &str, dtype: &str, ndim: &str) -> Result<Bundle> {
    let op = find(op)?;
    let name = op.row().name;
    let Some(dtype) = DType::parse(dtype) else {
        let known: Vec<&str> = DType::ALL.iter().map(|d| d.name()).collect();
        return Err(Failure::new(format!("there is no dtype '{dtype}'; there are {}", known.join(", "))));
    };
    let axes = ndim.parse().ok().filter(|&n| n <= MAX_AXES);
    let Some(axes) = axes else {
        return Err(Failure::new(format!("the number of axes is 0 to {MAX_AXES}, not '{ndim}'")));
    };
    if op.signature(&[dtype]).is_none() {
        return Err(Failure::new(format!("{name} is not defined for {dtype}")));
    }
    let x = Variable::input("x", TensorType::of_rank(dtype, axes));
    let function = function([&x]).output_named("y", x.try_elementwise(op)?).compile()?;
    Ok(Bundle::new().with("main", &function))
}

/// The names in the table.
pub(super) fn names() -> Vec<&'static str> {
    let rows = ScalarOp::all().map(ScalarOp::row).filter(|row| row.arity == 1);
    let mut names: Vec<&str> = rows.map(|row| row.name).collect();
    names.sort_unstable();
    names
}

fn find(name: &str) -> Result<ScalarOp> {
    let group = SYNONYMS.iter().find(|group| group.contains(&name));
    let spellings = std::iter::once(&name).chain(group.into_iter().copied().flatten());
    let found = spellings.filter_map(|spelling| ScalarOp::named(spelling)).next();
    let Some(op) = found else {
        let known = names().join(", ");
        return Err(Failure::new(format!("there is no op '{name}'; the ops of one argument are {known}")));
    };
    match op.row().arity {
        1 => Ok(op),
        n => Err(Failure::new(format!("{name} takes {n} arguments, not one"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_compiles_for_every_dtype_it_is_defined_for() {
        for op in names() {
            for dtype in DType::ALL {
                let defined = ScalarOp::named(op).unwrap().signature(&[dtype]).is_some();
                let made = unary(op, dtype.name(), "2");
                assert_eq!(made.is_ok(), defined, "{op} {dtype}: {:?}", made.err());
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
    }

    #[test]
    fn spellings_and_mistakes() {
        assert_eq!(find("neg"), find("negative"));
        assert_eq!(find("square"), find("sqr"));
        assert_eq!(find("expit").unwrap().row().name, "sigmoid");
        for (name, word) in [("frobnicate", "tanh"), ("add", "takes 2 arguments")] {
            let error = find(name).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        for (dtype, ndim, word) in
            [("float33", "1", "float32"), ("f32", "9", "0 to 8"), ("f32", "-1", "0 to 8")]
        {
            let error = unary("exp", dtype, ndim).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
