//! `workalike verify`: compares a method on a device with the reference, and names the first node that
//! differs.

use serde_json::{Value as Json, json};
use std::path::PathBuf;
use workalike::engine::verify::{Check, Difference, Origin, Verification, verify as check};
use workalike::prelude::*;
use workalike::{DEVICE_VARIABLE, Selector};
use workalike_cli_common::inputs::{self, InputSource};
use workalike_cli_common::report::{ErrorContext, Failure, Result, printable, say, say_json};
use workalike_cli_common::{device, method};

#[derive(clap::Args)]
pub(crate) struct Verify {
    /// The file
    file: PathBuf,
    /// The method; default: the only one, or `main`
    #[arg(long, value_name = "M")]
    method: Option<String>,
    #[arg(long, env = DEVICE_VARIABLE, default_value = "auto", value_name = "DEVICE", help = device::HELP)]
    device: Selector,
    #[arg(long, value_name = "NAME=SHAPE|x.npy|3.5", value_parser = inputs::source, help = inputs::HELP)]
    input: Vec<(String, InputSource)>,
    #[arg(long, help = inputs::CAST)]
    cast: bool,
    /// The number of iterations to compare, with the outputs and shared variables of each
    #[arg(long, value_name = "N", default_value_t = 3)]
    steps: u64,
    /// Factor for the tolerances
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    slack: f64,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// Verifies a method; a mismatch is a failure.
pub(crate) fn verify(command: &Verify) -> Result<()> {
    let bundle = Bundle::load(&command.file)?;
    let (method, function) =
        method::choose(&bundle, command.method.as_deref(), &inputs::ranks(&command.input))
            .during(command.file.display())?;
    let args = inputs::bound(function, &command.input, command.cast)?;
    let device = device::choose(command.device).open()?;
    let how = Check { steps: command.steps, slack: command.slack, ..Check::default() };
    let found = check(function, &device, args, how)?;
    if command.json {
        let mut json = to_json(&found);
        json["file"] = command.file.display().to_string().into();
        json["method"] = method.into();
        json["device"] = device.properties().id.clone().into();
        say_json(&json.to_string())?;
    } else {
        let lines: Vec<String> = found.to_string().lines().map(printable).collect();
        say(&format!("{} on {}: {}", printable(method), device.properties().id, lines.join("\n")))?;
    }
    match &found.mismatch {
        None => Ok(()),
        Some(m) => Err(Failure::new(format!("{method} differs from the reference: {}", m.what))),
    }
}

fn to_json(found: &Verification) -> Json {
    let difference = |d: &Difference| json!({ "index": d.index, "expected": d.expected, "got": d.got, "count": d.count, "of": d.of });
    let origin = |origin: &Origin| match origin {
        Origin::Node { node, op, name, inputs, output, difference: d } => json!({
            "node": node, "op": op, "name": name, "inputs": inputs, "output": output, "difference": difference(d),
        }),
        other => json!({ "node": null, "why": other.to_string() }),
    };
    json!({
        "passed": found.passed(),
        "steps": found.steps,
        "compared": found.compared,
        "worst": found.worst,
        "mismatch": found.mismatch.as_ref().map(|m| json!({
            "step": m.step,
            "what": m.what,
            "difference": difference(&m.difference),
            "origin": origin(&m.origin),
        })),
    })
}
