//! Products with epilogues that cuBLASLt knows: scaled, added in place or out of place, with a bias; against
//! plain sums of doubles.

use crate::{Test, open, tests};
use std::sync::Arc;
use workalike::dtype::DType;
use workalike::error::DeviceError;
use workalike::kernels::Scalar;
use workalike::kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use workalike::kernels::ops::{ADD, MUL, ScalarOp, TANH};
use workalike::kernels::verify::Verified;
use workalike::rehost::device::{Command, Device, Matmul, Numerics, Recording, Region, Target};

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

/// A product of these extents (batch, m, n, k), of factors that lie by rows, or transposed.
fn product(dtype: DType, [batch, m, n, k]: [u64; 4], transposed: [bool; 2]) -> Matmul {
    let (mi, ni, ki) = (m as i64, n as i64, k as i64);
    let a = if transposed[0] { [mi * ki, 1, mi] } else { [mi * ki, ki, 1] };
    let b = if transposed[1] { [ki * ni, 1, ki] } else { [ki * ni, ni, 1] };
    Matmul { dtype, batch, m, n, k, a, b, fast: false }
}

/// `alpha * product + beta * added + bias`, each only if it is there.
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

/// All there are.
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

/// Operands of a form's Nest: the product, what is added, the bias, the result.
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

/// Memory with these bytes at an offset.
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

/// A product, a form, and numbers for all of it.
struct Case {
    product: Matmul,
    form: Form,
    /// Factors, what is added, bias.
    values: [Vec<f64>; 4],
    /// Where each of them begins, and the result.
    offsets: [u64; 5],
}

impl Case {
    fn new(product: Matmul, form: Form) -> Case {
        let Matmul { dtype, batch, m, n, k, .. } = product;
        let counts = [batch * m * k, batch * k * n, batch * m * n, n];
        let values = [0, 1, 2, 3].map(|at| noise(dtype, counts[at], 10 + at as u64));
        Case { product, form, values, offsets: [0; 5] }
    }

    /// The result of one replay, and of a second, which starts from the first's if it adds in place; of a
    /// recording of its own.
    fn run(&self, device: &Arc<dyn Device>) -> [Vec<u8>; 2] {
        let (dtype, form, nest) = (self.product.dtype, self.form, nest(&self.product, self.form));
        let what = format!("{:?}, {form:?}, {:?}", self.product, self.offsets);
        assert!(device.library(&self.product, Some((&nest, 0))).is_some(), "{what}");
        let at = |i: usize| put(device, &encode(dtype, &self.values[i]), self.offsets[i]);
        let [a, b, added, bias] = [0, 1, 2, 3].map(at);
        let untouched = vec![0x3c; added.bytes as usize];
        let result = if form.in_place { added.clone() } else { put(device, &untouched, self.offsets[4]) };
        let rest = [added.clone(), bias.clone(), result.clone()];
        let args = [None].into_iter().chain(rest.map(Some)).collect();
        let c = Target::Epilogue { nest, args };
        let product = self.product.clone();
        let command = Command::library(product, [a.clone(), b.clone()], c);
        let mut recording = record(device, &[command]).unwrap();
        let only_read = |when: &str| {
            for (region, values) in [&a, &b, &added, &bias].into_iter().zip(&self.values) {
                let result = form.in_place && Arc::ptr_eq(&region.memory, &result.memory);
                let given = encode(dtype, values);
                assert!((result && when == "replays") || get(device, region) == given, "{when}: {what}");
            }
        };
        only_read("recording");
        assert!(form.in_place || get(device, &result) == untouched, "recording wrote the result: {what}");
        let got = [0, 1].map(|_| {
            recording.replay().unwrap();
            get(device, &result)
        });
        only_read("replays");
        assert!(form.in_place || got[0] == got[1], "two replays: {what}");
        recording.timed().unwrap();
        let third = get(device, &result);
        assert!(form.in_place || got[0] == third, "timed: {what}");
        got
    }

    /// Whether a result is what it should be, from what was added, within the tolerance of products.
    fn check(&self, added: &[f64], got: &[u8]) {
        let Matmul { dtype, batch, m, n, k, .. } = self.product;
        let got = decode(dtype, got);
        let (mut sums, rounded) = match dtype {
            DType::F64 => (f64::EPSILON, f64::EPSILON),
            DType::F16 => (f32::EPSILON.into(), 1.0 / 1024.0),
            DType::BF16 => (f32::EPSILON.into(), 1.0 / 128.0),
            _ => (f32::EPSILON.into(), f32::EPSILON.into()),
        };
        let computed: f64 = sums;
        if self.product.fast {
            sums = 1.0 / 512.0;
        }
        let exact = |by: f64| Scalar::from_f64(dtype, by).to_f64();
        let (alpha, beta) = (exact(self.form.alpha), self.form.beta.map_or(0.0, exact));
        let step = |extent: u64, step: usize| (0..extent).step_by(if extent < 40 { 1 } else { step });
        // A part of the rows and columns says as much; the last of both among them.
        let rows = || step(m, 7).chain([m - 1]);
        for z in step(batch, 1009) {
            for i in rows() {
                for j in step(n, 5).chain([n - 1]) {
                    let place = |l: &[i64; 3], at: [u64; 3]| {
                        l.iter().zip(at).map(|(step, at)| step * at as i64).sum::<i64>() as usize
                    };
                    let (mut sum, mut size) = (0.0, 0.0);
                    for l in 0..k {
                        let left = self.values[0][place(&self.product.a, [z, i, l])];
                        let term: f64 = left * self.values[1][place(&self.product.b, [z, l, j])];
                        (sum, size) = (sum + term, size + term.abs());
                    }
                    let at = ((z * m + i) * n + j) as usize;
                    let bias = if self.form.bias { self.values[3][j as usize] } else { 0.0 };
                    let want = alpha * sum + beta * added[at] + bias;
                    let others = (alpha * sum).abs() + (beta * added[at]).abs() + bias.abs();
                    // Libraries round a product of halves, and what it is with C, before they add to it; so
                    // do two steps.
                    let parts = if dtype.is_half() { (alpha * sum).abs() + (want - bias).abs() } else { 0.0 };
                    let stored = want.abs() + parts;
                    // The least number of the smallest float.
                    let least = if dtype == DType::F16 { 2f64.powi(-24) } else { 0.0 };
                    let bound = k as f64 * sums * size * alpha.abs()
                        + 4.0 * computed * others
                        + rounded * stored
                        + least;
                    let (form, got) = (self.form, got[at]);
                    assert!(
                        (got - want).abs() <= bound,
                        "{:?}, {form:?}, {:?} at {z} {i} {j}: {got}, not {want}",
                        self.product,
                        self.offsets
                    );
                }
            }
        }
    }

    /// Runs it on each device, twice, and checks both replays.
    fn try_on(&self, devices: &[Arc<dyn Device>]) {
        let results: Vec<[Vec<u8>; 2]> = devices.iter().chain(devices).map(|d| self.run(d)).collect();
        let first = decode(self.product.dtype, &results[0][0]);
        self.check(&self.values[2], &results[0][0]);
        let then = if self.form.in_place { &first } else { &self.values[2] };
        self.check(then, &results[0][1]);
        assert!(results.iter().all(|r| *r == results[0]), "{:?}, {:?}", self.product, self.form);
    }
}

/// Which forms there are of a product.
fn forms(product: &Matmul) -> impl Iterator<Item = Form> {
    let biased = product.batch == 1 && product.m > 1 && product.dtype != DType::F64;
    FORMS.into_iter().filter(move |form| biased || !form.bias)
}

fn large_ones_are_right_and_the_same_each_time() {
    // Large enough for ways to be timed.
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

/// Small integers, exact in every dtype as long as few are summed.
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
    let plain = |product: &Matmul, a: usize, b: usize, c: Target| {
        Command::library(product.clone(), [factors[a].clone(), factors[b].clone()], c)
    };
    let then = form(2.0, Some(-1.0), false, true);
    let args = vec![None, Some(added.clone()), Some(bias.clone()), Some(result.clone())];
    let mut commands = vec![
        plain(&first, 0, 1, added.clone().into()),
        Command::Copy { source: row.clone(), target: bias.clone() },
        plain(&second, 2, 3, Target::Epilogue { nest: nest(&second, then), args }),
    ];
    // In place over what the one before stored.
    let again = form(1.0, Some(3.0), true, false);
    let args = vec![None, Some(result.clone()), Some(bias.clone()), Some(result.clone())];
    commands.push(plain(&second, 2, 3, Target::Epilogue { nest: nest(&second, again), args }));
    commands.push(Command::Copy { source: result.clone(), target: later.clone() });
    // What was read is overwritten, and must not be before.
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
        let target = Target::Epilogue { nest: nest.clone(), args };
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
