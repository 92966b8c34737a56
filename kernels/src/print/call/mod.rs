//! Library calls as kernels: each [`Call`] a few launches, one after the other, and scratch memory between them.
//!
//! Work items cooperate by groups with plain barriers, so that one text serves both languages. Results do not depend on timing.

mod cumulate;
mod sort;

use super::{Entry, Target, prelude};
use crate::call::Call;
use crate::dtype::DType;

/// A call as kernels.
#[derive(Clone, Debug)]
pub struct Routine {
    /// One translation unit.
    pub text: String,
    /// Bytes of scratch memory.
    pub scratch: u64,
    /// What is launched, in order; what is written by one is read by the next.
    pub launches: Vec<CallLaunch>,
}

/// A launch of a [`Routine`].
#[derive(Clone, Debug)]
pub struct CallLaunch {
    /// The kernel.
    pub entry: Entry,
    /// Its arguments, as those of a Nest's kernel.
    pub args: Vec<Part>,
}

/// Part of an argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which: inputs, outputs, and scratch memory, in this order.
    pub arg: usize,
    /// The first byte; a multiple of 256.
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

/// Bytes of the scratch memory of a call; `None` where [`call`] prints none.
pub fn scratch(call: &Call, target: &Target) -> Option<u64> {
    match call {
        Call::Cumulate(c) => cumulate::Plan::of(c, target).map(|p| p.scratch()),
        Call::Sort(s) => sort::Plan::of(s).map(|p| p.scratch()),
    }
}

/// Prints a call; `None` where there are no kernels for it.
pub fn call(call: &Call, target: &Target) -> Option<Routine> {
    match call {
        Call::Cumulate(c) => cumulate::Plan::of(c, target).map(|p| p.print(target)),
        Call::Sort(s) => sort::Plan::of(s).map(|p| p.print(target)),
    }
}

/// Kernels in the making.
struct Writer<'t> {
    target: &'t Target,
    f64: bool,
    kernels: String,
    launches: Vec<CallLaunch>,
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
        self.launches.push(CallLaunch { entry: Entry { name, groups, group }, args });
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
    bytes.next_multiple_of(256)
}
