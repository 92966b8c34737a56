//! Draws of floats.

use super::super::elemwise::{cast, elemwise};
use super::super::methods::fail;
use super::{IntoSize, RandomStreams};
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, Variable};
use crate::value::{Element, Value};
use workalike_kernels::{DType, Scalar, ops as scalar};

impl RandomStreams {
    /// Uniform draws in [0, 1): multiples of 2^-8 (bf16), 2^-11 (f16), 2^-24 (f32) or 2^-53 (f64), each as
    /// likely as any other.
    #[track_caller]
    pub fn uniform<T: Element>(&self, size: impl IntoSize) -> Variable {
        let _scope = source_location::enter();
        let build = || unit(&self.draw(size.into_size())?.lane(0)?, T::DTYPE);
        build().unwrap_or_else(Variable::poison)
    }

    /// Standard normal draws, by Box and Muller: `sqrt(-2 ln u) cos(2 pi v)` with u in (0, 1]. Others are
    /// `mean + deviation * streams.normal(..)`.
    #[track_caller]
    pub fn normal<T: Element>(&self, size: impl IntoSize) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let bits = self.draw(size.into_size())?;
            let dtype = T::DTYPE.promote(DType::F32);
            let radius = up_to_one(&bits.lane(0)?, dtype)?.try_log()?.try_mul(-2.0)?.try_sqrt()?;
            let angle = unit(&bits.lane(1)?, dtype)?.try_mul(std::f64::consts::TAU)?;
            cast(&radius.try_mul(&angle.try_cos()?)?, T::DTYPE)
        };
        build().unwrap_or_else(Variable::poison)
    }

    /// Exponential draws with mean `scale`: `-scale ln u` with u in (0, 1].
    ///
    /// # Errors
    /// (In the result.) If a scale is negative or NaN; of a Variable, that is found in the call.
    #[track_caller]
    pub fn exponential<T: Element>(&self, scale: impl IntoOperand, size: impl IntoSize) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let scale = not_negative("exponential", "scale", scale.into_operand())?;
            let dtype = T::DTYPE.promote(DType::F32);
            let bits = self.draw(size.into_size())?;
            let log = up_to_one(&bits.lane(0)?, dtype)?.try_log()?;
            // Not the negative, which would be -0.0 of 0.
            let draw = elemwise(scalar::SUB, vec![Operand::Float(0.0), Operand::Variable(log)])?;
            cast(&draw.try_mul(bits.fit(scale)?)?, T::DTYPE)
        };
        build().unwrap_or_else(Variable::poison)
    }
}

/// A parameter, if it is not negative; of a Variable, that is checked in each call.
pub(super) fn not_negative(draw: &str, name: &str, parameter: Operand) -> Result<Operand> {
    let message = || format!("{draw}: a {name} is negative");
    match (number(&parameter), parameter) {
        (Some(n), _) if n.is_nan() || n < 0.0 => Err(fail(draw, format!("{name} {n} is below 0"))),
        (None, Operand::Variable(v)) => {
            v.try_assert(v.try_greater_equal(0i64)?, &message()).map(Operand::Variable)
        }
        (_, known) => Ok(known),
    }
}

/// A parameter that is known when it is written.
pub(super) fn number(parameter: &Operand) -> Option<f64> {
    match parameter {
        Operand::Int(n) => Some(*n as f64),
        Operand::Float(x) => Some(*x),
        Operand::Bool(b) => Some(f64::from(u8::from(*b))),
        Operand::Complex(_) => None,
        Operand::Variable(v) => v.constant_value().and_then(Value::to_scalar).map(Scalar::to_f64),
    }
}

/// Random bits as a float in (0, 1].
fn up_to_one(bits: &Variable, dtype: DType) -> Result<Variable> {
    elemwise(scalar::SUB, vec![Operand::Float(1.0), Operand::Variable(unit(bits, dtype)?)])
}

/// Random bits as a float in [0, 1) of this dtype: as many as its significand has, so that none rounds to 1.
pub(super) fn unit(bits: &Variable, dtype: DType) -> Result<Variable> {
    let (wide, digits) = match dtype {
        DType::F64 => (DType::F64, 53),
        DType::F32 => (DType::F32, 24),
        DType::F16 => (DType::F32, 11),
        DType::BF16 => (DType::F32, 8),
        other => return Err(fail("draw", format!("expected a float dtype, got {other}"))),
    };
    let shift = Variable::constant(64 - digits as u64);
    let top = elemwise(scalar::RIGHT_SHIFT, vec![Operand::Variable(bits.clone()), Operand::Variable(shift)])?;
    let scale = Variable::constant(Value::scalar(Scalar::from_f64(wide, (-digits as f64).exp2())));
    let unit = cast(&top, wide)?.try_mul(scale)?;
    cast(&unit, dtype)
}
