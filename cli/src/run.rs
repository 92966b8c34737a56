//! `workalike run`: a method of a file, on a device, with inputs from `.npy` files.

use crate::RunArgs;
use crate::group::{Joined, rehost};
use crate::numbers::{self, seconds};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use workalike::npy;
use workalike::prelude::*;
use workalike::printable::is_printable;
use workalike_cli_common::inputs::{axes, read};
use workalike_cli_common::method;
use workalike_cli_common::report::{ErrorContext, Failure, Result, complain, printable, say, say_json};

/// An argument, and the first slice of a sequence, with which the device is prepared.
pub(crate) struct RunInput {
    pub(crate) arg: Arg,
    pub(crate) sample: Arg,
    pub(crate) slices: Option<u64>,
}

/// The results of a run.
struct RunResult {
    device: String,
    device_name: String,
    steps: u64,
    prepare_seconds: f64,
    seconds: f64,
    outputs: Vec<Written>,
    synced: Vec<String>,
}

/// An output, and the file it was written to.
struct Written {
    name: Option<String>,
    value: Value,
    file: Option<PathBuf>,
}

/// Runs a method.
pub(crate) fn run(command: &RunArgs) -> Result<()> {
    let bundle = Bundle::load(&command.file)?;
    let (method, function) =
        method::choose(&bundle, command.method.as_deref(), &ranks(&command.input, &command.each))
            .during(command.file.display())?;
    let given = arguments(function, &command.input, &command.each, command.cast)?;
    if let Some(folder) = &command.out {
        let names: Vec<_> = function.output_names().iter().map(Option::as_deref).collect();
        files(&names)?;
        fs::create_dir_all(folder).during(folder.display())?;
    }
    let Some(outcome) = simulate(function, &given, command)? else { return Ok(()) };
    if let Some(file) = &command.save {
        bundle.save(file)?;
    }
    if command.json {
        say_json(&to_json(command, method, &outcome)?.to_string())
    } else {
        say(&to_text(command, method, &outcome)?)
    }
}

/// The rank of each input in an iteration, if it can be read.
pub(crate) fn ranks<'a>(
    inputs: &'a [(String, PathBuf)],
    each: &'a [(String, PathBuf)],
) -> Vec<(&'a str, usize)> {
    let known = inputs.iter().filter_map(|(name, file)| Some((name.as_str(), axes(name, file)?)));
    let slices =
        each.iter().filter_map(|(name, file)| Some((name.as_str(), axes(name, file)?.checked_sub(1)?)));
    known.chain(slices).collect()
}

/// One argument per input, in order.
pub(crate) fn arguments(
    function: &Function,
    inputs: &[(String, PathBuf)],
    each: &[(String, PathBuf)],
    cast: bool,
) -> Result<Vec<RunInput>> {
    let specs = function.inputs();
    // An input without a name goes by its position.
    let names: Vec<String> = specs
        .iter()
        .enumerate()
        .map(|(i, spec)| spec.name.clone().unwrap_or_else(|| i.to_string()))
        .collect();
    let known = || match names.is_empty() {
        true => "it has no inputs".to_string(),
        false => format!("its inputs are {}", printable(&names.join(", "))),
    };
    let mut given: Vec<Option<RunInput>> = specs.iter().map(|_| None).collect();
    let all = inputs.iter().map(|i| (i, false)).chain(each.iter().map(|e| (e, true)));
    for ((name, file), is_each) in all {
        let Some(position) = names.iter().position(|n| n == name) else {
            return Err(Failure::new(format!("method {} has no input {name}; {}", function.name(), known())));
        };
        let value = read(name, file, &specs[position].ty, cast)?;
        let one =
            if is_each { sequence(value).during(format_args!("input {name}"))? } else { constant(value) };
        if given[position].replace(one).is_some() {
            return Err(Failure::new(format!("input {name} is given twice")));
        }
    }
    let mut bound = Vec::new();
    for ((spec, name), given) in specs.iter().zip(&names).zip(given) {
        bound.push(match (given, &spec.default) {
            (Some(given), _) => given,
            (None, Some(value)) => constant(value.clone()),
            (None, None) => {
                return Err(Failure::new(format!(
                    "method {}: input {name} ({}) is missing; give it with --input {name}=FILE.npy or, if it is a scalar, --input {name}=3.5",
                    function.name(),
                    spec.ty
                )));
            }
        });
    }
    Ok(bound)
}

fn constant(value: Value) -> RunInput {
    let arg = Arg::Value(value);
    RunInput { sample: arg.clone(), arg, slices: None }
}

fn sequence(value: Value) -> Result<RunInput> {
    let Some(&slices) = value.shape().first() else {
        return Err(Failure::new("--each takes slices along the first axis, and the array has no axes"));
    };
    let (shape, strides) = (&value.shape()[1..], &value.strides()[1..]);
    let sample = if slices == 0 {
        Value::zeros(value.dtype(), shape)?
    } else {
        value.view_as(shape, strides, value.offset())?
    };
    Ok(RunInput { arg: Arg::Each(value.into()), sample: Arg::Value(sample), slices: Some(slices as u64) })
}

/// Runs the method; `None` on a member of a group that does not report.
fn simulate(function: &Function, given: &[RunInput], command: &RunArgs) -> Result<Option<RunResult>> {
    let args =
        |part: fn(&RunInput) -> &Arg| given.iter().fold(Args::new(), |args, g| args.with(part(g).clone()));
    let steps = command.steps.or_else(|| given.iter().find_map(|g| g.slices));
    let start = Instant::now();
    let Joined { mut simulator, reports } = rehost(function, command)?;
    simulator.prepare(args(|g| &g.sample))?;
    simulator.synchronize()?;
    let prepared = Instant::now();
    let outputs = match steps {
        None => simulator.call(args(|g| &g.arg))?,
        Some(n) => simulator.run_n(n, args(|g| &g.arg))?,
    };
    simulator.synchronize()?;
    let ended = Instant::now();
    if !reports {
        return Ok(None);
    }
    let synced = simulator.sync_to_parent()?;
    simulator.warnings().iter().for_each(|warning| complain(&format!("warning: {}", printable(warning))));
    let properties = simulator.device().properties();
    let named = outputs.iter().map(|(name, value)| (name.map(str::to_string), value.clone()));
    Ok(Some(RunResult {
        device: properties.id.clone(),
        device_name: properties.name.clone(),
        steps: steps.unwrap_or(1),
        prepare_seconds: (prepared - start).as_secs_f64(),
        seconds: (ended - prepared).as_secs_f64(),
        outputs: write(named.collect(), command.out.as_deref())?,
        synced,
    }))
}

/// Writes the outputs to the folder, if one is given, and records the paths.
fn write(outputs: Vec<(Option<String>, Value)>, folder: Option<&Path>) -> Result<Vec<Written>> {
    let Some(folder) = folder else {
        let unwritten = |(name, value)| Written { name, value, file: None };
        return Ok(outputs.into_iter().map(unwritten).collect());
    };
    let files = files(&outputs.iter().map(|output| output.0.as_deref()).collect::<Vec<_>>())?;
    let mut written = Vec::new();
    for ((name, value), file) in outputs.into_iter().zip(files) {
        let file = folder.join(file);
        npy::save(&file, &value)?;
        written.push(Written { name, value, file: Some(file) });
    }
    Ok(written)
}

/// File names for outputs of these names. They are distinct.
fn files(names: &[Option<&str>]) -> Result<Vec<String>> {
    let mut files: Vec<String> = Vec::new();
    for (position, name) in names.iter().enumerate() {
        let stem = name.map(file_name).filter(|stem| !stem.is_empty());
        let file = format!("{}.npy", stem.unwrap_or_else(|| format!("output{position}")));
        if let Some(other) = files.iter().position(|taken| *taken == file) {
            return Err(Failure::new(format!(
                "--out: outputs {other} and {position} would both be written to {}; nothing was run; give them \
                 different names, or leave --out away",
                printable(&file)
            )));
        }
        files.push(file);
    }
    Ok(files)
}

/// An output's name as a file name. Names come from files, so they must not lead out of the folder.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if !is_printable(c) || "/\\:".contains(c) { '_' } else { c }).collect()
}

fn to_json(command: &RunArgs, method: &str, outcome: &RunResult) -> Result<Json> {
    let mut outputs = Vec::new();
    for Written { name, value, file } in &outcome.outputs {
        let values = numbers::first(value, numbers::FEW)?;
        outputs.push(json!({
            "name": name,
            "dtype": value.dtype().name(),
            "shape": numbers::shape(value.shape()),
            "file": file.as_ref().map(|f| f.display().to_string()),
            "values": values.into_iter().map(numbers::json).collect::<Vec<_>>(),
        }));
    }
    Ok(json!({
        "file": command.file.display().to_string(),
        "method": method,
        "device": outcome.device,
        "device_name": outcome.device_name,
        "steps": outcome.steps,
        "prepare_seconds": outcome.prepare_seconds,
        "seconds": outcome.seconds,
        "outputs": outputs,
        "synced": outcome.synced,
        "saved": command.save.as_ref().map(|f| f.display().to_string()),
    }))
}

fn to_text(command: &RunArgs, method: &str, outcome: &RunResult) -> Result<String> {
    let (method, device) = (printable(method), printable(&outcome.device_name));
    let took = match outcome.steps {
        1 => format!("one step in {}", seconds(outcome.seconds)),
        n => {
            let each = if n > 0 { outcome.seconds / n as f64 } else { 0.0 };
            format!("{n} steps in {}, {} each", seconds(outcome.seconds), seconds(each))
        }
    };
    let mut lines = vec![format!(
        "{method} on {} ({device}): {took}, after {} to prepare",
        outcome.device,
        seconds(outcome.prepare_seconds)
    )];
    for (position, Written { name, value, file }) in outcome.outputs.iter().enumerate() {
        let name = name.as_deref().map_or_else(|| format!("output{position}"), printable);
        let ty = workalike::error::array_text(value.dtype(), value.shape());
        lines.push(format!("  {name:<12} {ty:<20} {}", numbers::text(value)?));
        lines.extend(file.as_ref().map(|file| format!("  {:<12} {}", "", file.display())));
    }
    if !outcome.synced.is_empty() {
        lines.push(format!("changed shared variables: {}", printable(&outcome.synced.join(", "))));
    }
    lines.extend(command.save.as_ref().map(|file| format!("saved {}", file.display())));
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let names = [Some("../up".to_string()), None, Some("y".into()), Some(String::new())];
        let outputs = names.into_iter().map(|name| (name, Value::from(1i32))).collect();
        let written = write(outputs, Some(folder.path())).unwrap();
        let files: Vec<_> = written.iter().map(|w| w.file.clone().unwrap()).collect();
        let names: Vec<_> = files.iter().map(|f| f.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, [".._up.npy", "output1.npy", "y.npy", "output3.npy"]);
        assert!(files.iter().all(|f| f.parent() == Some(folder.path()) && f.is_file()));
    }

    #[test]
    fn outputs_that_would_share_a_file_are_refused() {
        for names in
            [&[Some("y"), Some("x"), Some("y")][..], &[Some("a/b"), Some("a:b")], &[Some("output1"), None]]
        {
            let error = files(names).unwrap_err().to_string();
            assert!(error.contains(".npy") && error.contains("nothing was run"), "{error}");
        }
    }
}
