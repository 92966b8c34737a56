//! Launches as cudarc makes them, beside those of `workalike bench kernels`.

use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::compile_ptx;
use std::error::Error;
use std::time::Instant;

/// Launches of a repeat, and repeats: those of `workalike bench`.
const LAUNCHES: u32 = 2_000;
const REPEATS: usize = 7;

/// Prints a row of JSON: the host's time of a launch of the kernel that `workalike bench kernels` launches.
pub(crate) fn rows() -> Result<(), Box<dyn Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let text =
        r#"extern "C" __global__ void nothing(float *y, float by) { if (by != 0) y[blockIdx.x] = by; }"#;
    let nothing = context.load_module(compile_ptx(text)?)?.load_function("nothing")?;
    let (mut out, by) = (stream.alloc_zeros::<f32>(1)?, 0f32);
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
    let mut repeat = || -> Result<f64, DriverError> {
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            let mut launch = stream.launch_builder(&nothing);
            // SAFETY: the kernel takes a pointer to one float and a float, and writes nothing.
            unsafe { launch.arg(&mut out).arg(&by).launch(config) }?;
        }
        stream.synchronize()?;
        Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(LAUNCHES))
    };
    repeat()?;
    let mut times = (0..REPEATS).map(|_| repeat()).collect::<Result<Vec<f64>, _>>()?;
    times.sort_by(f64::total_cmp);
    for variant in ["launch", "prepared launch"] {
        println!(
            r#"{{"work": "kernels", "variant": "{variant}", "lib": "cudarc", "form": "launch_builder", "us": {}, "us_min": {}, "us_max": {}}}"#,
            times[REPEATS / 2],
            times[0],
            times[REPEATS - 1]
        );
    }
    Ok(())
}
