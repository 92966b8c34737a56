//! The benchmark harness: workloads, each checked against the reference and then timed.
//!
//! [`bench()`] is the command `workalike bench`, and the program `workalike-benches` without the rest of the
//! command. `workalike make` writes the [`workloads`] to files.
//!
//! | module | content |
//! |---|---|
//! | `command` | the arguments, the lines to measure, output |
//! | `workloads` | the workloads of the performance table |
//! | `measure` | checking and timing one line |
//! | `compile` | times of the work before a first call: building a graph to lowering it |
//! | `first_result` | times of the first result of a new process |
//! | `kernels` | times of kernels of a program's own |

mod command;
mod compile;
mod first_result;
mod kernels;
mod measure;
pub mod workloads;

pub use command::{Bench, bench};
