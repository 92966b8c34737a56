//! Implementations in main memory that other crates give to library ops of this one.

use super::{Definition, DefinitionError};
use std::fmt;
use std::hash::{Hash, Hasher};

/// Makes the definition of an op, and allocates its work memory.
pub type Define<O> = fn(&O) -> Result<Definition, DefinitionError>;

/// The implementation of a library op in main memory, given by the code that makes the op: neither this crate
/// nor its dependencies have factorizations or Fourier transforms. The implementation is not part of the op's
/// identity, so all implementations compare equal.
pub struct InMemory<O>(pub Option<Define<O>>);

impl<O> Clone for InMemory<O> {
    fn clone(&self) -> InMemory<O> {
        *self
    }
}

impl<O> Copy for InMemory<O> {}

impl<O> Default for InMemory<O> {
    fn default() -> InMemory<O> {
        InMemory(None)
    }
}

impl<O> PartialEq for InMemory<O> {
    fn eq(&self, _: &InMemory<O>) -> bool {
        true
    }
}

impl<O> Eq for InMemory<O> {}

impl<O> Hash for InMemory<O> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<O> fmt::Debug for InMemory<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "defined" } else { "undefined" })
    }
}
