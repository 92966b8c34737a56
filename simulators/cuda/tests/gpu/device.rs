//! Nests, recordings, memory and threads of the device, against loops on the host.

pub(crate) mod matmul;
pub(crate) mod transfers;

use crate::{Test, open, tests};
use std::sync::Arc;
use workalike::dtype::DType;
use workalike::engine::Open;
use workalike::engine::device::{Command, Device, Matmul, Numerics, Region};
use workalike::error::DeviceError;
use workalike::kernels::Scalar;
use workalike::kernels::nest::{Block, Fold, FoldOf, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use workalike::kernels::ops::{ADD, MUL, ScalarOp};
use workalike::kernels::verify::Verified;
use workalike_cuda::Cuda;

/// Tests of this file, for any CUDA device.
pub(crate) const TESTS: &[Test] = tests![
    properties_are_filled_in,
    wrong_sizes_and_foreign_memory_are_errors,
    an_elementwise_nest,
    a_reduction_nest,
    in_place_a_hundred_times_and_across_recordings,
    recording_has_no_effect_and_keeps_its_memory,
    copies_and_clears_within_a_recording,
    too_much_memory_is_an_error_that_passes,
    two_devices_on_two_threads,
    one_device_is_shared_by_threads_while_it_records,
    timed_replays_do_the_work_and_say_what_each_command_took,
];

fn region(device: &Arc<dyn Device>, bytes: u64) -> Region {
    Region::whole(device.allocate(bytes).unwrap())
}

fn part(of: &Region, offset: u64, bytes: u64) -> Region {
    Region { memory: of.memory.clone(), offset, bytes }
}

fn put(device: &Arc<dyn Device>, bytes: &[u8]) -> Region {
    let region = region(device, bytes.len() as u64);
    device.upload(bytes, &region).unwrap();
    region
}

fn get(device: &Arc<dyn Device>, region: &Region) -> Vec<u8> {
    let mut bytes = vec![0xee; region.bytes as usize];
    device.download(region, &mut bytes).unwrap();
    bytes
}

fn encode(dtype: DType, values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| Scalar::from_f64(dtype, *v).to_le_bytes()[..dtype.size()].to_vec()).collect()
}

fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    bytes.chunks(dtype.size()).map(|b| Scalar::from_le_bytes(dtype, b).unwrap().to_f64()).collect()
}

/// Small integers, exact in every dtype.
fn small(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7 + seed * 5) % 9) as f64 - 4.0).collect()
}

fn noise(count: usize, seed: usize) -> Vec<u8> {
    let mut state = seed as u64 * 2 + 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

fn load(operand: usize, index: Vec<Index>) -> Inst {
    Inst::Load { operand, index }
}

fn op(op: ScalarOp, args: &[u32]) -> Inst {
    Inst::Op { op, args: args.to_vec() }
}

fn phase(kind: PhaseKind, insts: Vec<Inst>, folds: Vec<FoldOf>, stores: Vec<Store>) -> Phase {
    Phase { kind, block: Block { insts }, folds, stores }
}

fn store(operand: usize, index: Vec<Index>, value: u32) -> Store {
    Store { operand, index, value, when: None, add: false }
}

/// `out = a * b + a`, all of `n` f32.
fn multiply_add(n: u64) -> Verified {
    let i = || vec![Index::axis(0)];
    let insts = vec![load(0, i()), load(1, i()), op(MUL, &[0, 1]), op(ADD, &[2, 0])];
    let operand = |written| Operand::contiguous(DType::F32, &[n], written);
    Verified::new(Nest {
        name: "multiply_add".into(),
        axes: vec![n],
        grid: 1,
        operands: vec![operand(false), operand(false), operand(true)],
        phases: vec![phase(PhaseKind::Point, insts, vec![], vec![store(2, i(), 3)])],
    })
    .unwrap()
}

/// `x += y`, in place.
fn accumulate(n: u64) -> Verified {
    let i = || vec![Index::axis(0)];
    let insts = vec![load(0, i()), load(1, i()), op(ADD, &[0, 1])];
    Verified::new(Nest {
        name: "accumulate".into(),
        axes: vec![n],
        grid: 1,
        operands: vec![
            Operand::contiguous(DType::F32, &[n], true),
            Operand::contiguous(DType::F32, &[n], false),
        ],
        phases: vec![phase(PhaseKind::Point, insts, vec![], vec![store(0, i(), 2)])],
    })
    .unwrap()
}

/// The sum of each row of a `rows x columns` matrix of f64.
fn row_sums(rows: u64, columns: u64) -> Verified {
    let fold = FoldOf { fold: Fold::Sum, value: 0, index: None };
    let reduce =
        phase(PhaseKind::Reduce, vec![load(0, vec![Index::axis(0), Index::axis(1)])], vec![fold], vec![]);
    let point = phase(
        PhaseKind::Point,
        vec![Inst::Folded { phase: 0, fold: 0 }],
        vec![],
        vec![store(1, vec![Index::axis(0)], 0)],
    );
    Verified::new(Nest {
        name: "row sums".into(),
        axes: vec![rows, columns],
        grid: 1,
        operands: vec![
            Operand::contiguous(DType::F64, &[rows, columns], false),
            Operand::contiguous(DType::F64, &[rows], true),
        ],
        phases: vec![reduce, point],
    })
    .unwrap()
}

fn run(device: &Arc<dyn Device>, nests: &[Verified], commands: &[Command]) {
    let module = device.compile(nests, Numerics::default()).unwrap();
    device.record(&module, commands).unwrap().replay().unwrap();
}

fn properties_are_filled_in() {
    let device = open();
    let p = device.properties();
    assert_eq!(p.id, "cuda:0");
    assert!(p.memory > 1 << 28 && p.units > 0 && p.lanes >= 1024 && p.f64, "{p:?}");
    println!("{p:?}");
}

fn wrong_sizes_and_foreign_memory_are_errors() {
    let device = open();
    let other = open();
    let memory = region(&device, 100);
    let refused = |outcome: Result<(), DeviceError>| {
        assert!(matches!(outcome, Err(DeviceError::Driver { .. } | DeviceError::Argument(_))))
    };
    refused(device.upload(&[0; 99], &memory));
    refused(device.upload(&[0; 100], &part(&memory, 1, 100)));
    refused(device.upload(&[0; 2], &part(&memory, u64::MAX, 2)));
    refused(device.download(&memory, &mut [0; 101]));
    refused(device.copy(&memory, &part(&memory, 0, 50)));
    refused(other.upload(&[0; 100], &memory));
    let module = device.compile(&[multiply_add(10)], Numerics::default()).unwrap();
    let short = Command::Launch { nest: 0, args: vec![part(&memory, 0, 36), memory.clone(), memory.clone()] };
    refused(device.record(&module, &[short]).map(drop));
    let few = Command::Launch { nest: 0, args: vec![memory.clone()] };
    refused(device.record(&module, &[few]).map(drop));
    refused(device.record(&module, &[Command::Launch { nest: 1, args: vec![] }]).map(drop));
}

fn an_elementwise_nest() {
    let device = open();
    for n in [1, 31, 1000, 300_000] {
        let (a, b) = (small(n, 1), small(n, 2));
        let args = vec![
            put(&device, &encode(DType::F32, &a)),
            put(&device, &encode(DType::F32, &b)),
            region(&device, 4 * n as u64),
        ];
        let out = args[2].clone();
        run(&device, &[multiply_add(n as u64)], &[Command::Launch { nest: 0, args }]);
        let want: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a * b + a).collect();
        assert!(decode(DType::F32, &get(&device, &out)) == want, "{n}");
    }
}

fn a_reduction_nest() {
    let device = open();
    for (rows, columns) in [(1, 1), (3, 1000), (1, 1_000_000), (2000, 7), (5, 0)] {
        let x = small(rows * columns, 3);
        let input = put(&device, &[encode(DType::F64, &x), vec![0; 8]].concat());
        let out = region(&device, 8 * rows as u64);
        let command = Command::Launch { nest: 0, args: vec![input, out.clone()] };
        run(&device, &[row_sums(rows as u64, columns as u64)], &[command]);
        let want: Vec<f64> = (0..rows).map(|r| x[r * columns..(r + 1) * columns].iter().sum()).collect();
        assert_eq!(decode(DType::F64, &get(&device, &out)), want, "{rows} x {columns}");
    }
}

fn in_place_a_hundred_times_and_across_recordings() {
    let device = open();
    let n = 10_000;
    let start = small(n, 4);
    let x = put(&device, &encode(DType::F32, &start));
    let y = put(&device, &encode(DType::F32, &vec![0.5; n]));
    let module = device.compile(&[accumulate(n as u64)], Numerics::default()).unwrap();
    let command = Command::Launch { nest: 0, args: vec![x.clone(), y] };
    let mut once = device.record(&module, std::slice::from_ref(&command)).unwrap();
    let mut twice = device.record(&module, &[command.clone(), command]).unwrap();
    drop(module);
    for _ in 0..100 {
        once.replay().unwrap();
        twice.replay().unwrap();
    }
    drop((once, twice));
    let want: Vec<f64> = start.iter().map(|v| v + 150.0).collect();
    assert!(decode(DType::F32, &get(&device, &x)) == want);
}

fn recording_has_no_effect_and_keeps_its_memory() {
    let device = open();
    let n = 64;
    let (x, out) = (put(&device, &encode(DType::F32, &small(n, 1))), put(&device, &[9; 256]));
    let square =
        Matmul { dtype: DType::F32, batch: 1, m: 8, n: 8, k: 8, a: [0, 8, 1], b: [0, 8, 1], fast: false };
    let mut commands = vec![Command::Launch { nest: 0, args: vec![x.clone(), x.clone(), out.clone()] }];
    if device.library(&square, None).is_some() {
        commands.push(Command::library(square, [x.clone(), x.clone()], out.clone()));
    }
    let module = device.compile(&[multiply_add(n as u64)], Numerics::default()).unwrap();
    let recording = device.record(&module, &commands).unwrap();
    assert_eq!(get(&device, &out), vec![9; 256]);
    drop(recording);
    let kept = put(&device, &[5; 64]);
    let copy = Command::Copy { source: kept, target: part(&out, 0, 64) };
    let mut recording = device.record(&module, &[copy]).unwrap();
    for _ in 0..50 {
        // Would get the memory of `kept` if the recording did not hold it.
        drop(put(&device, &[6; 64]));
    }
    recording.replay().unwrap();
    assert_eq!(get(&device, &part(&out, 0, 64)), vec![5; 64]);
}

fn copies_and_clears_within_a_recording() {
    let device = open();
    let (a, b) = (put(&device, &noise(3000, 1)), put(&device, &noise(3000, 2)));
    let module = device.compile(&[], Numerics::default()).unwrap();
    let commands = [
        Command::Copy { source: part(&a, 0, 1000), target: part(&b, 1000, 1000) },
        Command::Clear { target: part(&a, 1, 501) },
        Command::Copy { source: part(&a, 0, 600), target: part(&b, 2000, 600) },
        Command::Clear { target: part(&b, 5, 0) },
        Command::Copy { source: part(&a, 0, 0), target: part(&b, 0, 0) },
    ];
    let mut recording = device.record(&module, &commands).unwrap();
    recording.replay().unwrap();
    let (mut want_a, mut want_b) = (noise(3000, 1), noise(3000, 2));
    want_b[1000..2000].copy_from_slice(&want_a[..1000]);
    want_a[1..502].fill(0);
    want_b[2000..2600].copy_from_slice(&want_a[..600]);
    assert_eq!(get(&device, &a), want_a);
    assert_eq!(get(&device, &b), want_b);
    let mut nothing = device.record(&module, &[]).unwrap();
    nothing.replay().unwrap();
    device.synchronize().unwrap();
}

fn too_much_memory_is_an_error_that_passes() {
    let device = open();
    let asked = device.properties().memory + (1 << 30);
    match device.allocate(asked) {
        Err(DeviceError::OutOfMemory { requested, available, .. }) => {
            assert_eq!(requested, asked);
            assert!(available.contains("bytes are free"), "{available}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(get(&device, &put(&device, &[1, 2, 3])), vec![1, 2, 3]);
}

fn two_devices_on_two_threads() {
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || {
                let device = Cuda::device(0).open().unwrap();
                for round in 0..20usize {
                    let n = 5000 + round;
                    let (a, b) = (small(n, thread), small(n, round));
                    let args = vec![
                        put(&device, &encode(DType::F32, &a)),
                        put(&device, &encode(DType::F32, &b)),
                        region(&device, 4 * n as u64),
                    ];
                    let out = args[2].clone();
                    run(&device, &[multiply_add(n as u64)], &[Command::Launch { nest: 0, args }]);
                    let want: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a * b + a).collect();
                    assert!(decode(DType::F32, &get(&device, &out)) == want);
                }
            });
        }
    });
}

fn one_device_is_shared_by_threads_while_it_records() {
    let device = open();
    let n = 2000;
    let module = device.compile(&[accumulate(n)], Numerics::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (device, module) = (device.clone(), module.clone());
            scope.spawn(move || {
                for round in 0..50 {
                    let x = put(&device, &encode(DType::F32, &vec![f64::from(thread); n as usize]));
                    let y = put(&device, &encode(DType::F32, &vec![f64::from(round); n as usize]));
                    let command = Command::Launch { nest: 0, args: vec![x.clone(), y] };
                    let mut recording = device.record(&module, &[command]).unwrap();
                    recording.replay().unwrap();
                    let got = decode(DType::F32, &get(&device, &x));
                    assert!(got.iter().all(|v| *v == f64::from(thread + round)));
                }
            });
        }
    });
}

fn timed_replays_do_the_work_and_say_what_each_command_took() {
    let device = open();
    let n = 1 << 24;
    let x = put(&device, &encode(DType::F32, &vec![0.0; n]));
    let y = put(&device, &encode(DType::F32, &vec![1.0; n]));
    let c = put(&device, &[0; 256]);
    let square =
        Matmul { dtype: DType::F32, batch: 1, m: 8, n: 8, k: 8, a: [0, 8, 1], b: [0, 8, 1], fast: false };
    let add = Command::Launch { nest: 0, args: vec![x.clone(), y.clone()] };
    let mut commands = vec![add.clone(), Command::Clear { target: part(&x, 0, 0) }, add];
    if device.library(&square, None).is_some() {
        commands.push(Command::library(square, [y.clone(), y], c.clone()));
    }
    let module = device.compile(&[accumulate(n as u64)], Numerics::default()).unwrap();
    let mut recording = device.record(&module, &commands).unwrap();
    recording.replay().unwrap();
    let seconds = std::time::Instant::now();
    let took = [recording.timed().unwrap(), recording.timed().unwrap()];
    let seconds = seconds.elapsed();
    for took in &took {
        assert_eq!(took.len(), commands.len());
        assert!(took[1].is_zero(), "nothing to do: {took:?}");
        // 192 MiB pass at less than 20 TB/s.
        assert!(took[0].as_micros() > 10 && took[2].as_micros() > 10, "{took:?}");
    }
    let measured: std::time::Duration = took.iter().flatten().sum();
    assert!(measured <= seconds, "{measured:?} of {seconds:?}");
    recording.replay().unwrap();
    assert!(decode(DType::F32, &get(&device, &x)).iter().all(|v| *v == 8.0));
    if commands.len() == 4 {
        assert!(decode(DType::F32, &get(&device, &c)).iter().all(|v| *v == 8.0));
    }
}
