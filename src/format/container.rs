//! The container: magic, version, section table, checksums. It knows nothing of what sections mean.

use super::call_options::CALL_OPTIONS;

/// First bytes of every file.
const MAGIC: &[u8; 8] = b"WALKFILE";
/// The format this library writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;
/// Tables of graphs and functions.
pub(super) const GRAPH: u32 = 1;
/// Raw tensors.
pub(super) const TENSORS: u32 = 2;
/// Sections of a kind below this must be understood; others may be skipped.
const OPTIONAL_FROM: u32 = 0x8000_0000;
/// No file has more.
const MAX_SECTIONS: u32 = 64;
/// Sections start at multiples of this.
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

/// A file of these sections.
pub(super) fn write(sections: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let head = 16 + sections.len() * ENTRY;
    let mut offset = (head + 4).next_multiple_of(ALIGNMENT);
    let mut file = Vec::new();
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    file.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    let mut places = Vec::new();
    for (kind, bytes) in sections {
        file.extend_from_slice(&kind.to_le_bytes());
        file.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
        file.extend_from_slice(&(offset as u64).to_le_bytes());
        file.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        places.push(offset);
        offset = (offset + bytes.len()).next_multiple_of(ALIGNMENT);
    }
    let checksum = crc32fast::hash(&file);
    file.extend_from_slice(&checksum.to_le_bytes());
    for ((_, bytes), place) in sections.iter().zip(places) {
        file.resize(place, 0);
        file.extend_from_slice(bytes);
    }
    file
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
