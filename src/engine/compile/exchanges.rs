//! The comparison of exchanges that devices make by themselves: they cannot say that members are at different
//! ones.

use super::compiled::Compiled;
use crate::error::{Error, Result};
use crate::lower::program::Step;
use sha2::{Digest, Sha256};
use std::sync::{Arc, PoisonError};
use workalike_device::group::{Collective, GroupError, compare};

impl Compiled {
    /// Compares, before its first run, what the members of its groups will exchange. Members call it in the
    /// same order for the same sizes of arrays. Sizes that were compared before are not compared again.
    pub(crate) fn agree_on_exchanges(&self) -> Result<()> {
        let library = self.program.all_steps().filter(|step| matches!(step, Step::Library(_)));
        let checked = library.filter_map(Step::exchange).filter(|op| op.group.needs_check());
        let exchanges: Vec<&Collective> = checked.collect();
        if exchanges.is_empty() {
            return Ok(());
        }
        // How reductions share an exchange does not matter for whether these sizes are known.
        let sizes =
            exchanges.iter().flat_map(|op| op.arrays.iter().flat_map(|array| array.elements.to_le_bytes()));
        let known = Sha256::digest(sizes.collect::<Vec<u8>>()).into();
        let agreed = || self.definition.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        if agreed().contains(&known) {
            return Ok(());
        }
        let mut compared: Vec<&Collective> = Vec::new();
        for op in &exchanges {
            if compared.iter().any(|other| Arc::ptr_eq(&other.group, &op.group)) {
                continue;
            }
            let own = exchanges.iter().filter(|other| Arc::ptr_eq(&other.group, &op.group));
            let texts: Vec<String> = own.map(|op| op.describe()).collect();
            let text = format!("{} of {}", texts.join(", "), self.definition.name);
            compare(&op.group, &text).map_err(|error| match error {
                GroupError::Differs { .. } => Error::Sync(error.to_string()),
                error => Error::Sync(format!("before {text}: {error}")),
            })?;
            compared.push(op);
        }
        agreed().insert(known);
        Ok(())
    }
}
