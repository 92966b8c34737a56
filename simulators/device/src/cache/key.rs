//! Keys of compiled kernels: digests of everything that they depend on.

use sha2::{Digest, Sha256};
use std::fmt;

/// The layout of entries. It is part of the key, so that entries of other layouts are never found.
const LAYOUT: &str = "workalike kernels 1";

/// The key of an entry: a digest of everything on which the compiler's output depends.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// The key of these parts: the source, the options, the device's name, the versions of driver and
    /// compiler. The version of this library is always added.
    pub fn of(parts: &[&str]) -> CacheKey {
        let mut digest = Sha256::new();
        // The length of each part precedes it, so that text moved from one part to the next changes the key.
        for part in [LAYOUT, env!("CARGO_PKG_VERSION")].iter().chain(parts) {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        CacheKey(digest.finalize().into())
    }

    /// The digest.
    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The name of the entry's file.
    pub(super) fn file_name(&self) -> String {
        format!("{self:?}{SUFFIX}")
    }
}

/// The suffix of names of entries' files.
const SUFFIX: &str = ".kernels";

/// Whether a file name is that of an entry.
pub(super) fn names_an_entry(name: &str) -> bool {
    name.strip_suffix(SUFFIX).is_some_and(|n| n.len() == 64 && n.bytes().all(|b| b.is_ascii_hexdigit()))
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
