//! Output of a command: results on stdout, errors in one paragraph on stderr.
//!
//! A closed pipe ends neither the command nor its work.

use std::fmt;
use std::io::{self, Write};
pub use workalike::printable::printable;
use workalike::printable::{escaped_json, printable_lines};

/// The result of a command.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error message, with its causes.
#[derive(Debug, PartialEq)]
pub struct Failure(String);

impl Failure {
    /// A failure with this message.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure(message.into())
    }
}

impl fmt::Display for Failure {
    /// Formats as one paragraph; text from files and drivers is shown without control characters and empty
    /// lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.0.lines().map(str::trim_end).filter(|line| !line.is_empty());
        f.write_str(&lines.map(printable).collect::<Vec<_>>().join("\n"))
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            cause = error.source();
        }
        Failure(message)
    }
}

/// Adds context to an error.
pub trait ErrorContext<T> {
    /// Puts `what` and a colon before the message.
    ///
    /// # Errors
    /// If the result is one.
    fn during(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: Into<Failure>> ErrorContext<T> for Result<T, E> {
    fn during(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure(format!("{what}: {}", error.into().0)))
    }
}

/// Prints lines to stdout, without terminal control characters.
///
/// # Errors
/// If stdout cannot be written, unless its reader has closed it.
pub fn say(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{}", printable_lines(text)).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).during("stdout"),
        _ => Ok(()),
    }
}

/// Prints JSON to stdout.
///
/// # Errors
/// Those of [`say`].
pub fn say_json(json: &str) -> Result<()> {
    say(&escaped_json(json))
}

/// Prints lines to stderr, without terminal control characters. Errors are ignored, as they could not be
/// reported.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable_lines(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_paragraph_with_its_causes() {
        let io = io::Error::other("disk on fire");
        let failure = Err::<(), _>(io).during("x.npy").unwrap_err();
        assert_eq!(failure.to_string(), "x.npy: disk on fire");
        assert_eq!(Failure::new("a\n\n\nb\u{1b}[31m").to_string(), "a\nb\u{fffd}[31m");
    }
}
