//! Runs an example by name; see the documentation of the library.

use std::io::Write;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread;
use workalike::Selector;
use workalike::engine::Open;
use workalike_examples::{ALL, Device, Example};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (name, device, threads) = match words[..] {
        [name] => (name, Selector::from_env(), Ok(1)),
        [name, device] => (name, device.parse(), Ok(1)),
        [name, device, threads] => (name, device.parse(), threads.parse()),
        _ => return list(),
    };
    let (Some(example), Ok(threads)) = (ALL.iter().find(|e| e.name == name), threads) else { return list() };
    match device.and_then(|device| run(example, &device, threads)) {
        Ok(reports) => {
            reports.iter().for_each(|report| say(report));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs an example in several threads at once, each with a device object of its own; returns the reports.
fn run(example: &Example, device: &Selector, threads: u16) -> workalike::Result<Vec<String>> {
    // All are open before the first begins.
    let devices: Vec<Device> = (0..threads).map(|_| open(*device)).collect::<workalike::Result<_>>()?;
    if let Some(first) = devices.first() {
        say(&format!("{}: {}", first.properties().id, first.properties().name));
    }
    thread::scope(|scope| {
        let begun: Vec<_> = devices.iter().map(|device| scope.spawn(|| (example.run)(device))).collect();
        let ended =
            begun.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.collect()
    })
}

/// Opens a device; prints the errors of faster devices that failed.
fn open(selector: Selector) -> workalike::Result<Device> {
    let choice = selector.choose();
    choice.passed_over.iter().for_each(|error| eprintln!("note: passing over a device: {error}"));
    Ok(choice.selector.open()?)
}

fn list() -> ExitCode {
    say("usage: workalike-examples NAME [auto|host|opencl[:PLATFORM:DEVICE]|cuda[:N] [THREADS]]\n");
    for example in ALL {
        say(&format!("{:<16} {}", example.name, example.about));
    }
    ExitCode::FAILURE
}

/// Prints a line; a closed pipe is no error.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
