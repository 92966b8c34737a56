//! A compiled text: instructions, memory and kernels.

use super::arithmetic::{Fn1, Fn2, Fn3};
use crate::custom::ParamKind;
use crate::dtype::DType;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A register of a work item. Every function has registers of its own, since none is active twice.
pub(super) type Reg = u16;

/// Registers that hold LID_0 .. GDIM_2, in the order of the dialect's table.
pub(super) const ITEM_REGISTERS: usize = 12;

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inst {
    Move {
        to: Reg,
        from: Reg,
    },
    Apply1 {
        function: Fn1,
        to: Reg,
        a: Reg,
    },
    Apply2 {
        function: Fn2,
        to: Reg,
        a: Reg,
        b: Reg,
    },
    Apply3 {
        function: Fn3,
        to: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// A function of two integers; the second must not be 0.
    Divide {
        function: Fn2,
        to: Reg,
        a: Reg,
        b: Reg,
    },
    /// A shift, by less than so many bits.
    Shift {
        function: Fn2,
        to: Reg,
        a: Reg,
        b: Reg,
        bits: u8,
    },
    /// A pointer moved by a number of elements of a size.
    Offset {
        to: Reg,
        pointer: Reg,
        index: Reg,
        step: i64,
    },
    /// A pointer moved by bytes.
    Advance {
        to: Reg,
        pointer: Reg,
        by: i64,
    },
    Distance {
        to: Reg,
        a: Reg,
        b: Reg,
        step: i64,
    },
    Load {
        to: Reg,
        pointer: Reg,
        offset: u32,
        dtype: DType,
    },
    Store {
        pointer: Reg,
        offset: u32,
        from: Reg,
        dtype: DType,
    },
    /// Elements of the dtype's size.
    LoadAt {
        to: Reg,
        pointer: Reg,
        index: Reg,
        dtype: DType,
    },
    StoreAt {
        pointer: Reg,
        index: Reg,
        from: Reg,
        dtype: DType,
    },
    /// Private memory at a known byte.
    LoadOwn {
        to: Reg,
        at: u32,
        dtype: DType,
    },
    StoreOwn {
        at: u32,
        from: Reg,
        dtype: DType,
    },
    Copy {
        to: Reg,
        from: Reg,
        bytes: u32,
    },
    CopyOwn {
        to: u32,
        from: u32,
        bytes: u32,
    },
    ClearOwn {
        at: u32,
        bytes: u32,
    },
    AtomicAdd {
        function: Fn2,
        to: Reg,
        pointer: Reg,
        value: Reg,
        dtype: DType,
    },
    Jump {
        to: u32,
    },
    /// Jumps if the condition holds or not, as `when` says.
    Branch {
        condition: Reg,
        when: bool,
        to: u32,
    },
    BranchBy {
        function: Fn2,
        a: Reg,
        b: Reg,
        when: bool,
        to: u32,
    },
    /// Jumps to a function, and stores the return address in its link register.
    Call {
        link: Reg,
        to: u32,
    },
    Return {
        link: Reg,
    },
    Barrier,
    End,
}

/// Memory that pointers point to, by the number that pointers have of it.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) memory: Memory,
    /// Bytes of an element, for people.
    pub(super) element: u64,
}

/// Where an object is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Memory {
    /// What a null pointer points to.
    Null,
    /// The argument of a kernel.
    Argument,
    Local {
        base: usize,
        bytes: usize,
    },
    Constant {
        base: usize,
        bytes: usize,
    },
    /// Private memory; of a function while its link register is not 0.
    Own {
        base: usize,
        bytes: usize,
        link: Option<Reg>,
    },
}

/// What a kernel expects of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Expected {
    Number(DType),
    /// A pointer to the object of this number. `None` for elements that are no numbers.
    Pointer {
        object: usize,
        dtype: Option<DType>,
        constant: bool,
    },
}

/// A parameter of a kernel: where its argument goes.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: Arc<str>,
    pub(super) register: Reg,
    pub(super) expected: Expected,
}

impl Expected {
    /// In the words of signatures.
    pub(super) fn kind(self) -> ParamKind {
        match self {
            Expected::Number(dtype) => ParamKind::Scalar(dtype),
            Expected::Pointer { dtype, constant, .. } => ParamKind::Array { dtype, written: !constant },
        }
    }
}

/// A kernel.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) entry: u32,
    pub(super) params: Vec<Parameter>,
    /// Bytes of local memory that the text declares.
    pub(super) local: usize,
    pub(super) has_barrier: bool,
}

/// A compiled text.
pub(crate) struct Program {
    pub(super) code: Vec<Inst>,
    /// The line of each instruction.
    pub(super) lines: Vec<u32>,
    /// The registers of a work item before it runs: constants are in registers.
    pub(super) registers: Vec<u64>,
    /// Bytes of private memory of a work item.
    pub(super) own: usize,
    pub(super) constants: Vec<u8>,
    pub(super) objects: Vec<Object>,
    pub(super) kernels: HashMap<String, Kernel>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({} instructions)", self.code.len())
    }
}

impl Inst {
    /// Replaces each register.
    pub(super) fn map_registers(&mut self, map: &dyn Fn(Reg) -> Reg) {
        let all = |registers: &mut [&mut Reg]| registers.iter_mut().for_each(|reg| **reg = map(**reg));
        match self {
            Inst::Move { to, from } => all(&mut [to, from]),
            Inst::Apply1 { to, a, .. } => all(&mut [to, a]),
            Inst::Apply2 { to, a, b, .. }
            | Inst::Divide { to, a, b, .. }
            | Inst::Shift { to, a, b, .. }
            | Inst::Distance { to, a, b, .. } => {
                all(&mut [to, a, b]);
            }
            Inst::Apply3 { to, a, b, c, .. } => all(&mut [to, a, b, c]),
            Inst::Offset { to, pointer, index, .. } | Inst::LoadAt { to, pointer, index, .. } => {
                all(&mut [to, pointer, index]);
            }
            Inst::Advance { to, pointer, .. } | Inst::Load { to, pointer, .. } => all(&mut [to, pointer]),
            Inst::Store { pointer, from, .. } => all(&mut [pointer, from]),
            Inst::StoreAt { pointer, index, from, .. } => all(&mut [pointer, index, from]),
            Inst::LoadOwn { to: register, .. } | Inst::StoreOwn { from: register, .. } => {
                all(&mut [register])
            }
            Inst::Copy { to, from, .. } => all(&mut [to, from]),
            Inst::AtomicAdd { to, pointer, value, .. } => all(&mut [to, pointer, value]),
            Inst::Branch { condition, .. } => all(&mut [condition]),
            Inst::BranchBy { a, b, .. } => all(&mut [a, b]),
            Inst::Call { link, .. } | Inst::Return { link } => all(&mut [link]),
            Inst::CopyOwn { .. } | Inst::ClearOwn { .. } | Inst::Jump { .. } | Inst::Barrier | Inst::End => {}
        }
    }

    /// Where it jumps to within its function.
    pub(super) fn target(&mut self) -> Option<&mut u32> {
        match self {
            Inst::Jump { to } | Inst::Branch { to, .. } | Inst::BranchBy { to, .. } => Some(to),
            _ => None,
        }
    }
}
