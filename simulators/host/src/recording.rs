//! Segments recorded for the host: commands are bound and checked when recorded, and only run on replay.

use crate::bind::{BoundPlan, Frames};
use crate::exec::Frame;
use crate::library::{Definitions, LibraryCall};
use crate::matmul::{BoundMatmul, Goal, MatmulResources};
use crate::plan::{NestPlan, row_major};
use crate::pool::ThreadPool;
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use workalike_device::host_memory::{HostMemory, LockSet};
use workalike_device::{Command, DeviceError, DeviceResult, LibraryOutput, Recording, Region};
use workalike_kernels::library::{LibraryOp, Matmul};
use workalike_kernels::nest::Nest;
use workalike_kernels::verify::Verified;

enum HostStep {
    Nest(BoundPlan),
    Matmul(Box<BoundMatmul>),
    Library(LibraryCall),
    Copy(ByteCopy),
}

impl HostStep {
    /// The bound Nest, or the epilogue of a product.
    fn bound(&self) -> Option<&BoundPlan> {
        match self {
            HostStep::Nest(bound) => Some(bound),
            HostStep::Matmul(product) => product.epilogue(),
            HostStep::Library(_) | HostStep::Copy(_) => None,
        }
    }

    /// Whether threads besides the caller run a Nest or an epilogue.
    fn parallel(&self) -> bool {
        match self {
            HostStep::Nest(bound) => bound.parallel(),
            HostStep::Matmul(product) => product.epilogue().is_some() && product.parallel(),
            HostStep::Library(_) | HostStep::Copy(_) => false,
        }
    }
}

/// A copy; without a source, `to` is zeroed.
struct ByteCopy {
    from: Option<*const u8>,
    to: *mut u8,
    bytes: usize,
}

// SAFETY: the pointers are into blocks that the recording keeps alive and locks while it runs, so any thread
// may use them.
unsafe impl Send for ByteCopy {}
// SAFETY: it is immutable, and `run` gives different parts to threads that share it.
unsafe impl Sync for ByteCopy {}

/// Bytes that a thread copies at a time.
const PART: usize = 256 << 10;

impl ByteCopy {
    /// Copies or zeroes all parts. False if something panicked.
    ///
    /// # Safety
    /// The source must be readable and the target writable for all bytes; they must not overlap, and no
    /// other thread may use them.
    unsafe fn run(&self, pool: &ThreadPool) -> bool {
        let part = if self.bytes < 4 * PART { self.bytes.max(1) } else { PART };
        pool.run(self.bytes.div_ceil(part), &|at, _| {
            let at = at * part;
            let bytes = part.min(self.bytes - at);
            // SAFETY: the caller guarantees both regions; the part lies within them.
            unsafe {
                match self.from {
                    Some(from) => std::ptr::copy_nonoverlapping(from.add(at), self.to.add(at), bytes),
                    None => self.to.add(at).write_bytes(0, bytes),
                }
            }
        })
    }
}

/// A recorded Segment.
pub(super) struct HostRecording {
    steps: Vec<HostStep>,
    frames: Frames,
    /// Scratch of products. Steps run in sequence, so they share it.
    scratch: Option<HostMemory>,
    holds: LockSet,
    pool: Arc<ThreadPool>,
}

impl HostRecording {
    /// Binds commands that [`check_commands`](workalike_device::command_check::check_commands) accepts.
    pub(super) fn new(
        plans: &[Arc<NestPlan>],
        commands: &[Command],
        pool: &Arc<ThreadPool>,
        share_from: f64,
    ) -> DeviceResult<HostRecording> {
        let (threads, holds) = (pool.threads(), LockSet::default());
        let (epilogues, definitions) = (HashMap::new(), Definitions::new());
        let mut binder = Binder { plans, threads, share_from, holds, epilogues, definitions };
        let steps = commands.iter().map(|command| binder.step(command)).collect::<DeviceResult<Vec<_>>>()?;
        let products = steps.iter().map(|s| match s {
            HostStep::Matmul(product) => product.scratch(),
            _ => 0,
        });
        let scratch = match products.max().unwrap_or(0) {
            0 => None,
            bytes => Some(HostMemory::new(bytes)?),
        };
        let threads = if steps.iter().any(HostStep::parallel) { threads } else { 1 };
        let plans = || steps.iter().filter_map(HostStep::bound).map(|bound| &*bound.plan);
        let frames: DeviceResult<_> = (0..threads).map(|_| Frame::new(plans())).collect();
        let (frames, holds) = (Frames::new(frames?), binder.holds);
        Ok(HostRecording { frames, scratch, steps, holds, pool: pool.clone() })
    }

    /// Runs a step. False if something panicked.
    ///
    /// # Errors
    /// The error of a library op's definition.
    ///
    /// # Safety
    /// The step must be of this recording, whose memory is locked. No other step of it may run at the same
    /// time.
    unsafe fn run(&self, step: &HostStep) -> DeviceResult<bool> {
        let pool = &*self.pool;
        let done = match step {
            // SAFETY: the caller guarantees locked memory and exclusive frames. `new` made the frames for all
            // plans of the recording: one, or one per thread if a step is parallel.
            HostStep::Nest(bound) => unsafe { bound.run(&self.frames, pool) },
            HostStep::Matmul(product) => {
                let scratch = self.scratch.as_ref().map_or(std::ptr::null_mut(), HostMemory::start);
                // SAFETY: the caller guarantees locked memory, and that no other step uses scratch and
                // frames. `new` made them as large as any product of the recording needs.
                unsafe { product.run(MatmulResources { pool, frames: &self.frames, scratch }) }
            }
            // SAFETY: the caller guarantees locked memory. `check_commands` checked that the regions are as
            // large as the op says, aligned, and that written ones overlap no other.
            HostStep::Library(call) => return unsafe { call.run(pool) },
            // SAFETY: `hold` checked that the regions lie within their memory, `check_commands` that they are
            // equally long and disjoint; the caller guarantees that they are locked.
            HostStep::Copy(copy) => unsafe { copy.run(pool) },
        };
        Ok(done)
    }

    /// Runs the steps by `each` up to the first that fails (false or an error).
    fn run_all(&self, mut each: impl FnMut(&HostStep) -> DeviceResult<bool>) -> DeviceResult<()> {
        let done = catch_unwind(AssertUnwindSafe(|| {
            let _held = self.holds.lock()?;
            for step in &self.steps {
                if !each(step)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }));
        match done {
            Ok(Ok(true)) => Ok(()),
            Ok(Err(error)) => Err(error),
            _ => Err(DeviceError::driver("host", "replay", "a step panicked; please report it")),
        }
    }
}

impl Recording for HostRecording {
    fn replay(&mut self) -> DeviceResult<()> {
        // SAFETY: `run_all` locks the memory and runs steps in sequence; `&mut self` excludes other replays.
        self.run_all(|step| unsafe { self.run(step) })
    }

    fn timed(&mut self) -> DeviceResult<Vec<Duration>> {
        let mut took = Vec::with_capacity(self.steps.len());
        self.run_all(|step| {
            let start = Instant::now();
            // SAFETY: `run_all` locks the memory and runs steps in sequence; `&mut self` excludes other
            // replays.
            let done = unsafe { self.run(step) };
            took.push(start.elapsed());
            done
        })?;
        Ok(took)
    }
}

impl fmt::Debug for HostRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.steps.iter().map(|s| match s {
                HostStep::Nest(bound) => bound.plan.name.as_str(),
                HostStep::Matmul(_) => "matmul",
                HostStep::Library(call) => call.name(),
                HostStep::Copy(copy) => copy.from.map_or("clear", |_| "copy"),
            }))
            .finish()
    }
}

/// Binds commands and collects the memory to lock.
struct Binder<'a> {
    plans: &'a [Arc<NestPlan>],
    threads: usize,
    share_from: f64,
    holds: LockSet,
    /// Epilogues by their Nest: a block of iterations repeats them.
    epilogues: HashMap<*const Nest, Arc<NestPlan>>,
    definitions: Definitions,
}

impl Binder<'_> {
    /// The address and size of a region, which is locked while the recording runs.
    fn hold(&mut self, region: &Region, write: bool) -> DeviceResult<(*mut u8, usize)> {
        let memory = HostMemory::of_region(region, "record")?;
        self.holds.add(memory, write);
        // `part` refuses regions larger than memory, so the size fits.
        memory.part(region.offset, region.bytes, "record").map(|start| (start, region.bytes as usize))
    }

    fn step(&mut self, command: &Command) -> DeviceResult<HostStep> {
        Ok(match command {
            Command::Launch { nest, args } => {
                let plan = self.plans.get(*nest).ok_or_else(|| wrong(format!("there is no Nest {nest}")))?;
                for (region, (_, written)) in args.iter().zip(&plan.operands) {
                    self.hold(region, *written)?;
                }
                HostStep::Nest(BoundPlan::new(plan, args, self.threads, self.share_from)?)
            }
            Command::Library { op, inputs, target, scratch } => match op.downcast::<Matmul>() {
                Some(product) => HostStep::Matmul(Box::new(self.product(product, inputs, target)?)),
                None => HostStep::Library(self.library(&**op, inputs, target, scratch.as_ref())?),
            },
            Command::Copy { source, target } => {
                let (from, bytes) = self.hold(source, false)?;
                HostStep::Copy(ByteCopy {
                    from: Some(from.cast_const()),
                    to: self.hold(target, true)?.0,
                    bytes,
                })
            }
            Command::Clear { target } => {
                let (to, bytes) = self.hold(target, true)?;
                HostStep::Copy(ByteCopy { from: None, to, bytes })
            }
        })
    }

    fn product(
        &mut self,
        product: &Matmul,
        factors: &[Region],
        target: &LibraryOutput,
    ) -> DeviceResult<BoundMatmul> {
        let [a, b] = factors else { return Err(wrong(format!("a product of {} factors", factors.len()))) };
        self.hold(a, false)?;
        self.hold(b, false)?;
        let goal = match target {
            LibraryOutput::Memory(results) => {
                let [c] = &results[..] else { return Err(wrong(format!("{} products", results.len()))) };
                self.hold(c, true)?;
                Goal::Memory(c)
            }
            LibraryOutput::Epilogue { nest, args } => {
                let plan = self.epilogue(nest)?;
                for (region, (_, written)) in args.iter().zip(&plan.operands) {
                    region.iter().try_for_each(|region| self.hold(region, *written).map(drop))?;
                }
                Goal::Epilogue(Box::new(BoundPlan::epilogue(&plan, args)?))
            }
        };
        BoundMatmul::new(product, [a, b], goal, self.threads)
    }

    fn epilogue(&mut self, nest: &Verified) -> DeviceResult<Arc<NestPlan>> {
        let shared: *const Nest = &**nest;
        if let Some(plan) = self.epilogues.get(&shared) {
            return Ok(plan.clone());
        }
        let plan = row_major(nest).map_err(|e| wrong(format!("epilogue {}: {e}", nest.name)))?;
        let plan = Arc::new(plan);
        self.epilogues.insert(shared, plan.clone());
        Ok(plan)
    }

    fn library(
        &mut self,
        op: &dyn LibraryOp,
        inputs: &[Region],
        target: &LibraryOutput,
        scratch: Option<&Region>,
    ) -> DeviceResult<LibraryCall> {
        let LibraryOutput::Memory(outputs) = target else {
            return Err(wrong(format!("{} has no epilogue", op.name())));
        };
        let read = inputs.iter().map(|region| (region, false));
        let written = outputs.iter().chain(scratch).map(|region| (region, true));
        let operands = read.chain(written).map(|(region, write)| self.hold(region, write));
        let operands = operands.collect::<DeviceResult<Vec<_>>>()?;
        LibraryCall::new(op, &operands, self.threads, &mut self.definitions)
    }
}

fn wrong(message: String) -> DeviceError {
    DeviceError::driver("host", "record", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Host;
    use workalike_device::{Numerics, Open};
    use workalike_kernels::DType;
    use workalike_kernels::library::LibraryNonZero;

    #[test]
    fn inputs_of_an_op_may_be_read_concurrently() {
        let device = Host::threads(1).open().unwrap();
        let region = |bytes: u64| Region::whole(device.allocate(bytes).unwrap());
        let op = Arc::new(LibraryNonZero { dtype: DType::Bool, len: 8, kept: 8, taken: Some(DType::F32) });
        let inputs = vec![region(8), region(32)];
        let lent = [inputs[0].clone(), inputs[1].clone()];
        let target = LibraryOutput::Memory(vec![region(32), region(8)]);
        let command = Command::Library { op, inputs, target, scratch: None };
        let module = device.compile(&[], Numerics::default()).unwrap();
        let mut recording = device.record(&module, &[command]).unwrap();
        let lent = lent.map(|input| device.lend(&input).unwrap());
        let (done, wait) = std::sync::mpsc::channel();
        let replay = std::thread::spawn(move || done.send(recording.replay()));
        // The limit turns a hang into a failure; a busy machine does not reach it.
        let waited = wait.recv_timeout(Duration::from_secs(600));
        drop(lent);
        assert!(replay.join().is_ok_and(|sent| sent.is_ok()));
        assert!(waited.is_ok_and(|replayed| replayed.is_ok()), "it waited for those who read its inputs");
    }
}
