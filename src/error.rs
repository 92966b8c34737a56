//! Every error of the library. Each names what failed, what was expected and given, where, and what to do.

use workalike_kernels::DType;
use workalike_kernels::custom::SourceError;
// Messages hold names, which come from files.
pub use crate::graph::Place;
use crate::memory_report::MemoryReport;
use crate::printable::printable_lines as shown;
use std::path::{Path, PathBuf};
use std::{fmt, io};
pub use workalike_device::error::{ArgumentError, DeviceError};
use workalike_device::group::GroupError;

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that can go wrong. `Debug` prints its text, as `Display` does: that is what a `main` that returns
/// [`Result`] prints, and `unwrap`.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An ill-typed expression: wrong rank, dtype or static shape.
    #[error("{op}: {message} (written at {place})")]
    Expression {
        /// The op or method.
        op: String,
        /// Expected and given.
        message: String,
        /// Where it was written.
        place: Place,
    },
    /// `compile` was asked for something inconsistent.
    #[error("compile: {}", shown(.0))]
    Compile(String),
    /// A call's arguments do not fit the Function.
    #[error("{}: {}", shown(.function), shown(.message))]
    Call {
        /// The Function's name.
        function: String,
        /// Expected and given.
        message: String,
    },
    /// An op failed while running, or during shape inference.
    #[error("{} (node {}): {}", shown(.op), shown(.node), shown(.message))]
    Run {
        /// The op.
        op: String,
        /// The node of the FunctionGraph.
        node: String,
        /// What was wrong, with the shapes.
        message: String,
    },
    /// A value does not have the expected dtype or shape.
    #[error("{}: expected {}, got {}", shown(.what), shown(.expected), shown(.given))]
    Mismatch {
        /// The value.
        what: String,
        /// What was expected.
        expected: String,
        /// What was given.
        given: String,
    },
    /// Shared variables of parent and Simulator, or of two methods, disagree.
    #[error("{}", shown(.0))]
    Sync(String),
    /// A file or byte string is not a workalike file, or is damaged.
    #[error("{}: {}", shown(.what), shown(.message))]
    Format {
        /// The file, or "bytes".
        what: String,
        /// What is wrong with it.
        message: String,
    },
    /// The operating system refused a file operation.
    #[error("{path}: {message}")]
    File {
        /// The path.
        path: PathBuf,
        /// The system's message.
        message: String,
    },
    /// The Simulator is strict, and some op has no device form.
    #[error("strict: {}", shown(.0))]
    Strict(String),
    /// A device has no memory for a call, even after idle memory was freed. The Simulator stays usable.
    #[error("{error}\n{plan}")]
    OutOfMemory {
        /// The device's message.
        error: DeviceError,
        /// Memory that the call needs, and memory that is held.
        plan: Box<MemoryReport>,
    },
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// This process could not become a member of a group.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// An invariant of the library does not hold; please report it.
    #[error("internal error, please report it: {}", shown(.0))]
    Internal(String),
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Error {
        Error::Compile(format!("kernel source, {error}"))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// A [`Error::Mismatch`].
    pub fn mismatch(what: impl Into<String>, expected: impl Into<String>, given: impl Into<String>) -> Error {
        Error::Mismatch { what: what.into(), expected: expected.into(), given: given.into() }
    }

    /// A [`Error::File`] at this path.
    pub(crate) fn of_file(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
        |error| Error::File { path: path.into(), message: error.to_string() }
    }

    /// Whether a call that failed with this may have changed shared variables: the device may have failed
    /// half-way. Any other error leaves them as they were before the call.
    pub(crate) fn may_change_state(&self) -> bool {
        matches!(self, Error::Device(_) | Error::OutOfMemory { .. } | Error::Internal(_))
    }

    /// The error of an op in a call that changed nothing, which the message then says.
    pub(crate) fn in_unchanged_call(self) -> Error {
        match self {
            Error::Run { op, node, message } => {
                Error::Run { op, node, message: format!("{message}; the call changed nothing") }
            }
            other => other,
        }
    }
}

/// A shape in NumPy's notation: `(2, 3)`, `(5,)`, `()`.
pub fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// dtype and shape in one word: `float32(2, 3)`.
pub fn array_text(dtype: DType, shape: &[usize]) -> String {
    format!("{dtype}{}", shape_text(shape))
}
