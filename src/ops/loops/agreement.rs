//! Loops and branches in which the members of a group exchange arrays: what decides whether a body runs must
//! be the same for all of them. The functions are [`Op::agreement`](crate::op::Op::agreement) of the ops.

use crate::graph::FunctionGraph;
use std::sync::Arc;

/// The passes over the body of a loop in which what members share has to be found. In each pass at least one
/// carried value falls out; few loops have longer chains, and what is not found by then counts as not shared.
const MOST_PASSES: usize = 16;

fn parted(place: &str) -> String {
    format!(
        "members of a group exchange arrays in {place}: decide by a value that all members share, such as an all_reduce"
    )
}

/// Whether each output of a body is the same for all members, given which inputs are.
fn of_body(group: &str, body: &FunctionGraph, inputs: &[bool]) -> Result<Vec<bool>, String> {
    let agree = body.agreement(group, inputs, &[]).map_err(|error| error.to_string())?;
    Ok(body.outputs.iter().map(|&id| agree[id as usize]).collect())
}

/// Of a branch: the inputs are the index, then those of each body.
pub(super) fn of_branch(
    group: &str,
    bodies: &[&Arc<FunctionGraph>],
    inputs: &[bool],
    outputs: usize,
) -> Result<Vec<bool>, String> {
    let (index, given) = inputs.split_first().ok_or("a branch without an index")?;
    if !index && bodies.iter().any(|body| body.exchanges_in(group)) {
        return Err(parted("one of its branches, and may take different ones"));
    }
    let mut all = vec![*index; outputs];
    for body in bodies {
        all.iter_mut().zip(of_body(group, body, given)?).for_each(|(all, agrees)| *all &= agrees);
    }
    Ok(all)
}

/// Of a loop with a condition: the inputs are whether it runs at all, what it carries and the constants; those
/// of the body are the same without the first, its outputs whether it runs again, then what it carries.
pub(super) fn of_while(
    group: &str,
    (body, carried): (&FunctionGraph, usize),
    inputs: &[bool],
    outputs: usize,
) -> Result<Vec<bool>, String> {
    let (runs, given) = inputs.split_first().ok_or("a loop without a condition")?;
    let mut given = given.to_vec();
    let mut again = false;
    for pass in 0..=MOST_PASSES {
        if pass == MOST_PASSES {
            given.iter_mut().take(carried).for_each(|agrees| *agrees = false);
        }
        let results = of_body(group, body, &given)?;
        again = results.first() == Some(&true);
        let before = given.clone();
        let news = results.into_iter().skip(1);
        given.iter_mut().take(carried).zip(news).for_each(|(carried, new)| *carried &= new);
        if given == before {
            break;
        }
    }
    // Members that make different numbers of iterations end with different values.
    let together = *runs && given.first() == Some(&true) && again;
    if !together && body.exchanges_in(group) {
        return Err(parted("its body, and may make different numbers of iterations"));
    }
    Ok(given.iter().take(outputs).map(|agrees| together && *agrees).collect())
}

/// Of a loop with a number of iterations, `counted` if members share it; `constants` says which inputs of the
/// body are the same in all iterations and for all members.
pub(super) fn of_scan(
    group: &str,
    body: &FunctionGraph,
    counted: bool,
    constants: &[bool],
) -> Result<(), String> {
    if !body.exchanges_in(group) {
        return Ok(());
    }
    if !counted {
        return Err(parted("its body, and may make different numbers of iterations"));
    }
    of_body(group, body, constants).map(drop)
}
