//! The arrays that launches are bound to.

use crate::engine::DeviceArray;
use workalike_device::Region;
use workalike_kernels::custom::{KernelArg, KernelCall};

/// The arrays of launches, and whether a kernel may write each. An array passed twice is listed once.
#[derive(Debug, Default)]
pub(super) struct BoundArrays(pub(super) Vec<(DeviceArray, bool)>);

/// Whether two arrays are the same memory.
pub(super) fn same(a: &DeviceArray, b: &DeviceArray) -> bool {
    let (one, other) = (a.region(), b.region());
    let place = |region: &Region| (std::ptr::from_ref(region.memory.own()).cast::<()>(), region.offset);
    place(one) == place(other) && one.bytes == other.bytes && a.dtype() == b.dtype()
}

impl BoundArrays {
    pub(super) fn array(&mut self, array: DeviceArray, written: bool) -> KernelArg {
        if written {
            array.forget_bounds();
        }
        let known = self.0.iter().position(|(known, _)| same(known, &array));
        let at = known.unwrap_or(self.0.len());
        match self.0.get_mut(at) {
            Some((_, is)) => *is |= written,
            None => self.0.push((array, written)),
        }
        KernelArg::Array(at)
    }

    /// The order of a library op's operands: inputs first.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by_key(|at| self.0[*at].1);
        order
    }
}

/// A call with the positions of its arrays in another order.
pub(super) fn reordered(call: &KernelCall, order: &[usize]) -> KernelCall {
    let arg = |arg: &KernelArg| match *arg {
        KernelArg::Array(at) => KernelArg::Array(order.iter().position(|from| *from == at).unwrap_or(at)),
        other => other,
    };
    KernelCall { args: call.args.iter().map(arg).collect(), ..call.clone() }
}
