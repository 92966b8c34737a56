//! Normal forms of sums, differences, negatives and magnitudes.

use super::super::terms::Terms;
use super::Root::Elementwise;
use super::{Found, rules, scalar_op};
use crate::op::Op;
use workalike_kernels::ops::*;

rules! {
    negate_negate on Elementwise(&[NEG]) => "-(-x) is x";
    negate_difference on Elementwise(&[NEG]) =>
        "-(a - b) is b - a, where nothing else reads a - b; of equal floats it is 0.0, not -0.0";
    abs_abs on Elementwise(&[ABS]) => "||x|| is |x|";
    abs_negate on Elementwise(&[ABS]) => "|-x| is |x|";
    sqr_abs on Elementwise(&[SQR]) => "sqr(|x|) and sqr(-x) are sqr(x)";
    add_zero on Elementwise(&[ADD]) => "x + 0 is x, of integers: of floats it makes -0.0 0.0";
    add_negative on Elementwise(&[ADD]) => "x + -y is x - y";
    subtract_zero on Elementwise(&[SUB]) => "x - 0 is x";
    subtract_negative on Elementwise(&[SUB]) => "x - -y is x + y";
    subtract_itself on Elementwise(&[SUB]) => "x - x is zeros, of infinities and NaN too";
    common_factor on Elementwise(&[ADD, SUB]) =>
        "a * b + a * c is a * (b + c), and likewise a difference, where nothing else reads the products; \
         not of 16-bit floats, of which b + c overflows easily; where b + c overflows, the result is infinite or NaN \
         though the products may not be, and a zero may change its sign";
}

fn negate_negate<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    Ok(t.argument(&inputs[0], NEG))
}

fn negate_difference<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((SUB, args)) = t.elemwise(&inputs[0]) else { return Ok(None) };
    let [a, b] = &args[..] else { return Ok(None) };
    if t.is_read_once(&inputs[0]) { t.make(SUB, &[b, a]).map(Some) } else { Ok(None) }
}

fn abs_abs<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    Ok(t.argument(&inputs[0], ABS).map(|_| inputs[0].clone()))
}

fn abs_negate<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    match t.argument(&inputs[0], NEG) {
        Some(x) => t.make(ABS, &[&x]).map(Some),
        None => Ok(None),
    }
}

fn sqr_abs<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    match t.argument(&inputs[0], ABS).or_else(|| t.argument(&inputs[0], NEG)) {
        Some(x) => t.make(SQR, &[&x]).map(Some),
        None => Ok(None),
    }
}

fn add_zero<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    Ok(if t.ty(&inputs[0]).dtype.is_float() { None } else { t.beside(inputs, 0.0) })
}

fn add_negative<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    for (kept, other) in [(a, b), (b, a)] {
        if let Some(y) = t.argument(other, NEG) {
            return t.make(SUB, &[kept, &y]).map(Some);
        }
    }
    Ok(None)
}

fn subtract_zero<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    // -0.0 - -0.0 is 0.0.
    let none = t.uniform(b).is_some_and(|zero| zero.to_bits() == 0) && t.adds_no_extent(a, b);
    Ok(none.then(|| a.clone()))
}

fn subtract_negative<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    match t.argument(b, NEG) {
        Some(y) => t.make(ADD, &[a, &y]).map(Some),
        None => Ok(None),
    }
}

fn subtract_itself<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    if a == b { t.number_like(a, 0.0).map(Some) } else { Ok(None) }
}

fn common_factor<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let (Some(op), [p, q]) = (scalar_op(op), inputs) else { return Ok(None) };
    let (Some((MUL, left)), Some((MUL, right))) = (t.elemwise(p), t.elemwise(q)) else { return Ok(None) };
    let ([a, b], [c, d]) = (&left[..], &right[..]) else { return Ok(None) };
    if p == q || !t.is_read_once(p) || !t.is_read_once(q) || t.ty(p).dtype.is_half() {
        return Ok(None);
    }
    for (factor, x, other, y) in [(a, b, c, d), (a, b, d, c), (b, a, c, d), (b, a, d, c)] {
        if factor == other {
            let sum = t.make(op, &[x, y])?;
            return t.make(MUL, &[factor, &sum]).map(Some);
        }
    }
    Ok(None)
}
