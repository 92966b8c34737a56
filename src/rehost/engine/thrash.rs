//! Programs that were dropped for others and are planned again: a sign that shapes vary more than Programs
//! are kept.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Signatures that are remembered of a method.
const REMEMBERED: usize = 1024;

/// What a method's list of Programs had no room for.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    /// Hashes of signatures, the oldest first.
    signatures: VecDeque<u64>,
    again: u64,
}

impl Dropped {
    /// Notes that a Program was dropped.
    pub(super) fn note(&mut self, signature: &[usize]) {
        if self.signatures.len() == REMEMBERED {
            self.signatures.pop_front();
        }
        self.signatures.push_back(hash(signature));
    }

    /// Notes that a Program was planned.
    pub(super) fn planned(&mut self, signature: &[usize]) {
        let hash = hash(signature);
        if let Some(at) = self.signatures.iter().position(|s| *s == hash) {
            self.signatures.remove(at);
            self.again += 1;
        }
    }

    /// How often a Program that was dropped was planned again.
    pub(super) fn again(&self) -> u64 {
        self.again
    }
}

fn hash(signature: &[usize]) -> u64 {
    let mut hasher = DefaultHasher::new();
    signature.hash(&mut hasher);
    hasher.finish()
}
