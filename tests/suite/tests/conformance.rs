//! Cases times devices; see the crate's front page.

fn main() -> std::process::ExitCode {
    workalike_suite::runner::main()
}
