//! The abilities of a device, as lowering sees them.

use std::sync::Arc;
use workalike_device::{Device, LibraryOp, Properties};
use workalike_kernels::DType;
use workalike_kernels::custom::{CustomLaunch, KernelSource};

/// The abilities of a device, as far as the options of a Simulator allow them.
#[derive(Debug)]
pub struct Abilities<'d> {
    pub(crate) device: &'d dyn Device,
    /// Products may be fast rather than exact.
    pub(crate) fast: bool,
    /// Results must not depend on the order in which work items run.
    pub(crate) deterministic: bool,
    /// The indices that are taken to be in range.
    pub(crate) promised: Promised,
}

/// Which indices are taken to be in range, though that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promised {
    /// None: promised indices are checked too.
    None,
    /// Indices that an op of the graph [promises](crate::op::Op::promises_bounds) to be in range.
    Marked,
    /// All.
    All,
}

impl Abilities<'_> {
    /// The device's properties.
    pub fn properties(&self) -> &Properties {
        self.device.properties()
    }

    /// Whether products may be fast rather than exact.
    pub fn fast(&self) -> bool {
        self.fast
    }

    /// Whether results must not depend on the order in which work items run.
    pub fn deterministic(&self) -> bool {
        self.deterministic
    }

    /// Whether the device has atomic adds for this dtype whose results are deterministic, if they have to be.
    pub fn adds_to(&self, dtype: DType) -> bool {
        // Sums of integers do not depend on the order.
        (!self.deterministic || dtype.is_integer()) && self.device.adds_to(dtype)
    }

    /// Whether the kernels that it generates can call functions in C.
    pub fn takes_functions(&self) -> bool {
        let text = "KERNEL void probe(GLOBAL_MEM f32 *x) {}";
        KernelSource::dialect(text).is_ok_and(|source| self.compiles(&Arc::new(source)))
    }

    /// Whether the device compiles kernels of this source. A device that runs every op interprets them, which
    /// takes longer than to run a reference.
    pub fn compiles(&self, source: &Arc<KernelSource>) -> bool {
        let (source, operands, calls) = (source.clone(), vec![], vec![]);
        !self.properties().every_op && self.has(&CustomLaunch { source, operands, calls, initialized: false })
    }

    /// Whether the device has code of its own for this op, and the op's parameters are valid.
    pub fn has(&self, op: &dyn LibraryOp) -> bool {
        self.scratch(op).is_some()
    }

    /// Bytes of scratch memory of an op that the device has.
    pub(super) fn scratch(&self, op: &dyn LibraryOp) -> Option<u64> {
        op.verify().ok()?;
        self.device.library(op, None)
    }
}
