//! The conformance suite: the results that every device must compute, case by case.
//!
//! `cargo test -p workalike-suite --test conformance` runs every case on every device of this host, strict
//! (without host nodes), and again after a save and a load. Names are `DEVICE::FAMILY::CASE`, so `-- softmax`
//! or `-- host::dot` selects some of them, and `-- --list` shows all.
//!
//! - [`cases`]: the cases, one file per family. A [`group::Group`] is many pure cases that share one
//!   Function, and so one Program of a device; a [`stage::Scenario`] is a sequence of calls,
//!   updates and syncs.
//! - [`devices`]: the devices of this host, and the environment variables that select some of them.
//! - [`tolerance`]: error bounds.
//! - [`golden`]: values from NumPy and SciPy, made by `golden/make.py`.
//! - [`data`]: inputs, the same on every host.
//! - [`runner`]: a test for each case and device; `workers`: the processes that run them; [`report`]: their
//!   results as a Markdown file.
//! - [`ops`]: `docs/ops.md`, from the table ([`formula`]), the examples in [`catalogue`] and the names in
//!   `names`.
//! - [`snapshot`]: generated code, for tests that compare it with files.

pub mod cases;
pub mod catalogue;
pub mod data;
pub mod devices;
pub mod formula;
mod forward;
pub mod golden;
pub mod group;
mod names;
pub mod ops;
pub mod report;
pub mod runner;
pub mod snapshot;
pub mod stage;
mod times;
pub mod tolerance;
pub mod ulps;
pub mod wide;
mod workers;
