//! A small benchmark: `cargo test --release -- --ignored --nocapture host`. And basic uses of recordings.

use super::nests::softmax;
use super::*;
use std::time::Instant;

fn regions(device: &Arc<dyn Device>, sizes: &[u64]) -> Vec<Region> {
    sizes.iter().map(|s| Region::whole(device.allocate(*s).unwrap())).collect()
}

/// Microseconds of a replay, the minimum of many.
fn time(device: &Arc<dyn Device>, nest: &Nest) -> f64 {
    let sizes: Vec<u64> =
        nest.operands.iter().map(|o| o.shape.iter().product::<u64>() * o.dtype.size() as u64).collect();
    let args = regions(device, &sizes);
    for (region, operand) in args.iter().zip(&nest.operands) {
        let count = (region.bytes as usize) / operand.dtype.size();
        device.upload(&random(operand.dtype, count, 1), region).unwrap();
    }
    let module = device.compile(&[verified(nest)], Numerics::default()).unwrap();
    let mut recording = device.record(&module, &[Command::Launch { nest: 0, args }]).unwrap();
    let mut best = f64::INFINITY;
    let start = Instant::now();
    while start.elapsed().as_millis() < 300 {
        let start = Instant::now();
        recording.replay().unwrap();
        best = best.min(start.elapsed().as_secs_f64() * 1e6);
    }
    best
}

fn fused(count: u64) -> Nest {
    let mut w = Writer::new(PhaseKind::Point);
    let [a, b, c] = [0, 1, 2].map(|o| w.load(o, &[0]));
    let v = w.op(ops::MUL, &[a, b]);
    let v = w.op(ops::ADD, &[v, c]);
    let v = w.op(ops::MUL, &[v, a]);
    let v = w.op(ops::SUB, &[v, b]);
    w.store(3, &[0], v);
    let operands =
        [false, false, false, true].map(|written| Operand::contiguous(DType::F32, &[count], written));
    nest(&[count], 1, operands.into(), vec![w])
}

fn sum(shape: [u64; 2], axis: usize) -> Nest {
    let axes = [shape[1 - axis], shape[axis]];
    let mut w = Writer::new(PhaseKind::Reduce);
    let v = w.load(0, if axis == 1 { &[0, 1] } else { &[1, 0] });
    w.fold(Fold::Sum, v, None);
    let mut end = Writer::new(PhaseKind::Point);
    let v = end.inst(Inst::Folded { phase: 0, fold: 0 });
    end.store(1, &[0], v);
    let operands = vec![
        Operand::contiguous(DType::F32, &shape, false),
        Operand::contiguous(DType::F32, &axes[..1], true),
    ];
    nest(&axes, 1, operands, vec![w, end])
}

/// The squared distances of all pairs of rows of two transposed matrices.
fn distances(count: u64, others: u64, inner: u64) -> Nest {
    let mut reduce = Writer::new(PhaseKind::Reduce);
    let [x, y] = [0, 1].map(|at| reduce.load(at, &[2, at]));
    let apart = reduce.op(ops::SUB, &[x, y]);
    let square = reduce.op(ops::SQR, &[apart]);
    reduce.fold(Fold::Sum, square, None);
    let mut end = Writer::new(PhaseKind::Point);
    let v = end.inst(Inst::Folded { phase: 0, fold: 0 });
    end.store(2, &[0, 1], v);
    let operands = vec![
        Operand::contiguous(DType::F32, &[inner, count], false),
        Operand::contiguous(DType::F32, &[inner, others], false),
        Operand::contiguous(DType::F32, &[count, others], true),
    ];
    nest(&[count, others, inner], 2, operands, vec![reduce, end])
}

fn scalar() -> Nest {
    let mut w = Writer::new(PhaseKind::Point);
    let v = w.load(0, &[]);
    let one = w.constant(DType::F32, 1.0);
    let v = w.op(ops::ADD, &[v, one]);
    w.store(0, &[], v);
    nest(&[], 0, vec![Operand::contiguous(DType::F32, &[], true)], vec![w])
}

#[test]
#[ignore = "a benchmark"]
fn speed() {
    for threads in [1, 2] {
        let device = Host::threads(threads).open().unwrap();
        let show =
            |what: &str, nest: &Nest| println!("{threads} threads, {what}: {:.2} us", time(&device, nest));
        show("one scalar", &scalar());
        show("fused, 16 Ki", &fused(1 << 14));
        show("fused, 4 Mi", &fused(1 << 22));
        show("sum of 4 Mi", &sum([1, 1 << 22], 1));
        show("sum of rows, 2048 x 2048", &sum([2048, 2048], 1));
        show("sum of columns, 2048 x 2048", &sum([2048, 2048], 0));
        show("sum of short rows, 100000 x 10", &sum([100_000, 10], 1));
        show("distances, 1024 x 2048 x 64", &distances(1024, 2048, 64));
        show("distances, 2048 x 1024 x 64", &distances(2048, 1024, 64));
        show("distances, 8192 x 2048 x 8", &distances(8192, 2048, 8));
        show("softmax, 2048 x 2048", &softmax(2048, 2048, DType::F32));
        show("softmax, 10000 x 10", &softmax(10_000, 10, DType::F32));
    }
}

#[test]
fn recordings_repeat_and_run_steps_in_order() {
    let device = Host::threads(2).open().unwrap();
    let args = regions(&device, &[4, 4, 3 << 20, 3 << 20]);
    device.upload(&0f32.to_le_bytes(), &args[0]).unwrap();
    device.upload(&vec![5; 3 << 20], &args[2]).unwrap();
    let module = device.compile(&[verified(&scalar())], Numerics::default()).unwrap();
    let launch = Command::Launch { nest: 0, args: vec![args[0].clone()] };
    let commands = [
        launch.clone(),
        Command::Copy { source: args[0].clone(), target: args[1].clone() },
        launch,
        Command::Copy { source: args[2].clone(), target: args[3].clone() },
        Command::Clear { target: args[2].clone() },
    ];
    let mut recording = device.record(&module, &commands).unwrap();
    for round in 1..=3 {
        recording.replay().unwrap();
        let mut now = [[0; 4]; 2];
        device.download(&args[0], &mut now[0]).unwrap();
        device.download(&args[1], &mut now[1]).unwrap();
        assert_eq!(now.map(f32::from_le_bytes), [2.0 * round as f32, 2.0 * round as f32 - 1.0]);
        let mut large = vec![1; 3 << 20];
        device.download(&args[3], &mut large).unwrap();
        assert!(large.iter().all(|b| *b == if round == 1 { 5 } else { 0 }));
    }
    device.synchronize().unwrap();
    assert!(device.upload(&[0; 3], &args[0]).is_err());
    let over = Region { offset: 1, ..args[2].clone() };
    assert!(device.copy(&args[2], &over).is_err());
}

#[test]
fn properties_describe_the_machine() {
    let device = Host::threads(3).open().unwrap();
    let p = device.properties();
    assert_eq!((p.id.as_str(), p.units, p.f64, p.alignment), ("host", 3, true, 64));
    assert!(matches!(device.allocate(u64::MAX), Err(DeviceError::OutOfMemory { .. })));
    assert_eq!(Host::threads(0), Host::threads(1));
}
