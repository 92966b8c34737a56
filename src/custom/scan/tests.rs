//! Scans with look-back on a processor, and the text of both kinds of scan.

use super::{ScanGeometry, ScanKernel, ScanPasses, ScanText};
use crate::custom::elementwise::ElementwiseKernel;
use crate::custom::reduction::ReductionKernel;
use crate::kernel_args;
use crate::prelude::*;
use std::path::Path;
use std::sync::Arc;
use workalike_device::{Device, Open};
use workalike_kernels::print::{Dialect, Target};

fn text(dtype: DType, scan: &str, output: &str) -> ScanText {
    let [params, neutral] = match dtype {
        DType::F32 => ["const f32 *x, const u8 *starts, f32 *y", "0"],
        _ => ["const i64 *x, const u8 *starts, i64 *y", "-1"],
    };
    let [name, params, neutral, input, scan, output] =
        ["running", params, neutral, "x[i]", scan, output].map(String::from);
    ScanText { name, params, dtype, neutral, input, scan, output, starts: String::new() }
}

/// The texts that kernels from expressions have on a GPU, against files; with `BLESS` they become the files.
#[test]
fn texts_are_what_the_files_say() {
    let segmented =
        ScanText { starts: "starts[i]".into(), ..text(DType::F32, "a + b", "y[i] = prev_item + item") };
    let sizes = |each| ScanGeometry { group: 256, each, most: 1056 };
    let sources = [
        ("elementwise", ElementwiseKernel::source("double_it", "const f32 *x, f32 *y", "y[i] = 2 * x[i]")),
        (
            "reduction",
            ReductionKernel::source(256, "least", "const i32 *x", (DType::I32, "7"), "x[i]", "min(a, b)"),
        ),
        ("scan_one_pass", segmented.source(ScanPasses::One, sizes(32))),
        ("scan_three_passes", segmented.source(ScanPasses::Three, sizes(8))),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let mut differing = Vec::new();
    for (name, source) in sources {
        for (dialect, file) in [
            (Dialect::CudaCpp, format!("cuda_custom/{name}.cu")),
            (Dialect::OpenClC, format!("opencl_custom/{name}.cl")),
        ] {
            let target = Target {
                dialect,
                max_group: 256,
                local_memory: 48 << 10,
                lanes: 1 << 16,
                cpu: false,
                fast: false,
                sizes: Default::default(),
            };
            let printed = source.as_ref().unwrap().printed(&target).unwrap();
            let path = folder.join(&file);
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(&path, &printed).unwrap();
            }
            if std::fs::read_to_string(&path).unwrap_or_default() != printed {
                differing.push(file);
            }
        }
    }
    assert!(differing.is_empty(), "run BLESS=1 cargo test -p workalike --lib custom: {differing:?}");
}

/// A processor, whose groups run in order on each thread, so that scans with look-back end. None where the
/// build or the machine has no OpenCL, which CI has.
fn processor() -> Option<Arc<dyn Device>> {
    match crate::device("opencl").and_then(|backend| Ok(backend.open()?)) {
        Ok(device) => Some(device).filter(|device| !device.properties().is_wide()),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "CI has an OpenCL driver: {error}");
            None
        }
    }
}

fn kernel(device: &Arc<dyn Device>, dtype: DType, scan: &str, output: &str) -> ScanKernel {
    ScanKernel::of(device, text(dtype, scan, output), ScanPasses::One).expect("a scan that compiles")
}

/// The last of two that is not -1: an operation that is not commutative.
const LAST: &str = "b < 0 ? a : b";

fn given(n: usize) -> (Vec<i64>, Vec<u8>) {
    let x = (0..n as i64).map(|i| if i % 7 == 3 || i % 1000 > 300 { i } else { -1 });
    (x.collect(), (0..n).map(|i| u8::from(i % 611 == 5)).collect())
}

fn expected(x: &[i64], starts: Option<&[u8]>, inclusive: bool) -> Vec<i64> {
    let mut running = -1;
    let step = |(i, x): (usize, &i64)| {
        if starts.is_some_and(|starts| starts[i] != 0) {
            running = -1;
        }
        let before = running;
        running = if *x < 0 { running } else { *x };
        if inclusive { running } else { before }
    };
    x.iter().enumerate().map(step).collect()
}

#[test]
fn one_pass_scans_segments_in_order() {
    let Some(device) = processor() else { return };
    let inclusive = kernel(&device, DType::I64, LAST, "y[i] = item");
    let exclusive = kernel(&device, DType::I64, LAST, "y[i] = prev_item");
    let segmented = inclusive.segmented("starts[i]").unwrap();
    for n in [0, 1, 63, 64, 65, 5_000, 300_001] {
        let (x, starts) = given(n);
        let array = |value: Value| DeviceArray::upload(&device, value).unwrap();
        let (on_device, starts_there) = (array(x.clone().into()), array(starts.clone().into()));
        for (kernel, starts, is_inclusive) in
            [(&inclusive, None, true), (&exclusive, None, false), (&segmented, Some(&starts[..]), true)]
        {
            let y = DeviceArray::zeros(&device, DType::I64, &[n]).unwrap();
            kernel.call(kernel_args![&on_device, &starts_there, &y]).unwrap();
            let found = y.to_value().unwrap().to_vec::<i64>().unwrap();
            assert!(found == expected(&x, starts, is_inclusive), "{n}: {is_inclusive} {starts:?}");
        }
    }
}

#[test]
fn one_pass_is_repeatable() {
    let Some(device) = processor() else { return };
    let sums = kernel(&device, DType::F32, "a + b", "y[i] = item");
    let n = 200_000;
    let x: Vec<f32> = (0..n).map(|i| ((i * 7919) % 1013) as f32 * 1e-3).collect();
    let x = DeviceArray::upload(&device, x).unwrap();
    let starts = DeviceArray::zeros(&device, DType::U8, &[n]).unwrap();
    let y = DeviceArray::zeros(&device, DType::F32, &[n]).unwrap();
    let mut launch = sums.prepare(kernel_args![&x, &starts, &y]).unwrap();
    let mut first = None;
    for _ in 0..20 {
        y.fill(0f32).unwrap();
        launch.run().unwrap();
        let found = y.to_value().unwrap().to_vec::<f32>().unwrap();
        let first = first.get_or_insert(found.clone());
        let other = first.iter().zip(&found).position(|(a, b)| a != b);
        assert_eq!(other.map(|at| (at, first[at], found[at])), None);
    }
}
