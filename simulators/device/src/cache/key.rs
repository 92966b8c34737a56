//! What a compiled kernel depends on, as a digest.

use sha2::{Digest, Sha256};
use std::fmt;

/// Of the layout of entries. Entries of another one are never met, because it is part of the key.
const LAYOUT: &str = "workalike kernels 1";

/// The name of an entry: a digest of all that decides what a compiler makes of a source.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of these parts: the source, the options, the device's name, the versions of driver and
    /// compiler. The version of this library is always one more.
    pub fn of(parts: &[&str]) -> Key {
        let mut digest = Sha256::new();
        // Each part's length goes before it, so that text does not move from one part to the next unseen.
        for part in [LAYOUT, env!("CARGO_PKG_VERSION")].iter().chain(parts) {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        Key(digest.finalize().into())
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

/// How the name of an entry's file ends.
const SUFFIX: &str = ".kernels";

/// Whether a file of this name is an entry.
pub(super) fn names_an_entry(name: &str) -> bool {
    name.strip_suffix(SUFFIX).is_some_and(|n| n.len() == 64 && n.bytes().all(|b| b.is_ascii_hexdigit()))
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
