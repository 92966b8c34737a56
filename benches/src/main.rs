//! The benchmark: `workalike bench` as a separate program.
//!
//! ```text
//! cargo run --release -p workalike-benches -- [--device host|opencl|cuda] [--json] [FILE|WORKLOAD]...
//! cargo run --release -p workalike-benches -- --cudarc
//! ```
//!
//! The workloads are those of `cli/src/workloads/`. `run.py` measures them and the peers in one run, of which
//! cudarc is one; `table.py` makes the tables of `docs/performance.md`.

mod cudarc;

use std::process::ExitCode;

fn main() -> ExitCode {
    if !std::env::args().skip(1).eq(["--cudarc"]) {
        return workalike_cli::bench_main();
    }
    match cudarc::rows() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
