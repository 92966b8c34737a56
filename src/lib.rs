//! Symbolic tensor functions, portable when saved, re-hosted on a device when run.
//!
//! A person writes a symbolic expression, asks for gradients, and compiles it to a [`Function`](function::Function): a portable, CPU-only
//! object with inputs, outputs, shared variables and updates. It knows nothing of devices, and is saved to one file that loads on
//! every machine. On a machine with a device it is post-processed into a [`Simulator`](rehost::Simulator): a new storage map and new device
//! thunks, built from the Function's optimized graph. The Simulator is called like the Function, keeps shared variables on the device
//! between calls, runs N steps without coming back to the host, takes further Functions as methods over the same state, and
//! syncs it back. The simulator is a *work-alike* of the function.
//!
//! ```
#![doc = include_str!("../examples/tour.rs")]
//! ```
//!
//! Where to look next:
//! - expressions: [`graph`], [`ops`], [`grad`](mod@grad);
//! - compiling and calling: [`function`], [`rewrite`];
//! - files: [`format`](mod@format); NumPy's: [`npy`], [`npz`];
//! - training: [`optimizers`], [`initializers`];
//! - devices: [`rehost`] (the engine), [`host`] (the embedded device); `workalike-opencl` and `workalike-cuda` bring theirs.

mod atomic_file;
pub mod error;
mod fallible;
pub mod format;
pub mod function;
pub mod grad;
pub mod graph;
pub mod host;
pub mod initializers;
pub mod npy;
pub mod npz;
pub mod ops;
pub mod optimizers;
pub mod prelude;
pub mod printable;
pub mod rehost;
pub mod rewrite;
pub mod value;

pub use error::{Error, Result};
pub use value::Value;
pub use workalike_kernels as kernels;
pub use workalike_kernels::DType;
pub use workalike_kernels::dtype;

/// The samples of documents for users, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/serving.md")]
struct Serving;
