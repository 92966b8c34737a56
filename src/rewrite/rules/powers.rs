//! Powers to a known number, and integers divided by a known power of two.

use super::super::terms::Terms;
use super::Root::Elementwise;
use super::{Found, rules, scalar_op};
use crate::error::Result;
use crate::op::Op;
use workalike_kernels::ops::*;

rules! {
    power_number on Elementwise(&[POW]) =>
        "x to the power 0, 1, 2, 3 or 4, of floats -1, -2, 1/2 or -1/2 too, is products and roots";
    by_power_of_two on Elementwise(&[FLOOR_DIVIDE, REMAINDER]) =>
        "x // 2^k is x >> k, and x % 2^k is x & (2^k - 1), of integers";
}

fn power_number<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [x, power] = inputs else { return Ok(None) };
    let Some(number) = t.uniform(power).filter(|_| t.adds_no_extent(x, power)) else { return Ok(None) };
    let float = t.ty(x).dtype.is_float();
    let square = |t: &mut T| t.make(SQR, &[x]);
    let result = match number {
        0.0 => t.number_like(x, 1.0)?,
        1.0 => x.clone(),
        2.0 => square(t)?,
        3.0 => {
            let square = square(t)?;
            t.make(MUL, &[&square, x])?
        }
        4.0 => {
            let square = square(t)?;
            t.make(SQR, &[&square])?
        }
        -1.0 if float => t.make(RECIPROCAL, &[x])?,
        // The square of x may overflow where the square of its reciprocal does not.
        -2.0 if float => {
            let inverse = t.make(RECIPROCAL, &[x])?;
            t.make(SQR, &[&inverse])?
        }
        0.5 if float => root(t, x)?,
        -0.5 if float => {
            let root = root(t, x)?;
            t.make(RECIPROCAL, &[&root])?
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

fn by_power_of_two<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [x, divisor] = inputs else { return Ok(None) };
    let [dtype, other] = [x, divisor].map(|v| t.ty(v).dtype);
    let known = t.uniform(divisor).filter(|_| t.adds_no_extent(x, divisor));
    // Larger integers may have been rounded. A float64 is a power of two if only its exponent has bits.
    let is_power = |n: &f64| (1.0..2f64.powi(53)).contains(n) && n.to_bits() << 12 == 0;
    let Some(power) = known.filter(is_power) else { return Ok(None) };
    if !dtype.is_integer() || dtype.promote(other) != dtype {
        return Ok(None);
    }
    let (op, by) = match scalar_op(op) {
        Some(FLOOR_DIVIDE) => (RIGHT_SHIFT, power.log2()),
        Some(REMAINDER) => (BITWISE_AND, power - 1.0),
        _ => return Ok(None),
    };
    let by = t.number(x, by)?;
    t.make(op, &[x, &by]).map(Some)
}

/// `x` to the power 1/2: its root, but 0 of a negative zero and infinity of minus infinity.
fn root<T: Terms>(t: &mut T, x: &T::V) -> Result<T::V> {
    let (zero, infinite) = (t.number(x, 0.0)?, t.number(x, f64::INFINITY)?);
    let least = t.number(x, f64::NEG_INFINITY)?;
    let root = t.make(SQRT, &[x])?;
    let root = t.make(ADD, &[&root, &zero])?;
    let at_least = t.make(EQ, &[x, &least])?;
    t.make(WHERE, &[&at_least, &infinite, &root])
}
