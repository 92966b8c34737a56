//! Operands: what an operator or a method of a Variable takes.

use super::shared::SharedVariable;
use super::variable::Variable;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};
use std::fmt;
use workalike_kernels::DType;

/// One side of an operator: a Variable, or a Rust number, which is weak: see [`Variable`].
#[derive(Clone, Debug)]
pub enum Operand {
    /// A Variable.
    Variable(Variable),
    /// A whole number.
    Int(i128),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A complex number.
    Complex(Complex64),
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Variable(v) => write!(f, "{}", v.ty()),
            Operand::Int(n) => write!(f, "{n}"),
            Operand::Float(x) => write!(f, "{x:?}"),
            Operand::Bool(b) => write!(f, "{b}"),
            Operand::Complex(z) => write!(f, "{z}"),
        }
    }
}

impl Operand {
    /// Its dtype where no other operand decides it; weak operands promote by it.
    pub(crate) fn default_dtype(&self) -> DType {
        match self {
            Operand::Variable(v) => v.dtype(),
            Operand::Int(_) => DType::I64,
            Operand::Float(_) => DType::F64,
            Operand::Bool(_) => DType::Bool,
            Operand::Complex(_) => DType::C128,
        }
    }

    /// Whether it takes the dtype of the other operands.
    pub(crate) fn is_weak(&self) -> bool {
        match self {
            Operand::Variable(v) => v.is_weak(),
            _ => true,
        }
    }
}

/// Types that may stand beside a Variable in an operator.
pub trait IntoOperand {
    /// As an operand.
    fn into_operand(self) -> Operand;
}

impl IntoOperand for Operand {
    fn into_operand(self) -> Operand {
        self
    }
}
impl IntoOperand for Variable {
    fn into_operand(self) -> Operand {
        Operand::Variable(self)
    }
}
impl IntoOperand for &Variable {
    fn into_operand(self) -> Operand {
        Operand::Variable(self.clone())
    }
}
impl IntoOperand for SharedVariable {
    fn into_operand(self) -> Operand {
        Operand::Variable((*self).clone())
    }
}
impl IntoOperand for &SharedVariable {
    fn into_operand(self) -> Operand {
        Operand::Variable((**self).clone())
    }
}
macro_rules! weak {
    ($($t:ty => $kind:ident as $wide:ty),*) => { $(impl IntoOperand for $t {
        fn into_operand(self) -> Operand {
            Operand::$kind(self as $wide)
        }
    })* };
}
weak!(
    i8 => Int as i128, i16 => Int as i128, i32 => Int as i128, i64 => Int as i128, isize => Int as i128, u8 => Int as i128,
    u16 => Int as i128, u32 => Int as i128, u64 => Int as i128, usize => Int as i128, f64 => Float as f64,
    bool => Bool as bool, Complex64 => Complex as Complex64
);

macro_rules! typed {
    ($($t:ty),*) => { $(impl IntoOperand for $t {
        fn into_operand(self) -> Operand {
            Operand::Variable(Variable::constant(self))
        }
    })* };
}
typed!(f32, f16, bf16, Complex32);
