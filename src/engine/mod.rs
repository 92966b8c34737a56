//! The engine: a Function's optimized graph becomes a Simulator on a device. Written once for all devices.
//!
//! ```text
//! FunctionGraph --shapes--> extents --lower--> Program --fuse--> Program
//!               --memory--> layout --record--> Segments
//! ```
//!
//! - [`Backend`]: from Function to callable; the extension point, which another crate may implement without
//!   this engine.
//! - [`device`]: the interface of devices to the engine, in a crate below this one.
//! - [`cost`]: the predicted work of a step and of a Program; `sim.plan(..)` prints it. `dependences`: which
//!   steps depend on each other.
//! - [`Simulator`]: the callable that the engine makes.
//! - [`shapes`](crate::graph::shapes), `crate::lower`, `fuse`, `inplace`, `commit`, `memory`: the stages to a
//!   [`program::Program`] and its layout, each a pure function.
//! - [`verify`](mod@verify): a Function on a device against its reference, and the first node that differs.
//! - Programs on one device, from above to below: `run` executes calls, `plan` keeps a method's Programs,
//!   `record` binds them to memory, `compile` makes them, `storage` is the memory that they share.
//! - `executor`: methods on one device or on several.
//! - [`contexts`]: one Function on several devices. [`member`]: copies of one Function on several devices,
//!   which exchange arrays; [`group`]: all of them as one callable. `division`: whether they divide a call.

mod commit;
mod compile;
mod contexts;
pub mod cost;
mod dependences;
mod device_view;
mod division;
mod executor;
mod fuse;
mod group;
mod inplace;
mod members;
pub mod memory;
mod plan;
mod record;
mod run;
#[cfg(test)]
mod scale;
mod simulator;
mod storage;
pub mod verify;

pub use crate::lower::program;
pub use crate::memory_report::PoolReport;
pub use contexts::{Contexts, contexts};
pub use device_view::DeviceView;
pub use group::{GroupSimulator, LocalGroup, group};
pub use members::{Member, member};
pub(crate) use run::{Engine, IterationLoop, Twins};
pub use simulator::{
    BodyPlan, Borrowed, BorrowedArray, BufferPlan, Keep, KernelTime, MethodHandle, OperandPlan, Pending,
    Plan, Probe, Probed, Profile, Simulator, StepPlan, Typed, TypedArray, TypedTuple,
};
pub use storage::DeviceArray;
pub(crate) use storage::{CallInput, StateBinding};
pub use workalike_device as device;
pub use workalike_device::{Failing, Open, Options, Sizes, Tuned};

use crate::error::Result;
use crate::function::Function;

/// Where a Function can be re-hosted: `f.optimize(backend)` is `backend.optimize(&f)`.
///
/// The result is a callable that computes the same as the Function, and syncs shared variables back to the
/// Function it was made from. The backends of this library (`Host`, `OpenCl`, `Cuda`, [`contexts`]) return a
/// [`Simulator`].
pub trait Backend {
    /// The callable that it makes.
    type Simulator;

    /// Makes a callable that computes the same as `function`.
    ///
    /// # Errors
    /// If the device is missing or cannot run the Function; the Function is untouched.
    fn optimize(&self, function: &Function) -> Result<Self::Simulator>;
}

impl<O: Open> Backend for O {
    type Simulator = Simulator;

    fn optimize(&self, function: &Function) -> Result<Simulator> {
        Simulator::new(function, self.open()?, self.options())
    }
}

macro_rules! backend_behind {
    ($($pointer:ty),*) => { $(
        impl<S> Backend for $pointer {
            type Simulator = S;

            fn optimize(&self, function: &Function) -> Result<S> {
                (**self).optimize(function)
            }
        }
    )* };
}
backend_behind!(
    &dyn Backend<Simulator = S>,
    Box<dyn Backend<Simulator = S>>,
    Box<dyn Backend<Simulator = S> + Send + Sync>
);
