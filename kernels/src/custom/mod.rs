//! Kernels of users: source text with typed signatures, for both device languages.
//!
//! A [`KernelSource`] is text in the [dialect](Language::Dialect), which has the same keywords in OpenCL C
//! and CUDA C++ (see the crate's README), or in one of the two languages. The signatures of its kernels are
//! read from the text, so that arguments can be checked. A [`CustomLaunch`] is a kernel with its grid and its
//! arguments: a [`LibraryOp`](crate::library::LibraryOp) like any other.
//!
//! - `signature`: the parameters of kernels. `source`: the text for a device. `dialect`: the keywords.
//! - `launch`: kernels with arguments, as library ops. `function`: functions of numbers within Nests.
//! - `interpret`: kernels in the dialect in main memory, for the host.
//! - `quote`: the lines that a compiler's log names.

mod dialect;
mod function;
mod interpret;
mod launch;
mod quote;
mod signature;
mod source;

pub use function::{ScalarFunction, is_identifier};
pub use launch::{CustomLaunch, KernelArg, KernelCall, fitted};
pub use quote::with_quotes;
pub use signature::{KernelSignature, Param, ParamKind, SourceError};
pub use source::{KernelSource, Language};
