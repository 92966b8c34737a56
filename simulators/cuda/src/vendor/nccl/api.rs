//! The functions of NCCL, looked up in its library, and its words for ours.

use crate::preflight::{self, Absent};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use workalike_device::group::GroupError;
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

/// `ncclResult_t`; 0 is success.
type Status = c_int;
/// `ncclComm_t`.
pub(super) type Raw = *mut c_void;
/// `ncclAllReduce` and `ncclReduceScatter`: input, output, elements, dtype, operation, communicator, stream.
type Reduce =
    unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Raw, *mut c_void) -> Status;
/// `ncclBroadcast`: input, output, elements, dtype, root, communicator, stream.
type Broadcast = Reduce;
/// `ncclAllGather`: input, output, elements of the input, dtype, communicator, stream.
type Gather = unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, Raw, *mut c_void) -> Status;
/// `ncclSend`: input, elements, dtype, to whom, communicator, stream.
type Send = unsafe extern "C" fn(*const c_void, usize, c_int, c_int, Raw, *mut c_void) -> Status;
/// `ncclRecv`: output, elements, dtype, from whom, communicator, stream.
type Receive = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Raw, *mut c_void) -> Status;

/// `ncclUniqueId`: where the members of a communicator meet.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct MeetingPlace(pub(super) [u8; 128]);

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
    send = "ncclSend": Send;
    receive = "ncclRecv": Receive;
}

/// NCCL, loaded, with every function used here.
pub(super) fn api() -> Result<&'static Api, Absent> {
    static API: OnceLock<Result<Api, Absent>> = OnceLock::new();
    preflight::library(&API, || Api::new(preflight::load("NCCL", "nccl", &[2])?))
}

/// `ncclInProgress`.
const IN_PROGRESS: Status = 7;

impl Api {
    /// An error of the call, unless it succeeded.
    pub(super) fn check(&self, call: &str, status: Status) -> Result<(), GroupError> {
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

    /// Its version, as 22907 for 2.29.7.
    pub(super) fn version_number(&self) -> c_int {
        let mut version = 0;
        // SAFETY: writes one int.
        let status = unsafe { (self.version)(&mut version) };
        if status == 0 { version } else { 0 }
    }
}

/// An error of a call of NCCL.
pub(super) fn failure(call: &str, message: impl ToString) -> GroupError {
    GroupError::Transport { transport: "NCCL".into(), call: call.into(), message: message.to_string() }
}

/// `ncclUint8`, in which arrays are moved that are not combined.
pub(super) const BYTES: c_int = 1;

/// `ncclDataType_t` and `ncclRedOp_t` of a reduction; `None` if NCCL has none that gives our values. Its
/// largest and smallest floats leave NaN out.
pub(super) fn reduction(dtype: DType, fold: Fold) -> Option<(c_int, c_int)> {
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
