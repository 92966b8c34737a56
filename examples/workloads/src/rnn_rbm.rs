//! A recurrent network of restricted Boltzmann machines (`rnnrbm.py` of Theano's deep learning tutorials):
//! the state of a recurrent network sets the biases of a Boltzmann machine at each time. It learns a sequence
//! of chords and plays on: a method to train, and one to generate, in which a loop has a Gibbs chain within.

use crate::{Device, biases, uniform};
use workalike::Result;
use workalike::loops::{fori, scan};
use workalike::ops::consider_constant;
use workalike::prelude::*;

/// Notes, hidden units, units of the recurrent network.
const VISIBLE: usize = 24;
const HIDDEN: usize = 32;
const STATE: usize = 24;
/// Chords of the piece that is learned.
const TIME: usize = 48;
const GIBBS: i64 = 15;

struct Model {
    weights: Vec<SharedVariable>,
    streams: RandomStreams,
}

/// Names, and sizes, of the weights.
const WEIGHTS: [(&str, usize, usize); 5] = [
    ("w", VISIBLE, HIDDEN),
    ("state to visible", STATE, VISIBLE),
    ("state to hidden", STATE, HIDDEN),
    ("visible to state", VISIBLE, STATE),
    ("state to state", STATE, STATE),
];

impl Model {
    fn new() -> Result<Model> {
        let mut weights = Vec::new();
        for (seed, (name, from, to)) in (70..).zip(WEIGHTS) {
            weights.push(shared(name, uniform(seed, &[from, to], -0.1, 0.1)?));
        }
        for (name, size) in [("visible", VISIBLE), ("hidden", HIDDEN), ("state", STATE)] {
            weights.push(shared(name, biases(size)));
        }
        Ok(Model { weights, streams: RandomStreams::new(77) })
    }

    /// The biases of the visible and the hidden units after a state.
    fn biases(&self, state: &Variable) -> [Variable; 2] {
        let w = &self.weights;
        [state.dot(&w[1]) + &w[5], state.dot(&w[2]) + &w[6]]
    }

    fn next(&self, state: &Variable, visible: &Variable) -> Variable {
        let w = &self.weights;
        (visible.dot(&w[3]) + state.dot(&w[4]) + &w[7]).tanh()
    }

    /// Visible units of a Gibbs chain that begins at `v`, and their probabilities.
    fn sample(&self, v: &Variable, [visible, hidden]: &[Variable; 2], rows: &[usize]) -> [Variable; 2] {
        let w = &self.weights[0];
        let draw = |p: &Variable, size: usize| {
            let shape = [rows, &[size]].concat();
            self.streams.uniform::<f32>(&shape).less(p).cast(DType::F32)
        };
        fori(GIBBS, [v, v], |_, [v, _]| {
            let h = draw(&(v.dot(w) + hidden).sigmoid(), HIDDEN);
            let p = (h.dot(w.t()) + visible).sigmoid();
            [draw(&p, VISIBLE), p]
        })
    }

    /// One update on a piece `v` (TIME, VISIBLE). Its output is the cross-entropy of the samples.
    fn train(&self) -> Result<Function> {
        let (v, rate) = (tensor::<f32>("v", [Some(TIME), Some(VISIBLE)]), scalar::<f32>("rate"));
        let before = constant(Value::zeros(DType::F32, &[STATE])?);
        // With all states known, the machines of all times sample at once.
        let states = scan(&v, &before, |v, state| self.next(&state, &v));
        let earlier = concatenate([before.expand_dims(0), states.index(idx![..-1])], 0);
        let biases = self.biases(&earlier);
        let [sampled, p] = self.sample(&v, &biases, &[TIME]);
        let sampled = consider_constant(sampled);
        let energy = |v: &Variable| {
            let [visible, hidden] = &biases;
            -(v * visible).sum(over(1)) - (v.dot(&self.weights[0]) + hidden).softplus().sum(over(1))
        };
        let cost = (energy(&v) - energy(&sampled)).mean(..);
        let p = p.maximum(1e-6).minimum(1.0 - 1e-6);
        let surprise = -(&v * p.log() + (1.0 - &v) * (1.0 - &p).log()).sum(over(1)).mean(..);
        let slopes = clip_norm(grad(&cost, &self.weights)?, 1.0)?;
        let updates = self.weights.iter().zip(slopes).map(|(w, g)| (w.clone(), w - &rate * g));
        function([&v, &rate]).output(surprise).updates(updates).compile()
    }

    /// Plays so many chords.
    fn generate(&self) -> Result<Function> {
        let start = constant(Value::zeros(DType::F32, &[STATE])?);
        let silence = constant(Value::zeros(DType::F32, &[VISIBLE])?);
        let times = arange(TIME as i64);
        let [played, _] = scan(&times, [&silence, &start], |_, [_, state]| {
            let [v, _] = self.sample(&silence, &self.biases(&state), &[]);
            let next = self.next(&state, &v);
            [v, next]
        });
        function(()).output(played).compile()
    }
}

/// A progression of four chords of three notes, each of them for two times.
fn piece() -> Result<Value> {
    let chords = [[0, 4, 7], [5, 9, 12], [7, 11, 14], [0, 4, 7 + 12]];
    let mut notes = vec![0f32; TIME * VISIBLE];
    for (time, row) in notes.chunks_mut(VISIBLE).enumerate() {
        chords[time / 2 % chords.len()].iter().for_each(|note| row[*note] = 1.0);
    }
    Value::from_vec(&[TIME, VISIBLE], notes)
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let model = Model::new()?;
    let (train, generate) = (model.train()?, model.generate()?);
    let mut simulator = train.optimize(device.clone().strict())?;
    simulator.add_method("generate", &generate)?;
    let piece = piece()?;
    let first = simulator.call(args![&piece, 0.1f32])?[0].item::<f32>()?;
    simulator.run_n(600, args![&piece, 0.1f32])?;
    let last = simulator.call(args![&piece, 0.1f32])?[0].item::<f32>()?;
    assert!(last < 0.5 * first, "the surprise was {first}, and is {last}");
    // What is played is in the piece, for the most part: its notes, and about as many at a time.
    let played = simulator.method("generate")?.call(args![])?[0].to_f64s();
    let known = |at: usize| piece.to_f64s().iter().skip(at).step_by(VISIBLE).any(|lit| *lit > 0.0);
    let lit = || (0..played.len()).filter(|at| played[*at] > 0.0);
    let wrong = lit().filter(|at| !known(at % VISIBLE)).count();
    let each = lit().count() as f64 / TIME as f64;
    assert!(wrong * 5 < lit().count() && (1.5..5.0).contains(&each), "{wrong} wrong notes, {each} at a time");
    Ok(format!(
        "surprise {first:.1}, then {last:.1}; it plays {each:.1} notes at a time, {wrong} of them wrong"
    ))
}
