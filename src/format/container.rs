//! The container: magic, version, section table, checksums. It does not interpret sections.

use super::call_options::CALL_OPTIONS;
use crate::error::Result;
use crate::fallible;

/// First bytes of every file.
const MAGIC: &[u8; 8] = b"WALKFILE";
/// The format this library writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;
/// Tables of graphs and functions.
pub(super) const GRAPH: u32 = 1;
/// Raw tensors.
pub(super) const TENSORS: u32 = 2;
/// Readers must understand sections of a kind below this. They skip unknown sections of other kinds.
const OPTIONAL_FROM: u32 = 0x8000_0000;
/// Zeros that make a file with huge graphs long enough for [`super::budget`].
pub(super) const PADDING: u32 = OPTIONAL_FROM;
/// Maximum number of sections.
const MAX_SECTIONS: u32 = 64;
/// Alignment of a section in the file, in bytes.
const ALIGNMENT: usize = 64;
/// Bytes of one entry of the section table: kind, checksum, offset, length.
const ENTRY: usize = 24;

/// The sections of a file.
pub(super) struct Sections<'a>(Vec<(u32, &'a [u8])>);

impl<'a> Sections<'a> {
    /// The section of a kind.
    pub(super) fn get(&self, kind: u32) -> Result<&'a [u8], String> {
        let found = self.0.iter().find(|s| s.0 == kind).map(|s| s.1);
        found.ok_or_else(|| format!("section {kind} is missing"))
    }
}

/// A section to be written: its kind, and its bytes in parts.
pub(super) struct Section<'a> {
    pub(super) kind: u32,
    pub(super) parts: Vec<&'a [u8]>,
}

const ZEROS: &[u8] = &[0; 1 << 16];

impl<'a> Section<'a> {
    /// A section of one part.
    pub(super) fn new(kind: u32, bytes: &'a [u8]) -> Section<'a> {
        Section { kind, parts: vec![bytes] }
    }

    /// Adds a part.
    pub(super) fn push(&mut self, part: &'a [u8]) -> Result<()> {
        fallible::reserve(&mut self.parts, 1)?;
        self.parts.push(part);
        Ok(())
    }

    /// Adds `count` zeros.
    pub(super) fn pad(&mut self, mut count: usize) -> Result<()> {
        while count > 0 {
            let part = count.min(ZEROS.len());
            self.push(&ZEROS[..part])?;
            count -= part;
        }
        Ok(())
    }

    /// Number of bytes.
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(|p| p.len()).sum()
    }

    fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        self.parts.iter().for_each(|part| hasher.update(part));
        hasher.finalize()
    }
}

/// Length of a file of sections of these lengths, in bytes.
pub(super) fn length(sections: &[Section]) -> usize {
    let head = 16 + sections.len() * ENTRY + 4;
    sections.iter().fold(head, |end, section| end.next_multiple_of(ALIGNMENT) + section.len())
}

/// Writes a file of these sections, part by part.
pub(super) fn write<E>(sections: &[Section], mut write: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut head = Vec::with_capacity(20 + sections.len() * ENTRY);
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    head.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    let mut end = 16 + sections.len() * ENTRY + 4;
    for section in sections {
        let start = end.next_multiple_of(ALIGNMENT);
        head.extend_from_slice(&section.kind.to_le_bytes());
        head.extend_from_slice(&section.checksum().to_le_bytes());
        head.extend_from_slice(&(start as u64).to_le_bytes());
        head.extend_from_slice(&(section.len() as u64).to_le_bytes());
        end = start + section.len();
    }
    let checksum = crc32fast::hash(&head);
    head.extend_from_slice(&checksum.to_le_bytes());
    write(&head)?;
    let mut at = head.len();
    for section in sections {
        write(&ZEROS[..at.next_multiple_of(ALIGNMENT) - at])?;
        section.parts.iter().try_for_each(|part| write(part))?;
        at = at.next_multiple_of(ALIGNMENT) + section.len();
    }
    Ok(())
}

/// The sections of a file, checked.
pub(super) fn read(file: &[u8]) -> Result<Sections<'_>, String> {
    if file.len() < 16 || &file[..8] != MAGIC {
        return Err("this is not a workalike file".into());
    }
    let version = u32_at(file, 8).ok_or("truncated")?;
    if version == 0 || version > FORMAT_VERSION {
        return Err(format!(
            "format version {version}; this workalike reads up to {FORMAT_VERSION}, a newer one may read it"
        ));
    }
    let count = u32_at(file, 12).ok_or("truncated")?;
    if count > MAX_SECTIONS {
        return Err(format!("{count} sections, more than any file has: damaged"));
    }
    let head = 16 + count as usize * ENTRY;
    let checksum = u32_at(file, head).ok_or("truncated in the section table")?;
    if crc32fast::hash(&file[..head]) != checksum {
        return Err("the section table is damaged (checksum)".into());
    }
    let mut sections: Vec<(u32, &[u8])> = Vec::new();
    for entry in file[16..head].chunks_exact(ENTRY) {
        let field = |at: usize| u64_at(entry, at).unwrap_or(u64::MAX);
        let kind = u32_at(entry, 0).unwrap_or(0);
        let (offset, length) = (field(8), field(16));
        let end = offset.checked_add(length).filter(|&end| end <= file.len() as u64);
        let Some(end) = end else { return Err(format!("truncated: section {kind} ends beyond the file")) };
        let bytes = &file[offset as usize..end as usize];
        if Some(crc32fast::hash(bytes)) != u32_at(entry, 4) {
            return Err(format!("section {kind} is damaged (checksum)"));
        }
        if sections.iter().any(|s| s.0 == kind) {
            return Err(format!("section {kind} is there twice"));
        }
        if ![GRAPH, TENSORS, CALL_OPTIONS].contains(&kind) && kind < OPTIONAL_FROM {
            return Err(format!("section {kind} is unknown; a newer workalike may read it"));
        }
        sections.push((kind, bytes));
    }
    Ok(Sections(sections))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes)
}
