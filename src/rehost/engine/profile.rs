//! Runs with times: every step of a Program, its work and what it took.

use super::super::cost;
use super::Engine;
use super::array::Fed;
use super::plan::Planned;
use super::record::Run;
use super::run::perform_on_host;
use super::sequence::Sequence;
use crate::error::{Error, Result};
use crate::lower::program::{LibraryStep, Step};
use crate::value::Value;
use std::time::{Duration, Instant};

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Work {
    /// A kernel's has the number by which its name in the source begins.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Bytes read and written at least.
    pub(crate) bytes: u64,
    pub(crate) flops: u64,
}

/// Who does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Nest,
    Library,
    Copy,
    Host,
}

impl Engine {
    /// `n` calls as [`Engine::run_n`] makes them, each step timed on the device, which is waited for after each Segment.
    /// `each_call` gets the moment when the call began to run, and its steps. Gives the Program that ran last.
    pub(crate) fn run_n_timed(
        &mut self,
        method: usize,
        n: u64,
        constant: &[Fed],
        each: &[(usize, Value)],
        mut each_call: impl FnMut(Instant, Vec<(Work, Duration)>),
    ) -> Result<Option<usize>> {
        let sequences = each.iter().map(|(input, value)| Sequence::new(self, *input, value));
        let mut sequences = sequences.collect::<Result<Vec<_>>>()?;
        let mut fed = constant.to_vec();
        let mut current = None;
        for call in 0..n {
            for sequence in &mut sequences {
                fed[sequence.input] = Fed::Device(sequence.slice(self, call)?);
            }
            let at = self.planned(method, &fed)?;
            self.record(method, at)?;
            self.feed(method, at, &fed, None)?;
            self.device.synchronize()?;
            let work = self.work(method, at);
            let start = Instant::now();
            let took = self.transact(method, at, None, |engine| engine.timed(method, at))?.0;
            if took.len() != work.len() {
                let message = format!("{} steps were timed, {} are known", took.len(), work.len());
                return Err(Error::Internal(message));
            }
            each_call(start, work.into_iter().zip(took).collect());
            current = Some(at);
        }
        Ok(current)
    }

    /// Runs a recorded Program once; what each step took, in the order of [`Engine::work`].
    fn timed(&mut self, method: usize, at: usize) -> Result<Vec<Duration>> {
        let device = self.device.clone();
        let super::Method { graph, programs, .. } = &mut self.methods[method];
        let Planned { program, shapes, recorded, .. } = &mut programs[at];
        let Some(recorded) = recorded else { return Err(Error::Internal("not recorded".into())) };
        let mut took = Vec::new();
        for run in &mut recorded.runs {
            match run {
                Run::Segment(recording) => took.extend(recording.timed()?),
                Run::Host(node) => {
                    let start = Instant::now();
                    perform_on_host(device.as_ref(), graph, program, shapes, &recorded.regions, node)?;
                    took.push(start.elapsed());
                }
            }
        }
        Ok(took)
    }

    /// What a Program's steps do, in the order in which they are recorded: the steps, then copies of new values to shared variables.
    fn work(&self, method: usize, at: usize) -> Vec<Work> {
        let planned = &self.methods[method].programs[at];
        let mut kernels = planned.kernels.iter();
        let named = |name, kind, step: &Step| {
            let work = cost::step(&planned.program, step);
            Work { name, kind, bytes: work.bytes(), flops: work.flops as u64 }
        };
        let steps = planned.program.steps.iter().map(|step| match step {
            Step::Nest { nest, .. } => {
                let number = kernels.next().map_or_else(String::new, usize::to_string);
                named(format!("k{number} {}", nest.name), Kind::Nest, step)
            }
            Step::Library(LibraryStep { op, epilogue, .. }) => {
                let then = epilogue.as_ref().map_or(String::new(), |e| format!(", {}", e.nest.name));
                named(format!("{}{then}", op.label()), Kind::Library, step)
            }
            Step::Host(node) => named(format!("host {}", node.op.label()), Kind::Host, step),
        });
        let mut work: Vec<Work> = steps.collect();
        work.extend(self.copied(method, at).map(|(shared, buffer)| Work {
            name: format!("copy to {}", self.states[self.methods[method].states[shared]].binding.name),
            kind: Kind::Copy,
            bytes: 2 * planned.program.buffers[buffer].bytes(),
            flops: 0,
        }));
        work
    }
}
