//! Steps in which members of a group exchange arrays.

use super::{BufferId, HostNode, LibraryStep, Step};
use crate::op::{Op, Seat};
use std::sync::Arc;
use workalike_device::group::{Collective, CollectiveArray};

impl Step {
    /// The exchange that it is.
    pub(crate) fn exchange(&self) -> Option<&Collective> {
        match self {
            Step::Host(node) => node.exchange.as_ref(),
            Step::Library(LibraryStep { op, .. }) => Collective::of(op.as_ref()),
            _ => None,
        }
    }

    /// The reductions for all members that it is. They can take others along, of the same group.
    pub(crate) fn all_reduce(&self) -> Option<&Collective> {
        self.exchange().filter(|op| op.is_all_reduce())
    }

    /// Whether members of a group exchange arrays in it: all of them in the same order.
    pub fn exchanges(&self) -> bool {
        match self {
            Step::Host(node) => node.exchange.is_some() || !node.exchanges_within().is_empty(),
            Step::Library(LibraryStep { op, .. }) => op.is_joint(),
            _ => self.bodies().flat_map(|body| &body.steps).any(Step::exchanges),
        }
    }

    /// Its reductions take these along, each with its input, the position of its first element there, and
    /// its output.
    pub(crate) fn reduce_too(
        &mut self,
        others: impl IntoIterator<Item = (CollectiveArray, (BufferId, u64), BufferId)>,
    ) {
        let Some(mut op) = self.all_reduce().cloned() else { return };
        for (array, input, output) in others {
            op.arrays.push(array);
            match self {
                Step::Library(own) => {
                    own.inputs.push(input);
                    own.outputs.push(output);
                }
                Step::Host(own) => {
                    own.inputs.push(input.0);
                    own.outputs.push(output);
                }
                _ => {}
            }
        }
        match self {
            Step::Library(own) => own.op = Arc::new(op),
            Step::Host(own) => own.exchange = Some(op),
            _ => {}
        }
    }
}

impl HostNode {
    /// Of each group whose members exchange arrays in the bodies of the op, which the host runs, an exchange
    /// of nothing.
    pub(crate) fn exchanges_within(&self) -> Vec<Collective> {
        fn collect(op: &dyn Op, found: &mut Vec<Collective>) {
            for node in op.bodies().iter().flat_map(|body| &body.nodes) {
                let seat =
                    node.op.group().filter(|_| node.op.is_joint()).and_then(|group| group.seat.as_ref());
                if let Some(Seat { group, number }) = seat.filter(|seat| seat.group.size() > 1)
                    && !found.iter().any(|known| Arc::ptr_eq(&known.group, group))
                {
                    found.push(Collective { arrays: vec![], group: group.clone(), number: *number });
                }
                collect(node.op.as_ref(), found);
            }
        }
        let mut found = Vec::new();
        collect(self.op.as_ref(), &mut found);
        found
    }
}
