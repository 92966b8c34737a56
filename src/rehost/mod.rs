//! The engine: a Function's optimized graph becomes a Simulator on a device. Written once for all devices.
//!
//! ```text
//! FunctionGraph --shapes--> extents --lower--> Program --fuse--> Program --memory--> layout --record--> Segments
//! ```
//!
//! - [`Backend`]: Function to callable; the open seam, which a stranger's crate may implement without this
//!   engine.
//! - [`device`]: what our engine needs of a device, in a crate below this one.
//! - [`cost`]: what a step must move and compute. `dependences`: which steps depend on which.
//! - [`Simulator`]: the callable that the engine makes.
//! - [`shapes`](crate::graph::shapes), `crate::lower`, `fuse`, `inplace`, `memory`: the way to a
//!   [`program::Program`], each a pure function.
//! - [`cost`]: what a Program asks of a device; `sim.plan(..)` shows it.
//! - [`verify`](mod@verify): a Function on a device against its reference, and the node at which they part.
//! - `engine`: state, arena, recordings; what runs a Program.

mod commit;
pub mod cost;
mod dependences;
mod engine;
mod fuse;
mod inplace;
pub mod memory;
#[cfg(test)]
mod scale;
mod simulator;
pub mod verify;

pub use crate::lower::program;
pub use engine::{DeviceArray, PoolReport};
pub(crate) use engine::{Engine, Fed, Loop, StateBinding, Twins};
pub use simulator::{
    Borrowed, BorrowedArray, BufferPlan, Keep, KernelTime, MethodHandle, OperandPlan, Pending, Plan, Probe,
    Probed, Profile, Simulator, StepPlan, Typed, TypedArray, TypedTuple,
};
pub use workalike_device as device;
pub use workalike_device::{Open, Options, Sizes, Tuned};

use crate::error::Result;
use crate::function::Function;

/// Where a Function can be re-hosted: `f.optimize(backend)` is `backend.rehost(&f)`.
///
/// All that is asked of the result is in its name: a callable that computes the right thing, and syncs shared
/// variables back to the Function it was made from. Our own backends (`Host`, `OpenCl`, `Cuda`) give a
/// [`Simulator`].
pub trait Backend {
    /// What it makes.
    type Simulator;

    /// A work-alike of `function`.
    ///
    /// # Errors
    /// If the device is missing or cannot run the Function; the Function is untouched.
    fn rehost(&self, function: &Function) -> Result<Self::Simulator>;
}

impl<O: Open> Backend for O {
    type Simulator = Simulator;

    fn rehost(&self, function: &Function) -> Result<Simulator> {
        Simulator::new(function, self.open()?, self.options())
    }
}

macro_rules! backend_behind {
    ($($pointer:ty),*) => { $(
        impl<S> Backend for $pointer {
            type Simulator = S;

            fn rehost(&self, function: &Function) -> Result<S> {
                (**self).rehost(function)
            }
        }
    )* };
}
backend_behind!(
    &dyn Backend<Simulator = S>,
    Box<dyn Backend<Simulator = S>>,
    Box<dyn Backend<Simulator = S> + Send + Sync>
);
