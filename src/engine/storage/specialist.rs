//! A thread that compiles kernels while calls run with others.

use crate::error::Result;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};
use workalike_device::{Device, DeviceModule, Numerics};
use workalike_kernels::print::ForSizes;
use workalike_kernels::verify::Verified;

/// What a thread compiled; `None` if it failed.
pub(crate) type CompileOutcome = Arc<OnceLock<Option<Arc<dyn DeviceModule>>>>;

/// Nests for the thread.
struct CompileJob {
    nests: Vec<Verified>,
    sizes: ForSizes,
    numerics: Numerics,
    outcome: CompileOutcome,
}

/// The thread that compiles, started for the first job.
#[derive(Debug, Default)]
pub(crate) struct Specialist {
    running: Option<(Sender<CompileJob>, JoinHandle<()>)>,
}

impl Specialist {
    /// Hands Nests to the thread; `None` if there is no thread.
    pub(crate) fn compile(
        &mut self,
        device: &Arc<dyn Device>,
        (sizes, numerics): (ForSizes, Numerics),
        nests: Vec<Verified>,
    ) -> Option<CompileOutcome> {
        if self.running.is_none() {
            let (jobs, queue) = channel::<CompileJob>();
            let device = device.clone();
            let run = move || {
                for CompileJob { nests, sizes, numerics, outcome } in queue {
                    // The Program was dropped.
                    if Arc::strong_count(&outcome) == 1 {
                        continue;
                    }
                    let compiled =
                        catch_unwind(AssertUnwindSafe(|| device.compile_for(sizes, &nests, numerics)));
                    let _ = outcome.set(compiled.ok().and_then(Result::ok).flatten());
                }
            };
            let thread = Builder::new().name("workalike-specialist".into()).spawn(run).ok()?;
            self.running = Some((jobs, thread));
        }
        let outcome = CompileOutcome::default();
        let job = CompileJob { nests, sizes, numerics, outcome: outcome.clone() };
        self.running.as_ref()?.0.send(job).ok().map(|()| outcome)
    }
}

impl Drop for Specialist {
    /// Waits for a compiler that runs: some crash if the process ends meanwhile. The Programs were dropped
    /// before, so that jobs that have not begun are skipped.
    fn drop(&mut self) {
        if let Some((jobs, thread)) = self.running.take() {
            drop(jobs);
            let _ = thread.join();
        }
    }
}
