//! Products with cuBLASLt's epilogues: a scale, an addend in place or elsewhere, a bias; against plain sums
//! of f64.

mod case;

use crate::{Test, open, tests};
use case::Case;
use std::sync::Arc;
use workalike::dtype::DType;
use workalike::engine::device::{Command, Device, LibraryOutput, Matmul, Numerics, Recording, Region};
use workalike::error::DeviceError;
use workalike::kernels::Scalar;
use workalike::kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use workalike::kernels::ops::{ADD, MUL, ScalarOp, TANH};
use workalike::kernels::verify::Verified;

/// All tests of this file.
pub(crate) const TESTS: &[Test] = tests![
    large_ones_are_right_and_the_same_each_time,
    odd_ones_are_right_and_the_same_each_time,
    single_rows_and_columns,
    batches_add_what_is_as_long,
    everything_may_start_anywhere,
    fast_ones_are_nearly_right,
    a_graph_waits_for_what_an_epilogue_reads,
    what_cannot_be_an_epilogue_is_refused,
];

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

/// A product of these extents (batch, m, n, k), of row-major or transposed factors.
fn product(dtype: DType, [batch, m, n, k]: [u64; 4], transposed: [bool; 2]) -> Matmul {
    let (mi, ni, ki) = (m as i64, n as i64, k as i64);
    let a = if transposed[0] { [mi * ki, 1, mi] } else { [mi * ki, ki, 1] };
    let b = if transposed[1] { [ki * ni, 1, ki] } else { [ki * ni, ni, 1] };
    Matmul { dtype, batch, m, n, k, a, b, fast: false }
}

/// `alpha * product + beta * added + bias`, the last two terms only if present.
#[derive(Clone, Copy, Debug)]
struct Form {
    alpha: f64,
    beta: Option<f64>,
    in_place: bool,
    bias: bool,
}

const fn form(alpha: f64, beta: Option<f64>, in_place: bool, bias: bool) -> Form {
    Form { alpha, beta, in_place, bias }
}

/// All forms.
const FORMS: [Form; 9] = [
    form(-0.75, None, false, false),
    form(1.0, Some(1.0), true, false),
    form(-0.05, Some(0.875), true, false),
    form(1.0, Some(1.0), false, false),
    form(2.5, Some(-0.3), false, false),
    form(1.0, None, false, true),
    form(0.5, None, false, true),
    form(1.5, Some(0.5), false, true),
    form(-0.1, Some(1.0), true, true),
];

/// The Nest of a form. Its operands are the product, the addend, the bias and the result.
fn nest(product: &Matmul, form: Form) -> Verified {
    let Matmul { dtype, batch, m, n, .. } = *product;
    let axes = vec![batch, m, n];
    let own = || (0..3).map(Index::axis).collect::<Vec<_>>();
    let mut insts = vec![Inst::Load { operand: 0, index: own() }];
    let push = |insts: &mut Vec<Inst>, inst| {
        insts.push(inst);
        insts.len() as u32 - 1
    };
    let op = |op: ScalarOp, a: u32, b: u32| Inst::Op { op, args: vec![a, b] };
    let alpha = push(&mut insts, Inst::Const(Scalar::from_f64(dtype, form.alpha)));
    let mut sum = push(&mut insts, op(MUL, 0, alpha));
    if let Some(beta) = form.beta {
        let added = push(&mut insts, Inst::Load { operand: 1, index: own() });
        let beta = push(&mut insts, Inst::Const(Scalar::from_f64(dtype, beta)));
        let scaled = push(&mut insts, op(MUL, beta, added));
        sum = push(&mut insts, op(ADD, scaled, sum));
    }
    if form.bias {
        let bias = push(&mut insts, Inst::Load { operand: 2, index: vec![Index::axis(2)] });
        sum = push(&mut insts, op(ADD, sum, bias));
    }
    let stores = vec![Store { operand: 3, index: own(), value: sum, when: None, add: false }];
    let whole = |written| Operand::contiguous(dtype, &axes, written);
    let operands = vec![whole(false), whole(false), Operand::contiguous(dtype, &[n], false), whole(true)];
    let phases = vec![Phase { kind: PhaseKind::Point, block: Block { insts }, folds: vec![], stores }];
    Verified::new(Nest { name: "form".into(), axes, grid: 3, operands, phases }).unwrap()
}

/// Numbers between -1 and 1 with as many bits as the dtype has.
fn noise(dtype: DType, count: u64, seed: u64) -> Vec<f64> {
    let mut state = seed * 2 + 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let value = (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        Scalar::from_f64(dtype, value).to_f64()
    };
    (0..count).map(|_| next()).collect()
}

fn encode(dtype: DType, values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| Scalar::from_f64(dtype, *v).to_le_bytes()[..dtype.size()].to_vec()).collect()
}

fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    bytes.chunks(dtype.size()).map(|v| Scalar::from_le_bytes(dtype, v).unwrap().to_f64()).collect()
}

/// A region of new memory at `offset`, filled with `bytes`.
fn put(device: &Arc<dyn Device>, bytes: &[u8], offset: u64) -> Region {
    let memory = device.allocate(bytes.len() as u64 + offset).unwrap();
    let region = Region { memory, offset, bytes: bytes.len() as u64 };
    device.upload(bytes, &region).unwrap();
    region
}

fn get(device: &Arc<dyn Device>, region: &Region) -> Vec<u8> {
    let mut bytes = vec![0xee; region.bytes as usize];
    device.download(region, &mut bytes).unwrap();
    bytes
}

fn record(device: &Arc<dyn Device>, commands: &[Command]) -> Result<Box<dyn Recording>, DeviceError> {
    let module = device.compile(&[], Numerics::default()).unwrap();
    device.record(&module, commands)
}

/// The forms that a product can have.
fn forms(product: &Matmul) -> impl Iterator<Item = Form> {
    let biased = product.batch == 1 && product.m > 1 && product.dtype != DType::F64;
    FORMS.into_iter().filter(move |form| biased || !form.bias)
}

fn large_ones_are_right_and_the_same_each_time() {
    // Large enough for algorithms to be timed.
    let devices = [open(), open()];
    for dtype in FLOATS {
        for transposed in [[false, false], [true, false], [false, true]] {
            let product = product(dtype, [1, 256, 264, 160], transposed);
            forms(&product).for_each(|form| Case::new(product.clone(), form).try_on(&devices));
        }
    }
}

fn odd_ones_are_right_and_the_same_each_time() {
    let devices = [open()];
    for dtype in FLOATS {
        for extents in [[1, 33, 17, 20], [1, 7, 131, 61], [1, 301, 203, 147], [1, 65, 1, 9], [1, 2, 3, 1]] {
            for transposed in [[false, false], [true, false], [false, true]] {
                let product = product(dtype, extents, transposed);
                forms(&product).for_each(|form| Case::new(product.clone(), form).try_on(&devices));
            }
        }
    }
}

fn single_rows_and_columns() {
    let devices = [open()];
    for dtype in FLOATS {
        for extents in [[1, 1, 130, 40], [1, 130, 1, 40], [1, 1, 1, 40], [1, 1, 41, 7]] {
            let product = product(dtype, extents, [false, false]);
            forms(&product).for_each(|form| Case::new(product.clone(), form).try_on(&devices));
        }
    }
}

fn batches_add_what_is_as_long() {
    let devices = [open()];
    for dtype in FLOATS {
        for (extents, transposed) in [
            ([5, 33, 17, 20], [false, false]),
            ([3, 64, 64, 64], [false, true]),
            ([70_000, 2, 3, 2], [true, false]),
        ] {
            let product = product(dtype, extents, transposed);
            forms(&product).for_each(|form| Case::new(product.clone(), form).try_on(&devices));
        }
    }
}

fn everything_may_start_anywhere() {
    let devices = [open()];
    for dtype in FLOATS {
        let size = dtype.size() as u64;
        for extents in [[1, 40, 64, 32], [1, 201, 263, 160]] {
            let product = product(dtype, extents, [false, false]);
            for form in forms(&product) {
                for offsets in [
                    [size, 0, 0, 0, 0],
                    [0, size, 0, 0, 0],
                    [0, 0, size, 0, 0],
                    [0, 0, 0, size, 0],
                    [0, 0, 0, 0, size],
                    [16, 3 * size, 2 * size, 16, size],
                ] {
                    Case { offsets, ..Case::new(product.clone(), form) }.try_on(&devices);
                }
            }
        }
    }
}

fn fast_ones_are_nearly_right() {
    let devices = [open()];
    for form in FORMS {
        let product = Matmul { fast: true, ..product(DType::F32, [1, 256, 264, 160], [false, false]) };
        Case::new(product, form).try_on(&devices);
    }
}

/// Small integers: sums of a few are exact in every dtype.
fn small(count: u64, seed: u64) -> Vec<f64> {
    (0..count).map(|i| ((i * 7 + seed * 3) % 5) as f64 - 2.0).collect()
}

fn a_graph_waits_for_what_an_epilogue_reads() {
    let device = open();
    let dtype = DType::F32;
    let (first, second) =
        (product(dtype, [1, 96, 80, 64], [false; 2]), product(dtype, [1, 96, 80, 32], [true, false]));
    let at = |count, seed| put(&device, &encode(dtype, &small(count, seed)), 0);
    let factors = [at(96 * 64, 1), at(64 * 80, 2), at(96 * 32, 3), at(32 * 80, 4)];
    let row = at(80, 5);
    let empty = |count: u64| put(&device, &vec![0xff; 4 * count as usize], 0);
    let (added, bias, result, later) = (empty(96 * 80), empty(80), empty(96 * 80), empty(96 * 80));
    let plain = |product: &Matmul, a: usize, b: usize, c: LibraryOutput| {
        Command::library(product.clone(), [factors[a].clone(), factors[b].clone()], c)
    };
    let then = form(2.0, Some(-1.0), false, true);
    let args = vec![None, Some(added.clone()), Some(bias.clone()), Some(result.clone())];
    let mut commands = vec![
        plain(&first, 0, 1, added.clone().into()),
        Command::Copy { source: row.clone(), target: bias.clone() },
        plain(&second, 2, 3, LibraryOutput::Epilogue { nest: nest(&second, then), args }),
    ];
    // In place, over the result of the command before.
    let again = form(1.0, Some(3.0), true, false);
    let args = vec![None, Some(result.clone()), Some(bias.clone()), Some(result.clone())];
    commands.push(plain(&second, 2, 3, LibraryOutput::Epilogue { nest: nest(&second, again), args }));
    commands.push(Command::Copy { source: result.clone(), target: later.clone() });
    // Overwrites what earlier commands read: must wait for them.
    commands.push(Command::Clear { target: added.clone() });
    commands.push(Command::Clear { target: bias.clone() });
    commands.push(Command::Clear { target: result.clone() });
    let mut recording = record(&device, &commands).unwrap();
    let dot = |product: &Matmul, factors: &[Vec<f64>; 2], i: u64, j: u64| -> f64 {
        let Matmul { a: l, b: r, k, .. } = product;
        let left = |x: u64| factors[0][(l[1] * i as i64 + l[2] * x as i64) as usize];
        (0..*k).map(|x| left(x) * factors[1][(r[1] * x as i64 + r[2] * j as i64) as usize]).sum()
    };
    let ones = [small(96 * 64, 1), small(64 * 80, 2)];
    let twos = [small(96 * 32, 3), small(32 * 80, 4)];
    let bias = small(80, 5);
    let mut want = Vec::new();
    for i in 0..96 {
        for j in 0..80 {
            let (one, two) = (dot(&first, &ones, i, j), dot(&second, &twos, i, j));
            want.push(two + 3.0 * (2.0 * two - one + bias[j as usize]));
        }
    }
    assert!(want.iter().any(|v| *v != want[0]));
    for replay in 0..20 {
        recording.replay().unwrap();
        assert!(decode(dtype, &get(&device, &later)) == want, "replay {replay}");
        assert!(get(&device, &result).iter().all(|byte| *byte == 0));
    }
}

fn what_cannot_be_an_epilogue_is_refused() {
    let device = open();
    let dtype = DType::F32;
    let p = product(dtype, [1, 8, 8, 8], [false; 2]);
    let memory = |count: u64| put(&device, &vec![0; 4 * count as usize], 0);
    let (a, b, c, row, out) = (memory(64), memory(64), memory(64), memory(8), memory(128));
    let part = |offset: u64| Region { memory: out.memory.clone(), offset, bytes: 256 };
    let good = nest(&p, form(1.0, Some(1.0), false, true));
    let try_it = |p: &Matmul, nest: &Verified, args: [Option<&Region>; 4]| {
        let args = args.map(|region| region.cloned()).to_vec();
        let target = LibraryOutput::Epilogue { nest: nest.clone(), args };
        let command = Command::library(p.clone(), [a.clone(), b.clone()], target);
        record(&device, &[command]).map(drop)
    };
    let (low, high) = (part(0), part(256));
    try_it(&p, &good, [None, Some(&c), Some(&row), Some(&low)]).unwrap();
    try_it(&p, &good, [None, Some(&high), Some(&row), Some(&low)]).unwrap();
    try_it(&p, &good, [None, Some(&low), Some(&row), Some(&low)]).unwrap();
    let middle = part(128);
    for args in [
        [None, Some(&c), Some(&row), Some(&a)],
        [None, Some(&b), Some(&row), Some(&b)],
        [None, Some(&middle), Some(&row), Some(&low)],
        [None, Some(&c), Some(&low), Some(&low)],
    ] {
        let error = try_it(&p, &good, args).unwrap_err().to_string();
        assert!(error.contains("overlap"), "{error}");
    }
    let short = memory(7);
    let error = try_it(&p, &good, [None, Some(&c), Some(&short), Some(&low)]).unwrap_err().to_string();
    assert!(error.contains("at least 32 bytes") && error.contains("28 bytes"), "{error}");
    let error = try_it(&p, &good, [None, Some(&short), Some(&row), Some(&low)]).unwrap_err().to_string();
    assert!(error.contains("at least 256 bytes") && error.contains("28 bytes"), "{error}");
    let mut curved = (*good).clone();
    let value = curved.phases[0].stores[0].value;
    curved.phases[0].block.insts.push(Inst::Op { op: TANH, args: vec![value] });
    curved.phases[0].stores[0].value = curved.phases[0].block.insts.len() as u32 - 1;
    let curved = Verified::new(curved).unwrap();
    let no_sums = Matmul { k: 0, ..p.clone() };
    for (p, nest, args) in [
        (&p, &curved, [None, Some(&c), Some(&row), Some(&low)]),
        (&p, &good, [None, None, Some(&row), Some(&low)]),
        (&p, &good, [None, Some(&c), Some(&row), None]),
        (&p, &good, [Some(&c), Some(&c), Some(&row), None]),
        (&p, &good, [Some(&c), Some(&c), Some(&row), Some(&low)]),
        (&no_sums, &good, [None, Some(&c), Some(&row), Some(&low)]),
    ] {
        let outcome = try_it(p, nest, args);
        let refused = matches!(outcome, Err(DeviceError::Unsupported { .. } | DeviceError::Argument(_)));
        assert!(refused, "{outcome:?}");
    }
    assert!(device.library(&p, Some((&curved, 0))).is_none());
    assert!(device.library(&no_sums, Some((&good, 0))).is_none());
    assert!(device.library(&p, Some((&good, 2))).is_none() && device.library(&p, Some((&good, 3))).is_none());
    let doubles = Matmul { dtype: DType::F64, ..p.clone() };
    let biased = nest(&doubles, form(1.0, None, false, true));
    assert!(device.library(&doubles, Some((&biased, 0))).is_none());
}
