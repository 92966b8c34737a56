//! Library ops as kernels: each [`Routine`] is a sequence of launches, with scratch memory between them.
//!
//! Sizes are arguments of the kernels, so that all sizes of one class have one text, which is compiled once.
//! A class is chosen by thresholds: whether a row fits a group, the elements of a work item, the width of
//! addresses.
//!
//! The texts are files in the dialect of users' kernels, one text for both languages; only the radix sort is
//! written for CUDA. The modules choose the kernels and their launches, and fill in types, sizes and
//! operators (`template`). Work items cooperate only within groups, with plain barriers. Results do not
//! depend on timing.

mod atomic_points;
pub(crate) mod cumulate;
pub(crate) mod exact_scatter;
pub(crate) mod fixed_scatter;
mod folded_rows;
pub(crate) mod grouped_scatter;
pub(crate) mod last_scatter;
mod radix;
mod radix_select;
pub(crate) mod scatter;
pub(crate) mod sort;
mod sorting_network;
mod template;

use super::{Dialect, Target};
use crate::dtype::{DType, Width};
use crate::nest::Fold;
use crate::scalar::Scalar;
use std::fmt::Display;
use template::{KernelTemplate, NamedPart, TypedPart, fill};

/// Alignment in bytes of every [`OperandPart`]. A device that needs more runs no routines; NVIDIA's OpenCL
/// needs 512.
pub const ALIGNMENT: u64 = 4096;

/// A [`LibraryOp`](crate::library::LibraryOp) as kernels.
#[derive(Clone, Debug)]
pub struct Routine {
    /// One translation unit; empty if there is nothing to compile.
    pub text: String,
    /// The names of its kernels, each with a translation unit of its own, so that they can be compiled at the
    /// same time; empty if they have memory in common.
    pub units: Vec<(String, String)>,
    /// Bytes of scratch memory.
    pub scratch: u64,
    /// The launches in order; each may read what the ones before wrote.
    pub launches: Vec<RoutineLaunch>,
}

/// A launch of a [`Routine`].
#[derive(Clone, Debug)]
pub struct RoutineLaunch {
    /// The kernel's name.
    pub name: String,
    /// Groups in each dimension. If one is 0, do not launch the kernel.
    pub grid: [u64; 3],
    /// Work items of a group in each dimension.
    pub group: [u32; 3],
    /// Its arguments.
    pub args: Vec<LaunchArg>,
    /// Whether the kernel begins with a wait for its dependencies (CUDA's griddepcontrol.wait), so that it
    /// may be a programmatic dependent.
    pub waits: bool,
}

impl RoutineLaunch {
    /// The work items of a group, and whether there are any groups.
    pub fn items(&self) -> (u64, bool) {
        let items = self.group.iter().fold(1u64, |all, extent| all.saturating_mul(u64::from(*extent)));
        (items, self.grid.iter().all(|groups| *groups > 0))
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LaunchArg {
    /// Part of an operand, as in a Nest's kernel: a pointer, in OpenCL C followed by a ulong, the byte at
    /// which the part starts.
    Memory(OperandPart),
    /// A number.
    Scalar(Scalar),
    /// Bytes of memory of each group. In OpenCL C a pointer; in CUDA C++ an unsigned int, the byte at which
    /// it starts in the kernel's dynamic shared memory.
    Local(u64),
}

/// Part of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandPart {
    /// Number of the operand: inputs, outputs, then scratch memory.
    pub arg: usize,
    /// Byte offset; a multiple of [`ALIGNMENT`].
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether the launch writes to it.
    pub written: bool,
}

impl OperandPart {
    fn whole(arg: usize, bytes: u64, written: bool) -> OperandPart {
        OperandPart { arg, offset: 0, bytes, written }
    }

    fn written(self, written: bool) -> OperandPart {
        OperandPart { written, ..self }
    }
}

/// An argument that is a size: its name in the text, and its value.
type Size = (&'static str, Scalar);

/// A size of 32 bits. The plan has made sure that it fits.
fn size32(name: &'static str, n: u64) -> Size {
    debug_assert!(u32::try_from(n).is_ok(), "{name} is {n}");
    (name, Scalar::from_i128(DType::U32, n.into()))
}

/// A size of 64 bits.
fn size64(name: &'static str, n: u64) -> Size {
    (name, Scalar::from_i128(DType::U64, n.into()))
}

/// The type of numbers up to `most`, and some more: wide numbers are slow to divide.
fn index_type(most: u64) -> DType {
    if most < 1 << 31 { DType::U32 } else { DType::U64 }
}

/// Kernels being printed.
struct RoutineWriter<'t> {
    target: &'t Target,
    f64: bool,
    /// The names and the texts of the kernels.
    kernels: Vec<(String, String)>,
    /// The names of the kernels by their texts without the name.
    defined: Vec<(String, String)>,
    launches: Vec<RoutineLaunch>,
}

impl RoutineWriter<'_> {
    fn new(target: &Target, f64: bool) -> RoutineWriter<'_> {
        RoutineWriter { target, f64, kernels: vec![], defined: vec![], launches: vec![] }
    }

    fn finish(self, helpers: &str, scratch: u64) -> Routine {
        if self.launches.is_empty() {
            return Routine { text: String::new(), units: vec![], scratch, launches: vec![] };
        }
        let unit = |kernels: &str| template::unit(self.target, self.f64, &format!("{helpers}{kernels}"));
        let all: String = self.kernels.iter().map(|(_, text)| text.as_str()).collect();
        let text = unit(&all);
        let units = self.kernels.iter().map(|(name, text)| (name.clone(), unit(text))).collect();
        Routine { text, units, scratch, launches: self.launches }
    }
}

/// A kernel that sets words of memory: statements for word `id`.
fn clear_text(index: &str, sets: &str) -> String {
    fill(include_str!("clear.c"), &[("index", &index), ("sets", &sets)])
}

/// The dtype as which elements are moved: the unsigned integers of their size.
fn moved_as(dtype: DType) -> DType {
    match dtype.width() {
        Width::Bits8 => DType::U8,
        Width::Bits16 => DType::U16,
        Width::Bits32 => DType::U32,
        Width::Bits64 => DType::U64,
        // No unsigned integer has that size; library ops are checked to have no such operands.
        Width::Bits128 => dtype,
    }
}

/// Rounds a size up, so that the next part of scratch memory is aligned.
fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

/// The definitions of a fold: `fold.c`. `fold` is Sum, Product, Max or Min; others are printed as Max.
fn fold_helpers(dialect: Dialect, fold: Fold, acc: DType) -> String {
    let float = acc.is_float();
    let whole = |op: &str| format!("(A)((u64)(a) {op} (u64)(b))");
    let better = |op: &str| {
        let nan = if float { " || ((b) != (b) && (a) == (a))" } else { "" };
        format!("(((b) {op} (a){nan}) ? (b) : (a))")
    };
    let (join, none) = match fold {
        // The sum of negative zeros only is a negative zero.
        Fold::Sum if float => ("((a) + (b))".into(), "-0.0f".to_string()),
        Fold::Product if float => ("((a) * (b))".into(), "1".into()),
        Fold::Sum => (whole("+"), "0".into()),
        Fold::Product => (whole("*"), "1".into()),
        fold => {
            let none = fold.identity(acc);
            let text = if float {
                dialect.float_bits(acc, none.bits())
            } else {
                format!("(A)0x{:x}u{}", none.bits(), if acc.size() == 8 { dialect.long() } else { "" })
            };
            (better(if fold == Fold::Min { "<" } else { ">" }), text)
        }
    };
    let compensated = u8::from(fold == Fold::Sum && float);
    let words: [(&str, &dyn Display); 4] =
        [("acc", &acc.short()), ("none", &none), ("join", &join), ("compensated", &compensated)];
    fill(include_str!("fold.c"), &words)
}
