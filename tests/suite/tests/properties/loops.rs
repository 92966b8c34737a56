//! Loops with random bodies are the same iterations written out, on every way to run them, with their
//! gradients.

use crate::graphs::{Grow, graph, grow};
use crate::{distance, failed, random};
use proptest::prelude::*;
use workalike::loops::Scan;
use workalike::prelude::{
    Args, Bundle, Host, Open, Options, Variable, concatenate, function, grad, stack, tensor, zeros_like,
};
use workalike::{Result, Value, idx};
use workalike_suite::wide::Wide;

/// A loop of random body.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) trips: usize,
    /// Whether it also reads the value of two iterations before.
    pub(crate) two_taps: bool,
    reversed: bool,
    /// Whether there is a loop of another body beside it.
    beside: bool,
    pub(crate) steps: Vec<Grow>,
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let columns = prop_oneof![1usize..7, Just(64usize), Just(300)];
    let steps = prop::collection::vec(grow(), 1..14);
    let flags = [any::<bool>(), any::<bool>(), any::<bool>()];
    (1usize..6, columns, 0usize..6, flags, steps).prop_map(
        |(rows, columns, trips, [two_taps, reversed, beside], steps)| Case {
            rows,
            columns,
            trips,
            two_taps,
            reversed,
            beside,
            steps,
        },
    )
}

/// What an iteration makes of a slice and the values before: the next value, and another result.
fn iteration(case: &Case, given: &[Variable], constants: &[Variable]) -> [Variable; 2] {
    let leaves = [given, constants].concat();
    let made = graph(&leaves, &case.steps);
    let newest = &given[given.len() - 1];
    // The result stays moderate, and has the shape of what is carried.
    let next = (&made[made.len() - 1] * 0.5 + newest * 0.25).tanh();
    let other = &made[made.len() / 2] + newest * 0.0;
    [next, other]
}

/// Makes a loop, or its iterations, of a sequence, what is before the first iteration, and constants.
type Make = fn(&Case, &Variable, &Variable, &[Variable]) -> Results;

pub(crate) struct Results {
    pub(crate) history: Variable,
    pub(crate) other: Variable,
}

pub(crate) fn looped(case: &Case, xs: &Variable, before: &Variable, constants: &[Variable]) -> Results {
    let taps = if case.two_taps { vec![-2, -1] } else { vec![-1] };
    let scan = Scan::new().sequence(xs).recurrent_taps(before, taps);
    let scan = if case.reversed { scan.reversed() } else { scan };
    let scanned = scan.run(|given| iteration(case, given, constants).to_vec());
    Results { history: scanned.history(0), other: scanned.result(0) }
}

fn written(case: &Case, xs: &Variable, before: &Variable, constants: &[Variable]) -> Results {
    let depth = if case.two_taps { 2 } else { 1 };
    let mut values: Vec<Variable> = (0..depth).map(|at| before.index(idx![at as i64])).collect();
    let mut others = Vec::new();
    for step in 0..case.trips {
        let at = if case.reversed { case.trips - 1 - step } else { step };
        let given = [vec![xs.index(idx![at as i64])], values[step..step + depth].to_vec()].concat();
        let [next, other] = iteration(case, &given, constants);
        values.push(next);
        others.push(other);
    }
    let all = |list: &[Variable]| match list {
        [] => xs.index(idx![..0i64]) * 0.0,
        list => stack(list, 0),
    };
    Results { history: all(&values[depth..]), other: all(&others) }
}

fn check(case: &Case) -> Result<std::result::Result<(), String>> {
    let Case { rows, columns, trips, .. } = *case;
    let depth = if case.two_taps { 2 } else { 1 };
    let shapes: [Vec<usize>; 4] =
        [vec![trips, rows, columns], vec![depth, rows, columns], vec![1, columns], vec![rows, 1]];
    let names = ["xs", "before", "row", "column"];
    let variable = |(name, shape): (&&str, &Vec<usize>)| {
        tensor::<f64>(name, shape.iter().map(|&e| Some(e)).collect::<Vec<_>>())
    };
    let inputs: Vec<Variable> = names.iter().zip(&shapes).map(variable).collect();
    let mut args = Args::new();
    for (seed, shape) in shapes.iter().enumerate() {
        let len = shape.iter().product::<usize>();
        let numbers = (0..len).map(|i| ((i as f64 + 31.7 * seed as f64) * 1.37).sin() * 2.0).collect();
        args = args.with(Value::from_vec::<f64>(shape, numbers)?);
    }
    let outputs = |make: Make| -> Result<Vec<Variable>> {
        let results = make(case, &inputs[0], &inputs[1], &inputs[2..]);
        let mut sums = results.history.sqr().sum(..) + results.other.sin().sum(..);
        let mut list = vec![results.history.clone(), results.other.clone()];
        if case.beside {
            let steps = case.steps.iter().rev().cloned().collect();
            let second = Case { reversed: !case.reversed, steps, ..case.clone() };
            let second = make(&second, &inputs[0], &inputs[1], &inputs[2..]);
            sums = sums + (&second.history * &second.other).sum(..);
            list.extend([second.history, second.other]);
        }
        let whole = concatenate([&inputs[1], &results.history], 0);
        list.push(whole.index(idx![-1]));
        // A loop that depends on nothing smoothly has no gradient.
        let cost = sums + inputs.iter().fold(zeros_like(inputs[0].sum(..)), |sum, input| sum + input.sum(..));
        list.extend(grad(&cost, &inputs)?);
        Ok(list)
    };
    let compiled = |make: Make| function(&inputs).outputs(outputs(make)?).allow_unused_inputs().compile();
    let want = compiled(written)?.call_reference(args.clone())?;
    let f = compiled(looped)?;
    let loaded = Bundle::from_bytes(&Bundle::new().with("f", &f).to_bytes()?)?;
    let plain = Options { strict: true, fuse: false, ..Options::default() };
    let ways = [
        ("reference", f.call_reference(args.clone())?),
        ("loaded", loaded["f"].call_reference(args.clone())?),
        ("fused", f.optimize(Host::threads(2).strict())?.call(args.clone())?),
        ("fused wide", f.optimize(Wide.strict())?.call(args.clone())?),
        ("unfused", f.optimize(Host::threads(1).with_options(plain))?.call(args.clone())?),
    ];
    for (what, got) in ways {
        for i in 0..want.len() {
            let off = distance(&got[i], &want[i]);
            if got[i].shape() != want[i].shape() || off > 1e-9 {
                return Ok(Err(format!("output {i}, {what}: {:?} is {off:e} from {:?}", got[i], want[i])));
            }
        }
    }
    Ok(Ok(()))
}

proptest! {
    #![proptest_config(random::config(120))]

    #[test]
    fn a_loop_is_its_iterations(case in case()) {
        check(&case).map_err(failed)?.map_err(failed)?;
    }
}
