//! Reductions as methods: NumPy's, with its names and dtypes, composed of a few folds.

use super::axes::{Axes, Choices};
use super::elementwise_methods::where_;
use super::elemwise::cast;
use super::gradient_modifiers::consider_constant;
use super::methods::{fail, methods};
use super::reduce::{ArgReduce, Reduce};
use super::shape::{DimShuffle, ShapeOf};
use crate::error::Result;
use crate::graph::Variable;
use crate::value::Value;
use workalike_kernels::nest::Fold;
use workalike_kernels::{DType, Scalar};

/// Axes and options, checked.
struct ReductionAxes {
    axes: Vec<usize>,
    choices: Choices,
}

impl ReductionAxes {
    fn of(op: &str, x: &Variable, axes: &impl Axes) -> Result<ReductionAxes> {
        let choices = axes.choices();
        Ok(ReductionAxes { axes: axes.axes(x.ndim()).map_err(|m| fail(op, m))?, choices })
    }

    /// The result as asked for: with the reduced axes or without.
    fn finish(&self, reduced: Variable) -> Result<Variable> {
        if self.choices.keepdims { DimShuffle::keep_dims(&reduced, &self.axes) } else { Ok(reduced) }
    }

    /// A fold, without the reduced axes.
    fn fold(&self, fold: Fold, x: &Variable, acc_dtype: DType, dtype: DType) -> Result<Variable> {
        let (axes, acc_dtype) = (self.axes.clone(), acc_dtype.register());
        let op = Reduce { fold, axes, acc_dtype, dtype, over_nothing: false };
        Variable::apply1(op, std::slice::from_ref(x))
    }

    /// A sum or product with NumPy's dtypes, unless others were chosen.
    fn total(&self, fold: Fold, x: &Variable) -> Result<Variable> {
        let dtype = self.choices.dtype.unwrap_or_else(|| match self.choices.acc_dtype {
            Some(acc) if !x.dtype().real().is_float() => acc,
            _ => Reduce::total_dtype(x.dtype()),
        });
        let acc_dtype = self.choices.acc_dtype.unwrap_or(dtype);
        if acc_dtype.is_integer() && x.dtype().real().is_float() {
            return Err(fail("sum", format!("{} cannot be accumulated in {acc_dtype}", x.ty())));
        }
        self.fold(fold, x, acc_dtype, dtype)
    }

    /// The number of elements that are reduced to one, as a float.
    fn count(&self, x: &Variable, dtype: DType) -> Result<Variable> {
        let mut count = Variable::constant(Value::scalar(Scalar::from_f64(dtype, 1.0)));
        for &axis in &self.axes {
            count = count.try_mul(ShapeOf::of(x, axis)?.cast(dtype))?;
        }
        Ok(count)
    }

    /// The mean with the reduced axes, in the accumulator's dtype.
    fn mean(&self, x: &Variable) -> Result<Variable> {
        let wide = self.wide(x);
        let total = self.fold(Fold::Sum, x, wide, wide)?;
        total.try_div(self.count(x, wide.real())?)
    }

    /// The dtype that means are computed in.
    fn wide(&self, x: &Variable) -> DType {
        let own = if x.dtype().real().is_float() { x.dtype() } else { DType::F64 };
        let asked = self.choices.dtype.filter(|d| d.real().is_float()).map_or(own, |d| d.promote(own));
        self.choices.acc_dtype.unwrap_or(asked).register()
    }

    /// The dtype that means have.
    fn mean_dtype(&self, x: &Variable) -> DType {
        self.choices.dtype.unwrap_or(if x.dtype().real().is_float() { x.dtype() } else { DType::F64 })
    }

    fn keep(&self, reduced: &Variable) -> Result<Variable> {
        DimShuffle::keep_dims(reduced, &self.axes)
    }

    /// The variance, in the accumulator's dtype: of complex numbers that of their distances from the mean.
    fn variance(&self, x: &Variable) -> Result<Variable> {
        let away = cast(x, self.wide(x))?.try_sub(self.keep(&self.mean(x)?)?)?;
        let away = if x.dtype().is_complex() { away.try_abs()? } else { away };
        let wide = away.dtype();
        let total = self.fold(Fold::Sum, &away.sqr(), wide, wide)?;
        total.try_div((self.count(x, wide)? - self.choices.ddof as f64).maximum(0.0))
    }
}

fn extreme(op: &str, fold: Fold, x: &Variable, axes: &impl Axes) -> Result<Variable> {
    let over = ReductionAxes::of(op, x, axes)?;
    over.finish(over.fold(fold, x, x.dtype(), x.dtype())?)
}

fn extreme_index(op: &str, fold: Fold, x: &Variable, axes: &impl Axes) -> Result<Variable> {
    let over = ReductionAxes::of(op, x, axes)?;
    over.finish(Variable::apply1(ArgReduce { fold, axes: over.axes.clone() }, std::slice::from_ref(x))?)
}

/// `x` with a number in place of each NaN; itself where there can be none.
fn without_nan(x: &Variable, instead: f64) -> Variable {
    if x.dtype().real().is_float() { where_(x.isnan(), instead, x) } else { x.clone() }
}

fn nan_extreme(op: &str, fold: Fold, x: &Variable, axes: &impl Axes) -> Result<Variable> {
    if !x.dtype().is_float() {
        return extreme(op, fold, x, axes);
    }
    let over = ReductionAxes::of(op, x, axes)?;
    let worst = if fold == Fold::Max { f64::NEG_INFINITY } else { f64::INFINITY };
    let best = over.fold(fold, &without_nan(x, worst), x.dtype(), x.dtype())?;
    let none = over.fold(Fold::Product, &x.isnan(), DType::Bool, DType::Bool)?;
    over.finish(where_(none, f64::NAN, best))
}

/// `root` of a sum of magnitudes. Its slope is 0 where the sum is 0: the least of those around there.
fn rooted(total: &Variable, root: impl Fn(&Variable) -> Variable) -> Variable {
    let none = &total.equal(0.0);
    where_(none, 0.0, root(&where_(none, 1.0, total)))
}

/// The mean and the variance of what is not NaN, in the accumulator's dtype.
fn nan_moments(over: &ReductionAxes, x: &Variable) -> Result<(Variable, Variable)> {
    let wide = over.wide(x);
    let number = &x.isnan().not();
    let real = wide.real();
    let count = over.fold(Fold::Sum, &cast(number, real)?, real, real)?;
    let mean = over.fold(Fold::Sum, &without_nan(x, 0.0), wide, wide)?.try_div(&count)?;
    let away = cast(x, wide)?.try_sub(over.keep(&mean)?)?;
    let away = where_(number, if wide.is_complex() { away.try_abs()? } else { away }, 0.0);
    let total = over.fold(Fold::Sum, &away.sqr(), real, real)?;
    let free = &(&count - over.choices.ddof as f64);
    let variance = where_(free.greater(0.0), total.try_div(free)?, f64::NAN);
    Ok((mean, variance))
}

methods! {
    /// Sum over axes (`..`, `-1`, `[0, 2]`, or [`over`](super::over)). Bool and integers sum to int64 or
    /// uint64, as in NumPy; halves accumulate in float32.
    #[doc(alias("reduce_sum"))]
    sum / try_sum(x, axes: impl Axes) {
        let over = ReductionAxes::of("sum", x, &axes)?;
        over.finish(over.total(Fold::Sum, x)?)
    }
    /// Product over axes, with the dtypes of [`Variable::sum`].
    prod / try_prod(x, axes: impl Axes) {
        let over = ReductionAxes::of("prod", x, &axes)?;
        over.finish(over.total(Fold::Product, x)?)
    }
    /// Product over axes of what is not 0; 1 if nothing is left.
    prod_without_zeros / try_prod_without_zeros(x, axes: impl Axes) {
        where_(x.equal(0i64), 1i64, x).try_prod(axes)
    }
    /// Mean over axes; of integers float64.
    mean / try_mean(x, axes: impl Axes) {
        let over = ReductionAxes::of("mean", x, &axes)?;
        over.finish(cast(&over.mean(x)?, over.mean_dtype(x))?)
    }
    /// Variance over axes, about the mean; of integers float64. `over(..).ddof(1)` for that of a sample.
    #[doc(alias("variance"))]
    var / try_var(x, axes: impl Axes) {
        let over = ReductionAxes::of("var", x, &axes)?;
        over.finish(cast(&over.variance(x)?, over.mean_dtype(x).real())?)
    }
    /// Standard deviation over axes: the root of [`Variable::var`].
    #[doc(alias("stddev"))]
    std / try_std(x, axes: impl Axes) {
        let over = ReductionAxes::of("std", x, &axes)?;
        over.finish(cast(&rooted(&over.variance(x)?, Variable::sqrt), over.mean_dtype(x).real())?)
    }
    /// `log(sum(exp(x)))` over axes, without overflow.
    #[doc(alias("log_sum_exp"))]
    logsumexp / try_logsumexp(x, axes: impl Axes) {
        let over = ReductionAxes::of("logsumexp", x, &axes)?;
        let dtype = x.dtype().to_float();
        let x = &cast(x, dtype)?;
        let over_nothing = true;
        let most = Reduce { fold: Fold::Max, axes: over.axes.clone(), acc_dtype: dtype.register(), dtype, over_nothing };
        // Minus infinity if there are no elements, like the result.
        let most = Variable::apply1(most, std::slice::from_ref(x))?;
        // Infinities have no difference; the maximum only shifts, so no gradient goes that way.
        let shift = &consider_constant(where_(most.isfinite(), most, 0.0));
        let total = over.fold(Fold::Sum, &x.try_sub(over.keep(shift)?)?.exp(), dtype, dtype)?;
        over.finish(total.log().try_add(shift)?)
    }
    /// Norm over axes: of order 2 the root of the sum of squares, 1 the sum of magnitudes, infinity the
    /// largest magnitude, 0 how many are not 0, else `(sum |x|^order)^(1/order)`.
    norm / try_norm(x, order: f64, axes: impl Axes) {
        let over = ReductionAxes::of("norm", x, &axes)?;
        let x = &cast(x, over.mean_dtype(x))?;
        let total = |x: &Variable| over.fold(Fold::Sum, x, over.wide(x), x.dtype());
        let norm = match order {
            2.0 => rooted(&total(&x.sqr())?, Variable::sqrt),
            1.0 => total(&x.abs())?,
            0.0 => total(&cast(&x.not_equal(0i64), x.dtype())?)?,
            f64::INFINITY => over.fold(Fold::Max, &x.abs(), x.dtype(), x.dtype())?,
            f64::NEG_INFINITY => over.fold(Fold::Min, &x.abs(), x.dtype(), x.dtype())?,
            order if order > 0.0 && order < 1.0 => {
                let zero = &x.equal(0i64);
                let powers = where_(zero, 0.0, where_(zero, 1.0, x).abs().pow(order));
                rooted(&total(&powers)?, |sum| sum.pow(1.0 / order))
            }
            order if order > 0.0 => rooted(&total(&x.abs().pow(order))?, |sum| sum.pow(1.0 / order)),
            order => total(&x.abs().pow(order))?.pow(1.0 / order),
        };
        over.finish(norm)
    }
    /// Maximum over axes; NaN if there is one.
    #[doc(alias("amax", "reduce_max"))]
    max / try_max(x, axes: impl Axes) { extreme("max", Fold::Max, x, &axes) }
    /// Minimum over axes; NaN if there is one.
    #[doc(alias("amin", "reduce_min"))]
    min / try_min(x, axes: impl Axes) { extreme("min", Fold::Min, x, &axes) }
    /// The largest less the smallest ("peak to peak"), over axes.
    ptp / try_ptp(x, axes: impl Axes) {
        let over = ReductionAxes::of("ptp", x, &axes)?;
        let [most, least] = [Fold::Max, Fold::Min].map(|fold| over.fold(fold, x, x.dtype(), x.dtype()));
        over.finish(most?.try_sub(least?)?)
    }
    /// Index of the maximum over axes, as int64; the first among equals, and the first NaN if there is one.
    argmax / try_argmax(x, axes: impl Axes) { extreme_index("argmax", Fold::ArgMax, x, &axes) }
    /// Index of the minimum over axes, as int64; the first among equals, and the first NaN if there is one.
    argmin / try_argmin(x, axes: impl Axes) { extreme_index("argmin", Fold::ArgMin, x, &axes) }
    /// Whether all are true (nonzero), over axes.
    all / try_all(x, axes: impl Axes) {
        let over = ReductionAxes::of("all", x, &axes)?;
        over.finish(over.fold(Fold::Product, &cast(x, DType::Bool)?, DType::Bool, DType::Bool)?)
    }
    /// Whether any is true (nonzero), over axes.
    any / try_any(x, axes: impl Axes) {
        let over = ReductionAxes::of("any", x, &axes)?;
        over.finish(over.fold(Fold::Sum, &cast(x, DType::Bool)?, DType::Bool, DType::Bool)?)
    }
    /// How many are not 0, over axes, as int64.
    count_nonzero / try_count_nonzero(x, axes: impl Axes) {
        let over = ReductionAxes::of("count_nonzero", x, &axes)?;
        over.finish(over.fold(Fold::Sum, &cast(x, DType::Bool)?, DType::I64, DType::I64)?)
    }
    /// [`Variable::sum`] of what is not NaN.
    nansum / try_nansum(x, axes: impl Axes) { without_nan(x, 0.0).try_sum(axes) }
    /// [`Variable::prod`] of what is not NaN.
    nanprod / try_nanprod(x, axes: impl Axes) { without_nan(x, 1.0).try_prod(axes) }
    /// Maximum of what is not NaN; NaN if nothing is left.
    nanmax / try_nanmax(x, axes: impl Axes) { nan_extreme("nanmax", Fold::Max, x, &axes) }
    /// Minimum of what is not NaN; NaN if nothing is left.
    nanmin / try_nanmin(x, axes: impl Axes) { nan_extreme("nanmin", Fold::Min, x, &axes) }
    /// Index of the maximum of what is not NaN; 0 if nothing is left.
    nanargmax / try_nanargmax(x, axes: impl Axes) { without_nan(x, f64::NEG_INFINITY).try_argmax(axes) }
    /// Index of the minimum of what is not NaN; 0 if nothing is left.
    nanargmin / try_nanargmin(x, axes: impl Axes) { without_nan(x, f64::INFINITY).try_argmin(axes) }
    /// [`Variable::mean`] of what is not NaN; NaN if nothing is left.
    nanmean / try_nanmean(x, axes: impl Axes) {
        let over = ReductionAxes::of("nanmean", x, &axes)?;
        if !x.dtype().real().is_float() {
            return x.try_mean(axes);
        }
        over.finish(cast(&nan_moments(&over, x)?.0, over.mean_dtype(x))?)
    }
    /// [`Variable::var`] of what is not NaN.
    nanvar / try_nanvar(x, axes: impl Axes) {
        let over = ReductionAxes::of("nanvar", x, &axes)?;
        if !x.dtype().real().is_float() {
            return x.try_var(axes);
        }
        over.finish(cast(&nan_moments(&over, x)?.1, over.mean_dtype(x).real())?)
    }
    /// [`Variable::std`] of what is not NaN.
    nanstd / try_nanstd(x, axes: impl Axes) {
        let over = ReductionAxes::of("nanstd", x, &axes)?;
        if !x.dtype().real().is_float() {
            return x.try_std(axes);
        }
        over.finish(cast(&rooted(&nan_moments(&over, x)?.1, Variable::sqrt), over.mean_dtype(x).real())?)
    }
}
