//! Layouts, batches and addresses of plans.

use super::*;
use workalike_device::LibraryOp;
use workalike_device::command_check::operand_bytes;

/// Compares `(batch, m, k) @ (batch, k, n)` by definition with a column-major product by the plan, on small
/// integers.
fn check(product: Matmul) {
    let plan = plan(&product).unwrap_or_else(|| panic!("no plan for {product:?}"));
    let (m, n, k) = (product.m as i64, product.n as i64, product.k as i64);
    let fill = |seed: i64, span: u64| (0..span as i64).map(|i| (i * 7 + seed) % 11 - 5).collect::<Vec<i64>>();
    let bytes: Vec<u64> = product.operands().iter().map(operand_bytes).collect();
    let size = product.dtype.size() as u64;
    let (a, b) = (fill(1, bytes[0] / size), fill(2, bytes[1] / size));
    let (call, _) = plan.calls(MatmulAddresses::plain([0; 3])).next().unwrap();
    let [first, second, result] = call.layouts();
    // Element (row, column) of a column-major matrix, or of its transpose.
    let by_columns = |l: &MatrixLayout, transposed: bool, data: &[i64], batch: i64, row: i64, column: i64| {
        let (row, column) = if transposed { (column, row) } else { (row, column) };
        assert!(row < l.rows as i64 && column < l.columns as i64, "{product:?}: {l:?}");
        data[(batch * l.step + row + column * l.leading) as usize]
    };
    for z in 0..product.batch as i64 {
        for i in 0..m {
            for j in 0..n {
                let want: i64 = (0..k)
                    .map(|l| {
                        let left = a[(z * product.a[0] + i * product.a[1] + l * product.a[2]) as usize];
                        left * b[(z * product.b[0] + l * product.b[1] + j * product.b[2]) as usize]
                    })
                    .sum();
                let got: i64 = (0..k)
                    .map(|l| {
                        let left = by_columns(&first, call.b.transposed, &b, z, j, l);
                        left * by_columns(&second, call.a.transposed, &a, z, l, i)
                    })
                    .sum();
                assert_eq!(got, want, "{product:?} at {z} {i} {j}");
            }
        }
    }
    for l in [first, second] {
        assert!(l.leading >= l.rows as i64, "{product:?}: {l:?}");
    }
    assert_eq!(result, MatrixLayout { rows: n as u64, columns: m as u64, leading: n, step: m * n });
}

#[test]
fn every_layout_that_is_planned_is_right() {
    for (m, n, k) in [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 5), (1, 1, 1)] {
        let (mi, ni, ki) = (m as i64, n as i64, k as i64);
        for a in [[mi * ki, ki, 1], [mi * ki, 1, mi], [0, ki + 2, 1], [0, 1, mi + 3]] {
            for b in [[ki * ni, ni, 1], [ki * ni, 1, ki], [0, ni + 1, 1], [0, 1, ki + 4]] {
                for batch in [1, 3] {
                    check(Matmul { dtype: DType::F32, batch, m, n, k, a, b, fast: false });
                }
            }
        }
    }
}

#[test]
fn steps_of_extent_one_do_not_matter() {
    check(Matmul { dtype: DType::F32, batch: 1, m: 1, n: 3, k: 2, a: [9, 0, 1], b: [0, 3, 1], fast: false });
    check(Matmul { dtype: DType::F32, batch: 1, m: 2, n: 1, k: 2, a: [0, 2, 1], b: [0, 1, 0], fast: false });
    check(Matmul { dtype: DType::F32, batch: 1, m: 2, n: 1, k: 2, a: [0, 2, 1], b: [0, 5, 0], fast: false });
    check(Matmul { dtype: DType::F32, batch: 1, m: 2, n: 2, k: 1, a: [0, 7, 0], b: [0, 0, 1], fast: false });
}

#[test]
fn what_no_library_can_do_has_no_plan() {
    let good =
        Matmul { dtype: DType::F32, batch: 2, m: 2, n: 2, k: 2, a: [4, 2, 1], b: [4, 2, 1], fast: false };
    assert!(plan(&good).is_some());
    for bad in [
        Matmul { dtype: DType::I32, ..good.clone() },
        Matmul { k: 0, ..good.clone() },
        Matmul { batch: 0, ..good.clone() },
        Matmul { m: 1 << 31, ..good.clone() },
        Matmul { a: [4, 4, 2], ..good.clone() },
        Matmul { a: [4, 0, 1], ..good.clone() },
        Matmul { a: [4, -2, 1], ..good.clone() },
        Matmul { b: [-4, 2, 1], ..good.clone() },
        Matmul { b: [4, 1 << 31, 1], ..good.clone() },
    ] {
        assert_eq!(plan(&bad), None, "{bad:?}");
    }
}

#[test]
fn a_long_batch_is_several_calls() {
    let long = Matmul {
        dtype: DType::F16,
        batch: 70_000,
        m: 2,
        n: 3,
        k: 2,
        a: [4, 2, 1],
        b: [0, 3, 1],
        fast: false,
    };
    let calls: Vec<_> = plan(&long).unwrap().calls(MatmulAddresses::plain([1024, 2048, 4096])).collect();
    let counts: Vec<i32> = calls.iter().map(|(call, _)| call.count).collect();
    assert_eq!(counts, [65_535, 4465]);
    assert_eq!(calls[0].1, MatmulAddresses::plain([1024, 2048, 4096]));
    assert_eq!(calls[1].1, MatmulAddresses::plain([1024 + 65_535 * 8, 2048, 4096 + 65_535 * 12]));
    assert_eq!(calls[0].0.alignment, [256, 256, 256]);
    assert_eq!(calls[1].0.alignment, [8, 256, 4]);
    assert_eq!(calls[0].0.result_bytes(), 65_535 * 12);
}

#[test]
fn what_is_added_goes_along_with_the_result() {
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
    let plan = plan(&product).unwrap();
    let plain = MatmulAddresses::plain([1024, 2048, 1 << 20]);
    let calls = |at: MatmulAddresses| plan.calls(at).collect::<Vec<_>>();
    let apart = calls(MatmulAddresses { added: Some(4104), beta: 0.5, alpha: 2.0, ..plain });
    assert_eq!(apart[0].0.added, Some(Added::Apart(8)));
    assert_eq!(apart[1].1.added, Some(4104 + 65_535 * 24));
    assert_eq!((apart[1].1.alpha, apart[1].1.beta), (2.0, 0.5));
    let in_place = calls(MatmulAddresses { added: Some(1 << 20), beta: 0.5, ..plain });
    assert!(in_place.iter().all(|(call, at)| {
        call.added == Some(Added::InPlace) && at.added == Some(at.result) && call.bias.is_none()
    }));
    let biased = calls(MatmulAddresses { bias: Some(36), ..plain });
    assert!(biased.iter().all(|(call, at)| call.bias == Some(4) && at.bias == Some(36)));
    // What decides how a call is computed knows of all of it.
    let plain = calls(plain);
    for (other, _) in [&apart[0], &in_place[0], &biased[0]] {
        assert_ne!(*other, plain[0].0);
    }
    assert_eq!(
        calls(MatmulAddresses { alpha: 3.0, ..plain[0].1 })[0].0,
        plain[0].0,
        "numbers are no part of a way"
    );
}

#[test]
fn a_trial_writes_to_scratch_alone() {
    let at =
        MatmulAddresses { added: Some(3), bias: Some(5), beta: 1.0, ..MatmulAddresses::plain([1, 2, 3]) };
    let trial = at.into(9);
    assert_eq!((trial.result, trial.added, trial.bias), (9, Some(9), Some(5)));
    let apart = MatmulAddresses { added: Some(4), ..at };
    assert_eq!((apart.into(9).result, apart.into(9).added), (9, Some(4)));
}

#[test]
fn addresses_differ_only_where_it_can_matter() {
    assert_eq!([0, 512, 128, 48, 8, 6, 5].map(alignment), [256, 256, 16, 16, 8, 2, 1]);
}
