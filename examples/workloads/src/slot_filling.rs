//! Words of sentences get labels, by a recurrent network over windows of words (`rnnslu.py` of Theano's deep
//! learning tutorials; Mesnil et al., 2013). One method trains on a sentence of any length, one keeps the
//! vectors of words at length 1, one labels; all of them share the vectors.

use crate::{Device, biases, weights};
use workalike::Result;
use workalike::loops::scan;
use workalike::prelude::*;

const WORDS: usize = 20;
const VECTOR: usize = 12;
/// Words that an iteration sees: one on each side of its own.
const WINDOW: usize = 3;
const UNITS: usize = 24;
const LABELS: usize = 4;
const SENTENCES: u64 = 240;
const EPOCHS: u64 = 8;

/// A sentence as windows, (words, WINDOW), and the label of each word. A place (words 2 to 8) is where one
/// leaves after the word 0, where one goes after the word 1, and anything before either of them, however far
/// back; other words have no label.
fn sentence(seed: u64) -> Result<(Value, Value)> {
    let length = [5usize, 8, 12][seed as usize % 3];
    let draws = RandomStreams::new(seed).draw_uniform::<f32>(&[length])?.to_f64s();
    let words: Vec<i64> = draws.iter().map(|draw| (draw * WORDS as f64) as i64).collect();
    let mut last = 3i64;
    let mut labels = Vec::with_capacity(length);
    for &word in &words {
        if let 0 | 1 = word {
            last = word + 1;
        }
        labels.push(if (2..9).contains(&word) { last } else { 0 });
    }
    // There is a vector for what is beyond the ends.
    let beyond = WORDS as i64;
    let padded = [vec![beyond], words, vec![beyond]].concat();
    let windows = padded.windows(WINDOW).flatten().copied().collect();
    Ok((Value::from_vec(&[length, WINDOW], windows)?, Value::from(labels)))
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let vectors = shared("vectors", weights(1, WORDS + 1, VECTOR)?);
    let input = shared("input", weights(2, VECTOR * WINDOW, UNITS)?);
    let recurrent = shared("recurrent", weights(3, UNITS, UNITS)?);
    let bias = shared("bias", biases(UNITS));
    let start = shared("start", biases(UNITS));
    let output = shared("output", weights(4, UNITS, LABELS)?);
    let output_bias = shared("output bias", biases(LABELS));

    let (windows, rate) = (tensor::<i64>("windows", [None, Some(WINDOW)]), scalar::<f32>("rate"));
    let labels = vector::<i64>("labels");
    let seen = vectors.take(&windows, 0).reshape([-1, (VECTOR * WINDOW) as isize]);
    let states = scan(&seen, &start, |x, h| (x.dot(&input) + h.dot(&recurrent) + &bias).sigmoid());
    let likely = log_softmax(states.dot(&output) + &output_bias, -1);
    let cost = -likely.take_along_axis(labels.expand_dims(1), 1).mean(..);
    let own = [&vectors, &input, &recurrent, &bias, &start, &output, &output_bias];
    let slopes = grad(&cost, own)?;
    let steps = own.into_iter().zip(&slopes).map(|(p, slope)| (p.clone(), p - &rate * slope));
    let train = function([&windows, &labels, &rate]).output(&cost).updates(steps).compile()?;
    let lengths = vectors.sqr().sum(over(1).keepdims()).sqrt();
    let normalize = function(()).update(&vectors, &vectors / lengths).compile()?;
    let classify = function([&windows]).output(likely.argmax(-1)).compile()?;

    let mut simulator = train.optimize(device.clone().strict())?;
    simulator.add_method("normalize", &normalize)?;
    simulator.add_method("classify", &classify)?;
    let tested = |simulator: &mut Simulator| -> Result<f64> {
        let (mut right, mut all) = (0, 0);
        for seed in 9000..9060 {
            let (windows, labels) = sentence(seed)?;
            let got = simulator.method("classify")?.call(args![windows])?[0].to_vec::<i64>()?;
            let want = labels.to_vec::<i64>()?;
            right += got.iter().zip(&want).filter(|(got, want)| got == want).count();
            all += want.len();
        }
        Ok(f64::from(right as u32) / f64::from(all as u32))
    };
    let before = tested(&mut simulator)?;
    for epoch in 0..EPOCHS {
        for seed in 0..SENTENCES {
            let (windows, labels) = sentence(seed)?;
            simulator.call(args![windows, labels, 0.6 / (1.0 + epoch as f32 * 0.2)])?;
            simulator.method("normalize")?.call(args![])?;
        }
    }
    let after = tested(&mut simulator)?;
    simulator.sync_to_parent()?;
    let vectors = vectors.get_value()?.to_vec::<f32>()?;
    for vector in vectors.chunks(VECTOR) {
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        assert!((length - 1.0).abs() < 1e-5, "a vector of length {length}");
    }
    let report = format!(
        "{:.0} % of the words of new sentences are labelled well, {:.0} % before training",
        100.0 * after,
        100.0 * before
    );
    assert!(after > 0.9, "{report}");
    Ok(report)
}
