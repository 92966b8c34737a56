//! Random graphs, and the gradients through them, computed by the members of a group together.

use super::graphs::{Grow, graph, grow};
use super::{counted, distance, failed, random};
use proptest::prelude::*;
use workalike::engine::group;
use workalike::prelude::{Host, Open, function, grad, shared, tensor};
use workalike::{Value, args};

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
            rows_of_each,
            columns,
            divided,
            known,
        },
    )
}

/// Steps of gradient descent on a random function of the inputs and of a shared row: those of a group give what the
/// reference gives.
fn check_division(at: Division, steps: &[Grow]) -> workalike::Result<Result<(), String>> {
    let rows = at.rows_of_each * at.members;
    let shapes = [[rows, at.columns], [1, at.columns], [rows, 1]];
    let input = |name: &str, shape: &[usize; 2]| {
        // That an extent is 1 decides about broadcasting.
        tensor::<f64>(name, shape.map(|extent| (at.known || extent == 1).then_some(extent)).to_vec())
    };
    let numbers = |at: usize| Value::from(&counted(&shapes[at]).mapv(|v| v / 32.0 + at as f64 * 0.1));
    let row = shared("row", numbers(1));
    let leaves = [input("a", &shapes[0]), (*row).clone(), input("column", &shapes[2])];
    let made = graph(&leaves, steps);
    let last = made.last().unwrap_or(&leaves[0]);
    let cost = (last + &leaves[1]).sqr().mean(..);
    let slope = grad(&cost, [&row])?.swap_remove(0);
    let outputs = made[leaves.len()..].iter().rev().step_by(3).take(4);
    let f = function([&leaves[0], &leaves[2]])
        .output(&cost)
        .outputs(outputs)
        .update(&row, &*row - slope.maximum(-1.0).minimum(1.0) * 0.1)
        .allow_unused_inputs()
        .compile()?;
    if rows == 1 {
        // One row by its type.
        return Ok(Ok(()));
    }
    let names = ["a", "column"].into_iter().zip(at.divided).filter(|(_, divided)| *divided);
    let parallel = f.fork()?.data_parallel("g", names.map(|(name, _)| name))?;
    let members = group("g", (0..at.members).map(|_| Host::threads(1).strict())).always_divided();
    let mut together = parallel.optimize(members)?;
    for call in 0..2 {
        let args = || args![numbers(0), numbers(2)];
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
    Ok(Ok(()))
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
