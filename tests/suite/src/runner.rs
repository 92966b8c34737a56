//! A libtest-mimic test for each case or example and each device.

use crate::cases;
use crate::devices::{self, Kind, Missing, Tested};
use crate::group::Group;
use crate::report::{self, Report};
use crate::stage::{Scenario, Stage};
use crate::times;
use crate::workers::{self, Workers};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use workalike_examples::{ALL, Example};

/// The variable that makes a missing NVIDIA GPU a failure.
const REQUIRE_CUDA: &str = "WORKALIKE_REQUIRE_CUDA";

/// A test before it is known where it runs.
pub(crate) struct Case {
    /// `device::family::case`.
    pub(crate) name: String,
    /// `host node`, or empty.
    kind: &'static str,
    /// Cases of a group on a device share results, so one process runs them.
    group: Option<String>,
    check: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

impl Case {
    fn new(name: String, check: impl FnOnce() -> Result<(), String> + Send + 'static) -> Case {
        Case { name, kind: "", group: None, check: Box::new(check) }
    }

    /// Runs it; a panic is an error.
    pub(crate) fn run(self) -> Result<(), String> {
        caught(self.check)
    }

    /// A test that records its outcome for the report, and runs on a worker if there are workers.
    fn into_trial(self, workers: Option<&Arc<Workers>>) -> Trial {
        let (name, kind, workers) = (self.name.clone(), self.kind, workers.cloned());
        let trial = Trial::test(&name, move || {
            let (name, start) = (self.name.clone(), Instant::now());
            let outcome = match workers {
                Some(workers) => workers.run(&name, self.group.as_deref()),
                None => self.run(),
            };
            times::note(&name, start.elapsed());
            report::note(&name, outcome.is_ok());
            outcome.map_err(Failed::from)
        });
        trial.with_kind(kind)
    }
}

/// Lists, filters and runs tests according to the command line.
pub fn main() -> ExitCode {
    let (devices, missing) = devices::all();
    if workers::is_worker() {
        return workers::serve(cases(&devices));
    }
    let arguments = Arguments::from_args();
    let some = arguments.filter.is_some() || !arguments.skip.is_empty();
    let threads = arguments.test_threads.or_else(|| thread::available_parallelism().ok().map(Into::into));
    // A run of some cases stays in one process, where a debugger or a sanitizer sees it.
    let workers = threads.filter(|&n| n > 1 && !some).map(|threads| Arc::new(Workers::new(threads)));
    let mut trials: Vec<Trial> = missing.iter().map(absent).collect();
    trials.extend(cases(&devices).into_iter().map(|case| case.into_trial(workers.as_ref())));
    let written = std::env::var_os(report::FILE).map(|path| (path, Report::of(&trials, &missing)));
    let conclusion = libtest_mimic::run(&arguments, trials);
    times::print();
    if let Some((path, report)) = written {
        // A report of some cases would look like one of all.
        if arguments.list || some {
            eprintln!("{}: not written, because only some cases were selected", report::FILE);
        } else if let Err(error) = report.write(&root().join(&path)) {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    conclusion.exit_code()
}

/// A test that stands for a missing kind of device: ignored, or failed where it is required.
fn absent(Missing { kind, why }: &Missing) -> Trial {
    let name = format!("{kind} ({})", if *kind == "opencl" { "no platform" } else { "no device" });
    // Every host can have OpenCL on its CPU, so it is required in CI.
    let required = match *kind {
        "opencl" => std::env::var("CI").is_ok_and(|v| v == "true"),
        _ => std::env::var_os(REQUIRE_CUDA).is_some(),
    };
    let why = why.clone();
    if required {
        Trial::test(name, move || Err(Failed::from(why)))
    } else {
        Trial::ignorable_test(name, move || Ok(Completion::ignored_with(one_line(&why))))
    }
}

/// All cases, in the same order in every process.
fn cases(devices: &[Tested]) -> Vec<Case> {
    // The first case of a group runs the group, so the first cases come first: threads then work on different
    // groups, and do not wait for each other.
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for made in cases::groups() {
        match made {
            Ok(group) => add_group(&mut first, &mut others, Arc::new(group), devices),
            Err(error) => {
                let message = error.to_string();
                others.push(Case::new("a group could not be built".into(), move || Err(message)));
            }
        }
    }
    let scenarios = cases::scenarios();
    for device in devices {
        let on_it = scenarios.iter().filter(|s| !s.host_only || device.kind == Kind::Host);
        others.extend(on_it.map(|scenario| scenario_on(scenario, device)));
        // Users do not run without fusion.
        if device.kind != Kind::Unfused {
            others.extend(ALL.iter().map(|example| example_on(example, device)));
        }
    }
    first.append(&mut others);
    first
}

fn add_group(first: &mut Vec<Case>, others: &mut Vec<Case>, group: Arc<Group>, devices: &[Tested]) {
    let names: Vec<String> = group.names().map(Into::into).collect();
    for (case, name) in names.iter().enumerate().filter(|(case, _)| group.has_oracle(*case)) {
        let name = format!("reference::{}::{name}", group.name);
        let own = format!("reference::{}", group.name);
        let group = group.clone();
        others.push(Case { group: Some(own), ..Case::new(name, move || group.check_reference(case)) });
    }
    for device in devices {
        let own = format!("{}::{}", device.id, group.name);
        for (case, name) in names.iter().enumerate() {
            let list = if case == 0 { &mut *first } else { &mut *others };
            let kind = if group.has_host_node(case, device) { report::HOST_NODE } else { "" };
            let (group, device) = (group.clone(), device.clone());
            let check = Case::new(format!("{own}::{name}"), move || group.check(case, &device));
            list.push(Case { kind, group: Some(own.clone()), ..check });
        }
    }
}

fn scenario_on(scenario: &Scenario, device: &Tested) -> Case {
    let (scenario, device) = (*scenario, device.clone());
    let name = format!("{}::{}::{}", device.id, scenario.family, scenario.name);
    Case::new(name, move || {
        (scenario.run)(&Stage::direct(&device)).map_err(|e| e.to_string())?;
        (scenario.run)(&Stage::loaded(&device)).map_err(|e| format!("after save and load: {e}"))
    })
}

fn example_on(example: &'static Example, device: &Tested) -> Case {
    let name = format!("{}::examples::{}", device.id, example.name);
    let device = device.clone();
    let run = move || device.open().and_then(|open| (example.run)(&open)).map(drop);
    Case::new(name, move || run().map_err(|e| e.to_string()))
}

/// The root of the repository: cargo runs tests in their package's folder, and paths are relative to the
/// root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
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
