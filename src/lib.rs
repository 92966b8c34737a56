//! Symbolic tensor functions, portable when saved, re-hosted on a device when run.
//!
//! A person writes a symbolic expression, asks for gradients, and compiles it to a
//! [`Function`](function::Function): a portable, CPU-only object with inputs, outputs, shared variables and
//! updates. It knows nothing of devices, and is saved to one file that loads on every machine. On a machine
//! with a device it is post-processed into a [`Simulator`](engine::Simulator): a new storage map and new
//! device thunks, built from the Function's optimized graph. The Simulator is called like the Function, keeps
//! shared variables on the device between calls, runs N steps without coming back to the host, takes further
//! Functions as methods over the same state, and syncs it back. The simulator is a *work-alike* of the
//! function.
//!
//! ```
#![doc = include_str!("../examples/tour.rs")]
//! ```
//!
//! Where to look next:
//! - expressions: [`graph`], [`ops`], [`grad`](mod@grad);
//! - compiling and calling: [`function`], [`rewrite`];
//! - files: [`format`](mod@format); NumPy's: [`npy`], [`npz`];
//! - training: [`optimizers`] and their [`schedules`], [`initializers`], [`losses`], [`layers`];
//! - ops of a program's own: [`ops::Op`], [`lower`]; its own kernels, in C: [`custom`];
//! - devices: [`device()`] by name, [`engine`] (the engine), [`engine::device`] (what a device must do). The
//!   host device, OpenCL and CUDA are features of this crate: `host` (on by default), `opencl` and `cuda`.

pub mod custom;
pub mod dlpack;
pub mod engine;
pub mod error;
mod fallible;
pub mod format;
pub mod function;
pub mod grad;
pub mod graph;
pub mod initializers;
pub mod layers;
mod list;
pub mod losses;
pub mod lower;
mod memory_report;
pub mod npy;
pub mod npz;
mod op;
pub mod ops;
pub mod optimizers;
pub mod prelude;
pub mod printable;
pub mod rewrite;
pub mod schedules;
mod selector;
pub mod value;

pub use error::{Error, Result};
pub use ops::loops;
pub use selector::{Choice, DEVICE_VARIABLE, Selector, device};
pub use value::Value;
#[cfg(feature = "cuda-any")]
pub use workalike_cuda as cuda;
#[cfg(feature = "host")]
pub use workalike_host as host;
pub use workalike_kernels as kernels;
pub use workalike_kernels::{DType, dtype};
#[cfg(feature = "mpi")]
pub use workalike_mpi as mpi;
#[cfg(feature = "opencl")]
pub use workalike_opencl as opencl;

/// The samples of documents for users, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/serving.md")]
struct Serving;

/// Likewise, for several devices.
#[cfg(doctest)]
#[doc = include_str!("../docs/parallel.md")]
struct Parallel;

/// Likewise, of the pages on training and on simulations.
#[cfg(doctest)]
#[doc = include_str!("../docs/training.md")]
struct Training;

/// See [`Training`].
#[cfg(doctest)]
#[doc = include_str!("../docs/simulation.md")]
struct Simulation;

/// Likewise, for kernels in C; their behaviour is tested by the conformance suite.
#[cfg(all(doctest, feature = "opencl"))]
#[doc = include_str!("../docs/custom-kernels.md")]
struct CustomKernels;

/// The samples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The op of the page for a first one; `tests/documents.rs` checks the excerpts of the source.
#[cfg(doctest)]
#[doc = include_str!("../docs/first-op.md")]
struct FirstOp;

/// The samples of CONTRIBUTING that run; `tests/documents.rs` checks the excerpts of the source.
#[cfg(doctest)]
#[doc = include_str!("../CONTRIBUTING.md")]
struct Contributing;
