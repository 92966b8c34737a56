//! Invalid commands: arguments that do not fit are refused when a command is recorded, on every device of
//! this host. Indices computed from data reach no memory outside the operand.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::sync::Arc;
use workalike::DType;
use workalike::engine::device::{Command, Device, DeviceResult, LibraryOutput, Numerics, Region};
use workalike::error::DeviceError;
use workalike::kernels::Scalar;
use workalike::kernels::library::{Cumulate, LibraryNonZero, LibraryOp, Matmul, Scatter, Search, Sorting};
use workalike::kernels::nest::{Block, Fold, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use workalike::kernels::ops::ADD;
use workalike::kernels::verify::Verified;
use workalike_suite::devices;

/// Every device of this host, with its name.
fn each_device(test: impl Fn(&Arc<dyn Device>)) {
    let (devices, missing) = devices::all();
    for kind in missing {
        println!("without {}: {}", kind.kind, kind.why);
    }
    for tested in devices {
        println!("{}", tested.id);
        test(&tested.open().unwrap());
    }
}

fn region(device: &Arc<dyn Device>, bytes: u64) -> Region {
    Region::whole(device.allocate(bytes).unwrap())
}

fn part(whole: &Region, offset: u64, bytes: u64) -> Region {
    Region { memory: whole.memory.clone(), offset, bytes }
}

fn record(device: &Arc<dyn Device>, nests: &[Verified], command: Command) -> DeviceResult<()> {
    let module = device.compile(nests, Numerics::default())?;
    device.record(&module, &[command])?.replay()?;
    device.synchronize()
}

/// Asserts that the command is refused with an argument error that contains all of these words.
fn refused(device: &Arc<dyn Device>, nests: &[Verified], command: Command, words: &[&str]) {
    let shown = format!("{command:?}");
    let error = record(device, nests, command).expect_err(&shown);
    let text = error.to_string();
    assert!(matches!(error, DeviceError::Argument(_)), "{shown}: {text}");
    assert!(words.iter().all(|word| text.contains(word)), "{shown}: {text}");
}

/// Asserts that the op is refused, by an argument error or because the device lacks the op.
fn op_refused(device: &Arc<dyn Device>, op: impl LibraryOp, args: Vec<Region>, words: &[&str]) {
    let (valid, scratch) = (op.verify().is_ok(), device.library(&op, None));
    assert!(valid || scratch.is_none(), "{op:?}");
    let command = command(device, op, args);
    if valid && scratch.is_none() {
        let error = record(device, &[], command).unwrap_err();
        return assert!(
            matches!(error, DeviceError::Unsupported { .. } | DeviceError::Argument(_)),
            "{error}"
        );
    }
    refused(device, &[], command, words);
}

/// A command for the op on these operands, with scratch memory if the device needs it.
fn command(device: &Arc<dyn Device>, op: impl LibraryOp, mut args: Vec<Region>) -> Command {
    let scratch = device.library(&op, None).filter(|bytes| *bytes > 0).map(|bytes| region(device, bytes));
    let read = if op.verify().is_ok() { (&op as &dyn LibraryOp).inputs().len() } else { 1 };
    let outputs = args.split_off(read.min(args.len()));
    Command::Library { op: Arc::new(op), inputs: args, target: LibraryOutput::Memory(outputs), scratch }
}

fn nest(axes: Vec<u64>, operands: Vec<Operand>, insts: Vec<Inst>, store: Store) -> Nest {
    let kind = PhaseKind::Point;
    let phases = vec![Phase { kind, block: Block { insts }, folds: vec![], stores: vec![store] }];
    Nest { name: "test".into(), grid: axes.len(), axes, operands, phases }
}

fn store(operand: usize, index: Index, value: u32) -> Store {
    Store { operand, index: vec![index], value, when: None, add: false }
}

fn one() -> Inst {
    Inst::Const(Scalar::from_f64(DType::F32, 1.0))
}

fn verified(nest: Nest) -> Verified {
    Verified::new(nest).unwrap()
}

fn fill(n: u64) -> Verified {
    let operand = Operand::contiguous(DType::F32, &[n], true);
    verified(nest(vec![n], vec![operand], vec![one()], store(0, Index::axis(0), 0)))
}

/// `out[i] = table[index[i] + shift]` without a clamp; the operand is the first `extent` elements of `table`.
fn gather(n: u64, extent: u64, index: Index) -> Nest {
    let insts = vec![
        Inst::Load { operand: 0, index: vec![Index::axis(0)] },
        Inst::Load { operand: 1, index: vec![index] },
    ];
    let operands = vec![
        Operand::contiguous(DType::I64, &[n], false),
        Operand::contiguous(DType::F32, &[extent], false),
        Operand::contiguous(DType::F32, &[n], true),
    ];
    nest(vec![n], operands, insts, store(2, Index::axis(0), 1))
}

fn sorting(shape: [u64; 3], kept: u64) -> Sorting {
    Sorting { dtype: DType::I64, shape, kept, descending: false, values: true, indices: true, only: None }
}

#[test]
fn sizes_that_overflow() {
    each_device(|d| {
        let args = |n: usize| (0..n).map(|_| region(d, 8)).collect::<Vec<_>>();
        let search = |len, asked| Search { dtype: DType::F64, len, asked, right: false };
        op_refused(d, search(1 << 61, 1), args(3), &["len", "2305843009213693952"]);
        op_refused(d, search(1, 1 << 61), args(3), &["asked"]);
        let find = |len, kept| LibraryNonZero { dtype: DType::F64, len, kept, taken: None };
        op_refused(d, find(1 << 61, 8), args(3), &["len"]);
        op_refused(d, find(8, u64::MAX), args(3), &["kept"]);
        for shape in [[1 << 40, 1 << 40, 1], [0, u64::MAX, u64::MAX], [1 << 62, 1, 1]] {
            op_refused(d, sorting(shape, 1), args(3), &["shape"]);
            let fold =
                Cumulate { fold: Fold::Sum, dtype: DType::F32, from: DType::F32, shape, reverse: false };
            op_refused(d, fold, args(2), &["shape"]);
        }
        let rows = |rows, width| Scatter {
            dtype: DType::F32,
            fold: None,
            points: 4,
            rows,
            width,
            each_row: true,
            each_column: true,
        };
        op_refused(d, rows(1 << 32, 1 << 62), args(3), &["rows"]);
        op_refused(d, rows(0, 1), args(3), &["rows", "1..="]);
        let product = |batch, m, n, k| Matmul {
            dtype: DType::F32,
            batch,
            m,
            n,
            k,
            a: [0, k as i64, 1],
            b: [0, 1, 1],
            fast: false,
        };
        for p in [product(1 << 32, 1 << 32, 1, 1), product(0, u64::MAX, u64::MAX, 3)] {
            let [a, b, c] = [0; 3].map(|_| region(d, 64));
            refused(d, &[], Command::library(p, [a, b], c), &["matmul", "2^63"]);
        }
        for p in [product(1, 2, 2, 1 << 62), product(1, 2, 2, 1 << 40), product(1, 5, 4, 4)] {
            let [a, b, c] = [0; 3].map(|_| region(d, 64));
            let text = format!("{} bytes", 64);
            refused(d, &[], Command::library(p, [a, b], c), &["matmul", &text]);
        }
    });
}

#[test]
fn parameters_out_of_range() {
    each_device(|d| {
        let args = || vec![region(d, 32), region(d, 8 << 20), region(d, 8 << 20)];
        op_refused(d, sorting([1, 4, 1], 1 << 20), args(), &["kept", "at most 4", "1048576"]);
        for only in [vec![3, 2], vec![1, 1], vec![2, 4]] {
            let select = Sorting { only: Some(only), ..sorting([1, 4, 1], 4) };
            op_refused(d, select, args(), &["only", "below 4"]);
        }
        for (fold, dtype) in [(Fold::ArgMax, DType::F32), (Fold::Sum, DType::Bool)] {
            let fold = Cumulate { fold, dtype, from: dtype, shape: [1, 8, 1], reverse: false };
            op_refused(d, fold, args(), &["fold"]);
        }
        refused(d, &[fill(8)], Command::Launch { nest: 1, args: vec![region(d, 32)] }, &["one of 1 Nests"]);
        let few = Command::Launch { nest: 0, args: vec![] };
        refused(d, &[fill(8)], few, &["expected 1 regions, found 0"]);
    });
}

#[test]
fn regions_that_are_too_small_or_beyond_their_memory() {
    each_device(|d| {
        let launch = |args| Command::Launch { nest: 0, args };
        let small = region(d, 8);
        refused(d, &[fill(1 << 24)], launch(vec![small.clone()]), &["operand 0", "67108864", "8 bytes"]);
        refused(d, &[fill(4)], launch(vec![part(&small, 0, 16)]), &["a part of its memory"]);
        refused(d, &[fill(4)], launch(vec![part(&small, u64::MAX, 16)]), &["a part of its memory"]);
        refused(d, &[], Command::Clear { target: part(&small, 4, 8) }, &["clear", "target"]);
        let sort = sorting([1, 1000, 1], 1000);
        op_refused(d, sort, (0..3).map(|_| region(d, 64)).collect(), &["sort", "64 bytes"]);
    });
}

#[test]
fn regions_that_are_not_aligned() {
    each_device(|d| {
        let odd = part(&region(d, 16_000), 1, 15_000);
        let launch = Command::Launch { nest: 0, args: vec![odd.clone()] };
        refused(d, &[fill(4)], launch, &["operand 0", "byte 1"]);
        let whole = region(d, 16_000);
        let fold = Cumulate {
            fold: Fold::Sum,
            dtype: DType::I64,
            from: DType::I64,
            shape: [1, 1000, 1],
            reverse: false,
        };
        op_refused(d, fold, vec![odd.clone(), part(&whole, 0, 8000)], &["input 0", "byte 1"]);
        let search = Search { dtype: DType::F64, len: 1000, asked: 1000, right: false };
        let args = vec![whole.clone(), region(d, 8000), odd.clone()];
        op_refused(d, search, args, &["output 0", "byte 1"]);
        let p =
            Matmul { dtype: DType::F32, batch: 1, m: 2, n: 2, k: 2, a: [0, 2, 1], b: [0, 2, 1], fast: false };
        let command = Command::library(p, [odd, whole.clone()], region(d, 64));
        refused(d, &[], command, &["matmul: input 0", "multiple of 4"]);
    });
}

#[test]
fn results_that_overlap() {
    each_device(|d| {
        let whole = region(d, 16_384);
        let sort = Sorting { indices: false, ..sorting([1, 1000, 1], 1000) };
        let args = vec![whole.clone(), whole.clone()];
        op_refused(d, sort, args, &["what is stored", "no overlap with input 0"]);
        let (low, high) = (part(&whole, 0, 64), part(&whole, 32, 64));
        let copy = Command::Copy { source: low.clone(), target: high.clone() };
        refused(d, &[], copy, &["copy: target: expected no overlap with source"]);
        assert!(d.copy(&low, &high).is_err());
        let p =
            Matmul { dtype: DType::F32, batch: 1, m: 4, n: 4, k: 4, a: [0, 4, 1], b: [0, 4, 1], fast: false };
        let command = Command::library(p, [low, region(d, 64)], high);
        refused(d, &[], command, &["no overlap with input 0"]);
    });
}

#[test]
fn copies_of_other_sizes() {
    each_device(|d| {
        let whole = region(d, 64);
        let sizes = |error: DeviceError, words: &str| {
            assert!(error.to_string().contains(words), "{error}");
        };
        sizes(d.upload(&[0; 8], &part(&whole, 0, 9)).unwrap_err(), "upload: the region: expected 8 bytes");
        sizes(d.upload(&[0; 8], &part(&whole, 60, 8)).unwrap_err(), "a part of its memory of 64 bytes");
        sizes(d.download(&part(&whole, 0, 9), &mut [0; 8]).unwrap_err(), "download: the region");
        sizes(d.download(&part(&whole, u64::MAX, 8), &mut [0; 8]).unwrap_err(), "a part of its memory");
        sizes(d.copy(&part(&whole, 0, 8), &part(&whole, 32, 9)).unwrap_err(), "copy: target");
    });
}

#[test]
fn epilogues_that_do_not_fit() {
    each_device(|d| {
        let n = 16;
        let p =
            Matmul { dtype: DType::F32, batch: 1, m: 4, n: 4, k: 4, a: [0, 4, 1], b: [0, 4, 1], fast: false };
        let (a, b) = (region(d, 64), region(d, 64));
        let insts = vec![
            Inst::Load { operand: 0, index: vec![Index::axis(0)] },
            one(),
            Inst::Op { op: ADD, args: vec![0, 1] },
        ];
        let operands = |n| {
            vec![Operand::contiguous(DType::F32, &[n], false), Operand::contiguous(DType::F32, &[n], true)]
        };
        let add = |n| verified(nest(vec![n], operands(n), insts.clone(), store(1, Index::axis(0), 2)));
        let matmul = |nest: Verified, args: Vec<Option<Region>>| {
            let c = LibraryOutput::Epilogue { nest, args };
            Command::library(p.clone(), [a.clone(), b.clone()], c)
        };
        let out = region(d, 64);
        refused(d, &[], matmul(add(n), vec![None, Some(a.clone())]), &["no overlap with input 0"]);
        refused(d, &[], matmul(add(n), vec![None, Some(part(&out, 0, 60))]), &["operand 1", "64 bytes"]);
        refused(d, &[], matmul(add(n), vec![Some(out.clone()), None]), &["epilogue"]);
        refused(d, &[], matmul(add(n), vec![None]), &["2 regions"]);
        refused(d, &[], matmul(add(8), vec![None, Some(out)]), &["16 elements", "8 points"]);
    });
}

/// Devices accept only [`Verified`] Nests, so no device is needed.
#[test]
fn nests_that_are_not_well_formed() {
    let refused = |change: &dyn Fn(&mut Nest)| {
        let mut nest = (*fill(16)).clone();
        change(&mut nest);
        let error = Verified::new(nest).expect_err("malformed");
        assert!(error.to_string().contains("`test`"), "{error}");
    };
    refused(&|nest| nest.grid = 2);
    refused(&|nest| nest.operands[0].strides = vec![]);
    refused(&|nest| nest.operands[0].strides = vec![-1]);
    refused(&|nest| nest.operands[0].strides = vec![i64::MAX]);
    refused(&|nest| nest.operands[0].written = false);
    refused(&|nest| nest.operands[0].shape = vec![15]);
    refused(&|nest| nest.axes = vec![u64::MAX]);
    refused(&|nest| nest.phases[0].stores[0].value = 1);
    refused(&|nest| nest.phases[0].stores[0].operand = 1);
    let empty = gather(16, 0, Index { dynamic: Some(0), ..Index::default() });
    let error = Verified::new(empty).expect_err("an index into nothing");
    assert!(error.to_string().contains("empty"), "{error}");
}

/// Indices far outside of a table, read and written through: every access is within the table.
#[test]
fn computed_indices_stay_within_their_operand() {
    each_device(|d| {
        let n = 64u64;
        let far: Vec<u8> = (0..n as i64).flat_map(|i| ((i - 9) * 4_000_000_000).to_le_bytes()).collect();
        let index = region(d, 8 * n);
        d.upload(&far, &index).unwrap();
        let shifted = Index { offset: 1, terms: vec![(0, 3)], dynamic: Some(0) };
        for computed in [Index { dynamic: Some(0), ..Index::default() }, shifted] {
            let (table, out) = (region(d, 16), region(d, 4 * n));
            let values: Vec<u8> = (1..5).flat_map(|i| (i as f32).to_le_bytes()).collect();
            d.upload(&values, &table).unwrap();
            let args = vec![index.clone(), table, out.clone()];
            let gather = verified(gather(n, 4, computed));
            record(d, &[gather], Command::Launch { nest: 0, args }).unwrap();
            let mut bytes = vec![0; 4 * n as usize];
            d.download(&out, &mut bytes).unwrap();
            let read = bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
            assert!(read.into_iter().all(|x| [1.0, 2.0, 3.0, 4.0].contains(&x)));
        }
        // The table is the middle part of a memory; the memory around it must not change.
        let alignment = d.properties().alignment;
        let memory = region(d, 3 * alignment);
        d.upload(&vec![7; 3 * alignment as usize], &memory).unwrap();
        let insts = vec![Inst::Load { operand: 0, index: vec![Index::axis(0)] }, one()];
        let operands =
            vec![Operand::contiguous(DType::I64, &[n], false), Operand::contiguous(DType::F32, &[4], true)];
        let computed = Index { dynamic: Some(0), ..Index::default() };
        let scatter = verified(nest(vec![n], operands, insts, store(1, computed, 1)));
        let args = vec![index, part(&memory, alignment, 16)];
        record(d, &[scatter], Command::Launch { nest: 0, args }).unwrap();
        let mut bytes = vec![0; 3 * alignment as usize];
        d.download(&memory, &mut bytes).unwrap();
        let (before, rest) = bytes.split_at(alignment as usize);
        assert!(before.iter().chain(&rest[16..]).all(|byte| *byte == 7));
    });
}

/// Positions beyond the table of a scatter, on devices with a library op for it.
#[test]
fn scattered_positions_stay_within_the_table() {
    each_device(|d| {
        for fold in [None, Some(Fold::Sum)] {
            let (points, rows, width) = (1000, 4, 8);
            let scatter =
                Scatter { dtype: DType::F32, fold, points, rows, width, each_row: true, each_column: true };
            if d.library(&scatter, None).is_none() {
                continue;
            }
            let alignment = d.properties().alignment;
            let (positions, moved) = (region(d, 4 * points), region(d, 4 * points * width));
            let far: Vec<u8> = (0..points as u32).flat_map(|i| (i * 4_000_000).to_le_bytes()).collect();
            d.upload(&far, &positions).unwrap();
            d.upload(&vec![0; (4 * points * width) as usize], &moved).unwrap();
            let memory = region(d, 3 * alignment);
            d.upload(&vec![7; 3 * alignment as usize], &memory).unwrap();
            let args = vec![positions, moved, part(&memory, alignment, 4 * rows * width)];
            record(d, &[], command(d, scatter, args)).unwrap();
            let mut bytes = vec![0; 3 * alignment as usize];
            d.download(&memory, &mut bytes).unwrap();
            let (before, rest) = bytes.split_at(alignment as usize);
            assert!(before.iter().chain(&rest[(4 * rows * width) as usize..]).all(|byte| *byte == 7));
        }
    });
}

/// A value that the same thread lends and writes would be a deadlock.
#[test]
fn memory_lent_by_this_thread_cannot_be_written() {
    each_device(|d| {
        let memory = region(d, 64);
        d.upload(&[1; 64], &memory).unwrap();
        let module = d.compile(&[], Numerics::default()).unwrap();
        let mut clear = d.record(&module, &[Command::Clear { target: memory.clone() }]).unwrap();
        let Some(lent) = d.lend(&memory) else { return };
        let error = d.upload(&[2; 64], &memory).unwrap_err().to_string();
        assert!(error.contains("is lent"), "{error}");
        assert!(clear.replay().is_err());
        assert_eq!(lent.bytes(), [1; 64]);
        drop(lent);
        d.upload(&[2; 64], &memory).unwrap();
        clear.replay().unwrap();
    });
}
