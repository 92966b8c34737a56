//! The tests of the library's public interface that can share a process, in one binary, since each binary
//! takes seconds to link. Tests that measure the process, or set what is global to it, are files of their own
//! in `tests/`.

#![allow(clippy::unwrap_used)]

mod apply;
mod arrays;
mod batching;
mod calls;
mod checkpoints;
#[path = "../common/mod.rs"]
mod common;
mod complex;
mod convolution;
mod custom_op;
mod debugging;
mod differentiation;
mod eager;
mod errors;
mod fft;
mod files;
mod functions;
mod host_nodes;
mod index_ranges;
mod indexing;
mod input_state;
mod integers;
mod jacobians;
mod linalg;
mod loops;
mod npz;
mod numpy;
mod optimizers;
mod places;
mod pooling;
mod probes;
mod products;
mod random;
mod regressions;
mod steps;
mod sums;
mod sync;
mod tour;
mod training;
mod verify;
mod wrong_calls;
