//! A long short-term memory that judges sentences of different lengths (`lstm.py` of Theano's deep learning
//! tutorials): words are looked up, steps behind a sentence's end are masked, some features are dropped out.
//! One method computes gradients and keeps them on the device; another applies them (Adadelta, Zeiler, 2012).

use crate::{Device, biases, weights};
use workalike::Result;
use workalike::loops::scan;
use workalike::prelude::*;

const WORDS: usize = 40;
const UNITS: usize = 24;
const BATCH: usize = 32;
const TIME: usize = 16;
const BATCHES: usize = 120;

/// Sentences (TIME, BATCH), which of their words there are, and what they say: whether of the words for and
/// against the last one is for. A word that negates turns the next one round.
fn sentences(seed: u64) -> Result<(Value, Value, Value)> {
    let streams = RandomStreams::new(seed);
    let draws = streams.draw_uniform::<f32>(&[TIME + 1, BATCH])?.to_f64s();
    let (mut words, mut mask, mut says) =
        (vec![0i64; TIME * BATCH], vec![0f32; TIME * BATCH], vec![0i64; BATCH]);
    for sentence in 0..BATCH {
        let length = 4 + (draws[TIME * BATCH + sentence] * (TIME - 4) as f64) as usize;
        let mut turned = false;
        for time in 0..length {
            let at = time * BATCH + sentence;
            let word = (draws[at] * WORDS as f64) as i64;
            (words[at], mask[at]) = (word, 1.0);
            match word {
                0..8 => says[sentence] = i64::from(!turned),
                8..16 => says[sentence] = i64::from(turned),
                _ => {}
            }
            turned = (16..20).contains(&word);
        }
    }
    let shape = [TIME, BATCH];
    Ok((Value::from_vec(&shape, words)?, Value::from_vec(&shape, mask)?, Value::from(says)))
}

struct Model {
    embedding: SharedVariable,
    input: SharedVariable,
    recurrent: SharedVariable,
    bias: SharedVariable,
    output: SharedVariable,
    output_bias: SharedVariable,
}

impl Model {
    fn new() -> Result<Model> {
        Ok(Model {
            embedding: shared("embedding", weights(1, WORDS, UNITS)?),
            input: shared("input", weights(2, UNITS, 4 * UNITS)?),
            recurrent: shared("recurrent", weights(3, UNITS, 4 * UNITS)?),
            bias: shared("bias", biases(4 * UNITS)),
            output: shared("output", weights(4, UNITS, 2)?),
            output_bias: shared("output bias", biases(2)),
        })
    }

    fn parameters(&self) -> [&SharedVariable; 6] {
        [&self.embedding, &self.input, &self.recurrent, &self.bias, &self.output, &self.output_bias]
    }

    /// Logarithms of what sentences say, (BATCH, 2). With `noise` 1, half of the features are dropped.
    fn judged(&self, words: &Variable, mask: &Variable, noise: &Variable) -> Variable {
        let start = constant(Array2::<f32>::zeros((BATCH, UNITS)));
        let [states, _] = scan((words, mask), [&start, &start], |(word, here), [h, c]| {
            let all = self.embedding.take(&word, 0).dot(&self.input) + h.dot(&self.recurrent) + &self.bias;
            let gate = |at: usize| all.index(idx![.., range(at * UNITS, (at + 1) * UNITS)]);
            let next = gate(0).sigmoid() * &c + gate(1).sigmoid() * gate(2).tanh();
            let state = gate(3).sigmoid() * next.tanh();
            let here = here.expand_dims(1);
            // Behind its end a sentence keeps its state.
            [&here * state + (1.0 - &here) * h, &here * next + (1.0 - &here) * c]
        });
        let last = states.index(idx![-1]);
        let kept = RandomStreams::new(5).uniform::<f32>([BATCH, UNITS]).less(0.5).cast(DType::F32);
        let dropped = where_(noise.greater(0.5), &last * kept, &last * 0.5);
        log_softmax(dropped.dot(&self.output) + &self.output_bias, -1)
    }
}

/// Zeros of the shapes of parameters.
fn zeros_for(what: &str, parameters: [&SharedVariable; 6]) -> Result<Vec<SharedVariable>> {
    let zeros = |p: &SharedVariable| {
        let value = p.get_value()?;
        let name = format!("{what} {}", p.name().unwrap_or_default());
        Ok(shared(&name, Value::zeros(value.dtype(), value.shape())?))
    };
    parameters.into_iter().map(zeros).collect()
}

/// Moves parameters along gradients that are kept.
fn adadelta(parameters: [&SharedVariable; 6], gradients: &[SharedVariable]) -> Result<Function> {
    let (squares, steps) = (zeros_for("squares of", parameters)?, zeros_for("steps of", parameters)?);
    let mut updates = Vec::new();
    for (((p, g), square), step) in parameters.into_iter().zip(gradients).zip(&squares).zip(&steps) {
        let new_square = square * 0.95 + g.sqr() * 0.05;
        let change = g * ((step + 1e-4).sqrt() / (&new_square + 1e-4).sqrt());
        updates.push((p.clone(), p - &change));
        updates.push((step.clone(), step * 0.95 + change.sqr() * 0.05));
        updates.push((square.clone(), new_square));
    }
    function(()).updates(updates).compile()
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let model = Model::new()?;
    let (words, mask) =
        (tensor::<i64>("words", [Some(TIME), Some(BATCH)]), tensor::<f32>("mask", [Some(TIME), Some(BATCH)]));
    let (says, noise) = (tensor::<i64>("says", [Some(BATCH)]), scalar::<f32>("noise"));
    let judged = model.judged(&words, &mask, &noise);
    let cost = -judged.take_along_axis(says.expand_dims(1), 1).mean(..);
    let own = model.parameters();
    let kept = zeros_for("gradient of", own)?;
    let gradients = kept.iter().cloned().zip(clip_norm(grad(&cost, own)?, 1.0)?);
    let inputs = [&words, &mask, &says, &noise];
    let gradient = function(inputs).output_named("cost", &cost).updates(gradients).compile()?;
    let update = adadelta(own, &kept)?;
    let right = judged.argmax(-1).equal(&says).mean(..);
    let test = function(inputs).output(right).compile()?;
    let mut simulator = gradient.optimize(device.clone().strict())?;
    simulator.add_method("update", &update)?;
    simulator.add_method("test", &test)?;
    let tested = |simulator: &mut Simulator| -> Result<f64> {
        let mut sum = 0.0;
        for seed in 9000..9010 {
            let (words, mask, says) = sentences(seed)?;
            sum += simulator.method("test")?.call(args![words, mask, says, 0f32])?[0].item::<f64>()?;
        }
        Ok(sum / 10.0)
    };
    let before = tested(&mut simulator)?;
    for epoch in 0..6 {
        for batch in 0..BATCHES {
            let (words, mask, says) = sentences(100 + batch as u64)?;
            let noise = if epoch < 4 { 1f32 } else { 0f32 };
            simulator.call(args![words, mask, says, noise])?;
            simulator.method("update")?.call(args![])?;
        }
    }
    let after = tested(&mut simulator)?;
    assert!(
        after > 0.85,
        "{:.0} % of the sentences are understood, {:.0} % before",
        100.0 * after,
        100.0 * before
    );
    Ok(format!(
        "{:.0} % of new sentences are understood, {:.0} % before training",
        100.0 * after,
        100.0 * before
    ))
}
