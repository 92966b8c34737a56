//! Rust's operators on Variables, SharedVariables and numbers. `%` has the sign of its divisor, as in Python.

use super::elemwise::elemwise;
use crate::graph::{IntoOperand, SharedVariable, Variable};
use workalike_kernels::ops as scalar;

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident; $($number:ty),*);*) => { $(
        operators!(@sides $trait $method $op; Variable, &Variable, SharedVariable, &SharedVariable);
        // One float and one integer type on the left, so that the type of a literal there is unambiguous.
        operators!(@numbers $trait $method $op; $($number),*);
    )* };
    (@sides $trait:ident $method:ident $op:ident; $($left:ty),*) => { $(
        impl<R: IntoOperand> std::ops::$trait<R> for $left {
            type Output = Variable;

            #[track_caller]
            fn $method(self, other: R) -> Variable {
                elemwise(scalar::$op, vec![self.into_operand(), other.into_operand()])
                    .unwrap_or_else(Variable::poison)
            }
        }
    )* };
    (@numbers $trait:ident $method:ident $op:ident; $($left:ty),*) => { $(
        operators!(@right $trait $method $op $left; Variable, &Variable, SharedVariable, &SharedVariable);
    )* };
    (@right $trait:ident $method:ident $op:ident $left:ty; $($right:ty),*) => { $(
        impl std::ops::$trait<$right> for $left {
            type Output = Variable;

            #[track_caller]
            fn $method(self, other: $right) -> Variable {
                elemwise(scalar::$op, vec![self.into_operand(), other.into_operand()])
                    .unwrap_or_else(Variable::poison)
            }
        }
    )* };
}
operators!(
    Add add ADD; f64, i64;
    Sub sub SUB; f64, i64;
    Mul mul MUL; f64, i64;
    Div div DIV; f64, i64;
    Rem rem REMAINDER; f64, i64;
    BitAnd bitand BITWISE_AND; i64;
    BitOr bitor BITWISE_OR; i64;
    BitXor bitxor BITWISE_XOR; i64;
    Shl shl LEFT_SHIFT; i64;
    Shr shr RIGHT_SHIFT; i64
);

macro_rules! prefix {
    ($trait:ident $method:ident $op:ident; $($t:ty),*) => { $(
        impl std::ops::$trait for $t {
            type Output = Variable;

            #[track_caller]
            fn $method(self) -> Variable {
                elemwise(scalar::$op, vec![self.into_operand()]).unwrap_or_else(Variable::poison)
            }
        }
    )* };
}
prefix!(Neg neg NEG; Variable, &Variable, SharedVariable, &SharedVariable);
prefix!(Not not INVERT; Variable, &Variable, SharedVariable, &SharedVariable);
