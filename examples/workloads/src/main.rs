//! Runs an example by name; see the documentation of the library.

use std::io::Write;
use std::process::ExitCode;
use workalike::Selector;
use workalike::rehost::Open;
use workalike_examples::{ALL, Device};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (name, device) = match words[..] {
        [name] => (name, Selector::from_env()),
        [name, device] => (name, device.parse()),
        _ => return list(),
    };
    let Some(example) = ALL.iter().find(|e| e.name == name) else { return list() };
    let run = |device: Device| {
        let properties = device.properties();
        say(&format!("{}: {}", properties.id, properties.name));
        (example.run)(&device)
    };
    match device.and_then(open).and_then(run) {
        Ok(report) => {
            say(&report);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Opens a device; prints the errors of faster devices that failed.
fn open(selector: Selector) -> workalike::Result<Device> {
    let choice = selector.choose();
    choice.passed_over.iter().for_each(|error| eprintln!("note: passing over a device: {error}"));
    Ok(choice.selector.open()?)
}

fn list() -> ExitCode {
    say("usage: workalike-examples NAME [auto|host|opencl[:PLATFORM:DEVICE]|cuda[:N]]\n");
    for example in ALL {
        say(&format!("{:<16} {}", example.name, example.about));
    }
    ExitCode::FAILURE
}

/// Prints a line; a closed pipe is no error.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
