//! What can go wrong on a device.

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
