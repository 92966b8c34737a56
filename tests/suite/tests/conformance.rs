//! Runs every case on every device; see the documentation of the crate.

fn main() -> std::process::ExitCode {
    workalike_suite::runner::main()
}
