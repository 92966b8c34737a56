//! Programs that are planned again after they were evicted: a sign that there are more signatures than cached
//! Programs.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Evicted signatures that are remembered per method.
const REMEMBERED: usize = 1024;

/// The signatures that a method's cache evicted.
#[derive(Debug, Default)]
pub(super) struct EvictedSignatures {
    /// Hashes of signatures, the oldest first.
    signatures: VecDeque<u64>,
    again: u64,
}

impl EvictedSignatures {
    /// Notes that a Program was evicted.
    pub(crate) fn note(&mut self, signature: &[usize]) {
        if self.signatures.len() == REMEMBERED {
            self.signatures.pop_front();
        }
        self.signatures.push_back(hash(signature));
    }

    /// Notes that a Program was planned.
    pub(crate) fn planned(&mut self, signature: &[usize]) {
        let hash = hash(signature);
        if let Some(at) = self.signatures.iter().position(|s| *s == hash) {
            self.signatures.remove(at);
            self.again += 1;
        }
    }

    /// How often an evicted Program was planned again.
    pub(crate) fn again(&self) -> u64 {
        self.again
    }
}

fn hash(signature: &[usize]) -> u64 {
    let mut hasher = DefaultHasher::new();
    signature.hash(&mut hasher);
    hasher.finish()
}
