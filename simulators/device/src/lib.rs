//! The interface between workalike's engine and a device.
//!
//! - [`Device`]: the trait of devices, which know no graphs. [`Command`]: one step of a recording.
//! - [`Open`]: selects a device; [`Options`] and [`Tuned`]: how Functions are re-hosted on it.
//! - [`Interpreter`]: the smallest device, as an example. [`Failing`]: one that fails on purpose.
//! - [`command_check`]: the checks of arguments that every device makes.
//! - [`host_memory`]: main memory, which values, shared variables and the host device share.
//! - [`Builds`]: compiled kernels in memory; [`cache`]: on disk; [`atomic_file`]: atomic writing of files.
//! - [`group`]: members that run copies of one Function, and exchange arrays.
//! - [`NativeDevice`], [`NativeMemory`]: the driver's own objects, for other libraries.
//! - [`error`]: errors of devices.
//!
//! The crate of another device depends on this crate and on `workalike-kernels`, and on no other crate of the
//! workspace.

pub mod atomic_file;
mod build_cache;
pub mod cache;
pub mod command;
pub mod command_check;
mod configured_backend;
pub mod device;
pub mod error;
mod fault_injection;
pub mod group;
pub mod host_memory;
mod interpreter;
mod native;
mod open;

pub use crate::build_cache::Builds;
pub use crate::configured_backend::Tuned;
pub use crate::fault_injection::Failing;
pub use command::{Command, LibraryOutput, Region};
pub use command_check::operand_bytes;
pub use device::{
    Device, DeviceModule, DeviceResult, Memory, Numerics, Properties, Recording, definition_failed,
};
pub use error::{ArgumentError, DeviceError};
pub use host_memory::{HostBlock, HostBytes, HostMemory};
pub use interpreter::Interpreter;
pub use native::{NativeDevice, NativeMemory, Owner};
pub use open::{Open, Options, Sizes};
pub use workalike_kernels::library::{ByteMatmul, LibraryOp, Matmul};
