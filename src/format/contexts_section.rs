//! The section with the contexts of shared variables: hints, which readers may skip. It exists only if there
//! are any.

use super::bad;
use super::codec::{Budget, Decoder, Encoder};
use crate::error::Result;
use crate::function::Bundle;
use std::collections::HashMap;

/// Its kind: one that readers may skip.
pub(super) const CONTEXTS: u32 = 0x8000_0102;
/// The version of the section that is written, and the newest that is read.
const VERSION: u8 = 1;
/// Upper bound for the bytes per item of a hash map, at any load factor.
const PER_HASHED: usize = 96;

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
    // Each is in a map too, whose size is at most doubled.
    let hints = from.list(2, |from| {
        from.budget.take(PER_HASHED)?;
        Ok((from.id()?, from.text()?))
    })?;
    let budget = from.finish()?;
    let by_row: HashMap<u32, &str> = hints.iter().map(|(row, name)| (*row, name.as_str())).collect();
    let mut found = 0;
    for (cell, row) in bundle.cells().zip(0u32..) {
        if let Some(name) = by_row.get(&row) {
            cell.set_context(Some(name));
            found += 1;
        }
    }
    match found == hints.len() {
        true => Ok(budget),
        false => bad("a context is named twice, or of a shared variable that does not exist"),
    }
}
