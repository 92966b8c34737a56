//! [`Scanned`]: the results of a loop.

use crate::error::Error;
use crate::graph::Variable;
use crate::graph::source_location;
use crate::ops::index_expression::Ix;
use crate::ops::methods::fail;

/// The results of a loop.
#[derive(Clone, Debug)]
#[must_use]
pub struct Scanned {
    /// Of each recurrence, the values before the first iteration and after each.
    pub(super) traces: Vec<Variable>,
    depths: Vec<usize>,
    pub(super) stacked: Vec<Variable>,
    /// The last value of each recurrence, where it is known apart from the others.
    ends: Option<Vec<Variable>>,
    steps: Variable,
}

impl Scanned {
    pub(super) fn new(
        traces: Vec<Variable>,
        depths: Vec<usize>,
        stacked: Vec<Variable>,
        steps: Variable,
    ) -> Scanned {
        Scanned { traces, depths, stacked, ends: None, steps }
    }

    /// The same results, with the last values from elsewhere.
    pub(super) fn ending(self, ends: Vec<Variable>) -> Scanned {
        Scanned { ends: Some(ends), ..self }
    }

    pub(super) fn poisoned(error: &Error, recurrences: usize) -> Scanned {
        let poison = Variable::poison(error.clone());
        Scanned {
            traces: vec![poison.clone(); recurrences],
            depths: vec![1; recurrences],
            stacked: vec![poison.clone()],
            ends: None,
            steps: poison,
        }
    }

    /// The values of a recurrence after each iteration.
    #[track_caller]
    #[must_use]
    pub fn history(&self, recurrence: usize) -> Variable {
        let _scope = source_location::enter();
        let histories = self.clone().histories();
        histories.get(recurrence).cloned().unwrap_or_else(|| self.missing("recurrence", recurrence))
    }

    /// A result that is not carried, of each iteration.
    #[track_caller]
    #[must_use]
    pub fn result(&self, position: usize) -> Variable {
        let _scope = source_location::enter();
        let poisoned = self.traces.first().filter(|trace| trace.checked().is_err());
        let found = self.stacked.get(position).or(poisoned);
        found.cloned().unwrap_or_else(|| self.missing("result", position))
    }

    /// The value of a recurrence after the last iteration.
    #[track_caller]
    #[must_use]
    pub fn last_of(&self, recurrence: usize) -> Variable {
        let _scope = source_location::enter();
        let last = self.clone().last();
        last.get(recurrence).cloned().unwrap_or_else(|| self.missing("recurrence", recurrence))
    }

    /// The number of iterations, a 0-d int64.
    #[must_use]
    pub fn iterations(&self) -> Variable {
        self.steps.clone()
    }

    fn missing(&self, what: &str, position: usize) -> Variable {
        let (recurrences, results) = (self.traces.len(), self.stacked.len());
        Variable::poison(fail(
            "scan",
            format!(
                "there is no {what} {position}: the loop has {recurrences} recurrences and {results} other results"
            ),
        ))
    }

    /// The history of each recurrence.
    pub(in crate::ops::loops) fn histories(self) -> Vec<Variable> {
        let after = |(trace, depth): (&Variable, &usize)| trace.index([Ix::from(*depth as i64..)]);
        self.traces.iter().zip(&self.depths).map(after).collect()
    }

    /// The last value of each recurrence.
    pub(in crate::ops::loops) fn last(self) -> Vec<Variable> {
        let last = || self.traces.iter().map(|trace| trace.index([Ix::from(-1i64)])).collect();
        self.ends.clone().unwrap_or_else(last)
    }

    /// The results that are not carried.
    pub(in crate::ops::loops) fn stacked(self) -> Vec<Variable> {
        self.stacked
    }
}
