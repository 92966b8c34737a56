//! workalike (being built)
pub mod error;
pub mod rehost;
pub use workalike_kernels as kernels;
pub use workalike_kernels::dtype;
