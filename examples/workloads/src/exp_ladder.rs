//! `exp` of a long vector on the device (the GPU test of Theano's tutorial), with four places for the result.

use crate::{Device, NONE, uniform};
use std::time::Instant;
use workalike::Result;
use workalike::prelude::*;

/// Elements, as in Theano's tutorial: 10 times 30 cores times 768 threads.
const LENGTH: usize = 10 * 30 * 768;
/// Calls per variant; the original's 1000 take too long in a debug build.
const CALLS: u32 = 50;

pub(crate) fn run(device: &Device) -> Result<String> {
    let start = uniform(22, &[LENGTH], 0.0, 1.0)?;
    let x = shared("x", &start);
    let f = function(NONE).output_named("y", x.exp()).compile()?;
    let mut simulator = f.optimize(device.clone().strict())?;

    let want: Vec<f64> = start.to_f64s().into_iter().map(f64::exp).collect();
    let check = |rung: &str, got: &Value| {
        let wrong = got.to_f64s().iter().zip(&want).position(|(g, w)| (g - w).abs() > 1e-6 * w);
        assert!(wrong.is_none(), "{rung}: wrong at {wrong:?}");
    };
    check("the Function itself", &f.call(args![])?[0]);
    check("results to the host", &simulator.call(args![])?[0]);
    check("results stay on the device", &simulator.call_device(args![])?[0].to_value()?);
    check("results are lent", &simulator.call_borrowed(args![])?.to_value(0)?);

    let mut report = String::new();
    let mut time = |rung: &str, call: &mut dyn FnMut() -> Result<()>| -> Result<()> {
        let start = Instant::now();
        (0..CALLS).try_for_each(|_| call())?;
        let us = start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS);
        report += &format!("{rung:<28} {us:>8.1} us a call\n");
        Ok(())
    };
    time("the Function itself", &mut || f.call(args![]).map(drop))?;
    time("results to the host", &mut || simulator.call(args![]).map(drop))?;
    time("results stay on the device", &mut || {
        simulator.call_device(args![])?;
        simulator.synchronize()
    })?;
    time("results are lent", &mut || {
        simulator.call_borrowed(args![])?;
        simulator.synchronize()
    })?;
    Ok(report.trim_end().into())
}
