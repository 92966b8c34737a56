//! Products whose algorithm is chosen by measured time: correct, and bitwise the same each time.

use crate::{Test, open, tests};
use std::sync::Arc;
use workalike::dtype::DType;
use workalike::engine::device::{Command, Device, Matmul, Numerics, Region};
use workalike::kernels::Scalar;

/// All tests of this file.
pub(crate) const TESTS: &[Test] =
    tests![large_products_are_right_and_the_same_each_time, factors_and_results_may_start_anywhere,];

/// Numbers between -1 and 1 with as many bits as the dtype has.
fn noise(dtype: DType, count: u64, seed: u64) -> Vec<f64> {
    let mut state = seed * 2 + 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let value = (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        Scalar::from_f64(dtype, value).to_f64()
    };
    (0..count).map(|_| next()).collect()
}

/// A region of new memory at `offset`, filled with `values`.
fn put(device: &Arc<dyn Device>, dtype: DType, values: &[f64], offset: u64) -> Region {
    let encode = |v: &f64| Scalar::from_f64(dtype, *v).to_le_bytes()[..dtype.size()].to_vec();
    let bytes: Vec<u8> = values.iter().flat_map(encode).collect();
    let memory = device.allocate(bytes.len() as u64 + offset).unwrap();
    let region = Region { memory, offset, bytes: bytes.len() as u64 };
    device.upload(&bytes, &region).unwrap();
    region
}

/// The result of a product by a new recording.
fn run(device: &Arc<dyn Device>, product: &Matmul, a: &Region, b: &Region, offset: u64) -> Vec<u8> {
    let bytes = product.batch * product.m * product.n * product.dtype.size() as u64;
    let c = Region { memory: device.allocate(bytes + offset).unwrap(), offset, bytes };
    let command = Command::library(product.clone(), [a.clone(), b.clone()], c.clone());
    let module = device.compile(&[], Numerics::default()).unwrap();
    let mut recording = device.record(&module, &[command]).unwrap();
    let mut got = vec![vec![0xee; bytes as usize]; 2];
    for got in &mut got {
        recording.replay().unwrap();
        device.download(&c, got).unwrap();
    }
    assert_eq!(got[0], got[1], "two replays of {product:?}");
    got.swap_remove(0)
}

/// Compares a result with plain sums, within the tolerance of products.
fn check(product: &Matmul, a: &[f64], b: &[f64], got: &[u8]) {
    let Matmul { dtype, m, n, k, .. } = *product;
    let got: Vec<f64> =
        got.chunks(dtype.size()).map(|v| Scalar::from_le_bytes(dtype, v).unwrap().to_f64()).collect();
    let (sums, rounded) = match dtype {
        DType::F64 => (f64::EPSILON, f64::EPSILON),
        DType::F16 => (f32::EPSILON.into(), 1.0 / 1024.0),
        DType::BF16 => (f32::EPSILON.into(), 1.0 / 128.0),
        _ => (f32::EPSILON.into(), f32::EPSILON.into()),
    };
    // Some of the rows and columns suffice.
    for i in (0..m).step_by(7) {
        for j in (0..n).step_by(5) {
            let terms = (0..k).map(|l| {
                let left = a[(i as i64 * product.a[1] + l as i64 * product.a[2]) as usize];
                left * b[(l as i64 * product.b[1] + j as i64 * product.b[2]) as usize]
            });
            let (want, size) = terms.fold((0.0, 0.0), |(sum, size), t: f64| (sum + t, size + t.abs()));
            let bound = k as f64 * sums * size + rounded * want.abs();
            let got = got[(i * n + j) as usize];
            assert!((got - want).abs() <= bound, "{product:?} at {i} {j}: {got}, not {want}");
        }
    }
}

fn large_products_are_right_and_the_same_each_time() {
    let devices = [open(), open()];
    let (m, n, k) = (256u64, 260u64, 784u64);
    let (mi, ni, ki) = (m as i64, n as i64, k as i64);
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let (a, b) = (noise(dtype, m * k, 1), noise(dtype, k * n, 2));
        for (left, right) in [([0, ki, 1], [0, ni, 1]), ([0, 1, mi], [0, ni, 1]), ([0, ki, 1], [0, 1, ki])] {
            let product = Matmul { dtype, batch: 1, m, n, k, a: left, b: right, fast: false };
            let mut results: Vec<Vec<u8>> = Vec::new();
            for device in &devices {
                let (left, right) = (put(device, dtype, &a, 0), put(device, dtype, &b, 0));
                for _ in 0..2 {
                    results.push(run(device, &product, &left, &right, 0));
                }
            }
            check(&product, &a, &b, &results[0]);
            assert!(results.iter().all(|r| *r == results[0]), "{product:?}");
        }
    }
}

fn factors_and_results_may_start_anywhere() {
    let device = open();
    let (m, n, k) = (200u64, 264u64, 320u64);
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let size = dtype.size() as u64;
        let product =
            Matmul { dtype, batch: 1, m, n, k, a: [0, k as i64, 1], b: [0, n as i64, 1], fast: false };
        let (a, b) = (noise(dtype, m * k, 3), noise(dtype, k * n, 4));
        for offsets in [[size, 0, 0], [0, size, 0], [0, 0, size], [16, 3 * size, 2 * size]] {
            let left = put(&device, dtype, &a, offsets[0]);
            let right = put(&device, dtype, &b, offsets[1]);
            check(&product, &a, &b, &run(&device, &product, &left, &right, offsets[2]));
        }
    }
}
