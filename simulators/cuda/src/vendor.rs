//! NVIDIA's libraries: what all of them share, once, and one file or folder for each.
//!
//! A [`VendorLibrary`] says which ops it computes, how it computes one (a plan), and enqueues plans on a
//! stream. [`Vendor`] does the rest for it: it opens the library at the first use, caches plans, turns a
//! command into addresses ([`bind`]) and steps. [`autotune`] chooses one of several algorithms by time, and
//! [`Streams`] runs and captures trials. A new library is a new file, and a line in [`all`]. Exchanges of
//! members are none of these: others would have to make the same trials, so they have no plans.
//!
//! Locks are taken in this order: the device's recorder, the library, then [`PrimaryContext::capture`]. A
//! capture of a recording takes the last two in the opposite order. That is no deadlock: both hold the
//! recorder's lock, and a library that opens on another thread has opened when a recording is prepared.
//!
//! [`PrimaryContext::capture`]: crate::context::PrimaryContext::capture

#[macro_use]
mod functions;
mod autotune;
mod bind;
mod convolution;
mod exchanges;
mod fft;
mod lazy;
mod linalg;
mod matmul;
mod streams;

pub(crate) use exchanges::{CapturedExchanges, ExchangeStep, GpuTransport, with_checks};
pub(crate) use streams::Streams;

use crate::capture::CudaLaunch;
use crate::context::lock;
use crate::dependencies::{AddressRange, MemoryAccess};
use crate::preflight::Absent;
use bind::OperandAddresses;
use cudarc::driver::sys::CUstream;
use lazy::Lazy;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use workalike_device::{DeviceError, DeviceResult, LibraryOp, LibraryOutput, Region};
use workalike_kernels::nest::{LinearForm, Nest};

/// The libraries, in the order in which they are asked for an op.
pub(crate) fn all(streams: &Streams) -> Vec<Box<dyn ErasedLibrary>> {
    vec![
        Vendor::<matmul::MatmulLibrary>::on(streams),
        Vendor::<convolution::Cudnn>::on(streams),
        Vendor::<linalg::Linalg>::on(streams),
        Vendor::<fft::CuFft>::on(streams),
        exchanges::Exchanges::on(streams),
    ]
}

/// Number of cached plans at which plans without a recording are dropped.
const MOST_PLANS: usize = 1024;

/// A library of NVIDIA's on one device object. One thread at a time uses it.
trait VendorLibrary: Sized + Send + 'static {
    /// An op with the form of its epilogue: all that a plan depends on.
    type Call: Clone + fmt::Debug + Eq + Hash + Send;
    /// How a call is computed.
    type Plan: Send + Sync + 'static;

    /// Whether it is installed.
    fn installed() -> Result<(), Absent>;

    /// An epilogue of the op, which is operand `own` of the Nest, if the library has it.
    fn epilogue(op: &dyn LibraryOp, nest: &Nest, own: usize) -> Option<LinearForm> {
        let _ = (op, nest, own);
        None
    }

    /// The call for a verified op and one of its epilogues; `None` if the library does not know the op.
    fn call(op: &dyn LibraryOp, epilogue: Option<&LinearForm>) -> Option<Self::Call>;

    /// Makes the library's handles. It is installed, and the context is current.
    fn open(streams: &Streams) -> DeviceResult<Self>;

    /// How a call is computed; `None` if the library cannot. The recorder is locked, so that trials may be
    /// captured on its stream.
    ///
    /// # Errors
    /// If the library does not open, or memory does not suffice for trials. The call is planned again then.
    fn plan(library: &Lazy<Self>, call: &Self::Call) -> DeviceResult<Option<Self::Plan>>;

    /// Bytes of scratch memory of a plan.
    fn scratch(plan: &Self::Plan) -> u64;

    /// Memory that all steps share, which therefore do not run concurrently.
    fn shared(&self) -> Option<AddressRange> {
        None
    }

    /// Prepares a plan for its capture: loads its kernels, which a capture may not do. Reads the operands and
    /// writes nothing but scratch memory. The recorder is locked.
    fn prepare(&mut self, plan: &Self::Plan, at: &OperandAddresses) -> DeviceResult<()> {
        let _ = (plan, at);
        Ok(())
    }

    /// Enqueues a plan that was prepared with these addresses, which are of memory as long as the operands.
    fn enqueue(&mut self, plan: &Self::Plan, at: &OperandAddresses, stream: CUstream) -> DeviceResult<()>;
}

/// What a plan is if its trials ended like this: an error other than too little memory says that the library
/// cannot compute the call.
fn settled<P>(chosen: DeviceResult<Option<P>>) -> DeviceResult<Option<P>> {
    match chosen {
        Err(e @ DeviceError::OutOfMemory { .. }) => Err(e),
        Err(_) => Ok(None),
        chosen => chosen,
    }
}

/// A library op with regions.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) op: &'a dyn LibraryOp,
    pub(crate) inputs: &'a [Region],
    pub(crate) target: &'a LibraryOutput,
    pub(crate) scratch: Option<&'a Region>,
}

/// A [`VendorLibrary`] as the device sees it.
pub(crate) trait ErasedLibrary: Send + Sync + fmt::Debug {
    /// Bytes of scratch memory of a verified op with an epilogue, which takes the op as this operand of a
    /// Nest; `None` if the library does not compute it.
    fn scratch(&self, op: &dyn LibraryOp, epilogue: Option<(&Nest, usize)>) -> Option<u64>;

    /// A step, and the memory that it accesses; `None` if the library does not compute the op. The request
    /// was checked, and the context is current.
    fn bind(&self, request: &Request) -> DeviceResult<Option<(Arc<dyn VendorStep>, MemoryAccess)>>;
}

/// A plan with addresses.
pub(crate) trait VendorStep: Send + Sync {
    /// Prepares the step for captures. The recorder is locked, and the context current.
    fn prepare(&self) -> DeviceResult<()>;

    /// Enqueues the step, which was prepared. The recorder is locked.
    fn enqueue(&self, stream: CUstream) -> DeviceResult<()>;

    /// The kernel of the step, which was prepared, if it is one of ours.
    fn kernel(&self) -> DeviceResult<Option<CudaLaunch>> {
        Ok(None)
    }

    /// The exchange of members that it is, or a check of exchanges.
    fn exchange(&self) -> Option<&ExchangeStep> {
        None
    }
}

/// Plans by call; `None` where the library does not compute one.
type Plans<L> = HashMap<<L as VendorLibrary>::Call, Option<Arc<<L as VendorLibrary>::Plan>>>;

/// A library with the plans made so far.
struct Vendor<L: VendorLibrary> {
    library: Arc<Lazy<L>>,
    plans: Mutex<Plans<L>>,
    streams: Streams,
}

struct PlannedStep<L: VendorLibrary> {
    library: Arc<Lazy<L>>,
    plan: Arc<L::Plan>,
    at: OperandAddresses,
}

impl<L: VendorLibrary> VendorStep for PlannedStep<L> {
    fn prepare(&self) -> DeviceResult<()> {
        self.library.with(|library| library.prepare(&self.plan, &self.at))?
    }

    fn enqueue(&self, stream: CUstream) -> DeviceResult<()> {
        self.library.opened(|library| library.enqueue(&self.plan, &self.at, stream))
    }
}

impl<L: VendorLibrary> Vendor<L> {
    fn on(streams: &Streams) -> Box<dyn ErasedLibrary> {
        let library = Arc::new(Lazy::new(streams));
        Box::new(Vendor::<L> { library, plans: Mutex::default(), streams: streams.clone() })
    }

    /// The plan of a call; `None` if the library is not installed or does not compute it.
    fn plan(&self, call: &L::Call) -> Option<Arc<L::Plan>> {
        let known = |call| lock(&self.plans).get(call).cloned();
        if let Some(known) = known(call) {
            return known;
        }
        L::installed().ok()?;
        let _recorder = lock(&self.streams.recorder);
        if let Some(known) = known(call) {
            return known;
        }
        // A parked error stays for a call that can report it.
        if !self.streams.queue.context.enter_drop() {
            return None;
        }
        // After an error the op is computed in another way, and the library is asked again.
        let plan = L::plan(&self.library, call).ok()?.map(Arc::new);
        let mut plans = lock(&self.plans);
        if plans.len() >= MOST_PLANS {
            plans.retain(|_, plan| plan.as_ref().is_some_and(|plan| Arc::strong_count(plan) > 1));
        }
        plans.entry(call.clone()).or_insert(plan).clone()
    }
}

impl<L: VendorLibrary> ErasedLibrary for Vendor<L> {
    fn scratch(&self, op: &dyn LibraryOp, epilogue: Option<(&Nest, usize)>) -> Option<u64> {
        let form = match epilogue {
            None => None,
            Some((nest, own)) => Some(L::epilogue(op, nest, own)?),
        };
        let plan = self.plan(&L::call(op, form.as_ref())?)?;
        Some(L::scratch(&plan))
    }

    fn bind(&self, request: &Request) -> DeviceResult<Option<(Arc<dyn VendorStep>, MemoryAccess)>> {
        let queue = &self.streams.queue;
        let form = match request.target {
            LibraryOutput::Memory(_) => None,
            LibraryOutput::Epilogue { nest, args } => {
                let form = bind::own(args).and_then(|own| L::epilogue(request.op, nest, own));
                if form.is_none() {
                    return Ok(None);
                }
                form
            }
        };
        let plan = L::call(request.op, form.as_ref()).and_then(|call| self.plan(&call));
        let Some(plan) = plan else { return Ok(None) };
        let least = L::scratch(&plan);
        let given = request.scratch.map_or(0, |region| region.bytes);
        if given < least {
            let message = format!("{:?} needs scratch memory of {least} bytes, got {given}", request.op);
            return Err(DeviceError::driver(queue.id(), "record", message));
        }
        let (at, mut access) = bind::bind(queue, request, form.as_ref())?;
        access.writes.extend(self.library.with(|library| library.shared())?);
        Ok(Some((Arc::new(PlannedStep { library: self.library.clone(), plan, at }), access)))
    }
}

impl<L: VendorLibrary> fmt::Debug for Vendor<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = std::any::type_name::<L>();
        write!(f, "{}({})", name.rsplit("::").next().unwrap_or(name), self.streams.queue.id())
    }
}
