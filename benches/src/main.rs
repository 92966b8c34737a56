//! The benchmark: `workalike bench` as a separate program.
//!
//! ```text
//! cargo run --release -p workalike-benches -- [--device host|opencl|cuda] [--json] [FILE|WORKLOAD]...
//! cargo run --release -p workalike-benches -- --cudarc
//! cargo run --release -p workalike-benches -- --groups 2
//! cargo run --release -p workalike-benches -- --division 2
//! mpirun -n 2 workalike-benches --processes  # built with --features mpi
//! cargo run --release -p workalike-benches -- --scaling
//! ```
//!
//! The workloads, and how they are measured, are in `harness/`. `run.py` measures them and the peers in one
//! run, of which cudarc is one; `groups.py` does it for groups of GPUs. `--processes` has a process for each
//! of them, `--scaling` predicts larger groups, and `--division` measures which steps they should divide;
//! `table.py` makes the tables of `docs/performance.md`.

mod cudarc;
mod division;
mod groups;
mod network;
#[cfg(feature = "mpi")]
mod processes;
mod scaling;

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
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--cudarc"] => cudarc::rows(),
        [mode @ ("--groups" | "--division"), gpus] => match gpus.parse() {
            Ok(gpus) if mode == "--groups" => groups::rows(gpus).map_err(Into::into),
            Ok(gpus) => division::table(gpus).map_err(Into::into),
            Err(error) => Err(format!("{mode} {gpus}: {error}").into()),
        },
        #[cfg(feature = "mpi")]
        ["--processes"] => processes::rows().map_err(Into::into),
        ["--scaling"] => scaling::tables().map_err(Into::into),
        _ => {
            return match Benches::try_parse() {
                Ok(benches) => ended(bench(&benches.bench, &[])),
                Err(error) => refused(&error),
            };
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
