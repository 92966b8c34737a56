//! Beam search: of all continuations of the likeliest sentences the likeliest are kept. A step that finds all
//! sentences ended computes nothing, by `if_else`; the search stops at a limit.

use crate::{Device, uniform};
use workalike::Result;
use workalike::loops::{fori, if_else};
use workalike::prelude::*;

const WORDS: usize = 12;
const BEAMS: usize = 4;
const STEPS: usize = 9;
/// The word that ends a sentence, and the one before its first.
const END: i64 = 0;

/// Scores, whether a sentence ended, words.
type Beams = (Variable, Variable, Variable);

/// All beams, one word later.
fn extended(step: &Variable, (scores, ended, words): &Beams, table: &Variable) -> [Variable; 3] {
    let last = words.index(idx![.., step]);
    // An ended sentence goes on with the end, at no cost.
    let silent = where_(arange(WORDS as i64).equal(END), 0.0f64, f64::NEG_INFINITY).expand_dims(0);
    let next = where_(ended.expand_dims(1), silent, table.take(&last, 0));
    let all = (scores.expand_dims(1) + next).reshape([-1]);
    let [best, at] = all.topk_both(BEAMS, 0);
    let (beam, word) = (at.floor_divide(WORDS as i64), at.remainder(WORDS as i64));
    let words = words.take(&beam, 0).set_index(idx![.., step + 1i64], &word);
    let ended = ended.take(&beam, 0).bitwise_or(word.equal(END));
    [best, ended, words]
}

fn search(table: &Variable) -> Result<[Variable; 2]> {
    // At first there is one sentence, of no words; the others are impossible.
    let scores = where_(arange(BEAMS as i64).equal(0i64), 0.0f64, f64::NEG_INFINITY);
    let ended = zeros_like(&scores).not_equal(0.0);
    let words = constant(Value::from_vec(&[BEAMS, STEPS + 1], vec![WORDS as i64; BEAMS * (STEPS + 1)])?);
    let (scores, _, words) = fori(STEPS as i64, (scores, ended, words), |step, beams: Beams| {
        let done = beams.1.all(..);
        let same = [beams.0.clone(), beams.1.clone(), beams.2.clone()];
        let [scores, ended, words] = if_else(done, || same, || extended(&step, &beams, table));
        (scores, ended, words)
    });
    Ok([scores, words])
}

/// The same, on the host.
fn expected(table: &[f64]) -> Vec<(f64, Vec<usize>)> {
    let mut beams = vec![(0.0, vec![WORDS])];
    for _ in 0..STEPS {
        let mut all: Vec<(f64, Vec<usize>)> = Vec::new();
        for (score, words) in &beams {
            let last = words[words.len() - 1];
            for next in 0..WORDS {
                let ended = words.len() > 1 && last == END as usize;
                let cost = match ended {
                    true if next == END as usize => 0.0,
                    true => f64::NEG_INFINITY,
                    false => table[last * WORDS + next],
                };
                all.push((score + cost, [words.clone(), vec![next]].concat()));
            }
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.truncate(BEAMS);
        beams = all;
    }
    beams
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let table = matrix::<f64>("table");
    let [scores, words] = search(&table)?;
    let f = function([&table]).output(&scores).output(&words).compile()?;
    let mut simulator = f.optimize(device.clone())?;
    let mut lengths = Vec::new();
    // Logarithms of the probabilities of each word after each, and of the first; sentences end early or late.
    for (seed, end) in [(31, 4.0), (32, 0.0), (33, -3.0)] {
        let mut logits = uniform(seed, &[WORDS + 1, WORDS], -2.0, 2.0)?.to_f64s();
        logits.iter_mut().step_by(WORDS).take(WORDS).for_each(|logit| *logit += end);
        // No sentence is empty.
        logits[WORDS * WORDS] -= 9.0;
        for row in logits.chunks_mut(WORDS) {
            let total = row.iter().map(|x| x.exp()).sum::<f64>().ln();
            row.iter_mut().for_each(|x| *x -= total);
        }
        let outputs = simulator.call(args![Value::from_vec(&[WORDS + 1, WORDS], logits.clone())?])?;
        let (scores, words) = (outputs[0].to_f64s(), outputs[1].to_vec::<i64>()?);
        for ((score, sentence), (best, expected)) in
            scores.iter().zip(words.chunks(STEPS + 1)).zip(expected(&logits))
        {
            let spoken = |word: &i64| usize::try_from(*word).ok().filter(|word| *word != WORDS);
            let sentence: Vec<usize> = sentence.iter().skip(1).filter_map(spoken).collect();
            let expected = &expected[1..=sentence.len()];
            assert!((score - best).abs() < 1e-9, "{score} and {best} for {sentence:?}");
            assert_eq!(sentence, expected);
        }
        let ends = words[..=STEPS].iter().skip(1).position(|word| *word == END);
        lengths.push(ends.map_or("no end".into(), |at| format!("{at} words")));
    }
    Ok(format!("the likeliest sentences: {}", lengths.join(", ")))
}
