//! A restricted Boltzmann machine (`rbm.py` of Theano's deep learning tutorials), by persistent contrastive
//! divergence: the Gibbs chain of each step is a scan, which goes on where the last step's ended.

use crate::digits::{PIXELS, load};
use crate::{Device, biases, weights};
use workalike::loops::Scan;
use workalike::ops::consider_constant;
use workalike::prelude::*;
use workalike::{Result, idx};

const HIDDEN: usize = 64;
const BATCH: usize = 20;
const BATCHES: i64 = 85;
/// Gibbs steps of an update.
const STEPS: i64 = 15;
const RATE: f32 = 0.05;

struct Rbm {
    w: SharedVariable,
    hidden: SharedVariable,
    visible: SharedVariable,
    streams: RandomStreams,
}

impl Rbm {
    fn hidden_given(&self, v: &Variable) -> Variable {
        (v.dot(&self.w) + &self.hidden).sigmoid()
    }

    fn visible_given(&self, h: &Variable) -> Variable {
        (h.dot(self.w.t()) + &self.visible).sigmoid()
    }

    /// 1 with these probabilities, else 0.
    fn draw(&self, p: &Variable, size: usize) -> Variable {
        self.streams.uniform::<f32>([BATCH, size]).less(p).cast(DType::F32)
    }

    fn free_energy(&self, v: &Variable) -> Variable {
        -v.dot(&self.visible) - (v.dot(&self.w) + &self.hidden).softplus().sum(over(1))
    }

    /// The end of a chain from these hidden units: visible units' probabilities and draws, and hidden units.
    fn chain(&self, h: &Variable) -> [Variable; 3] {
        let chain = Scan::new().named("gibbs").steps(STEPS).recurrent(h).run(|v| {
            let p = self.visible_given(&v[0]);
            let visible = self.draw(&p, PIXELS);
            vec![self.draw(&self.hidden_given(&visible), HIDDEN), p, visible]
        });
        let last = |x: Variable| x.index(idx![-1]);
        [last(chain.result(0)), last(chain.result(1)), chain.last_of(0)]
    }

    /// One update on a batch. Its output is the pseudo-likelihood, from one pixel that moves on.
    fn train(&self, data: &SharedVariable) -> Result<Function> {
        let index = scalar::<i64>("index");
        let x = data.index(idx![range(&index * BATCH as i64, (&index + 1i64) * BATCH as i64)]);
        let persistent = shared("chain", Value::zeros(DType::F32, &[BATCH, HIDDEN])?);
        let [probabilities, end, h] = self.chain(&persistent);
        let cost = self.free_energy(&x).mean(..) - self.free_energy(&consider_constant(end)).mean(..);
        let own = [&self.w, &self.hidden, &self.visible];
        let pixel = shared("pixel", 0i64);
        let binary = x.round();
        let flipped = binary.set_index(idx![.., &pixel], 1.0 - binary.index(idx![.., &pixel]));
        let odds = self.free_energy(&flipped) - self.free_energy(&binary);
        function([&index])
            .output_named("pseudo-likelihood", (odds.sigmoid().log() * PIXELS as f32).mean(..))
            .output_named("chain", probabilities)
            .updates(sgd(own, grad(&cost, own)?, RATE)?)
            .update(&persistent, h)
            .update(&pixel, (&pixel + 1i64) % PIXELS as i64)
            .compile()
    }
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let images = load()?.0;
    let rbm = Rbm {
        w: shared("w", weights(3, PIXELS, HIDDEN)?),
        hidden: shared("hidden", biases(HIDDEN)),
        visible: shared("visible", biases(PIXELS)),
        streams: RandomStreams::new(17),
    };
    let train = rbm.train(&shared("data", &images))?;
    let mut simulator = train.optimize(device.clone().strict())?;
    let epoch = Value::from((0..BATCHES).collect::<Vec<i64>>());
    let mut likelihood = |epochs: usize| -> Result<f64> {
        let mut last = 0.0;
        for _ in 0..epochs {
            let each_batch = simulator.run_n_collect(BATCHES as u64, args![each(&epoch)])?;
            let values = each_batch["pseudo-likelihood"].to_f64s();
            last = values.iter().sum::<f64>() / values.len() as f64;
        }
        Ok(last)
    };
    let (first, last) = (likelihood(1)?, likelihood(6)?);
    assert!(first > -60.0 && last > -22.0 && last > first + 2.0, "from {first} to {last}");
    // What the chain draws looks like the data: pixels are lit about as often.
    let lit = |of: &Value| -> Vec<f64> {
        let all = of.to_f64s();
        let rows = (all.len() / PIXELS) as f64;
        (0..PIXELS).map(|at| all.iter().skip(at).step_by(PIXELS).sum::<f64>() / rows).collect()
    };
    let drawn = simulator.run_n_collect(20, args![0i64])?;
    let (drawn, seen) = (lit(&drawn["chain"]), lit(&images));
    let apart = drawn.iter().zip(&seen).map(|(a, b)| (a - b).abs()).sum::<f64>() / PIXELS as f64;
    assert!(apart < 0.15, "pixels of the chain are lit {apart:.2} apart from the data's");
    Ok(format!(
        "pseudo-likelihood {first:.1}, then {last:.1}; the chain's pixels are {apart:.2} apart from the data's"
    ))
}
