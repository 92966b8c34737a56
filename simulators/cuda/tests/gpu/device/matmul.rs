//! Matrix products in every dtype and layout, on values that are exact.

use super::{decode, encode, get, part, put, region, run, small};
use crate::{Test, open, tests};
use std::sync::Arc;
use workalike::dtype::DType;
use workalike::engine::device::{ByteMatmul, Command, Device, Matmul, Numerics};

/// Tests of this file, for a device with cuBLAS.
pub(crate) const TESTS: &[Test] = tests![
    matmul_in_every_dtype_and_layout,
    matmul_with_a_batch_longer_than_the_grid,
    matmul_over_nothing_is_zero_and_of_integers_is_not_offered,
    f32_is_not_tf32_and_halves_accumulate_in_f32,
    bytes_are_summed_in_int32,
];

/// Runs a product twice by one recording and compares with the definition; values are exact.
fn check_matmul(device: &Arc<dyn Device>, product: Matmul) {
    assert!(device.library(&product, None).is_some(), "{product:?}");
    let Matmul { dtype, batch, m, n, k, a, b, .. } = product.clone();
    let span = |extents: [u64; 3], steps: [i64; 3]| {
        1 + extents.iter().zip(steps).map(|(e, s)| (*e as usize - 1) * s as usize).sum::<usize>()
    };
    let (left, right) = (small(span([batch, m, k], a), 1), small(span([batch, k, n], b), 2));
    let count = (batch * m * n) as usize;
    let c = put(device, &encode(dtype, &vec![f64::NAN; count]));
    let command = Command::library(
        product.clone(),
        [put(device, &encode(dtype, &left)), put(device, &encode(dtype, &right))],
        c.clone(),
    );
    let module = device.compile(&[], Numerics::default()).unwrap();
    let mut recording = device.record(&module, &[command]).unwrap();
    recording.replay().unwrap();
    recording.replay().unwrap();
    let mut want = Vec::with_capacity(count);
    for z in 0..batch as i64 {
        for i in 0..m as i64 {
            for j in 0..n as i64 {
                want.push(
                    (0..k as i64)
                        .map(|l| {
                            left[(z * a[0] + i * a[1] + l * a[2]) as usize]
                                * right[(z * b[0] + l * b[1] + j * b[2]) as usize]
                        })
                        .sum::<f64>(),
                );
            }
        }
    }
    assert!(decode(dtype, &get(device, &c)) == want, "{product:?}");
}

fn matmul_in_every_dtype_and_layout() {
    let device = open();
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        // bfloat16 holds integers up to 256 exactly.
        for (m, n, k) in [(5, 7, 9), (16, 32, 8), (1, 6, 12), (6, 1, 12), (1, 1, 10), (4, 4, 1), (33, 17, 3)]
        {
            let (mi, ni, ki) = (m as i64, n as i64, k as i64);
            for a in [[0, ki, 1], [0, 1, mi], [mi * ki, ki, 1], [mi * ki, 1, mi], [0, ki + 5, 1]] {
                for b in [[0, ni, 1], [0, 1, ki], [ki * ni, ni, 1], [ki * ni, 1, ki], [0, 1, ki + 3]] {
                    for batch in [1, 4] {
                        check_matmul(&device, Matmul { dtype, batch, m, n, k, a, b, fast: false });
                    }
                }
            }
        }
    }
}

fn matmul_with_a_batch_longer_than_the_grid() {
    let device = open();
    let product = Matmul {
        dtype: DType::F32,
        batch: 70_000,
        m: 2,
        n: 3,
        k: 2,
        a: [4, 2, 1],
        b: [0, 3, 1],
        fast: false,
    };
    check_matmul(&device, product);
}

fn matmul_over_nothing_is_zero_and_of_integers_is_not_offered() {
    let device = open();
    let zero =
        Matmul { dtype: DType::F32, batch: 1, m: 3, n: 4, k: 0, a: [0, 0, 1], b: [0, 4, 1], fast: false };
    assert_eq!(device.library(&zero, None), Some(0));
    assert!(device.library(&Matmul { dtype: DType::I32, k: 1, ..zero.clone() }, None).is_none());
    let c = put(&device, &[1; 48]);
    let empty = part(&c, 0, 0);
    let command = Command::library(zero, [empty.clone(), empty], c.clone());
    run(&device, &[], &[command]);
    assert_eq!(get(&device, &c), vec![0; 48]);
}

fn bytes_are_summed_in_int32() {
    let device = open();
    for (m, n, k) in [(16, 16, 16), (5, 48, 64), (300, 256, 1024), (1, 32, 4096), (128, 16, 80)] {
        let (mi, ni, ki) = (m as i64, n as i64, k as i64);
        for (batch, a, b) in [
            (1, [0, ki, 1], [0, 1, ki]),
            (1, [0, ki + 16, 1], [0, 1, ki + 32]),
            (3, [mi * ki, ki, 1], [ni * ki, 1, ki]),
            (3, [0, ki, 1], [ni * ki, 1, ki]),
        ] {
            let product = Matmul { dtype: DType::I8, batch, m, n, k, a, b, fast: false };
            let span = |extents: [u64; 3], steps: [i64; 3]| {
                1 + extents.iter().zip(steps).map(|(e, s)| (*e as usize - 1) * s as usize).sum::<usize>()
            };
            // The most negative sums do not fit 24 bits.
            let bytes = |count: usize, by: usize| -> Vec<u8> {
                (0..count).map(|i| if i % by == 0 { 0x80 } else { (i * 31 % 256) as u8 }).collect()
            };
            let (left, right) = (bytes(span([batch, m, k], a), 2), bytes(span([batch, k, n], b), 3));
            let c = put(&device, &vec![0xAA; (4 * batch * m * n) as usize]);
            let factors = [put(&device, &left), put(&device, &right)];
            let op = ByteMatmul(product.clone());
            assert!(device.library(&op, None).is_some(), "{product:?}");
            run(&device, &[], &[Command::library(op, factors, c.clone())]);
            let at = |bytes: &[u8], place: i64| i32::from(bytes[place as usize] as i8);
            let mut want: Vec<u8> = Vec::new();
            for (z, i, j) in
                (0..batch as i64).flat_map(|z| (0..mi).flat_map(move |i| (0..ni).map(move |j| (z, i, j))))
            {
                let term = |l: i64| at(&left, z * a[0] + i * a[1] + l) * at(&right, z * b[0] + l + j * b[2]);
                want.extend((0..ki).map(term).sum::<i32>().to_le_bytes());
            }
            assert!(get(&device, &c) == want, "{product:?}");
        }
    }
    // Factors whose neighbours lie elsewhere, or that are no vectors, are not offered.
    let good =
        Matmul { dtype: DType::I8, batch: 1, m: 4, n: 16, k: 16, a: [0, 16, 1], b: [0, 1, 16], fast: false };
    assert!(device.library(&ByteMatmul(good.clone()), None).is_some());
    for refused in [
        Matmul { b: [0, 16, 1], ..good.clone() },
        Matmul { k: 15, ..good.clone() },
        Matmul { a: [0, 17, 1], ..good.clone() },
        Matmul { n: 15, ..good.clone() },
    ] {
        assert!(device.library(&ByteMatmul(refused.clone()), None).is_none(), "{refused:?}");
    }
    assert!(device.library(&good, None).is_none(), "sums of bytes in bytes");
}

fn f32_is_not_tf32_and_halves_accumulate_in_f32() {
    let device = open();
    let one = |dtype, side: u64, k: u64, value: f64| {
        let (s, l) = (side as i64, k as i64);
        let product =
            Matmul { dtype, batch: 1, m: side, n: side, k, a: [0, l, 1], b: [0, s, 1], fast: false };
        let count = (side * k) as usize;
        let a = put(&device, &encode(dtype, &vec![value; count]));
        let b = put(&device, &encode(dtype, &vec![1.0; count]));
        let c = region(&device, side * side * dtype.size() as u64);
        run(&device, &[], &[Command::library(product, [a, b], c.clone())]);
        decode(dtype, &get(&device, &c))
    };
    // TF32 would drop the 2^-12.
    let fine = 1.0 + 1.0 / 4096.0;
    assert!(one(DType::F32, 256, 256, fine).iter().all(|v| *v == 256.0 * fine));
    // f16 stops counting ones at 2048.
    assert!(one(DType::F16, 128, 4096, 1.0).iter().all(|v| *v == 4096.0));
}
