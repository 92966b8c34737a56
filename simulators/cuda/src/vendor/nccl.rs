//! Exchanges of the members of a group, each on a GPU of its own, through NCCL, where it is installed.
//!
//! [`Nccl`] joins members (`member.rs`), whose exchanges are steps of recordings: on the device's stream,
//! beside what does not depend on them. A [`Communicator`] is what NCCL has of the group; it is made again
//! when the group was closed and opened again, and recordings are captured again then. `watch.rs` ends
//! exchanges to which a member does not come.

mod api;
mod communicator;
mod member;
mod watch;

pub(crate) use member::Nccl;

use super::{ErasedLibrary, Request, Streams, VendorStep, bind};
use crate::capture::{CudaGraph, STRICT};
use crate::dependencies::{AddressRange, MemoryAccess};
use communicator::{Communicator, NcclExchange};
use cudarc::driver::sys::{CUdeviceptr, CUstream, CUstreamCaptureMode};
use member::NcclMember;
use std::sync::{Arc, Weak};
use workalike_device::group::{Collective, ExchangeCheck, Group};
use workalike_device::{DeviceError, DeviceResult, LibraryOp};
use workalike_kernels::nest::Nest;

/// The exchanges of a device object.
#[derive(Debug)]
pub(super) struct Exchanges {
    streams: Streams,
}

impl Exchanges {
    pub(super) fn on(streams: &Streams) -> Box<dyn ErasedLibrary> {
        Box::new(Exchanges { streams: streams.clone() })
    }
}

/// What a step does.
#[derive(Clone, Debug)]
enum NcclWork {
    Exchange(NcclExchange),
    Check { report: i64 },
}

impl NcclWork {
    /// The work of an op, and the group; `None` if it is not of a group that NCCL carries, or NCCL has no
    /// such reduction.
    fn of(op: &dyn LibraryOp) -> Option<(NcclWork, Arc<dyn Group>)> {
        let (work, group) = match (Collective::of(op), op.downcast::<ExchangeCheck>()) {
            (Some(op), _) => (NcclWork::Exchange(NcclExchange::of(op)?), &op.group),
            (_, Some(op)) => (NcclWork::Check { report: op.report }, &op.group),
            _ => return None,
        };
        group.downcast::<NcclMember>().map(|_| (work, group.clone()))
    }
}

impl ErasedLibrary for Exchanges {
    fn scratch(&self, op: &dyn LibraryOp, epilogue: Option<(&Nest, usize)>) -> Option<u64> {
        NcclWork::of(op).filter(|_| epilogue.is_none()).map(|_| 0)
    }

    fn bind(&self, request: &Request) -> DeviceResult<Option<(Arc<dyn VendorStep>, MemoryAccess)>> {
        let Some((work, group)) = NcclWork::of(request.op) else { return Ok(None) };
        let (at, mut access) = bind::bind(&self.streams.queue, request, None)?;
        let device = self.streams.queue.id().to_string();
        // All steps of a device are in one order, also those of several groups: their kernels would wait for
        // each other if they were begun in another order on another GPU. No operand has this address.
        let start = Arc::as_ptr(&self.streams.queue.context).addr() as u64;
        access.writes.push(AddressRange { start, bytes: 1 });
        Ok(Some((Arc::new(NcclStep { work, group, at: at.operands, device }), access)))
    }
}

/// An exchange, or the check behind exchanges, with addresses.
#[derive(Debug)]
struct NcclStep {
    work: NcclWork,
    /// An [`NcclMember`].
    group: Arc<dyn Group>,
    at: Vec<CUdeviceptr>,
    device: String,
}

impl VendorStep for NcclStep {
    fn prepare(&self) -> DeviceResult<()> {
        communicator(&self.device, &self.group).map(drop)
    }

    fn enqueue(&self, stream: CUstream) -> DeviceResult<()> {
        let communicator = communicator(&self.device, &self.group)?;
        match &self.work {
            NcclWork::Exchange(exchange) => communicator.enqueue(exchange, &self.at, stream),
            NcclWork::Check { report } => {
                let [status] = self.at[..] else {
                    let message = format!("{} operands of a check", self.at.len());
                    return Err(DeviceError::driver(&self.device, "record", message));
                };
                communicator.enqueue_check(status, *report, stream)
            }
        }
    }

    fn group(&self) -> Option<&Arc<dyn Group>> {
        Some(&self.group)
    }

    fn marks_end(&self) -> bool {
        matches!(self.work, NcclWork::Check { .. })
    }
}

/// The communicators with which the exchanges of a recording were captured, each with its group, and the
/// number of steps of the recording that mark that exchanges have run.
#[derive(Default)]
pub(crate) struct CapturedExchanges {
    list: Vec<(Arc<dyn Group>, Weak<Communicator>, u64)>,
}

impl CapturedExchanges {
    /// Those of steps that are captured now.
    pub(crate) fn of<'s>(
        device: &str,
        steps: impl Iterator<Item = &'s dyn VendorStep>,
    ) -> DeviceResult<CapturedExchanges> {
        let mut list: Vec<(Arc<dyn Group>, Weak<Communicator>, u64)> = Vec::new();
        for (step, group) in steps.filter_map(|step| Some((step, step.group()?))) {
            match list.iter_mut().find(|(known, ..)| Arc::ptr_eq(known, group)) {
                Some((.., marks)) => *marks += u64::from(step.marks_end()),
                None => {
                    let communicator = Arc::downgrade(&communicator(device, group)?);
                    list.push((group.clone(), communicator, step.marks_end().into()));
                }
            }
        }
        Ok(CapturedExchanges { list })
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The mode in which they are captured. NCCL connects members when they first exchange arrays in some
    /// way, which takes calls that other captures do not allow, and does not disturb its own.
    pub(crate) fn mode(&self) -> CUstreamCaptureMode {
        if self.is_empty() { STRICT } else { CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED }
    }

    /// Whether they are those with which the members exchange arrays now.
    ///
    /// # Errors
    /// If a group is closed.
    pub(crate) fn are_current(&self, device: &str) -> DeviceResult<bool> {
        let mut current = true;
        for (group, known, _) in &self.list {
            current &= known.as_ptr() == Arc::as_ptr(&communicator(device, group)?);
        }
        Ok(current)
    }

    /// Those communicators, each with the number of marks.
    fn communicators(&self) -> impl Iterator<Item = (Arc<Communicator>, u64)> {
        self.list.iter().filter_map(|(_, communicator, marks)| Some((communicator.upgrade()?, *marks)))
    }

    /// Enqueues a mark for each group whose exchanges no step of the recording marks.
    pub(crate) fn mark(&self, stream: CUstream) -> DeviceResult<()> {
        let mut unmarked = self.communicators().filter(|(_, marks)| *marks == 0);
        unmarked.try_for_each(|(communicator, _)| communicator.enqueue_mark(stream))
    }

    /// Notes that the graph has exchanges, and must be destroyed before their communicators.
    pub(crate) fn are_in(&self, graph: &Arc<CudaGraph>) {
        self.communicators().for_each(|(communicator, _)| communicator.add(graph));
    }

    /// Notes that the recording is about to be enqueued.
    pub(crate) fn begin(&self) {
        self.communicators().for_each(|(communicator, marks)| communicator.begin(marks.max(1)));
    }

    /// Notes that it was not enqueued.
    pub(crate) fn cancel(&self) {
        self.communicators().for_each(|(communicator, marks)| communicator.watch.cancel(marks.max(1)));
    }
}

fn communicator(device: &str, group: &Arc<dyn Group>) -> DeviceResult<Arc<Communicator>> {
    let member = group.downcast::<NcclMember>();
    let found = member
        .map_or_else(|| Err(api::failure("record", "a group of another kind")), NcclMember::communicator);
    found.map_err(|error| DeviceError::driver(device, "an exchange of members", error))
}
