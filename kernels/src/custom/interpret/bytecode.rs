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
pub(super) enum MachineInst {
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
    pub(super) memory: ObjectLocation,
    /// Bytes of an element, for people.
    pub(super) element: u64,
}

/// Where an object is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ObjectLocation {
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
pub(super) struct KernelParameter {
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
pub(super) struct CompiledKernel {
    pub(super) entry: u32,
    pub(super) params: Vec<KernelParameter>,
    /// Bytes of local memory that the text declares.
    pub(super) local: usize,
    pub(super) has_barrier: bool,
}

/// A compiled text.
pub(crate) struct MachineProgram {
    pub(super) code: Vec<MachineInst>,
    /// The line of each instruction.
    pub(super) lines: Vec<u32>,
    /// The registers of a work item before it runs: constants are in registers.
    pub(super) registers: Vec<u64>,
    /// Bytes of private memory of a work item.
    pub(super) own: usize,
    pub(super) constants: Vec<u8>,
    pub(super) objects: Vec<Object>,
    pub(super) kernels: HashMap<String, CompiledKernel>,
}

impl fmt::Debug for MachineProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({} instructions)", self.code.len())
    }
}

impl MachineInst {
    /// Replaces each register.
    pub(super) fn map_registers(&mut self, map: &dyn Fn(Reg) -> Reg) {
        let all = |registers: &mut [&mut Reg]| registers.iter_mut().for_each(|reg| **reg = map(**reg));
        match self {
            MachineInst::Move { to, from } => all(&mut [to, from]),
            MachineInst::Apply1 { to, a, .. } => all(&mut [to, a]),
            MachineInst::Apply2 { to, a, b, .. }
            | MachineInst::Divide { to, a, b, .. }
            | MachineInst::Shift { to, a, b, .. }
            | MachineInst::Distance { to, a, b, .. } => {
                all(&mut [to, a, b]);
            }
            MachineInst::Apply3 { to, a, b, c, .. } => all(&mut [to, a, b, c]),
            MachineInst::Offset { to, pointer, index, .. }
            | MachineInst::LoadAt { to, pointer, index, .. } => {
                all(&mut [to, pointer, index]);
            }
            MachineInst::Advance { to, pointer, .. } | MachineInst::Load { to, pointer, .. } => {
                all(&mut [to, pointer])
            }
            MachineInst::Store { pointer, from, .. } => all(&mut [pointer, from]),
            MachineInst::StoreAt { pointer, index, from, .. } => all(&mut [pointer, index, from]),
            MachineInst::LoadOwn { to: register, .. } | MachineInst::StoreOwn { from: register, .. } => {
                all(&mut [register])
            }
            MachineInst::Copy { to, from, .. } => all(&mut [to, from]),
            MachineInst::AtomicAdd { to, pointer, value, .. } => all(&mut [to, pointer, value]),
            MachineInst::Branch { condition, .. } => all(&mut [condition]),
            MachineInst::BranchBy { a, b, .. } => all(&mut [a, b]),
            MachineInst::Call { link, .. } | MachineInst::Return { link } => all(&mut [link]),
            MachineInst::CopyOwn { .. }
            | MachineInst::ClearOwn { .. }
            | MachineInst::Jump { .. }
            | MachineInst::Barrier
            | MachineInst::End => {}
        }
    }

    /// Where it jumps to within its function.
    pub(super) fn target(&mut self) -> Option<&mut u32> {
        match self {
            MachineInst::Jump { to } | MachineInst::Branch { to, .. } | MachineInst::BranchBy { to, .. } => {
                Some(to)
            }
            _ => None,
        }
    }
}
