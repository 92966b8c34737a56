//! Printed kernels against the interpreter: products of matrices, in the form that this device takes and in
//! that of GPUs of several sizes, whatever the device is.

use super::{apart, device};
use crate::device::OpenClDevice;
use crate::gpu_schedule_tests::corpus as nests;
use crate::gpu_schedule_tests::corpus::Case;
use crate::program::{BuildOptions, OpenClModule};
use std::sync::Arc;
use workalike_device::{Command, Device, DeviceModule, Numerics, Region};
use workalike_kernels::DType;
use workalike_kernels::interpret::interpret;
use workalike_kernels::print::{Dialect, ForSizes, Target, print};
use workalike_kernels::verify::Verified;

/// A GPU with `lanes` concurrent work items; with few, tiles are large.
pub(super) fn gpu(lanes: u64) -> Target {
    Target {
        dialect: Dialect::OpenClC,
        max_group: 256,
        local_memory: 32 << 10,
        lanes,
        cpu: false,
        fast: false,
        sizes: ForSizes::One,
    }
}

fn cpu(local_memory: u64) -> Target {
    Target { lanes: 2, cpu: true, local_memory, ..gpu(0) }
}

/// The operands of each case after the kernels printed for `target` have run.
fn run(device: &OpenClDevice, cases: &[Case], target: &Target) -> Vec<Vec<Vec<u8>>> {
    let nests: Vec<_> = cases.iter().map(|case| Verified::new(case.nest.clone()).unwrap()).collect();
    let source = print(&nests, target);
    let module: Arc<dyn DeviceModule> =
        Arc::new(OpenClModule::build(device.context(), BuildOptions::default(), source).unwrap());
    let each = cases.iter().enumerate().map(|(nest, case)| {
        let upload = |bytes: &Vec<u8>| {
            let region = Region::whole(device.allocate(bytes.len().max(1) as u64).unwrap());
            let filled = if bytes.is_empty() { &vec![0] } else { bytes };
            device.upload(filled, &region).unwrap();
            region
        };
        let args: Vec<Region> = case.operands.iter().map(upload).collect();
        let launch = Command::Launch { nest, args: args.clone() };
        device.record_unchecked(&module, &[launch]).unwrap().replay().unwrap();
        let download = |(region, bytes): (&Region, &Vec<u8>)| {
            let mut there = vec![0; region.bytes as usize];
            device.download(region, &mut there).unwrap();
            there.truncate(bytes.len());
            there
        };
        args.iter().zip(&case.operands).map(download).collect()
    });
    each.collect()
}

/// The number of steps between two values of a float dtype, or of integers.
fn distance(dtype: DType, a: &[u8], b: &[u8]) -> u64 {
    let ordered = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(wide) as i64;
        let sign = 1i64.wrapping_shl(8 * dtype.size() as u32 - 1);
        if dtype.is_float() && bits & sign != 0 { sign.wrapping_sub(bits) } else { bits }
    };
    ordered(a).abs_diff(ordered(b))
}

fn check(cases: &[Case], targets: &[Target]) {
    let Some(device) = device() else { return };
    let wanted: Vec<_> = cases
        .iter()
        .map(|case| {
            let mut operands = case.operands.clone();
            interpret(&case.nest, &mut operands).unwrap();
            operands
        })
        .collect();
    let mut wrong = Vec::new();
    for target in targets {
        for ((case, wanted), found) in cases.iter().zip(&wanted).zip(run(&device, cases, target)) {
            for (at, operand) in case.nest.operands.iter().enumerate() {
                let size = operand.dtype.size();
                let pairs = wanted[at].chunks(size).zip(found[at].chunks(size));
                let far = |(a, b): (&[u8], &[u8])| distance(operand.dtype, a, b) > case.ulp.into();
                let bad: Vec<usize> =
                    pairs.enumerate().filter(|(_, pair)| far(*pair)).map(|(i, _)| i).collect();
                if let Some(first) = bad.first() {
                    let name = &case.nest.name;
                    let lanes = target.lanes;
                    let (want, got) =
                        (&wanted[at][first * size..][..size], &found[at][first * size..][..size]);
                    wrong.push(format!(
                        "{name}, {lanes} lanes: operand {at}: {} wrong, the first at {first}: {want:?} {got:?}",
                        bad.len()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn products_of_matrices_on_gpus() {
    apart(|| check(&nests::products(true), &[gpu(1 << 18)]));
}

#[test]
fn products_of_matrices_on_processors() {
    apart(|| check(&nests::products(true), &[cpu(1 << 20)]));
}

/// Large tiles, small groups, and arrays that hold little.
fn narrow() -> (Vec<Case>, [Target; 3]) {
    let narrow = Target { max_group: 64, local_memory: 4 << 10, ..gpu(1 << 18) };
    let some = nests::products(true).into_iter();
    let some =
        some.filter(|case| !case.nest.name.starts_with("product ") || case.nest.name.contains("float"));
    (some.collect(), [gpu(4096), narrow, cpu(8 << 10)])
}

#[test]
fn products_of_matrices_by_large_tiles() {
    let (cases, targets) = narrow();
    apart(|| check(&cases, &targets[..1]));
}

#[test]
fn products_of_matrices_by_small_groups() {
    let (cases, targets) = narrow();
    apart(|| check(&cases, &targets[1..]));
}

/// Sums that are made of sums.
#[test]
fn long_products() {
    let long = nests::product(DType::F32, [4, 5, 9000], [false; 2]);
    check(&[long], &[Target { max_group: 8, ..gpu(1 << 18) }]);
}

/// Not a test but a measurement: `cargo test -p workalike-opencl --lib speed -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn speed_of_products() {
    let Some(device) = device() else { return };
    for [m, n, k] in
        [[512, 512, 512], [20, 500, 784], [784, 500, 20], [20, 10, 500], [32, 256, 256], [1024, 1024, 1024]]
    {
        let case = nests::product(DType::F32, [m, n, k], [false; 2]);
        let nest = Verified::new(case.nest.clone()).unwrap();
        let module = device.compile(&[nest], Numerics::default()).unwrap();
        let args: Vec<Region> = case
            .operands
            .iter()
            .map(|bytes| {
                let region = Region::whole(device.allocate(bytes.len() as u64).unwrap());
                device.upload(bytes, &region).unwrap();
                region
            })
            .collect();
        let mut recording = device.record_unchecked(&module, &[Command::Launch { nest: 0, args }]).unwrap();
        let mut best = f64::MAX;
        for _ in 0..20 {
            let start = std::time::Instant::now();
            for _ in 0..10 {
                recording.replay().unwrap();
            }
            device.synchronize().unwrap();
            best = best.min(start.elapsed().as_secs_f64() / 10.0);
        }
        let flops = 2.0 * (m * n * k) as f64;
        println!("{m} x {n} x {k}: {:.1} us, {:.1} GFLOP/s", best * 1e6, flops / best * 1e-9);
    }
}
