//! The body of a scan: a sub-graph whose inputs and outputs have roles.

use super::super::closed::Closed;
use crate::error::Result;
use crate::graph::{FunctionGraph, Variable};
use crate::ops::methods::fail;
use std::sync::Arc;

/// Iterations that a recurrence may look back, at most.
pub(super) const MOST_LAG: usize = 1 << 16;

/// What one iteration computes.
///
/// Its inputs are a slice of each sequence, the taps of each recurrence in order, then the constants. Its
/// outputs are the new value of each recurrence, then what is stacked.
#[derive(Clone, Debug)]
pub(in crate::ops::loops) struct ScanBody {
    pub(super) name: String,
    pub(super) sequences: usize,
    /// For each recurrence the iterations that its taps look back, each at least 1.
    pub(in crate::ops::loops) lags: Vec<Vec<usize>>,
    pub(super) closed: Closed,
}

/// Which input of the body something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyInput {
    Sequence(usize),
    /// The recurrence, and how far the tap looks back.
    Tap(usize, usize),
    Constant(usize),
}

impl ScanBody {
    /// A body of Variables, whose `inputs` are all that it depends on.
    pub(super) fn new(
        name: &str,
        sequences: usize,
        lags: Vec<Vec<usize>>,
        inputs: Vec<Variable>,
        outputs: Vec<Variable>,
    ) -> Result<ScanBody> {
        let body =
            Closed::new(inputs, outputs)?.and_then(|closed| ScanBody::of(name, sequences, lags, closed));
        body.map_err(|message| fail(name, message))
    }

    /// A body of a flat graph.
    ///
    /// # Errors
    /// If the parts do not fit the graph; a carried value changes its type; a shape depends on a value that
    /// changes.
    pub(super) fn stored(
        name: &str,
        sequences: usize,
        lags: Vec<Vec<usize>>,
        graph: Arc<FunctionGraph>,
    ) -> Result<ScanBody, String> {
        ScanBody::of(name, sequences, lags, Closed::stored(graph)?)
    }

    fn of(name: &str, sequences: usize, lags: Vec<Vec<usize>>, closed: Closed) -> Result<ScanBody, String> {
        let taps: usize = lags.iter().map(Vec::len).sum();
        let fits = sequences.checked_add(taps).is_some_and(|n| n <= closed.graph.inputs.len());
        if !fits || lags.len() > closed.graph.outputs.len() {
            return Err("the parts of the body are not as many as its inputs and outputs".into());
        }
        let far = |list: &Vec<usize>| list.is_empty() || list.iter().any(|lag| !(1..=MOST_LAG).contains(lag));
        if lags.iter().any(far) {
            return Err(format!("a recurrence reads values of 1 to {MOST_LAG} iterations before"));
        }
        let body = ScanBody { name: name.into(), sequences, lags, closed };
        for (position, part) in body.parts().enumerate() {
            if let BodyInput::Tap(recurrence, _) = part {
                body.closed.check_carried(position, recurrence, &body.recurrence_name(recurrence))?;
            }
        }
        body.closed.check_shapes(|input| !matches!(body.part(input), BodyInput::Constant(_)))?;
        Ok(body)
    }

    /// What each input is.
    pub(super) fn parts(&self) -> impl Iterator<Item = BodyInput> + '_ {
        let taps = self
            .lags
            .iter()
            .enumerate()
            .flat_map(|(r, lags)| lags.iter().map(move |&lag| BodyInput::Tap(r, lag)));
        let front = (0..self.sequences).map(BodyInput::Sequence).chain(taps);
        let constants = self.constants();
        front.chain((0..constants).map(BodyInput::Constant))
    }

    fn part(&self, input: usize) -> BodyInput {
        // Inputs beyond the others are constants.
        self.parts().nth(input).unwrap_or(BodyInput::Constant(input))
    }

    /// The position of the first constant among the inputs.
    pub(super) fn first_constant(&self) -> usize {
        self.sequences + self.lags.iter().map(Vec::len).sum::<usize>()
    }

    /// The number of constants.
    pub(super) fn constants(&self) -> usize {
        self.closed.graph.inputs.len() - self.first_constant()
    }

    /// How many values before the first iteration a recurrence reads.
    pub(super) fn depth(&self, recurrence: usize) -> usize {
        self.lags[recurrence].iter().copied().max().unwrap_or(1)
    }

    /// How messages name a recurrence.
    pub(super) fn recurrence_name(&self, recurrence: usize) -> String {
        let tap = self.parts().position(|part| matches!(part, BodyInput::Tap(r, _) if r == recurrence));
        tap.and_then(|tap| self.closed.input_name(tap))
            .map_or_else(|| format!("carried value {recurrence}"), |name| format!("the carried value {name}"))
    }
}
