//! One CUDA context per device and process, and the [`Queue`]: one stream in it.
//!
//! All device objects of one ordinal share the device's primary context, which other CUDA libraries in the
//! process use too. It is kept until the process ends. `cudarc`'s own event tracking is switched off before
//! anything is allocated: each device object is one stream, whose order suffices, and events inside captures
//! invalidate them.

use crate::exchange_gate::{ExchangeGate, QuietGuard};
use crate::preflight;
use cudarc::driver::sys::{self, CUcontext, CUresult, CUstream};
use cudarc::driver::{CudaContext, CudaStream, DriverError, result};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use workalike_device::{DeviceError, DeviceResult};

/// A device's primary context.
pub(crate) struct PrimaryContext {
    pub(crate) cuda: Arc<CudaContext>,
    /// `cuda:0`.
    pub(crate) id: String,
    /// The driver's version, as 13000 for 13.0.
    pub(crate) driver: i32,
    /// Compute capability, as 90 for 9.0.
    pub(crate) capability: i32,
    /// Whether a kernel can be launched as a programmatic dependent of others.
    pub(crate) dependents: bool,
    /// Held while a stream of this context captures, and around calls that wait for the whole context:
    /// creating and destroying handles of libraries.
    pub(crate) gate: ExchangeGate,
    /// Device objects whose graphs have branches: see [`Branching`].
    pub(crate) branching: Arc<AtomicUsize>,
}

/// At most this many device objects of a context have graphs with branches at a time; those of others are
/// chains.
///
/// Where 16 start at once on driver 580.159 (H100, H200), in one of four starts a graph never completes, or
/// fails with `CUDA_ERROR_LAUNCH_FAILED` or `CUDA_ERROR_ILLEGAL_ADDRESS`, and all later calls with it; with
/// four of the 16 branching, in one of six. With chains alone it was not seen in 13 starts, and they are
/// faster where many share a GPU. The memory pool, programmatic dependents, the loading of code and the
/// growth of the stack are not the cause; see docs/STATUS.md.
const MOST_BRANCHING: usize = 1;

/// The right of a device object to graphs with branches, until it is dropped.
#[derive(Debug)]
pub(crate) struct Branching(Arc<AtomicUsize>);

impl Branching {
    /// `None` if [`MOST_BRANCHING`] others have it.
    pub(crate) fn of(holders: &Arc<AtomicUsize>) -> Option<Branching> {
        let more = |count: usize| (count < MOST_BRANCHING).then_some(count + 1);
        let counted = holders.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        counted.is_ok().then(|| Branching(holders.clone()))
    }
}

impl Drop for Branching {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The contexts in use, of all devices.
pub(crate) fn all() -> Vec<Arc<PrimaryContext>> {
    lock(&CONTEXTS).values().cloned().collect()
}

static CONTEXTS: Mutex<BTreeMap<usize, Arc<PrimaryContext>>> = Mutex::new(BTreeMap::new());

/// Locks a mutex even if it is poisoned: a panic leaves nothing in this crate half-changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The context of a device; `Missing` where there is no such device.
pub(crate) fn of_device(ordinal: usize) -> DeviceResult<Arc<PrimaryContext>> {
    let id = format!("cuda:{ordinal}");
    let missing = |absent: preflight::Absent| absent.on(&id);
    let driver = preflight::driver().map_err(missing)?;
    if ordinal >= driver.devices {
        return Err(DeviceError::Missing {
            device: id,
            why: format!("this host has {} CUDA device(s), counted from 0", driver.devices),
            help: "Ask for one of them".into(),
        });
    }
    preflight::nvrtc().map_err(missing)?;
    let mut contexts = lock(&CONTEXTS);
    if let Some(context) = contexts.get(&ordinal) {
        return Ok(context.clone());
    }
    let cuda = CudaContext::new(ordinal).or_driver(&id, "cuDevicePrimaryCtxRetain")?;
    // SAFETY: nothing was allocated in it yet, and this crate never uses memory on two streams.
    unsafe { cuda.disable_event_tracking() };
    let (major, minor) = cuda.compute_capability().or_driver(&id, "cuDeviceGetAttribute")?;
    let context = Arc::new(PrimaryContext {
        cuda,
        id,
        driver: driver.version,
        capability: major * 10 + minor,
        dependents: major >= 9,
        gate: ExchangeGate::default(),
        branching: Arc::default(),
    });
    contexts.insert(ordinal, context.clone());
    Ok(context)
}

/// The context with this handle: a device's primary context, or one that another library made. The latter is
/// never destroyed here: what knows it is kept until the process ends.
pub(crate) fn of_handle(handle: usize) -> DeviceResult<Arc<PrimaryContext>> {
    static FOREIGN: Mutex<BTreeMap<usize, Arc<PrimaryContext>>> = Mutex::new(BTreeMap::new());
    const ID: &str = "cuda";
    let missing = |absent: preflight::Absent| absent.on(ID);
    preflight::driver().map_err(missing)?;
    let raw = handle as CUcontext;
    if raw.is_null() {
        return Err(DeviceError::driver(ID, "Cuda::from_context", "the context is null"));
    }
    let mut device = 0;
    // SAFETY: the caller of `Cuda::from_context` promised that it is valid; it is current on this thread
    // while the driver is asked for its device, which is written to `device`.
    unsafe {
        sys::cuCtxPushCurrent_v2(raw).or_driver(ID, "cuCtxPushCurrent")?;
        let asked = sys::cuCtxGetDevice(&mut device);
        let mut popped = std::ptr::null_mut();
        sys::cuCtxPopCurrent_v2(&mut popped).or_driver(ID, "cuCtxPopCurrent")?;
        asked.or_driver(ID, "cuCtxGetDevice")?;
    }
    // The driver's devices are their ordinals.
    let ordinal = usize::try_from(device).unwrap_or(0);
    let primary = of_device(ordinal)?;
    if primary.cuda.cu_ctx() == raw {
        return Ok(primary);
    }
    let mut foreign = lock(&FOREIGN);
    if let Some(context) = foreign.get(&handle) {
        return Ok(context.clone());
    }
    // SAFETY: the context is valid and of this device. It would be destroyed with the last `CudaContext` of
    // it; there is always the one in the static map.
    let cuda = unsafe { CudaContext::from_raw_context(ordinal, device, raw) };
    let cuda = cuda.or_driver(&primary.id, "cuCtxSetCurrent")?;
    // SAFETY: nothing was allocated by `cuda` yet, and this crate never uses memory on two streams.
    unsafe { cuda.disable_event_tracking() };
    let context = Arc::new(PrimaryContext {
        cuda,
        id: primary.id.clone(),
        driver: primary.driver,
        capability: primary.capability,
        dependents: primary.dependents,
        gate: ExchangeGate::default(),
        branching: Arc::default(),
    });
    foreign.insert(handle, context.clone());
    Ok(context)
}

impl PrimaryContext {
    /// Makes the context current on this thread. Every call from outside the crate begins with it.
    pub(crate) fn enter(&self) -> DeviceResult<()> {
        // An error parked by a Drop is reported as such, not as an error of the current call.
        self.cuda.check_err().or_driver(&self.id, "an earlier release of memory or of a recording")?;
        self.cuda.bind_to_thread().or_driver(&self.id, "cuCtxSetCurrent")
    }

    /// Makes the context current, for a Drop. Leaves a parked error where it is. False if it fails.
    pub(crate) fn enter_drop(&self) -> bool {
        // SAFETY: the context lives as long as `self`.
        let bound = unsafe { result::ctx::set_current(self.cuda.cu_ctx()) };
        let ok = bound.is_ok();
        self.park(bound);
        ok
    }

    /// Parks an error of a Drop: the next [`PrimaryContext::enter`] returns it.
    pub(crate) fn park(&self, outcome: Result<(), DriverError>) {
        // At the end of the process the driver may be torn down before our last object. That is no error.
        if outcome != Err(DriverError(CUresult::CUDA_ERROR_DEINITIALIZED)) {
            self.cuda.record_err(outcome);
        }
    }

    /// Excludes captures, exchanges, and calls that wait for the whole context, while the guard lives.
    pub(crate) fn capture(&self) -> QuietGuard<'_> {
        self.gate.quiet()
    }
}

impl fmt::Debug for PrimaryContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.id)
    }
}

/// One stream of work. Memory, recordings and staging hold it, so it outlives them.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) context: Arc<PrimaryContext>,
    pub(crate) stream: Arc<CudaStream>,
    /// Whether the stream is another library's.
    pub(crate) borrowed: bool,
}

impl Queue {
    /// A new non-blocking stream.
    pub(crate) fn new(context: Arc<PrimaryContext>) -> DeviceResult<Arc<Queue>> {
        context.enter()?;
        let stream = context.cuda.new_stream().or_driver(&context.id, "cuStreamCreate")?;
        Ok(Arc::new(Queue { context, stream, borrowed: false }))
    }

    /// Another library's stream of this context, which is not destroyed here.
    pub(crate) fn foreign(context: Arc<PrimaryContext>, stream: usize) -> DeviceResult<Arc<Queue>> {
        context.enter()?;
        // SAFETY: the caller of `Cuda::from_stream` promised that it is valid as long as the device is open.
        // The two libraries' work is in the order in which it is enqueued.
        let stream = unsafe { context.cuda.wrap_borrowed_stream(stream as CUstream) };
        Ok(Arc::new(Queue { context, stream, borrowed: true }))
    }

    /// Waits for all enqueued work.
    pub(crate) fn synchronize(&self) -> DeviceResult<()> {
        self.stream.synchronize().or_driver(&self.context.id, "cuStreamSynchronize")
    }

    /// The device's name in errors.
    pub(crate) fn id(&self) -> &str {
        &self.context.id
    }
}

/// A driver's error as text: `CUDA_ERROR_INVALID_VALUE (invalid argument)`.
fn error_text(error: DriverError) -> String {
    match error.error_string() {
        Ok(text) => format!("{:?} ({})", error.0, text.to_string_lossy()),
        Err(_) => format!("{:?}", error.0),
    }
}

/// Converts results of the driver to [`DeviceResult`]s.
pub(crate) trait OrDriver<T> {
    /// The value, or [`DeviceError::Driver`] that names the device and the call.
    fn or_driver(self, device: &str, call: &str) -> DeviceResult<T>;
}

impl<T> OrDriver<T> for Result<T, DriverError> {
    fn or_driver(self, device: &str, call: &str) -> DeviceResult<T> {
        self.map_err(|e| DeviceError::driver(device, call, error_text(e)))
    }
}

impl OrDriver<()> for CUresult {
    fn or_driver(self, device: &str, call: &str) -> DeviceResult<()> {
        self.result().or_driver(device, call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_device_objects_have_branches_at_a_time() {
        let holders = Arc::default();
        let mut held: Vec<Branching> = (0..MOST_BRANCHING).filter_map(|_| Branching::of(&holders)).collect();
        assert_eq!(held.len(), MOST_BRANCHING);
        assert!(Branching::of(&holders).is_none());
        held.pop();
        assert!(Branching::of(&holders).is_some(), "one was given back");
        drop(held);
        assert_eq!(holders.load(Ordering::Relaxed), 0);
    }
}
