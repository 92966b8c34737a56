//! The computation of one kernel, independent of any device that runs it.
//!
//! - [`custom`]: kernels of users, in a dialect of both languages.
//! - [`dtype`]: element types and NumPy's promotion.
//! - [`scalar`]: one typed constant.
//! - [`ops`]: the table of elementwise ops; an op is one row.
//! - [`nest`]: the [`Nest`](nest::Nest), the one compute step of the engine: axes, phases, scalar SSA, index
//!   maps.
//! - [`bounds`]: index modes as arithmetic, and computed indices that stay within their dimension.
//! - [`verify`]: the well-formedness that every reader of a Nest may assume.
//! - [`cost`]: the memory traffic and flops of a Nest.
//! - [`library`]: products, sorts and other ops for which devices may have special code.
//! - [`interpret`]: the executable definition of a Nest, slow and simple.
//! - [`mod@print`]: Nest to OpenCL C or CUDA C++.
//!
//! The engine (`workalike::engine`) builds and fuses Nests; a simulator crate prints and compiles them.

pub mod bounds;
pub mod cost;
pub mod custom;
pub mod dtype;
pub mod interpret;
pub mod interval;
pub mod level;
pub mod library;
pub mod nest;
pub mod nonzero;
pub mod ops;
pub mod print;
pub mod scalar;
pub mod schedule;
mod target;
pub mod verify;

pub use dtype::{DType, Width};
pub use scalar::Scalar;
