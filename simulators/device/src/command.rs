//! What a recording consists of: launches, library ops and copies, with memory bound.

use crate::device::Memory;
use std::sync::Arc;
use workalike_kernels::library::LibraryOp;
use workalike_kernels::verify::Verified;

/// A part of a device memory.
#[derive(Clone, Debug)]
pub struct Region {
    /// The memory.
    pub memory: Arc<dyn Memory>,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Region {
    /// All of a memory.
    pub fn whole(memory: Arc<dyn Memory>) -> Region {
        let bytes = memory.bytes();
        Region { memory, offset: 0, bytes }
    }
}

/// One step of a Segment, with memory bound.
#[derive(Clone, Debug)]
pub enum Command {
    /// Run a compiled Nest.
    Launch {
        /// Which: the position in the slice given to [`Device::compile`](crate::Device::compile).
        nest: usize,
        /// One region per operand of the Nest, at least as large as the operand reaches. Regions may overlap;
        /// what points then see of each other's stores is not said.
        args: Vec<Region>,
    },
    /// Run code of the device's own.
    Library {
        /// What is computed.
        op: Arc<dyn LibraryOp>,
        /// One region per operand that is read; each starts at the operand's first element.
        inputs: Vec<Region>,
        /// What becomes of the results.
        target: Target,
        /// Scratch memory, if [`Device::library`](crate::Device::library) asked for some. It overlaps nothing
        /// else.
        scratch: Option<Region>,
    },
    /// Copy bytes; regions of equal size that do not overlap.
    Copy {
        /// From.
        source: Region,
        /// To.
        target: Region,
    },
    /// Set all bytes to zero.
    Clear {
        /// What.
        target: Region,
    },
}

impl Command {
    /// A library op without scratch memory.
    pub fn library(op: impl LibraryOp, inputs: impl Into<Vec<Region>>, target: impl Into<Target>) -> Command {
        let (op, inputs, target) = (Arc::new(op), inputs.into(), target.into());
        Command::Library { op, inputs, target, scratch: None }
    }

    /// The memory that is touched.
    pub fn regions(&self) -> Vec<&Region> {
        match self {
            Command::Launch { args, .. } => args.iter().collect(),
            Command::Library { inputs, target, scratch, .. } => {
                inputs.iter().chain(target.regions()).chain(scratch).collect()
            }
            Command::Copy { source, target } => vec![source, target],
            Command::Clear { target } => vec![target],
        }
    }
}

/// What becomes of a library op's results.
#[derive(Clone, Debug)]
pub enum Target {
    /// They are stored here, one region per operand that is written; the regions overlap nothing that is
    /// read.
    Memory(Vec<Region>),
    /// The only result is given to an epilogue, element by element, and stored nowhere else;
    /// [`Device::library`](crate::Device::library) says which epilogues a device takes.
    Epilogue {
        /// One Point phase, whose points are the elements of the result, row-major. It may store where it
        /// loads at the same point.
        nest: Verified,
        /// One region per operand; `None` is the result, of which each point loads its own element. What is
        /// written overlaps nothing that the op reads.
        args: Vec<Option<Region>>,
    },
}

impl Target {
    /// The memory that is touched.
    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        let (memory, args) = match self {
            Target::Memory(regions) => (&regions[..], &[][..]),
            Target::Epilogue { args, .. } => (&[][..], &args[..]),
        };
        memory.iter().chain(args.iter().flatten())
    }
}

impl From<Region> for Target {
    fn from(region: Region) -> Target {
        Target::Memory(vec![region])
    }
}
