//! A libtest-mimic test for each case or example and each device.

use crate::cases;
use crate::devices::{self, Kind, Missing, Tested};
use crate::group::Group;
use crate::report::{self, Report};
use crate::stage::{Scenario, Stage};
use crate::times;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use workalike_examples::{ALL, Example};

/// The variable that makes a missing NVIDIA GPU a failure.
const REQUIRE_CUDA: &str = "WORKALIKE_REQUIRE_CUDA";

/// Lists, filters and runs tests according to the command line.
pub fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let (devices, missing) = devices::all();
    let (mut first, mut trials) = (Vec::new(), Vec::new());
    let in_ci = std::env::var("CI").is_ok_and(|v| v == "true");
    for Missing { kind, why } in missing.clone() {
        let name = format!("{kind} ({})", if kind == "opencl" { "no platform" } else { "no device" });
        // Every host can have OpenCL on its CPU, so it is required in CI.
        let required = match kind {
            "opencl" => in_ci,
            _ => std::env::var_os(REQUIRE_CUDA).is_some(),
        };
        trials.push(if required {
            Trial::test(name, move || Err(Failed::from(why)))
        } else {
            Trial::ignorable_test(name, move || Ok(Completion::ignored_with(one_line(&why))))
        });
    }
    let scenarios = cases::scenarios();
    for made in cases::groups() {
        match made {
            Ok(group) => add_group(&mut first, &mut trials, Arc::new(group), &devices),
            Err(error) => {
                let message = error.to_string();
                trials.push(Trial::test("a group could not be built", move || Err(Failed::from(message))));
            }
        }
    }
    for device in &devices {
        for scenario in scenarios.iter().filter(|s| !s.host_only || device.kind == Kind::Host) {
            add_scenario(&mut trials, scenario, device);
        }
        // Users do not run without fusion.
        if device.kind != Kind::Unfused {
            ALL.iter().for_each(|example| trials.push(example_on(example, device)));
        }
    }
    // The first case of a group runs the group, so the first cases come first: threads then work on different
    // groups, and do not wait for each other.
    first.append(&mut trials);
    let trials = first;
    let written = std::env::var_os(report::FILE).map(|path| (path, Report::of(&trials, &missing)));
    let conclusion = libtest_mimic::run(&arguments, trials);
    times::print();
    if let Some((path, report)) = written {
        // A report of some cases would look like one of all.
        if arguments.list || arguments.filter.is_some() || !arguments.skip.is_empty() {
            eprintln!("{}: not written, because only some cases were selected", report::FILE);
        } else if let Err(error) = report.write(&root().join(&path)) {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    conclusion.exit_code()
}

fn add_group(first: &mut Vec<Trial>, trials: &mut Vec<Trial>, group: Arc<Group>, devices: &[Tested]) {
    let names: Vec<String> = group.names().map(Into::into).collect();
    for (case, name) in names.iter().enumerate().filter(|(case, _)| group.has_oracle(*case)) {
        let group = group.clone();
        let name = format!("reference::{}::{name}", group.name);
        trials.push(trial(name, move || group.check_reference(case)));
    }
    for device in devices {
        for (case, name) in names.iter().enumerate() {
            let (group, device) = (group.clone(), device.clone());
            let name = format!("{}::{}::{name}", device.id, group.name);
            let list = if case == 0 { &mut *first } else { &mut *trials };
            let kind = if group.has_host_node(case, &device) { "host node" } else { "" };
            list.push(trial(name, move || group.check(case, &device)).with_kind(kind));
        }
    }
}

fn add_scenario(trials: &mut Vec<Trial>, scenario: &Scenario, device: &Tested) {
    let (scenario, device) = (*scenario, device.clone());
    let name = format!("{}::{}::{}", device.id, scenario.family, scenario.name);
    trials.push(trial(name, move || {
        (scenario.run)(&Stage::direct(&device)).map_err(|e| e.to_string())?;
        (scenario.run)(&Stage::loaded(&device)).map_err(|e| format!("after save and load: {e}"))
    }));
}

fn example_on(example: &'static Example, device: &Tested) -> Trial {
    let name = format!("{}::examples::{}", device.id, example.name);
    let device = device.clone();
    let run = move || device.open().and_then(|open| (example.run)(&open)).map(drop);
    trial(name, move || run().map_err(|e| e.to_string()))
}

/// The root of the repository: cargo runs tests in their package's folder, and paths are relative to the
/// root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A case as a test, recorded for the report.
fn trial(name: String, check: impl FnOnce() -> Result<(), String> + Send + 'static) -> Trial {
    let noted = name.clone();
    Trial::test(name, move || {
        let start = Instant::now();
        let outcome = caught(check);
        times::note(&noted, start.elapsed());
        report::note(&noted, outcome.is_ok());
        outcome.map_err(Failed::from)
    })
}

/// Converts a panic to an error, so that it does not end other cases.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Err(format!("panicked: {}", said(&payload))))
}

fn said(payload: &Box<dyn Any + Send>) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
