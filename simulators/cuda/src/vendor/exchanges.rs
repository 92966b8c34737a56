//! Exchanges of the members of a group, each on a GPU of its own: small ones through mailboxes in each
//! other's memory (`mailbox.rs`), where they can access it, others through NCCL (`nccl.rs`), where it is
//! installed.
//!
//! [`GpuTransport`] joins members (`member.rs`), whose exchanges are steps of recordings: on the device's
//! stream, beside what does not depend on them. A [`Communicator`] is what they have made together; it is
//! made again when the group was closed and opened again, and recordings are captured again then.
//! `watch.rs` ends exchanges to which a member does not come.

mod communicator;
mod mailbox;
mod member;
mod nccl;
mod watch;

pub(crate) use member::GpuTransport;

use super::{ErasedLibrary, Request, Streams, VendorStep, bind};
use crate::capture::{CudaGraph, CudaLaunch, CudaStep, CudaStepKind, STRICT, enqueue_launch};
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

/// What an op does, with its operands.
#[derive(Debug)]
enum ExchangeWork {
    Exchange(GpuExchange),
    Check { report: i64 },
}

impl ExchangeWork {
    /// The work of an op, and the group; `None` if no GPU of its members carries it.
    fn of(op: &dyn LibraryOp) -> Option<(ExchangeWork, Arc<dyn Group>)> {
        let carriers = |group: &Arc<dyn Group>| group.downcast::<GpuMember>().map(|member| member.carriers);
        if let Some(op) = Collective::of(op) {
            let exchange = GpuExchange::of(op, carriers(&op.group)?)?;
            return Some((ExchangeWork::Exchange(exchange), op.group.clone()));
        }
        let op = op.downcast::<ExchangeCheck>()?;
        carriers(&op.group)?;
        Some((ExchangeWork::Check { report: op.report }, op.group.clone()))
    }
}

impl ErasedLibrary for Exchanges {
    fn scratch(&self, op: &dyn LibraryOp, epilogue: Option<(&Nest, usize)>) -> Option<u64> {
        ExchangeWork::of(op).filter(|_| epilogue.is_none()).map(|_| 0)
    }

    fn bind(&self, request: &Request) -> DeviceResult<Option<(Arc<dyn VendorStep>, MemoryAccess)>> {
        let Some((work, group)) = ExchangeWork::of(request.op) else { return Ok(None) };
        let (bound, mut access) = bind::bind(&self.streams.queue, request, None)?;
        let at = bound.operands;
        let device = self.streams.queue.id().to_string();
        // All steps of a device are in one order, also those of several groups: their kernels would wait for
        // each other if they were begun in another order on another GPU. No operand has this address.
        let start = Arc::as_ptr(&self.streams.queue.context).addr() as u64;
        access.writes.push(AddressRange { start, bytes: 1 });
        let (exchange, check) = match (work, &at[..]) {
            (ExchangeWork::Exchange(exchange), _) => (Some((exchange, at)), None),
            (ExchangeWork::Check { report }, &[status]) => (None, Some(CheckAt { status, report, taken: 0 })),
            (ExchangeWork::Check { report }, &[taken, status]) => {
                (None, Some(CheckAt { status, report, taken }))
            }
            (ExchangeWork::Check { .. }, at) => {
                let message = format!("{} operands of a check", at.len());
                return Err(DeviceError::driver(&device, "record", message));
            }
        };
        Ok(Some((Arc::new(ExchangeStep { exchange, check, group, device }), access)))
    }
}

/// The check behind exchanges, with addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckAt {
    status: CUdeviceptr,
    report: i64,
    /// Another report that it takes over, or 0.
    taken: CUdeviceptr,
}

/// An exchange, the check behind exchanges, or both.
#[derive(Debug)]
pub(crate) struct ExchangeStep {
    /// With the addresses of the inputs, then those of the outputs.
    exchange: Option<(GpuExchange, Vec<CUdeviceptr>)>,
    check: Option<CheckAt>,
    /// A [`GpuMember`].
    group: Arc<dyn Group>,
    device: String,
}

impl ExchangeStep {
    /// This exchange with the check that comes next, if its kernel can make it: it is one of ours, and what
    /// the check takes over is exchanged in it.
    fn with_check(&self, next: &ExchangeStep) -> Option<ExchangeStep> {
        let ((exchange, at), check) = (self.exchange.as_ref()?, next.check?);
        let alone = self.check.is_none() && next.exchange.is_none() && Arc::ptr_eq(&self.group, &next.group);
        let taken = check.taken == 0 || at.contains(&check.taken);
        (alone && taken && exchange.is_by_mailboxes()).then(|| ExchangeStep {
            exchange: self.exchange.clone(),
            check: Some(check),
            group: self.group.clone(),
            device: self.device.clone(),
        })
    }

    /// Whether NCCL exchanges its arrays.
    pub(crate) fn is_by_library(&self) -> bool {
        self.exchange.as_ref().is_some_and(|(exchange, _)| !exchange.is_by_mailboxes())
    }

    /// How often it marks that the exchanges before it have run: see [`CapturedExchanges`].
    fn marks(&self) -> u64 {
        self.check.is_some().into()
    }
}

impl VendorStep for ExchangeStep {
    fn prepare(&self) -> DeviceResult<()> {
        communicator(&self.device, &self.group).map(drop)
    }

    fn enqueue(&self, stream: CUstream) -> DeviceResult<()> {
        match (self.kernel()?, &self.exchange) {
            (Some(launch), _) => enqueue_launch(&self.device, stream, &launch, false),
            (None, Some((exchange, at))) => {
                communicator(&self.device, &self.group)?.enqueue_by_nccl(exchange, at, stream)
            }
            (None, None) => Ok(()),
        }
    }

    fn kernel(&self) -> DeviceResult<Option<CudaLaunch>> {
        let communicator = communicator(&self.device, &self.group)?;
        match (&self.exchange, &self.check) {
            (Some((exchange, at)), check) => communicator.kernel(exchange, at, check.as_ref()),
            (None, Some(check)) => Ok(Some(communicator.check(check))),
            (None, None) => Ok(None),
        }
    }

    fn exchange(&self) -> Option<&ExchangeStep> {
        Some(self)
    }
}

/// The exchange that a step is.
fn exchange_of(step: &CudaStep) -> Option<&ExchangeStep> {
    match &step.work {
        CudaStepKind::Vendor(step) => step.exchange(),
        _ => None,
    }
}

/// Two steps as one: an exchange that makes the check behind it.
fn joined(exchange: &CudaStep, check: &CudaStep) -> Option<CudaStep> {
    let both = exchange_of(exchange)?.with_check(exchange_of(check)?)?;
    let mut access = exchange.access.clone();
    access.reads.extend(&check.access.reads);
    access.writes.extend(&check.access.writes);
    Some(CudaStep { work: CudaStepKind::Vendor(Arc::new(both)), access, ..*exchange })
}

/// The steps, of which exchanges make the checks that come next where they can; `None` without exchanges.
pub(crate) fn with_checks(steps: &[CudaStep]) -> Option<Vec<CudaStep>> {
    steps.iter().find_map(exchange_of)?;
    let (mut all, mut left) = (Vec::with_capacity(steps.len()), steps);
    while let [first, rest @ ..] = left {
        let both = rest.first().and_then(|next| joined(first, next));
        left = &rest[usize::from(both.is_some())..];
        all.push(both.unwrap_or_else(|| first.clone()));
    }
    Some(all)
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
        for step in steps.filter_map(VendorStep::exchange) {
            match list.iter_mut().find(|(known, ..)| Arc::ptr_eq(known, &step.group)) {
                Some((.., marks)) => *marks += step.marks(),
                None => {
                    let communicator = Arc::downgrade(&communicator(device, &step.group)?);
                    list.push((step.group.clone(), communicator, step.marks()));
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
