//! Long chains of elementwise ops: iterations of recurrences, whose kernels are cut and put in order by
//! fusion. Every op in them rounds the same way everywhere, so that results are equal bit for bit.

use crate::data::random;
use crate::group::Group;
use workalike::Result;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![recurrences()]
}

fn recurrences() -> Result<Group> {
    let mut group = Group::new("recurrence");
    for dtype in [DType::F32, DType::F64] {
        let d = dtype.short();
        let x = &group.input(random(dtype, &[13, 21], 1)?);
        let y = &group.input(random(dtype, &[13, 21], 2)?);
        let row = &group.input(random(dtype, &[21], 3)?);
        for n in [30, 300] {
            group.exact(format!("escapes_{n}_{d}"), escapes(x, y, n));
            group.exact(format!("root_{n}_{d}"), root(&(x * x + 1.0), n));
        }
        let path = walk(x, y, 40);
        group.exact(format!("every_step_{d}"), stack(path.iter().step_by(3), 0));
        group.exact(
            format!("a_row_at_each_step_{d}"),
            (0..60).fold(x.clone(), |x, _| (&x * row - &x) * 0.5 + row),
        );
        group.exact(format!("then_a_maximum_{d}"), path[path.len() - 1].max(1));
        // A value that all iterations need, and many that the last one needs.
        let kept: Vec<Variable> = walk(x, y, 40);
        let all = kept.iter().rev().fold(x.clone(), |sum, at| sum.maximum(at) - 0.25 * at);
        group.exact(format!("all_at_the_end_{d}"), all);
    }
    let counter = &group.input(random(DType::I64, &[50], 4)?);
    let collatz =
        (0..80).fold(counter.clone(), |n, _| where_((&n % 2i64).equal(0i64), &n / 2i64, 3i64 * &n + 1i64));
    group.exact("whole_numbers", collatz.cast(DType::I64));
    Ok(group)
}

/// How often the iterates of Mandelbrot's map stay small.
fn escapes(x: &Variable, y: &Variable, n: usize) -> Variable {
    let [mut a, mut b, mut count] = [x.clone(), y.clone(), zeros_like(x)];
    for _ in 0..n {
        (a, b) = (&a * &a - &b * &b + x, 2.0 * &a * &b + y);
        count = count + (&a * &a + &b * &b).less(4.0);
    }
    count
}

/// The cube root, by Newton's method.
fn root(v: &Variable, n: usize) -> Variable {
    (0..n).fold(v * 0.5, |r, _| &r - (&r * &r * &r - v) / (3.0 * &r * &r))
}

/// The places of a particle on a spring, which is damped.
fn walk(x: &Variable, v: &Variable, n: usize) -> Vec<Variable> {
    let (mut x, mut v) = (x.clone(), v.clone());
    let mut path = Vec::new();
    for _ in 0..n {
        v = &v * 0.99 - 0.01 * &x;
        x = &x + 0.01 * &v;
        path.push(x.clone());
    }
    path
}
