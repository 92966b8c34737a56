//! Products with epilogues: bit for bit as the product followed by the Nest.

use super::*;
use workalike_device::LibraryOutput;

/// `y = tanh(product + bias)` and, in place, `w = w - rate * product` or `w = product - w`, over `(batch, m,
/// n)`. Operands: product, bias, y, w read, w written.
fn layer(dtype: DType, axes: [u64; 3]) -> Nest {
    let all = [0, 1, 2];
    let mut w = Writer::new(PhaseKind::Point);
    let product = w.load(0, &all);
    let bias = w.load(1, &[2]);
    let old = w.load(3, &all);
    let sum = w.op(ops::ADD, &[product, bias]);
    let tanh = w.op(ops::TANH, &[sum]);
    let rate = w.constant(dtype, 0.1);
    let step = w.op(ops::MUL, &[product, rate]);
    let new = w.op(ops::SUB, &[old, step]);
    w.store(2, &all, tanh);
    w.store(4, &all, new);
    let whole = |written| Operand::contiguous(dtype, &axes, written);
    let bias = Operand::contiguous(dtype, &axes[2..], false);
    nest(&axes, 3, vec![whole(false), bias, whole(true), whole(false), whole(true)], vec![w])
}

fn region(device: &HostDevice, bytes: &[u8]) -> Region {
    let region = Region::whole(device.allocate(bytes.len() as u64).unwrap());
    let region = Region { bytes: bytes.len() as u64, ..region };
    device.upload(bytes, &region).unwrap();
    region
}

/// The results `y` and `w`, with the epilogue or with a Nest after the product. `shifted`: `w` does not begin
/// at the start of its memory.
fn run(p: &Matmul, threads: usize, fused: bool, shifted: bool) -> [Vec<u8>; 2] {
    let device = HostDevice::new(threads);
    let size = p.dtype.size();
    let count = (p.batch * p.m * p.n) as usize;
    let factors = [p.batch * p.m * p.k, p.batch * p.k * p.n];
    let [a, b] = [0, 1].map(|i| region(&device, &random(p.dtype, factors[i] as usize, i as u64)));
    let bias = region(&device, &random(p.dtype, p.n as usize, 3));
    let first = if shifted { 64 / size } else { 0 };
    let old = random(p.dtype, count + first, 4);
    let [y, mut w] = [region(&device, &vec![1; count * size]), region(&device, &old)];
    w = Region { offset: (first * size) as u64, bytes: (count * size) as u64, ..w };
    let nest = verified(&layer(p.dtype, [p.batch, p.m, p.n]));
    let module = device.compile(std::slice::from_ref(&nest), Numerics::default()).unwrap();
    let rest = [bias, y.clone(), w.clone(), w.clone()];
    let product = |c| Command::library(p.clone(), [a.clone(), b.clone()], c);
    let commands = if fused && device.library(p, Some((&nest, 0))).is_some() {
        let args = [None].into_iter().chain(rest.map(Some)).collect();
        vec![product(LibraryOutput::Epilogue { nest, args })]
    } else {
        let c = region(&device, &vec![1; count * size]);
        let args = [c.clone()].into_iter().chain(rest).collect();
        vec![product(c.into()), Command::Launch { nest: 0, args }]
    };
    let mut recording = device.record(&module, &commands).unwrap();
    (0..2).for_each(|_| recording.replay().unwrap());
    [y, w].map(|region| {
        let mut out = vec![0; region.bytes as usize];
        device.download(&region, &mut out).unwrap();
        out
    })
}

fn check(p: &Matmul) {
    for shifted in [false, true] {
        let want = run(p, 1, false, shifted);
        for threads in [1, 2, 5] {
            let got = run(p, threads, true, shifted);
            assert!(got == want, "{threads} threads, shifted {shifted}: {p:?}");
        }
    }
}

/// All loops, and several blocks of k: blocks that wait, rows that are divided, rows of odd length.
#[test]
fn epilogues_agree_with_separate_steps() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        for [batch, m, n, k] in [
            [1, 1, 1, 1],
            [1, 5, 7, 3],
            [1, 1, 333, 50],
            [1, 333, 1, 50],
            [1, 784, 500, 20],
            [1, 20, 500, 784],
            [1, 300, 70, 500],
            [1, 7, 1501, 90],
            [1, 2001, 9, 33],
            [1, 3, 1000, 800],
            [7, 33, 17, 20],
            [3, 75, 101, 400],
        ] {
            for (ta, tb) in [(false, false), (false, true), (true, false)] {
                let (m_, n_, k_) = (m as i64, n as i64, k as i64);
                let a = if ta { [m_ * k_, 1, m_] } else { [m_ * k_, k_, 1] };
                let b = if tb { [k_ * n_, 1, k_] } else { [k_ * n_, n_, 1] };
                check(&Matmul { dtype, batch, m, n, k, a, b, fast: false });
            }
        }
    }
}

#[test]
fn sums_over_nothing_and_no_sums() {
    for dtype in [DType::F16, DType::F32, DType::F64] {
        let p = Matmul { dtype, batch: 2, m: 97, n: 71, k: 0, a: [0, 0, 1], b: [0, 71, 1], fast: false };
        check(&p);
        check(&Matmul { m: 0, k: 5, ..p.clone() });
        check(&Matmul { batch: 0, k: 5, ..p });
    }
}

#[test]
fn unsupported_epilogues_are_refused() {
    let dtype = DType::F32;
    let p = Matmul { dtype, batch: 1, m: 4, n: 4, k: 4, a: [0, 4, 1], b: [0, 4, 1], fast: false };
    let device = HostDevice::new(2);
    let memory = || region(&device, &[0; 64]);
    let (a, b, w) = (memory(), memory(), memory());
    let module = device.compile(&[], Numerics::default()).unwrap();
    let try_it = |nest: &Nest, args: Vec<Option<Region>>| {
        let c = LibraryOutput::Epilogue { nest: verified(nest), args };
        let command = Command::library(p.clone(), [a.clone(), b.clone()], c);
        device.record(&module, &[command]).map(drop).map_err(|e| e.to_string())
    };
    let good = layer(dtype, [1, 4, 4]);
    let args = |w: &Region| vec![None, Some(memory()), Some(memory()), Some(w.clone()), Some(w.clone())];
    try_it(&good, args(&w)).unwrap();
    let error = try_it(&good, args(&a)).unwrap_err();
    assert!(error.contains("no overlap with input 0"), "{error}");
    let error = try_it(&layer(dtype, [1, 4, 3]), args(&w)).unwrap_err();
    assert!(error.contains("12 points"), "{error}");
    for (nest, at) in [(&good, 2), (&layer(DType::F64, [1, 4, 2]), 0)] {
        let mut args = args(&w);
        args.swap(0, at);
        let error = try_it(nest, args).unwrap_err();
        assert!(error.contains("epilogue: expected"), "{error}");
    }
    // Points that visit memory by columns.
    let mut by_columns = good.clone();
    for operand in &mut by_columns.operands[1..] {
        operand.strides.reverse();
    }
    by_columns.operands[1] = Operand { shape: vec![4], strides: vec![0], ..by_columns.operands[1].clone() };
    let (by_columns, good) = (verified(&by_columns), verified(&good));
    assert!(device.library(&p, Some((&by_columns, 0))).is_none());
    assert!(device.library(&p, Some((&good, 0))).is_some());
    assert!(
        device.library(&Matmul { k: 4000, ..p.clone() }, Some((&good, 0))).is_none(),
        "what gains nothing"
    );
}
