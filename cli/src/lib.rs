//! The command `workalike`: creates, inspects and runs saved Functions.
//!
//! [`main`] is the command. It is in a library so that its unit tests run with those of the other crates
//! (`--lib`).
//!
//! | module | content |
//! |---|---|
//! | `cache` | `workalike cache`: the compiled kernels that are kept on disk |
//! | `demo` | `workalike demo`, on the images in `digits` |
//! | `devices` | `workalike devices` |
//! | `make` | `workalike make`, from the Functions in `builtins` and the workloads |
//! | `info`, `run`, `plan`, `verify`, `profile` | the commands of these names |
//! | `numbers` | elements, durations and sizes as text and JSON |
//!
//! `workalike bench` and the workloads are in `workalike-harness`, which is in `benches/harness/`. What both
//! crates need is in `workalike-cli-common`.

mod builtins;
mod cache;
mod demo;
mod devices;
mod digits;
mod group;
mod info;
mod make;
mod numbers;
mod plan;
mod profile;
mod run;
mod verify;

use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use workalike::{DEVICE_VARIABLE, Selector};
use workalike_cli_common::exit::{ended, refused};
use workalike_cli_common::{device, inputs};
use workalike_harness::{Bench, bench, workloads};

/// Symbolic tensor functions: portable when saved, re-hosted on a device when run.
#[derive(Parser)]
#[command(name = "workalike", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Subcommand)]
enum CliCommand {
    /// Trains on handwritten digits, from expression to file to device and back; runs the same file on every
    /// device
    Demo(Demo),
    /// Lists the devices of this machine, and which one `auto` is
    Devices(Devices),
    /// Writes a built-in Function or bundle to a file
    Make(Make),
    /// Shows the contents of a file: methods, inputs, outputs, shared variables, updates
    Info(Info),
    /// Runs a method of a file on a device, with inputs from .npy files
    Run(RunArgs),
    /// Predicts a call on a device: steps, kernels, buffers, bytes and flops
    Plan(plan::PlanArgs),
    /// Compares a method on a device with the reference, and names the first node that differs
    Verify(verify::Verify),
    /// Checks and times saved files and built-in workloads
    Bench(Bench),
    /// Runs a method of a file and times every kernel on the device
    Profile(profile::ProfileArgs),
    /// Shows the compiled kernels that are kept on disk
    Cache(Cache),
}

#[derive(Args)]
struct Demo {
    #[arg(long, env = DEVICE_VARIABLE, default_value = "auto", value_name = "DEVICE", help = device::HELP)]
    device: Selector,
}

#[derive(Args)]
struct Devices {
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Make {
    /// The name of a built-in Function; --list prints all names
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// A size of a workload
    #[arg(long, value_name = "KEY=N", value_parser = workloads::setting)]
    size: Vec<(String, String)>,
    /// The file to write
    #[arg(long, value_name = "FILE", required_unless_present = "list")]
    out: Option<PathBuf>,
    /// Lists the names
    #[arg(long)]
    list: bool,
}

#[derive(Args)]
struct Info {
    /// The file
    file: PathBuf,
    /// Prints one JSON object
    #[arg(long, conflicts_with_all = ["debugprint", "dot"])]
    json: bool,
    /// The method for --debugprint and --dot; default: all
    #[arg(long, value_name = "M")]
    method: Option<String>,
    /// Shows graphs as indented trees, as Theano's debugprint does
    #[arg(long)]
    debugprint: bool,
    /// Shows graphs in Graphviz's language
    #[arg(long, conflicts_with = "debugprint")]
    dot: bool,
}

#[derive(Args)]
struct Cache {
    /// Removes them
    #[arg(long)]
    clear: bool,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct RunArgs {
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
    /// Runs N steps on the device; outputs are those of the last. With --each, as many as there are slices
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Runs as a member of the group that the file calls NAME: of the processes that mpirun, srun or torchrun
    /// started, or of this one alone. Member 0 reports, and writes files
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Inputs of which each member of the group takes its rows, so that the members compute the method
    /// together
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', requires = "group")]
    divide: Vec<String>,
    /// Seconds that members of the group wait for each other
    #[arg(long, value_name = "S", default_value_t = group::PATIENCE, requires = "group")]
    patience: u64,
    /// Writes each output into this folder as NAME.npy, those without a name as output0.npy and so on
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Saves the whole bundle, with the shared variables as the run left them
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// The command line; `help --help` is read as `help`.
fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "help") {
        words.retain(|word| word != "--help" && word != "-h");
    }
    words
}

/// The command.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(words()) {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    ended(match &cli.command {
        CliCommand::Demo(demo) => demo::demo(demo.device),
        CliCommand::Devices(devices) => devices::devices(devices.json),
        CliCommand::Make(make) if make.list => make::list(),
        CliCommand::Make(make) => {
            make::make(make.name.as_deref().unwrap_or(""), &make.size, make.out.as_deref())
        }
        CliCommand::Info(info) => info::info(info),
        CliCommand::Run(run) => run::run(run),
        CliCommand::Plan(plan) => plan::plan(plan),
        CliCommand::Verify(verify) => verify::verify(verify),
        CliCommand::Bench(args) => bench(args, &["bench"]),
        CliCommand::Profile(profile) => profile::profile(profile),
        CliCommand::Cache(cache) => cache::cache(cache.clear, cache.json),
    })
}
