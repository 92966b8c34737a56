//! Folds into parts named by integer arrays: products, maxima and minima of the elements at one position.

use super::advanced_indexing::{
    AdvancedIncSubtensor, AdvancedSubtensor, check, fits_part, written, written_part,
};
use super::creation::full_like;
use super::elementwise_methods::where_;
use super::reduce::{fold_name, fold_named, others};
use super::sum_like::sum_to;
use crate::error::Result;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Gradient, Known, Op};
use crate::value::Value;
use workalike_kernels::Scalar;
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::{self as scalar, ScalarOp};

/// `x` with `x[i0, i1, ..]` folded with a second input of that shape, in row-major order: NumPy's
/// `multiply.at`, `maximum.at` and `minimum.at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvancedFold {
    /// Product, Max or Min.
    pub fold: Fold,
}

impl AdvancedFold {
    /// The row that computes the new element from the old one and the value.
    pub(crate) fn row(self) -> ScalarOp {
        match self.fold {
            Fold::Max => scalar::MAXIMUM,
            Fold::Min => scalar::MINIMUM,
            _ => scalar::MUL,
        }
    }

    pub(super) fn decode(name: &str) -> Result<AdvancedFold, String> {
        let fold = fold_named(name).filter(|f| matches!(f, Fold::Product | Fold::Max | Fold::Min));
        Ok(AdvancedFold { fold: fold.ok_or_else(|| format!("{name} is no fold at positions"))? })
    }

    fn combined(self, old: Scalar, new: Scalar) -> Scalar {
        let dtype = old.dtype();
        if self.fold == Fold::Product {
            return if dtype.is_float() {
                Scalar::from_f64(dtype, old.to_f64() * new.to_f64())
            } else {
                Scalar::from_i128(
                    dtype,
                    Scalar::from_i128(dtype, old.to_i128().wrapping_mul(new.to_i128())).to_i128(),
                )
            };
        }
        let (a, b) = (old.to_f64(), new.to_f64());
        let float = dtype.is_float();
        if float && (a.is_nan() || b.is_nan()) {
            return if a.is_nan() { old } else { new };
        }
        let more = if float { b > a } else { new.to_i128() > old.to_i128() };
        let less = if float { b < a } else { new.to_i128() < old.to_i128() };
        if (self.fold == Fold::Max && more) || (self.fold == Fold::Min && less) { new } else { old }
    }

    /// The gradients of `x` and `y` of a product: for each element, the product of all others at its
    /// position.
    fn product_grads(self, at: &Gradient, g: &Variable) -> Result<[Variable; 2]> {
        let (x, y) = (&at.inputs[0], &at.inputs[1]);
        let indices = &at.inputs[2..];
        let into = |op: &dyn Fn(&[Variable]) -> Result<Variable>, first: [&Variable; 2]| {
            let inputs: Vec<Variable> = first.into_iter().chain(indices).cloned().collect();
            op(&inputs)
        };
        let fold = |inputs: &[Variable]| Variable::apply1(self, inputs);
        let count = |inputs: &[Variable]| Variable::apply1(AdvancedIncSubtensor { set: false }, inputs);
        let at_points = |v: &Variable| points(v, indices);
        let gx = g * into(&fold, [&full_like(x, 1i64), y])?;
        let (x_zero, y_zero) = (x.equal(0i64), y.equal(0i64));
        let zeros = into(&count, [&x_zero.cast(x.dtype()), &y_zero.cast(x.dtype())])?;
        let rest = into(&fold, [&where_(&x_zero, 1i64, x), &where_(&y_zero, 1i64, y)])?;
        let nothing = into(&count, [&where_(&x_zero, x, 0i64), &where_(&y_zero, y, 0i64)])?;
        let others = others(y, &y_zero, &at_points(&zeros)?, &at_points(&rest)?, &at_points(&nothing)?);
        Ok([gx, at_points(g)? * others])
    }
}

/// The elements of `v` at computed indices.
fn points(v: &Variable, indices: &[Variable]) -> Result<Variable> {
    let inputs: Vec<Variable> = std::iter::once(v).chain(indices).cloned().collect();
    Variable::apply1(AdvancedSubtensor, &inputs)
}

/// The gradients of `x` and `y` of an extreme: elements that equal it share its gradient, as in reductions.
fn extreme_grads(at: &Gradient, g: &Variable) -> Result<[Variable; 2]> {
    let (x, y, out, indices) = (&at.inputs[0], &at.inputs[1], &at.outputs[0], &at.inputs[2..]);
    let (x_equal, y_equal) = (x.equal(out), y.equal(points(out, indices)?));
    let mut inputs = vec![x_equal.cast(g.dtype()), y_equal.cast(g.dtype())];
    inputs.extend(indices.iter().cloned());
    let number = Variable::apply1(AdvancedIncSubtensor { set: false }, &inputs)?;
    // NaN equals nothing.
    let share = g / number.maximum(1.0);
    let part = points(share.checked()?, indices)?;
    Ok([where_(x_equal, &share, 0.0), where_(y_equal, part, 0.0)])
}

impl Op for AdvancedFold {
    fn id(&self) -> &'static str {
        "advanced_fold"
    }

    fn attributes(&self) -> Attributes {
        vec![("fold".into(), Attr::Text(fold_name(self.fold).into()))]
    }

    fn label(&self) -> String {
        format!("advanced_{}_subtensor", fold_name(self.fold))
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let [x, y, indices @ ..] = inputs else { return Err("expected at least 3 inputs".into()) };
        let part = check(x, indices)?;
        fits_part(x, y, &part)?;
        let row = self.row();
        match row.signature(&[x.dtype, x.dtype]) {
            Some(signature) if signature.result == x.dtype => Ok(vec![(*x).clone()]),
            _ => Err(format!("{} is not made of {}", fold_name(self.fold), x.dtype)),
        }
    }

    fn changes_part(&self) -> bool {
        true
    }

    fn written_part(&self, inputs: &[Known]) -> Result<Option<Vec<usize>>, String> {
        written_part(inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let mut grads = vec![None; at.inputs.len()];
        let (Some(g), true) = (&at.output_grads[0], at.inputs[0].dtype().is_float()) else {
            return Ok(grads);
        };
        let [gx, gy] = match self.fold {
            Fold::Product => self.product_grads(at, g)?,
            _ => extreme_grads(at, g)?,
        };
        grads[0] = Some(gx.checked()?.clone());
        grads[1] = Some(sum_to(gy.checked()?, &at.inputs[1], |_| true)?);
        Ok(grads)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        written(self, inputs, |old, y| self.combined(old, y))
    }

    fn index_inputs(&self, count: usize) -> Vec<usize> {
        (2..count).collect()
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        to.scatter(Some(self.row()), node, inputs)
    }
}
