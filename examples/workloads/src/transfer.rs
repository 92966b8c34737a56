//! Times copies to the device and back, of one to ten million numbers.

use crate::Device;
use std::time::Instant;
use workalike::Result;
use workalike::prelude::*;

/// Repetitions; the fastest is reported.
const TIMES: usize = 5;

pub(crate) fn run(device: &Device) -> Result<String> {
    let x = vector::<f32>("x");
    let simulator = function([&x]).output(&x + 1.0).compile()?.optimize(device.clone())?;
    let mut report = String::from("    floats       to device          back\n");
    for length in (0..=7).map(|power| 10usize.pow(power)) {
        let value = Value::from((0..length).map(|i| i as f32).collect::<Vec<f32>>());
        let (mut there, mut back) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..TIMES {
            let start = Instant::now();
            let array = simulator.upload(&value)?;
            simulator.synchronize()?;
            let up = start.elapsed();
            let start = Instant::now();
            let returned = array.to_value()?;
            (there, back) = (there.min(up.as_secs_f64()), back.min(start.elapsed().as_secs_f64()));
            assert!(returned == value, "{length} floats came back as others");
        }
        report += &format!("{length:>10} {:>12.0} ns {:>10.0} ns\n", there * 1e9, back * 1e9);
    }
    Ok(report.trim_end().into())
}
