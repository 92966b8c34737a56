//! Arrays of numbers, and their results by the reference.

use workalike::prelude::*;

/// The results of the ops' `perform`.
pub(crate) fn reference(output: &Variable, inputs: &[(&Variable, &Value)]) -> Value {
    let f = function(inputs.iter().map(|i| i.0)).output(output).allow_unused_inputs().compile().unwrap();
    f.call_reference(inputs.iter().fold(Args::new(), |args, (_, value)| args.with(*value))).unwrap()[0]
        .clone()
}

/// An expression of constants.
pub(crate) fn value(output: &Variable) -> Value {
    reference(output, &[])
}

/// Irregular numbers, no two of them equal.
pub(crate) fn numbers(shape: &[usize], seed: f64) -> Value {
    let list = (0..shape.iter().product::<usize>()).map(|i| (seed + i as f64 * 1.7).sin() * 2.0).collect();
    Value::from_vec(shape, list).unwrap()
}

/// A constant of this shape.
pub(crate) fn of(shape: &[usize], list: &[f64]) -> Variable {
    constant(Value::from_vec(shape, list.to_vec()).unwrap())
}

/// Whether it has this shape and these numbers.
#[track_caller]
pub(crate) fn near(got: &Value, shape: &[usize], want: &[f64]) {
    assert_eq!((got.shape(), got.len()), (shape, want.len()));
    for (got, want) in got.to_f64s().iter().zip(want) {
        assert!((got - want).abs() <= 1e-12 * (1.0 + want.abs()), "{got} {want}");
    }
}
