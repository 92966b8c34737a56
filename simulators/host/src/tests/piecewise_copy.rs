//! Piecewise copies: copies of parts of rows, and concatenations of parts in place, against the reference of
//! each op.

use super::random;
use workalike::ops::{Ix, Pad, concatenate};
use workalike::prelude::*;

/// Asserts that an expression of a random array has the bits of the reference, on one thread and on several.
fn agrees(dtype: DType, shape: &[usize], what: &str, make: impl Fn(&Variable) -> Variable) {
    let value = Value::from_bytes(dtype, shape, &random(dtype, shape.iter().product(), 5)).unwrap();
    let x = Variable::from(&shared("x", value));
    let none: [&Variable; 0] = [];
    let f = function(none).output(make(&x)).compile().unwrap();
    let bits = |values: Outputs| values[0].contiguous().unwrap().contiguous_bytes().unwrap().to_vec();
    let want = bits(f.call_reference(args![]).unwrap());
    for threads in [1, 4] {
        let mut sim = f.optimize(Host::threads(threads)).unwrap();
        let got = sim.call(args![]).unwrap();
        assert!(bits(got) == want, "{what} of {dtype} {shape:?}, {threads} threads");
    }
}

#[test]
fn diagonals_divide_rows() {
    for dtype in DType::REAL {
        for shape in [&[40usize, 50][..], &[3, 37, 20], &[300, 301]] {
            for offset in [-60, -13, -1, 0, 1, 17, 60] {
                agrees(dtype, shape, "tril", |x| x.tril(offset));
                agrees(dtype, shape, "triu", |x| x.triu(offset));
            }
        }
    }
}

#[test]
fn any_comparison_of_positions_divides_rows() {
    let n = 61usize;
    let at = arange(n as i64);
    for (limit, scale) in [(0i64, 1i64), (30, 1), (-3, -1), (-40, -2), (31, 3), (60, 1), (61, 2)] {
        let number = || &at * scale;
        let tests: [(&str, Variable); 6] = [
            ("less", number().less(limit)),
            ("less_equal", number().less_equal(limit)),
            ("greater", number().greater(limit)),
            ("greater_equal", number().greater_equal(limit)),
            ("equal", number().equal(limit)),
            ("not_equal", number().not_equal(limit)),
        ];
        for (name, test) in &tests {
            for dtype in [DType::F64, DType::I16, DType::F16, DType::Bool] {
                let what = format!("{name} {limit} by {scale}");
                agrees(dtype, &[7, n], &what, |x| where_(test, x, x.flip(-1isize)));
                agrees(dtype, &[n, 7], &what, |x| {
                    where_(test, x.t(), Variable::constant(Value::zeros(dtype, &[]).unwrap()))
                });
            }
        }
    }
}

#[test]
fn parts_are_concatenated_in_place() {
    for dtype in [DType::F64, DType::I32, DType::U8, DType::F16] {
        for shape in [&[30usize, 31][..], &[5, 6, 7], &[200, 180]] {
            for mode in [Pad::Constant(1.0), Pad::Edge, Pad::Reflect, Pad::Symmetric, Pad::Wrap] {
                let widths: Vec<[usize; 2]> = shape.iter().enumerate().map(|(a, _)| [3, 4 - a]).collect();
                agrees(dtype, shape, &format!("{mode:?}"), |x| x.pad(&widths, mode));
            }
            let halves = |x: &Variable| concatenate([x.clone(), x.flip(0isize)], 0);
            // Also read elsewhere, and as wide as its target.
            agrees(dtype, shape, "both", |x| concatenate([halves(x), halves(x) * 2], 1));
            agrees(dtype, shape, "twice", |x| concatenate([halves(x), halves(x)], 1));
            agrees(dtype, shape, "set", |x| {
                concatenate([x.set_index([Ix::from(1..3)], x.index([Ix::from(0..2)])), x.clone()], -1)
            });
        }
    }
}
