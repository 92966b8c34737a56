//! Nests, compiled and run through the Device trait.
#![allow(clippy::unwrap_used)] // nothing here but tests

mod common;

use common::{device, downloaded, region, uploaded};
use workalike::dtype::DType;
use workalike::engine::device::{Command, Matmul, Numerics, Region};
use workalike::error::DeviceError;
use workalike::kernels::Scalar;
use workalike::kernels::nest::{Block, Fold, FoldOf, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use workalike::kernels::ops::{ADD, MUL, SQR};
use workalike::kernels::verify::Verified;

fn load(operand: usize, axes: &[usize]) -> Inst {
    Inst::Load { operand, index: axes.iter().map(|&a| Index::axis(a)).collect() }
}

fn store(operand: usize, axes: &[usize], value: u32) -> Store {
    Store { operand, index: axes.iter().map(|&a| Index::axis(a)).collect(), value, when: None, add: false }
}

fn vector(n: u64, written: bool) -> Operand {
    Operand::contiguous(DType::F32, &[n], written)
}

/// `c = a * b + 1`.
fn multiply_add(n: u64) -> Verified {
    let mut block = Block::default();
    let a = block.push(load(0, &[0]));
    let b = block.push(load(1, &[0]));
    let product = block.push(Inst::Op { op: MUL, args: vec![a, b] });
    let one = block.push(Inst::Const(Scalar::from_f64(DType::F32, 1.0)));
    let sum = block.push(Inst::Op { op: ADD, args: vec![product, one] });
    Verified::new(Nest {
        name: "multiply_add".into(),
        axes: vec![n],
        grid: 1,
        operands: vec![vector(n, false), vector(n, false), vector(n, true)],
        phases: vec![Phase {
            kind: PhaseKind::Point,
            block,
            folds: vec![],
            stores: vec![store(2, &[0], sum)],
        }],
    })
    .unwrap()
}

/// `a = a * a`, in place: one operand, loaded and stored.
fn square(n: u64) -> Verified {
    let mut block = Block::default();
    let a = block.push(load(0, &[0]));
    let squared = block.push(Inst::Op { op: SQR, args: vec![a] });
    Verified::new(Nest {
        name: "square".into(),
        axes: vec![n],
        grid: 1,
        operands: vec![vector(n, true)],
        phases: vec![Phase {
            kind: PhaseKind::Point,
            block,
            folds: vec![],
            stores: vec![store(0, &[0], squared)],
        }],
    })
    .unwrap()
}

/// `b[i] = sum(a[i, :])`.
fn row_sums(rows: u64, columns: u64) -> Verified {
    let mut block = Block::default();
    let value = block.push(load(0, &[0, 1]));
    let folds = vec![FoldOf { fold: Fold::Sum, value, index: None }];
    let reduce = Phase { kind: PhaseKind::Reduce, block, folds, stores: vec![] };
    let mut block = Block::default();
    let total = block.push(Inst::Folded { phase: 0, fold: 0 });
    let point = Phase { kind: PhaseKind::Point, block, folds: vec![], stores: vec![store(1, &[0], total)] };
    Verified::new(Nest {
        name: "row_sums".into(),
        axes: vec![rows, columns],
        grid: 1,
        operands: vec![Operand::contiguous(DType::F32, &[rows, columns], false), vector(rows, true)],
        phases: vec![reduce, point],
    })
    .unwrap()
}

#[test]
fn elementwise() {
    let Some(device) = device() else { return };
    // Sums and products of small integers are exact.
    for n in [1u64, 7, 1000, 70_001] {
        let a: Vec<f32> = (0..n).map(|i| (i % 100) as f32).collect();
        let b: Vec<f32> = (0..n).map(|i| (i % 13) as f32 - 6.0).collect();
        let module = device.compile(&[multiply_add(n)], Numerics::default()).unwrap();
        assert!(module.source().contains("kernel"), "{}", module.source());
        let (a_there, b_there) = (uploaded(&*device, &a), uploaded(&*device, &b));
        let c = Region::whole(device.allocate(4 * n).unwrap());
        let launch = Command::Launch { nest: 0, args: vec![a_there, b_there, c.clone()] };
        let mut recording = device.record(&module, &[launch]).unwrap();
        recording.replay().unwrap();
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a * b + 1.0).collect();
        assert_eq!(downloaded(&*device, &c), expected);
    }
}

#[test]
fn reduction() {
    let Some(device) = device() else { return };
    for (rows, columns) in [(1u64, 10_000u64), (37, 129), (5000, 3), (4, 0)] {
        let a: Vec<f32> = (0..rows * columns).map(|i| (i % 17) as f32 - 8.0).collect();
        let module = device.compile(&[row_sums(rows, columns)], Numerics::default()).unwrap();
        let a_there = match a.is_empty() {
            true => region(&device.allocate(1).unwrap(), 0, 0),
            false => uploaded(&*device, &a),
        };
        let b = uploaded(&*device, &vec![1e9; rows as usize]);
        let launch = Command::Launch { nest: 0, args: vec![a_there, b.clone()] };
        device.record(&module, &[launch]).unwrap().replay().unwrap();
        let row = |r: u64| a[(r * columns) as usize..((r + 1) * columns) as usize].iter().sum::<f32>();
        assert_eq!(downloaded(&*device, &b), (0..rows).map(row).collect::<Vec<f32>>(), "{rows} x {columns}");
    }
}

#[test]
fn regions_of_one_memory_in_place_and_replayed() {
    let Some(device) = device() else { return };
    let n = 100u64;
    let step = device.properties().alignment.max(4 * n).next_multiple_of(device.properties().alignment);
    let arena = device.allocate(3 * step).unwrap();
    let part = |i: u64| region(&arena, i * step, 4 * n);
    let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
    let values: Vec<f32> = (0..n).map(|i| (i % 3) as f32).collect();
    device.upload(&bytes(&values), &part(1)).unwrap();
    device.upload(&bytes(&values), &part(2)).unwrap();
    let module = device.compile(&[multiply_add(n), square(n)], Numerics::default()).unwrap();
    let mut recording = device
        .record(
            &module,
            &[
                Command::Launch { nest: 1, args: vec![part(1)] },
                // The result is stored over the second factor.
                Command::Launch { nest: 0, args: vec![part(1), part(2), part(2)] },
                Command::Copy { source: part(2), target: part(0) },
            ],
        )
        .unwrap();
    let (mut a, mut b) = (values.clone(), values);
    for _ in 0..3 {
        recording.replay().unwrap();
        a.iter_mut().for_each(|a| *a *= *a);
        b.iter_mut().zip(&a).for_each(|(b, a)| *b = a * *b + 1.0);
    }
    // The recording keeps its memory and module alive, and enqueued work outlives the recording.
    drop((module, recording));
    assert_eq!(downloaded(&*device, &part(0)), b);
    assert_eq!(downloaded(&*device, &part(1)), a);
}

#[test]
fn an_empty_grid_is_not_launched() {
    let Some(device) = device() else { return };
    let module = device.compile(&[square(0)], Numerics::default()).unwrap();
    let nothing = region(&device.allocate(1).unwrap(), 0, 0);
    device.record(&module, &[Command::Launch { nest: 0, args: vec![nothing] }]).unwrap().replay().unwrap();
    device.synchronize().unwrap();
}

#[test]
fn wrong_bindings_are_errors() {
    let Some(device) = device() else { return };
    let module = device.compile(&[square(64)], Numerics::default()).unwrap();
    let a = uploaded(&*device, &[0.0; 64]);
    let bad = [
        Command::Launch { nest: 1, args: vec![a.clone()] },
        Command::Launch { nest: 0, args: vec![] },
        Command::Launch { nest: 0, args: vec![a.clone(), a.clone()] },
        Command::Launch { nest: 0, args: vec![region(&a.memory, 4, 64)] }, // not aligned
    ];
    for command in bad {
        let error = device.record(&module, std::slice::from_ref(&command)).unwrap_err();
        assert!(
            matches!(error, DeviceError::Driver { .. } | DeviceError::Argument(_)),
            "{command:?}: {error}"
        );
    }
    let product = Matmul { dtype: DType::F32, batch: 1, m: 1, n: 1, k: 1, a: [1; 3], b: [1; 3], fast: false };
    assert!(device.library(&product, None).is_none());
    let c = uploaded(&*device, &[0.0; 64]);
    let command = Command::library(product, [a.clone(), a], c);
    assert!(matches!(device.record(&module, &[command]), Err(DeviceError::Unsupported { .. })));
}
