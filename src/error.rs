//! Every error of the library. Each names what failed, what was expected and given, where, and what to do.

use crate::dtype::DType;
// Messages hold names, which come from files.
use crate::printable::printable_lines as shown;
use crate::rehost::memory::MemoryReport;
use std::panic::Location;
use std::path::PathBuf;

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where in the user's source an expression was written.
pub type Place = &'static Location<'static>;

/// Anything that can go wrong.
#[derive(Clone, Debug, thiserror::Error)]
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
    /// An op failed while running or while its shapes were worked out.
    #[error("{} (node {}): {}", shown(.op), shown(.node), shown(.message))]
    Run {
        /// The op.
        op: String,
        /// The node of the FunctionGraph.
        node: String,
        /// What was wrong, with the shapes.
        message: String,
    },
    /// A value does not have the dtype or shape that was asked for.
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
        /// What it said.
        message: String,
    },
    /// `.strict()` was asked for, and some op has no device form.
    #[error("strict: {}", shown(.0))]
    Strict(String),
    /// A device has no memory for a call, even after all that is idle was freed. The Simulator stays usable.
    #[error("{error}\n{plan}")]
    OutOfMemory {
        /// What the device said.
        error: DeviceError,
        /// What the call needs, and what is held.
        plan: Box<MemoryReport>,
    },
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The library broke a promise to itself; please report it.
    #[error("internal error, please report it: {}", shown(.0))]
    Internal(String),
}

impl Error {
    /// A [`Error::Mismatch`].
    pub fn mismatch(what: impl Into<String>, expected: impl Into<String>, given: impl Into<String>) -> Error {
        Error::Mismatch { what: what.into(), expected: expected.into(), given: given.into() }
    }

    /// Whether a call that failed with this may have changed shared variables: the device may have failed half-way. Any other
    /// error leaves them as they were before the call.
    pub(crate) fn may_change_state(&self) -> bool {
        matches!(self, Error::Device(_) | Error::OutOfMemory { .. } | Error::Internal(_))
    }
}

/// What a device or its driver can do to us.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no such device on this host.
    #[error("{device} is not available: {why}. {help}")]
    Missing {
        /// What was asked for, e.g. `cuda:0`.
        device: String,
        /// What is missing.
        why: String,
        /// What to do.
        help: String,
    },
    /// The device has no memory left for this.
    #[error(
        "{device}: out of memory: {requested} bytes were asked for ({available}); use smaller batches or free other Simulators"
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        requested: u64,
        /// What the device says it has, in words.
        available: String,
    },
    /// A generated kernel did not compile.
    #[error("{device}: a kernel did not compile; its source is in {source_path}; the compiler said:\n{log}")]
    KernelCompile {
        /// The device.
        device: String,
        /// The source, written out.
        source_path: String,
        /// The compiler's log.
        log: String,
    },
    /// A driver call failed.
    #[error("{device}: {call} failed: {message}")]
    Driver {
        /// The device.
        device: String,
        /// The call.
        call: String,
        /// Its error.
        message: String,
    },
    /// An argument given to a device does not fit.
    #[error(transparent)]
    Argument(Box<ArgumentError>),
    /// The device cannot do this at all.
    #[error("{device}: {what} is not supported")]
    Unsupported {
        /// The device.
        device: String,
        /// What was asked.
        what: String,
    },
}

/// An argument given to a device that does not fit: a region, a size, a parameter of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{device}: {command}: {argument}: expected {expected}, found {found}")]
pub struct ArgumentError {
    /// The device.
    pub device: String,
    /// The command or call, e.g. `copy`.
    pub command: String,
    /// Which of its arguments.
    pub argument: String,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub found: String,
}

impl DeviceError {
    /// A [`DeviceError::Driver`].
    pub fn driver(device: &str, call: &str, message: impl ToString) -> DeviceError {
        DeviceError::Driver { device: device.into(), call: call.into(), message: message.to_string() }
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
