//! Draws against cumulative probabilities of SciPy: `golden/distributions.txt`, by `golden/distributions.py`.

use super::family;
use crate::stage::{Scenario, Stage, ensure, equal};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    family(
        "distributions",
        &[
            ("floats", |stage| draws(stage, &["uniform", "normal", "exponential", "standard_t"])),
            ("gammas", |stage| draws(stage, &["gamma", "beta", "dirichlet"])),
            ("integers", |stage| draws(stage, &["integers", "bernoulli", "categorical"])),
            ("counts", |stage| draws(stage, &["poisson", "binomial"])),
            ("multinomial", |stage| draws(stage, &["multinomial"])),
        ],
    )
}

const NONE: [&Variable; 0] = [];
const MANY: usize = 20_000;

/// A draw, and the probabilities of what is not above certain numbers.
struct Row {
    name: &'static str,
    parameters: Vec<f64>,
    points: Vec<(f64, f64)>,
}

fn rows() -> impl Iterator<Item = Row> {
    let numbers = |text: &'static str| text.split_whitespace().filter_map(|x| x.parse().ok());
    include_str!("../../golden/distributions.txt").lines().skip(1).filter_map(move |line| {
        let (draw, points) = line.split_once(':')?;
        let flat: Vec<f64> = numbers(points).collect();
        let points = flat.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        Some(Row { name: draw.split(' ').next()?, parameters: numbers(draw).collect(), points })
    })
}

/// Many draws of a row, as a vector.
fn draw(streams: &RandomStreams, row: &Row) -> Variable {
    let p = &row.parameters;
    let weights = || full([MANY, 1], 1f64) * constant(p.clone());
    match row.name {
        "uniform" => streams.uniform::<f32>([MANY]),
        "normal" => streams.normal::<f32>([MANY]),
        "exponential" => streams.exponential::<f32>(p[0], [MANY]),
        "standard_t" => streams.standard_t::<f32>(constant(p[0]), [MANY]),
        "gamma" => streams.gamma::<f32>(p[0], p[1], [MANY]),
        "beta" => streams.beta::<f64>(p[0], constant(p[1]), [MANY]),
        "dirichlet" => streams.dirichlet::<f64>(weights()).index(workalike::idx![.., 0]),
        "integers" => streams.integers(p[0] as i64, p[1] as i64, [MANY]),
        "bernoulli" => streams.bernoulli(p[0], [MANY]),
        "categorical" => streams.categorical(weights()),
        "poisson" => streams.poisson(constant(p[0]), [MANY]),
        "binomial" => streams.binomial(p[0] as i64, p[1], [MANY]),
        _ => streams.multinomial(30, weights()).index(workalike::idx![.., 0]),
    }
}

/// Draws all rows of these names; the counts and integers are equal to those of the reference.
fn draws(stage: &Stage, names: &[&str]) -> Result<()> {
    for name in names {
        let rows: Vec<Row> = rows().filter(|row| row.name == *name).collect();
        let streams = RandomStreams::new(2026);
        let f = function(NONE).outputs(rows.iter().map(|row| draw(&streams, row))).compile()?;
        let reference = f.fork()?;
        let (got, want) = (stage.simulator(&stage.function(&f)?)?.call(args![])?, reference.call(args![])?);
        ensure(!rows.is_empty(), || format!("no row of {name}"))?;
        for (i, row) in rows.iter().enumerate() {
            let what = format!("{name} {:?}", row.parameters);
            if !got[i].dtype().is_float() {
                equal(&what, &got[i], &want[i])?;
            }
            follows(&what, &got[i].to_f64s(), &row.points)?;
        }
    }
    Ok(())
}

/// The largest difference to the probabilities is within what one sample of a million exceeds
/// (Dvoretzky, Kiefer and Wolfowitz: `2 exp(-2 n d^2)`).
fn follows(what: &str, sample: &[f64], points: &[(f64, f64)]) -> Result<()> {
    let limit = ((2e6f64).ln() / (2.0 * sample.len() as f64)).sqrt();
    for &(x, probability) in points {
        let share = sample.iter().filter(|s| **s <= x).count() as f64 / sample.len() as f64;
        ensure((share - probability).abs() <= limit, || {
            format!(
                "{what}: {share} of the draws are not above {x}, of which the probability is {probability}"
            )
        })?;
    }
    let outside = points.first().is_none_or(|first| first.0.is_nan()) || sample.iter().any(|s| s.is_nan());
    ensure(!outside, || format!("{what}: NaN"))
}
