//! The end of a program: error messages and exit codes.

use crate::report::{Result, complain, say};
use clap::error::ErrorKind;
use std::process::ExitCode;

/// The exit code of a command that ran; its error is printed to stderr.
pub fn ended(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            complain(&format!("error: {failure}"));
            ExitCode::FAILURE
        }
    }
}

/// The exit code if the arguments are refused. Help and version are printed to stdout; any other parse error
/// is one paragraph on stderr.
pub fn refused(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match say(text.trim_end()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            complain(text.trim_end());
            ExitCode::from(2)
        }
        _ => {
            let end =
                ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|mark| text.find(mark)).min();
            let message = text[..end.unwrap_or(text.len())].split_whitespace().collect::<Vec<_>>().join(" ");
            complain(&format!("{message}; `workalike --help` and `workalike COMMAND --help` tell more"));
            ExitCode::from(2)
        }
    }
}
