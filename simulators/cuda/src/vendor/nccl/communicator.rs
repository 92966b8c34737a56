//! A communicator of NCCL, and what its members enqueue on it.

use super::api::{Api, BYTES, MeetingPlace, Raw, api, failure, reduction};
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
use std::ffi::c_void;
use std::ptr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread::Builder;
use std::time::{Duration, Instant};
use workalike_device::group::{
    Collective, CollectiveArray, CollectiveKind, Group, GroupError, Route, broadcast,
};
use workalike_device::{DeviceError, DeviceResult, Numerics};
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

/// The kernels behind exchanges: see [`ExchangeWatch`].
const KERNELS: &str = include_str!("kernels.cu");

/// A communicator, which all members have made together.
pub(super) struct Communicator {
    api: &'static Api,
    raw: Raw,
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

/// A communicator that another thread takes over.
struct RawHandle(Raw);

// SAFETY: a communicator may be used from any thread.
unsafe impl Send for RawHandle {}
// SAFETY: `raw` is used from one thread at a time, but for `asynchronous_error` and `abort`, which NCCL
// allows at any time; functions may be launched from any thread.
unsafe impl Send for Communicator {}
// SAFETY: likewise.
unsafe impl Sync for Communicator {}

impl Communicator {
    /// Makes it with all members of the group, which do the same now.
    pub(super) fn new(
        context: &Arc<PrimaryContext>,
        group: &Arc<dyn Group>,
    ) -> Result<Communicator, GroupError> {
        let api = api().map_err(|absent| failure("loading it", absent.why))?;
        let driver = |error: DeviceError| failure("a call of CUDA", error);
        context.enter().map_err(driver)?;
        let openings = group.openings();
        let module = nvrtc::module(context, KERNELS, Numerics::default()).map_err(driver)?;
        let kernel = |name: &str| -> DeviceResult<CudaFunction> {
            let function = module.load_function(name).or_driver(&context.id, "cuModuleGetFunction")?;
            finish_loading(context, function.cu_function())?;
            Ok(function)
        };
        let (mark, check) = (kernel("mark").map_err(driver)?, kernel("check").map_err(driver)?);
        let watch = Arc::new(ExchangeWatch::new(context).map_err(driver)?);
        context.gate.add(&watch);
        let raw = meet(api, context, group)?;
        let communicator = Communicator {
            api,
            raw,
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

    /// Starts the thread that looks on, and in the end has NCCL let go of the communicator.
    fn start_watching(&self, group: &Arc<dyn Group>) -> Result<(), GroupError> {
        let (api, raw, watch, group) = (self.api, RawHandle(self.raw), self.watch.clone(), group.clone());
        let context = self.context.clone();
        let (alive, gone) = sync_channel::<()>(0);
        let look_on = move || {
            let (RawHandle(raw), _alive) = (raw, alive);
            let error = || {
                let mut status = 0;
                // SAFETY: the communicator lives until this thread ends it.
                let asked = unsafe { (api.asynchronous_error)(raw, &mut status) };
                api.check("an exchange", if asked == 0 { status } else { asked }).err()
            };
            if let Some(why) = watch.look_on(group.as_ref(), error) {
                group.close(&why.to_string());
                // From now on the others may learn that this member has left.
                drop(group);
                watch.cut_off(api, raw, why);
            } else if context.enter_drop() {
                drop(group);
                // If its members are in one process, the last one frees what all have, on all GPUs. It
                // waits until the graphs of aborted ones are destroyed, which takes a guard: so hold none.
                let contexts = context::all();
                drop(ExchangeGate::all_quiet(contexts.iter().map(|context| &context.gate)));
                // SAFETY: it was not aborted, and is destroyed once. No call uses it any more.
                let _ = unsafe { (api.destroy)(raw) };
            }
        };
        let thread = Builder::new().name("workalike-nccl".into()).spawn(look_on);
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
        let queue = Queue::new(self.context.clone())?;
        let stream = queue.stream.cu_stream();
        let memory = CudaMemory::new(&queue, 2 * FIRST_BYTES)?;
        let (from, to) = (memory.pointer(), memory.pointer() + FIRST_BYTES);
        fill(queue.id(), from, 0, FIRST_BYTES, stream)?;
        let kind = CollectiveKind::AllReduce(Fold::Sum);
        let array = CollectiveArray { kind, dtype: DType::F32, elements: FIRST_BYTES / 4 };
        let exchange = NcclExchange { arrays: vec![array], place };
        self.begin(1);
        let enqueued = self.enqueue(&exchange, &[from, to], stream);
        enqueued.and_then(|()| self.enqueue_mark(stream)).inspect_err(|_| self.watch.cancel(1))?;
        queue.synchronize()?;
        match self.watch.failed() {
            Some(error) => Err(DeviceError::driver(queue.id(), "ncclAllReduce", error)),
            None => Ok(()),
        }
    }

    /// Enqueues an exchange. `at` are the addresses of the inputs, then those of the outputs.
    pub(super) fn enqueue(
        &self,
        exchange: &NcclExchange,
        at: &[CUdeviceptr],
        stream: CUstream,
    ) -> DeviceResult<()> {
        let failed = |error: GroupError| DeviceError::driver(&self.context.id, "record", error);
        let _call = self.watch.call().map_err(failed)?;
        let (inputs, outputs) = at.split_at(exchange.arrays.len().min(at.len()));
        if inputs.len() != outputs.len() || outputs.is_empty() {
            return Err(failed(failure("an exchange", format!("{} operands", at.len()))));
        }
        let call = Call { api: self.api, raw: self.raw, stream, device: &self.context.id };
        let arrays = exchange.arrays.iter().zip(inputs.iter().zip(outputs));
        // SAFETY: groups of calls are of one thread, and this one is ended below.
        self.api.check("ncclGroupStart", unsafe { (self.api.group_start)() }).map_err(failed)?;
        let enqueued =
            arrays.map(|(array, (&input, &output))| call.one(array, exchange.place, (input, output)));
        let enqueued = enqueued.collect::<Result<Vec<()>, GroupError>>();
        // SAFETY: ends the group that was started above, also after an error.
        let ended = self.api.check("ncclGroupEnd", unsafe { (self.api.group_end)() });
        enqueued.and(ended).map_err(failed)
    }

    /// Notes that exchanges with so many marks are about to be enqueued: once no call of the driver is made
    /// that they would disturb.
    pub(super) fn begin(&self, marks: u64) {
        self.context.gate.begin(|| self.watch.begin(marks));
    }

    /// Enqueues the mark behind the exchanges of a recording.
    pub(super) fn enqueue_mark(&self, stream: CUstream) -> DeviceResult<()> {
        self.launch(&self.mark, vec![self.watch.words.address()], stream)
    }

    /// Enqueues an [`ExchangeCheck`](workalike_device::group::ExchangeCheck), which marks the end too.
    pub(super) fn enqueue_check(
        &self,
        status: CUdeviceptr,
        report: i64,
        stream: CUstream,
    ) -> DeviceResult<()> {
        self.launch(&self.check, vec![self.watch.words.address(), status, report as u64], stream)
    }

    fn launch(&self, function: &CudaFunction, args: Vec<u64>, stream: CUstream) -> DeviceResult<()> {
        let mut launch = CudaLaunch::printed(function.cu_function(), (1, 1), args);
        launch.waits = false;
        enqueue_launch(&self.context.id, stream, &launch, false)
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

/// The least time for meeting the other members, which takes NCCL a second or more.
const MEETING: Duration = Duration::from_secs(120);

/// Meets the other members. It is a call that cannot be left, so it is made by a thread that is left behind
/// if a member does not come.
fn meet(api: &'static Api, context: &Arc<PrimaryContext>, group: &Arc<dyn Group>) -> Result<Raw, GroupError> {
    let place = meeting_place(api, group)?;
    let (rank, size) = (group.rank() as i32, group.size() as i32);
    let (sender, receiver) = sync_channel(1);
    let own = context.clone();
    let init = move || {
        let mut raw = ptr::null_mut();
        let entered = own.enter().map_err(|error| failure("cuCtxSetCurrent", error));
        // SAFETY: the context is current; the communicator is written to `raw`.
        let made = entered
            .and_then(|()| api.check("ncclCommInitRank", unsafe { (api.init)(&mut raw, size, place, rank) }));
        // The member may have given up waiting.
        _ = sender.send(made.map(|()| RawHandle(raw)));
    };
    Builder::new()
        .name("workalike-nccl".into())
        .spawn(init)
        .map_err(|error| failure("starting a thread", error))?;
    let (waited, since) = (group.patience().max(MEETING), Instant::now());
    loop {
        match receiver.recv_timeout(Duration::from_millis(20)) {
            Ok(made) => return made.map(|RawHandle(raw)| raw),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failure("ncclCommInitRank", "its thread ended"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(error) = group.closed() {
            return Err(error);
        }
        if since.elapsed() > waited {
            let missing = (0..group.size()).filter(|&other| other != group.rank()).collect();
            return Err(GroupError::Late { missing, what: "ncclCommInitRank".into(), waited });
        }
    }
}

/// Where the members meet: member 0 says it.
fn meeting_place(api: &Api, group: &Arc<dyn Group>) -> Result<MeetingPlace, GroupError> {
    let mut own = MeetingPlace([0; 128]);
    if group.rank() == 0 {
        // SAFETY: writes to the place.
        api.check("ncclGetUniqueId", unsafe { (api.unique_id)(&mut own) })?;
    }
    let place = broadcast(group, &own.0)?;
    let place = place.try_into().map_err(|_| failure("ncclGetUniqueId", "another length"))?;
    Ok(MeetingPlace(place))
}

/// What NCCL exchanges.
#[derive(Clone, Debug)]
pub(super) struct NcclExchange {
    arrays: Vec<CollectiveArray>,
    /// The member's rank, and the number of members.
    place: (usize, usize),
}

impl NcclExchange {
    /// `None` if NCCL has no such reduction.
    pub(super) fn of(op: &Collective) -> Option<NcclExchange> {
        let known = |array: &CollectiveArray| match array.kind.fold() {
            Some(fold) => reduction(array.dtype, fold).is_some(),
            None => true,
        };
        let place = (op.group.rank(), op.group.size());
        op.arrays.iter().all(known).then(|| NcclExchange { arrays: op.arrays.clone(), place })
    }
}

/// A call of NCCL on a stream.
struct Call<'d> {
    api: &'static Api,
    raw: Raw,
    stream: CUstream,
    device: &'d str,
}

impl Call<'_> {
    /// Exchanges one array, as the member of this rank of so many: input and output.
    fn one(
        &self,
        CollectiveArray { kind, dtype, elements }: &CollectiveArray,
        (rank, size): (usize, usize),
        (input, output): (CUdeviceptr, CUdeviceptr),
    ) -> Result<(), GroupError> {
        let (api, raw, stream, n) = (self.api, self.raw, self.stream.cast(), *elements as usize);
        let (from, to, bytes) = (pointer(input).cast_const(), pointer(output), n * dtype.size());
        let words = || {
            kind.fold().and_then(|fold| reduction(*dtype, fold)).ok_or_else(|| failure(kind.name(), dtype))
        };
        match kind {
            CollectiveKind::AllReduce(_) => {
                let (dtype, fold) = words()?;
                // SAFETY: the operands were checked to be as long as the op says; stream and communicator are
                // alive.
                api.check("ncclAllReduce", unsafe { (api.all_reduce)(from, to, n, dtype, fold, raw, stream) })
            }
            CollectiveKind::ReduceScatter(_) => {
                let ((dtype, fold), n) = (words()?, n / size.max(1));
                // SAFETY: the operands were checked to be as long as the op says; stream and communicator are
                // alive.
                api.check("ncclReduceScatter", unsafe {
                    (api.reduce_scatter)(from, to, n, dtype, fold, raw, stream)
                })
            }
            CollectiveKind::AllGather => {
                // SAFETY: the operands were checked to be as long as the op says; stream and communicator are
                // alive.
                api.check("ncclAllGather", unsafe { (api.all_gather)(from, to, bytes, BYTES, raw, stream) })
            }
            CollectiveKind::Broadcast { root } => {
                let root = *root as i32;
                // SAFETY: the operands were checked to be as long as the op says; stream and communicator are
                // alive.
                api.check("ncclBroadcast", unsafe {
                    (api.broadcast)(from, to, bytes, BYTES, root, raw, stream)
                })
            }
            CollectiveKind::Permute(route) => {
                if let Some(target) = target(route, rank, size) {
                    // SAFETY: the operands were checked to be as long as the op says; stream and communicator
                    // are alive.
                    api.check("ncclSend", unsafe {
                        (api.send)(from, bytes, BYTES, target as i32, raw, stream)
                    })?;
                }
                match route.source(rank, size) {
                    // SAFETY: the operands were checked to be as long as the op says; stream and communicator
                    // are alive.
                    Some(source) => api.check("ncclRecv", unsafe {
                        (api.receive)(to, bytes, BYTES, source as i32, raw, stream)
                    }),
                    // No array is sent here. Zeros come before what the group of calls enqueues in the end.
                    None => fill(self.device, output, 0, bytes as u64, self.stream)
                        .map_err(|error| failure("cuMemsetD8Async", error)),
                }
            }
        }
    }
}

/// The member that gets this one's array.
fn target(route: &Route, rank: usize, size: usize) -> Option<usize> {
    (0..size).find(|&to| route.source(to, size) == Some(rank))
}

fn pointer(address: CUdeviceptr) -> *mut c_void {
    ptr::without_provenance_mut(address as usize)
}
