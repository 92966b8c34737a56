//! Verification of a Simulator.

use super::Simulator;
use crate::engine::verify::{Check, Verification, verify_in};
use crate::error::Result;
use crate::function::{Args, IntoArgs};

impl Simulator {
    /// Runs the first method on the device and by its reference, `steps` times from the Simulator's current
    /// state, and compares outputs and state; on a mismatch, finds the first node that differs. It works on
    /// copies, in the same contexts: the Simulator and its parents are untouched. See
    /// [`mod@crate::engine::verify`].
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f32>("x");
    /// let sim = function([&x]).output(x.exp().sum(..)).compile_for(&Host::auto())?;
    /// let found = sim.verify(args![vec![0.5f32; 100]], 3)?;
    /// assert!(found.passed(), "{found}");
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments do not fit, or device or reference fail.
    pub fn verify(&self, args: impl IntoArgs<'static>, steps: u64) -> Result<Verification> {
        self.verify_at(0, args.into_args(), steps)
    }

    pub(super) fn verify_at(&self, method: usize, args: Args, steps: u64) -> Result<Verification> {
        let function = &self.methods[method].function;
        let copy = function.fork()?;
        for (cell, copy) in function.cells().iter().zip(copy.cells()) {
            if let Some(position) = self.state_of_cell(cell) {
                copy.set_value(self.executor.read_state(position)?)?;
                copy.set_context(self.executor.context_name(self.executor.part_of(position)));
            }
        }
        verify_in(&copy, self.executor.contexts(), args, Check { steps, ..Check::default() })
    }
}
