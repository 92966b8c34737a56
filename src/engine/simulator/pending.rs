//! Calls that are enqueued now and waited for later.

use super::Simulator;
use crate::engine::storage::{DeviceArray, Ticket};
use crate::error::Result;
use crate::function::{ArgsIn, Function, IntoArgs, Outputs};

/// A call in progress; made by [`Simulator::submit`]. Its outputs are its own, and later calls do not change
/// them. Dropping it discards them.
#[derive(Debug)]
pub struct Pending {
    function: Function,
    arrays: Vec<DeviceArray>,
    ticket: Ticket,
}

impl Simulator {
    /// Enqueues a call of the first method and returns at once, as far as the device allows: the host can
    /// prepare the next call while the device works. Calls run in the order in which they were submitted. A
    /// method in several [`contexts`](crate::engine::contexts) that has updates is waited for here: its new
    /// values are stored on all devices or on none. A stage is also waited for if the host has to copy its
    /// result to another device. An error is then this function's.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (x, total) = (scalar::<f64>("x"), shared("total", 0f64));
    /// let f = function([&x]).output(&total + &x).update(&total, &total + &x).compile()?;
    /// let mut sim = f.optimize(Host::auto())?;
    /// let pending: Vec<_> = (1..=4).map(|x| sim.submit(args![f64::from(x)])).collect::<Result<_, _>>()?;
    /// let sums = pending.into_iter().map(|p| p.wait()?[0].item::<f64>()).collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(sums, [1.0, 3.0, 6.0, 10.0]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments do not fit, or the call cannot be enqueued. Errors on the device are reported by
    /// [`Pending::wait`].
    pub fn submit<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Pending> {
        self.submit_at(0, args.into_args())
    }

    pub(super) fn submit_at(&mut self, method: usize, args: ArgsIn<'_>) -> Result<Pending> {
        // Errors of earlier calls are not this call's.
        self.executor.check_status(method)?;
        let (run, mut arrays) = self.run_owned(method, args)?;
        let ticket = self.executor.ticket(run)?;
        ticket.watch(&mut arrays);
        Ok(Pending { function: self.methods[method].function.clone(), arrays, ticket })
    }
}

impl Pending {
    /// Waits, and returns the outputs on the host.
    ///
    /// # Errors
    /// If the device failed, or an index was out of range in this call.
    pub fn wait(self) -> Result<Outputs> {
        self.ticket.check()?;
        let values = self.arrays.iter().map(|array| self.ticket.download(array)).collect::<Result<_>>()?;
        Ok(self.function.outputs_of(values))
    }

    /// Returns the outputs on the device, without waiting. Reading one is an error if the call failed.
    pub fn into_arrays(self) -> Vec<DeviceArray> {
        self.arrays
    }
}
