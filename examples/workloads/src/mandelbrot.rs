//! The Mandelbrot set with an early exit: a loop that ends when the last point has escaped, or after a limit.

use crate::Device;
use workalike::Result;
use workalike::loops::While;
use workalike::prelude::*;

const WIDTH: usize = 120;
const HEIGHT: usize = 80;
const LIMIT: i64 = 200;

/// The number of iterations after which a point is known to escape.
fn escapes(re: f64, im: f64) -> i64 {
    let (mut x, mut y) = (0.0, 0.0);
    for count in 0..LIMIT {
        if x * x + y * y > 4.0 {
            return count;
        }
        (x, y) = (x * x - y * y + re, 2.0 * x * y + im);
    }
    LIMIT
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let (re, im) = (vector::<f64>("re"), vector::<f64>("im"));
    let grid = [HEIGHT, WIDTH];
    let (a, b) = (re.broadcast_to(grid), im.expand_dims(1).broadcast_to(grid));
    let inside = |z: &[Variable]| (z[0].sqr() + z[1].sqr()).less_equal(4.0);
    let zeros = zeros_like(&a);
    let start = vec![zeros.clone(), zeros, zeros_like(a.cast(DType::I64)), constant(0i64)];
    let goes_on = |z: &Vec<Variable>| inside(z).any(..).bitwise_and(z[3].less(LIMIT));
    let (last, _) = While::new().named("mandelbrot").run(start, goes_on, |z| {
        let stays = inside(&z);
        let (x, y) = (z[0].sqr() - z[1].sqr() + &a, &z[0] * &z[1] * 2.0 + &b);
        // Points that have escaped stay where they are.
        let moved = [where_(&stays, x, &z[0]), where_(&stays, y, &z[1])];
        [moved.to_vec(), vec![&z[2] + stays.cast(DType::I64), &z[3] + 1i64]].concat()
    });
    let f = function([&re, &im]).output(&last[2]).output(&last[3]).compile()?;
    let mut simulator = f.optimize(device.clone())?;
    let axis = |count: usize, from: f64, to: f64| -> Vec<f64> {
        (0..count).map(|at| from + (to - from) * at as f64 / (count - 1) as f64).collect()
    };
    let mut image = |re: [f64; 2], im: [f64; 2]| -> Result<(i64, usize)> {
        let (re, im) = (axis(WIDTH, re[0], re[1]), axis(HEIGHT, im[0], im[1]));
        let outputs = simulator.call(args![re.clone(), im.clone()])?;
        let counts = outputs[0].to_vec::<i64>()?;
        let points = im.iter().flat_map(|im| re.iter().map(move |re| escapes(*re, *im)));
        // Where an orbit is chaotic, roundings in another order decide.
        let other = counts.iter().zip(points).filter(|(a, b)| **a != *b).count();
        assert!(other * 100 < counts.len(), "{other} points of {} escape at other iterations", counts.len());
        Ok((outputs[1].item::<i64>()?, counts.iter().filter(|count| **count == LIMIT).count()))
    };
    let (iterations, inside) = image([-2.0, 0.7], [-1.2, 1.2])?;
    assert_eq!(iterations, LIMIT);
    let (few, none) = image([0.6, 2.0], [-1.2, 1.2])?;
    assert!(few < 30 && none == 0, "{none} points stay for {few} iterations");
    Ok(format!(
        "{inside} points of {} stay for {LIMIT} iterations; elsewhere the last escapes after {few}",
        WIDTH * HEIGHT
    ))
}
