//! Inputs, the same on every host: random arrays from Philox, and special values.

use workalike::kernels::Scalar;
use workalike::kernels::ops::philox4x32_10;
use workalike::prelude::*;
use workalike::{Error, Result};

/// Uniform numbers in [-1, 1), of 32 random bits.
pub fn uniform(len: usize, seed: u32) -> Vec<f64> {
    let word = |i: usize| philox4x32_10([(i / 4) as u32, 0, 0, 0], [seed, 77])[i % 4];
    (0..len).map(|i| f64::from(word(i)) / 2f64.powi(31) - 1.0).collect()
}

/// Standard normal numbers.
pub fn normal(len: usize, seed: u32) -> Vec<f64> {
    let u = uniform(2 * len, seed);
    let pair = |i: usize| ((u[2 * i] + 1.0) / 2.0 + 2f64.powi(-33), u[2 * i + 1]);
    (0..len).map(pair).map(|(r, a)| (-2.0 * r.ln()).sqrt() * (a * std::f64::consts::PI).cos()).collect()
}

/// A random array: normal for floats, within -100..100 (or 0..100) for integers, true or false for bool.
///
/// # Errors
/// If there is no memory for it.
pub fn random(dtype: DType, shape: &[usize], seed: u32) -> Result<Value> {
    let len = shape.iter().product();
    let numbers = match dtype {
        DType::Bool => uniform(len, seed).into_iter().map(|u| if u < 0.0 { 0.0 } else { 1.0 }).collect(),
        d if d.is_unsigned() => uniform(len, seed).into_iter().map(|u| (u.abs() * 100.0).floor()).collect(),
        d if d.is_integer() => uniform(len, seed).into_iter().map(|u| (u * 100.0).floor()).collect(),
        _ => normal(len, seed),
    };
    Value::from_vec(shape, numbers)?.cast(dtype)
}

/// Random integers below a bound, as this dtype.
///
/// # Errors
/// If there is no memory for them.
pub fn below(bound: usize, dtype: DType, shape: &[usize], seed: u32) -> Result<Value> {
    let scaled =
        uniform(shape.iter().product(), seed).into_iter().map(|u| ((u + 1.0) / 2.0 * bound as f64).floor());
    Value::from_vec(shape, scaled.collect::<Vec<f64>>())?.cast(dtype)
}

/// An array of this dtype from numbers.
///
/// # Errors
/// If there is no memory for it.
pub fn numbers(dtype: DType, shape: &[usize], numbers: &[f64]) -> Result<Value> {
    Value::from_vec(shape, numbers.to_vec())?.cast(dtype)
}

/// NaN, infinities, zeros of both signs, the smallest and largest numbers, and some between: 1-d.
///
/// # Errors
/// If there is no memory for them.
pub fn special(dtype: DType) -> Result<Value> {
    if dtype == DType::Bool {
        return Ok(Value::from(vec![false, true]));
    }
    if dtype.is_integer() {
        let bits = 8 * dtype.size() as u32;
        let (low, high) = if dtype.is_signed() {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        } else {
            (0, (1i128 << bits) - 1)
        };
        let list = [low, low + 1, high / 2, high - 1, high, 0, 1, 2, 3, 7, 10, 100, -1, -2, -3, -100];
        let bytes =
            list.iter().flat_map(|&n| Scalar::from_i128(dtype, n).to_le_bytes()[..dtype.size()].to_vec());
        return Value::from_bytes(dtype, &[list.len()], &bytes.collect::<Vec<u8>>());
    }
    let (tiny, least, top) = match dtype {
        DType::F16 => (2f64.powi(-24), 2f64.powi(-14), 65504.0),
        DType::BF16 => (2f64.powi(-133), 2f64.powi(-126), f64::from(half::bf16::MAX)),
        DType::F32 => (2f64.powi(-149), 2f64.powi(-126), f64::from(f32::MAX)),
        _ => (f64::from_bits(1), f64::MIN_POSITIVE, f64::MAX),
    };
    let positive = [
        0.0,
        tiny,
        3.0 * tiny,
        least - tiny,
        least,
        1e-7,
        1e-3,
        0.1,
        0.5,
        0.75,
        1.0,
        1.5,
        2.0,
        std::f64::consts::E,
        std::f64::consts::PI,
        5.0,
        10.0,
        17.25,
        88.0,
        89.0,
        103.0,
        104.5,
        150.0,
        709.0,
        745.0,
        1000.0,
        6e4,
        1e5,
        1e10,
        top / 2.0,
        top,
        f64::INFINITY,
    ];
    let signed: Vec<f64> = positive.iter().flat_map(|&v| [v, -v]).chain([f64::NAN]).collect();
    numbers(dtype, &[signed.len()], &signed)
}

/// Concatenates the elements of several arrays of one dtype, 1-d.
///
/// # Errors
/// If they differ in dtype.
pub fn joined(parts: &[Value]) -> Result<Value> {
    let dtype = parts.first().map_or(DType::F64, Value::dtype);
    if let Some(other) = parts.iter().find(|p| p.dtype() != dtype) {
        return Err(Error::mismatch("join", dtype.name(), other.dtype().name()));
    }
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(part.contiguous()?.contiguous_bytes().unwrap_or(&[]));
    }
    Value::from_bytes(dtype, &[parts.iter().map(Value::len).sum()], &bytes)
}
