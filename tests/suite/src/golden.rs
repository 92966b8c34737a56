//! Values from NumPy and SciPy, written by `golden/make.py` and embedded, so that a test binary runs
//! anywhere.
//!
//! One line is one array: its name, dtype, extents (`3x4`, `-` for none) and little-endian bytes in
//! hexadecimal.

use std::collections::HashMap;
use workalike::prelude::*;
use workalike::{Error, Result};

/// The arrays of one file.
pub struct Golden {
    file: &'static str,
    lines: HashMap<&'static str, &'static str>,
}

macro_rules! files {
    ($($name:ident: $doc:literal;)*) => { impl Golden { $(
        #[doc = $doc]
        pub fn $name() -> Golden {
            Golden::of(stringify!($name), include_str!(concat!("../golden/", stringify!($name), ".txt")))
        }
    )* } };
}
files! {
    unary: "Elementwise functions of one argument, correctly rounded.";
    functions: "Elementwise functions at special values, correctly rounded; those that are exact in NumPy.";
    special: "Special functions of several arguments, correctly rounded: `function.argument.dtype` and `function.dtype`.";
    integers: "Elementwise operations on integers.";
    types: "The dtypes that NumPy's functions give.";
    reduce: "Reductions over every set of axes.";
    statistics: "What is made of reductions.";
    dot: "Products.";
    products: "Products of tensors: `function|operands|terms.dtype`.";
    linalg: "Linear algebra: `function|operands.dtype`, results in float64.";
    softmax: "Softmax and its logarithm.";
    index: "Slices and gathers.";
    indexing: "Arrays and masks in index expressions.";
    positions: "Along axes, in sorted vectors, flat ones and choices.";
    shapes: "What moves, repeats and cuts.";
    cumulative: "Running folds.";
    sorting: "What is sorted, and read off it.";
    promote: "`numpy.promote_types` of all pairs of dtypes.";
}

impl Golden {
    fn of(file: &'static str, text: &'static str) -> Golden {
        let lines = text.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(' '));
        Golden { file, lines: lines.collect() }
    }

    /// The rest of a line after the name.
    pub fn text(&self, name: &str) -> Option<&'static str> {
        self.lines.get(name).copied()
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.lines.keys().copied().collect();
        names.sort_unstable();
        names
    }

    /// The array of this name, if any.
    ///
    /// # Errors
    /// If its line is damaged.
    pub fn find(&self, name: &str) -> Result<Option<Value>> {
        self.text(name)
            .map(|line| parse(line).unwrap_or_else(|| Err(self.error(name, "a damaged line"))))
            .transpose()
    }

    /// The array of this name.
    ///
    /// # Errors
    /// If there is none, or its line is damaged.
    pub fn value(&self, name: &str) -> Result<Value> {
        self.find(name)?.ok_or_else(|| self.error(name, "nothing"))
    }

    fn error(&self, name: &str, given: &str) -> Error {
        Error::mismatch(format!("golden/{}.txt", self.file), format!("an array {name}"), given)
    }
}

fn parse(line: &str) -> Option<Result<Value>> {
    let mut words = line.split(' ');
    let (dtype, shape, hex) = (DType::parse(words.next()?)?, words.next()?, words.next().unwrap_or(""));
    let extents = shape.split('x').filter(|e| *e != "-").map(|e| e.parse().ok());
    let shape: Vec<usize> = extents.collect::<Option<_>>()?;
    let digits = hex.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Vec<u8> = digits.map(byte).collect::<Option<_>>()?;
    Some(Value::from_bytes(dtype, &shape, &bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike::kernels::ops::ScalarOp;

    #[test]
    fn promotion_is_numpys() {
        let golden = Golden::promote();
        for a in DType::REAL {
            for b in DType::REAL {
                let want = golden.text(&format!("{a}.{b}")).unwrap();
                assert_eq!(a.promote(b).name(), want, "{a} and {b}");
            }
        }
    }

    #[test]
    fn dtypes_of_functions_are_numpys() {
        let golden = Golden::types();
        let mut count = 0;
        for (name, want) in &golden.lines {
            let (op, dtype) = name.split_once('.').unwrap();
            let op = ScalarOp::named(op).unwrap_or_else(|| panic!("no row {op}"));
            let dtype = DType::parse(dtype).unwrap();
            let signature = op.signature(&vec![dtype; op.row().arity]);
            let given = signature.map_or("-".into(), |s| s.result.name().to_string());
            assert_eq!(given, *want, "{name}");
            count += 1;
        }
        assert!(count > 300, "{count} lines");
    }
}
