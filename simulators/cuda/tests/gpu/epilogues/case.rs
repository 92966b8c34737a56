//! One product with one epilogue, run on devices and compared with plain sums of f64.

use super::{Form, decode, encode, get, nest, noise, put, record};
use std::sync::Arc;
use workalike::dtype::DType;
use workalike::engine::device::{Command, Device, LibraryOutput, Matmul};
use workalike::kernels::Scalar;

/// A product, the form of its epilogue, and values for all operands.
pub(super) struct Case {
    pub(super) product: Matmul,
    pub(super) form: Form,
    /// Factors, addend, bias.
    pub(super) values: [Vec<f64>; 4],
    /// Byte offsets of each of them, and of the result.
    pub(super) offsets: [u64; 5],
}

impl Case {
    pub(super) fn new(product: Matmul, form: Form) -> Case {
        let Matmul { dtype, batch, m, n, k, .. } = product;
        let counts = [batch * m * k, batch * k * n, batch * m * n, n];
        let values = [0, 1, 2, 3].map(|at| noise(dtype, counts[at], 10 + at as u64));
        Case { product, form, values, offsets: [0; 5] }
    }

    /// The results of two replays of a new recording. The second starts from the first's result if the
    /// epilogue adds in place.
    fn run(&self, device: &Arc<dyn Device>) -> [Vec<u8>; 2] {
        let (dtype, form, nest) = (self.product.dtype, self.form, nest(&self.product, self.form));
        let what = format!("{:?}, {form:?}, {:?}", self.product, self.offsets);
        assert!(device.library(&self.product, Some((&nest, 0))).is_some(), "{what}");
        let at = |i: usize| put(device, &encode(dtype, &self.values[i]), self.offsets[i]);
        let [a, b, added, bias] = [0, 1, 2, 3].map(at);
        let untouched = vec![0x3c; added.bytes as usize];
        let result = if form.in_place { added.clone() } else { put(device, &untouched, self.offsets[4]) };
        let rest = [added.clone(), bias.clone(), result.clone()];
        let args = [None].into_iter().chain(rest.map(Some)).collect();
        let c = LibraryOutput::Epilogue { nest, args };
        let product = self.product.clone();
        let command = Command::library(product, [a.clone(), b.clone()], c);
        let mut recording = record(device, &[command]).unwrap();
        let only_read = |when: &str| {
            for (region, values) in [&a, &b, &added, &bias].into_iter().zip(&self.values) {
                let result = form.in_place && Arc::ptr_eq(&region.memory, &result.memory);
                let given = encode(dtype, values);
                assert!((result && when == "replays") || get(device, region) == given, "{when}: {what}");
            }
        };
        only_read("recording");
        assert!(form.in_place || get(device, &result) == untouched, "recording wrote the result: {what}");
        let got = [0, 1].map(|_| {
            recording.replay().unwrap();
            get(device, &result)
        });
        only_read("replays");
        assert!(form.in_place || got[0] == got[1], "two replays: {what}");
        recording.timed().unwrap();
        let third = get(device, &result);
        assert!(form.in_place || got[0] == third, "timed: {what}");
        got
    }

    /// Compares a result with plain sums, within the tolerance of products; `added` is the addend.
    fn check(&self, added: &[f64], got: &[u8]) {
        let Matmul { dtype, batch, m, n, k, .. } = self.product;
        let got = decode(dtype, got);
        let (mut sums, rounded) = match dtype {
            DType::F64 => (f64::EPSILON, f64::EPSILON),
            DType::F16 => (f32::EPSILON.into(), 1.0 / 1024.0),
            DType::BF16 => (f32::EPSILON.into(), 1.0 / 128.0),
            _ => (f32::EPSILON.into(), f32::EPSILON.into()),
        };
        let computed: f64 = sums;
        if self.product.fast {
            sums = 1.0 / 512.0;
        }
        let exact = |by: f64| Scalar::from_f64(dtype, by).to_f64();
        let (alpha, beta) = (exact(self.form.alpha), self.form.beta.map_or(0.0, exact));
        let step = |extent: u64, step: usize| (0..extent).step_by(if extent < 40 { 1 } else { step });
        // Some of the rows and columns suffice, the last ones among them.
        let rows = || step(m, 7).chain([m - 1]);
        for z in step(batch, 1009) {
            for i in rows() {
                for j in step(n, 5).chain([n - 1]) {
                    let place = |l: &[i64; 3], at: [u64; 3]| {
                        l.iter().zip(at).map(|(step, at)| step * at as i64).sum::<i64>() as usize
                    };
                    let (mut sum, mut size) = (0.0, 0.0);
                    for l in 0..k {
                        let left = self.values[0][place(&self.product.a, [z, i, l])];
                        let term: f64 = left * self.values[1][place(&self.product.b, [z, l, j])];
                        (sum, size) = (sum + term, size + term.abs());
                    }
                    let at = ((z * m + i) * n + j) as usize;
                    let bias = if self.form.bias { self.values[3][j as usize] } else { 0.0 };
                    let want = alpha * sum + beta * added[at] + bias;
                    let others = (alpha * sum).abs() + (beta * added[at]).abs() + bias.abs();
                    // Libraries round a product of halves, and its sum with C, before the next addition; a
                    // product followed by a Nest rounds as often.
                    let parts = if dtype.is_half() { (alpha * sum).abs() + (want - bias).abs() } else { 0.0 };
                    let stored = want.abs() + parts;
                    // The smallest positive f16.
                    let least = if dtype == DType::F16 { 2f64.powi(-24) } else { 0.0 };
                    let bound = k as f64 * sums * size * alpha.abs()
                        + 4.0 * computed * others
                        + rounded * stored
                        + least;
                    let (form, got) = (self.form, got[at]);
                    assert!(
                        (got - want).abs() <= bound,
                        "{:?}, {form:?}, {:?} at {z} {i} {j}: {got}, not {want}",
                        self.product,
                        self.offsets
                    );
                }
            }
        }
    }

    /// Runs the product on each device, twice, and checks both replays.
    pub(super) fn try_on(&self, devices: &[Arc<dyn Device>]) {
        let results: Vec<[Vec<u8>; 2]> = devices.iter().chain(devices).map(|d| self.run(d)).collect();
        let first = decode(self.product.dtype, &results[0][0]);
        self.check(&self.values[2], &results[0][0]);
        let then = if self.form.in_place { &first } else { &self.values[2] };
        self.check(then, &results[0][1]);
        assert!(results.iter().all(|r| *r == results[0]), "{:?}, {:?}", self.product, self.form);
    }
}
