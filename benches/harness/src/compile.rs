//! Times the work before a first call: building, differentiating, rewriting and lowering a graph. No kernel
//! is compiled or run; `first_result` times that.

use crate::measure::BenchRow;
use crate::workloads::zeros;
use std::sync::Arc;
use std::time::Instant;
use workalike::engine::device::Device;
use workalike::prelude::*;
use workalike_cli_common::report::Result;

/// Units of each layer of a deep network for digits, pixels first, classes last.
const LAYERS: [usize; 5] = [784, 1000, 1000, 1000, 10];
/// Examples in a step, and in the data.
const BATCH: usize = 20;
const EXAMPLES: usize = 200;
/// Repetitions; the median is reported.
const REPEATS: usize = 15;
/// The timed parts, in order.
const PARTS: [&str; 4] = ["build", "grad", "rewrite", "lower"];

/// The data and the first weights of the network.
struct NetworkData {
    data: SharedVariable,
    labels: SharedVariable,
    weights: Vec<(SharedVariable, SharedVariable)>,
}

impl NetworkData {
    fn new() -> Result<NetworkData> {
        let layer = |pair: &[usize]| -> Result<_> {
            Ok((shared("w", zeros(&[pair[0], pair[1]])?), shared("b", zeros(&[pair[1]])?)))
        };
        Ok(NetworkData {
            data: shared("data", zeros(&[EXAMPLES, LAYERS[0]])?),
            labels: shared("labels", Value::zeros(DType::I64, &[EXAMPLES])?),
            weights: LAYERS.windows(2).map(layer).collect::<Result<_>>()?,
        })
    }

    /// Microseconds of each part, for a step of gradient descent on a slice of the data. The network has
    /// sigmoid layers and a softmax.
    fn times(&self, device: &Arc<dyn Device>) -> Result<[f64; 4]> {
        let mut last = Instant::now();
        let mut lap = || {
            let us = last.elapsed().as_secs_f64() * 1e6;
            last = Instant::now();
            us
        };
        let (index, lr) = (scalar::<i64>("index"), scalar::<f32>("lr"));
        let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
        let (mut scores, mut hidden) = (x.clone(), x.clone());
        for (w, b) in &self.weights {
            scores = hidden.dot(w) + b;
            hidden = scores.sigmoid();
        }
        let p = softmax(&scores, -1);
        let cost = categorical_crossentropy(&p, &y).mean(..);
        let wrong = p.argmax(-1).not_equal(&y).mean(..);
        let build = lap();
        let parameters: Vec<&SharedVariable> = self.weights.iter().flat_map(|(w, b)| [w, b]).collect();
        let gradients = grad(&cost, parameters.iter().copied())?;
        let updates = parameters.iter().zip(&gradients).map(|(&p, g)| (p.clone(), p - &lr * g));
        let updates: Vec<_> = updates.collect();
        let grad = lap();
        let batch = BATCH as i64;
        let rows = || [range(&index * batch, (&index + 1i64) * batch)];
        let train = function([In::new(&index), In::new(&lr).default(0.1f32)])
            .output_named("cost", &cost)
            .output_named("errors", wrong)
            .updates(updates)
            .givens([(&x, self.data.index(rows())), (&y, self.labels.index(rows()))])
            .compile()?;
        let rewrite = lap();
        let simulator = train.optimize(device.clone())?;
        lap();
        // A memory report needs the whole Program with its memory plan, and nothing else.
        simulator.memory_report(args![0i64])?;
        Ok([build, grad, rewrite, lap()])
    }
}

/// The name and the row of each part, and of the total.
pub(crate) fn rows(id: &str, device: &Arc<dyn Device>) -> Result<Vec<(String, BenchRow)>> {
    let given = NetworkData::new()?;
    let times = (0..REPEATS).map(|_| given.times(device)).collect::<Result<Vec<_>>>()?;
    let part = |name: &str, of: &dyn Fn(&[f64; 4]) -> f64| {
        let mut us: Vec<f64> = times.iter().map(of).collect();
        us.sort_by(f64::total_cmp);
        let variant = format!("5 layers: {name}");
        let row = BenchRow {
            work: "compile".into(),
            variant: variant.clone(),
            device: id.into(),
            lib: "workalike",
            us: us[us.len() / 2],
            us_min: us[0],
            us_max: us[us.len() - 1],
            bytes: 0.0,
            flops: 0.0,
            launches: 0,
            checksum: 0.0,
        };
        (variant, row)
    };
    let mut rows: Vec<_> = PARTS.iter().enumerate().map(|(at, name)| part(name, &|t| t[at])).collect();
    rows.push(part("in all", &|t| t.iter().sum()));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_the_sum_of_its_parts() {
        let device = Host::threads(1).open().unwrap();
        let times = NetworkData::new().unwrap().times(&device).unwrap();
        assert!(times.iter().all(|&us| us > 0.0), "{times:?}");
        let rows = rows("host", &device).unwrap();
        let of = |name: &str| rows.iter().find(|r| r.0.ends_with(name)).map(|r| r.1.us_min).unwrap();
        let parts: f64 = PARTS.iter().map(|part| of(part)).sum();
        assert!(parts > 0.0 && parts <= 1.001 * of("in all"), "{parts} in {}", of("in all"));
    }
}
