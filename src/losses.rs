//! Losses, elementwise or per sample: take their mean or sum for a cost.
//!
//! Those of logits do not overflow, and are exact where a probability would round to 0 or 1.
//!
//! ```
//! use workalike::losses::categorical_crossentropy_with_logits;
//! use workalike::prelude::*;
//! let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
//! let w = shared("w", Value::zeros(DType::F32, &[784, 10])?);
//! let cost = categorical_crossentropy_with_logits(x.dot(&*w), &y).mean(..);
//! let f = function([&x, &y]).output(&cost).compile()?;
//! let images = Value::zeros(DType::F32, &[2, 784])?;
//! assert!((f.call(args![images, vec![3i64, 7]])?[0].item::<f32>()? - 10f32.ln()).abs() < 1e-6);
//! # Ok::<(), workalike::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, Variable};
use crate::ops::methods::fail;
use crate::ops::{arange, log_softmax, where_};
use workalike_kernels::DType;

/// `-y log(p) - (1 - y) log(1 - p)`, elementwise, of probabilities `p` and targets `y` in 0 to 1 (Theano's
/// `nnet.binary_crossentropy`). Of logits: [`binary_crossentropy_with_logits`].
#[track_caller]
pub fn binary_crossentropy(p: impl Into<Variable>, y: impl IntoOperand) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let p = p.into();
        let y = float("binary_crossentropy", y, &p)?;
        let one = y.try_mul(p.try_log()?)?;
        let other = y.try_mul(-1.0)?.try_add(1.0)?.try_mul(p.try_mul(-1.0)?.try_log1p()?)?;
        one.try_add(other)?.try_mul(-1.0)
    };
    build().unwrap_or_else(Variable::poison)
}

/// [`binary_crossentropy`] of `sigmoid(logits)`: `softplus(logits) - y logits`, elementwise, for targets `y`
/// in 0 to 1, numbers or bools.
#[doc(alias("sigmoid_cross_entropy", "bce_with_logits"))]
#[track_caller]
pub fn binary_crossentropy_with_logits(logits: impl Into<Variable>, y: impl IntoOperand) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let logits = logits.into();
        let y = float("binary_crossentropy_with_logits", y, &logits)?;
        logits.try_softplus()?.try_sub(y.try_mul(&logits)?)
    };
    build().unwrap_or_else(Variable::poison)
}

/// Cross-entropy of `softmax(logits, -1)` with true classes, in the shape of `logits` without its last axis:
/// integer labels `y` of that shape, or distributions `y` of the shape of `logits`, such as those of
/// [`smooth_labels`].
#[doc(alias("softmax_cross_entropy", "sparse_categorical_crossentropy", "nll_loss"))]
#[track_caller]
pub fn categorical_crossentropy_with_logits(logits: impl Into<Variable>, y: impl Into<Variable>) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let (logits, y) = (logits.into(), y.into());
        let (rank, labels) = (logits.checked()?.ndim(), y.checked()?);
        let log = log_softmax(&logits, -1);
        if labels.dtype().is_integer() && labels.ndim() + 1 == rank {
            let picked = log.try_take_along_axis(labels.try_expand_dims(-1)?, -1)?;
            return picked.try_sum(-1)?.try_mul(-1.0);
        }
        if labels.dtype().is_float() && labels.ndim() == rank {
            return labels.try_mul(log)?.try_sum(-1)?.try_mul(-1.0);
        }
        let expected = format!("integer labels of rank {} or floats like {}", rank.max(1) - 1, logits.ty());
        Err(mismatch("categorical_crossentropy_with_logits", expected, labels))
    };
    build().unwrap_or_else(Variable::poison)
}

/// Labels as distributions over `classes`, along a new last axis, of which `amount` is spread evenly: `1 -
/// amount + amount / classes` at the label, `amount / classes` elsewhere (C. Szegedy et al., "Rethinking the
/// Inception architecture for computer vision", 2016).
///
/// # Errors
/// (In the result.) If `y` is no array of integers, or `amount` is not in 0 to 1.
#[doc(alias("label_smoothing"))]
#[track_caller]
pub fn smooth_labels(y: impl Into<Variable>, classes: usize, amount: f64, dtype: DType) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let y = y.into();
        if !(0.0..=1.0).contains(&amount) || !y.checked()?.dtype().is_integer() || !dtype.is_float() {
            let expected = "integer labels, an amount in 0 to 1 and a float dtype".into();
            return Err(mismatch(&format!("smooth_labels({amount}, {dtype})"), expected, &y));
        }
        let even = amount / classes.max(1) as f64;
        let hit = y.try_expand_dims(-1)?.try_equal(arange(classes))?;
        let at = |value: f64| Variable::constant(value).try_cast(dtype);
        Ok(where_(hit, at(1.0 - amount + even)?, at(even)?))
    };
    build().unwrap_or_else(Variable::poison)
}

/// Huber's loss of differences, elementwise: `d^2 / 2` where `|d| <= delta`, else `delta (|d| - delta / 2)`
/// (P. Huber, "Robust estimation of a location parameter", 1964). `delta` is positive.
#[doc(alias("smooth_l1"))]
#[track_caller]
pub fn huber(difference: impl Into<Variable>, delta: impl IntoOperand) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let size = difference.into().try_abs()?;
        let delta = match delta.into_operand() {
            Operand::Variable(delta) => delta,
            number => float("huber", number, &size)?,
        };
        // Within delta the square, beyond it the tangent.
        let near = size.try_minimum(&delta)?;
        near.try_mul(size.try_sub(near.try_mul(0.5)?)?)
    };
    build().unwrap_or_else(Variable::poison)
}

/// Targets as floats of the dtype of what they are compared with; floats stay as they are.
fn float(loss: &str, y: impl IntoOperand, like: &Variable) -> Result<Variable> {
    let dtype = like.checked()?.dtype();
    if !dtype.is_float() {
        return Err(mismatch(loss, "floats".into(), like));
    }
    let y = y.into_operand();
    let weak = y.is_weak();
    let y = Operand::resolve(vec![y]).swap_remove(0);
    if y.checked()?.dtype().is_float() && !weak { Ok(y) } else { y.try_cast(dtype) }
}

fn mismatch(loss: &str, expected: String, got: &Variable) -> Error {
    fail(loss, format!("expected {expected}, got {}", got.ty()))
}
