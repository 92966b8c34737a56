//! Library ops: computations for which a device may have better code than a Nest.
//!
//! A [`LibraryOp`] describes a computation, its operands and its cost. Each device chooses an implementation:
//! a vendor's library, kernels printed in both device languages ([`LibraryOp::routine`]), or code in main
//! memory ([`LibraryOp::definition`]). If a device has none of these, lowering uses Nests or runs the node on
//! the host.
//!
//! An op of another crate is one more implementation of the trait. Devices that do not know its type run its
//! routine or its definition.

mod convolution;
mod cumulate;
mod fourier;
mod in_memory;
mod linear_algebra;
mod matmul;
mod nonzero;
mod scatter;
mod search;
mod sort;

pub use convolution::{ConvolutionDirection, LibraryConvolution};
pub use cumulate::Cumulate;
pub use fourier::{Fourier, FourierKind};
pub use in_memory::{Define, InMemory};
pub use linear_algebra::{LinalgProblem, LinearAlgebra};
pub use matmul::{ByteMatmul, Matmul};
pub use nonzero::LibraryNonZero;
pub use scatter::Scatter;
pub use search::Search;
pub use sort::Sorting;

use crate::dtype::DType;
use crate::nest::{Fold, Operand};
use crate::print::Target;
use crate::print::library::Routine;
use std::any::Any;
use std::fmt;

/// Maximum size in bytes of an operand of a library op that is printed, extents of zero left out. It is far
/// more than any device has, and sizes derived from it (scratch memory, groups, tasks) do not overflow.
pub const LARGEST_OPERAND: u64 = 1 << 48;

/// The implementation of a library op in main memory. It takes one slice per operand that is read, and one
/// per operand that is written. Each slice begins at the operand's first element and ends with its last.
pub type Definition = Box<dyn Fn(&[&[u8]], &mut [&mut [u8]]) -> Result<(), DefinitionError> + Send + Sync>;

/// Why a [`Definition`] cannot be made, or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The system refused the definition's work memory.
    #[error("{bytes} bytes of memory were refused")]
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
    /// The slices are not the op's operands.
    #[error("expected {expected}, found {found}")]
    Operands {
        /// The op's operands.
        expected: String,
        /// The slices.
        found: String,
    },
    /// A text of the user's did not compile.
    #[error("{log}")]
    Compile {
        /// What is wrong, with the lines of the text.
        log: String,
    },
    /// Code of the user's failed.
    #[error("{message}")]
    Failed {
        /// What went wrong, and where.
        message: String,
    },
}

/// A computation that devices may have code of their own for. See the [module](self).
pub trait LibraryOp: Any + fmt::Debug + Send + Sync {
    /// Its name for people, e.g. `matmul` or `sort`.
    fn name(&self) -> String;

    /// The dtype that it computes in.
    fn dtype(&self) -> DType;

    /// Its sizes, for people: a product's batch, rows, columns and contracted extent, a sort's extents.
    fn extents(&self) -> Vec<u64>;

    /// The operands: first the inputs, then the outputs. Called only after [`verify`](LibraryOp::verify)
    /// succeeded.
    fn operands(&self) -> Vec<Operand>;

    /// Whether it also reads its outputs, which are initialized in that case.
    fn reads_outputs(&self) -> bool {
        false
    }

    /// Whether others take part in it, which wait for each other: all of them run such ops in one order.
    fn is_joint(&self) -> bool {
        false
    }

    /// Whether operands may start at any element. Otherwise they start at the device's alignment.
    fn starts_anywhere(&self) -> bool {
        false
    }

    /// Checks the parameters. It is total. For an op from an untrusted source, it must succeed before any
    /// method other than [`name`](LibraryOp::name) is called.
    ///
    /// # Errors
    /// The parameter that is wrong: a size that overflows, or extents that contradict each other.
    fn verify(&self) -> Result<(), LibraryError>;

    /// Lower bound of floating-point operations or comparisons.
    fn flops(&self) -> f64;

    /// Distinct elements of an operand that are read or written.
    fn touched(&self, operand: &Operand) -> u64 {
        let moved = operand.shape.iter().zip(&operand.strides).filter(|(_, stride)| **stride != 0);
        moved.fold(1u64, |all, (extent, _)| all.saturating_mul(*extent))
    }

    /// Bytes of scratch memory of its kernels; `None` if there are no kernels for this target.
    fn routine_scratch(&self, target: &Target) -> Option<u64> {
        self.routine(target).map(|routine| routine.scratch)
    }

    /// The op as kernels in the language of the target, if there are any.
    fn routine(&self, target: &Target) -> Option<Routine> {
        let _ = target;
        None
    }

    /// The implementation in main memory, for devices that have none that is faster; `None` if there is no
    /// such code. All work memory is allocated here, because replays allocate nothing. Concurrent calls may
    /// wait for each other.
    ///
    /// # Errors
    /// If the system refuses the work memory.
    fn definition(&self) -> Option<Result<Definition, DefinitionError>> {
        None
    }

    /// Whether it has a [`definition`](LibraryOp::definition). Ops whose definitions allocate work memory
    /// should override this.
    fn has_definition(&self) -> bool {
        self.definition().is_some()
    }
}

impl dyn LibraryOp {
    /// The op, if it is of this type.
    pub fn downcast<T: LibraryOp>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    /// The inputs among the operands.
    pub fn inputs(&self) -> Vec<Operand> {
        self.operands().into_iter().filter(|operand| !operand.written).collect()
    }

    /// The outputs among the operands.
    pub fn outputs(&self) -> Vec<Operand> {
        self.operands().into_iter().filter(|operand| operand.written).collect()
    }

    /// Name, dtype and sizes, e.g. `matmul float32 1x64x64x64`.
    pub fn label(&self) -> String {
        let extents: Vec<String> = self.extents().iter().map(u64::to_string).collect();
        format!("{} {} {}", self.name(), self.dtype(), extents.join("x"))
    }
}

/// Why a [`LibraryOp`] is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{op}: {argument}: expected {expected}, found {found}")]
pub struct LibraryError {
    /// The op's name.
    pub op: String,
    /// The parameter that is wrong.
    pub argument: &'static str,
    /// The expected value.
    pub expected: String,
    /// The value found.
    pub found: String,
}

/// Checks of one op's parameters.
pub(crate) struct ParameterCheck<'a> {
    pub(crate) op: &'a dyn LibraryOp,
}

impl ParameterCheck<'_> {
    pub(crate) fn require<F: ToString>(
        &self,
        holds: bool,
        argument: &'static str,
        texts: impl FnOnce() -> (String, F),
    ) -> Result<(), LibraryError> {
        if holds {
            return Ok(());
        }
        let (expected, found) = texts();
        Err(LibraryError { op: self.op.name(), argument, expected, found: found.to_string() })
    }

    /// At most [`LARGEST_OPERAND`] bytes. Extents of zero are left out, so that the product of any part of
    /// the extents fits as well.
    pub(crate) fn size(
        &self,
        argument: &'static str,
        dtype: DType,
        shape: &[u64],
    ) -> Result<(), LibraryError> {
        let extents = shape.iter().filter(|extent| **extent > 0);
        let bytes = extents.fold(dtype.size() as u64, |bytes, extent| bytes.saturating_mul(*extent));
        let texts = || (format!("at most {LARGEST_OPERAND} bytes of {dtype}"), format!("{shape:?}"));
        self.require(bytes <= LARGEST_OPERAND, argument, texts)
    }

    /// Sum, Product, Max or Min; for bool only Max and Min.
    pub(crate) fn fold(&self, fold: Option<Fold>, dtype: DType) -> Result<(), LibraryError> {
        let extreme = matches!(fold, None | Some(Fold::Max | Fold::Min));
        let known = extreme || (matches!(fold, Some(Fold::Sum | Fold::Product)) && dtype != DType::Bool);
        let expected = if dtype == DType::Bool { "Max or Min" } else { "Sum, Product, Max or Min" };
        self.require(known, "fold", || (format!("{expected} of {dtype}"), format!("{fold:?}")))
    }
}

/// An operand that is read, contiguous.
pub(crate) fn read(dtype: DType, shape: &[u64]) -> Operand {
    Operand::contiguous(dtype, shape, false)
}

/// An operand that is written, contiguous.
pub(crate) fn written(dtype: DType, shape: &[u64]) -> Operand {
    Operand::contiguous(dtype, shape, true)
}
