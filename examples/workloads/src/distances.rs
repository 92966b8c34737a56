//! All distances between two sets of points, by broadcasting and by a matrix product.

use crate::{Device, uniform};
use workalike::Result;
use workalike::prelude::*;

const POINTS: usize = 120;
const OTHERS: usize = 75;
const AXES: usize = 7;

pub(crate) fn run(device: &Device) -> Result<String> {
    let (x, y) = (matrix::<f32>("x"), matrix::<f32>("y"));
    let direct = (x.expand_dims(1) - y.expand_dims(0)).sqr().sum(-1).sqrt();
    let squares = x.sqr().sum(1).expand_dims(1) + y.sqr().sum(1).expand_dims(0) - 2.0 * x.dot(y.t());
    let f = function([&x, &y])
        .output_named("direct", &direct)
        .output_named("by a product", squares.maximum(0.0).sqrt())
        .output_named("nearest", direct.argmin(1))
        .compile()?;
    let mut simulator = f.optimize(device.clone().strict())?;
    let (a, b) = (uniform(1, &[POINTS, AXES], -1.0, 1.0)?, uniform(2, &[OTHERS, AXES], -1.0, 1.0)?);
    let got = simulator.call(args![&a, &b])?;
    let (a, b) = (a.to_f64s(), b.to_f64s());
    let (direct, product) = (got[0].to_f64s(), got[1].to_f64s());
    let nearest = got[2].to_vec::<i64>()?;
    let mut worst = [0f64; 2];
    for i in 0..POINTS {
        let distance = |j: usize| {
            let squares = (0..AXES).map(|k| (a[i * AXES + k] - b[j * AXES + k]).powi(2));
            squares.sum::<f64>().sqrt()
        };
        for j in 0..OTHERS {
            let (at, want) = (i * OTHERS + j, distance(j));
            worst = [worst[0].max((direct[at] - want).abs()), worst[1].max((product[at] - want).abs())];
        }
        let best = (0..OTHERS).map(distance).fold(f64::INFINITY, f64::min);
        assert!(distance(nearest[i] as usize) < best + 1e-6, "the nearest to {i} is not {}", nearest[i]);
    }
    // The product subtracts large numbers: small distances lose half their digits.
    assert!(worst[0] < 2e-6 && worst[1] < 2e-3, "wrong by {worst:?}");
    Ok(format!("{POINTS} x {OTHERS} distances: direct to {:.1e}, by a product to {:.1e}", worst[0], worst[1]))
}
