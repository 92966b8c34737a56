//! States that move on by themselves, such as those of random streams: where a body reads one, the loop
//! carries it, so that each iteration draws other numbers, and the next call goes on where the last iteration
//! ended.

use crate::error::Result;
use crate::graph::{SharedVariable, Variable, ancestors, default_updates, rebuild};
use crate::ops::op_from_graph::{pairs, stand_ins};
use std::collections::HashSet;

/// The states that a body reads.
pub(super) struct States {
    /// As they are outside.
    pub(super) shared: Vec<Variable>,
    /// What the body reads in their place.
    pub(super) inputs: Vec<Variable>,
    /// Their values after an iteration.
    pub(super) next: Vec<Variable>,
}

impl States {
    /// Those that `outputs` read, which then read [`States::inputs`] instead. What was made before this point
    /// in time is not a part of the body: a draw that was written there is the same in all iterations.
    pub(super) fn of(outputs: Vec<Variable>, then: u64) -> Result<(States, Vec<Variable>)> {
        let outside = |v: &Variable| v.owner().is_some_and(|(apply, _)| !apply.is_since(then));
        let updates = default_updates(&outputs, &mut HashSet::new(), outside)?;
        if updates.is_empty() {
            return Ok((States { shared: vec![], inputs: vec![], next: vec![] }, outputs));
        }
        let shared: Vec<Variable> =
            updates.iter().map(|(cell, _)| (*SharedVariable::of(cell.clone())).clone()).collect();
        let inputs = stand_ins(&shared);
        let mut known = pairs(&shared, &inputs);
        let made = ancestors(&outputs, outside);
        let read = made.iter().filter_map(Variable::owner).flat_map(|(apply, _)| &apply.inputs);
        known.extend(read.chain(&outputs).filter(|v| outside(v)).map(|v| (v.key(), v.clone())));
        let next: Vec<Variable> = updates.into_iter().map(|(_, next)| next).collect();
        let next = rebuild(&next, &mut known, |_, _| Ok(None))?;
        let outputs = rebuild(&outputs, &mut known, |_, _| Ok(None))?;
        Ok((States { shared, inputs, next }, outputs))
    }
}
