//! The seam between workalike's engine and a device.
//!
//! - [`Device`]: what a device must do; it knows no graphs. [`Command`]: one step of a recording.
//! - [`Open`]: how a device is chosen; [`Options`] and [`Tuned`]: how Functions are re-hosted on it.
//! - [`Interpreter`]: the smallest device, an example of all that one must do.
//! - [`command_check`]: the checks that every device makes of what it is given.
//! - [`host_memory`]: main memory, which values, shared variables and the host device share.
//! - [`cache`]: compiled kernels, kept on disk; [`atomic_file`]: writing files so that no reader sees a part.
//! - [`error`]: what can go wrong.
//!
//! A crate with a device of its own depends on this crate and on `workalike-kernels`, and on nothing above.

pub mod atomic_file;
pub mod cache;
pub mod command;
pub mod command_check;
pub mod device;
pub mod error;
pub mod host_memory;
mod interpreter;
mod open;
mod tuned;

pub use command::{Command, Region, Target};
pub use command_check::operand_bytes;
pub use device::{Device, DeviceResult, Memory, Module, Numerics, Properties, Recording, definition_failed};
pub use error::{ArgumentError, DeviceError};
pub use host_memory::{HostBlock, HostBytes, HostMemory};
pub use interpreter::Interpreter;
pub use open::{Open, Options, Sizes};
pub use tuned::Tuned;
pub use workalike_kernels::library::{LibraryOp, Matmul};
