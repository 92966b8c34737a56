//! The file: one portable format for Bundles, readable on every host.
//!
//! ```text
//! magic, format version, section table (kind, offset, length, crc32), crc32 of all that
//! GRAPH    tables of graphs, ops, functions, shared variables (bincode, limited)
//! TENSORS  raw little-endian elements, each tensor at a multiple of 64 bytes
//! ```
//!
//! [`container`](self) knows sections and checksums; `wire` knows what the tables mean; `codec` alone names bincode.
//! Nothing here trusts a byte: every count, offset and id is checked before it is used.

mod codec;
mod container;
mod serde_impls;
mod wire;

use crate::error::{Error, Result};
use crate::function::Bundle;
use std::path::Path;

pub use container::FORMAT_VERSION;

/// The bytes of a Bundle.
pub(crate) fn encode(bundle: &Bundle) -> Result<Vec<u8>> {
    let (tables, tensors) = wire::to_wire(bundle)?;
    Ok(container::write(&[(container::GRAPH, codec::encode(&tables)?), (container::TENSORS, tensors)]))
}

/// A Bundle from bytes; `what` names them in errors.
pub(crate) fn decode(bytes: &[u8], what: &str) -> Result<Bundle> {
    let fail = |message: String| Error::Format { what: what.into(), message };
    let sections = container::read(bytes).map_err(fail)?;
    let tables = codec::decode(sections.get(container::GRAPH).map_err(fail)?).map_err(fail)?;
    let tensors = sections.get(container::TENSORS).map_err(fail)?;
    wire::from_wire(tables, tensors).map_err(|error| match error {
        Error::Format { message, .. } => fail(message),
        other => fail(other.to_string()),
    })
}

/// Reads a whole file.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::File { path: path.into(), message: e.to_string() })
}
