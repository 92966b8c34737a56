//! The benchmark: each workload on one device, checked against the reference, then timed; one JSON row per variant.
//!
//! ```text
//! cargo run --release -p workalike-benches -- [--device host|opencl|cuda] [WORKLOAD]...
//! ```
//!
//! The timed region ends with a synchronization, inputs are random-normal, and each row carries a checksum of what was
//! computed. `peers/` holds the same workloads for PyTorch, JAX, CuPy, PyTensor and NumPy.

mod measure;
mod workloads;

use measure::Bench;
use workalike::Result;
use workalike::host::Host;
use workalike::rehost::Open;

fn main() -> std::process::ExitCode {
    let mut device = "host".to_string();
    let mut only = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--device" => device = arguments.next().unwrap_or_default(),
            name => only.push(name.to_string()),
        }
    }
    match run(&device, &only) {
        Ok(0) => std::process::ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("{wrong} workloads gave wrong results");
            std::process::ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

/// Gives the number of workloads whose results were wrong.
fn run(device: &str, only: &[String]) -> Result<usize> {
    let open: Box<dyn Open> = match device {
        "opencl" => Box::new(workalike_opencl::OpenCl::auto()),
        "cuda" => Box::new(workalike_cuda::Cuda::auto()),
        _ => Box::new(Host::auto()),
    };
    let mut bench = Bench::new(open.as_ref())?;
    let wanted = |name: &str| only.is_empty() || only.iter().any(|o| o == name);
    for (name, workload) in workloads::ALL.iter().filter(|w| wanted(w.0)) {
        if let Err(error) = workload(&mut bench, name) {
            eprintln!("{name}: {error}");
            bench.wrong += 1;
        }
    }
    Ok(bench.wrong)
}
