//! What kernels are for: a language, a device and sizes.

use crate::nest::{Fold, Nest};

/// The language to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// OpenCL C 1.2.
    OpenClC,
    /// CUDA C++ for NVRTC, without any header.
    CudaCpp,
}

/// The properties of the device that the printer uses.
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
    /// A CPU: one work item walks a whole row; barriers are expensive.
    pub cpu: bool,
    /// Results may be less exact, for speed: products and sums are contracted, and CUDA's fast functions
    /// replace the exact ones of f32 (see `print/prelude.rs`). NaN and infinity keep their meaning.
    pub fast: bool,
    /// The sizes that kernels are for.
    pub sizes: ForSizes,
}

/// The sizes that a kernel is for: extents, strides and offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ForSizes {
    /// Those of its Nest: they are literals, and loops are chosen for them.
    #[default]
    One,
    /// Those of its Nest, which are literals, but its results have the bits of a kernel for any size: sums
    /// are taken in the same order.
    OneOfAny,
    /// Any: sizes are arguments, and Nests that differ only in sizes have one text. Slower. A kernel with too
    /// many sizes for arguments has literals.
    Any,
}

impl ForSizes {
    /// Whether the loops of a Nest are chosen for any size.
    pub(crate) fn loops_for_any(self, nest: &Nest) -> bool {
        let mut folds = nest.phases.iter().flat_map(|phase| &phase.folds);
        match self {
            ForSizes::One => false,
            ForSizes::OneOfAny => folds.any(|fold| matches!(fold.fold, Fold::Sum | Fold::Product)),
            ForSizes::Any => true,
        }
    }
}
