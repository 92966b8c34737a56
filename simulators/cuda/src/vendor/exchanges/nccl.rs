//! NCCL: its functions, looked up in the library, its words for ours, and a communicator's calls.

use crate::context::PrimaryContext;
use crate::preflight::{self, Absent};
use crate::vendor::streams::fill;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;
use std::time::{Duration, Instant};
use workalike_device::group::{
    Collective, CollectiveArray, CollectiveKind, Group, GroupError, Route, broadcast,
};
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

/// `ncclResult_t`; 0 is success.
type Status = c_int;
/// `ncclComm_t`.
type Raw = *mut c_void;
/// `ncclAllReduce` and `ncclReduceScatter`: input, output, elements, dtype, operation, communicator, stream.
type Reduce =
    unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Raw, *mut c_void) -> Status;
/// `ncclBroadcast`: input, output, elements, dtype, root, communicator, stream.
type Broadcast = Reduce;
/// `ncclAllGather`: input, output, elements of the input, dtype, communicator, stream.
type Gather = unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, Raw, *mut c_void) -> Status;
/// `ncclSend`: input, elements, dtype, to whom, communicator, stream.
type SendTo = unsafe extern "C" fn(*const c_void, usize, c_int, c_int, Raw, *mut c_void) -> Status;
/// `ncclRecv`: output, elements, dtype, from whom, communicator, stream.
type ReceiveFrom = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Raw, *mut c_void) -> Status;

/// `ncclUniqueId`: where the members of a communicator meet.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct MeetingPlace([u8; 128]);

functions! {
    /// The functions of NCCL 2. Source: NVIDIA, "NCCL API".
    Api of "NCCL";
    version = "ncclGetVersion": unsafe extern "C" fn(*mut c_int) -> Status;
    error_text = "ncclGetErrorString": unsafe extern "C" fn(Status) -> *const c_char;
    unique_id = "ncclGetUniqueId": unsafe extern "C" fn(*mut MeetingPlace) -> Status;
    init = "ncclCommInitRank": unsafe extern "C" fn(*mut Raw, c_int, MeetingPlace, c_int) -> Status;
    destroy = "ncclCommDestroy": unsafe extern "C" fn(Raw) -> Status;
    abort = "ncclCommAbort": unsafe extern "C" fn(Raw) -> Status;
    asynchronous_error = "ncclCommGetAsyncError": unsafe extern "C" fn(Raw, *mut Status) -> Status;
    group_start = "ncclGroupStart": unsafe extern "C" fn() -> Status;
    group_end = "ncclGroupEnd": unsafe extern "C" fn() -> Status;
    all_reduce = "ncclAllReduce": Reduce;
    reduce_scatter = "ncclReduceScatter": Reduce;
    broadcast = "ncclBroadcast": Broadcast;
    all_gather = "ncclAllGather": Gather;
    send = "ncclSend": SendTo;
    receive = "ncclRecv": ReceiveFrom;
}

/// NCCL, loaded, with every function used here.
fn api() -> Result<&'static Api, Absent> {
    static API: OnceLock<Result<Api, Absent>> = OnceLock::new();
    preflight::library(&API, || Api::new(preflight::load("NCCL", "nccl", &[2])?))
}

/// `ncclInProgress`.
const IN_PROGRESS: Status = 7;

impl Api {
    /// An error of the call, unless it succeeded.
    fn check(&self, call: &str, status: Status) -> Result<(), GroupError> {
        if matches!(status, 0 | IN_PROGRESS) {
            return Ok(());
        }
        // SAFETY: returns a constant text that ends with 0.
        let text = unsafe { (self.error_text)(status) };
        let text = match text.is_null() {
            true => format!("status {status}"),
            // SAFETY: as it was returned, see above.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        };
        Err(failure(call, format!("{text}; with NCCL_DEBUG=WARN in the environment NCCL prints more")))
    }
}

/// Its version, as 22907 for 2.29.7; `None` if it is not installed.
pub(super) fn version() -> Option<c_int> {
    let mut version = 0;
    // SAFETY: writes one int.
    let status = unsafe { (api().ok()?.version)(&mut version) };
    (status == 0).then_some(version)
}

/// An error of a call of NCCL.
fn failure(call: &str, message: impl ToString) -> GroupError {
    GroupError::Transport { transport: "NCCL".into(), call: call.into(), message: message.to_string() }
}

/// `ncclUint8`, in which arrays are moved that are not combined.
const BYTES: c_int = 1;

/// `ncclDataType_t` and `ncclRedOp_t` of a reduction; `None` if NCCL has none that gives our values. Its
/// largest and smallest floats leave NaN out.
fn reduction(dtype: DType, fold: Fold) -> Option<(c_int, c_int)> {
    let (sum, max, min) = (0, 2, 3);
    let integer = |dtype: c_int| match fold {
        Fold::Sum => Some((dtype, sum)),
        Fold::Max => Some((dtype, max)),
        Fold::Min => Some((dtype, min)),
        _ => None,
    };
    let float = |dtype: c_int| (fold == Fold::Sum).then_some((dtype, sum));
    match dtype {
        // One byte, 0 or 1, whose sum is an or.
        DType::Bool if fold == Fold::Sum => Some((BYTES, max)),
        DType::Bool | DType::U8 => integer(BYTES),
        DType::I8 => integer(0),
        DType::I32 => integer(2),
        DType::U32 => integer(3),
        DType::I64 => integer(4),
        DType::U64 => integer(5),
        DType::F16 => float(6),
        DType::F32 => float(7),
        DType::F64 => float(8),
        DType::BF16 => float(9),
        _ => None,
    }
}

/// Whether NCCL has the reductions of an exchange.
pub(super) fn has(op: &Collective) -> bool {
    let known = |array: &CollectiveArray| match array.kind.fold() {
        Some(fold) => reduction(array.dtype, fold).is_some(),
        None => true,
    };
    op.arrays.iter().all(known)
}

/// A communicator, which all members have made together.
#[derive(Clone, Copy)]
pub(super) struct NcclHandle {
    api: &'static Api,
    raw: Raw,
}

// SAFETY: a communicator may be used from any thread: by one at a time, but for `error` and `abort`, which
// NCCL allows at any time. The methods say so.
unsafe impl Send for NcclHandle {}
// SAFETY: likewise.
unsafe impl Sync for NcclHandle {}

impl NcclHandle {
    /// Meets the other members. It is a call that cannot be left, so it is made by a thread that is left
    /// behind if a member does not come.
    pub(super) fn meet(
        context: &Arc<PrimaryContext>,
        group: &Arc<dyn Group>,
    ) -> Result<NcclHandle, GroupError> {
        let api = api().map_err(|absent| failure("loading it", absent.why))?;
        let place = meeting_place(api, group)?;
        let (rank, size) = (group.rank() as i32, group.size() as i32);
        let (sender, receiver) = sync_channel(1);
        let own = context.clone();
        let init = move || {
            let mut raw = ptr::null_mut();
            let entered = own.enter().map_err(|error| failure("cuCtxSetCurrent", error));
            let made = entered.and_then(|()| {
                // SAFETY: the context is current; the communicator is written to `raw`.
                api.check("ncclCommInitRank", unsafe { (api.init)(&mut raw, size, place, rank) })
            });
            // The member may have given up waiting.
            _ = sender.send(made.map(|()| NcclHandle { api, raw }));
        };
        Builder::new()
            .name("workalike-nccl".into())
            .spawn(init)
            .map_err(|error| failure("starting a thread", error))?;
        let (waited, since) = (group.patience().max(MEETING), Instant::now());
        loop {
            match receiver.recv_timeout(Duration::from_millis(20)) {
                Ok(made) => return made,
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

    /// Enqueues an exchange of arrays, as the member of a rank of so many. `at` are the addresses of the
    /// inputs, then those of the outputs.
    ///
    /// # Safety
    /// The communicator must be alive, and no other thread enqueue with it. The operands must be as long as
    /// the arrays say.
    pub(super) unsafe fn enqueue(
        &self,
        arrays: &[CollectiveArray],
        place: (usize, usize),
        at: &[CUdeviceptr],
        (device, stream): (&str, CUstream),
    ) -> Result<(), GroupError> {
        let (inputs, outputs) = at.split_at(arrays.len().min(at.len()));
        if inputs.len() != outputs.len() || outputs.is_empty() {
            return Err(failure("an exchange", format!("{} operands", at.len())));
        }
        let NcclHandle { api, raw } = *self;
        let call = Call { api, raw, stream, device };
        let arrays = arrays.iter().zip(inputs.iter().zip(outputs));
        // SAFETY: groups of calls are of one thread, and this one is ended below.
        api.check("ncclGroupStart", unsafe { (api.group_start)() })?;
        let enqueued = arrays.map(|(array, (&input, &output))| call.one(array, place, (input, output)));
        let enqueued = enqueued.collect::<Result<Vec<()>, GroupError>>();
        // SAFETY: ends the group that was started above, also after an error.
        let ended = api.check("ncclGroupEnd", unsafe { (api.group_end)() });
        enqueued.and(ended)
    }

    /// An error of exchanges that are under way.
    ///
    /// # Safety
    /// The communicator must not have been aborted or destroyed.
    pub(super) unsafe fn error(&self) -> Option<GroupError> {
        let mut status = 0;
        // SAFETY: the communicator is alive, as the caller promises.
        let asked = unsafe { (self.api.asynchronous_error)(self.raw, &mut status) };
        self.api.check("an exchange", if asked == 0 { status } else { asked }).err()
    }

    /// Ends its kernels, and destroys it. A call in which a thread is meanwhile ends with an error.
    ///
    /// # Safety
    /// It must be alive, and no call may begin to use it afterwards.
    pub(super) unsafe fn abort(self) {
        // SAFETY: it is alive, and ended once, as the caller promises.
        _ = unsafe { (self.api.abort)(self.raw) };
    }

    /// Destroys it. The context must be current.
    ///
    /// # Safety
    /// It must be alive, and no call may use it any more.
    pub(super) unsafe fn destroy(self) {
        // SAFETY: it is alive, and ended once, as the caller promises.
        _ = unsafe { (self.api.destroy)(self.raw) };
    }
}

/// The least time for meeting the other members, which takes NCCL a second or more.
const MEETING: Duration = Duration::from_secs(120);

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
                // alive, as the caller of `enqueue` promises.
                api.check("ncclAllReduce", unsafe { (api.all_reduce)(from, to, n, dtype, fold, raw, stream) })
            }
            CollectiveKind::ReduceScatter(_) => {
                let ((dtype, fold), n) = (words()?, n / size.max(1));
                // SAFETY: the operands were checked to be as long as the op says; stream and communicator are
                // alive, as the caller of `enqueue` promises.
                api.check("ncclReduceScatter", unsafe {
                    (api.reduce_scatter)(from, to, n, dtype, fold, raw, stream)
                })
            }
            CollectiveKind::AllGather => {
                // SAFETY: the operands were checked to be as long as the op says; stream and communicator are
                // alive, as the caller of `enqueue` promises.
                api.check("ncclAllGather", unsafe { (api.all_gather)(from, to, bytes, BYTES, raw, stream) })
            }
            CollectiveKind::Broadcast { root } => {
                let root = *root as i32;
                // SAFETY: the operands were checked to be as long as the op says; stream and communicator are
                // alive, as the caller of `enqueue` promises.
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
