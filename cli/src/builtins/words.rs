//! Parses the parts of a built-in's name: dtypes, ranks, and names of ops, with suggestions for misspelt
//! ones.

use workalike::prelude::*;
use workalike_cli_common::report::{Failure, Result};

/// The largest rank that a built-in may have.
pub(super) const MAX_AXES: usize = 8;

/// Parses a dtype.
pub(super) fn dtype(text: &str) -> Result<DType> {
    DType::parse(text).ok_or_else(|| {
        let known: Vec<&str> = DType::REAL.iter().map(|d| d.name()).collect();
        Failure::new(format!("there is no dtype '{text}'; there are {}", known.join(", ")))
    })
}

/// Parses a rank.
pub(super) fn rank(text: &str) -> Result<usize> {
    text.parse()
        .ok()
        .filter(|&n| n <= MAX_AXES)
        .ok_or_else(|| Failure::new(format!("the number of axes is 0 to {MAX_AXES}, not '{text}'")))
}

/// The error for an unknown op; `known` are the names of all ops.
pub(super) fn unknown(name: &str, what: &str, known: &[&str]) -> Failure {
    let near: Vec<&str> = known.iter().copied().filter(|k| is_near(name, k)).collect();
    let near = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    Failure::new(format!("there is no op '{name}'; {near}{what} are {}", known.join(", ")))
}

/// The library's error message for an expression, without the source line, which lies in this command.
pub(super) fn expression<T>(result: workalike::Result<T>) -> Result<T> {
    result.map_err(|error| match error {
        workalike::Error::Expression { op, message, .. } => Failure::new(format!("{op}: {message}")),
        other => other.into(),
    })
}

/// Whether a name may be a misspelling of another: at most a third of its letters differ, or one is a prefix
/// of the other.
fn is_near(given: &str, known: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (given.chars().collect(), known.chars().collect());
    let begins = a.len().min(b.len()) >= 3 && (given.starts_with(known) || known.starts_with(given));
    begins || 3 * wrong_letters(&a, &b) <= a.len().max(b.len())
}

/// The Damerau-Levenshtein distance: insertions, deletions, substitutions and transpositions of neighbours.
fn wrong_letters(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => {
                    let same = usize::from(a[i - 1] != b[j - 1]);
                    let least = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + same);
                    let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    if swapped { least.min(rows[i - 2][j - 2] + 1) } else { least }
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered() {
        let known = ["tanh", "arctanh", "exp", "expm1", "sum"];
        let said = |name| unknown(name, "the ops", &known).to_string();
        assert!(said("tahn").contains("did you mean tanh?"), "{}", said("tahn"));
        assert!(said("expm").contains("did you mean exp or expm1?"), "{}", said("expm"));
        assert!(!said("frobnicate").contains("did you mean"), "{}", said("frobnicate"));
        assert!(said("frobnicate").contains("tanh, arctanh, exp"));
    }

    #[test]
    fn dtypes_and_ranks() {
        assert_eq!(dtype("f32"), dtype("float32"));
        assert_eq!(rank("0"), Ok(0));
        for (error, word) in [
            (dtype("float33").unwrap_err(), "float32"),
            (rank("9").unwrap_err(), "0 to 8"),
            (rank("-1").unwrap_err(), "0 to 8"),
        ] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
