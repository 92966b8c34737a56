//! `workalike profile`: a method of a file, with every kernel timed.

use crate::run::{arguments, ranks};
use std::fs;
use std::path::PathBuf;
use workalike::prelude::*;
use workalike::{DEVICE_VARIABLE, Selector};
use workalike_cli_common::report::{ErrorContext, Result, complain, printable, say, say_json};
use workalike_cli_common::{device, inputs, method};

/// The command's arguments.
#[derive(clap::Args)]
pub(crate) struct ProfileArgs {
    /// The file
    file: PathBuf,
    /// The method to run; default: the only one, or `main`
    #[arg(long, value_name = "M")]
    method: Option<String>,
    #[arg(long, env = DEVICE_VARIABLE, default_value = "auto", value_name = "DEVICE", help = device::HELP)]
    device: Selector,
    /// An input, the same at every step: a .npy or .npz file, or a number
    #[arg(long, value_name = "NAME=x.npy|3.5", value_parser = inputs::named_file)]
    input: Vec<(String, PathBuf)>,
    /// An input of which each step takes one slice along the first axis
    #[arg(long, value_name = "NAME=x.npy", value_parser = inputs::named_file)]
    each: Vec<(String, PathBuf)>,
    #[arg(long, help = inputs::CAST)]
    cast: bool,
    /// How many steps; with --each, as many as there are slices
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
    /// Writes a trace that https://ui.perfetto.dev opens
    #[arg(long, value_name = "OUT")]
    trace: Option<PathBuf>,
}

/// The default number of iterations.
const STEPS: u64 = 20;

/// Runs a method once to warm up, and then the iterations. The file is not changed.
pub(crate) fn profile(command: &ProfileArgs) -> Result<()> {
    let bundle = Bundle::load(&command.file)?;
    let (_, function) =
        method::choose(&bundle, command.method.as_deref(), &ranks(&command.input, &command.each))
            .during(command.file.display())?;
    let given = arguments(function, &command.input, &command.each, command.cast)?;
    let slices = given.iter().find_map(|g| g.slices);
    let steps = command.steps.or(slices).unwrap_or(STEPS);
    let mut simulator = function.optimize(device::choose(command.device))?;
    // The first iteration compiles, loads and allocates, so it is not timed. Its updates stay on the device.
    simulator.profile(1, given.iter().fold(Args::new(), |args, g| args.with(g.sample.clone())))?;
    let profile =
        simulator.profile(steps, given.iter().fold(Args::new(), |args, g| args.with(g.arg.clone())))?;
    simulator.warnings().iter().for_each(|warning| complain(&format!("warning: {}", printable(warning))));
    if let Some(file) = &command.trace {
        fs::write(file, profile.to_trace()).during(file.display())?;
    }
    match command.json {
        true => say_json(&profile.to_json()),
        false => say(&profile.to_string().lines().map(printable).collect::<Vec<_>>().join("\n")),
    }
}
