//! A character model: a gated recurrent unit learns a rhyme by truncated backpropagation through time, with
//! Adam and clipped gradients. It is checkpointed half-way, resumed with equal bits, and recites the rhyme.

use crate::{Device, temporary_file};
use workalike::Result;
use workalike::prelude::*;

const RHYME: &str = "humpty dumpty sat on a wall. humpty dumpty had a great fall. \
    all the king's horses and all the king's men couldn't put humpty together again. ";
const ALPHABET: &str = " '.abcdefghijklmnopqrstuvwxyz";
const UNITS: usize = 48;
const BATCH: usize = 16; // pieces of the rhyme in a batch
const TIME: usize = 8; // characters of truncated backpropagation
const STEPS: usize = 150;

struct Gru {
    embedding: SharedVariable,
    input: SharedVariable,
    recurrent: SharedVariable,
    bias: SharedVariable,
    output: SharedVariable,
}

impl Gru {
    fn new() -> Result<Gru> {
        let streams = RandomStreams::new(7);
        Ok(Gru {
            embedding: shared("embedding", glorot_uniform::<f32>(&streams, &[ALPHABET.len(), UNITS])?),
            input: shared("input", glorot_uniform::<f32>(&streams, &[UNITS, 3 * UNITS])?),
            recurrent: shared("recurrent", orthogonal::<f32>(&streams, &[UNITS, 3 * UNITS])?),
            bias: shared("bias", Value::zeros(DType::F32, &[3 * UNITS])?),
            output: shared("output", glorot_uniform::<f32>(&streams, &[UNITS, ALPHABET.len()])?),
        })
    }

    fn parameters(&self) -> [&SharedVariable; 5] {
        [&self.embedding, &self.input, &self.recurrent, &self.bias, &self.output]
    }

    /// The next state, of states (n, UNITS) and characters (n).
    fn step(&self, state: &Variable, characters: &Variable) -> Variable {
        let input = self.embedding.take(characters, 0).dot(&self.input) + &self.bias;
        let recurrent = state.dot(&self.recurrent);
        let gate = |x: &Variable, at: usize| x.index(idx![.., range(at * UNITS, (at + 1) * UNITS)]);
        let update = (gate(&input, 0) + gate(&recurrent, 0)).sigmoid();
        let reset = (gate(&input, 1) + gate(&recurrent, 1)).sigmoid();
        let candidate = (gate(&input, 2) + reset * gate(&recurrent, 2)).tanh();
        &update * state + (1.0 - &update) * candidate
    }

    /// One step of Adam on a piece of text `x` and the characters `y` that follow, both (BATCH, TIME).
    fn train(&self) -> Result<Function> {
        let (x, y) =
            (tensor::<i64>("x", [Some(BATCH), Some(TIME)]), tensor::<i64>("y", [Some(BATCH), Some(TIME)]));
        let carried = shared("state", Value::zeros(DType::F32, &[BATCH, UNITS])?);
        let (mut state, mut costs) = ((*carried).clone(), Vec::new());
        for t in 0..TIME {
            state = self.step(&state, &x.index(idx![.., t as i64]));
            let p = softmax(state.dot(&self.output), -1);
            costs.push(categorical_crossentropy(p, y.index(idx![.., t as i64])));
        }
        let cost = stack(costs, 0).mean(..);
        let gradients = clip_norm(grad(&cost, self.parameters())?, 1.0)?;
        let f = function([&x, &y]).output_named("cost", cost).update(&carried, state);
        f.updates(adam(self.parameters(), gradients, 0.01)?).compile()
    }

    /// Draws a character, which is the next input.
    fn sample(&self) -> Result<Function> {
        let temperature = scalar::<f32>("temperature");
        let character = shared("character", [0i64]);
        let state = shared("sample state", Value::zeros(DType::F32, &[1, UNITS])?);
        let next_state = self.step(&state, &character);
        let logits = next_state.dot(&self.output) / &temperature;
        // The Gumbel-max trick: the argmax of logits plus Gumbel noise is distributed as their softmax.
        let noise = -(-RandomStreams::new(9).uniform::<f32>([ALPHABET.len()]).log()).log();
        let next = (logits + noise).argmax(-1);
        let f = function([In::new(&temperature).default(0.3)]).output_named("character", &next);
        f.update(&character, &next).update(&state, next_state).compile()
    }
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let text: Vec<i64> = RHYME.chars().filter_map(|c| ALPHABET.find(c)).map(|at| at as i64).collect();
    // Row b of a piece continues row b of the previous piece; the rows start at different places of the
    // rhyme.
    let pieces = |first: usize, ahead: usize| {
        let at = |(step, row, t): (usize, usize, usize)| row * 10 + (first + step) * TIME + t + ahead;
        Array3::from_shape_fn((STEPS, BATCH, TIME), |place| text[at(place) % text.len()])
    };
    let model = Gru::new()?;
    let bundle = Bundle::new().with("train", &model.train()?).with("sample", &model.sample()?);
    let mut sim = bundle.optimize(device)?;
    let train = |sim: &mut Simulator, first: usize| {
        let (x, y) = (pieces(first, 0), pieces(first, 1));
        sim.method("train")?.run_n_collect(STEPS as u64, args![each(x), each(y)])?["cost"].to_vec::<f32>()
    };
    let recite = |sim: &mut Simulator| -> Result<String> {
        let characters = sim.method("sample")?.run_n_collect(200, args![])?["character"].to_vec::<i64>()?;
        Ok(characters.into_iter().map(|c| ALPHABET.as_bytes()[c as usize] as char).collect())
    };

    let first = train(&mut sim, 0)?[0];
    let checkpoint = temporary_file("gru");
    sim.save(&checkpoint)?;
    let mut resumed = Simulator::load(&checkpoint, device)?;
    let costs = train(&mut sim, STEPS)?;
    assert_eq!(costs, train(&mut resumed, STEPS)?, "resumed from the checkpoint");
    let text = recite(&mut sim)?;
    assert_eq!(text, recite(&mut resumed)?, "resumed from the checkpoint");
    let words: Vec<&str> = text.split_whitespace().skip(1).collect();
    let right = words.iter().filter(|word| RHYME.split(' ').any(|known| known == **word)).count();
    assert!(10 * right > 8 * words.len(), "{right} of {} words are the rhyme's: {text}", words.len());
    std::fs::remove_file(&checkpoint).ok();
    Ok(format!("cost {first:.2} at first, {:.2} in the end: {text}", costs[STEPS - 1]))
}
