//! Where numbers belong in a sorted vector.

pub(crate) mod lower;

use super::elemwise::cast;
use super::methods::{fail, methods};
use crate::error::Result;
use crate::graph::{IntoOperand, Node, Operand, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Gradient, Known, Op, expect_inputs};
use crate::value::Value;
use workalike_kernels::interval::Interval;
use workalike_kernels::{DType, Scalar};

/// The position of a number among equal elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Before them.
    #[default]
    Left,
    /// After them.
    Right,
}

/// For each element of its second input, how many of the elements of the first, a sorted vector of the same
/// dtype, come before it in order, as int64. NaN comes after all numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchSorted {
    /// Whether equal elements come before it.
    pub right: bool,
}

/// Whether `a` comes before `b`.
fn before(a: Scalar, b: Scalar) -> bool {
    if a.dtype().is_float() {
        let (a, b) = (a.to_f64(), b.to_f64());
        return a < b || (b.is_nan() && !a.is_nan());
    }
    a.to_i128() < b.to_i128()
}

impl Op for SearchSorted {
    fn id(&self) -> &'static str {
        "searchsorted"
    }

    fn attributes(&self) -> Attributes {
        vec![("right".into(), Attr::Int(i64::from(self.right)))]
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 2)?;
        if inputs[0].ndim() != 1 || inputs[0].dtype != inputs[1].dtype {
            return Err(format!(
                "expected a vector and numbers of its dtype, got {} and {}",
                inputs[0], inputs[1]
            ));
        }
        Ok(vec![inputs[1].with_dtype(DType::I64)])
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None, None])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let sorted = inputs[0].try_map(|element| element)?;
        let place = |v: Scalar| {
            sorted.partition_point(|&a| if self.right { !before(v, a) } else { before(a, v) }) as i64
        };
        Ok(vec![Value::from_vec(inputs[1].shape(), inputs[1].try_map(place)?)?])
    }

    fn element_bounds(&self, _: usize, inputs: &[Known], _: &[Interval], _: &[usize]) -> Option<Interval> {
        Some(Interval::new(DType::I64, 0.0, *inputs.first()?.shape.first()? as f64))
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

methods! {
    /// Where numbers would have to be put into this sorted vector to keep it sorted (NumPy's `searchsorted`).
    #[doc(alias("bisect", "digitize"))]
    searchsorted / try_searchsorted(x, numbers: impl IntoOperand, side: Side) {
        let both = vec![Operand::Variable(x.clone()), numbers.into_operand()];
        let both = Operand::resolve(Operand::compared(both));
        let numbers = both[1].checked()?;
        if x.ndim() != 1 {
            return Err(fail("searchsorted", format!("{} is not a vector", x.ty())));
        }
        let dtype = x.dtype().promote(numbers.dtype());
        Variable::apply1(SearchSorted { right: side == Side::Right }, &[cast(x, dtype)?, cast(numbers, dtype)?])
    }
    /// [`Variable::searchsorted`] in a vector that `sorter` brings into order.
    searchsorted_by / try_searchsorted_by(x, numbers: impl IntoOperand, side: Side, sorter: impl IntoOperand) {
        x.try_take(sorter, 0)?.try_searchsorted(numbers, side)
    }
    /// The number of the bin in which each element lies, between these increasing edges (NumPy's `digitize`):
    /// an element at an edge belongs to the bin above, or with `right` to the one below.
    digitize / try_digitize(x, edges: impl Into<Variable>, right: bool) {
        let edges: Variable = edges.into();
        edges.try_searchsorted(x, if right { Side::Left } else { Side::Right })
    }
}
