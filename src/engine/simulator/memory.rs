//! Memory of a Simulator: what a call needs, what is held, and its release.

use super::Simulator;
use crate::engine::storage::CallInput;
use crate::error::{Error, Result, shape_text};
use crate::function::{ArgsIn, IntoArgs, state_args};
use crate::memory_report::MemoryReport;

impl Simulator {
    /// The memory that a call of the first method with these arguments needs, and the memory that this
    /// Simulator holds. Nothing is run, compiled or allocated. Only shapes matter, unless values decide
    /// shapes: [`of_shape`](crate::function::of_shape) makes arguments that take no memory.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = matrix::<f32>("x");
    /// let f = function([&x]).output((&x * 2.0).dot(&x)).compile()?;
    /// let sim = f.optimize(Host::auto())?;
    /// let report = sim.memory_report(args![of_shape::<f32>(&[1000, 1000])?])?;
    /// assert_eq!((report.inputs, report.outputs), (4_000_000, 4_000_000));
    /// assert!(report.arena >= report.lower_bound);
    /// println!("{report}");
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments do not fit, or shapes in one [context](crate::engine::contexts) depend on a value
    /// that another one computes.
    pub fn memory_report<'a>(&self, args: impl IntoArgs<'a>) -> Result<MemoryReport> {
        self.memory_report_at(0, args.into_args())
    }

    pub(super) fn memory_report_at(&self, method: usize, args: ArgsIn<'_>) -> Result<MemoryReport> {
        self.executor.memory_report(method, &self.planned_for(method, args)?)
    }

    /// Makes the scratch arena, which all methods share, at least this large: calls that need no more do not
    /// reallocate it. Of several contexts, the arena of each.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn reserve(&mut self, bytes: u64) -> Result<()> {
        self.executor.reserve(bytes)
    }

    /// Compiles, records and allocates everything that a call of the first method with these arguments needs,
    /// including results on the device, and runs nothing.
    ///
    /// # Errors
    /// If the arguments do not fit, or the device has no memory for it.
    pub fn reserve_for<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<()> {
        self.reserve_for_at(0, args.into_args())
    }

    pub(super) fn reserve_for_at(&mut self, method: usize, args: ArgsIn<'_>) -> Result<()> {
        let inputs = self.planned_for(method, args)?;
        self.executor.reserve_for(method, &inputs)
    }

    /// The inputs of a call with these arguments, for planning. The plan is made for the current state: a
    /// value for an input that keeps its own must lead to the same plan.
    pub(super) fn planned_for(&self, method: usize, args: ArgsIn<'_>) -> Result<Vec<CallInput>> {
        let function = &self.methods[method].function;
        let (args, given) = state_args(function, args)?;
        for (at, value) in given {
            let state = self.executor.states_of(method)[at];
            let present = &self.executor.state(state).shape;
            let decides = self.executor.value_decides_shapes(method, at);
            if present.as_slice() != value.shape() || (decides && self.executor.read_state(state)? != value) {
                let name = function.cells().get(at).map_or("", |cell| cell.name());
                let (got, present) = (shape_text(value.shape()), shape_text(present));
                let message = format!(
                    "input {name} keeps a value of its own, of shape {present} at present; a plan for another one (of shape {got}) \
                     may differ: set it with set_value first"
                );
                return Err(Error::Call { function: function.name().into(), message });
            }
        }
        Ok(self.call_inputs(method, args, None)?.0)
    }

    /// Frees memory that is not needed at present: memory that results have returned, and an arena larger
    /// than the calls made so far need. Returns the number of bytes of device memory freed. What is needed
    /// again is allocated again.
    pub fn trim(&mut self) -> u64 {
        self.executor.trim()
    }
}
