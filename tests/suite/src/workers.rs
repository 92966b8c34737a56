//! Cases in several processes.
//!
//! PoCL compiles one kernel at a time in a process, so threads alone leave most cores idle. A run of all
//! cases starts this binary again as workers, one for each thread, and hands them cases by name. A case whose
//! worker crashes is a failure with its name, and a new worker takes the other cases.

use crate::runner::Case;
use std::collections::{HashMap, HashSet};
use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The variable that makes a process a worker.
const WORKER: &str = "WORKALIKE_SUITE_WORKER";

/// Begins the line of an outcome; other lines are what cases print.
const OUTCOME: char = '\u{2}';

/// Whether this process was started as a worker.
pub(crate) fn is_worker() -> bool {
    env::var_os(WORKER).is_some()
}

/// Runs the cases whose names arrive on the standard input, until it ends.
pub(crate) fn serve(cases: Vec<Case>) -> ExitCode {
    let mut cases: HashMap<String, Case> = cases.into_iter().map(|case| (case.name.clone(), case)).collect();
    for name in io::stdin().lines() {
        let Ok(name) = name else { return ExitCode::FAILURE };
        let outcome = match cases.remove(&name) {
            Some(case) => case.run(),
            None => Err(format!("a worker has no case {name}")),
        };
        let mut stdout = io::stdout().lock();
        // A newline first, in case something was printed without one.
        let line = format!("\n{OUTCOME}{}\n", outcome.map_or_else(|why| escaped(&why), |()| String::new()));
        if stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// One process.
struct Worker {
    number: usize,
    process: Child,
    // Option, so that Drop can close it.
    names: Option<ChildStdin>,
    outcomes: BufReader<ChildStdout>,
}

impl Worker {
    fn start(number: usize) -> io::Result<Worker> {
        let mut command = Command::new(env::current_exe()?);
        let mut process = command.env(WORKER, "1").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let names = process.stdin.take();
        let outcomes = process.stdout.take().ok_or_else(|| io::Error::other("it has no output"))?;
        Ok(Worker { number, process, names, outcomes: BufReader::new(outcomes) })
    }

    /// The outcome of a case; an error if the process ended.
    fn run(&mut self, name: &str) -> io::Result<Result<(), String>> {
        let names = self.names.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(names, "{name}")?;
        names.flush()?;
        loop {
            let mut line = String::new();
            if self.outcomes.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match line.strip_prefix(OUTCOME).map(str::trim_end) {
                Some("") => return Ok(Ok(())),
                Some(why) => return Ok(Err(unescaped(why))),
                None if line.trim().is_empty() => {}
                None => print!("{line}"),
            }
        }
    }

    /// How the process ended.
    fn end(mut self) -> String {
        self.names = None;
        self.process.wait().map_or_else(|e| e.to_string(), |status| status.to_string())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input ends a worker.
        self.names = None;
        let _ = self.process.wait();
    }
}

/// The workers of a run.
pub(crate) struct Workers {
    limit: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Worker>,
    running: usize,
    started: usize,
    /// The worker that has the results of a group on a device.
    owners: HashMap<String, usize>,
    /// Groups that ended their worker.
    fatal: HashSet<String>,
}

impl Workers {
    /// At most this many processes, started when they are needed.
    pub(crate) fn new(limit: usize) -> Workers {
        Workers { limit, state: Mutex::default(), freed: Condvar::new() }
    }

    /// Runs a case, on the worker that has the results of its group, if it has a group.
    ///
    /// # Errors
    /// As the case itself, or how its worker ended.
    pub(crate) fn run(&self, name: &str, group: Option<&str>) -> Result<(), String> {
        let mut worker = self.take(group)?;
        let outcome = worker.run(name);
        let mut state = self.state();
        state.running -= 1;
        let outcome = match outcome {
            Ok(outcome) => {
                state.idle.push(worker);
                outcome
            }
            Err(error) => {
                state.owners.retain(|_, owner| *owner != worker.number);
                state.fatal.extend(group.map(str::to_string));
                Err(format!("its process ended ({error}): {}", worker.end()))
            }
        };
        drop(state);
        self.freed.notify_all();
        outcome
    }

    fn take(&self, group: Option<&str>) -> Result<Worker, String> {
        let mut state = self.state();
        loop {
            if group.is_some_and(|group| state.fatal.contains(group)) {
                return Err("another case of its group ended the process".into());
            }
            let owner = group.and_then(|group| state.owners.get(group).copied());
            let found = match owner {
                Some(owner) => state.idle.iter().position(|worker| worker.number == owner),
                None => state.idle.len().checked_sub(1),
            };
            let worker = match found {
                Some(found) => Some(state.idle.swap_remove(found)),
                None if owner.is_none() && state.running + state.idle.len() < self.limit => {
                    state.started += 1;
                    Some(Worker::start(state.started).map_err(|e| format!("no worker starts: {e}"))?)
                }
                None => None,
            };
            if let Some(worker) = worker {
                state.running += 1;
                if let (Some(group), None) = (group, owner) {
                    state.owners.insert(group.into(), worker.number);
                }
                return Ok(worker);
            }
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text on one line.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('\n', r"\n")
}

/// The text of [`escaped`].
fn unescaped(line: &str) -> String {
    line.split(r"\\").map(|part| part.replace(r"\n", "\n")).collect::<Vec<_>>().join(r"\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_pass_on_one_line() {
        for text in ["", "plain", "two\nlines\n", r"a \n that is no newline", "\\\n\\n\\\\n"] {
            assert!(!escaped(text).contains('\n'));
            assert_eq!(unescaped(&escaped(text)), text);
        }
    }
}
