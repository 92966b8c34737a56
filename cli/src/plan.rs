//! `workalike plan`: predicts the steps, memory and costs of a call.

use std::path::PathBuf;
use workalike::prelude::*;
use workalike::{DEVICE_VARIABLE, Selector};
use workalike_cli_common::inputs::{self, InputSource};
use workalike_cli_common::report::{ErrorContext, Failure, Result, printable, say, say_json};
use workalike_cli_common::{device, method};

#[derive(clap::Args)]
pub(crate) struct PlanArgs {
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
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
    /// The generated source as well
    #[arg(long)]
    source: bool,
    /// Without fusion, for comparison
    #[arg(long)]
    unfused: bool,
}

/// Shows a plan.
pub(crate) fn plan(command: &PlanArgs) -> Result<()> {
    let bundle = Bundle::load(&command.file)?;
    let (_, function) = method::choose(&bundle, command.method.as_deref(), &inputs::ranks(&command.input))
        .during(command.file.display())?;
    let args = inputs::bound(function, &command.input, command.cast)?;
    let options = Options { fuse: !command.unfused, ..Options::default() };
    let mut simulator = function.optimize(device::choose(command.device).with_options(options))?;
    let mut plan = simulator.plan(args)?;
    let source = std::mem::take(&mut plan.source);
    if command.json {
        let mut json = serde_json::to_value(&plan)?;
        json["file"] = command.file.display().to_string().into();
        json["source"] = command.source.then_some(source).into();
        return say_json(&json.to_string());
    }
    let text = plan.to_string();
    say(&text.lines().map(printable).collect::<Vec<_>>().join("\n"))?;
    match (command.source, source.is_empty()) {
        (false, _) => Ok(()),
        (true, false) => say(&format!("\n{}", source.trim_end())),
        (true, true) => Err(Failure::new(format!("{} interprets kernels: there is no source", plan.device))),
    }
}
