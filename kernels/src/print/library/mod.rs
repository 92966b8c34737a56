//! Library ops as kernels: each [`Routine`] a few launches, one after the other, and scratch memory between
//! them.
//!
//! Work items cooperate by groups with plain barriers, so that one text serves both languages. Results do not
//! depend on timing.

pub(crate) mod cumulate;
mod radix;
pub(crate) mod scatter;
pub(crate) mod sort;

use super::{Dialect, Entry, Target, prelude};
use crate::dtype::DType;
use crate::nest::Fold;

/// Every [`Part`] starts at a multiple of so many bytes. A device that asks for more runs no routines;
/// NVIDIA's OpenCL asks for 512.
pub const ALIGNMENT: u64 = 4096;

/// A [`LibraryOp`](crate::library::LibraryOp) as kernels.
#[derive(Clone, Debug)]
pub struct Routine {
    /// One translation unit.
    pub text: String,
    /// Bytes of scratch memory.
    pub scratch: u64,
    /// What is launched, in order; what is written by one is read by the next.
    pub launches: Vec<RoutineLaunch>,
}

/// A launch of a [`Routine`].
#[derive(Clone, Debug)]
pub struct RoutineLaunch {
    /// The kernel.
    pub entry: Entry,
    /// Its arguments, as those of a Nest's kernel.
    pub args: Vec<Part>,
}

/// Part of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which: what is read, what is written, and scratch memory, in this order.
    pub arg: usize,
    /// The first byte; a multiple of [`ALIGNMENT`].
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Whether it is written.
    pub written: bool,
}

impl Part {
    fn whole(arg: usize, bytes: u64, written: bool) -> Part {
        Part { arg, offset: 0, bytes, written }
    }

    fn written(self, written: bool) -> Part {
        Part { written, ..self }
    }
}

/// Kernels in the making.
struct Writer<'t> {
    target: &'t Target,
    f64: bool,
    kernels: String,
    launches: Vec<RoutineLaunch>,
}

impl Writer<'_> {
    fn new(target: &Target, f64: bool) -> Writer<'_> {
        Writer { target, f64, kernels: String::new(), launches: vec![] }
    }

    /// A kernel of this body, which sees its operands as `b0`, `b1`, .., and its launch.
    fn kernel(&mut self, name: &str, groups: u64, group: u32, operands: &[(DType, Part)], body: &str) {
        let dialect = self.target.dialect;
        let name = format!("{name}{}", self.launches.len());
        let numbered = || operands.iter().enumerate();
        let parameters: Vec<String> =
            numbered().map(|(at, (dtype, part))| dialect.parameter(*dtype, part.written, at)).collect();
        let starts = numbered().filter_map(|(at, (dtype, part))| dialect.start(*dtype, part.written, at));
        let begin = dialect.begin().map(str::to_string);
        let lines: Vec<String> = begin.into_iter().chain(starts).collect();
        self.kernels += &format!(
            "\n{}({})\n{{\n{}\n{body}}}\n",
            dialect.kernel(&name, group),
            parameters.join(", "),
            lines.join("\n")
        );
        let args = operands.iter().map(|o| o.1).collect();
        self.launches.push(RoutineLaunch { entry: Entry { name, groups, group }, args });
    }

    fn finish(self, helpers: &str, scratch: u64) -> Routine {
        let kernels = format!("{helpers}{}", self.kernels);
        let text = self.target.dialect.head(self.f64, self.target.fast)
            + &prelude::prelude(self.target, self.f64, &kernels)
            + &kernels;
        Routine { text, scratch, launches: self.launches }
    }
}

/// Where parts of scratch memory start.
fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

/// What stands before a function's type.
fn function(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::CudaCpp => "static __device__ __forceinline__",
        Dialect::OpenClC => "static inline",
    }
}

/// What folds: the dtype `A`, `NONE`, which changes nothing, and `join`. Of other folds than Sum, Product,
/// Max and Min, Max.
fn fold_helpers(dialect: Dialect, fold: Fold, acc: DType) -> String {
    let short = acc.short();
    let float = acc.is_float();
    let whole = |op: &str| format!("(A)((u64)(a) {op} (u64)(b))");
    let better = |op: &str| {
        let nan = if float { " || ((b) != (b) && (a) == (a))" } else { "" };
        format!("(((b) {op} (a){nan}) ? (b) : (a))")
    };
    let (join, none) = match fold {
        // The sum of nothing but negative zeros is one.
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
    let function = function(dialect);
    format!(
        "typedef {short} A;\n#define NONE ((A)({none}))\n{function} A join(A a, A b) {{ return {join}; }}\n"
    )
}
