//! Calls that are planned, compiled and recorded before they are made.

use super::Simulator;
use crate::error::Result;
use crate::function::IntoArgs;

impl Simulator {
    /// Plans, compiles and records a call of the first method with arguments of these shapes, without running
    /// it. The next such call has nothing to compile. For several shapes, see [`Simulator::warm_up`].
    ///
    /// # Errors
    /// If the arguments do not fit, the device cannot compile the call, or has no memory for it; or if shapes
    /// in one [context](crate::engine::contexts) depend on a value that another one computes.
    pub fn prepare<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<()> {
        self.warm_up_at(0, [args])
    }

    /// [`Simulator::prepare`] for calls of several shapes, before the first request is served. Memory is
    /// allocated once, for the largest. At most as many Programs are kept as signatures: 16, or 64 if the
    /// Simulator is dynamic.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = matrix::<f32>("x");
    /// let f = function([&x]).output(x.sum(1)).compile()?;
    /// let mut sim = f.optimize(Host::auto().dynamic())?;
    /// let rows = |n| of_shape::<f32>(&[n, 10]).map(|x| args![x]);
    /// sim.warm_up([rows(1)?, rows(2)?, rows(64)?])?;
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Simulator::prepare`]. The calls before the one that fails may be prepared.
    pub fn warm_up<'a, A: IntoArgs<'a>>(&mut self, calls: impl IntoIterator<Item = A>) -> Result<()> {
        self.warm_up_at(0, calls)
    }

    pub(super) fn warm_up_at<'a, A: IntoArgs<'a>>(
        &mut self,
        method: usize,
        calls: impl IntoIterator<Item = A>,
    ) -> Result<()> {
        let inputs = calls.into_iter().map(|args| self.planned_for(method, args.into_args()));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        self.executor.warm_up(method, &inputs)
    }
}
