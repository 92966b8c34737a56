//! How large a Nest may become by fusion.

use super::schedule::{order_of, schedule};
use super::size;
use workalike_device::Properties;
use workalike_kernels::nest::Nest;

/// Maximum number of operands of a Nest: pointers that every device accepts.
pub(super) const MAX_OPERANDS: usize = 28;
/// Instructions of a Nest of any form.
const MAX_INSTS: usize = 400;
/// Instructions of a Nest that needs few registers, such as many iterations of a recurrence, where the device
/// compiles them in time. A kernel of so many compiles in some tenths of a second with NVRTC.
pub(super) const MAX_NARROW_INSTS: usize = 4096;
/// Values that are alive at once in a Nest that needs few registers.
const FEW_ALIVE: usize = 24;

/// The limits for a device.
#[derive(Clone, Copy)]
pub(super) struct FusionLimits {
    /// Instructions of a Nest that needs few registers.
    narrow_insts: usize,
}

/// What is limited of a Nest that is still being joined.
#[derive(Clone, Copy)]
pub(super) struct NestSize {
    pub(super) operands: usize,
    /// The operands that remain, whatever joins the Nest. Others are scratch, which need not be stored when
    /// all its readers have joined.
    pub(super) fixed: usize,
    pub(super) insts: usize,
    /// Values that are alive at once.
    pub(super) alive: usize,
}

impl NestSize {
    /// Whether the Nest may have any form.
    pub(super) fn is_small(self) -> bool {
        self.insts <= MAX_INSTS
    }
}

impl FusionLimits {
    pub(super) fn of(properties: &Properties) -> FusionLimits {
        FusionLimits { narrow_insts: properties.kernel_insts.clamp(MAX_INSTS, MAX_NARROW_INSTS) }
    }

    /// The limits of a device that compiles no large Nests.
    #[cfg(test)]
    pub(super) fn least() -> FusionLimits {
        FusionLimits { narrow_insts: MAX_INSTS }
    }

    /// Whether a Nest of this size is within the limits.
    pub(super) fn admit(self, size: NestSize) -> bool {
        size.operands <= MAX_OPERANDS && !self.exclude(size)
    }

    /// Whether a Nest of this size is too large, whatever joins it.
    pub(super) fn exclude(self, size: NestSize) -> bool {
        let is_long = !size.is_small() && (size.insts > self.narrow_insts || size.alive > FEW_ALIVE);
        is_long || size.fixed > MAX_OPERANDS
    }

    /// Whether two Nests are too large to become one, estimated without joining them: what they share counts
    /// twice.
    pub(super) fn too_large(self, a: &Nest, b: &Nest) -> bool {
        let insts = size(a) + size(b);
        let most = |limit: usize| limit + limit / 4;
        insts > most(MAX_INSTS) && (insts > most(self.narrow_insts) || alive(a).max(alive(b)) > FEW_ALIVE)
    }

    /// Whether two Nests are certainly not too large to become one.
    pub(super) fn surely_fit(self, a: &Nest, b: &Nest) -> bool {
        let insts = size(a) + size(b);
        insts <= MAX_INSTS || (insts <= self.narrow_insts && alive(a) + alive(b) <= FEW_ALIVE)
    }

    /// Whether a Nest of two is not too large. One that computes nothing twice may be larger, with its
    /// instructions in an order that needs few registers: `parts` is the number of instructions of the two.
    pub(super) fn fits(self, nest: &mut Nest, parts: usize) -> bool {
        let insts = size(nest);
        if nest.operands.len() > MAX_OPERANDS || insts <= MAX_INSTS {
            return nest.operands.len() <= MAX_OPERANDS;
        }
        if insts > parts.min(self.narrow_insts) {
            return false;
        }
        let few = alive(nest) <= FEW_ALIVE;
        if few {
            schedule(nest);
        }
        few
    }
}

/// The most values that are alive at once in a phase, if its instructions are in the order that needs few
/// registers.
fn alive(nest: &Nest) -> usize {
    nest.phases.iter().map(|phase| order_of(phase).1).max().unwrap_or(0)
}
