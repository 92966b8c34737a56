//! The file: one portable format for Bundles, readable on every host.
//!
//! ```text
//! magic, format version, section table (kind, offset, length, crc32), crc32 of all that
//! GRAPH    tables of graphs, ops, functions, shared variables (bincode, limited)
//! TENSORS  raw little-endian elements, each tensor at a multiple of 64 bytes
//! CALL_OPTIONS  what Functions ask of their arguments; if one asks for anything
//! SIMULATOR  the options of a Simulator whose methods and values the others are; if it was one that was saved
//! ```
//!
//! [`container`](self) knows sections and checksums; `wire` knows what the tables mean; `codec` alone names bincode.
//! Nothing here trusts a byte: every count, offset and id is checked before it is used.

mod call_options;
mod codec;
mod container;
mod serde_impls;
mod serde_value;
mod simulator_section;
mod wire;

use crate::error::{Error, Result};
use crate::function::Bundle;
use crate::rehost::Options;
use std::path::Path;

pub use container::FORMAT_VERSION;

/// The bytes of a Bundle.
pub(crate) fn encode(bundle: &Bundle) -> Result<Vec<u8>> {
    encode_with(bundle, None)
}

/// The bytes of a Simulator whose methods and values a Bundle has.
pub(crate) fn encode_simulator(bundle: &Bundle, options: &Options) -> Result<Vec<u8>> {
    encode_with(bundle, Some((simulator_section::SIMULATOR, simulator_section::encode(options))))
}

fn encode_with(bundle: &Bundle, further: Option<(u32, Vec<u8>)>) -> Result<Vec<u8>> {
    let (tables, tensors) = wire::to_wire(bundle)?;
    let mut sections = vec![(container::GRAPH, codec::encode(&tables)?), (container::TENSORS, tensors)];
    sections.extend(call_options::encode(bundle).map(|bytes| (call_options::CALL_OPTIONS, bytes)));
    sections.extend(further);
    Ok(container::write(&sections))
}

/// A Simulator's methods and values, and its options.
pub(crate) fn decode_simulator(bytes: &[u8], what: &str) -> Result<(Bundle, Options)> {
    let fail = |message: String| Error::Format { what: what.into(), message };
    let bundle = decode(bytes, what)?;
    let section = container::read(bytes).and_then(|s| s.get(simulator_section::SIMULATOR)).map_err(|_| {
        fail("it holds Functions and no Simulator: load it with Bundle::load, and optimize them".into())
    })?;
    Ok((bundle, simulator_section::decode(section).map_err(fail)?))
}

/// A Bundle from bytes; `what` names them in errors.
pub(crate) fn decode(bytes: &[u8], what: &str) -> Result<Bundle> {
    let fail = |message: String| Error::Format { what: what.into(), message };
    let sections = container::read(bytes).map_err(fail)?;
    let tables = codec::decode(sections.get(container::GRAPH).map_err(fail)?).map_err(fail)?;
    let tensors = sections.get(container::TENSORS).map_err(fail)?;
    let bundle = wire::from_wire(tables, tensors).map_err(|error| match error {
        Error::Format { message, .. } => fail(message),
        other => fail(other.to_string()),
    })?;
    match sections.get(call_options::CALL_OPTIONS) {
        Ok(section) => call_options::decode(section, bundle).map_err(fail),
        Err(_) => Ok(bundle),
    }
}

/// Reads a whole file.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::File { path: path.into(), message: e.to_string() })
}
