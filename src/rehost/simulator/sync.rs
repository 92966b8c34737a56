//! Sync between a Simulator and the Functions it was made from. Nothing is overwritten that both sides changed, unless the
//! caller says whose value holds.

use super::{Keep, Simulator};
use crate::error::{Error, Result};
use crate::value::Value;

impl Simulator {
    /// Copies every shared variable that the Simulator may have changed to its parent Functions. Gives their names.
    ///
    /// # Errors
    /// If a parent's value changed since the last sync: nothing is written, and the error names it. See
    /// [`Simulator::sync_to_parent_keeping`].
    pub fn sync_to_parent(&mut self) -> Result<Vec<String>> {
        self.write_back(None)
    }

    /// [`Simulator::sync_to_parent`], where `keep` says whose value holds if a parent's changed too.
    ///
    /// # Errors
    /// If the device fails.
    pub fn sync_to_parent_keeping(&mut self, keep: Keep) -> Result<Vec<String>> {
        self.write_back(Some(keep))
    }

    fn write_back(&mut self, keep: Option<Keep>) -> Result<Vec<String>> {
        let mut pending = Vec::new();
        for (position, parent) in self.states.iter().enumerate().filter(|(_, p)| p.changed) {
            let moved = parent.cells.iter().any(|(cell, version)| cell.version() != *version);
            let name = &self.engine.states[position].binding.name;
            match (moved, keep) {
                (true, None) => {
                    return Err(Error::Sync(format!(
                        "shared variable {name} changed in the parent Function since the last sync; say which value holds \
                         with sync_to_parent_keeping(Keep::Simulator) or Keep::Incoming"
                    )));
                }
                (true, Some(Keep::Incoming)) => {}
                _ => pending.push((position, name.clone(), self.engine.read_state(position)?)),
            }
        }
        let mut written = Vec::new();
        for (position, name, value) in pending {
            for (cell, version) in &mut self.states[position].cells {
                cell.set_value(&value)?;
                *version = cell.version();
            }
            self.states[position].changed = false;
            written.push(name);
        }
        Ok(written)
    }

    /// Copies every shared variable that changed in its parent since the last sync to the device. Gives their names.
    ///
    /// # Errors
    /// If the Simulator may have changed it too, or two parents disagree: nothing is written, and the error names it. See
    /// [`Simulator::sync_from_parent_keeping`].
    pub fn sync_from_parent(&mut self) -> Result<Vec<String>> {
        self.read_in(None)
    }

    /// [`Simulator::sync_from_parent`], where `keep` says whose value holds if the Simulator's changed too.
    ///
    /// # Errors
    /// If two parents disagree, or the device fails.
    pub fn sync_from_parent_keeping(&mut self, keep: Keep) -> Result<Vec<String>> {
        self.read_in(Some(keep))
    }

    fn read_in(&mut self, keep: Option<Keep>) -> Result<Vec<String>> {
        let mut pending = Vec::new();
        for (position, parent) in self.states.iter().enumerate() {
            let name = &self.engine.states[position].binding.name;
            let moved = parent.cells.iter().filter(|(cell, version)| cell.version() != *version);
            let values = moved.map(|(cell, _)| cell.get_value()).collect::<Result<Vec<_>>>()?;
            let Some(first) = values.first() else { continue };
            if values.iter().any(|v| v != first) {
                return Err(Error::Sync(format!(
                    "shared variable {name} changed to different values in two parent Functions"
                )));
            }
            match (parent.changed, keep) {
                (true, None) => {
                    return Err(Error::Sync(format!(
                        "shared variable {name} changed both in the parent Function and in the Simulator; say which value \
                         holds with sync_from_parent_keeping(Keep::Simulator) or Keep::Incoming"
                    )));
                }
                (true, Some(Keep::Simulator)) => {}
                _ => pending.push((position, name.clone(), first.clone())),
            }
        }
        let mut read = Vec::new();
        for (position, name, value) in pending {
            self.engine.write_state(position, &value)?;
            let parent = &mut self.states[position];
            parent.cells.iter_mut().for_each(|(cell, version)| *version = cell.version());
            // A second parent that did not change gets the value with the next sync.
            parent.changed = parent.cells.len() > 1;
            read.push(name);
        }
        Ok(read)
    }

    /// The value of the shared variable at a position: those of the first method come first, in its order.
    pub(crate) fn state_value(&self, position: usize) -> Result<Value> {
        self.engine.read_state(position)
    }

    /// Replaces the value of the shared variable at a position.
    pub(crate) fn put_state(&mut self, position: usize, value: &Value) -> Result<()> {
        self.states[position].changed = true;
        self.engine.write_state(position, value)
    }
}
