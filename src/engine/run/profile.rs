//! Timed runs: the work and the duration of every step of a Program.

use super::Engine;
use crate::engine::compile::Compiled;
use crate::engine::cost;
use crate::engine::record::Sequence;
use crate::engine::storage::{CallInput, EngineContext};
use crate::error::{DeviceError, Result};
use std::time::{Duration, Instant};

/// The work of a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StepWork {
    /// The name; that of a kernel begins with its number in the source.
    pub(crate) name: String,
    /// `kernel`, `copy`, or as [`Step::kind`](crate::lower::program::Step::kind).
    pub(crate) kind: &'static str,
    /// Minimum number of bytes read and written.
    pub(crate) bytes: u64,
    pub(crate) flops: u64,
}

impl Engine {
    /// Runs `n` calls as a [`IterationLoop`](super::IterationLoop) does, each step timed on the device, and
    /// waits after each Segment. `each_call` gets the start time of the call, and its steps.
    pub(crate) fn run_n_timed(
        &mut self,
        method: usize,
        n: u64,
        constant: &[CallInput],
        each: &[(usize, CallInput)],
        mut each_call: impl FnMut(Instant, Vec<(StepWork, Duration)>),
    ) -> Result<()> {
        let sequences = each.iter().map(|(input, value)| Sequence::new(&self.context, *input, value));
        let mut sequences = sequences.collect::<Result<Vec<_>>>()?;
        let mut args = constant.to_vec();
        for call in 0..n {
            for sequence in &mut sequences {
                args[sequence.input] = CallInput::Device(sequence.slice(&self.context, call)?);
            }
            let (planned, context) = self.ready(method, &args)?;
            let mut bound = planned.record(context)?;
            bound.upload_inputs(context, &args, None)?;
            context.device.synchronize()?;
            let work = bound.compiled.work(context);
            let start = Instant::now();
            let took = bound.timed(context)?;
            if took.len() != work.len() {
                let message = format!("{} steps were timed, {} are known", took.len(), work.len());
                let device = &context.device.properties().id;
                return Err(DeviceError::driver(device, "Recording::timed", message).into());
            }
            each_call(start, work.into_iter().zip(took).collect());
        }
        Ok(())
    }
}

impl Compiled {
    /// The work of each command, in the order in which they are recorded: the steps, then copies of new
    /// values to shared variables.
    pub(crate) fn work(&self, context: &EngineContext) -> Vec<StepWork> {
        let steps = self.with_kernels().map(|(step, kernels)| {
            let (kind, name) = match (step.kind(), kernels) {
                ("nest", [kernel]) => ("kernel", format!("k{kernel} {}", step.label())),
                ("host", _) => ("host", format!("host {}", step.label())),
                (kind, _) => (kind, step.label()),
            };
            let work = cost::step(&self.program, step);
            StepWork { name, kind, bytes: work.bytes(), flops: work.flops as u64 }
        });
        let mut work: Vec<StepWork> = steps.collect();
        work.extend(self.copied(context).map(|(shared, buffer)| StepWork {
            name: format!("copy to {}", context.states[self.definition.states[shared]].binding.name),
            kind: "copy",
            bytes: 2 * self.program.buffers[buffer].bytes(),
            flops: 0,
        }));
        work
    }
}
