//! The engine: a Function's optimized graph becomes a Simulator on a device. Written once for all devices.
//!
//! ```text
//! FunctionGraph --shapes--> extents --lower--> Program --fuse--> Program --memory--> layout --record--> Segments
//! ```
//!
//! - [`Backend`]: Function to callable; the open seam, which a stranger's crate may implement without this engine.
//! - [`device`]: what our engine needs of a device. [`command_check`]: what every device checks of its arguments.
//! - [`cost`]: what a step must move and compute.
//! - [`cache`]: compiled kernels, kept on disk.
//! - [`Simulator`]: the callable that the engine makes.
//! - `shapes`, `lower`, `fuse`, `inplace`, `memory`: the way to a [`program::Program`], each a pure function.
//! - [`cost`]: what a Program asks of a device; `sim.plan(..)` shows it.
//! - [`verify`](mod@verify): a Function on a device against its reference, and the node at which they part.
//! - `engine`: state, arena, recordings; what runs a Program.

pub mod cache;
pub mod command_check;
mod commit;
pub mod cost;
pub mod device;
mod engine;
mod fuse;
mod index_check;
mod inplace;
mod lower;
pub mod memory;
pub mod program;
mod reports;
#[cfg(test)]
mod scale;
pub mod shapes;
mod simulator;
pub mod verify;
mod view;

pub use engine::{DeviceArray, Options, PoolReport, Sizes};
pub(crate) use engine::{Engine, Fed, Loop, StateBinding, Twins};
pub use simulator::{
    Borrowed, BorrowedArray, BufferPlan, Keep, KernelTime, OperandPlan, Pending, Plan, Probe, Probed,
    Profile, Simulator, StepPlan, Tuned, Typed, TypedArray, TypedTuple,
};

use crate::error::Result;
use crate::function::Function;
use device::Device;
use std::sync::Arc;

/// Where a Function can be re-hosted: `f.optimize(backend)` is `backend.rehost(&f)`.
///
/// All that is asked of the result is in its name: a callable that computes the right thing, and syncs shared variables
/// back to the Function it was made from. Our own backends (`Host`, `OpenCl`, `Cuda`) give a [`Simulator`].
pub trait Backend {
    /// What it makes.
    type Simulator;

    /// A work-alike of `function`.
    ///
    /// # Errors
    /// If the device is missing or cannot run the Function; the Function is untouched.
    fn rehost(&self, function: &Function) -> Result<Self::Simulator>;
}

/// A backend that opens a [`Device`] for our engine. Implement it and [`Backend`] follows, for references, `Box` and `Arc` too.
///
/// A backend that is chosen at run time is a `Box<dyn Open>`:
///
/// ```
/// use workalike::prelude::*;
/// let x = vector::<f32>("x");
/// let f = function([&x]).output(&x + 1.0).compile()?;
/// let checked = true;
/// let backend: Box<dyn Open> = if checked { Box::new(Host::auto().strict()) } else { Box::new(Host::auto()) };
/// let mut sim = f.optimize(&backend)?;
/// assert_eq!(sim.call(args![vec![1f32]])?[0].to_vec::<f32>()?, [2.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
pub trait Open {
    /// A device with a stream of its own.
    ///
    /// # Errors
    /// What is missing, and what to do.
    fn open(&self) -> Result<Arc<dyn Device>>;

    /// How Functions are re-hosted on it, unless [`Open::strict`] and its like say otherwise.
    fn options(&self) -> Options {
        Options::default()
    }

    /// This backend, where an op without a device form is an error rather than a host node.
    fn strict(self) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).strict()
    }

    /// This backend, where the shapes of the first call hold for all: another shape is an error that names the input.
    fn fixed_size(self) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).fixed_size()
    }

    /// This backend, for shapes that change often: see [`Sizes::Dynamic`].
    fn dynamic(self) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).dynamic()
    }

    /// This backend, which may give the last bits for speed or not: see [`Tuned::fast_math`].
    fn fast_math(self, fast: bool) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).fast_math(fast)
    }

    /// This backend, which gives the same bits in each run or not: see [`Tuned::deterministic`].
    fn deterministic(self, deterministic: bool) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).deterministic(deterministic)
    }

    /// This backend with other options.
    fn with_options(self, options: Options) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::new(self, options)
    }
}

/// The stream of work of another Simulator: `g.optimize(sim.device().clone())`. Both then take each other's device arrays as they are.
impl Open for Arc<dyn Device> {
    fn open(&self) -> Result<Arc<dyn Device>> {
        Ok(self.clone())
    }
}

macro_rules! open_behind {
    ($($pointer:ty),*) => { $(
        impl<O: Open + ?Sized> Open for $pointer {
            fn open(&self) -> Result<Arc<dyn Device>> {
                (**self).open()
            }

            fn options(&self) -> Options {
                (**self).options()
            }
        }
    )* };
}
open_behind!(&O, Box<O>, Arc<O>);

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
    Box<dyn Backend<Simulator = S> + Send + Sync>,
    Arc<dyn Backend<Simulator = S> + Send + Sync>
);
