//! The epilogues of products that the libraries have: `alpha * product + beta * added + bias`.
//!
//! [`linear`] matches the scalar SSA of an elementwise Nest with this sum, with numbers for coefficients.
//! `added` has the product's extents, and may be the result's memory; `bias` has one element for each column
//! of the result. A Nest of another form is not matched, nor one that the libraries would compute differently
//! (an operand times zero, which they do not read).

use workalike_device::Matmul;
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{Index, Inst, Nest, Operand};
use workalike_kernels::{ops, verify};

/// Maximum number of operands in a sum: the product, the addend, the bias.
const OPERANDS: usize = 3;

/// An epilogue of the libraries; operands are positions in the Nest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Linear {
    /// The factor of the product. A number of the computing type, as `beta` is.
    pub(crate) alpha: f64,
    /// The factor of the addend; 0 without one.
    pub(crate) beta: f64,
    pub(crate) added: Option<usize>,
    pub(crate) bias: Option<usize>,
    pub(crate) result: usize,
}

/// The Nest as an epilogue of a product, which is its operand `operand`; `None` if the libraries have no such
/// epilogue.
pub(crate) fn linear(product: &Matmul, nest: &Nest, operand: usize) -> Option<Linear> {
    let ([phase], true) = (&nest.phases[..], nest.is_map() && nest.grid == nest.axes.len()) else {
        return None;
    };
    let [store] = &phase.stores[..] else { return None };
    let elements = product.batch.checked_mul(product.m)?.checked_mul(product.n)?;
    let written = nest.operands.iter().filter(|o| o.written).count();
    let whole = elements > 0 && nest.grid_points() == elements && written == 1;
    if !whole || store.add || store.when.is_some() || !product.dtype.is_float() {
        return None;
    }
    let stored = nest.operands.get(store.operand)?;
    if stored.dtype != product.dtype || reach(stored, &store.index, &nest.axes, product.n)? != Reach::Whole {
        return None;
    }
    let dtypes = verify::dtypes(nest, 0).ok()?;
    let mut forms: Vec<Option<Form>> = Vec::with_capacity(dtypes.len());
    for (inst, dtype) in phase.block.insts.iter().zip(dtypes) {
        // The libraries compute at the type of sums, so values of the Nest that are halves are not rounded.
        let fits = dtype == product.dtype || dtype == product.dtype.register();
        forms.push(if fits { Form::of(inst, (product, operand), nest, &forms) } else { None });
    }
    let form = forms.get(store.value as usize)?.as_ref()?;
    if form.constant != Sum::default() {
        return None;
    }
    let (mut alpha, mut beta, mut added, mut bias) = (None, 0.0, None, None);
    for term in &form.terms {
        match term.reach {
            Reach::Whole if term.operand == operand => alpha = Some(term.by.factor(product.dtype)?),
            Reach::Whole if added.is_none() => {
                (added, beta) = (Some(term.operand), term.by.factor(product.dtype)?);
            }
            // The libraries do not scale a bias, and take none of f64.
            Reach::Columns if term.operand != operand && bias.is_none() => {
                let plain = term.by == Sum::of(1.0) && product.batch == 1 && product.dtype != DType::F64;
                bias = Some(plain.then_some(term.operand)?);
            }
            _ => return None,
        }
    }
    Some(Linear { alpha: alpha?, beta, added, bias, result: store.operand })
}

/// Which element of an operand each point reads, of the patterns that the libraries have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// The element at the point's row-major position.
    Whole,
    /// The element at the point's column.
    Columns,
}

fn reach(operand: &Operand, index: &[Index], axes: &[u64], columns: u64) -> Option<Reach> {
    let address = operand.affine(index, axes.len())?;
    if address.offset != 0 {
        return None;
    }
    if address.is_row_major(axes) {
        return Some(Reach::Whole);
    }
    let (mut by_columns, mut position) = (true, 1u64);
    let steps = axes.iter().zip(&address.coefficients).rev();
    for (&extent, &step) in steps.filter(|(extent, _)| **extent != 1) {
        let past = position.checked_mul(extent)?;
        // Axes within the columns step along them; axes beyond have step 0.
        by_columns &= match position < columns {
            true => past <= columns && u64::try_from(step) == Ok(position),
            false => step == 0,
        };
        position = past;
    }
    by_columns.then_some(Reach::Columns)
}

/// A sum of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    value: f64,
    /// The sum of their absolute values.
    size: f64,
}

impl Sum {
    fn of(value: f64) -> Sum {
        Sum { value, size: value.abs() }
    }

    fn plus(self, other: Sum) -> Sum {
        Sum { value: self.value + other.value, size: self.size + other.size }
    }

    fn times(self, by: f64) -> Sum {
        Sum { value: self.value * by, size: self.size * by.abs() }
    }

    /// The sum as a factor for products of this dtype. `None` if more than half of its terms cancel: the Nest
    /// rounds the scaled operands before it subtracts, and users may rely on it. `None` also for zero, by
    /// which the libraries do not multiply, and for all that is not a normal number of the computing type.
    fn factor(self, dtype: DType) -> Option<f64> {
        let value = Scalar::from_f64(dtype.register(), self.value).to_f64();
        let normal = if dtype == DType::F64 { value.is_normal() } else { (value as f32).is_normal() };
        (normal && 2.0 * value.abs() >= self.size).then_some(value)
    }
}

/// A linear form over elements of operands.
#[derive(Clone, Debug, Default)]
struct Form {
    terms: Vec<Term>,
    constant: Sum,
}

#[derive(Clone, Copy, Debug)]
struct Term {
    operand: usize,
    reach: Reach,
    by: Sum,
}

impl Form {
    /// The form that an instruction computes, from the forms of earlier instructions.
    fn of(
        inst: &Inst,
        (product, own): (&Matmul, usize),
        nest: &Nest,
        forms: &[Option<Form>],
    ) -> Option<Form> {
        let form = |value: &u32| forms.get(*value as usize)?.as_ref();
        match inst {
            Inst::Const(number) => Some(Form { terms: vec![], constant: Sum::of(number.to_f64()) }),
            Inst::Load { operand, index } => {
                let described = nest.operands.get(*operand)?;
                let reach = reach(described, index, &nest.axes, product.n)?;
                let term = Term { operand: *operand, reach, by: Sum::of(1.0) };
                let form = Form { terms: vec![term], constant: Sum::default() };
                (described.dtype == product.dtype).then_some(form)
            }
            Inst::Cast { value, .. } => form(value).cloned(),
            Inst::Op { op, args } => match (*op, &args[..]) {
                (ops::ADD, [a, b]) => form(a)?.plus(form(b)?, 1.0),
                (ops::SUB, [a, b]) => form(a)?.plus(form(b)?, -1.0),
                (ops::NEG, [a]) => Some(form(a)?.times(-1.0)),
                (ops::MUL, [a, b]) => {
                    let (a, b) = (form(a)?, form(b)?);
                    match (a.number(), b.number()) {
                        (_, Some(by)) => Some(a.times(by)),
                        (Some(by), None) => Some(b.times(by)),
                        (None, None) => None,
                    }
                }
                (ops::DIV, [a, b]) => {
                    let (a, divisor) = (form(a)?, form(b)?.number()?);
                    let by = 1.0 / divisor;
                    // A quotient is correctly rounded, a product by a rounded reciprocal is not. That is
                    // accepted for the product alone, whose sums are inexact anyway.
                    let exact = by.is_normal() && divisor.to_bits() << 12 == 0;
                    let sums = a.constant == Sum::default() && a.terms.iter().all(|t| t.operand == own);
                    (exact || sums).then(|| a.times(by))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The value of a constant form.
    fn number(&self) -> Option<f64> {
        self.terms.is_empty().then_some(self.constant.value)
    }

    fn times(&self, by: f64) -> Form {
        let terms = self.terms.iter().map(|t| Term { by: t.by.times(by), ..*t }).collect();
        Form { terms, constant: self.constant.times(by) }
    }

    /// `self + by * other`; `None` if the sum has too many operands.
    fn plus(&self, other: &Form, by: f64) -> Option<Form> {
        let other = other.times(by);
        let mut sum = Form { terms: self.terms.clone(), constant: self.constant.plus(other.constant) };
        for term in other.terms {
            let same = |t: &&mut Term| (t.operand, t.reach) == (term.operand, term.reach);
            match sum.terms.iter_mut().find(same) {
                Some(found) => found.by = found.by.plus(term.by),
                None => sum.terms.push(term),
            }
        }
        (sum.terms.len() <= OPERANDS).then_some(sum)
    }
}

#[cfg(test)]
mod tests;
