//! Functions: compiled, portable, CPU-only callables, and what they are made and called with.
//!
//! - [`function`] starts a [`FunctionBuilder`]; `.compile()` gives a [`Function`].
//! - [`Args`] (made by [`crate::args!`]) and [`Outputs`] are what goes in and comes out.
//! - [`Bundle`] is several named Functions over common shared variables; it is what a file holds.

mod apply;
mod args;
mod builder;
mod bundle;
mod callable;
mod conversion;
mod copy;
mod count;
mod data_parallel;
mod draws;
mod dtype_origin;
mod each;
mod givens;
mod host_args;
mod inputs;
mod interruptible;
mod iterations;
mod load_options;
mod outputs;
mod own_parts;
mod seats;
mod source;

pub use crate::list::{IntoList, Iterable};
pub use apply::{Applied, Given};
pub use args::{Arg, ArgIn, Args, ArgsIn, IntoArgs, of_shape};
pub(crate) use args::{bind, state_args};
pub use builder::{FunctionBuilder, function};
pub use bundle::Bundle;
pub(crate) use callable::CallOptions;
pub use callable::{Function, InputSpec, StateInput};
pub use conversion::Conversion;
pub use count::Count;
pub(crate) use each::slice_of;
pub use each::{EachArg, each};
pub(crate) use host_args::{ArgSignature, HostArg, HostArgs};
pub use inputs::{In, Out};
pub(crate) use interruptible::in_blocks;
pub use load_options::LoadOptions;
pub use outputs::{OutputKey, Outputs};
pub(crate) use own_parts::PartFunction;
pub(crate) use seats::Seats;
