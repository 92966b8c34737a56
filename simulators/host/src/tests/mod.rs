//! Whole Nests and products on the host device, against the reference interpreter and plain definitions.

mod chains;
mod epilogues;
mod levels;
mod mapped_reduce;
mod matmul;
mod nests;
mod order;
mod piecewise_copy;
mod prepared;
mod random;
mod rows;
mod sharing;
mod speed;
mod streams;

use super::*;
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::interpret::interpret;
use workalike_kernels::nest::*;
use workalike_kernels::ops::{self, ScalarOp};

/// A stream of reproducible numbers.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    /// In -2..2.
    pub(super) fn float(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 29) as f64 - 2.0
    }
}

pub(super) fn verified(nest: &Nest) -> Verified {
    Verified::new(nest.clone()).unwrap()
}

/// The plan of a Nest, verified first.
pub(super) fn plan(nest: &Nest) -> plan::analysis::Planned<NestPlan> {
    plan::plan(&verified(nest))
}

/// Elements as stored bytes.
pub(super) fn bytes(dtype: DType, values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| Scalar::from_f64(dtype, *v).to_le_bytes()[..dtype.size()].to_vec()).collect()
}

/// Numbers from stored bytes.
pub(super) fn numbers(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    bytes.chunks(dtype.size()).map(|b| Scalar::from_le_bytes(dtype, b).unwrap().to_f64()).collect()
}

pub(super) fn random(dtype: DType, count: usize, seed: u64) -> Vec<u8> {
    let mut numbers = Numbers(seed);
    let scale = if dtype.is_integer() { 20.0 } else { 1.0 };
    let shift = if dtype.is_unsigned() { 2.0 } else { 0.0 };
    bytes(dtype, &(0..count).map(|_| (numbers.float() + shift) * scale).collect::<Vec<_>>())
}

/// Uploads the buffers, runs the Nest on `threads` threads with operand `i` bound to buffer `args[i]`, and
/// downloads all buffers.
pub(super) fn run_on(threads: usize, nest: &Nest, buffers: &[Vec<u8>], args: &[usize]) -> Vec<Vec<u8>> {
    try_run(threads, nest, buffers, args).unwrap()
}

pub(super) fn try_run(
    threads: usize,
    nest: &Nest,
    buffers: &[Vec<u8>],
    args: &[usize],
) -> DeviceResult<Vec<Vec<u8>>> {
    try_run_from(bind::SHARE_FROM, threads, nest, buffers, args)
}

/// Same as [`try_run`], with threads sharing runs from `share_from` estimated nanoseconds on.
fn try_run_from(
    share_from: f64,
    threads: usize,
    nest: &Nest,
    buffers: &[Vec<u8>],
    args: &[usize],
) -> DeviceResult<Vec<Vec<u8>>> {
    let device = HostDevice { share_from, ..HostDevice::new(threads) };
    let nest = Verified::new(nest.clone()).map_err(|e| DeviceError::driver("host", "compile", e))?;
    let module = device.compile(&[nest], Numerics::default())?;
    let mut regions = Vec::new();
    for buffer in buffers {
        let memory = device.allocate(buffer.len() as u64)?;
        let region = Region { memory, offset: 0, bytes: buffer.len() as u64 };
        device.upload(buffer, &region)?;
        regions.push(region);
    }
    let args = args.iter().map(|a| regions[*a].clone()).collect();
    device.record(&module, &[Command::Launch { nest: 0, args }])?.replay()?;
    let mut out: Vec<Vec<u8>> = buffers.to_vec();
    for (region, out) in regions.iter().zip(&mut out) {
        device.download(region, out)?;
    }
    Ok(out)
}

/// Builds a phase.
pub(super) struct Writer(pub(super) Phase);

impl Writer {
    pub(super) fn new(kind: PhaseKind) -> Writer {
        Writer(Phase { kind, block: Block::default(), folds: Vec::new(), stores: Vec::new() })
    }

    pub(super) fn inst(&mut self, inst: Inst) -> Value {
        self.0.block.push(inst)
    }

    pub(super) fn constant(&mut self, dtype: DType, value: f64) -> Value {
        self.inst(Inst::Const(Scalar::from_f64(dtype, value)))
    }

    /// Loads at one index per dimension: `axes[d]` is the axis of dimension `d`.
    pub(super) fn load(&mut self, operand: usize, axes: &[usize]) -> Value {
        self.inst(Inst::Load { operand, index: axes.iter().map(|a| Index::axis(*a)).collect() })
    }

    pub(super) fn op(&mut self, op: ScalarOp, args: &[Value]) -> Value {
        self.inst(Inst::Op { op, args: args.to_vec() })
    }

    pub(super) fn cast(&mut self, to: DType, value: Value) -> Value {
        self.inst(Inst::Cast { to, value })
    }

    pub(super) fn fold(&mut self, fold: Fold, value: Value, index: Option<Value>) {
        self.0.folds.push(FoldOf { fold, value, index });
    }

    pub(super) fn store(&mut self, operand: usize, axes: &[usize], value: Value) {
        let index = axes.iter().map(|a| Index::axis(*a)).collect();
        self.0.stores.push(Store { operand, index, value, when: None, add: false });
    }
}

pub(super) fn nest(axes: &[u64], grid: usize, operands: Vec<Operand>, phases: Vec<Writer>) -> Nest {
    let phases = phases.into_iter().map(|w| w.0).collect();
    Nest { name: "test".into(), axes: axes.to_vec(), grid, operands, phases }
}

/// Asserts that the device agrees with the reference interpreter, with the same bits on one thread and on
/// several; floats may differ from the reference by `tolerance` relative to the larger of the value and 1.
/// Operand `i` is bound to buffer `args[i]`; where two share one, the reference reads the values from before.
pub(super) fn agrees(nest: &Nest, buffers: &[Vec<u8>], args: &[usize], tolerance: f64) {
    let mut want: Vec<Vec<u8>> = args.iter().map(|a| buffers[*a].clone()).collect();
    interpret(nest, &mut want).unwrap();
    let alone = run_on(1, nest, buffers, args);
    for threads in [2, 4] {
        assert!(
            alone == run_on(threads, nest, buffers, args),
            "{threads} threads compute something else: {nest:?}"
        );
    }
    for (at, operand) in nest.operands.iter().enumerate().filter(|(_, o)| o.written) {
        let (got, want) = (numbers(operand.dtype, &alone[args[at]]), numbers(operand.dtype, &want[at]));
        for (i, (g, w)) in got.iter().zip(&want).enumerate() {
            let near = (g - w).abs() <= tolerance * w.abs().max(1.0);
            assert!(near || g == w || g.is_nan() && w.is_nan(), "element {i} is {g}, not {w}: {nest:?}");
        }
    }
}
