//! Normal forms of products, quotients and reciprocals. A factor divided by itself vanishes, as in Theano:
//! where it is 0, infinite or NaN, the quotient was NaN and no longer is.

use super::super::terms::Terms;
use super::Root::Elementwise;
use super::casts::digits;
use super::{Found, rules, scalar_op};
use crate::op::Op;
use workalike_kernels::ops::*;
use workalike_kernels::{DType, Scalar};

rules! {
    multiply_one on Elementwise(&[MUL, DIV]) => "x * 1, 1 * x and x / 1 are x";
    multiply_negatives on Elementwise(&[MUL, DIV]) => "-x * -y is x * y, and -x / -y is x / y";
    multiply_itself on Elementwise(&[MUL]) => "x * x is sqr(x), of numbers";
    divide_itself on Elementwise(&[DIV]) => "x / x is ones, of 0, infinities and NaN too";
    product_over_factor on Elementwise(&[DIV]) => "x * y / y is x; where y is 0, infinite or NaN it was NaN, and x * y no longer overflows";
    quotient_times_divisor on Elementwise(&[MUL]) =>
        "x / y * y is x; where y is 0, infinite or NaN it was NaN, and x / y no longer overflows";
    factor_over_product on Elementwise(&[DIV]) =>
        "y / (x * y) is reciprocal(x); where y is 0, infinite or NaN it was NaN, and x * y no longer overflows";
    collect_factors on Elementwise(&[MUL, DIV]) =>
        "x * a * b is x * (a * b) for numbers a and b, and likewise x * a / b, x / a * b and x / a / b, where \
         the dtype has the one number; what overflows or underflows between no longer does";
    reciprocal_reciprocal on Elementwise(&[RECIPROCAL]) => "1 / (1 / x) is x, of floats";
    reciprocal_quotient on Elementwise(&[RECIPROCAL]) => "1 / (x / y) is y / x, of floats";
    divide_reciprocal on Elementwise(&[DIV]) => "x / (1 / y) is x * y";
}

fn multiply_one<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    if t.is(b, 1.0) && t.adds_no_extent(a, b) {
        return Ok(Some(a.clone()));
    }
    let second = scalar_op(op) == Some(MUL) && t.is(a, 1.0) && t.adds_no_extent(b, a);
    Ok(second.then(|| b.clone()))
}

fn multiply_negatives<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let (Some(op), [a, b]) = (scalar_op(op), inputs) else { return Ok(None) };
    match (t.argument(a, NEG), t.argument(b, NEG)) {
        (Some(x), Some(y)) => t.make(op, &[&x, &y]).map(Some),
        _ => Ok(None),
    }
}

fn multiply_itself<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    let squares = a == b && t.ty(a).dtype != DType::Bool;
    if squares { t.make(SQR, &[a]).map(Some) } else { Ok(None) }
}

fn divide_itself<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    if a == b { t.number_like(a, 1.0).map(Some) } else { Ok(None) }
}

/// The other factor of a product that has this one.
fn other_factor<T: Terms>(t: &T, product: &T::V, factor: &T::V) -> Option<T::V> {
    let (MUL, args) = t.elemwise(product)? else { return None };
    let [a, b] = &args[..] else { return None };
    if a == factor { Some(b.clone()) } else { (b == factor).then(|| a.clone()) }
}

fn product_over_factor<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [product, y] = inputs else { return Ok(None) };
    match other_factor(t, product, y) {
        Some(x) => t.filled(&x, y, product).map(Some),
        None => Ok(None),
    }
}

fn quotient_times_divisor<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    for (quotient, y) in [(a, b), (b, a)] {
        if let Some((DIV, args)) = t.elemwise(quotient)
            && args[1] == *y
        {
            return t.filled(&args[0], y, quotient).map(Some);
        }
    }
    Ok(None)
}

fn factor_over_product<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [y, product] = inputs else { return Ok(None) };
    let Some(x) = other_factor(t, product, y) else { return Ok(None) };
    let x = t.filled(&x, y, product)?;
    t.make(RECIPROCAL, &[&x]).map(Some)
}

/// `of * number`, or `of / number`.
struct Multiple<V> {
    of: V,
    number: f64,
    divided: bool,
}

fn multiple<T: Terms>(t: &T, op: ScalarOp, inputs: &[T::V]) -> Option<Multiple<T::V>> {
    let [a, b] = inputs else { return None };
    let sides = match op {
        MUL => 2,
        DIV => 1,
        _ => return None,
    };
    [(a, b), (b, a)].into_iter().take(sides).find_map(|(of, by)| {
        let number = t.uniform(by).filter(|n| n.is_finite() && *n != 0.0)?;
        // Constant folding combines two numbers.
        let fits = t.uniform(of).is_none() && t.adds_no_extent(of, by);
        fits.then(|| Multiple { of: of.clone(), number, divided: op == DIV })
    })
}

/// Whether a dtype can hold this number: an integer exactly, a float with all its digits.
fn has(dtype: DType, number: f64) -> bool {
    let own = Scalar::from_f64(dtype, number).to_f64();
    if dtype.is_float() {
        own.is_finite() && own != 0.0 && (own - number).abs() <= number.abs() * 0.5f64.powi(digits(dtype))
    } else {
        dtype != DType::Bool && own == number && number.abs() < 2f64.powi(53)
    }
}

fn collect_factors<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(outer) = scalar_op(op).and_then(|op| multiple(t, op, inputs)) else { return Ok(None) };
    let Some((op, args)) = t.elemwise(&outer.of) else { return Ok(None) };
    let Some(inner) = multiple(t, op, &args) else { return Ok(None) };
    let (number, op) = match (inner.divided, outer.divided) {
        (false, false) => (inner.number * outer.number, MUL),
        (true, true) => (inner.number * outer.number, DIV),
        (false, true) => (inner.number / outer.number, MUL),
        (true, false) => (outer.number / inner.number, MUL),
    };
    if !has(t.ty(&inner.of).dtype, number) {
        return Ok(None);
    }
    if number == 1.0 {
        return Ok(Some(inner.of));
    }
    let number = t.number(&inner.of, number)?;
    t.make(op, &[&inner.of, &number]).map(Some)
}

fn reciprocal_reciprocal<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    Ok(t.argument(&inputs[0], RECIPROCAL).filter(|x| t.ty(x).dtype.is_float()))
}

fn reciprocal_quotient<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    match t.elemwise(&inputs[0]) {
        Some((DIV, args)) => t.make(DIV, &[&args[1], &args[0]]).map(Some),
        _ => Ok(None),
    }
}

fn divide_reciprocal<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [x, y] = inputs else { return Ok(None) };
    match t.argument(y, RECIPROCAL) {
        Some(y) => t.make(MUL, &[x, &y]).map(Some),
        None => Ok(None),
    }
}
