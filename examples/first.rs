//! A function and its gradient.

use workalike::prelude::*;

/// Computes the sum of squares of a vector, and its gradient.
pub fn main() -> workalike::Result<()> {
    let x = vector::<f32>("x");
    let y = (&x * &x).sum(..); // an expression: nothing is computed yet
    let dy = grad(&y, [&x])?;
    let f = function([&x]).output(&y).output(&dy[0]).compile()?;
    let out = f.call(args![vec![1.0f32, 2.0, 3.0]])?;
    println!("{:?} {:?}", out[0], out[1]); // float32()[14] float32(3,)[2, 4, 6]
    Ok(())
}
