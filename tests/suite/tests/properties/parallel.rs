//! Random graphs, and the gradients through them, computed by the members of a group together.

use super::graphs::{Grow, graph, grow};
use super::loops::{Case, case, looped};
use super::{counted, distance, failed, random};
use proptest::prelude::*;
use std::time::Duration;
use workalike::engine::device::group::threads;
use workalike::engine::{group, member};
use workalike::function::{Function, Outputs};
use workalike::prelude::{Args, Host, Open, SharedVariable, Variable, function, grad, shared, tensor};
use workalike::{Result, Value};

/// What is divided, and among how many.
#[derive(Clone, Copy, Debug)]
struct Division {
    members: usize,
    rows_of_each: usize,
    columns: usize,
    /// Whether the matrix is divided, and the column.
    divided: [bool; 2],
    /// Whether the extents are known when it is compiled.
    known: bool,
}

fn division() -> impl Strategy<Value = Division> {
    let divided = prop_oneof![Just([true, true]), Just([true, false]), Just([false, true])];
    let columns = prop_oneof![1usize..9, Just(300usize)];
    (1usize..4, 1usize..5, columns, divided, any::<bool>()).prop_map(
        |(members, rows_of_each, columns, divided, known)| Division {
            members,
            rows_of_each: rows_of(rows_of_each, members),
            columns,
            divided,
            known,
        },
    )
}

/// Rows of each member. An array that always has one row cannot be divided.
fn rows_of(each: usize, members: usize) -> usize {
    if members == 1 { each.max(2) } else { each }
}

/// Compares two calls of a group with the reference's: outputs, and the shared row that they update.
fn compare(
    f: &Function,
    (members, divided): (usize, &[&str]),
    (row, values): (&SharedVariable, &[Value]),
) -> Result<std::result::Result<(), String>> {
    let parallel = f.fork()?.data_parallel("g", divided.iter().copied())?;
    let devices = (0..members).map(|_| Host::threads(1).strict());
    let mut together = parallel.optimize(group("g", devices).always_divided())?;
    let args = || values.iter().fold(Args::new(), Args::with);
    for call in 0..2 {
        let want = f.call_reference(args())?;
        let got = together.call(args())?;
        for (i, (_, want)) in want.iter().enumerate() {
            let off = distance(&got[i], want);
            if got[i].shape() != want.shape() || off.is_nan() || off > 1e-9 {
                return Ok(Err(format!("call {call}, output {i}: {:?} is {off:e} from {want:?}", got[i])));
            }
        }
        let (want, all) = (row.get_value()?, together.each_member(|_, member| member.get_value("row"))?);
        let off = distance(&all[0], &want);
        if off.is_nan() || off > 1e-9 || all.iter().any(|other| *other != all[0]) {
            return Ok(Err(format!("call {call}: the rows {all:?} are {off:e} from {want:?}")));
        }
    }
    with_whole_inputs(&parallel, members, values)
}

/// Members that are each given whole inputs get what a group gets, whose members get parts; all of them the
/// same bits.
fn with_whole_inputs(
    parallel: &Function,
    members: usize,
    values: &[Value],
) -> Result<std::result::Result<(), String>> {
    let args = || values.iter().fold(Args::new(), Args::with);
    let devices = (0..members).map(|_| Host::threads(1));
    let want = parallel.fork()?.optimize(group("g", devices).always_divided())?.call(args())?;
    let call = |seat| parallel.fork()?.optimize(member("g", seat, Host::threads(1)))?.call(args());
    let call = &call;
    let all: Vec<Result<Outputs>> = std::thread::scope(|scope| {
        let seats = threads(members, Duration::from_secs(60)).into_iter();
        let started: Vec<_> = seats.map(|seat| scope.spawn(move || call(seat))).collect();
        started.into_iter().map(|member| member.join().expect("a member panicked")).collect()
    });
    let all = all.into_iter().collect::<Result<Vec<Outputs>>>()?;
    for (rank, at) in (0..members).flat_map(|rank| (0..want.len()).map(move |at| (rank, at))) {
        let (got, off) = (&all[rank][at], distance(&all[rank][at], &want[at]));
        if *got != all[0][at] || off.is_nan() || off > 1e-9 {
            return Ok(Err(format!("output {at} of member {rank}: {got:?} is {off:e} from {:?}", want[at])));
        }
    }
    Ok(Ok(()))
}

/// A step down the slope of a cost.
fn descent(cost: &Variable, row: &SharedVariable) -> Result<Variable> {
    let slope = grad(cost, [row])?.swap_remove(0);
    Ok(&**row - slope.maximum(-1.0).minimum(1.0) * 0.1)
}

/// A choice between equal values depends on how each is rounded.
fn without_jumps(step: &Grow) -> Grow {
    match step.clone() {
        Grow::Binary(4, a, b) => Grow::Binary(3, a, b),
        other => other,
    }
}

/// So does the slope of a maximum.
fn without_kinks(step: &Grow) -> Grow {
    match step.clone() {
        Grow::Binary(3.., a, b) => Grow::Binary(2, a, b),
        Grow::Reduce(1 | 2, a, axes) => Grow::Reduce(0, a, axes),
        other => other,
    }
}

fn numbers(shape: &[usize], seed: f64) -> Value {
    Value::from(&counted(shape).mapv(|v| v / 32.0 + seed))
}

/// A random function of the inputs and of a shared row.
fn check_division(at: Division, steps: &[Grow]) -> Result<std::result::Result<(), String>> {
    let rows = at.rows_of_each * at.members;
    let shapes = [[rows, at.columns], [1, at.columns], [rows, 1]];
    let input = |name: &str, shape: &[usize; 2]| {
        // That an extent is 1 decides about broadcasting.
        tensor::<f64>(name, shape.map(|extent| (at.known || extent == 1).then_some(extent)).to_vec())
    };
    let row = shared("row", numbers(&shapes[1], 0.1));
    let leaves = [input("a", &shapes[0]), (*row).clone(), input("column", &shapes[2])];
    let made = graph(&leaves, &steps.iter().map(without_jumps).collect::<Vec<_>>());
    let smooth = graph(&leaves, &steps.iter().map(without_kinks).collect::<Vec<_>>());
    let last = smooth.last().unwrap_or(&leaves[0]);
    let cost = (last + &leaves[1]).sqr().mean(..);
    let f = function([&leaves[0], &leaves[2]])
        .output(&cost)
        .outputs(made[leaves.len()..].iter().rev().step_by(3).take(4))
        .update(&row, descent(&cost, &row)?)
        .allow_unused_inputs()
        .compile()?;
    let names = ["a", "column"].into_iter().zip(at.divided).filter(|(_, divided)| *divided);
    let divided: Vec<&str> = names.map(|(name, _)| name).collect();
    compare(&f, (at.members, &divided), (&row, &[numbers(&shapes[0], 0.0), numbers(&shapes[2], 0.2)]))
}

/// A loop with a random body, over sequences of each row.
fn check_loop(case: &Case, members: usize) -> Result<std::result::Result<(), String>> {
    let (rows, columns, depth) =
        (rows_of(case.rows, members) * members, case.columns, if case.two_taps { 2 } else { 1 });
    let shapes = [vec![rows, case.trips, columns], vec![rows, depth, columns], vec![rows, 1]];
    let named = ["xs", "before", "column"].iter().zip(&shapes);
    let inputs: Vec<Variable> = named
        .map(|(name, shape)| tensor::<f64>(name, shape.iter().map(|&e| Some(e)).collect::<Vec<_>>()))
        .collect();
    let row = shared("row", numbers(&[1, columns], 0.1));
    let constants = [(*row).clone(), inputs[2].clone()];
    let mut case = case.clone();
    case.steps = case.steps.iter().map(without_kinks).collect();
    let results = looped(&case, &inputs[0].moveaxis(1, 0), &inputs[1].moveaxis(1, 0), &constants);
    let [history, other] = [&results.history, &results.other].map(|result| result.moveaxis(0, 1));
    let cost = history.sqr().sum(..) + other.sin().sum(..) + row.sqr().sum(..);
    let slopes = grad(&(&cost + inputs[0].sum(..) + inputs[1].sum(..)), &inputs[..2])?;
    let f = function(&inputs)
        .outputs([&cost, &history, &other].into_iter().chain(&slopes))
        .update(&row, descent(&cost, &row)?)
        .allow_unused_inputs()
        .compile()?;
    let values: Vec<Value> = shapes.iter().map(|shape| numbers(shape, 0.3)).collect();
    compare(&f, (members, &["xs", "before", "column"]), (&row, &values))
}

proptest! {
    #![proptest_config(random::config(300))]

    #[test]
    fn members_together_give_what_one_device_gives(
        at in division(),
        steps in prop::collection::vec(grow(), 1..16),
    ) {
        check_division(at, &steps).map_err(failed)?.map_err(failed)?;
    }
}

proptest! {
    #![proptest_config(random::config(60))]

    #[test]
    fn loops_of_divided_sequences_give_what_one_device_gives(case in case(), members in 1usize..4) {
        check_loop(&case, members).map_err(failed)?.map_err(failed)?;
    }
}
