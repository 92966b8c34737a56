//! Expressions with operators, in which compositions and derivatives of the table are written.

use super::real::Real;
use super::{Build, Ex, ScalarOp, Slope, table as op};
use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

/// The builder of the terms.
pub(super) struct TermBuilder<'b>(RefCell<&'b mut dyn Build>);

/// A value of a [`Build`]er. Numbers in operators take its dtype.
#[derive(Clone, Copy)]
pub(super) struct Term<'s, 'b> {
    scope: &'s TermBuilder<'b>,
    pub(super) ex: Ex,
}

impl<'b> TermBuilder<'b> {
    pub(super) fn new(builder: &'b mut dyn Build) -> Self {
        TermBuilder(RefCell::new(builder))
    }

    pub(super) fn term(&self, ex: Ex) -> Term<'_, 'b> {
        Term { scope: self, ex }
    }
}

impl<'s, 'b> Term<'s, 'b> {
    /// `op` of this and other arguments.
    pub(super) fn with<const N: usize>(self, op: ScalarOp, others: [Self; N]) -> Self {
        let mut args = vec![self.ex];
        args.extend(others.iter().map(|o| o.ex));
        self.scope.term(self.scope.0.borrow_mut().op(op, &args))
    }

    /// `op` of this alone.
    pub(super) fn then(self, op: ScalarOp) -> Self {
        self.with(op, [])
    }

    /// Where this, a bool, is true `yes`, else `no`.
    pub(super) fn choose(self, yes: Self, no: Self) -> Self {
        self.with(op::WHERE, [yes, no])
    }

    pub(super) fn is_float(self) -> bool {
        self.scope.0.borrow().dtype(self.ex).is_float()
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident),*) => {
        $(
            impl $trait for Term<'_, '_> {
                type Output = Self;
                fn $method(self, other: Self) -> Self {
                    self.with(op::$op, [other])
                }
            }
            impl $trait<f64> for Term<'_, '_> {
                type Output = Self;
                fn $method(self, other: f64) -> Self {
                    self.with(op::$op, [self.of(other)])
                }
            }
        )*
    };
}
operators!(Add add ADD, Sub sub SUB, Mul mul MUL, Div div DIV);

impl Neg for Term<'_, '_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.then(op::NEG)
    }
}
impl BitAnd for Term<'_, '_> {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        self.with(op::AND, [other])
    }
}
impl BitOr for Term<'_, '_> {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.with(op::OR, [other])
    }
}
impl Not for Term<'_, '_> {
    type Output = Self;
    fn not(self) -> Self {
        self.then(op::NOT)
    }
}

macro_rules! functions {
    ($($name:ident = $op:ident),*) => {
        $(
            fn $name(self) -> Self {
                self.then(op::$op)
            }
        )*
    };
}

impl Real for Term<'_, '_> {
    type Is = Self;

    fn of(self, value: f64) -> Self {
        self.scope.term(self.scope.0.borrow_mut().constant(self.ex, value))
    }
    fn is_single(self) -> bool {
        self.scope.0.borrow().dtype(self.ex).register() == crate::dtype::DType::F32
    }
    fn less(self, other: Self) -> Self {
        self.with(op::LT, [other])
    }
    fn same(self, other: Self) -> Self {
        self.with(op::EQ, [other])
    }
    fn pick(is: Self, yes: Self, no: Self) -> Self {
        is.choose(yes, no)
    }
    functions!(
        abs = ABS,
        sqrt = SQRT,
        rint = RINT,
        exp = EXP,
        expm1 = EXPM1,
        log = LOG,
        log1p = LOG1P,
        sin = SIN,
        cos = COS
    );
}

/// A composition of one or more arguments: `compose!(|x, y| x * y + 1.0)`.
macro_rules! compose {
    (|$($a:ident),+| $e:expr) => {
        |builder: &mut dyn $crate::ops::Build, args: &[$crate::ops::Ex]| {
            let scope = $crate::ops::term::TermBuilder::new(builder);
            let mut args = args.iter().map(|a| scope.term(*a));
            // Callers pass the row's number of arguments.
            $(let Some($a) = args.next() else { return 0 };)+
            $e.ex
        }
    };
}

/// The gradient of each argument: `slopes!(|x, y; out, g| [g * y, g * x])`, after any number of `let`s. It is
/// [`FLAT`] for an argument that the result does not depend on, [`UNKNOWN`] if there is no formula.
macro_rules! slopes {
    (|$($a:ident),+; $out:ident, $g:ident| $(let $p:pat = $v:expr;)* [$($e:expr),+]) => {
        |builder: &mut dyn $crate::ops::Build, args: &[$crate::ops::Ex], out: $crate::ops::Ex, g: $crate::ops::Ex| {
            let scope = $crate::ops::term::TermBuilder::new(builder);
            let mut args = args.iter().map(|a| scope.term(*a));
            let ($out, $g) = (scope.term(out), scope.term(g));
            $(let $a = args.next().unwrap_or($out);)+
            let _ = ($($a,)+ $out, $g);
            $(let $p = $v;)*
            vec![$($crate::ops::Slope::from($e)),+]
        }
    };
}

/// See [`slopes`].
pub(super) const FLAT: Slope = Slope::Flat;
/// See [`slopes`].
pub(super) const UNKNOWN: Slope = Slope::Unknown;

impl From<Term<'_, '_>> for Slope {
    fn from(term: Term<'_, '_>) -> Slope {
        Slope::Is(term.ex)
    }
}

pub(super) use {compose, slopes};
