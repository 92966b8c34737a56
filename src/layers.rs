//! What layers of networks do, as functions of Variables. Parameters are the program's own shared variables.
//!
//! ```
//! use workalike::layers::{BatchNormalization, dropout, layer_norm};
//! use workalike::prelude::*;
//! let (x, streams) = (matrix::<f32>("x"), RandomStreams::new(1));
//! let (scale, shift) = (shared("scale", [1f32; 8]), shared("shift", [0f32; 8]));
//! let (mean, variance) = (shared("mean", [0f32; 8]), shared("variance", [1f32; 8]));
//! let norm = BatchNormalization::default();
//! let (y, updates) = norm.train(&x, &*scale, &*shift, &mean, &variance)?;
//! let train = function([&x]).output(dropout(y, 0.5, &streams)).updates(updates).compile()?;
//! let serve = function([&x]).output(norm.infer(&x, &*scale, &*shift, &*mean, &*variance)).compile()?;
//! let data = ndarray::Array2::<f32>::ones((4, 8));
//! train.call(args![&data])?;
//! assert!((mean.get_value()?.to_vec::<f32>()?[0] - 0.1).abs() < 1e-6);
//! serve.call(args![&data])?;
//! # let _ = layer_norm(&x, &*scale, &*shift, 1e-5);
//! # Ok::<(), workalike::Error>(())
//! ```

use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, SharedVariable, Variable};
use crate::ops::methods::fail;
use crate::ops::{RandomStreams, like, over, where_};
use crate::optimizers::Updates;

/// Elements of `x` set to 0 with probability `rate`, the others divided by `1 - rate`, so that the mean stays
/// (N. Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014). For
/// serving, write the expression without it.
///
/// # Errors
/// (In the result.) If the rate is a number not in 0 to 1, or `x` no array of floats.
#[track_caller]
pub fn dropout(x: impl Into<Variable>, rate: impl IntoOperand, streams: &RandomStreams) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let x = x.into();
        if !x.checked()?.dtype().is_float() {
            return Err(fail("dropout", format!("expected floats, got {}", x.ty())));
        }
        let rate = Operand::resolve(vec![rate.into_operand()]).swap_remove(0);
        let known = rate.checked()?.constant_value().map(|v| v.to_f64s());
        if let Some(beyond) = known.and_then(|v| v.into_iter().find(|r| !(0.0..=1.0).contains(r))) {
            return Err(fail("dropout", format!("the rate {beyond} is not in 0 to 1")));
        }
        let keep = rate.try_mul(-1.0)?.try_add(1.0)?.try_cast(x.dtype().register())?;
        let kept = streams.bernoulli(&keep, like(&x));
        // Where nothing is kept the factor is 0, so that the slope is a number.
        let factor = where_(keep.greater(0.0), keep.reciprocal(), 0.0);
        Ok(where_(kept, x.try_mul(factor)?.try_cast(x.dtype())?, 0.0))
    };
    build().unwrap_or_else(Variable::poison)
}

/// `(x - mean) / sqrt(variance + epsilon) * scale + shift`, with mean and variance of each row along the last
/// axis, which `scale` and `shift`, vectors, have too (J. Ba et al., "Layer normalization", 2016). Halves are
/// computed in float32.
#[doc(alias("LayerNorm"))]
#[track_caller]
pub fn layer_norm(
    x: impl Into<Variable>,
    scale: impl Into<Variable>,
    shift: impl Into<Variable>,
    epsilon: f64,
) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let x = x.into();
        let wide = x.checked()?.try_cast(x.dtype().register())?;
        let centred = wide.try_sub(wide.try_mean(over(-1).keepdims())?)?;
        let variance = centred.try_sqr()?.try_mean(over(-1).keepdims())?;
        let y = centred.try_div(variance.try_add(epsilon)?.try_sqrt()?)?;
        y.try_mul(scale.into())?.try_add(shift.into())?.try_cast(x.dtype())
    };
    build().unwrap_or_else(Variable::poison)
}

/// Batch normalization with its options (S. Ioffe and C. Szegedy, 2015): `(x - mean) / sqrt(variance +
/// epsilon) * scale + shift`. Channels are axis 1 of `x`, as in `(n, c)` and `(n, c, h, w)`; scale, shift,
/// mean and variance are vectors of one number for each.
#[doc(alias("BatchNorm", "batch_norm"))]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNormalization {
    /// Added to the variance; 1e-5 by default.
    pub epsilon: f64,
    /// How much of the running averages the batch replaces; 0.1 by default.
    pub rate: f64,
}

impl Default for BatchNormalization {
    fn default() -> BatchNormalization {
        BatchNormalization { epsilon: 1e-5, rate: 0.1 }
    }
}

impl BatchNormalization {
    /// Normalized by the batch's own mean and variance, and the updates of their running averages, `mean` and
    /// `variance`: `mean <- (1 - rate) * mean + rate * batch's`. The running variance is that of a sample, as
    /// in Theano and PyTorch.
    ///
    /// # Errors
    /// If `x` has no axis 1, or the vectors do not fit it.
    #[track_caller]
    pub fn train(
        &self,
        x: impl Into<Variable>,
        scale: impl Into<Variable>,
        shift: impl Into<Variable>,
        mean: &SharedVariable,
        variance: &SharedVariable,
    ) -> Result<(Variable, Updates)> {
        let _scope = source_location::enter();
        let x = x.into();
        let rank = channelled(&x)?;
        let others: Vec<isize> = (0..rank as isize).filter(|axis| *axis != 1).collect();
        let wide = x.try_cast(x.dtype().register())?;
        let batch_mean = wide.try_mean(over(&others))?;
        let centred = wide.try_sub(channels(&batch_mean, rank)?)?;
        let batch_variance = centred.try_sqr()?.try_mean(over(&others))?;
        let y = self.scaled(&centred, &batch_variance, scale.into(), shift.into(), x.dtype())?;

        let count =
            others.iter().try_fold(Variable::constant(1i64), |n, &axis| n.try_mul(x.try_extent(axis)?))?;
        // Of one element there is no variance of a sample; PyTorch refuses it.
        let count = count.try_cast(wide.dtype())?;
        let sample = batch_variance.try_mul(count.try_div(count.try_sub(1.0)?.try_maximum(1.0)?)?)?;
        let moved = |running: &SharedVariable, batch: &Variable| {
            let next = running.try_mul(1.0 - self.rate)?.try_add(batch.try_mul(self.rate)?)?;
            Ok((running.clone(), next.try_cast(running.dtype())?))
        };
        Ok((y, [moved(mean, &batch_mean), moved(variance, &sample)].into_iter().collect::<Result<_>>()?))
    }

    /// Normalized by running averages.
    #[track_caller]
    pub fn infer(
        &self,
        x: impl Into<Variable>,
        scale: impl Into<Variable>,
        shift: impl Into<Variable>,
        mean: impl Into<Variable>,
        variance: impl Into<Variable>,
    ) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let x = x.into();
            let rank = channelled(&x)?;
            let centred = x.try_cast(x.dtype().register())?.try_sub(channels(&mean.into(), rank)?)?;
            self.scaled(&centred, &variance.into(), scale.into(), shift.into(), x.dtype())
        };
        build().unwrap_or_else(Variable::poison)
    }

    fn scaled(
        &self,
        centred: &Variable,
        variance: &Variable,
        scale: Variable,
        shift: Variable,
        dtype: crate::DType,
    ) -> Result<Variable> {
        let factor = scale.try_div(variance.try_add(self.epsilon)?.try_sqrt()?)?;
        let rank = centred.ndim();
        let y = centred.try_mul(channels(&factor, rank)?)?.try_add(channels(&shift, rank)?)?;
        y.try_cast(dtype)
    }
}

/// The rank of an array of floats with channels.
fn channelled(x: &Variable) -> Result<usize> {
    let x = x.checked()?;
    if x.ndim() < 2 || !x.dtype().is_float() {
        return Err(fail(
            "batch_normalization",
            format!("expected floats (n, channels, ..), got {}", x.ty()),
        ));
    }
    Ok(x.ndim())
}

/// A vector of channels, as it broadcasts to an array of this rank.
fn channels(vector: &Variable, rank: usize) -> Result<Variable> {
    if vector.checked()?.ndim() != 1 {
        let got = vector.ty();
        return Err(fail("batch_normalization", format!("expected a number for each channel, got {got}")));
    }
    let order = (0..rank).map(|axis| (axis == 1).then_some(0));
    vector.try_dimshuffle(order.collect::<Vec<_>>())
}
