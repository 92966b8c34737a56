//! How files are loaded.

use crate::ops::Registry;

/// How a file is loaded: with which ops, and whether its kernels may be compiled.
///
/// ```no_run
/// use workalike::prelude::*;
/// let trained = Bundle::load_with("trained.walk", LoadOptions::new().allow_kernels(true))?;
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    registry: Registry,
    kernels: bool,
}

impl LoadOptions {
    /// With the ops of this library, and without kernels.
    pub fn new() -> LoadOptions {
        LoadOptions::default()
    }

    /// With the ops of a Registry.
    #[must_use]
    pub fn registry(mut self, registry: &Registry) -> LoadOptions {
        self.registry = registry.clone();
        self
    }

    /// Whether [kernels in C](crate::ops::KernelOp) that the file holds may be compiled for a device. They
    /// can read and write any memory of the device that its driver lets a process reach: allow them for files
    /// that you trust as you trust a program. Otherwise their references run; this is the default.
    #[must_use]
    pub fn allow_kernels(mut self, allowed: bool) -> LoadOptions {
        self.kernels = allowed;
        self
    }

    /// The ops that are decoded.
    pub(crate) fn into_registry(self) -> Registry {
        self.registry.with_kernels(self.kernels)
    }
}

impl From<&Registry> for LoadOptions {
    fn from(registry: &Registry) -> LoadOptions {
        LoadOptions::new().registry(registry)
    }
}
