//! Nests to source text, one printer for all C-like languages.

use crate::nest::Nest;
use std::sync::Arc;

/// The language to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// OpenCL C 1.2.
    OpenClC,
    /// CUDA C++ for NVRTC, without any header.
    CudaCpp,
}

/// What the printer may know of the device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The language.
    pub dialect: Dialect,
    /// Largest work-group (block).
    pub max_group: u32,
    /// Local (shared) memory of a group in bytes.
    pub local_memory: u64,
    /// Work items that run at once on the whole device.
    pub lanes: u64,
    /// A CPU: one work item walks a whole row; barriers cost much.
    pub cpu: bool,
}

/// One translation unit.
#[derive(Clone, Debug)]
pub struct Source {
    /// The text, prelude and all kernels.
    pub text: String,
    /// One entry point per Nest, in order.
    pub entries: Vec<Entry>,
}

/// How to launch one Nest. Its arguments are one pointer per operand, in order, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The kernel's name.
    pub name: String,
    /// Number of groups (1-d); 0: there is nothing to do, do not launch.
    pub groups: u64,
    /// Work items a group.
    pub group: u32,
}

/// Prints Nests (verified ones: see [`crate::verify`]) as one translation unit.
pub fn print(nests: &[Arc<Nest>], target: &Target) -> Source {
    let _ = (nests, target);
    Source { text: String::new(), entries: Vec::new() }
}
