//! Runs an example by name: see the library's first lines.

use std::io::Write;
use std::process::ExitCode;
use workalike_examples::{ALL, Device, best, open};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (name, device) = match words[..] {
        [name] => (name, best()),
        [name, kind] => (name, open(kind)),
        _ => return list(),
    };
    let Some(example) = ALL.iter().find(|e| e.name == name) else { return list() };
    let run = |device: Device| {
        let properties = device.properties();
        say(&format!("{}: {}", properties.id, properties.name));
        (example.run)(&device)
    };
    match device.and_then(run) {
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

fn list() -> ExitCode {
    say("usage: workalike-examples NAME [host|opencl|cuda]\n");
    for example in ALL {
        say(&format!("{:<16} {}", example.name, example.about));
    }
    ExitCode::FAILURE
}

/// Prints a line; where nobody reads any more, it need not.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
