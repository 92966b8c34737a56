//! Products by both libraries: the same results, with every scale, addend and bias.

use super::*;
use crate::capture::instantiate;
use crate::context;

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

/// The result of a product, captured and replayed once with new handles.
fn by(queue: &Arc<Queue>, capture: &Arc<Queue>, product: &Matmul, then: Then, cublas_lt: bool) -> Vec<f32> {
    let products = Products::with(queue, capture, cublas_lt).unwrap();
    let plan = plan(product).unwrap();
    let [a, b, c] = plan.bytes();
    // Factors, result, addend, bias.
    let bytes = [a, b, c, c, 4 * product.n];
    let memory = bytes.map(|bytes| CudaMemory::new(queue, bytes).unwrap());
    let addresses = [0, 1, 2, 3, 4].map(|at| memory[at].pointer());
    let [a, b, result, apart, bias] = addresses;
    let added = if then.in_place { result } else { apart };
    let at = At {
        added: (then.beta != 0.0).then_some(added),
        bias: then.bias.then_some(bias),
        alpha: then.alpha,
        beta: then.beta,
        ..At::plain([a, b, result])
    };
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
    products.prepare(&plan, at).unwrap();
    assert_eq!(products.cublas_lt.is_some(), cublas_lt);
    for (at, values) in contents.iter().enumerate() {
        assert_eq!(read(at), *values, "preparing {product:?}, {then:?} changed memory {at}");
    }
    products.to_capture().unwrap();
    let graph = instantiate(queue, capture, |stream| products.enqueue(stream, &plan, at)).unwrap();
    // SAFETY: graph, stream and memory are alive; the graph is destroyed once, when it has run.
    unsafe {
        result::graph::launch(graph, queue.stream.cu_stream()).unwrap();
        queue.synchronize().unwrap();
        result::graph::exec_destroy(graph).unwrap();
    }
    for at in [0, 1, 3, 4] {
        assert_eq!(read(at), contents[at], "{product:?}, {then:?} changed memory {at}");
    }
    read(2)
}

/// The two streams of a device. Tests that call this are marked as ignored, because the harness cannot tell
/// whether there is a device.
fn queues() -> (Arc<Queue>, Arc<Queue>) {
    let context = context::of_device(0).unwrap();
    (Queue::new(context.clone()).unwrap(), Queue::new(context).unwrap())
}

#[test]
#[ignore = "needs an NVIDIA GPU, cuBLAS and cuBLASLt; `make test-cuda` runs it"]
fn both_libraries_compute_the_same() {
    let (queue, capture) = queues();
    let dtype = DType::F32;
    for product in [
        Matmul { dtype, batch: 1, m: 300, n: 200, k: 500, a: [0, 500, 1], b: [0, 200, 1], fast: false },
        Matmul { dtype, batch: 1, m: 300, n: 200, k: 500, a: [0, 1, 300], b: [0, 1, 503], fast: false },
        Matmul { dtype, batch: 3, m: 30, n: 20, k: 50, a: [1500, 50, 1], b: [0, 1, 50], fast: false },
        Matmul { dtype, batch: 70_000, m: 2, n: 3, k: 2, a: [4, 2, 1], b: [0, 3, 1], fast: false },
    ] {
        let [with, without] = [true, false].map(|cublas_lt| by(&queue, &capture, &product, PLAIN, cublas_lt));
        assert_eq!(with, without, "{product:?}");
        assert!(with.iter().any(|v| *v != 0.0), "{product:?}");
    }
}

/// Every number is a small integer, so that all implementations give the same: a bias in the epilogue, or
/// as a second product.
#[test]
#[ignore = "needs an NVIDIA GPU, cuBLAS and cuBLASLt; `make test-cuda` runs it"]
fn both_libraries_scale_and_add() {
    let (queue, capture) = queues();
    let dtype = DType::F32;
    for product in [
        Matmul { dtype, batch: 1, m: 300, n: 200, k: 50, a: [0, 50, 1], b: [0, 200, 1], fast: false },
        Matmul { dtype, batch: 1, m: 33, n: 17, k: 5, a: [0, 1, 33], b: [0, 1, 5], fast: false },
        Matmul { dtype, batch: 1, m: 1, n: 40, k: 7, a: [0, 7, 1], b: [0, 40, 1], fast: false },
        Matmul { dtype, batch: 1, m: 40, n: 1, k: 7, a: [0, 7, 1], b: [0, 1, 1], fast: false },
        Matmul { dtype, batch: 3, m: 30, n: 20, k: 50, a: [1500, 50, 1], b: [0, 1, 50], fast: false },
        Matmul { dtype, batch: 70_000, m: 2, n: 3, k: 2, a: [4, 2, 1], b: [0, 3, 1], fast: false },
    ] {
        let plain = by(&queue, &capture, &product, PLAIN, true);
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
                let got = by(&queue, &capture, &product, then, cublas_lt);
                assert_eq!(got, want, "{product:?}, {then:?}, cublas_lt {cublas_lt}");
            }
        }
    }
}

/// Otherwise a bias would be a second product: correct, but slower.
#[test]
#[ignore = "needs an NVIDIA GPU, cuBLAS and cuBLASLt; `make test-cuda` runs it"]
fn the_library_adds_a_bias_itself() {
    let (queue, capture) = queues();
    let products = Products::with(&queue, &capture, true).unwrap();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let (a, b) = ([0, 160, 1], [0, 264, 1]);
        let plan = plan(&Matmul { dtype, batch: 1, m: 256, n: 264, k: 160, a, b, fast: false }).unwrap();
        let [a, b, c] = plan.bytes();
        let memory = [a, b, c, c, 4 * 264].map(|bytes| CudaMemory::new(&queue, bytes).unwrap());
        let [a, b, result, apart, bias] = [0, 1, 2, 3, 4].map(|at| memory[at].pointer());
        for added in [None, Some(result), Some(apart)] {
            let beta = added.map_or(0.0, |_| 0.5);
            let at = At { added, bias: Some(bias), beta, ..At::plain([a, b, result]) };
            products.prepare(&plan, at).unwrap();
            let (call, _) = plan.calls(at).next().unwrap();
            let implementation = lock(&products.implementations).get(&call).copied();
            let fused = matches!(implementation, Some(Implementation::CublasLt(_)));
            assert!(fused, "{call:?}: {implementation:?}");
        }
    }
}
