//! The dtype that weak numbers get.

use super::elemwise;
use crate::error::Error;
use crate::graph::{Operand, Variable, source_location};
use crate::value::Value;
use workalike_kernels::{DType, Scalar};

impl Operand {
    /// The dtype that the Variables among operands promote to. Weak ones take part only if no other is a
    /// float or complex.
    fn strong(operands: &[Operand]) -> Option<DType> {
        let strong = |weak: bool| {
            let list =
                operands.iter().filter(move |o| matches!(o, Operand::Variable(_)) && o.is_weak() <= weak);
            list.map(Operand::default_dtype).reduce(DType::promote)
        };
        strong(false).filter(|dtype| dtype.is_float() || dtype.is_complex()).or_else(|| strong(true))
    }

    /// Whether a result of this dtype is weak: it is of a kind (integer, float, complex) that only weak
    /// operands have.
    pub(crate) fn weaken(operands: &[Operand], result: DType) -> bool {
        let kind = |dtype: DType| match dtype {
            DType::Bool => 0,
            d if d.is_complex() => 3,
            d => 1 + u8::from(d.is_float()),
        };
        let own = kind(result);
        let of = |weak: bool| {
            operands
                .iter()
                .filter(move |o| o.is_weak() == weak)
                .map(|o| kind(o.default_dtype()))
                .max()
                .unwrap_or(0)
        };
        operands.iter().all(Operand::is_weak) && own > 0 || of(true) == own && of(false) < own
    }

    /// The operands of a comparison. A number that the others' dtype cannot hold is replaced by one that
    /// compares the same.
    pub(crate) fn compared(operands: Vec<Operand>) -> Vec<Operand> {
        let Some(strong) = Operand::strong(&operands).filter(|d| d.is_integer()) else { return operands };
        let placed = |operand| match operand {
            Operand::Int(n) if Scalar::from_i128(strong, n).to_i128() != n => match i64::try_from(n) {
                Ok(n) if strong.size() < 8 => Operand::Variable(Variable::constant(n)),
                // Beyond all 64 bits.
                _ => Operand::Float(if n < 0 { f64::NEG_INFINITY } else { f64::INFINITY }),
            },
            other => other,
        };
        operands.into_iter().map(placed).collect()
    }

    /// Resolves the operands of one op: weak ones take the others' dtype. A whole number that an integer
    /// dtype cannot hold gives a poisoned Variable.
    #[track_caller]
    pub(crate) fn resolve(operands: Vec<Operand>) -> Vec<Variable> {
        Operand::resolve_for("a number", operands)
    }

    /// [`Operand::resolve`], with the op's name for errors.
    pub(crate) fn resolve_for(op: &str, operands: Vec<Operand>) -> Vec<Variable> {
        let strong = Operand::strong(&operands);
        // A real number stays real beside complex ones, and multiplies both parts.
        let weak = |own: DType| match strong.map(DType::real) {
            None => own,
            Some(d) if own.is_complex() => {
                if d.is_float() {
                    d.complex()
                } else {
                    own
                }
            }
            Some(d) if d.is_float() || own == DType::Bool => d,
            Some(d) if own == DType::I64 && d != DType::Bool => d,
            Some(_) => own,
        };
        let number = |operand: &Operand| {
            let dtype = weak(operand.default_dtype());
            let scalar = match operand {
                Operand::Variable(v)
                    if v.is_weak() && (dtype.is_float() || dtype.is_complex()) && dtype != v.dtype() =>
                {
                    return elemwise::cast(v, dtype).unwrap_or_else(Variable::poison);
                }
                Operand::Variable(v) => return v.clone(),
                Operand::Int(n) => Scalar::from_i128(dtype, *n),
                Operand::Float(x) => Scalar::from_f64(dtype, *x),
                Operand::Bool(b) => Scalar::from_i128(dtype, i128::from(*b)),
                Operand::Complex(z) => Scalar::from_parts(dtype, [z.re, z.im]),
            };
            match operand {
                Operand::Int(n) if dtype.is_integer() && scalar.to_i128() != *n => {
                    let message = format!("{n} is out of range for {dtype}; convert the other operand first");
                    Variable::poison(Error::Expression {
                        op: op.into(),
                        message,
                        place: source_location::here(),
                    })
                }
                _ => Variable::constant(Value::scalar(scalar)),
            }
        };
        operands.iter().map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{constant, scalar, vector};
    use crate::ops::creation::full;
    use crate::ops::elementwise_methods::where_;
    use half::f16;

    #[test]
    fn numbers_are_weak() {
        let f = scalar::<f32>("f");
        let i = scalar::<i8>("i");
        assert_eq!((0.1 * &f).dtype(), DType::F32);
        assert_eq!((2 * &i).dtype(), DType::I8);
        assert_eq!((0.5 * &i).dtype(), DType::F64);
        assert_eq!((&f * 2.0f32).dtype(), DType::F32);
        assert_eq!((&i * 2.0f32).dtype(), DType::F32);
        assert_eq!((scalar::<f64>("d") * 2.0f32).dtype(), DType::F64);
        assert_eq!((scalar::<f16>("h") * 2.0f32).dtype(), DType::F32);
        assert_eq!((scalar::<f16>("h") * 2.0).dtype(), DType::F16);
        assert_eq!((&f + &scalar::<i32>("k")).dtype(), DType::F64);
    }

    #[test]
    fn what_is_made_of_numbers_alone_is_weak() {
        let (f, i, mask) = (vector::<f32>("f"), vector::<i32>("i"), vector::<bool>("mask"));
        let narrow = |x: Variable, alone: DType| {
            assert_eq!(x.dtype(), alone);
            assert_eq!((&f * &x).dtype(), DType::F32, "{x:?}");
            assert_eq!((x.sqrt() + &f).dtype(), DType::F32, "{x:?}");
        };
        narrow(where_(&mask, 1.0, 0.0), DType::F64);
        narrow(where_(&mask, 1.0f32, 0.0), DType::F32);
        narrow(where_(&mask, 1, 0), DType::I64);
        narrow(1.0 - &mask, DType::F64);
        narrow(1 - &mask, DType::I64);
        narrow(full([2], 0.0), DType::F64);
        narrow(full([2], 0.0).named("zeros") * 2.0 + 1, DType::F64);
        narrow(f.extent(0), DType::I64);
        narrow((f.extent(0) - 1) / 2, DType::F64);
        narrow(0.5 * &i, DType::F64);
        // As arrays do in NumPy.
        for wide in
            [&i * 2, &i / 2, f.extent(0).cast(DType::I64), full([2], 0.0).cast(DType::F64), constant(1.0)]
        {
            assert_eq!((&f * &wide).dtype(), DType::F64, "{wide:?}");
        }
        assert_eq!((&i + f.extent(0)).dtype(), DType::I64);
        assert_eq!((scalar::<u8>("u") + f.extent(0)).dtype(), DType::I64);
    }
}
