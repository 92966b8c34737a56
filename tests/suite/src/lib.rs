//! The conformance suite: what every device must compute, case by case.
//!
//! `cargo test -p workalike-suite --test conformance` runs every case on every device of this host, strictly
//! (no op may fall back to the host), and each again after a save and a load. Names are
//! `DEVICE::FAMILY::CASE`, so `-- softmax` or `-- host::dot` picks some of them, and `-- --list` shows all.
//!
//! - [`cases`]: the cases, one file per family. A [`group::Group`] is many pure cases that share one
//!   Function, and so one Program of a device; a [`stage::Scenario`] is a story with calls, updates and
//!   syncs.
//! - [`devices`]: what there is to run on, and the environment variables that restrict it.
//! - [`tolerance`]: how near is near enough.
//! - [`golden`]: values from NumPy and SciPy, made by `golden/make.py`.
//! - [`data`]: inputs, the same on every host.
//! - [`runner`]: cases times devices, as tests; [`report`]: what they found, as a Markdown file.
//! - [`ops`]: `docs/ops.md`, from the table ([`formula`]), the examples in [`catalogue`] and the names in
//!   `names`.
//! - [`snapshot`]: generated code, for tests that compare it with files.

pub mod cases;
pub mod catalogue;
pub mod data;
pub mod devices;
pub mod formula;
pub mod golden;
pub mod group;
mod names;
pub mod ops;
pub mod report;
pub mod runner;
pub mod snapshot;
pub mod stage;
pub mod tolerance;
pub mod wide;
