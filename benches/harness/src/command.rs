//! `workalike bench`: saved files and built-in workloads, checked against the reference and then timed.

use crate::measure::{BenchRow, measure};
use crate::workloads::{self, CallMode, Line, Workload, WorkloadSettings, setting};
use crate::{compile, first_result, kernels};
use serde_json::json;
use std::path::{Path, PathBuf};
use workalike::engine::Open;
use workalike::prelude::*;
use workalike::{DEVICE_VARIABLE, Selector};
use workalike_cli_common::inputs::{self, InputSource};
use workalike_cli_common::report::{ErrorContext, Failure, Result, complain, say, say_json};
use workalike_cli_common::{device, method};

/// The arguments of `workalike bench`.
#[derive(clap::Args)]
pub struct Bench {
    /// Saved files and built-in workloads; default: all workloads
    #[arg(value_name = "FILE|WORKLOAD")]
    what: Vec<String>,
    #[arg(long, env = DEVICE_VARIABLE, default_value = "auto", value_name = "DEVICE", help = device::HELP)]
    device: Selector,
    /// Only variants whose name holds this text
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Prints one JSON object a line
    #[arg(long)]
    json: bool,
    /// A size of the workloads, instead of those of the table
    #[arg(long, value_name = "KEY=N", value_parser = setting)]
    size: Vec<(String, String)>,
    /// Also measures odd sizes, which no library is tuned for
    #[arg(long)]
    odd: bool,
    /// The method of a file; default: the only one, or `main`
    #[arg(long, value_name = "M")]
    method: Option<String>,
    #[arg(long, value_name = "NAME=SHAPE|x.npy|3.5", value_parser = inputs::source, help = inputs::HELP)]
    input: Vec<(String, InputSource)>,
    #[arg(long, help = inputs::CAST)]
    cast: bool,
    /// Lists workloads and their variants
    #[arg(long)]
    list: bool,
    /// Times the first result of this file, in a new process
    #[arg(long, hide = true)]
    first_result: Option<PathBuf>,
}

/// Checks and times; `prefix` is the command line that reaches this command in a new process.
///
/// # Errors
/// If the device does not open, a workload has no such size, or a line has no result or a wrong one.
pub fn bench(command: &Bench, prefix: &[&str]) -> Result<()> {
    let place = device::choose(command.device);
    if let Some(file) = &command.first_result {
        return first_result::child(file, place);
    }
    let (id, large) = {
        let device = place.open()?;
        let p = device.properties();
        complain(&format!("{}: {}, {}", p.id, p.name, p.driver));
        // A device that runs thousands of work items at once gets the large sizes.
        (p.id.clone(), p.lanes > 1024)
    };
    if command.list {
        return list(large);
    }
    let mut rows = RowPrinter { command, id: &id, failed: Vec::new() };
    for name in names(command) {
        match workloads::named(&name) {
            Some(workload) => {
                for line in lines(workload, large, command)? {
                    let row = || workload_row(workload, &line, command, large, place, &id);
                    rows.print(&name, &line.variant, row)?;
                }
            }
            None if name == "compile" => {
                for (variant, row) in compile::rows(&id, &place.open()?)? {
                    rows.print(&name, &variant, || Ok(row))?;
                }
            }
            None if name == "kernels" => {
                for (variant, row) in kernels::rows(&id, &place.open()?)? {
                    rows.print(&name, &variant, || Ok(row))?;
                }
            }
            None if name == "first_result" => {
                for (variant, row) in first_result::rows(&id, prefix)? {
                    rows.print(&name, &variant, || Ok(row))?;
                }
            }
            None => {
                let ways = [
                    ("host_result", CallMode::Host),
                    ("device_result", CallMode::Device),
                    ("run_n", CallMode::Steps),
                ];
                for (variant, way) in ways {
                    let row = || file_row(Path::new(&name), variant, way, command, place, &id);
                    rows.print(&name, variant, row)?;
                }
            }
        }
    }
    match rows.failed.len() {
        0 => Ok(()),
        _ => Err(Failure::new(format!("no result, or a wrong one: {}", rows.failed.join(", ")))),
    }
}

/// The files and workloads to measure: the given ones, else every workload.
fn names(command: &Bench) -> Vec<String> {
    if !command.what.is_empty() {
        return command.what.clone();
    }
    let built_in = workloads::ALL.iter().map(|workload| workload.name);
    built_in.chain(["kernels", "compile", "first_result"]).map(String::from).collect()
}

/// Prints rows, and collects the names of failed rows.
struct RowPrinter<'a> {
    command: &'a Bench,
    id: &'a str,
    failed: Vec<String>,
}

impl RowPrinter<'_> {
    /// Measures and prints a row, unless `--only` excludes the variant.
    fn print(&mut self, name: &str, variant: &str, row: impl FnOnce() -> Result<BenchRow>) -> Result<()> {
        let only = &self.command.only;
        if !only.is_empty() && !only.iter().any(|text| variant.contains(text)) {
            return Ok(());
        }
        match row() {
            Ok(row) => row.print(self.command.json),
            Err(error) => {
                complain(&format!("{name} {variant}: {error}"));
                self.failed.push(format!("{name} {variant}"));
                // The JSON tells a row that failed from one that was not requested.
                match self.command.json {
                    true => say_json(&failed_row(name, variant, self.id, &error.to_string())),
                    false => Ok(()),
                }
            }
        }
    }
}

fn failed_row(work: &str, variant: &str, device: &str, error: &str) -> String {
    json!({ "work": work, "variant": variant, "device": device, "lib": "workalike", "error": error })
        .to_string()
}

/// The lines of a workload. If the user sets sizes, one line for each way of calling.
fn lines(workload: &Workload, large: bool, command: &Bench) -> Result<Vec<Line>> {
    let lines = (workload.lines)(large);
    if command.size.is_empty() {
        return Ok(lines.into_iter().filter(|line| command.odd || !line.odd).collect());
    }
    let sizes: Vec<String> = command.size.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut own: Vec<Line> = Vec::new();
    for mut line in lines.into_iter().filter(|line| !line.odd) {
        if own.iter().all(|o| o.way != line.way) {
            line.variant = format!("{:?} {}", line.way, sizes.join(" ")).to_lowercase();
            (line.settings, line.checked) = (vec![], vec![]);
            own.push(line);
        }
    }
    Ok(own)
}

fn workload_row(
    workload: &Workload,
    line: &Line,
    command: &Bench,
    large: bool,
    place: impl Open + Copy,
    id: &str,
) -> Result<BenchRow> {
    let changed = |settings: &[(&'static str, String)]| {
        let mut all: Vec<(&str, &str)> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
        all.extend(command.size.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        WorkloadSettings::of(workload, large, all)
    };
    let settings = changed(&line.settings)?;
    let function = (workload.build)(&settings)?;
    let small = match line.checked.is_empty() {
        true => None,
        false => Some((workload.build)(&changed(&line.checked)?)?),
    };
    let args = inputs::bound(&function, &[], false)?;
    let timed = measure(&function, small.as_ref(), &args, line.way, place)?;
    let (bytes, flops) = (workload.least)(&settings);
    Ok(BenchRow { bytes, flops, ..timed.row(workload.name, &line.variant, id) })
}

fn file_row(
    file: &Path,
    variant: &str,
    way: CallMode,
    command: &Bench,
    place: impl Open + Copy,
    id: &str,
) -> Result<BenchRow> {
    let bundle = Bundle::load(file)?;
    let (_, function) = method::choose(&bundle, command.method.as_deref(), &inputs::ranks(&command.input))
        .during(file.display())?;
    let args = inputs::bound(function, &command.input, command.cast)?;
    let timed = measure(function, None, &args, way, place)?;
    let work = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy();
    Ok(timed.row(&work, variant, id))
}

fn list(large: bool) -> Result<()> {
    for workload in workloads::ALL {
        say(&format!("{:<16} {}", workload.name, workload.about))?;
        for line in (workload.lines)(large) {
            say(&format!("{:<16}   {}{}", "", line.variant, if line.odd { "  (with --odd)" } else { "" }))?;
        }
    }
    say(&format!("{:<16} a program's own kernels: elementwise, reduction, scan, launch", "kernels"))?;
    say(&format!("{:<16} a graph is written, differentiated, rewritten and lowered", "compile"))?;
    say(&format!("{:<16} a new process: device, file, first call", "first_result"))
}
