//! The first result: a new process opens a device, loads a file, re-hosts the Function and calls it once.

use crate::measure::BenchRow;
use crate::workloads::{self, WorkloadSettings};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process;
use std::time::Instant;
use workalike::engine::Open;
use workalike::engine::device::{Command, Device, Matmul, Numerics, Region};
use workalike::prelude::*;
use workalike_cli_common::report::{ErrorContext, Failure, Result, say_json};

/// The variables that name the cache folders of drivers and compilers. Empty folders make a cold start.
const CACHES: &[&str] = &["XDG_CACHE_HOME", "POCL_CACHE_DIR", "CUDA_CACHE_PATH"];

/// In the new process: prints how long each part took, in microseconds.
pub(crate) fn child(file: &Path, place: impl Open + Copy) -> Result<()> {
    let mut last = Instant::now();
    let mut lap = || {
        let us = last.elapsed().as_secs_f64() * 1e6;
        last = Instant::now();
        us
    };
    let device = place.open()?;
    // Some drivers create the context at the first copy.
    let region = Region { bytes: 1024, ..Region::whole(device.allocate(4096)?) };
    device.upload(&[0; 1024], &region)?;
    device.synchronize()?;
    let open = lap();
    first_product(device.as_ref(), &region)?;
    let handles = lap();
    let function = Function::load(file)?;
    let load = lap();
    let mut simulator = function.optimize(device)?;
    let outputs = simulator.call(args![])?;
    let call = lap();
    let sum: f64 = outputs.iter().map(|(_, value)| value.to_f64s().iter().sum::<f64>()).sum();
    say_json(&json!({ "open": open, "handles": handles, "load": load, "call": call, "sum": sum }).to_string())
}

/// The first matrix product on a device with a library for products: it initialises the library.
fn first_product(device: &dyn Device, zeros: &Region) -> Result<()> {
    let product = Matmul {
        dtype: DType::F32,
        batch: 1,
        m: 16,
        n: 16,
        k: 16,
        a: [256, 16, 1],
        b: [256, 16, 1],
        fast: false,
    };
    if device.library(&product, None).is_none() {
        return Ok(());
    }
    let result = Region { bytes: 1024, ..Region::whole(device.allocate(4096)?) };
    let module = device.compile(&[], Numerics::default())?;
    let command = Command::library(product, [zeros.clone(), zeros.clone()], result);
    device.record(&module, &[command])?.replay()?;
    Ok(device.synchronize()?)
}

/// The name and the row of each part, with cold and with warm caches. Opening the device and the library
/// handles are rows apart from the sum of loading the file to the first result.
pub(crate) fn rows(id: &str, prefix: &[&str]) -> Result<Vec<(String, BenchRow)>> {
    let mlp = workloads::named("mlp").ok_or_else(|| Failure::new("there is no workload mlp"))?;
    let function = (mlp.build)(&WorkloadSettings::of(mlp, false, [])?)?;
    let want = function.fork()?.call_reference(args![])?[0].to_f64s().iter().sum::<f64>();
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("mlp.walk");
    function.save(&file)?;
    let mut rows = Vec::new();
    for caches in ["cold", "warm"] {
        let mut command = process::Command::new(std::env::current_exe().during("this program's own file")?);
        command.args(prefix).args(["--device", id, "--first-result"]).arg(&file);
        // The second process finds the first one's caches.
        command.envs(CACHES.iter().map(|cache| (cache, folder.path().join(cache))));
        let output = command.output().during("a new process")?;
        if !output.status.success() {
            return Err(Failure::new(format!("a new process: {}", String::from_utf8_lossy(&output.stderr))));
        }
        let said: Json = serde_json::from_slice(&output.stdout)?;
        let us = |part: &str| said[part].as_f64().unwrap_or(f64::NAN);
        if (us("sum") - want).abs() > 1e-3 * want.abs() {
            return Err(Failure::new(format!("the first result is {}, not {want}", us("sum"))));
        }
        let parts = [
            ("open device", us("open")),
            ("library handles", us("handles")),
            ("load file", us("load")),
            ("first call", us("call")),
        ];
        for (part, us) in parts {
            let variant = format!("{caches}: {part}");
            let row = BenchRow {
                work: "first_result".into(),
                variant: variant.clone(),
                device: id.into(),
                lib: "workalike",
                us,
                us_min: us,
                us_max: us,
                bytes: 0.0,
                flops: 0.0,
                launches: 0,
                checksum: said["sum"].as_f64().unwrap_or(f64::NAN),
            };
            rows.push((variant, row));
        }
    }
    Ok(rows)
}
