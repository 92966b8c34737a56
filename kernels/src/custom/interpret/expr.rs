//! Typed expressions, statements and functions.

use super::arithmetic::{Fn1, Fn2, Fn3};
use super::types::Type;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An expression with its type.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) ty: Type,
    pub(super) line: usize,
    /// Expressions within it, so that recursion is bounded.
    pub(super) depth: usize,
}

/// An expression. Operands have the types that the operator takes: conversions are explicit.
#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    /// A number, as a register holds it; a null pointer is 0.
    Number(u64),
    /// A variable of the function.
    Variable(usize),
    /// An array or a variable in local or constant memory.
    Object(usize),
    /// A register that the machine sets: LID_0, ...
    Item(u16),
    /// What a pointer points to.
    Deref(Box<Expr>),
    /// A part of a struct or an array, at a byte.
    Field(Box<Expr>, u64),
    /// A pointer to memory, also to the first element of an array.
    Address(Box<Expr>),
    /// The same bits as another type.
    Cast(Box<Expr>),
    Apply1(Fn1, Box<Expr>),
    Apply2(Fn2, Box<[Expr; 2]>),
    Apply3(Fn3, Box<[Expr; 3]>),
    /// A division of integers.
    Divide(Fn2, Box<[Expr; 2]>),
    /// A shift of a number of so many bits.
    Shift(Fn2, Box<[Expr; 2]>, u8),
    /// A pointer moved by a number of elements of a size in bytes, backwards if it is negative.
    Offset(Box<[Expr; 2]>, i64),
    /// The distance of two pointers in elements of a size in bytes.
    Distance(Box<[Expr; 2]>, i64),
    /// `&&`, and `||` if `any`.
    Logic {
        any: bool,
        of: Box<[Expr; 2]>,
    },
    Choose(Box<[Expr; 3]>),
    Comma(Box<[Expr; 2]>),
    Assign(Box<[Expr; 2]>),
    /// A variable that changes by what it holds. The value is that before the change if `post`.
    Update {
        target: Box<Expr>,
        change: Box<Expr>,
        post: bool,
    },
    /// The value that the innermost [`ExprKind::Update`] changes.
    Held,
    /// A function of the text, by its number.
    Call(usize, Vec<Expr>),
    /// Adds a number to memory that a pointer points to; the value is the number before.
    AtomicAdd(Fn2, Box<[Expr; 2]>),
    Barrier,
}

/// A statement.
#[derive(Debug)]
pub(super) enum Stmt {
    Expr(Expr),
    Block(Vec<Stmt>),
    /// Conditions with what is done if they are the first that holds.
    If {
        arms: Vec<(Expr, Stmt)>,
        otherwise: Option<Box<Stmt>>,
    },
    Loop(Box<LoopStmt>),
    Switch(Box<Switch>),
    /// Where a case of the innermost switch begins, by its number.
    Case(usize),
    Break(usize),
    Continue(usize),
    Return(Option<Expr>, usize),
    /// All bytes of a variable become 0.
    Clear(usize, usize),
}

/// `for`, `while` and `do`.
#[derive(Debug)]
pub(super) struct LoopStmt {
    pub(super) start: Vec<Stmt>,
    pub(super) condition: Option<Expr>,
    pub(super) step: Option<Expr>,
    pub(super) body: Stmt,
    /// Whether the body runs before the first condition.
    pub(super) body_first: bool,
    pub(super) line: usize,
}

#[derive(Debug)]
pub(super) struct Switch {
    pub(super) value: Expr,
    /// `None` is the default.
    pub(super) cases: Vec<Option<u64>>,
    pub(super) body: Stmt,
}

/// A variable of a function.
#[derive(Clone, Debug)]
pub(super) struct LocalVariable {
    pub(super) name: Arc<str>,
    pub(super) ty: Type,
    pub(super) constant: bool,
    /// Whether its address is taken, so that it is in memory.
    pub(super) in_memory: bool,
}

/// A function or a kernel.
#[derive(Debug)]
pub(super) struct FunctionDef {
    pub(super) name: Arc<str>,
    pub(super) line: usize,
    pub(super) is_kernel: bool,
    pub(super) result: Type,
    /// The first variables are the parameters.
    pub(super) params: usize,
    pub(super) variables: Vec<LocalVariable>,
    /// `None` until it is defined.
    pub(super) body: Option<Vec<Stmt>>,
    /// The functions that it calls.
    pub(super) calls: BTreeSet<usize>,
    pub(super) has_barrier: bool,
}

/// Memory that a text names: an array or a variable in local or constant memory.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: Arc<str>,
    pub(super) ty: Type,
    pub(super) constant: bool,
    /// The values, of constant memory.
    pub(super) bytes: Option<Vec<u8>>,
    /// The kernel, of local memory.
    pub(super) owner: Option<usize>,
}

impl Expr {
    /// The number, if it is one that is known.
    pub(super) fn known(&self) -> Option<u64> {
        match self.kind {
            ExprKind::Number(bits) => Some(bits),
            _ => None,
        }
    }

    /// Whether it is the constant 0, which is also a null pointer.
    pub(super) fn is_null(&self) -> bool {
        self.ty.is_integer() && self.known() == Some(0)
    }
}
