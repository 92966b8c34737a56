//! Exchanges of the members of a group, each on a GPU of its own: small ones through mailboxes in each other's
//! memory (`mailbox.rs`), where they can access it, others through NCCL (`nccl.rs`), where it is installed.
//!
//! [`GpuTransport`] joins members (`member.rs`), whose exchanges are steps of recordings: on the device's
//! stream, beside what does not depend on them. A [`Communicator`] is what they have made together; it is made
//! again when the group was closed and opened again, and recordings are captured again then. `watch.rs` ends
//! exchanges to which a member does not come.

mod communicator;
mod mailbox;
mod member;
mod nccl;
mod watch;

pub(crate) use member::GpuTransport;

use super::{ErasedLibrary, Request, Streams, VendorStep, bind};
use crate::capture::{CudaGraph, CudaLaunch, STRICT, enqueue_launch};
use crate::dependencies::{AddressRange, MemoryAccess};
use communicator::{Communicator, GpuExchange};
use cudarc::driver::sys::{CUdeviceptr, CUstream, CUstreamCaptureMode};
use member::GpuMember;
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
enum ExchangeWork {
    Exchange(GpuExchange),
    Check { report: i64 },
}

impl ExchangeWork {
    /// The work of an op, and the group; `None` if no GPU of its members carries it.
    fn of(op: &dyn LibraryOp) -> Option<(ExchangeWork, Arc<dyn Group>)> {
        let group = match (Collective::of(op), op.downcast::<ExchangeCheck>()) {
            (Some(op), _) => &op.group,
            (_, Some(op)) => &op.group,
            _ => return None,
        };
        let carriers = group.downcast::<GpuMember>()?.carriers;
        let work = match (Collective::of(op), op.downcast::<ExchangeCheck>()) {
            (Some(op), _) => ExchangeWork::Exchange(GpuExchange::of(op, carriers)?),
            (_, Some(op)) => ExchangeWork::Check { report: op.report },
            _ => return None,
        };
        Some((work, group.clone()))
    }
}

impl ErasedLibrary for Exchanges {
    fn scratch(&self, op: &dyn LibraryOp, epilogue: Option<(&Nest, usize)>) -> Option<u64> {
        ExchangeWork::of(op).filter(|_| epilogue.is_none()).map(|_| 0)
    }

    fn bind(&self, request: &Request) -> DeviceResult<Option<(Arc<dyn VendorStep>, MemoryAccess)>> {
        let Some((work, group)) = ExchangeWork::of(request.op) else { return Ok(None) };
        let (at, mut access) = bind::bind(&self.streams.queue, request, None)?;
        let device = self.streams.queue.id().to_string();
        // All steps of a device are in one order, also those of several groups: their kernels would wait for
        // each other if they were begun in another order on another GPU. No operand has this address.
        let start = Arc::as_ptr(&self.streams.queue.context).addr() as u64;
        access.writes.push(AddressRange { start, bytes: 1 });
        Ok(Some((Arc::new(ExchangeStep { work, group, at: at.operands, device }), access)))
    }
}

/// An exchange, or the check behind exchanges, with addresses.
#[derive(Debug)]
struct ExchangeStep {
    work: ExchangeWork,
    /// A [`GpuMember`].
    group: Arc<dyn Group>,
    at: Vec<CUdeviceptr>,
    device: String,
}

impl VendorStep for ExchangeStep {
    fn prepare(&self) -> DeviceResult<()> {
        communicator(&self.device, &self.group).map(drop)
    }

    fn enqueue(&self, stream: CUstream) -> DeviceResult<()> {
        if let Some(launch) = self.kernel()? {
            return enqueue_launch(&self.device, stream, &launch, false);
        }
        match &self.work {
            ExchangeWork::Exchange(exchange) => {
                communicator(&self.device, &self.group)?.enqueue(exchange, &self.at, stream)
            }
            ExchangeWork::Check { .. } => {
                let message = format!("{} operands of a check", self.at.len());
                Err(DeviceError::driver(&self.device, "record", message))
            }
        }
    }

    fn kernel(&self) -> DeviceResult<Option<CudaLaunch>> {
        let communicator = communicator(&self.device, &self.group)?;
        match (&self.work, &self.at[..]) {
            (ExchangeWork::Exchange(exchange), at) => communicator.kernel(exchange, at),
            (ExchangeWork::Check { report }, &[status]) => Ok(Some(communicator.check(status, *report, 0))),
            (ExchangeWork::Check { report }, &[taken, status]) => {
                Ok(Some(communicator.check(status, *report, taken)))
            }
            _ => Ok(None),
        }
    }

    fn group(&self) -> Option<&Arc<dyn Group>> {
        Some(&self.group)
    }

    fn marks_end(&self) -> bool {
        matches!(self.work, ExchangeWork::Check { .. })
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
    let member = group.downcast::<GpuMember>();
    const CALL: &str = "an exchange of members";
    let Some(member) = member else {
        return Err(DeviceError::driver(device, CALL, "a group of another kind"));
    };
    member.communicator().map_err(|error| DeviceError::driver(device, CALL, error))
}
