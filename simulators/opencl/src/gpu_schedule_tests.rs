//! Kernels printed for GPUs, run on any device, against the interpreter.
//!
//! The printer chooses other schedules for a CPU, so continuous integration would not run these. Here the
//! target is a GPU of several sizes, because the schedule depends on the size.

use crate::device::OpenClDevice;
use crate::program::{BuildOptions, OpenClModule};
use crate::tests::{apart, device};
use std::sync::Arc;
use workalike_device::{Command, Device, DeviceModule, Region};
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::interpret::interpret;
use workalike_kernels::print::{Dialect, ForSizes, Target, print};
use workalike_kernels::verify::Verified;

#[path = "../../../kernels/tests/corpus/mod.rs"]
pub(crate) mod corpus;

use corpus::Case;

fn gpu(lanes: u64, max_group: u32) -> Target {
    Target {
        dialect: Dialect::OpenClC,
        max_group,
        local_memory: 32 << 10,
        lanes,
        cpu: false,
        fast: false,
        sizes: ForSizes::One,
    }
}

/// Runs every case on the device with kernels for `target`, and compares the operands with the interpreter's.
fn check(device: &OpenClDevice, cases: &[Case], target: &Target) {
    let nests: Vec<_> = cases.iter().map(|case| Verified::new(case.nest.clone()).unwrap()).collect();
    let module =
        OpenClModule::build(device.context(), BuildOptions::default(), print(&nests, target)).unwrap();
    let module: Arc<dyn DeviceModule> = Arc::new(module);
    for (at, case) in cases.iter().enumerate() {
        let args: Vec<Region> = case
            .operands
            .iter()
            .map(|bytes| {
                let region = Region::whole(device.allocate(bytes.len().max(1) as u64).unwrap());
                let used = Region { bytes: bytes.len() as u64, ..region.clone() };
                device.upload(bytes, &used).unwrap();
                region
            })
            .collect();
        let launch = Command::Launch { nest: at, args: args.clone() };
        device.record_unchecked(&module, &[launch]).unwrap().replay().unwrap();
        let mut expected = case.operands.clone();
        interpret(&case.nest, &mut expected).unwrap();
        for (operand, (region, expected)) in args.iter().zip(&expected).enumerate() {
            let dtype = case.nest.operands[operand].dtype;
            let mut found = vec![0; expected.len()];
            device.download(&Region { bytes: found.len() as u64, ..region.clone() }, &mut found).unwrap();
            let pairs = found.chunks(dtype.size()).zip(expected.chunks(dtype.size()));
            for (element, (found, expected)) in pairs.enumerate() {
                let scalar = |bytes| Scalar::from_le_bytes(dtype, bytes).unwrap();
                let (found, expected) = (scalar(found), scalar(expected));
                assert!(
                    near(found, expected, case.ulp),
                    "{} as for {target:?}: operand {operand}, element {element} is {found}, not {expected}",
                    case.nest.name
                );
            }
        }
    }
}

/// Whether a result is accurate: equal to the expected one, both NaN, or at most `ulp` units in the last
/// place away.
fn near(found: Scalar, expected: Scalar, ulp: u32) -> bool {
    let dtype = found.dtype();
    if found.bits() == expected.bits() || !dtype.is_float() {
        return found.bits() == expected.bits();
    }
    let (a, b) = (found.to_f64(), expected.to_f64());
    let digits = match dtype {
        DType::F16 => 10,
        DType::BF16 => 7,
        DType::F32 => 23,
        _ => 52,
    };
    let unit = b.abs().max(1e-30).log2().floor().exp2() * 2f64.powi(-digits);
    a.is_nan() && b.is_nan() || a == b || (a - b).abs() <= f64::from(ulp) * unit.max(1e-30)
}

/// In a process of its own.
fn check_apart(cases: impl Fn() -> Vec<Case>, targets: &[Target]) {
    apart(|| {
        let Some(device) = device() else { return };
        targets.iter().for_each(|target| check(&device, &cases(), target));
    });
}

#[test]
fn shapes_as_on_gpus() {
    // A GPU that all but the smallest cases fill, and one of current size.
    check_apart(corpus::shapes, &[gpu(128, 64), gpu(1 << 18, 256)]);
}

#[test]
fn neighbours_as_on_gpus() {
    check_apart(corpus::neighbours, &[gpu(128, 64)]);
}

#[test]
fn folds_as_on_gpus() {
    check_apart(corpus::folds, &[gpu(1 << 12, 256)]);
}

#[test]
fn casts_as_on_gpus() {
    check_apart(corpus::casts, &[gpu(128, 256)]);
}

/// Kernels for any size of one target.
fn check_any_size(target: &Target) {
    let cases = || {
        let products = corpus::products(false).into_iter().step_by(3);
        corpus::shapes().into_iter().chain(products).collect::<Vec<Case>>()
    };
    check_apart(cases, &[Target { sizes: ForSizes::Any, ..*target }]);
}

#[test]
fn sizes_as_arguments_on_gpus() {
    check_any_size(&gpu(1 << 18, 256));
}

#[test]
fn sizes_as_arguments_on_processors() {
    check_any_size(&Target { lanes: 4, cpu: true, ..gpu(128, 64) });
}

#[test]
fn stores_that_add() {
    let Some(device) = device() else { return };
    let adds = |case: &Case| {
        let stores = case.nest.phases.iter().flat_map(|p| &p.stores).filter(|s| s.add);
        stores.map(|s| case.nest.operands[s.operand].dtype).all(|d| device.adds_to(d))
    };
    let cases: Vec<Case> = corpus::adds().into_iter().filter(adds).collect();
    assert!(!cases.is_empty(), "OpenCL 1.2 adds to 32-bit integers");
    let cpu = Target { lanes: 4, cpu: true, ..gpu(128, 64) };
    for target in [gpu(128, 64), gpu(1 << 18, 256), cpu] {
        check(&device, &cases, &target);
    }
}
