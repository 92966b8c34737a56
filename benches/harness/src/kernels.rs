//! Times kernels of a program's own: elementwise, reduction, scan, and the launch itself.

use crate::measure::{BenchRow, repeated};
use std::sync::Arc;
use workalike::custom::{
    ElementwiseKernel, Grid, KernelOp, KernelSource, Launch, Module, ReductionKernel, ScanKernel, kernel_args,
};
use workalike::engine::device::Device;
use workalike::prelude::*;
use workalike_cli_common::report::{Failure, Result};

/// Elements on a large device, and on a CPU.
const ELEMENTS: [usize; 2] = [1 << 26, 1 << 20];

/// What a row measures: bytes, flops, launches.
struct WorkCounts(f64, f64, u64);

/// The rows; none on a device that compiles no C.
pub(crate) fn rows(id: &str, device: &Arc<dyn Device>) -> Result<Vec<(String, BenchRow)>> {
    let properties = device.properties();
    if properties.every_op {
        return Ok(vec![]);
    }
    let n = ELEMENTS[usize::from(!properties.is_wide())];
    let at = |work: &str| format!("{work} n={n}");
    let bytes = 4.0 * n as f64;
    // Small integers: sums of them are exact in any order.
    let numbers: Vec<f32> = (0..n).map(|i| ((i * 7 + i / 13) % 5) as f32 - 2.0).collect();
    let (x, y) = (DeviceArray::upload(device, &numbers)?, DeviceArray::zeros(device, DType::F32, &[n])?);
    let mut rows = BenchRows { id, rows: vec![] };
    let done = || device.synchronize().map_err(workalike::Error::from);

    let elementwise =
        ElementwiseKernel::new(device, "fused", "f32 a, const f32 *x, f32 *y", "y[i] = a * x[i] * x[i] + 1")?;
    let mut run = |calls: u64| -> Result<()> {
        for _ in 0..calls {
            elementwise.call(kernel_args![0.5, &x, &y])?;
        }
        Ok(done()?)
    };
    rows.add(at("elementwise"), WorkCounts(2.0 * bytes, 3.0 * n as f64, 1), &mut run, &y)?;

    let out = DeviceArray::zeros(device, DType::F32, &[])?;
    let dot = ReductionKernel::new(device, "dot", "const f32 *x", (DType::F32, "0"), "x[i] * x[i]", "a + b")?;
    let mut launch = dot.prepare(kernel_args![&x], &out)?;
    rows.add(
        at("reduction"),
        WorkCounts(bytes, 2.0 * n as f64, 2),
        &mut |calls| replay(&mut launch, calls, device),
        &out,
    )?;

    let params = "const f32 *x, f32 *y";
    let sums = ScanKernel::new(device, "sums", params, (DType::F32, "0"), "x[i]", "a + b", "y[i] = item")?;
    let mut launch = sums.prepare(kernel_args![&x, &y])?;
    rows.add(
        at("scan"),
        WorkCounts(2.0 * bytes, n as f64, if properties.forward_progress { 1 } else { 3 }),
        &mut |calls| replay(&mut launch, calls, device),
        &y,
    )?;

    rows.launches(device, &out)?;
    rows.clear(device)?;
    rows.steps(device)?;
    Ok(rows.rows)
}

fn replay(launch: &mut Launch, calls: u64, device: &Arc<dyn Device>) -> Result<()> {
    for _ in 0..calls {
        launch.run()?;
    }
    Ok(device.synchronize().map_err(workalike::Error::from)?)
}

/// The rows so far.
struct BenchRows<'a> {
    id: &'a str,
    rows: Vec<(String, BenchRow)>,
}

impl BenchRows<'_> {
    /// The host's time of a launch.
    fn launches(&mut self, device: &Arc<dyn Device>, out: &DeviceArray) -> Result<()> {
        let text = "KERNEL void nothing(GLOBAL_MEM f32 *y, f32 by) { if (by != 0) y[GID_0] = by; }";
        let nothing = Module::new(device, KernelSource::dialect(text).map_err(workalike::Error::from)?)?
            .kernel("nothing")?;
        let mut launch = nothing.prepare(Grid::groups([1], [32]), kernel_args![out, 0.0])?;
        self.add(
            "prepared launch".into(),
            WorkCounts(0.0, 0.0, 1),
            &mut |calls| replay(&mut launch, calls, device),
            out,
        )?;
        let mut run = |calls: u64| -> Result<()> {
            for _ in 0..calls {
                nothing.launch(Grid::groups([1], [32]), kernel_args![out, 0.0])?;
            }
            Ok(device.synchronize().map_err(workalike::Error::from)?)
        };
        self.add("launch".into(), WorkCounts(0.0, 0.0, 1), &mut run, out)?;
        Ok(())
    }

    /// The host's time of a small array of zeros, as every `Out` needs one.
    fn clear(&mut self, device: &Arc<dyn Device>) -> Result<()> {
        let zeros = || DeviceArray::zeros(device, DType::F32, &[1024]);
        let mut run = |calls: u64| -> Result<()> {
            for _ in 0..calls {
                zeros()?;
            }
            Ok(device.synchronize().map_err(workalike::Error::from)?)
        };
        self.add("zeros n=1024".into(), WorkCounts(0.0, 0.0, 1), &mut run, &zeros()?)
    }

    /// A step of `run_n` with a built-in op, and with the same as a [`KernelOp`], which has a launch of its
    /// own.
    fn steps(&mut self, device: &Arc<dyn Device>) -> Result<()> {
        let x = vector::<f32>("x");
        let text = "KERNEL void decay(GLOBAL_MEM const f32 *x, u64 n, GLOBAL_MEM f32 *y)
            { for (u64 i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0) y[i] = 0.5f * x[i] + 1; }";
        let y = (0.5 * &x + 1.0).named("y");
        let source = KernelSource::dialect(text).map_err(workalike::Error::from)?;
        let n = x.extent(0);
        let decay =
            KernelOp::new("decay", source, [&x], [&y])?.launch("decay", Grid::items([&n]), [&x, &n, &y])?;
        for variant in ["step", "step of a KernelOp"] {
            let state = shared("state", vec![0f32; 1024]);
            let next = if variant == "step" { 0.5 * &state + 1.0 } else { decay.apply([&state]).remove(0) };
            let no_inputs: [&Variable; 0] = [];
            let f = function(no_inputs).update(&state, &next).compile()?;
            let mut simulator = f.optimize(device.clone())?;
            simulator.run_n(3, args![])?;
            let result = DeviceArray::upload(device, simulator.get_value("state")?)?;
            if result.to_value()?.to_vec::<f32>()? != [1.75; 1024] {
                return Err(Failure::new(format!("{variant}: three steps from 0 do not end at 1.75")));
            }
            let mut run = |calls: u64| -> Result<()> {
                simulator.run_n(calls, args![])?;
                Ok(device.synchronize().map_err(workalike::Error::from)?)
            };
            self.add(variant.into(), WorkCounts(0.0, 0.0, 1), &mut run, &result)?;
        }
        Ok(())
    }

    /// Times `run`, which makes a number of calls and waits for them.
    fn add(
        &mut self,
        variant: String,
        WorkCounts(bytes, flops, launches): WorkCounts,
        run: &mut dyn FnMut(u64) -> Result<()>,
        result: &DeviceArray,
    ) -> Result<()> {
        let times = repeated(run)?;
        let (Some(first), Some(last)) = (times.first(), times.last()) else {
            return Err(Failure::new("no measurement"));
        };
        let row = BenchRow {
            work: "kernels".into(),
            variant: variant.clone(),
            device: self.id.into(),
            lib: "workalike",
            us: times[times.len() / 2],
            us_min: *first,
            us_max: *last,
            bytes,
            flops,
            launches,
            checksum: result.to_value()?.to_f64s().iter().sum(),
        };
        self.rows.push((variant, row));
        Ok(())
    }
}
