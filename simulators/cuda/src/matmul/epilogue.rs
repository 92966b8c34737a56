//! Which epilogues of products the libraries know by name: `alpha * product + beta * added + bias`.
//!
//! [`linear`] reads the scalar SSA of an elementwise Nest as such a sum, with numbers for coefficients.
//! `added` has the product's extents, and may be what is stored; `bias` has one element for each of our
//! columns. What cannot be read so, or what the libraries would compute differently from the Nest (a number
//! times zero, which they do not read), is no epilogue of theirs.

use workalike_device::Matmul;
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{Index, Inst, Nest, Operand};
use workalike_kernels::{ops, verify};

/// Operands in a sum at most: the product, what is added, a bias.
const OPERANDS: usize = 3;

/// An epilogue in the libraries' words; operands by their position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Linear {
    /// The factor of the product. Both are numbers of the computing type.
    pub(crate) alpha: f64,
    /// The factor of what is added; 0 if nothing is.
    pub(crate) beta: f64,
    pub(crate) added: Option<usize>,
    pub(crate) bias: Option<usize>,
    pub(crate) result: usize,
}

/// The epilogue that a Nest is to a product, which it has as this operand; `None` if the libraries have no
/// such.
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
        // All is computed at the type of the sums; a half among it only looks as if it were rounded.
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
            // The libraries scale no bias, and have none of doubles.
            Reach::Columns if term.operand != operand && bias.is_none() => {
                let plain = term.by == Sum::of(1.0) && product.batch == 1 && product.dtype != DType::F64;
                bias = Some(plain.then_some(term.operand)?);
            }
            _ => return None,
        }
    }
    Some(Linear { alpha: alpha?, beta, added, bias, result: store.operand })
}

/// Which of an operand's elements the points read, if the libraries can read them so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Each that of its own row-major position.
    Whole,
    /// Each that of its column's position.
    Columns,
}

fn reach(operand: &Operand, index: &[Index], axes: &[u64], columns: u64) -> Option<Reach> {
    let mut steps = vec![0i64; axes.len()];
    let mut first = 0i64;
    for (index, stride) in index.iter().zip(&operand.strides) {
        if index.dynamic.is_some() {
            return None;
        }
        first = first.checked_add(index.offset.checked_mul(*stride)?)?;
        for &(axis, coefficient) in &index.terms {
            let step = steps.get_mut(axis)?;
            *step = step.checked_add(coefficient.checked_mul(*stride)?)?;
        }
    }
    if first != 0 {
        return None;
    }
    let (mut own, mut by_columns, mut position) = (true, true, 1u64);
    for (&extent, &step) in axes.iter().zip(&steps).rev().filter(|(extent, _)| **extent != 1) {
        let past = position.checked_mul(extent)?;
        own &= u64::try_from(step) == Ok(position);
        // Axes lie within the columns, and move along them, or beyond, and do not.
        by_columns &= match position < columns {
            true => past <= columns && u64::try_from(step) == Ok(position),
            false => step == 0,
        };
        position = past;
    }
    match (own, by_columns) {
        (true, _) => Some(Reach::Whole),
        (false, true) => Some(Reach::Columns),
        _ => None,
    }
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

    /// It as a factor for products of this dtype. Not one that is mostly cancelled: what is scaled so was
    /// rounded before it was subtracted, and someone may count on it. Nor zero, by which nothing is
    /// multiplied, and nothing beyond the computing type's normal numbers.
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
    /// What an instruction computes, of the forms before it.
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
                    // A quotient is exact to the last bit, which a rounded reciprocal is not; of sums nobody
                    // asks so much.
                    let exact = by.is_normal() && divisor.to_bits() << 12 == 0;
                    let sums = a.constant == Sum::default() && a.terms.iter().all(|t| t.operand == own);
                    (exact || sums).then(|| a.times(by))
                }
                _ => None,
            },
            Inst::Axis(_) | Inst::Folded { .. } | Inst::Position { .. } => None,
        }
    }

    /// The number that it is, if it is one.
    fn number(&self) -> Option<f64> {
        self.terms.is_empty().then_some(self.constant.value)
    }

    fn times(&self, by: f64) -> Form {
        let terms = self.terms.iter().map(|t| Term { by: t.by.times(by), ..*t }).collect();
        Form { terms, constant: self.constant.times(by) }
    }

    /// It and `by` times another; `None` if that is of too many operands.
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
