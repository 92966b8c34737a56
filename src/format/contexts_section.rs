//! The section with the contexts of shared variables: hints, which readers may skip. It exists only if there
//! are any.

use super::bad;
use super::codec::{Budget, Decoder, Encoder};
use crate::error::Result;
use crate::function::Bundle;

/// Its kind: one that readers may skip.
pub(super) const CONTEXTS: u32 = 0x8000_0102;
/// The version of the section that is written, and the newest that is read.
const VERSION: u8 = 1;

/// The section's bytes: version, then pairs of a shared variable's row and the name of its context.
pub(super) fn encode(bundle: &Bundle) -> Result<Option<Vec<u8>>> {
    let hints = bundle.cells().enumerate().filter_map(|(row, cell)| Some((row, cell.context()?)));
    let hints: Vec<_> = hints.collect();
    if hints.is_empty() {
        return Ok(None);
    }
    let mut to = Encoder::default();
    to.byte(VERSION)?;
    to.list(hints.iter(), |to, (row, name)| {
        to.number(*row as u64)?;
        to.text(name)
    })?;
    Ok(Some(to.0))
}

/// Sets the contexts of a newly decoded Bundle's shared variables; returns the rest of the budget.
pub(super) fn decode(bytes: &[u8], bundle: &Bundle, budget: Budget) -> Result<Budget> {
    let mut from = Decoder::new(bytes, budget);
    match from.byte()? {
        VERSION => {}
        version => {
            return bad(format!("the contexts are of version {version}; a newer workalike may read them"));
        }
    }
    let hints = from.list(2, |from| Ok((from.id()?, from.text()?)))?;
    let budget = from.finish()?;
    for (cell, row) in bundle.cells().zip(0u32..) {
        if let Some((_, name)) = hints.iter().find(|(hinted, _)| *hinted == row) {
            cell.set_context(Some(name));
        }
    }
    Ok(budget)
}
