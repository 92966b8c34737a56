//! Segments recorded for the host: everything is bound and checked when it is recorded, and only run when it is replayed.

use super::bind::{Bound, Frames};
use super::calls::Called;
use super::exec::Frame;
use super::matmul::{Goal, Product, Room};
use super::plan::{Plan, row_major};
use super::pool::Pool;
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use workalike_device::host_memory::{HostMemory, LockSet};
use workalike_device::{Command, DeviceError, DeviceResult, Recording, Region, Target};
use workalike_kernels::nest::Nest;

enum Step {
    Nest(Bound),
    Matmul(Box<Product>),
    Call(Called),
    Copy(Bytes),
    Clear(Bytes),
}

/// A copy, or a clearing of `to`.
struct Bytes {
    from: *const u8,
    to: *mut u8,
    bytes: usize,
}

// SAFETY: the pointers are into blocks that the recording keeps and holds while it runs.
unsafe impl Send for Bytes {}
// SAFETY: as above; threads that share a Bytes take different parts.
unsafe impl Sync for Bytes {}

/// What a thread copies at a time.
const PART: usize = 256 << 10;

impl Bytes {
    /// Calls `each(offset, length)` for all parts.
    fn parts(&self, pool: &Pool, each: impl Fn(usize, usize) + Sync) -> bool {
        if self.bytes < 4 * PART {
            each(0, self.bytes);
            return true;
        }
        pool.run(self.bytes.div_ceil(PART), &|part, _| each(part * PART, PART.min(self.bytes - part * PART)))
    }
}

/// A recorded Segment.
pub(super) struct HostRecording {
    steps: Vec<Step>,
    frames: Frames,
    /// What products need besides, one after the other.
    scratch: Option<HostMemory>,
    holds: LockSet,
    pool: Arc<Pool>,
}

impl HostRecording {
    /// Binds commands that [`check_commands`](workalike_device::command_check::check_commands) accepts.
    pub(super) fn new(
        plans: &[Arc<Plan>],
        commands: &[Command],
        pool: &Arc<Pool>,
        share_from: f64,
    ) -> DeviceResult<HostRecording> {
        let wrong = |message: String| DeviceError::driver("host", "record", message);
        let mut steps = Vec::new();
        let mut holds = LockSet::default();
        let mut epilogues: HashMap<*const Nest, Arc<Plan>> = HashMap::new();
        let mut hold = |region: &Region, write: bool| -> DeviceResult<*mut u8> {
            let memory = HostMemory::of_region(region, "record")?;
            holds.add(memory, write);
            memory.part(region.offset, region.bytes, "record")
        };
        for command in commands {
            steps.push(match command {
                Command::Launch { nest, args } => {
                    let plan = plans.get(*nest).ok_or_else(|| wrong(format!("there is no Nest {nest}")))?;
                    for (region, (_, written)) in args.iter().zip(&plan.operands) {
                        hold(region, *written)?;
                    }
                    Step::Nest(Bound::new(plan, args, pool.threads(), share_from)?)
                }
                Command::Matmul { product, a, b, c } => {
                    hold(a, false)?;
                    hold(b, false)?;
                    let goal = match c {
                        Target::Memory(c) => {
                            hold(c, true)?;
                            Goal::Memory(c)
                        }
                        Target::Epilogue { nest, args } => {
                            // A block of steps holds the same ones again and again.
                            let plan = match epilogues.get(&Arc::as_ptr(nest)) {
                                Some(plan) => plan,
                                None => {
                                    let refused = |e| wrong(format!("epilogue {}: {e}", nest.name));
                                    let plan = Arc::new(row_major(nest).map_err(refused)?);
                                    epilogues.entry(Arc::as_ptr(nest)).or_insert(plan)
                                }
                            };
                            for (region, (_, written)) in args.iter().zip(&plan.operands) {
                                region.iter().try_for_each(|region| hold(region, *written).map(drop))?;
                            }
                            Goal::Epilogue(Box::new(Bound::epilogue(plan, args)?))
                        }
                    };
                    Step::Matmul(Box::new(Product::new(product, [a, b], goal, pool.threads())?))
                }
                Command::Call { call, args } => {
                    let inputs = call.inputs().len();
                    let starts = args.iter().enumerate().map(|(at, region)| hold(region, at >= inputs));
                    Step::Call(Called::new(call, &starts.collect::<DeviceResult<Vec<_>>>()?, pool.threads())?)
                }
                Command::Copy { source, target } => {
                    let (from, to) = (hold(source, false)?, hold(target, true)?);
                    Step::Copy(Bytes { from, to, bytes: source.bytes as usize })
                }
                Command::Clear { target } => {
                    let to = hold(target, true)?;
                    Step::Clear(Bytes { from: to, to, bytes: target.bytes as usize })
                }
            });
        }
        let bound = || {
            steps.iter().filter_map(|s| match s {
                Step::Nest(bound) => Some(bound),
                Step::Matmul(product) => product.epilogue(),
                _ => None,
            })
        };
        let products = steps.iter().map(|s| match s {
            Step::Matmul(product) => product.scratch(),
            _ => 0,
        });
        let scratch = match products.max().unwrap_or(0) {
            0 => None,
            bytes => Some(HostMemory::new(bytes)?),
        };
        let parallel = |s: &Step| match s {
            Step::Nest(bound) => bound.parallel(),
            Step::Matmul(product) => product.epilogue().is_some() && product.parallel(),
            _ => false,
        };
        let threads = if steps.iter().any(parallel) { pool.threads() } else { 1 };
        let frames: DeviceResult<_> = (0..threads).map(|_| Frame::new(bound().map(|b| &*b.plan))).collect();
        Ok(HostRecording { frames: Frames::new(frames?), scratch, steps, holds, pool: pool.clone() })
    }

    /// Runs a step. False if something panicked.
    fn run(&self, step: &Step) -> bool {
        let pool = &*self.pool;
        match step {
            Step::Nest(bound) => bound.run(&self.frames, pool),
            Step::Matmul(product) => {
                let scratch = self.scratch.as_ref().map_or(std::ptr::null_mut(), HostMemory::start);
                // SAFETY: the regions are held; scratch and frames are this recording's, which runs one step at a time, and as
                // large as any of its products needs.
                unsafe { product.run(Room { pool, frames: &self.frames, scratch }) }
            }
            // SAFETY: the regions are held; `check_commands` saw that they are as large as the call says, aligned, and apart.
            Step::Call(call) => unsafe { call.run(pool) },
            Step::Copy(b) => b.parts(pool, |at, bytes| {
                // SAFETY: both regions were checked, do not overlap, and are held.
                unsafe { std::ptr::copy_nonoverlapping(b.from.add(at), b.to.add(at), bytes) };
            }),
            Step::Clear(b) => b.parts(pool, |at, bytes| {
                // SAFETY: the region was checked, and is held.
                unsafe { std::ptr::write_bytes(b.to.add(at), 0, bytes) };
            }),
        }
    }

    /// Runs all steps, each by `each`, which says whether it went well.
    fn run_all(&self, mut each: impl FnMut(&Step) -> bool) -> DeviceResult<()> {
        let done = catch_unwind(AssertUnwindSafe(|| {
            let _held = self.holds.lock()?;
            Ok(self.steps.iter().all(&mut each))
        }));
        match done {
            Ok(Ok(true)) => Ok(()),
            Ok(Err(lent)) => Err(lent),
            _ => Err(DeviceError::driver("host", "replay", "a step panicked; please report it")),
        }
    }
}

impl Recording for HostRecording {
    fn replay(&mut self) -> DeviceResult<()> {
        self.run_all(|step| self.run(step))
    }

    fn timed(&mut self) -> DeviceResult<Vec<Duration>> {
        let mut took = Vec::with_capacity(self.steps.len());
        self.run_all(|step| {
            let start = Instant::now();
            let done = self.run(step);
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
                Step::Nest(bound) => bound.plan.name.as_str(),
                Step::Matmul(_) => "matmul",
                Step::Call(call) => call.name(),
                Step::Copy(_) => "copy",
                Step::Clear(_) => "clear",
            }))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Host;
    use super::*;
    use workalike_device::{Numerics, Open};
    use workalike_kernels::DType;
    use workalike_kernels::call::{Call, NonZero};

    #[test]
    fn what_a_call_only_reads_others_may_read_meanwhile() {
        let device = Host::threads(1).open().unwrap();
        let region = |bytes: u64| Region::whole(device.allocate(bytes).unwrap());
        let call = Call::NonZero(NonZero { dtype: DType::Bool, len: 8, kept: 8, taken: Some(DType::F32) });
        let args = vec![region(8), region(32), region(32), region(8)];
        let inputs = [args[0].clone(), args[1].clone()];
        let module = device.compile(&[], Numerics::default()).unwrap();
        let mut recording = device.record(&module, &[Command::Call { call, args }]).unwrap();
        let lent = inputs.map(|input| device.lend(&input).unwrap());
        let (done, wait) = std::sync::mpsc::channel();
        let replay = std::thread::spawn(move || done.send(recording.replay()));
        // The limit turns a hang into a failure; load does not reach it.
        let waited = wait.recv_timeout(Duration::from_secs(600));
        drop(lent);
        assert!(replay.join().is_ok_and(|sent| sent.is_ok()));
        assert!(waited.is_ok_and(|replayed| replayed.is_ok()), "it waited for those who read its inputs");
    }
}
