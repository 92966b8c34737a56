//! The command `workalike`.

fn main() -> std::process::ExitCode {
    workalike_cli::main()
}
