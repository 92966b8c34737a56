//! Products of every dtype and layout.

use super::*;

fn product(p: &Matmul, a: &[u8], b: &[u8], threads: usize) -> DeviceResult<Vec<u8>> {
    let device = Host::threads(threads).open()?;
    assert!(device.library(p, None).is_some());
    let mut out = vec![1; (p.batch * p.m * p.n) as usize * p.dtype.size()];
    let mut regions = Vec::new();
    for source in [a, b, &out] {
        let memory = device.allocate(source.len() as u64)?;
        let region = Region { memory, offset: 0, bytes: source.len() as u64 };
        device.upload(source, &region)?;
        regions.push(region);
    }
    let [a, b, c] = [0, 1, 2].map(|i: usize| regions[i].clone());
    let module = device.compile(&[], Numerics::default())?;
    device.record(&module, &[Command::library(p.clone(), [a, b], c.clone())])?.replay()?;
    device.download(&c, &mut out)?;
    Ok(out)
}

fn check(p: &Matmul) {
    let (batch_a, batch_b) = (if p.a[0] == 0 { 1 } else { p.batch }, if p.b[0] == 0 { 1 } else { p.batch });
    let a = random(p.dtype, (batch_a * p.m * p.k) as usize, 1);
    let b = random(p.dtype, (batch_b * p.k * p.n) as usize, 2);
    let out = product(p, &a, &b, 1).unwrap();
    for threads in [2, 5] {
        assert!(out == product(p, &a, &b, threads).unwrap(), "{threads} threads change {p:?}");
    }
    let (x, y, z) = (numbers(p.dtype, &a), numbers(p.dtype, &b), numbers(p.dtype, &out));
    let eps = if p.dtype == DType::F64 { f64::EPSILON } else { f32::EPSILON as f64 };
    let rounding = match p.dtype {
        DType::F16 => 1.0 / 2048.0,
        DType::BF16 => 1.0 / 256.0,
        _ => 0.0,
    };
    let at =
        |s: [i64; 3], i: u64, j: u64, k: u64| (s[0] * i as i64 + s[1] * j as i64 + s[2] * k as i64) as usize;
    for batch in 0..p.batch {
        for i in 0..p.m {
            for j in 0..p.n {
                let terms = (0..p.k).map(|k| x[at(p.a, batch, i, k)] * y[at(p.b, batch, k, j)]);
                let (want, size) = terms.fold((0.0, 0.0), |(s, t), v: f64| (s + v, t + v.abs()));
                let got = z[((batch * p.m + i) * p.n + j) as usize];
                let bound = p.k as f64 * eps * size + rounding * want.abs() + 1e-7;
                assert!((got - want).abs() <= bound, "{got} is not {want} in {p:?}");
            }
        }
    }
}

#[test]
fn every_dtype_layout_and_batch() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        for [batch, m, n, k] in [
            [1, 1, 1, 1],
            [1, 5, 7, 3],
            [1, 70, 90, 80],
            [6, 33, 17, 20],
            [40, 20, 20, 20],
            [3, 75, 100, 81],
            [2, 20, 130, 300],
            [1, 1, 300, 200],
            [1, 300, 1, 200],
        ] {
            for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
                let (m_, n_, k_) = (m as i64, n as i64, k as i64);
                let a = if ta { [m_ * k_, 1, m_] } else { [m_ * k_, k_, 1] };
                let b = if tb { [k_ * n_, 1, k_] } else { [k_ * n_, n_, 1] };
                check(&Matmul { dtype, batch, m, n, k, a, b, fast: false });
                check(&Matmul { dtype, batch, m, n, k, a: [0, a[1], a[2]], b, fast: false });
            }
        }
    }
}

#[test]
fn empty_products() {
    let p = Matmul { dtype: DType::F32, batch: 1, m: 2, n: 3, k: 0, a: [0, 0, 1], b: [0, 3, 1], fast: false };
    assert_eq!(product(&p, &[], &[], 2).unwrap(), vec![0; 24]);
    let p = Matmul { m: 0, k: 5, ..p };
    assert_eq!(product(&p, &[], &[0; 60], 2).unwrap(), vec![]);
}

#[test]
fn factors_that_do_not_fit_are_refused() {
    let p = Matmul { dtype: DType::F32, batch: 1, m: 4, n: 4, k: 4, a: [0, 4, 1], b: [0, 4, 1], fast: false };
    assert!(product(&p, &[0; 64], &[0; 64], 1).is_ok());
    assert!(product(&p, &[0; 60], &[0; 64], 1).is_err());
    assert!(product(&Matmul { b: [0, -4, 1], ..p.clone() }, &[0; 64], &[0; 64], 1).is_err());
    assert!(product(&Matmul { a: [0, i64::MAX, 1], ..p.clone() }, &[0; 64], &[0; 64], 1).is_err());
}

#[test]
fn halves_accumulate_in_f32() {
    // In f16, 2048 + 1 is 2048: a sum of ones would stop there.
    let p = Matmul {
        dtype: DType::F16,
        batch: 1,
        m: 1,
        n: 1,
        k: 5000,
        a: [0, 5000, 1],
        b: [0, 1, 1],
        fast: false,
    };
    let ones = bytes(DType::F16, &vec![1.0; 5000]);
    assert_eq!(numbers(DType::F16, &product(&p, &ones, &ones, 1).unwrap()), [5000.0]);
}

/// `cargo test --release -p workalike --lib products_speed -- --ignored --nocapture`: GFLOP/s, the best of
/// many runs.
#[test]
#[ignore = "a benchmark"]
fn products_speed() {
    let shapes: [([u64; 3], bool, bool); 21] = [
        ([20, 500, 784], false, false),
        ([784, 500, 20], true, false),
        ([20, 10, 500], false, false),
        ([500, 10, 20], true, false),
        ([20, 500, 10], false, true),
        ([20, 784, 500], false, true),
        ([32, 256, 256], false, false),
        ([31, 250, 250], false, false),
        ([512, 500, 784], false, false),
        ([509, 500, 784], false, false),
        ([784, 500, 512], true, false),
        ([784, 500, 509], true, false),
        ([512, 10, 500], false, false),
        ([512, 500, 500], false, true),
        ([1, 1000, 1000], false, false),
        ([1000, 1, 1000], false, false),
        ([64, 64, 64], false, false),
        ([256, 256, 256], false, false),
        ([517, 517, 517], false, false),
        ([1024, 1024, 1024], false, false),
        ([2047, 2047, 2047], false, false),
    ];
    for ([m, n, k], ta, tb) in shapes {
        print!("{m}x{k}x{n}{}{}:", if ta { " a'" } else { "" }, if tb { " b'" } else { "" });
        for (dtype, threads) in [(DType::F32, 1), (DType::F32, 2), (DType::F64, 1), (DType::F64, 2)] {
            let a = if ta { [0, 1, m as i64] } else { [0, k as i64, 1] };
            let b = if tb { [0, 1, k as i64] } else { [0, n as i64, 1] };
            let product = Matmul { dtype, batch: 1, m, n, k, a, b, fast: false };
            let device = Host::threads(threads).open().unwrap();
            let [a, b, c] = [m * k, k * n, m * n].map(|count| {
                let memory = device.allocate(count * dtype.size() as u64).unwrap();
                let region = Region { memory, offset: 0, bytes: count * dtype.size() as u64 };
                device.upload(&random(dtype, count as usize, 1), &region).unwrap();
                region
            });
            let module = device.compile(&[], Numerics::default()).unwrap();
            let mut recording = device.record(&module, &[Command::library(product, [a, b], c)]).unwrap();
            let mut best = f64::INFINITY;
            let start = std::time::Instant::now();
            while start.elapsed().as_millis() < 80 {
                let start = std::time::Instant::now();
                recording.replay().unwrap();
                best = best.min(start.elapsed().as_secs_f64());
            }
            print!(
                " {dtype}/{threads} {:.1} us {:.0} GFLOP/s;",
                best * 1e6,
                2e-9 * (m * n * k) as f64 / best
            );
        }
        println!();
    }
}

/// Integers wrap in any layout, also in products that `takes` refuses.
#[test]
fn integers_wrap() {
    let host = Host::threads(1).open().unwrap();
    let mut refused = 0;
    for dtype in [DType::I8, DType::U8, DType::I16, DType::I32, DType::U32, DType::I64, DType::U64] {
        for [batch, m, n, k] in
            [[1, 1, 1, 1], [1, 5, 7, 3], [2, 1, 9, 30], [2, 9, 1, 30], [3, 33, 70, 18], [1, 90, 130, 101]]
        {
            for layout in 0..4i64 {
                let [m_, n_, k_] = [m, n, k].map(|e: u64| e as i64);
                let a = if layout & 1 == 0 { [m_ * k_, k_, 1] } else { [m_ * k_, 1, m_] };
                let b = if layout & 2 == 0 { [k_ * n_, n_, 1] } else { [k_ * n_, 1, k_] };
                let p = Matmul { dtype, batch, m, n, k, a, b, fast: false };
                if host.library(&p, None).is_none() {
                    refused += 1;
                    continue;
                }
                let [x, y] =
                    [random(dtype, (batch * m * k) as usize, 1), random(dtype, (batch * k * n) as usize, 2)];
                let out = product(&p, &x, &y, 1).unwrap();
                assert!(out == product(&p, &x, &y, 3).unwrap(), "threads change {p:?}");
                let whole = |bytes: &[u8]| -> Vec<i128> {
                    let all = bytes
                        .chunks(dtype.size())
                        .map(|c| Scalar::from_le_bytes(dtype, c).unwrap().to_i128());
                    all.collect()
                };
                let (x, y, z) = (whole(&x), whole(&y), whole(&out));
                assert_eq!(z.len() as u64, batch * m * n);
                for (at, got) in z.into_iter().enumerate() {
                    let [i, j, of] = [at as i64 / n_ % m_, at as i64 % n_, at as i64 / n_ / m_];
                    let term = |p: i64| {
                        x[(of * a[0] + i * a[1] + p * a[2]) as usize]
                            * y[(of * b[0] + p * b[1] + j * b[2]) as usize]
                    };
                    let want = Scalar::from_i128(dtype, (0..k_).map(term).sum()).to_i128();
                    assert_eq!(got, want, "element {at} of {p:?}");
                }
            }
        }
    }
    assert!(refused > 0, "both factors' columns contiguous");
}
