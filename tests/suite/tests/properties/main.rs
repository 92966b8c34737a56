//! Properties for random shapes and graphs.
//!
//! - `arrays`: broadcasting, slicing and reductions agree with ndarray;
//! - `graphs`: fused, unfused and reference results are equal; loaded Functions equal the saved ones;
//! - `updates`: so are shared variables that are updated together;
//! - `loops`: loops against the same expressions written out.
//! - `parallel`: members of a group against one device.

#[path = "../../../common/random.rs"]
mod random;

mod arrays;
mod graphs;
mod loops;
mod parallel;
mod products;
mod updates;

use ndarray::{ArrayD, IxDyn};
use proptest::test_runner::TestCaseError;
use workalike::Value;

fn failed(error: impl std::fmt::Display) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// An array of small integers, each different from its neighbours.
fn counted(shape: &[usize]) -> ArrayD<f64> {
    let mut at = 0usize;
    ArrayD::from_shape_fn(IxDyn(shape), |_| {
        at += 1;
        ((at * 7919 + 13) % 101) as f64 - 50.0
    })
}

/// The largest difference between arrays of float64, relative to the largest magnitude (or 1).
fn distance(a: &Value, b: &Value) -> f64 {
    let (a, b) = (a.to_f64s(), b.to_f64s());
    let scale = b.iter().fold(1f64, |m, v| m.max(v.abs()));
    a.iter().zip(&b).map(|(a, b)| (a - b).abs() / scale).fold(0.0, f64::max)
}
