//! What a recording consists of: launches, products, library calls and copies, with memory bound.

use crate::device::Memory;
use std::sync::Arc;
use workalike_kernels::DType;
use workalike_kernels::call::Call;
use workalike_kernels::nest::Nest;

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
    /// `a @ b`.
    Matmul {
        /// Sizes and layouts.
        product: Matmul,
        /// The left factor; the region starts at its first element.
        a: Region,
        /// The right factor, likewise.
        b: Region,
        /// What becomes of the result.
        c: Target,
    },
    /// A call of the device's own.
    Call {
        /// What is computed.
        call: Call,
        /// Its inputs, its outputs, which overlap nothing else, and its scratch memory, if it needs some: as
        /// [`Device::call_scratch`](crate::Device::call_scratch) said, and apart from all else too.
        args: Vec<Region>,
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
    /// The memory that is touched.
    pub fn regions(&self) -> Vec<&Region> {
        match self {
            Command::Launch { args, .. } => args.iter().collect(),
            Command::Matmul { a, b, c, .. } => [a, b].into_iter().chain(c.regions()).collect(),
            Command::Copy { source, target } => vec![source, target],
            Command::Clear { target } => vec![target],
            Command::Call { args, .. } => args.iter().collect(),
        }
    }
}

/// What becomes of a product.
#[derive(Clone, Debug)]
pub enum Target {
    /// It is stored here, contiguous; the region overlaps neither factor.
    Memory(Region),
    /// It is given to an epilogue that [`Device::absorbs`](crate::Device::absorbs), element by element, and
    /// stored nowhere else.
    Epilogue {
        /// One Point phase, whose points are the elements of the result, row-major. It may store where it
        /// loads at the same point.
        nest: Arc<Nest>,
        /// One region per operand; `None` is the product, of which each point loads its own element. What is
        /// written overlaps neither factor.
        args: Vec<Option<Region>>,
    },
}

impl Target {
    /// The memory that is touched.
    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        let (memory, args) = match self {
            Target::Memory(region) => (Some(region), &[][..]),
            Target::Epilogue { args, .. } => (None, &args[..]),
        };
        memory.into_iter().chain(args.iter().flatten())
    }
}

impl From<Region> for Target {
    fn from(region: Region) -> Target {
        Target::Memory(region)
    }
}

/// A batched matrix product `(batch, m, k) @ (batch, k, n) -> (batch, m, n)`. Halves accumulate in f32 and
/// round once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Matmul {
    /// Of both factors and of the result.
    pub dtype: DType,
    /// Number of products; 1 for a plain one.
    pub batch: u64,
    /// Rows of the result.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// The contracted extent.
    pub k: u64,
    /// Layout of the left factor: steps along batch, m, k, in elements. One of the last two is 1 (or its
    /// extent is).
    pub a: [i64; 3],
    /// Layout of the right factor: steps along batch, k, n, in elements, likewise.
    pub b: [i64; 3],
    /// As in [`Numerics`](crate::Numerics): factors of f32 may be rounded to TF32. Otherwise they are not.
    pub fast: bool,
}
