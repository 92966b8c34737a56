//! The bytes of an entry: a header of fixed size, then the compiler's output.
//!
//! ```text
//! 0   8  WALKKERN
//! 8   32 the key
//! 40  8  number of bytes that follow the header, little-endian
//! 48  32 SHA-256 of them
//! ```

use super::key::CacheKey;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};

const MAGIC: &[u8; 8] = b"WALKKERN";

/// Size of the header in bytes.
pub(super) const HEADER: u64 = 80;

/// Writes an entry.
pub(super) fn write(to: &mut impl Write, key: &CacheKey, value: &[u8]) -> io::Result<()> {
    to.write_all(MAGIC)?;
    to.write_all(key.bytes())?;
    to.write_all(&(value.len() as u64).to_le_bytes())?;
    to.write_all(&Sha256::digest(value))?;
    to.write_all(value)
}

/// The value of an entry of `length` bytes; `None` if the entry has another key or is damaged.
pub(super) fn read(from: &mut impl Read, length: u64, key: &CacheKey) -> Option<Vec<u8>> {
    let mut header = [0u8; HEADER as usize];
    from.read_exact(&mut header).ok()?;
    let (magic, rest) = header.split_first_chunk::<8>()?;
    let (named, rest) = rest.split_first_chunk::<32>()?;
    let (size, sum) = rest.split_first_chunk::<8>()?;
    let size = u64::from_le_bytes(*size);
    // The size is checked against the file's length before memory is allocated.
    if magic != MAGIC || named != key.bytes() || length.checked_sub(HEADER) != Some(size) {
        return None;
    }
    let mut value = Vec::new();
    value.try_reserve_exact(usize::try_from(size).ok()?).ok()?;
    from.take(size).read_to_end(&mut value).ok()?;
    (value.len() as u64 == size && Sha256::digest(&value)[..] == *sum).then_some(value)
}
