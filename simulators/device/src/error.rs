//! Errors of devices.

/// An error of a device or its driver.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no such device on this host.
    #[error("{device} is not available: {why}. {help}")]
    Missing {
        /// The requested device, e.g. `cuda:0`.
        device: String,
        /// What is missing.
        why: String,
        /// What the user can do.
        help: String,
    },
    /// The device has too little free memory.
    #[error(
        "{device}: out of memory: {requested} bytes were asked for ({available}); use smaller batches or free other Simulators"
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes requested.
        requested: u64,
        /// The memory that the device reports, as text.
        available: String,
    },
    /// A generated kernel did not compile.
    #[error("{device}: a kernel did not compile; its source is in {source_path}; the compiler said:\n{log}")]
    KernelCompile {
        /// The device.
        device: String,
        /// The file to which the source was written.
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
        /// The error of the call.
        message: String,
    },
    /// An argument given to a device is invalid.
    #[error(transparent)]
    Argument(Box<ArgumentError>),
    /// The device does not support this.
    #[error("{device}: {what} is not supported")]
    Unsupported {
        /// The device.
        device: String,
        /// The unsupported feature.
        what: String,
    },
}

/// An invalid argument given to a device: a region, a size, a parameter of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{device}: {command}: {argument}: expected {expected}, found {found}")]
pub struct ArgumentError {
    /// The device.
    pub device: String,
    /// The command or call, e.g. `copy`.
    pub command: String,
    /// The argument.
    pub argument: String,
    /// The expected value.
    pub expected: String,
    /// The value found.
    pub found: String,
}

impl DeviceError {
    /// A [`DeviceError::Driver`].
    pub fn driver(device: &str, call: &str, message: impl ToString) -> DeviceError {
        DeviceError::Driver { device: device.into(), call: call.into(), message: message.to_string() }
    }
}
