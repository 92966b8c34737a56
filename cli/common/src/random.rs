//! Random arrays, the same in every run: inputs of a given shape, and the data of workloads.

use workalike::prelude::*;

/// The value of an expression without inputs, such as one of random draws.
///
/// # Errors
/// If the expression is invalid.
pub fn evaluated(expression: &Variable) -> workalike::Result<Value> {
    let f = function([] as [&Variable; 0]).output(expression).compile()?;
    Ok(f.call(args![])?[0].clone())
}

/// Random-normal float32 elements.
///
/// # Errors
/// If the array is too large.
pub fn normal(seed: u64, shape: &[usize], scale: f64) -> workalike::Result<Value> {
    evaluated(&(RandomStreams::new(seed).normal::<f32>(shape) * scale))
}

/// Random float32 elements, uniform from `low` to `high`.
///
/// # Errors
/// If the array is too large.
pub fn uniform(seed: u64, shape: &[usize], low: f64, high: f64) -> workalike::Result<Value> {
    evaluated(&(RandomStreams::new(seed).uniform::<f32>(shape) * (high - low) + low))
}

/// Random int64 elements below `below`.
///
/// # Errors
/// If the array is too large.
pub fn integers(seed: u64, count: usize, below: u64) -> workalike::Result<Value> {
    let bits = evaluated(&RandomStreams::new(seed).bits([count]))?;
    Ok(Value::from(bits.to_vec::<u64>()?.iter().map(|b| (b % below) as i64).collect::<Vec<_>>()))
}

/// Random int32 elements below `below`.
///
/// # Errors
/// If the array is too large.
pub fn positions(seed: u64, shape: &[usize], below: usize) -> workalike::Result<Value> {
    let count = workalike::value::checked_len(shape, DType::I64)?;
    integers(seed, count, below as u64)?.cast(DType::I32)?.reshaped(shape)
}
