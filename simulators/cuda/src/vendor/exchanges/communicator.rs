//! What the GPUs of a group have in common, and what a member enqueues with it.

use super::CheckAt;
use super::mailbox::{self, Mailboxes};
use super::nccl::{self, NcclHandle};
use super::watch::ExchangeWatch;
use crate::capture::{CudaGraph, CudaLaunch, enqueue_launch};
use crate::context::{self, OrDriver, PrimaryContext, Queue, lock};
use crate::exchange_gate::ExchangeGate;
use crate::memory::CudaMemory;
use crate::module::finish_loading;
use crate::nvrtc;
use crate::vendor::streams::fill;
use cudarc::driver::CudaFunction;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread::Builder;
use std::time::Duration;
use workalike_device::group::{Collective, CollectiveArray, CollectiveKind, Group, GroupError};
use workalike_device::{DeviceError, DeviceResult, Numerics};
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

/// The kernels behind exchanges: see [`ExchangeWatch`].
const KERNELS: &str = include_str!("marks.cu");

/// What carries arrays from GPU to GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carriers {
    /// NCCL.
    pub(super) nccl: bool,
    /// A kernel of ours, through the memory of the others' GPUs.
    pub(super) mailboxes: bool,
}

/// The most bytes that a member sends by mailboxes where NCCL is there too, which carries larger arrays in
/// parts that each member folds for all. Between two H200s sums of 4 KiB, 256 KiB, 1 MiB and 4 MiB took 8,
/// 10, 18 and 41 us by mailboxes, and 16, 18, 24 and 45 us by NCCL.
const SMALL: u64 = 4 << 20;

/// An exchange, with what carries it.
#[derive(Clone, Debug)]
pub(super) struct GpuExchange {
    arrays: Vec<CollectiveArray>,
    /// The member's rank, and the number of members.
    place: (usize, usize),
    by_nccl: bool,
}

impl GpuExchange {
    /// `None` if nothing carries it. It is the same for all members.
    pub(super) fn of(op: &Collective, carriers: Carriers) -> Option<GpuExchange> {
        let (rank, size) = (op.group.rank(), op.group.size());
        let sent = op.arrays.iter().map(CollectiveArray::bytes).sum::<u64>();
        let small = sent.saturating_mul(size.saturating_sub(1) as u64) <= SMALL;
        let nccl = carriers.nccl && nccl::has(op);
        let mailboxes = carriers.mailboxes && mailbox::has(op);
        let by_nccl = nccl && !(mailboxes && small);
        let arrays = op.arrays.clone();
        (nccl || mailboxes).then_some(GpuExchange { arrays, place: (rank, size), by_nccl })
    }

    /// Whether a kernel of ours carries it.
    pub(super) fn is_by_mailboxes(&self) -> bool {
        !self.by_nccl
    }
}

/// What the members have made together.
pub(super) struct Communicator {
    nccl: Option<NcclHandle>,
    mailboxes: Option<Mailboxes>,
    context: Arc<PrimaryContext>,
    pub(super) watch: Arc<ExchangeWatch>,
    /// How often the group below was open before.
    pub(super) openings: u64,
    mark: CudaFunction,
    check: CudaFunction,
    /// Graphs with its exchanges. NCCL lets go of a communicator when they are destroyed.
    graphs: Mutex<Vec<Weak<CudaGraph>>>,
    /// Is disconnected when NCCL has let go of it.
    gone: Mutex<Option<Receiver<()>>>,
}

// SAFETY: NCCL's handle is used by one thread at a time, but for what NCCL allows at any time; functions
// may be launched from any thread.
unsafe impl Send for Communicator {}
// SAFETY: likewise.
unsafe impl Sync for Communicator {}

impl Communicator {
    /// Makes it with all members of the group, which do the same now.
    pub(super) fn new(
        context: &Arc<PrimaryContext>,
        group: &Arc<dyn Group>,
        carriers: Carriers,
    ) -> Result<Communicator, GroupError> {
        let driver = |error: DeviceError| failure("a call of CUDA", error);
        context.enter().map_err(driver)?;
        let openings = group.openings();
        let load = |name: &str| kernel_of(context, KERNELS, name).map_err(driver);
        let (mark, check) = (load("mark")?, load("check")?);
        let watch = Arc::new(ExchangeWatch::new(context).map_err(driver)?);
        context.gate.add(&watch);
        let mailboxes = carriers.mailboxes.then(|| Mailboxes::meet(context, group)).transpose()?;
        let nccl = carriers.nccl.then(|| NcclHandle::meet(context, group)).transpose()?;
        let communicator = Communicator {
            nccl,
            mailboxes,
            context: context.clone(),
            watch,
            openings,
            mark,
            check,
            graphs: Mutex::default(),
            gone: Mutex::default(),
        };
        communicator.start_watching(group)?;
        communicator.first_exchange((group.rank(), group.size())).map_err(driver)?;
        Ok(communicator)
    }

    /// Starts the thread that looks on, and in the end has NCCL let go of its communicator.
    fn start_watching(&self, group: &Arc<dyn Group>) -> Result<(), GroupError> {
        let (nccl, watch, group) = (self.nccl, self.watch.clone(), group.clone());
        let context = self.context.clone();
        let (alive, gone) = sync_channel::<()>(0);
        let look_on = move || {
            let _alive = alive;
            // SAFETY: NCCL's communicator lives until this thread ends it.
            let error = || nccl.and_then(|nccl| unsafe { nccl.error() });
            if let Some(why) = watch.look_on(group.as_ref(), error) {
                group.close(&why.to_string());
                // From now on the others may learn that this member has left.
                drop(group);
                watch.cut_off(why);
                if let Some(nccl) = nccl {
                    // SAFETY: it is alive, and no call begins to use it any more (`ExchangeWatch::call`).
                    unsafe { nccl.abort() };
                }
            } else if let (Some(nccl), true) = (nccl, context.enter_drop()) {
                drop(group);
                // If its members are in one process, the last one frees what all have, on all GPUs. It
                // waits until the graphs of aborted ones are destroyed, which takes a guard: so hold none.
                let contexts = context::all();
                drop(ExchangeGate::all_quiet(contexts.iter().map(|context| &context.gate)));
                // SAFETY: it was not aborted, and no call uses it any more.
                unsafe { nccl.destroy() };
            }
        };
        let thread = Builder::new().name("workalike-exchanges".into()).spawn(look_on);
        thread.map_err(|error| failure("starting a thread", error))?;
        *lock(&self.gone) = Some(gone);
        Ok(())
    }

    /// Adds a graph with its exchanges.
    pub(super) fn add(&self, graph: &Arc<CudaGraph>) {
        let mut graphs = lock(&self.graphs);
        graphs.retain(|graph| graph.strong_count() > 0);
        graphs.push(Arc::downgrade(graph));
    }

    /// Destroys all graphs with its exchanges, and waits until NCCL has let go of it, but no longer than
    /// this.
    pub(super) fn retire(&self, longest: Duration) {
        for graph in lock(&self.graphs).drain(..).filter_map(|graph| graph.upgrade()) {
            graph.destroy();
        }
        self.watch.end();
        if let Some(gone) = lock(&self.gone).take() {
            // What comes is that the other end is dropped.
            let _ = gone.recv_timeout(longest);
        }
    }

    /// A small sum, for which NCCL connects the members: in a capture nothing needs to be waited for then.
    fn first_exchange(&self, place: (usize, usize)) -> DeviceResult<()> {
        if self.nccl.is_none() {
            return Ok(());
        }
        let queue = Queue::new(self.context.clone())?;
        let stream = queue.stream.cu_stream();
        let memory = CudaMemory::new(&queue, 2 * FIRST_BYTES)?;
        let (from, to) = (memory.pointer(), memory.pointer() + FIRST_BYTES);
        fill(queue.id(), from, 0, FIRST_BYTES, stream)?;
        let kind = CollectiveKind::AllReduce(Fold::Sum);
        let array = CollectiveArray { kind, dtype: DType::F32, elements: FIRST_BYTES / 4 };
        let exchange = GpuExchange { arrays: vec![array], place, by_nccl: true };
        self.begin(1);
        let enqueued = self.enqueue_by_nccl(&exchange, &[from, to], stream);
        enqueued.and_then(|()| self.enqueue_mark(stream)).inspect_err(|_| self.watch.cancel(1))?;
        queue.synchronize()?;
        match self.watch.failed() {
            Some(error) => Err(DeviceError::driver(queue.id(), "ncclAllReduce", error)),
            None => Ok(()),
        }
    }

    /// The kernel of an exchange, if it is one of ours, which may make the check too. `at` are the
    /// addresses of the inputs, then those of the outputs.
    pub(super) fn kernel(
        &self,
        exchange: &GpuExchange,
        at: &[CUdeviceptr],
        check: Option<&CheckAt>,
    ) -> DeviceResult<Option<CudaLaunch>> {
        let mailboxes = self.mailboxes.as_ref().filter(|_| exchange.is_by_mailboxes());
        let words = self.watch.words.address();
        let launch = mailboxes.map(|mailboxes| mailboxes.launch(&exchange.arrays, at, words, check));
        launch.transpose().map_err(|error| self.failed(error))
    }

    /// Enqueues an exchange that NCCL carries.
    pub(super) fn enqueue_by_nccl(
        &self,
        exchange: &GpuExchange,
        at: &[CUdeviceptr],
        stream: CUstream,
    ) -> DeviceResult<()> {
        let Some(nccl) = self.nccl else {
            return Err(self.failed(failure("an exchange", "nothing carries it")));
        };
        let _call = self.watch.call().map_err(|error| self.failed(error))?;
        // SAFETY: it was not ended when `_call` was made, and the recorder's lock keeps other threads away.
        // The operands were checked.
        let enqueued =
            unsafe { nccl.enqueue(&exchange.arrays, exchange.place, at, (&self.context.id, stream)) };
        enqueued.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: GroupError) -> DeviceError {
        DeviceError::driver(&self.context.id, "record", error)
    }

    /// Notes that exchanges with so many marks are about to be enqueued: once no call of the driver is made
    /// that they would disturb.
    pub(super) fn begin(&self, marks: u64) {
        self.context.gate.begin(|| self.watch.begin(marks));
    }

    /// Enqueues the mark behind the exchanges of a recording.
    pub(super) fn enqueue_mark(&self, stream: CUstream) -> DeviceResult<()> {
        let mark = self.single(&self.mark, vec![self.watch.words.address()]);
        enqueue_launch(&self.context.id, stream, &mark, false)
    }

    /// The kernel of a check, which marks the end too.
    pub(super) fn check(&self, CheckAt { status, report, taken }: &CheckAt) -> CudaLaunch {
        self.single(&self.check, vec![self.watch.words.address(), *status, *report as u64, *taken])
    }

    /// A kernel of one thread.
    fn single(&self, function: &CudaFunction, args: Vec<u64>) -> CudaLaunch {
        CudaLaunch::printed(function.cu_function(), (1, 1), args)
    }
}

/// Bytes of the first exchange.
const FIRST_BYTES: u64 = 1024;

impl Drop for Communicator {
    fn drop(&mut self) {
        // If other members of this process are in an exchange, it is destroyed later.
        self.retire(Duration::from_secs(1));
    }
}

/// A kernel of ours. The context must be current.
pub(super) fn kernel_of(context: &PrimaryContext, source: &str, name: &str) -> DeviceResult<CudaFunction> {
    let module = nvrtc::module(context, source, Numerics::default())?;
    let function = module.load_function(name).or_driver(&context.id, "cuModuleGetFunction")?;
    finish_loading(context, function.cu_function())?;
    Ok(function)
}

fn failure(call: &str, message: impl ToString) -> GroupError {
    GroupError::Transport { transport: "GPUs".into(), call: call.into(), message: message.to_string() }
}
