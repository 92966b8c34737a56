//! Nests to source text, one printer for all C-like languages.
//!
//! [`print()`] prints one kernel for each Nest, as its [schedule](crate::schedule) says. The modules:
//!
//! - `sizes`: extents and strides, as literals or as arguments.
//! - `kernel`: the loops. `group` prints the loops of cooperating items, `group_reduce` their folds,
//!   `cpu_lanes` loops that become vector code on CPUs, `tile` products of matrices, `transpose_tile` maps
//!   with transposed operands, `vectorize` vector loads and stores of GPUs.
//! - `block`: the scalar code inside the loops; `folds`: the reductions.
//! - `expr`: C arithmetic; `dialect`: the differences of the languages; `keywords`: words for texts that are
//!   the same in both; `prelude`: functions that neither language has.
//! - `library`: the kernels of library ops.
//!
//! Halves are loaded into f32 registers and stay there: they are rounded when they are stored or cast to a
//! half, not after each op. If the difference would be visible (comparisons, `floor`), fusion inserts a cast.
//! Casts from floats to integers saturate, and NaN becomes 0; signed integers wrap.

mod block;
mod cpu_lanes;
mod cpu_math;
mod dialect;
mod divide;
mod draws;
pub(crate) mod expr;
mod folds;
mod formula;
mod group;
mod group_reduce;
mod kernel;
pub(crate) mod keywords;
pub mod library;
pub(crate) mod prelude;
mod sizes;
mod tile;
mod transpose_tile;
mod vectorize;

pub use crate::target::{Dialect, ForSizes, Target};

use crate::nest::Inst;
use crate::scalar::Scalar;
use crate::verify::Verified;
use std::collections::HashSet;

/// One translation unit.
#[derive(Clone, Debug)]
pub struct TranslationUnit {
    /// The text, prelude and all kernels.
    pub text: String,
    /// One entry point per Nest, in order.
    pub entries: Vec<KernelEntry>,
}

/// How to launch one Nest. The kernel's arguments are, for each operand in order, a pointer, in OpenCL C
/// followed by a ulong, the byte at which the operand starts; then the sizes. Every operand starts at a
/// multiple of 16 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelEntry {
    /// The kernel's name.
    pub name: String,
    /// Number of groups (1-d). If it is 0, do not launch the kernel.
    pub groups: u64,
    /// Work items per group.
    pub group: u32,
    /// The last arguments; empty unless the kernel is for [any size](ForSizes::Any).
    pub sizes: Vec<Scalar>,
}

/// Prints Nests as one translation unit, empty if there are none. If a Nest cannot be typed once its bounds
/// are explicit, which would be a fault of [`bounds`](crate::bounds), an `#error` line with the reason is
/// printed, so that the unit does not compile.
pub fn print(nests: &[Verified], target: &Target) -> TranslationUnit {
    print_numbered(nests, 0, target)
}

/// Prints Nests as translation units that can be compiled at the same time, of about `insts` instructions
/// each, at most `most` of them. Each begins with the next Nest.
pub fn print_in_units(
    nests: &[Verified],
    target: &Target,
    (insts, most): (usize, usize),
) -> Vec<TranslationUnit> {
    let size = |nest: &Verified| nest.phases.iter().map(|phase| phase.block.insts.len()).sum::<usize>();
    let all: usize = nests.iter().map(size).sum();
    let each = all.div_ceil((all / insts.max(1)).clamp(1, most.max(1)));
    let (mut units, mut first, mut now) = (Vec::new(), 0, 0);
    for (at, nest) in nests.iter().enumerate() {
        now += size(nest);
        if now >= each || at + 1 == nests.len() {
            units.push(print_numbered(&nests[first..=at], first, target));
            (first, now) = (at + 1, 0);
        }
    }
    units
}

/// [`print`], with kernels numbered from `first`.
fn print_numbered(nests: &[Verified], first: usize, target: &Target) -> TranslationUnit {
    if nests.is_empty() {
        return TranslationUnit { text: String::new(), entries: vec![] };
    }
    let mut kernels = String::new();
    let mut entries = Vec::with_capacity(nests.len());
    for (at, nest) in nests.iter().enumerate() {
        let name = kernel_name(first + at, &nest.name);
        let entry = kernel::kernel(nest, &name, target, &mut kernels).unwrap_or_else(|error| {
            let reason: String = error
                .to_string()
                .chars()
                .map(|c| if c.is_ascii_graphic() && c != '\\' { c } else { ' ' })
                .collect();
            kernels += &format!("\n#error {reason}\n");
            KernelEntry { name, groups: 0, group: 1, sizes: vec![] }
        });
        entries.push(entry);
    }
    let f64 = nests.iter().any(|nest| nest.uses_f64());
    kernels.insert_str(0, &functions(nests, target.dialect));
    let text = target.dialect.head(f64, target.fast)
        + &vectorize::types(target.dialect, &kernels)
        + &prelude::prelude(target, f64, &kernels)
        + &if target.fast { prelude::fast(target.dialect, &kernels) } else { String::new() }
        + &kernels;
    TranslationUnit { text, entries }
}

/// The definitions of users' functions that Nests call.
fn functions(nests: &[Verified], dialect: Dialect) -> String {
    let mut seen = HashSet::new();
    let insts = nests.iter().flat_map(|nest| &nest.phases).flat_map(|phase| &phase.block.insts);
    let called = insts.filter_map(|inst| match inst {
        Inst::Call { function, .. } if seen.insert(function) => Some(function.definition(dialect)),
        _ => None,
    });
    called.collect()
}

/// `k`, the number of the Nest, and the parts of its name that are valid in an identifier.
fn kernel_name(at: usize, name: &str) -> String {
    const LONGEST: usize = 40;
    let mut text = format!("k{at}");
    for word in name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()) {
        let room = LONGEST.saturating_sub(text.len() + 1);
        if room == 0 {
            break;
        }
        text.push('_');
        text += &word[..word.len().min(room)];
    }
    text
}
