//! Values that decide shapes, computed on the device: where a loop leads to them, the reference would take long,
//! and might find another number of iterations than the device does.
//!
//! A method with such loops has a method beside it, whose outputs are these values. It runs before each call.

use super::Engine;
use super::array::Fed;
use crate::error::{Error, Result};
use crate::graph::VarId;
use crate::graph::shapes::Demand;
use crate::rewrite::slice;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Deciding {
    /// The method that computes the values in [`Demand::loops`].
    pub(super) method: usize,
    /// The other values that decide shapes.
    pub(super) demand: Demand,
    /// Set if the method has no device form: in a strict Simulator the host computes what decides shapes, as
    /// it does where there are no loops.
    refused: OnceLock<()>,
}

impl Engine {
    /// Adds the method beside a method, or replaces the one at `slot`, if loops decide shapes in it.
    pub(super) fn put_deciding(&mut self, method: usize, slot: Option<usize>) {
        let definition = self.methods[method].definition.clone();
        let demand = Demand::without_loops(&definition.graph);
        if demand.loops.is_empty() {
            return;
        }
        let part = Arc::new(slice(&definition.graph, &demand.loops));
        let method = self.put_method(slot, None, &definition.name, part, definition.states.clone());
        definition.deciding.get_or_init(|| Deciding { method, demand, refused: OnceLock::new() });
    }

    /// The values that loops of a method decide shapes with; `None` if the reference has to compute them.
    pub(super) fn decided(&mut self, method: usize, fed: &[Fed]) -> Result<Option<HashMap<VarId, Value>>> {
        let definition = self.methods[method].definition.clone();
        let Some(deciding) = definition.deciding.get().filter(|own| own.refused.get().is_none()) else {
            return Ok(None);
        };
        match self.call(deciding.method, fed) {
            Ok(values) => Ok(Some(deciding.demand.loops.iter().copied().zip(values).collect())),
            Err(Error::Strict(_)) => {
                deciding.refused.get_or_init(|| ());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
