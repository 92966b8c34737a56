//! A structure-aware fuzzer for files: mutants of small programs with valid checksums. Each mutant is loaded,
//! shown, saved and called, and its results are compared with the reference.
//!
//! ```text
//! workalike-fuzz [--seconds 60] [--mutants N] [--from SEED] [--device host|opencl] [--out FOLDER]
//! workalike-fuzz one FILE SEED [DEVICE]      exercises FILE like the mutant of SEED, and prints each step
//! workalike-fuzz mutant SEED FILE            writes the mutant of a seed
//! workalike-fuzz corpus FOLDER               writes the seed files
//! ```
//!
//! The exit status is 1 if something was found: a crash, a hang, a panic, an internal error of the library, a
//! file that does not load after it was saved again, or a result that differs from the reference.
//!
//! A mutant depends on its seed only. Under AddressSanitizer, with a nightly toolchain and a separate target
//! folder:
//!
//! ```text
//! RUSTFLAGS=-Zsanitizer=address cargo +nightly run -p workalike-fuzz \
//!     --target x86_64-unknown-linux-gnu --target-dir target/asan
//! ```

mod batch;
mod corpus;
mod driver;
mod exercise;
mod mutate;
mod random;
mod wire;

use batch::Mill;
use driver::Plan;
use exercise::{Exercise, On};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(words: &[&str]) -> Result<bool, String> {
    match words {
        ["batch", device, first, count, seconds, folder] => {
            let time = Duration::from_secs(number(seconds)?);
            batch::run(on(device)?, number(first)?, number(count)?, time, Path::new(folder))?;
            Ok(true)
        }
        ["one", file, seed] => one(file, number(seed)?, On::Host),
        ["one", file, seed, device] => one(file, number(seed)?, on(device)?),
        ["mutant", seed, file] => {
            let mutant = Mill::new()?.mutant(number(seed)?);
            std::fs::write(file, mutant).map_err(|error| format!("{file}: {error}"))?;
            Ok(true)
        }
        ["corpus", folder] => Mill::new()?.write(Path::new(folder)).map(|()| true),
        options => driver::drive(&plan(options)?),
    }
}

/// Exercises a file as a batch would, and prints each step.
fn one(file: &str, seed: u64, on: On) -> Result<bool, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let mut exercise = Exercise::new(on);
    exercise.loud = true;
    exercise.run(&bytes, seed);
    exercise.found.iter().for_each(|found| println!("found: {found}"));
    println!("{:?}", exercise.count);
    Ok(exercise.found.is_empty())
}

fn plan(options: &[&str]) -> Result<Plan, String> {
    let mut plan = Plan {
        device: "host".into(),
        first: 0,
        seconds: 60,
        mutants: u64::MAX,
        out: PathBuf::from("fuzz-findings"),
    };
    let (pairs, rest) = options.as_chunks::<2>();
    if let [alone] = rest {
        return Err(format!("{alone}: a value is missing; see the top of fuzz/src/main.rs"));
    }
    for [option, value] in pairs {
        match *option {
            "--seconds" => plan.seconds = number(value)?,
            "--mutants" => plan.mutants = number(value)?,
            "--from" => plan.first = number(value)?,
            "--device" => plan.device = on(value).map(|_| value.to_string())?,
            "--out" => plan.out = PathBuf::from(value),
            other => return Err(format!("unknown option {other}; see the top of fuzz/src/main.rs")),
        }
    }
    Ok(plan)
}

fn on(device: &str) -> Result<On, String> {
    match device {
        "host" => Ok(On::Host),
        "opencl" => Ok(On::OpenCl),
        other => Err(format!("device {other}: expected host or opencl")),
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is not a number that fits"))
}
