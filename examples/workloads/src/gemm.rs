//! Products that accumulate (`check_blas.py` of Theano): `c <- 0.4 c + 0.8 a b`, ten times, with everything
//! on the device.

use crate::{Device, NONE, uniform};
use std::time::Instant;
use workalike::Result;
use workalike::prelude::*;

const STEPS: i32 = 10;
/// Rows that are compared.
const CHECKED: usize = 4;

pub(crate) fn run(device: &Device) -> Result<String> {
    let mut report = String::new();
    for n in [64, 250, 500] {
        let [a, b, c] = [1, 2, 3].map(|seed| uniform(seed, &[n, n], -1.0, 1.0));
        let (first, [a, b, c]) = (c.clone()?.to_f64s(), [shared("a", a?), shared("b", b?), shared("c", c?)]);
        let f = function(NONE).update(&c, 0.4 * &c + 0.8 * a.dot(&b)).compile()?;
        let mut simulator = f.optimize(device.clone().strict())?;
        simulator.run_n(STEPS as u64, args![])?;
        // The result of k steps: c times 0.4^k, and the product times the sum of the lower powers.
        let (kept, added) = (0.4f64.powi(STEPS), 0.8 * (1.0 - 0.4f64.powi(STEPS)) / 0.6);
        let (a, b) = (a.get_value()?.to_f64s(), b.get_value()?.to_f64s());
        let got = simulator.get_value("c")?.to_f64s();
        for row in (0..CHECKED).map(|i| i * (n - 1) / (CHECKED - 1)) {
            for column in 0..n {
                let terms = || (0..n).map(|k| a[row * n + k] * b[k * n + column]);
                let (sum, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
                let at = row * n + column;
                let want = kept * first[at] + added * sum;
                let bound = n as f64 * f64::from(f32::EPSILON) * (size + 1.0);
                assert!((got[at] - want).abs() <= bound, "c[{row}, {column}] is {}, not {want}", got[at]);
            }
        }
        let start = Instant::now();
        simulator.run_n(STEPS as u64, args![])?;
        simulator.synchronize()?;
        let rate = f64::from(STEPS) * 2.0 * (n as f64).powi(3) / start.elapsed().as_secs_f64() / 1e9;
        report += &format!("{n} x {n}: {rate:.1} GFLOP/s\n");
    }
    Ok(report.trim_end().into())
}
