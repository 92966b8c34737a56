//! Loops whose random bodies have products, gates and arrays that change in part are the same iterations
//! written out, with their gradients: what leaves a loop, and what stays in place, changes nothing.

use crate::{distance, failed, random};
use proptest::prelude::*;
use workalike::loops::Scan;
use workalike::prelude::{Args, Host, Open, Variable, concatenate, function, grad, stack, tensor};
use workalike::{Result, Value, idx};
use workalike_suite::wide::Wide;

/// Extents of a row, which is even: rows and columns.
const ROWS: usize = 3;
const COLUMNS: usize = 4;

/// A step of a body: a new value of the shape of all others, of earlier ones.
#[derive(Clone, Copy, Debug)]
enum Made {
    /// The product with a weight, as it is or transposed.
    Dot(usize, usize, bool),
    Tanh(usize),
    Add(usize, usize),
    Multiply(usize, usize),
    Bias(usize),
    /// Its halves, the first through a sigmoid, in the other order.
    Gates(usize),
    /// Parts of one set to parts of another.
    Set(usize, usize),
}

fn made() -> impl Strategy<Value = Made> {
    let one = || 0usize..12;
    prop_oneof![
        3 => (one(), 0usize..2, any::<bool>()).prop_map(|(x, w, turned)| Made::Dot(x, w, turned)),
        1 => one().prop_map(Made::Tanh),
        2 => (one(), one()).prop_map(|(a, b)| Made::Add(a, b)),
        1 => (one(), one()).prop_map(|(a, b)| Made::Multiply(a, b)),
        1 => one().prop_map(Made::Bias),
        1 => one().prop_map(Made::Gates),
        1 => (one(), one()).prop_map(|(a, b)| Made::Set(a, b)),
    ]
}

/// A loop of random body.
#[derive(Clone, Debug)]
struct Case {
    trips: usize,
    reversed: bool,
    /// Whether the history is read, or its last value alone.
    history: bool,
    steps: Vec<Made>,
}

fn case() -> impl Strategy<Value = Case> {
    let steps = prop::collection::vec(made(), 1..9);
    (1usize..5, any::<bool>(), any::<bool>(), steps).prop_map(|(trips, reversed, history, steps)| Case {
        trips,
        reversed,
        history,
        steps,
    })
}

/// The inputs: a sequence; the state, the table and the sum before; two weights and a bias.
const SHAPES: [(&str, &[usize]); 7] = [
    ("xs", &[0, ROWS, COLUMNS]),
    ("h", &[ROWS, COLUMNS]),
    ("table", &[6, COLUMNS]),
    ("sum", &[COLUMNS, COLUMNS]),
    ("w", &[COLUMNS, COLUMNS]),
    ("v", &[COLUMNS, COLUMNS]),
    ("b", &[COLUMNS]),
];

/// The next state, table and sum, and a result, given a slice, these before, weights and bias.
fn iteration(case: &Case, x: &Variable, before: &[Variable], [w, v, b]: [&Variable; 3]) -> Vec<Variable> {
    let half = (COLUMNS / 2) as i64;
    let mut all = vec![x.clone(), before[0].clone()];
    for step in &case.steps {
        let at = |position: usize| &all[position % all.len()];
        let next = match *step {
            Made::Dot(x, weight, turned) => {
                let weight = [w, v][weight];
                at(x).dot(if turned { weight.t() } else { weight.clone() })
            }
            Made::Tanh(x) => at(x).tanh(),
            Made::Add(a, c) => at(a) + at(c),
            Made::Multiply(a, c) => at(a) * at(c) * 0.5,
            Made::Bias(x) => at(x) + b,
            Made::Gates(x) => {
                let (first, second) = (at(x).index(idx![.., ..half]), at(x).index(idx![.., half..]));
                concatenate([second, first.sigmoid()], 1)
            }
            Made::Set(a, c) => at(a).set_index(idx![1.., ..half], at(c).index(idx![..-1, half..])),
        };
        all.push(next.tanh());
    }
    let last = &all[all.len() - 1];
    let next = (last * 0.5 + &before[0] * 0.25).tanh();
    let table = before[1].set_index(idx![1..], before[1].index(idx![..-1]) * 0.5);
    let table = table.inc_index(idx![..ROWS as i64], &next);
    let sum = &before[2] + x.t().dot(&all[all.len() / 2]);
    let result = all[all.len() / 2].dot(w) + b;
    vec![next, table, sum, result]
}

/// The states, or the last; the last table and sum; the results.
fn looped(case: &Case, inputs: &[Variable]) -> Vec<Variable> {
    let scan = inputs[1..4].iter().fold(Scan::new().sequence(&inputs[0]), Scan::recurrent);
    let scan = if case.reversed { scan.reversed() } else { scan };
    let weights = [&inputs[4], &inputs[5], &inputs[6]];
    let scanned = scan.run(|given| iteration(case, &given[0], &given[1..], weights));
    let states = if case.history { scanned.history(0) } else { scanned.last_of(0) };
    vec![states, scanned.last_of(1), scanned.last_of(2), scanned.result(0)]
}

/// The same, written out.
fn written(case: &Case, inputs: &[Variable]) -> Vec<Variable> {
    let (mut before, mut states, mut results) = (inputs[1..4].to_vec(), vec![], vec![]);
    for step in 0..case.trips {
        let at = if case.reversed { case.trips - 1 - step } else { step };
        let x = inputs[0].index(idx![at as i64]);
        let mut next = iteration(case, &x, &before, [&inputs[4], &inputs[5], &inputs[6]]);
        results.extend(next.pop());
        states.push(next[0].clone());
        before = next;
    }
    let states = if case.history { stack(states, 0) } else { before[0].clone() };
    vec![states, before[1].clone(), before[2].clone(), stack(results, 0)]
}

fn check(case: &Case) -> Result<std::result::Result<(), String>> {
    let mut args = Args::new();
    let mut inputs = Vec::new();
    for (seed, (name, shape)) in SHAPES.iter().enumerate() {
        let shape: Vec<usize> = shape.iter().map(|&e| if e == 0 { case.trips } else { e }).collect();
        inputs.push(tensor::<f64>(name, shape.iter().map(|&e| Some(e)).collect::<Vec<_>>()));
        let numbers = (0..shape.iter().product()).map(|i| ((i as f64 + 17.3 * seed as f64) * 1.71).sin());
        args = args.with(Value::from_vec::<f64>(&shape, numbers.collect())?);
    }
    let compiled = |results: Vec<Variable>| {
        let zero = inputs.iter().fold(inputs[1].sum(..) * 0.0, |sum, input| sum + input.sum(..) * 0.0);
        let cost = results
            .iter()
            .enumerate()
            .fold(zero.clone(), |cost, (at, result)| cost + (result * (0.5 + at as f64)).sin().sum(..));
        let slopes = grad(&cost, &inputs)?;
        let twice = grad(&(slopes[4].sqr().sum(..) + zero), [&inputs[4], &inputs[0]])?;
        function(&inputs).outputs([results, slopes, twice].concat()).compile()
    };
    let want = compiled(written(case, &inputs))?.call_reference(args.clone())?;
    let f = compiled(looped(case, &inputs))?;
    let ways = [
        ("reference", f.call_reference(args.clone())?),
        ("fused", f.optimize(Host::threads(2).strict())?.call(args.clone())?),
        ("fused wide", f.optimize(Wide.strict())?.call(args.clone())?),
    ];
    for (what, got) in ways {
        for i in 0..want.len() {
            let off = distance(&got[i], &want[i]);
            if got[i].shape() != want[i].shape() || off > 1e-8 {
                return Ok(Err(format!("output {i}, {what}: {:?} is {off:e} from {:?}", got[i], want[i])));
            }
        }
    }
    Ok(Ok(()))
}

proptest! {
    #![proptest_config(random::config(60))]

    #[test]
    fn a_loop_of_products_is_its_iterations(case in case()) {
        check(&case).map_err(failed)?.map_err(failed)?;
    }
}
