//! Memory of a Simulator, on its device and on the host, and what outlives a call.
//!
//! | module | content |
//! |---|---|
//! | `context` | [`EngineContext`]: device, shared variables, arena and pools of all methods |
//! | `array` | [`DeviceArray`], and the arguments that a call takes for an input |
//! | `state` | the memory of a shared variable |
//! | `device_pool`, `host_pool` | memory for results, lent and taken back; `free_list`: what is idle |
//! | `transfers` | several small arrays in one copy |
//! | `outcome` | status words, and whether the calls that wrote them failed |
//! | `specialist` | the thread that compiles kernels for one size |

mod array;
mod context;
mod device_pool;
mod free_list;
mod host_pool;
mod outcome;
mod specialist;
mod state;
mod transfers;

pub use array::DeviceArray;
pub(crate) use array::{CallInput, KnownBounds, byte_size, download};
pub(crate) use context::EngineContext;
pub(crate) use device_pool::{DevicePool, PooledMemory, is_same};
pub(crate) use host_pool::{HostPool, ResultBlock};
pub(crate) use outcome::{
    CallOutcome, STATUS_BYTES, StageOrigin, Status, Ticket, Trouble, Watch, renumbered,
};
pub(crate) use specialist::CompileOutcome;
pub(crate) use state::{State, StateBinding};
pub(crate) use transfers::{PackedTransfer, contiguous_bytes, transfers};
