//! The devices of this host.
//!
//! Every host has `host` (two threads), `unfused` (the same, without fusion) and `wide` (the host with a
//! GPU's parallelism, which fusion treats as it treats a GPU). Each device of each OpenCL platform and each
//! CUDA device follows. `WORKALIKE_SUITE_DEVICES=host,cuda` keeps only these kinds, and
//! `WORKALIKE_SUITE_ANY_SIZE=1` runs kernels for any size.

use crate::wide::Wide;
use std::sync::Arc;
use workalike::cuda::Cuda;
use workalike::engine::device::{Device, Interpreter, Sizes};
use workalike::opencl::OpenCl;
use workalike::prelude::*;
use workalike::{Error, Result};

/// The variable with the kinds of devices to run, separated by commas: `host`, `opencl`, `cuda`,
/// `wide`, `interpreter`. If it is not set, all kinds except the interpreter, which is slow.
pub const SELECT: &str = "WORKALIKE_SUITE_DEVICES";

/// The variable that, if it is set, makes all Simulators of cases dynamic: their kernels are for any size.
pub const ANY_SIZE: &str = "WORKALIKE_SUITE_ANY_SIZE";

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The embedded host device.
    Host,
    /// The embedded host device, without fusion.
    Unfused,
    /// The reference interpreter of Nests.
    Interpreter,
    /// The host that reports a GPU's parallelism.
    Wide,
    /// An OpenCL device: platform and device.
    OpenCl(usize, usize),
    /// A CUDA device.
    Cuda(usize),
}

/// A device of this host.
#[derive(Clone, Debug)]
pub struct Tested {
    /// The prefix of the names of cases.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
}

/// A kind of device that is missing on this host.
#[derive(Clone, Debug)]
pub struct Missing {
    /// `opencl` or `cuda`.
    pub kind: &'static str,
    /// The reason.
    pub why: String,
}

impl Tested {
    fn new(id: impl Into<String>, kind: Kind) -> Tested {
        Tested { id: id.into(), kind }
    }

    /// Whether it is the host device, fused or unfused.
    pub fn is_host(&self) -> bool {
        matches!(self.kind, Kind::Host | Kind::Unfused | Kind::Interpreter | Kind::Wide)
    }

    /// Opens a new stream.
    ///
    /// # Errors
    /// As [`Open::open`].
    pub fn open(&self) -> Result<Arc<dyn Device>> {
        match self.kind {
            Kind::Host | Kind::Unfused => Ok(Host::threads(2).open()?),
            Kind::Interpreter => Ok(Interpreter.open()?),
            Kind::Wide => Ok(Wide.open()?),
            Kind::OpenCl(platform, device) => Ok(OpenCl::device(platform, device).open()?),
            Kind::Cuda(ordinal) => Ok(Cuda::device(ordinal).open()?),
        }
    }

    /// Opens a new stream for the member of this rank: on the next GPU for each, where there are several.
    ///
    /// # Errors
    /// As [`Open::open`].
    pub fn open_member(&self, rank: usize) -> Result<Arc<dyn Device>> {
        match self.kind {
            Kind::Cuda(ordinal) => {
                let count = workalike::cuda::list().len().max(1);
                Ok(Cuda::device((ordinal + rank) % count).open()?)
            }
            _ => self.open(),
        }
    }

    /// A strict Simulator of the Function on a new stream.
    ///
    /// # Errors
    /// As [`Function::optimize`].
    pub fn optimize(&self, function: &Function) -> Result<Simulator> {
        self.optimize_as(function, true)
    }

    /// A Simulator that may have host nodes.
    ///
    /// # Errors
    /// As [`Function::optimize`].
    pub fn optimize_with_host_nodes(&self, function: &Function) -> Result<Simulator> {
        self.optimize_as(function, false)
    }

    fn optimize_as(&self, function: &Function, strict: bool) -> Result<Simulator> {
        let fuse = self.kind != Kind::Unfused;
        // It lacks libraries other than products.
        let strict = strict && self.kind != Kind::Wide;
        let sizes = if std::env::var_os(ANY_SIZE).is_some() { Sizes::Dynamic } else { Sizes::default() };
        function.optimize(self.open()?.with_options(Options { strict, fuse, sizes, ..Options::default() }))
    }
}

/// The selected devices of this host, and the kinds that are missing.
pub fn all() -> (Vec<Tested>, Vec<Missing>) {
    let asked = std::env::var(SELECT).ok();
    let asked: Option<Vec<&str>> = asked.as_deref().map(|kinds| kinds.split(',').map(str::trim).collect());
    let wanted = |kind: &str| asked.as_ref().is_none_or(|kinds| kinds.contains(&kind));
    let (mut devices, mut missing) = (Vec::new(), Vec::new());
    if wanted("host") {
        devices.extend([Tested::new("host", Kind::Host), Tested::new("unfused", Kind::Unfused)]);
    }
    if asked.as_ref().is_some_and(|kinds| kinds.contains(&"interpreter")) {
        devices.push(Tested::new("interpreter", Kind::Interpreter));
    }
    if wanted("wide") {
        devices.push(Tested::new("wide", Kind::Wide));
    }
    if wanted("opencl") {
        match workalike::opencl::list() {
            Ok(found) => {
                let (usable, not): (Vec<_>, Vec<_>) = found.iter().partition(|d| d.unusable.is_none());
                if usable.is_empty() {
                    let why = not.first().and_then(|d| d.unusable.clone());
                    missing.push(Missing { kind: "opencl", why: why.unwrap_or_else(|| "no device".into()) });
                }
                let tested = |d: &&workalike::opencl::DeviceInfo| {
                    Tested::new(d.id(), Kind::OpenCl(d.platform, d.device))
                };
                devices.extend(usable.iter().map(tested));
            }
            Err(error) => {
                missing.push(Missing { kind: "opencl", why: format!("no platform: {}", Error::from(error)) });
            }
        }
    }
    if wanted("cuda") {
        let found = workalike::cuda::list();
        match workalike::cuda::why_not() {
            Some(why) => missing.push(Missing { kind: "cuda", why }),
            None if found.is_empty() => missing.push(Missing { kind: "cuda", why: "no device".into() }),
            None => devices.extend(
                found.iter().map(|d| Tested::new(format!("cuda:{}", d.ordinal), Kind::Cuda(d.ordinal))),
            ),
        }
    }
    (devices, missing)
}
