//! Prices of European options by Black and Scholes, and their sensitivities (the Greeks) by gradients.

use crate::{Device, uniform};
use workalike::Result;
use workalike::prelude::*;

const OPTIONS: usize = 10_000;

/// The cumulative distribution function of the standard normal distribution.
fn below(x: &Variable) -> Variable {
    0.5 * (-x * std::f64::consts::FRAC_1_SQRT_2).erfc()
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let [spot, strike, years, rate, volatility] =
        ["spot", "strike", "years", "rate", "volatility"].map(vector::<f32>);
    let spread = &volatility * years.sqrt();
    let d1 = ((&spot / &strike).log() + (&rate + volatility.sqr() / 2.0) * &years) / &spread;
    let d2 = &d1 - &spread;
    let discounted = &strike * (-&rate * &years).exp();
    let call = &spot * below(&d1) - &discounted * below(&d2);
    let put = &discounted * below(&-&d2) - &spot * below(&-&d1);
    let greeks = grad(call.sum(..), [&spot, &volatility])?;
    let f = function([&spot, &strike, &years, &rate, &volatility])
        .output_named("call", &call)
        .output_named("put", &put)
        .output_named("parity", &call - &put - (&spot - &discounted))
        .output_named("delta", &greeks[0])
        .output_named("delta, written out", below(&d1))
        .output_named("vega", &greeks[1])
        .compile()?;
    let mut simulator = f.optimize(device.clone().strict())?;

    // Textbook options: a common one, and one of Hull.
    let known = simulator.call(args![
        vec![100f32, 42.0],
        vec![100f32, 40.0],
        vec![1f32, 0.5],
        vec![0.05f32, 0.1],
        vec![0.2f32, 0.2]
    ])?;
    for (output, want) in [
        ("call", [10.450_583_572, 4.759_422_393]),
        ("put", [5.573_526_022, 0.808_599_373]),
        ("delta", [0.636_830_651, 0.779_131_291]),
        ("vega", [37.524_034_692, 8.813_415_059]),
    ] {
        let got = known[output].to_f64s();
        let near = |(g, w): (&f64, &f64)| (g - w).abs() < 1e-4 * (1.0 + w);
        assert!(got.len() == 2 && got.iter().zip(&want).all(near), "{output}: {got:?}, not {want:?}");
    }

    let drawn = |seed, low, high| uniform(seed, &[OPTIONS], low, high);
    let many = simulator.call(args![
        drawn(1, 5.0, 30.0)?,
        drawn(2, 1.0, 100.0)?,
        drawn(3, 0.25, 10.0)?,
        drawn(4, 0.01, 0.05)?,
        drawn(5, 0.1, 0.5)?
    ])?;
    let most = |output: &str| many[output].to_f64s().into_iter().map(f64::abs).fold(0.0, f64::max);
    assert!(most("parity") < 1e-4, "calls and puts are apart by {}", most("parity"));
    let [delta, written] = ["delta", "delta, written out"].map(|output| many[output].to_f64s());
    let apart = delta.iter().zip(&written).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart < 1e-4, "the gradient and the formula for delta are apart by {apart}");
    Ok(format!("{OPTIONS} options: parity holds to {:.1e}, gradients to {apart:.1e}", most("parity")))
}
