//! The distinct elements of an array.

use super::index_expression::Ix;
use super::indexing::missing;
use super::shape::{Extent, Reshape};
use crate::error::Result;
use crate::fallible;
use crate::graph::source_location;
use crate::graph::{TensorType, Variable};
use crate::op::{Attributes, Gradient, Known, Op, expect_inputs};
use crate::value::Value;
use std::cmp::Ordering;
use workalike_kernels::interval::Interval;
use workalike_kernels::{DType, Scalar};

/// For the distinct elements of an array in order: the first position of each in row-major order; for each
/// element of the array, the number of its value; the count of each. All int64. NaN comes last, once.
///
/// No device has it: it is a host node, and the shape of its result depends on values, which the host
/// computes before each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UniqueOp;

/// The result of [`Variable::unique`].
#[derive(Clone, Debug)]
pub struct Unique {
    /// The distinct elements, in order; NaN last.
    pub values: Variable,
    /// The first position of each, in row-major order.
    pub index: Variable,
    /// For each element of the array the index of its value, in the array's shape.
    pub inverse: Variable,
    /// The count of each in the array.
    pub counts: Variable,
}

fn order(a: &Scalar, b: &Scalar) -> Ordering {
    if !a.dtype().is_float() {
        return a.to_i128().cmp(&b.to_i128());
    }
    let (a, b) = (a.to_f64(), b.to_f64());
    // Both zeros are equal, and so are all NaN.
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Index, inverse and counts.
fn found(value: &Value) -> Result<[Vec<i64>; 3]> {
    let elements = value.try_map(|element| element)?;
    let mut sorted = fallible::collected(0..elements.len())?;
    // Positions make it stable: a sort that is stable by itself takes memory.
    sorted.sort_unstable_by(|&a, &b| order(&elements[a], &elements[b]).then(a.cmp(&b)));
    let (mut index, mut counts) = (Vec::new(), Vec::<i64>::new());
    let mut inverse = fallible::filled(0i64, elements.len())?;
    let mut last: Option<Scalar> = None;
    for at in sorted {
        if last.is_none_or(|l| order(&l, &elements[at]) != Ordering::Equal) {
            fallible::reserve(&mut index, 1)?;
            fallible::reserve(&mut counts, 1)?;
            index.push(at as i64);
            counts.push(0);
            last = Some(elements[at]);
        }
        inverse[at] = counts.len() as i64 - 1;
        if let Some(count) = counts.last_mut() {
            *count += 1;
        }
    }
    Ok([index, inverse, counts])
}

impl Op for UniqueOp {
    fn id(&self) -> &'static str {
        "unique"
    }

    fn attributes(&self) -> Attributes {
        vec![]
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        let list = TensorType::of_rank(DType::I64, 1);
        Ok(vec![list.clone(), inputs[0].with_dtype(DType::I64), list])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let value = inputs[0]
            .value
            .ok_or("its values are not known on the host, and they decide the shape of the result")?;
        let count = found(value).map_err(|e| e.to_string())?[0].len();
        Ok(vec![vec![count], inputs[0].shape.to_vec(), vec![count]])
    }

    fn shape_values(&self) -> Vec<usize> {
        vec![0]
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let [index, inverse, counts] = found(&inputs[0])?;
        let list = |numbers: Vec<i64>| Value::from_vec(&[numbers.len()], numbers);
        Ok(vec![list(index)?, Value::from_vec(inputs[0].shape(), inverse)?, list(counts)?])
    }

    fn element_bounds(
        &self,
        output: usize,
        inputs: &[Known],
        _: &[Interval],
        _: &[usize],
    ) -> Option<Interval> {
        // First positions and inverse positions are positions; a count may be the number of all elements.
        let len: usize = inputs.first()?.shape.iter().product();
        Some(Interval::new(DType::I64, 0.0, if output == 2 { len as f64 } else { len as f64 - 1.0 }))
    }
}

impl Variable {
    /// The distinct elements, where they stand, and how often (NumPy's `unique`). It runs on the host, and is
    /// refused under strict.
    ///
    /// # Errors
    /// The first ill-typed expression it was built from.
    #[track_caller]
    pub fn try_unique(&self) -> Result<Unique> {
        let _scope = source_location::enter();
        let flat = Reshape::of(self.checked()?, vec![Extent::Infer], &[])?;
        let mut outputs = Variable::apply(UniqueOp, std::slice::from_ref(self))?.into_iter();
        let mut next = || outputs.next().ok_or_else(|| missing("unique"));
        let (index, inverse, counts) = (next()?, next()?, next()?);
        Ok(Unique { values: flat.try_index([Ix::from(&index)])?, index, inverse, counts })
    }

    /// [`Variable::try_unique`], with its error in the results.
    #[track_caller]
    #[must_use]
    pub fn unique(&self) -> Unique {
        self.try_unique().unwrap_or_else(|e| {
            let [values, index, inverse, counts] = [0; 4].map(|_| Variable::poison(e.clone()));
            Unique { values, index, inverse, counts }
        })
    }
}
