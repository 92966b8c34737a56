//! Arrays of more than 2^31 elements: planned and printed, but not run, so no memory is allocated.
//!
//! Every kernel for such an array must use 64-bit index arithmetic, and the addresses of the first and last
//! points of a Nest must be within the operands.

use std::sync::{Arc, Mutex, PoisonError};
use workalike::engine::device::{Device, DeviceModule, DeviceResult, Memory, Numerics, Properties};
use workalike::kernels::nest::{Index, Inst, Nest};
use workalike::kernels::print::{Dialect, ForSizes, Target, print};
use workalike::kernels::verify::Verified;
use workalike::prelude::*;
use workalike::{Result, idx};
use workalike_suite::snapshot::Paper;

/// More elements than 31 bits can count.
const FAR: u128 = 1 << 31;

/// A device without hardware that records the Nests to compile.
#[derive(Debug)]
struct Keeps {
    inner: Arc<dyn Device>,
    properties: Properties,
    nests: Mutex<Vec<Verified>>,
}

impl Device for Keeps {
    fn properties(&self) -> &Properties {
        &self.properties
    }
    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        self.inner.allocate(bytes)
    }

    workalike_suite::forwards_to_inner!();

    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        self.nests.lock().unwrap_or_else(PoisonError::into_inner).extend(nests.iter().cloned());
        self.inner.compile(nests, numerics)
    }
}

/// Changes a device's properties to those of another kind.
type Like = fn(&mut Properties);

/// The Nests of a call on such a device.
fn nests(f: &Function, args: Args, like: Like) -> Result<Vec<Verified>> {
    let inner = Paper { dialect: Dialect::OpenClC, cpu: false, matmul: false }.open()?;
    let mut properties =
        Properties { memory: 1 << 46, largest_allocation: 1 << 45, ..inner.properties().clone() };
    like(&mut properties);
    let device = Arc::new(Keeps { inner, properties, nests: Mutex::default() });
    let open: Arc<dyn Device> = device.clone();
    let mut simulator = f.optimize(open.with_options(Options { strict: true, ..Options::default() }))?;
    simulator.prepare(args)?;
    Ok(std::mem::take(&mut *device.nests.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// The smallest and the largest value of an index over all points, without its run-time parts.
fn ends(index: &Index, axes: &[u64]) -> [i128; 2] {
    let mut ends = [i128::from(index.offset); 2];
    for &(axis, coefficient) in &index.terms {
        let far = i128::from(coefficient) * (i128::from(axes[axis]) - 1);
        ends[usize::from(far > 0)] += far;
    }
    ends
}

/// Checks every address of a Nest; returns the largest.
fn check_addresses(what: &str, nest: &Nest) -> i128 {
    let mut largest = 0;
    for phase in &nest.phases {
        let loads = phase.block.insts.iter().filter_map(|inst| match inst {
            Inst::Load { operand, index } => Some((*operand, index)),
            _ => None,
        });
        for (operand, index) in loads.chain(phase.stores.iter().map(|s| (s.operand, &s.index))) {
            let operand = &nest.operands[operand];
            let mut address = 0i128;
            for ((index, &extent), &stride) in index.iter().zip(&operand.shape).zip(&operand.strides) {
                // A position with a run-time part may be anywhere within the dimension.
                let [low, high] = if index.dynamic.is_some() {
                    [0, i128::from(extent) - 1]
                } else {
                    ends(index, &nest.axes)
                };
                assert!(
                    low >= 0 && high < i128::from(extent),
                    "{what}: {low}..={high} of {extent} in {nest:?}"
                );
                address += high * i128::from(stride).abs();
            }
            assert!(i64::try_from(address).is_ok(), "{what}: address {address}");
            largest = largest.max(address);
        }
    }
    largest
}

/// Whether a printed Nest has 32-bit points or positions, in either language.
fn counts_in_32(nest: &Verified) -> bool {
    let printed = |(dialect, cpu)| {
        let lanes = if cpu { 8 } else { 100 * 2048 };
        let target = Target {
            dialect,
            max_group: 256,
            local_memory: 48 << 10,
            lanes,
            cpu,
            fast: false,
            sizes: ForSizes::One,
        };
        let text = print(std::slice::from_ref(nest), &target).text;
        // Positions along axes are a0, a1, ..., points p.
        let kernel = text.split("k0_").last().unwrap_or_default();
        ["i32 a0", "i32 a1", "i32 a2", "u32 p "].iter().any(|name| kernel.contains(name))
    };
    [(Dialect::OpenClC, false), (Dialect::OpenClC, true), (Dialect::CudaCpp, false)].into_iter().any(printed)
}

fn functions() -> Result<Vec<(&'static str, Function)>> {
    let (x, y, i) = (matrix::<f32>("x"), matrix::<f32>("y"), vector::<i64>("i"));
    let make = |output: Variable| function([&x, &y, &i]).allow_unused_inputs().output(output).compile();
    Ok(vec![
        ("elementwise", make((&x + &y).tanh())?),
        ("row", make(&x * &y.index(idx![0]))?),
        ("transposed", make(x.t() + &y.index(idx![0, 0]))?),
        ("sum over rows", make(x.sum(0))?),
        ("sum over columns", make(x.sum(1))?),
        ("sum", make(x.sum(..))?),
        ("argmax", make(x.argmax(1))?),
        ("take", make(x.take(&i, 0))?),
        ("concatenate", make(workalike::ops::concatenate([&x, &y], 0))?),
        ("strided", make(x.index(idx![.., workalike::ops::Ix::from(..).step(-2)]))?),
        ("cumsum", make(x.cumsum(1))?),
        ("inc", make(x.inc_index(idx![&i], y.take(&i, 0)))?),
    ])
}

#[test]
fn kernels_over_more_than_31_bits_count_in_64() -> Result<()> {
    let shapes: [[usize; 2]; 3] = [[1 << 16, (1 << 16) + 3], [3, 1 << 31], [(1 << 31) + 7, 2]];
    let devices: [(&str, Like); 2] =
        [("a GPU", |_| {}), ("a host", |p| (p.units, p.lanes, p.interprets) = (2, 2, true))];
    for (name, f) in functions()? {
        for shape in shapes {
            for (device, like) in devices {
                let args = args![of_shape::<f32>(&shape)?, of_shape::<f32>(&shape)?, of_shape::<i64>(&[5])?];
                let what = format!("{name} of {shape:?} on {device}");
                let made = nests(&f, args, like)?;
                assert!(!made.is_empty(), "{what}: no kernel");
                let mut reached = 0;
                for nest in &made {
                    let last = check_addresses(&what, nest);
                    reached = reached.max(last);
                    let points = |axes: &[u64]| axes.iter().map(|&e| u128::from(e)).product::<u128>();
                    let far = last as u128 >= FAR || points(&nest.axes[..nest.grid]) >= FAR;
                    assert!(!(far && counts_in_32(nest)), "{what}: 32 bits where 64 are needed: {nest:?}");
                }
                // Some kernel accesses the last elements.
                assert!(reached as u128 >= FAR, "{what}: reaches {reached} only");
            }
        }
        let small = args![of_shape::<f32>(&[40, 70])?, of_shape::<f32>(&[40, 70])?, of_shape::<i64>(&[5])?];
        // Smaller arrays use 32 bits, so the search above looks for the right words.
        let made = nests(&f, small, |_| {})?;
        for nest in &made {
            check_addresses(name, nest);
        }
        assert!(made.iter().any(counts_in_32), "{name}: 64 bits where 32 are enough");
    }
    Ok(())
}
