//! Two classifiers of 8x8 digits: a softmax classifier, and a network with a hidden layer.

use super::NO_INPUTS;
use workalike::prelude::*;
use workalike_cli_common::report::Result;

/// Pixels of an image.
pub(crate) const PIXELS: usize = 64;
/// Number of classes.
pub(crate) const CLASSES: usize = 10;
/// Units of the network's hidden layer.
const HIDDEN: usize = 128;
/// The default learning rate.
const RATE: f32 = 0.5;

/// Methods `train` and `predict` of the network, `softmax_train` and `softmax_predict` of the classifier.
///
/// `train` takes images `x` (n, 64) in 0 to 1, labels `y` (n) and a learning rate `lr`. It returns the cost
/// and makes one step of gradient descent. `predict` returns the most likely `label` of each image.
pub(crate) fn digits() -> Result<Bundle> {
    let x = tensor::<f32>("x", [None, Some(PIXELS)]);
    let streams = RandomStreams::new(1998);

    let w1 = shared("w1", glorot(&streams, PIXELS, HIDDEN)?);
    let b1 = shared("b1", Array1::<f32>::zeros(HIDDEN));
    let w2 = shared("w2", glorot(&streams, HIDDEN, CLASSES)?);
    let b2 = shared("b2", Array1::<f32>::zeros(CLASSES));
    let hidden = (x.dot(&w1) + &b1).tanh();
    let network = methods(&x, &(hidden.dot(&w2) + &b2), &[w1, b1, w2, b2])?;

    let w = shared("w", Array2::<f32>::zeros((PIXELS, CLASSES)));
    let b = shared("b", Array1::<f32>::zeros(CLASSES));
    let softmax = methods(&x, &(x.dot(&w) + &b), &[w, b])?;

    Ok(Bundle::new()
        .with("train", &network.0)
        .with("predict", &network.1)
        .with("softmax_train", &softmax.0)
        .with("softmax_predict", &softmax.1))
}

/// Training and prediction of a classifier whose scores are `scores` (n, classes).
fn methods(x: &Variable, scores: &Variable, weights: &[SharedVariable]) -> Result<(Function, Function)> {
    let y = vector::<i64>("y");
    let lr = scalar::<f32>("lr");
    let p = softmax(scores, -1);
    let cost = categorical_crossentropy(&p, &y).mean(..);
    let gradients = grad(&cost, weights)?;
    let updates = weights.iter().zip(&gradients).map(|(w, g)| (w.clone(), w - &lr * g));
    let train = function([In::new(x), In::new(&y), In::new(&lr).default(RATE)]).output_named("cost", &cost);
    let predict = function([x]).output_named("label", p.argmax(-1));
    Ok((train.updates(updates).compile()?, predict.compile()?))
}

/// Initial weights of a layer (Glorot and Bengio, 2010): uniform, with a variance that preserves the size of
/// signals through a tanh layer.
fn glorot(streams: &RandomStreams, inputs: usize, outputs: usize) -> Result<Value> {
    let bound = (6.0 / (inputs + outputs) as f64).sqrt();
    let draw = (streams.uniform::<f32>([inputs, outputs]) - 0.5) * (2.0 * bound);
    Ok(function(NO_INPUTS).output(draw).compile()?.call(args![])?[0].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calls_make_the_same_weights() {
        let weights = || digits().unwrap()["train"].shared("w1").unwrap().get_value().unwrap();
        let w1 = weights();
        assert_eq!(w1, weights());
        let bound = (6.0 / (PIXELS + HIDDEN) as f64).sqrt();
        let all = w1.to_f64s();
        assert!(all.iter().all(|w| w.abs() <= bound));
        assert!((all.iter().sum::<f64>() / all.len() as f64).abs() < 0.05 * bound);
    }
}
