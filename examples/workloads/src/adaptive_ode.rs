//! A differential equation with steps that adapt to the error (Bogacki and Shampine, 1989), by `while_loop`:
//! a planet on a long orbit, fast near its sun and slow far from it.

use crate::Device;
use workalike::Result;
use workalike::loops::While;
use workalike::prelude::*;

/// Of the ellipse.
const ECCENTRICITY: f64 = 0.8;
const TOLERANCE: f64 = 1e-7;

/// Velocity and acceleration of position and velocity.
fn slope(y: &Variable) -> Variable {
    let (x, v) = (y.index(idx![0]), y.index(idx![1]));
    let distance = x.sqr().sum(..).sqrt();
    stack([v, -x / (&distance * &distance * &distance)], 0)
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let (start, end) = (matrix::<f64>("start"), scalar::<f64>("end"));
    let initial = (constant(0.0f64), constant(1e-3f64), &start, slope(&start), constant(0i64));
    let (t, h, y, k1, refused) = initial;
    let goes_on = |state: &Vec<Variable>| state[0].less(&end);
    let step = |state: Vec<Variable>| {
        let [t, h, y, k1, refused] = [0, 1, 2, 3, 4].map(|at| state[at].clone());
        let h = h.minimum(&end - &t);
        let k2 = slope(&(&y + &k1 * (&h * 0.5)));
        let k3 = slope(&(&y + &k2 * (&h * 0.75)));
        let next = &y + (&k1 * (2.0 / 9.0) + &k2 * (1.0 / 3.0) + &k3 * (4.0 / 9.0)) * &h;
        let k4 = slope(&next);
        let terms = &k1 * (-5.0 / 72.0) + &k2 * (1.0 / 12.0) + &k3 * (1.0 / 9.0) - &k4 * 0.125;
        let error = (terms * &h).abs().max(..) + 1e-300;
        let good = error.less_equal(TOLERANCE);
        let factor = ((TOLERANCE / &error).pow(1.0 / 3.0) * 0.9).maximum(0.2).minimum(5.0);
        // A step that is too long is tried again from the same place.
        vec![
            where_(&good, &t + &h, &t),
            &h * factor,
            where_(&good, &next, &y),
            where_(&good, &k4, &k1),
            refused + where_(&good, 0i64, 1i64).cast(DType::I64),
        ]
    };
    let (last, steps) = While::new().named("orbit").run(vec![t, h, y.clone(), k1, refused], goes_on, step);
    let f = function([&start, &end]).output(&last[2]).output(&steps).output(&last[4]).compile()?;
    let mut simulator = f.optimize(device.clone())?;
    // At its nearest the planet is 1 - e from the sun; after a period it is there again.
    let fastest = ((1.0 + ECCENTRICITY) / (1.0 - ECCENTRICITY)).sqrt();
    let there = array![[1.0 - ECCENTRICITY, 0.0], [0.0, fastest]];
    let results = simulator.call(args![&there, std::f64::consts::TAU])?;
    let (steps, refused) = (results[1].item::<i64>()?, results[2].item::<i64>()?);
    let off = results[0].to_f64s().iter().zip(&there).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off < 5e-3, "after a period the planet is off by {off}");
    assert!((200..4000).contains(&steps) && refused > 0, "{steps} steps, {refused} of them refused");
    Ok(format!("{steps} steps of an orbit, {refused} of them refused; off by {off:.1e}"))
}
