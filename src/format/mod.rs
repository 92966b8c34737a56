//! The file: one portable format for Bundles, readable on every host.
//!
//! ```text
//! magic, format version, section table (kind, offset, length, crc32), crc32 of all that
//! GRAPH    tables of graphs, ops, functions, shared variables (a transient one has no tensor)
//! TENSORS  raw little-endian elements, each tensor at a multiple of 64 bytes
//! CALL_OPTIONS  options of Functions for arguments and outputs; if there are any
//! CONTEXTS  contexts of shared variables; if there are any
//! SIMULATOR  settings of a Simulator; if one was saved. The other sections hold its methods and values
//! PADDING  zeros; only with graphs of some 50,000 nodes and more
//! ```
//!
//! `container` reads and writes sections and checksums, `codec` numbers, text and lists, `encode` and
//! `decode` the tables. A file is not trusted: every count, offset and id is checked before it is used.
//!
//! Loading takes time that is linear in the file's size, and at most four times the file's size plus 16 MiB
//! of memory. A graph takes more memory than its tables, so a file with a huge graph is padded; a file that
//! would take more memory than that is refused.
//!
//! Every saved file can be loaded: the tables are decoded again before they are written.

mod call_options;
mod codec;
mod common_state;
mod container;
mod contexts_section;
mod decode;
mod encode;
mod serde_impls;
mod serde_value;
mod simulator_section;

use crate::error::{Error, Result};
use crate::fallible;
use crate::function::Bundle;
use crate::ops::Registry;
use codec::Budget;
use container::Section;
use decode::TensorSource;
use std::io::Write;
use std::path::Path;
use workalike_device::atomic_file;

pub use common_state::common_state;
pub use container::FORMAT_VERSION;
pub(crate) use simulator_section::SimulatorSettings;

/// Memory for loading besides four times the file's size, in bytes.
const FREE: u64 = 16 << 20;
/// The part of it that is not counted byte by byte: sections, errors, the allocator.
const UNCOUNTED: u64 = 1 << 20;

/// An error about bytes; callers that know their file add its name.
fn bad<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::Format { what: "file".into(), message: message.into() })
}

/// The memory budget for loading a file of this many bytes. The bytes themselves are in memory, too.
fn budget(file: usize) -> Budget {
    Budget::new((file as u64).saturating_mul(3).saturating_add(FREE - UNCOUNTED))
}

/// The minimum length of a file whose loading uses this much memory.
fn least_length(used: u64) -> u64 {
    used.saturating_sub(FREE - UNCOUNTED).div_ceil(3)
}

/// Calls `write` with the sections of a Bundle's file, and further ones.
fn with_sections<T>(
    bundle: &Bundle,
    registry: &Registry,
    further: Option<Section>,
    write: impl FnOnce(&[Section]) -> Result<T>,
) -> Result<T> {
    let encoded = encode::encode(bundle, registry)?;
    let known = TensorSource::Known(&encoded.tensors, &encoded.cells);
    let options = call_options::encode(bundle);
    let contexts = contexts_section::encode(bundle)?;
    let optional = [options.as_deref(), contexts.as_deref()];
    let decoded = decoded(&encoded.tables, &known, optional, registry, Budget::new(u64::MAX));
    let used = match decoded {
        Ok((_, budget)) => budget.used(),
        Err(Error::Format { message, .. }) => {
            let what = "the file to be saved could not be loaded".into();
            return Err(Error::Format { what, message });
        }
        Err(other) => return Err(other),
    };
    let mut tensors = Section { kind: container::TENSORS, parts: Vec::new() };
    let mut length = 0usize;
    for tensor in &encoded.tensors {
        tensors.pad(length.next_multiple_of(encode::ALIGNMENT) - length)?;
        let bytes = tensor.contiguous_bytes().unwrap_or(&[]);
        tensors.push(bytes)?;
        length = length.next_multiple_of(encode::ALIGNMENT) + bytes.len();
    }
    let mut sections = vec![Section::new(container::GRAPH, &encoded.tables), tensors];
    sections.extend(options.as_ref().map(|bytes| Section::new(call_options::CALL_OPTIONS, bytes)));
    sections.extend(contexts.as_ref().map(|bytes| Section::new(contexts_section::CONTEXTS, bytes)));
    sections.extend(further);
    let missing = least_length(used).saturating_sub(container::length(&sections) as u64);
    if missing > 0 {
        let mut padding = Section { kind: container::PADDING, parts: Vec::new() };
        padding.pad(usize::try_from(missing).map_err(|_| fallible::refused(usize::MAX))?)?;
        sections.push(padding);
    }
    write(&sections)
}

/// The bytes of a Bundle.
pub(crate) fn encode(bundle: &Bundle, registry: &Registry) -> Result<Vec<u8>> {
    encode_with(bundle, registry, None)
}

/// The bytes of a Simulator whose methods and values a Bundle has.
pub(crate) fn encode_simulator(
    bundle: &Bundle,
    settings: &SimulatorSettings,
    registry: &Registry,
) -> Result<Vec<u8>> {
    let settings = simulator_section::encode(settings)?;
    let section = Section::new(simulator_section::SIMULATOR, &settings);
    encode_with(bundle, registry, Some(section))
}

fn encode_with(bundle: &Bundle, registry: &Registry, further: Option<Section>) -> Result<Vec<u8>> {
    with_sections(bundle, registry, further, |sections| {
        let mut file = fallible::with_capacity(container::length(sections))?;
        container::write(sections, |part| {
            file.extend_from_slice(part);
            Ok::<(), Error>(())
        })?;
        Ok(file)
    })
}

/// Saves a Bundle to a file.
pub(crate) fn save(bundle: &Bundle, path: &Path, registry: &Registry) -> Result<()> {
    with_sections(bundle, registry, None, |sections| {
        atomic_file::write_with(path, |file| container::write(sections, |part| file.write_all(part)))
            .map_err(Error::of_file(path))
    })
}

/// A Bundle from bytes; `what` names them in errors.
pub(crate) fn decode(bytes: &[u8], what: &str, registry: &Registry) -> Result<Bundle> {
    let fail = |message: String| Error::Format { what: what.into(), message };
    let sections = container::read(bytes).map_err(fail)?;
    let tables = sections.get(container::GRAPH).map_err(fail)?;
    let tensors = sections.get(container::TENSORS).map_err(fail)?;
    let optional =
        [call_options::CALL_OPTIONS, contexts_section::CONTEXTS].map(|kind| sections.get(kind).ok());
    let decoded = decoded(tables, &TensorSource::File(tensors), optional, registry, budget(bytes.len()));
    decoded.map(|(bundle, _)| bundle).map_err(|error| match error {
        Error::Format { message, .. } => fail(message),
        // Lack of memory is not an error of the file.
        Error::Device(_) => error,
        other => fail(other.to_string()),
    })
}

/// Decodes tables, call options and contexts to a Bundle; also returns the remaining memory budget.
fn decoded(
    tables: &[u8],
    contents: &TensorSource,
    [options, contexts]: [Option<&[u8]>; 2],
    registry: &Registry,
    budget: Budget,
) -> Result<(Bundle, Budget)> {
    let (mut bundle, mut budget) = decode::decode(tables, contents, registry, budget)?;
    if let Some(options) = options {
        call_options::decode(options, &mut bundle, &mut budget)?;
    }
    if let Some(contexts) = contexts {
        budget = contexts_section::decode(contexts, &bundle, budget)?;
    }
    Ok((bundle, budget))
}

/// A Simulator's methods and values, and its settings.
pub(crate) fn decode_simulator(
    bytes: &[u8],
    what: &str,
    registry: &Registry,
) -> Result<(Bundle, SimulatorSettings)> {
    let fail = |message: String| Error::Format { what: what.into(), message };
    let bundle = decode(bytes, what, registry)?;
    if let Some((_, error)) = bundle.unreadable().next() {
        return Err(error);
    }
    let section = container::read(bytes).and_then(|s| s.get(simulator_section::SIMULATOR)).map_err(|_| {
        fail("it holds Functions and no Simulator: load it with Bundle::load, and optimize them".into())
    })?;
    let budget = Budget::new((section.len() as u64).saturating_mul(3).saturating_add(UNCOUNTED / 2));
    match simulator_section::decode(section, budget) {
        Ok(settings) => Ok((bundle, settings)),
        Err(Error::Format { message, .. }) => Err(fail(message)),
        Err(other) => Err(other),
    }
}

/// Reads a whole file.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::File { path: path.into(), message: e.to_string() })
}

/// Loads a Bundle from a file.
pub(crate) fn load(path: &Path, registry: &Registry) -> Result<Bundle> {
    decode(&read_file(path)?, &path.display().to_string(), registry)
}
