//! The benchmark: `workalike bench` as a separate program.
//!
//! ```text
//! cargo run --release -p workalike-benches -- [--device host|opencl|cuda] [--json] [FILE|WORKLOAD]...
//! ```
//!
//! The workloads are those of `cli/src/workloads/`. `run.py` measures them and the peers in one run,
//! `table.py` makes the tables of `docs/performance.md`.

fn main() -> std::process::ExitCode {
    workalike_cli::bench_main()
}
