//! The network that groups of GPUs train: dense layers with tanh, and a softmax.

use workalike::Result;
use workalike::prelude::*;

/// The inputs, hidden units by layer, and classes of a network of 50 million parameters.
pub(crate) const MILLIONS: [usize; 5] = [784, 4800, 4800, 4800, 10];

/// Weights of a layer of so many inputs and units.
pub(crate) fn weights(inputs: usize, units: usize) -> Vec<f32> {
    let scale = 1.0 / (inputs as f32).sqrt();
    (0..inputs * units).map(|at| ((at * 7919 % 1009) as f32 / 504.5 - 1.0) * scale).collect()
}

/// A step of training by gradient descent, of layers of so many units, with these initial weights.
pub(crate) fn step(layers: &[usize], weights: impl Fn(usize, usize) -> Vec<f32>) -> Result<Function> {
    let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
    let mut parameters = Vec::new();
    let mut hidden = x.clone();
    for (at, pair) in layers.windows(2).enumerate() {
        let w = shared(&format!("w{at}"), Value::from_vec(&[pair[0], pair[1]], weights(pair[0], pair[1]))?);
        let b = shared(&format!("b{at}"), vec![0f32; pair[1]]);
        hidden = hidden.dot(&w) + &b;
        if at + 2 < layers.len() {
            hidden = hidden.tanh();
        }
        parameters.extend([w, b]);
    }
    let cost = categorical_crossentropy(softmax(&hidden, 1), &y).mean(..);
    let gradients = grad(&cost, &parameters)?;
    function([&x, &y]).output(&cost).updates(sgd(&parameters, gradients, 0.01)?).compile()
}

/// Inputs and classes of so many rows.
pub(crate) fn batch(layers: &[usize], rows: usize) -> Result<[Value; 2]> {
    let inputs = layers[0];
    let x = (0..rows * inputs).map(|i| (i % 251) as f32 / 251.0).collect::<Vec<f32>>();
    let y = (0..rows).map(|i| (i % 10) as i64).collect::<Vec<i64>>();
    Ok([Value::from_vec(&[rows, inputs], x)?, Value::from_vec(&[rows], y)?])
}
