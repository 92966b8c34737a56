//! Gamma variables, and what is made of them.

use super::super::elemwise::cast;
use super::super::methods::fail;
use super::super::softmax;
use super::continuous::not_negative;
use super::{IntoSize, RandomStreams, Size, like};
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, Variable};
use crate::value::Element;
use workalike_kernels::{DType, ops as scalar};

impl RandomStreams {
    /// Draws with density `x^(shape - 1) exp(-x / scale)`, up to a factor: mean `shape * scale`, variance
    /// `shape * scale^2` (G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables",
    /// 2000). Computed in float64 on all devices. Twice such a draw with shape `n / 2` is chi-square with `n`
    /// degrees of freedom.
    ///
    /// # Errors
    /// (In the result.) If a shape or scale is negative or NaN; of a Variable, that is found in the call.
    /// There is a gradient to the scale, none to the shape.
    #[track_caller]
    pub fn gamma<T: Element>(
        &self,
        shape: impl IntoOperand,
        scale: impl IntoOperand,
        size: impl IntoSize,
    ) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let scale = not_negative("gamma", "scale", scale.into_operand())?;
            let (bits, log) = self.log_gamma("gamma", "shape", shape.into_operand(), size.into_size())?;
            let scale = bits.fit(scale)?;
            cast(&log.try_exp()?.try_mul(scale)?, float(T::DTYPE)?)
        };
        build().unwrap_or_else(Variable::poison)
    }

    /// Draws in 0 to 1 with density `x^(a - 1) (1 - x)^(b - 1)`, up to a factor: mean `a / (a + b)`. Of two
    /// gamma variables, by their logarithms, which do not underflow for small parameters.
    ///
    /// # Errors
    /// (In the result.) If a parameter is negative or NaN; of a Variable, that is found in the call. There is
    /// no gradient to them.
    #[track_caller]
    pub fn beta<T: Element>(
        &self,
        a: impl IntoOperand,
        b: impl IntoOperand,
        size: impl IntoSize,
    ) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let size = size.into_size();
            let (_, of_a) = self.log_gamma("beta", "parameter", a.into_operand(), size.clone())?;
            let (_, of_b) = self.log_gamma("beta", "parameter", b.into_operand(), size)?;
            cast(&of_a.try_sub(of_b)?.try_sigmoid()?, float(T::DTYPE)?)
        };
        build().unwrap_or_else(Variable::poison)
    }

    /// Probabilities along the last axis of `alpha`, which add up to 1, with density `x_k^(alpha_k - 1)`
    /// multiplied over `k`, up to a factor. The result has the shape of `alpha`; draw many by `alpha`
    /// broadcast to more axes.
    ///
    /// # Errors
    /// (In the result.) If `alpha` has no axes, or is no array of floats; if an element is negative or NaN,
    /// that is found in the call.
    #[track_caller]
    pub fn dirichlet<T: Element>(&self, alpha: impl Into<Variable>) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let alpha = alpha.into();
            if alpha.checked()?.ndim() == 0 {
                return Err(fail("dirichlet", format!("expected alpha along an axis, got {}", alpha.ty())));
            }
            let size = like(&alpha);
            let (_, log) = self.log_gamma("dirichlet", "alpha", Operand::Variable(alpha), size)?;
            cast(&softmax(log, -1), float(T::DTYPE)?)
        };
        build().unwrap_or_else(Variable::poison)
    }

    /// Student's t with so many degrees of freedom: a normal draw over the root of a gamma draw with mean 1.
    /// One degree is Cauchy's distribution.
    ///
    /// # Errors
    /// (In the result.) If there are less than 0 degrees, or NaN; of a Variable, that is found in the call.
    #[doc(alias("student_t"))]
    #[track_caller]
    pub fn standard_t<T: Element>(&self, degrees: impl IntoOperand, size: impl IntoSize) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let size = size.into_size();
            let degrees = not_negative("standard_t", "number of degrees", degrees.into_operand())?;
            let degrees = Operand::resolve_for("standard_t", vec![degrees]).swap_remove(0);
            let half = cast(&degrees, DType::F64)?.try_mul(0.5)?;
            let normal = self.normal::<f64>(size.clone());
            let bits = self.draw(size)?;
            let half = bits.fit(Operand::Variable(half))?;
            let log = bits.through(scalar::DRAW_LOG_GAMMA, vec![half.clone()])?;
            let mean_one = log.try_exp()?.try_div(half)?;
            cast(&normal.try_div(mean_one.try_sqrt()?)?, float(T::DTYPE)?)
        };
        build().unwrap_or_else(Variable::poison)
    }

    /// The logarithms of gamma variables with scale 1, as float64, and the bits that they were drawn with.
    fn log_gamma(
        &self,
        draw: &str,
        name: &str,
        shape: Operand,
        size: Size,
    ) -> Result<(super::RandomBits, Variable)> {
        let shape = not_negative(draw, name, shape)?;
        let bits = self.draw(size)?;
        let shape = bits.fit(shape)?;
        let log = bits.through(scalar::DRAW_LOG_GAMMA, vec![shape])?;
        Ok((bits, log))
    }
}

/// A float dtype of results.
fn float(dtype: DType) -> Result<DType> {
    if dtype.is_float() {
        Ok(dtype)
    } else {
        Err(fail("draw", format!("expected a float dtype, got {dtype}")))
    }
}
