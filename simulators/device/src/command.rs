//! The commands of a recording: launches, library ops and copies, with memory bound.

use crate::device::Memory;
use std::sync::Arc;
use workalike_kernels::library::LibraryOp;
use workalike_kernels::verify::Verified;

/// A part of a device memory.
#[derive(Clone, Debug)]
pub struct Region {
    /// The memory.
    pub memory: Arc<dyn Memory>,
    /// Byte offset of the region within `memory`.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
}

impl Region {
    /// All of a memory.
    pub fn whole(memory: Arc<dyn Memory>) -> Region {
        let bytes = memory.bytes();
        Region { memory, offset: 0, bytes }
    }

    /// Its memory. Wrappers of one memory count as that memory.
    fn owner(&self) -> *const () {
        std::ptr::from_ref(self.memory.own()).cast()
    }

    /// Whether they are the same.
    pub(crate) fn is_same(&self, other: &Region) -> bool {
        let place = |region: &Region| (region.owner(), region.offset, region.bytes);
        place(self) == place(other)
    }

    /// Whether they share a byte.
    pub(crate) fn overlaps(&self, other: &Region) -> bool {
        let ends_after = |a: &Region, b: &Region| a.offset.saturating_add(a.bytes) > b.offset;
        let bytes = self.bytes > 0 && other.bytes > 0;
        bytes && self.owner() == other.owner() && ends_after(self, other) && ends_after(other, self)
    }
}

/// One step of a Segment, with memory bound.
#[derive(Clone, Debug)]
pub enum Command {
    /// Run a compiled Nest.
    Launch {
        /// The position of the Nest in the slice given to [`Device::compile`](crate::Device::compile).
        nest: usize,
        /// One region per operand of the Nest, at least as large as the operand reaches. Regions may overlap;
        /// it is then unspecified which stores of other points a point reads.
        args: Vec<Region>,
    },
    /// Run a library op, computed by the device's own code.
    Library {
        /// The op.
        op: Arc<dyn LibraryOp>,
        /// One region per operand that is read; each starts at the operand's first element.
        inputs: Vec<Region>,
        /// Where the results go.
        target: LibraryOutput,
        /// Scratch memory, if [`Device::library`](crate::Device::library) requires some. It does not overlap
        /// any other region.
        scratch: Option<Region>,
    },
    /// Copy bytes; regions of equal size that do not overlap.
    Copy {
        /// Source region.
        source: Region,
        /// Target region.
        target: Region,
    },
    /// Set all bytes to zero.
    Clear {
        /// Region to zero.
        target: Region,
    },
}

impl Command {
    /// A library op without scratch memory.
    pub fn library(
        op: impl LibraryOp,
        inputs: impl Into<Vec<Region>>,
        target: impl Into<LibraryOutput>,
    ) -> Command {
        let (op, inputs, target) = (Arc::new(op), inputs.into(), target.into());
        Command::Library { op, inputs, target, scratch: None }
    }

    /// The regions that the command accesses.
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

/// The destination of a library op's results.
#[derive(Clone, Debug)]
pub enum LibraryOutput {
    /// The results are stored here, one region per operand that is written; the regions do not overlap any
    /// operand that is read.
    Memory(Vec<Region>),
    /// The only result is passed to an epilogue, element by element, and not stored itself;
    /// [`Device::library`](crate::Device::library) says which epilogues a device has.
    Epilogue {
        /// One Point phase, whose points are the elements of the result, row-major. It may store to an
        /// element that the same point loads.
        nest: Verified,
        /// One region per operand; `None` is the result, of which each point loads its own element. Written
        /// regions do not overlap the op's inputs.
        args: Vec<Option<Region>>,
    },
}

impl LibraryOutput {
    /// The regions that the target accesses.
    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        let (memory, args) = match self {
            LibraryOutput::Memory(regions) => (&regions[..], &[][..]),
            LibraryOutput::Epilogue { args, .. } => (&[][..], &args[..]),
        };
        memory.iter().chain(args.iter().flatten())
    }
}

impl From<Region> for LibraryOutput {
    fn from(region: Region) -> LibraryOutput {
        LibraryOutput::Memory(vec![region])
    }
}
