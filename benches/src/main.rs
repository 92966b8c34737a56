//! The benchmark: `workalike bench` as a separate program.
//!
//! ```text
//! cargo run --release -p workalike-benches -- [--device host|opencl|cuda] [--json] [FILE|WORKLOAD]...
//! cargo run --release -p workalike-benches -- --cudarc
//! ```
//!
//! The workloads, and how they are measured, are in `harness/`. `run.py` measures them and the peers in one
//! run, of which cudarc is one; `table.py` makes the tables of `docs/performance.md`.

mod cudarc;

use clap::Parser;
use std::process::ExitCode;
use workalike_cli_common::exit::{ended, refused};
use workalike_harness::{Bench, bench};

/// Checks and times saved files and built-in workloads.
#[derive(Parser)]
#[command(name = "workalike-benches", version)]
struct Benches {
    #[command(flatten)]
    bench: Bench,
}

fn main() -> ExitCode {
    if !std::env::args().skip(1).eq(["--cudarc"]) {
        return match Benches::try_parse() {
            Ok(benches) => ended(bench(&benches.bench, &[])),
            Err(error) => refused(&error),
        };
    }
    match cudarc::rows() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
