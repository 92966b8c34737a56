//! Products by both libraries: the same results, with every scale, addend and bias.

mod epilogues;

use super::*;
use crate::capture::{STRICT, instantiate};
use crate::context::{self, Queue};
use workalike_device::command_check::operand_bytes;

/// Small integers, so that every sum is exact in any order.
fn small(count: u64, seed: u64) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + seed) % 9) as f32 - 4.0).collect()
}

/// The epilogue of a product: its scale, the addend's scale, whether it adds in place, and whether there is
/// a bias.
#[derive(Clone, Copy, Debug)]
struct Then {
    alpha: f64,
    beta: f64,
    in_place: bool,
    bias: bool,
}

const PLAIN: Then = Then { alpha: 1.0, beta: 0.0, in_place: false, bias: false };

/// Bytes of the factors and of the result.
fn bytes(product: &Matmul) -> [u64; 3] {
    let bytes: Vec<u64> = product.operands().iter().map(operand_bytes).collect();
    bytes.try_into().unwrap()
}

/// The result of a product, captured and replayed once with new handles.
fn by(streams: &Streams, product: &Matmul, then: Then, cublas_lt: bool) -> Vec<f32> {
    let queue = &streams.queue;
    let mut products = MatmulLibrary::with(streams, cublas_lt).unwrap();
    let plan = plan(product).unwrap();
    let [a, b, c] = bytes(product);
    // Factors, result, addend, bias.
    let bytes = [a, b, c, c, 4 * product.n];
    let memory = bytes.map(|bytes| CudaMemory::new(queue, bytes).unwrap());
    let addresses = [0, 1, 2, 3, 4].map(|at| memory[at].pointer());
    let [a, b, result, apart, bias] = addresses;
    let added = if then.in_place { result } else { apart };
    let at = bind::OperandAddresses {
        added: (then.beta != 0.0).then_some(added),
        bias: then.bias.then_some(bias),
        alpha: then.alpha,
        beta: then.beta,
        ..bind::OperandAddresses::plain(vec![a, b, result], 0)
    };
    let plan = MatmulPlan::Calls(plan);
    queue.synchronize().unwrap();
    let contents = [0, 1, 2, 3, 4].map(|at| small(bytes[at] / 4, at as u64));
    for (address, values) in addresses.iter().zip(&contents) {
        // SAFETY: the memory is as long as `values`, and nothing else uses it.
        unsafe { result::memcpy_htod_sync(*address, values) }.unwrap();
    }
    let read = |at: usize| {
        let mut got = vec![0f32; (bytes[at] / 4) as usize];
        // SAFETY: the memory is as long as `got`, and nothing writes to it any more.
        unsafe { result::memcpy_dtoh_sync(&mut got, addresses[at]) }.unwrap();
        got
    };
    products.prepare(&plan, &at).unwrap();
    assert_eq!(products.cublas_lt.is_some(), cublas_lt);
    for (at, values) in contents.iter().enumerate() {
        assert_eq!(read(at), *values, "preparing {product:?}, {then:?} changed memory {at}");
    }
    let graph =
        instantiate(queue, &streams.capture, (STRICT, 0), |stream| products.enqueue(&plan, &at, stream))
            .unwrap();
    graph.launch().unwrap();
    queue.synchronize().unwrap();
    for at in [0, 1, 3, 4] {
        assert_eq!(read(at), contents[at], "{product:?}, {then:?} changed memory {at}");
    }
    read(2)
}

/// The two streams of a device. Tests that call this are marked as ignored, because the harness cannot tell
/// whether there is a device.
fn streams() -> Streams {
    Streams::new(Queue::new(context::of_device(0).unwrap()).unwrap()).unwrap()
}

#[test]
#[ignore = "needs an NVIDIA GPU, cuBLAS and cuBLASLt; `make test-cuda` runs it"]
fn both_libraries_compute_the_same() {
    let streams = streams();
    let dtype = DType::F32;
    for product in [
        Matmul { dtype, batch: 1, m: 300, n: 200, k: 500, a: [0, 500, 1], b: [0, 200, 1], fast: false },
        Matmul { dtype, batch: 1, m: 300, n: 200, k: 500, a: [0, 1, 300], b: [0, 1, 503], fast: false },
        Matmul { dtype, batch: 3, m: 30, n: 20, k: 50, a: [1500, 50, 1], b: [0, 1, 50], fast: false },
        Matmul { dtype, batch: 70_000, m: 2, n: 3, k: 2, a: [4, 2, 1], b: [0, 3, 1], fast: false },
    ] {
        let [with, without] = [true, false].map(|cublas_lt| by(&streams, &product, PLAIN, cublas_lt));
        assert_eq!(with, without, "{product:?}");
        assert!(with.iter().any(|v| *v != 0.0), "{product:?}");
    }
}

/// Every number is a small integer, so that all implementations give the same: a bias in the epilogue, or
/// as a second product.
#[test]
#[ignore = "needs an NVIDIA GPU, cuBLAS and cuBLASLt; `make test-cuda` runs it"]
fn both_libraries_scale_and_add() {
    let streams = streams();
    let dtype = DType::F32;
    for product in [
        Matmul { dtype, batch: 1, m: 300, n: 200, k: 50, a: [0, 50, 1], b: [0, 200, 1], fast: false },
        Matmul { dtype, batch: 1, m: 33, n: 17, k: 5, a: [0, 1, 33], b: [0, 1, 5], fast: false },
        Matmul { dtype, batch: 1, m: 1, n: 40, k: 7, a: [0, 7, 1], b: [0, 40, 1], fast: false },
        Matmul { dtype, batch: 1, m: 40, n: 1, k: 7, a: [0, 7, 1], b: [0, 1, 1], fast: false },
        Matmul { dtype, batch: 3, m: 30, n: 20, k: 50, a: [1500, 50, 1], b: [0, 1, 50], fast: false },
        Matmul { dtype, batch: 70_000, m: 2, n: 3, k: 2, a: [4, 2, 1], b: [0, 3, 1], fast: false },
    ] {
        let plain = by(&streams, &product, PLAIN, true);
        let count = plain.len() as u64;
        // The initial contents of memories 2, 3 and 4.
        let (result, apart, bias) = (small(count, 2), small(count, 3), small(product.n, 4));
        for (alpha, beta, in_place, bias_too) in [
            (2.0, 0.0, false, false),
            (-1.0, 3.0, true, false),
            (2.0, -1.0, false, false),
            (1.0, 0.0, false, true),
            (2.0, -1.0, false, true),
            (-3.0, 2.0, true, true),
        ] {
            if bias_too && product.batch > 1 {
                continue;
            }
            let then = Then { alpha, beta, in_place, bias: bias_too };
            let added = if in_place { &result } else { &apart };
            let want: Vec<f32> = (0..count as usize)
                .map(|i| {
                    let row = if bias_too { bias[i % product.n as usize] } else { 0.0 };
                    alpha as f32 * plain[i] + beta as f32 * added[i] + row
                })
                .collect();
            for cublas_lt in [true, false] {
                let got = by(&streams, &product, then, cublas_lt);
                assert_eq!(got, want, "{product:?}, {then:?}, cublas_lt {cublas_lt}");
            }
        }
    }
}

/// Otherwise a bias would be a second product: correct, but slower.
#[test]
#[ignore = "needs an NVIDIA GPU, cuBLAS and cuBLASLt; `make test-cuda` runs it"]
fn the_library_adds_a_bias_itself() {
    let streams = streams();
    let mut products = MatmulLibrary::with(&streams, true).unwrap();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let (a, b) = ([0, 160, 1], [0, 264, 1]);
        let product = Matmul { dtype, batch: 1, m: 256, n: 264, k: 160, a, b, fast: false };
        let plan = plan(&product).unwrap();
        let [a, b, c] = bytes(&product);
        let memory = [a, b, c, c, 4 * 264].map(|bytes| streams.memory(bytes).unwrap());
        let [a, b, result, apart, bias] = [0, 1, 2, 3, 4].map(|at| memory[at].pointer());
        for added in [None, Some(result), Some(apart)] {
            let beta = added.map_or(0.0, |_| 0.5);
            let at =
                MatmulAddresses { added, bias: Some(bias), beta, ..MatmulAddresses::plain([a, b, result]) };
            let (call, at) = plan.calls(at).next().unwrap();
            products.prepare_call(&call, at).unwrap();
            let implementation = products.implementations.get(&call).copied();
            let fused = matches!(implementation, Some(Implementation::CublasLt(_)));
            assert!(fused, "{call:?}: {implementation:?}");
        }
    }
}
