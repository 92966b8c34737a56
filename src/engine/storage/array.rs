//! Tensors that stay on their device, and the arguments that a call takes for an input.

use super::device_pool::PooledMemory;
use super::outcome::{CallOutcome, StageOrigin};
use crate::error::{Error, Result};
use crate::lower::index_bounds::Bounds;
use crate::value::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use workalike_device::{Command, Device, Memory, NativeMemory, Numerics, Region};
use workalike_kernels::DType;

/// A tensor that stays on its device.
#[derive(Clone, Debug)]
pub struct DeviceArray {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) region: Region,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// Returns the memory to the pool when it is dropped, if the memory belongs to the pool.
    pub(crate) lease: Option<Arc<PooledMemory>>,
    pub(crate) donated: bool,
    /// Bounds of the elements, if they are integers that came from the host. All handles share them.
    pub(crate) bounds: Option<Arc<KnownBounds>>,
    /// The outcomes of the calls that computed this array; `None` if none of them can fail.
    pub(crate) outcomes: Option<Arc<Vec<CallOutcome>>>,
}

/// Bounds of an array's elements, until a kernel of the program's own writes to it.
#[derive(Debug)]
pub(crate) struct KnownBounds {
    bounds: Bounds,
    stale: AtomicBool,
}

impl KnownBounds {
    pub(crate) fn new(bounds: Bounds) -> Arc<KnownBounds> {
        Arc::new(KnownBounds { bounds, stale: AtomicBool::new(false) })
    }
}

impl DeviceArray {
    /// An array in memory of the pool.
    pub(crate) fn in_pool(
        device: &Arc<dyn Device>,
        lease: Arc<PooledMemory>,
        dtype: DType,
        shape: &[usize],
    ) -> DeviceArray {
        let bytes = self::byte_size(dtype, shape);
        let region = Region { memory: lease.clone(), offset: 0, bytes };
        DeviceArray { lease: Some(lease), ..DeviceArray::of(device, region, dtype, shape) }
    }

    /// A view of memory that the array does not own.
    pub(crate) fn of(device: &Arc<dyn Device>, region: Region, dtype: DType, shape: &[usize]) -> DeviceArray {
        let (device, shape) = (device.clone(), shape.to_vec());
        let (lease, donated, bounds, outcomes) = (None, false, None, None);
        DeviceArray { device, region, dtype, shape, lease, donated, bounds, outcomes }
    }

    /// A copy of a value on a device, in memory of its own.
    ///
    /// # Errors
    /// If the device has no memory for it, or fails.
    pub fn upload(device: &Arc<dyn Device>, value: impl Into<Value>) -> Result<DeviceArray> {
        let value = value.into();
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        let array = DeviceArray::allocate(device, whole.dtype(), whole.shape())?;
        if !bytes.is_empty() {
            device.upload(bytes, &array.region)?;
        }
        Ok(DeviceArray { bounds: Bounds::of(&whole).map(KnownBounds::new), ..array })
    }

    /// Zeros on a device, in memory of their own.
    ///
    /// # Errors
    /// If the device has no memory for them, or fails.
    pub fn zeros(device: &Arc<dyn Device>, dtype: DType, shape: &[usize]) -> Result<DeviceArray> {
        let array = DeviceArray::allocate(device, dtype, shape)?;
        if array.region.bytes > 0 {
            let nothing = device.compile(&[], Numerics::default())?;
            let clear = Command::Clear { target: array.region.clone() };
            device.record(&nothing, &[clear])?.replay()?;
        }
        Ok(array)
    }

    /// An array whose elements are not initialized, for code that writes each before it is read.
    pub(crate) fn allocate(device: &Arc<dyn Device>, dtype: DType, shape: &[usize]) -> Result<DeviceArray> {
        let size = shape.iter().try_fold(dtype.size(), |size, extent| size.checked_mul(*extent));
        let Some(bytes) = size.and_then(|size| u64::try_from(size).ok()) else {
            let (expected, given) = ("a size that fits in memory".into(), format!("{shape:?} of {dtype}"));
            return Err(Error::Mismatch { what: "the shape of a device array".into(), expected, given });
        };
        let memory = device.allocate(bytes.max(1))?;
        Ok(DeviceArray::of(device, Region { memory, offset: 0, bytes }, dtype, shape))
    }

    /// Memory of another library, from a byte on.
    pub(crate) fn adopted(
        device: &Arc<dyn Device>,
        memory: Arc<dyn Memory>,
        offset: u64,
        dtype: DType,
        shape: &[usize],
    ) -> DeviceArray {
        let region = Region { memory, offset, bytes: self::byte_size(dtype, shape) };
        DeviceArray::of(device, region, dtype, shape)
    }

    /// The same memory under another shape of as many elements.
    pub(crate) fn with_shape(&self, shape: &[usize]) -> DeviceArray {
        DeviceArray { shape: shape.to_vec(), donated: false, ..self.clone() }
    }

    /// A part of the same memory.
    pub(crate) fn with_region(&self, region: Region, shape: &[usize]) -> DeviceArray {
        DeviceArray { region, shape: shape.to_vec(), donated: false, ..self.clone() }
    }

    /// The slice at a position along the first axis, in the same memory; `None` if there is no such slice.
    pub(crate) fn slice_at(&self, position: u64) -> Option<DeviceArray> {
        let (len, shape) = self.shape.split_first()?;
        let bytes = self::byte_size(self.dtype, shape);
        let offset = self.region.offset + position.checked_mul(bytes)?;
        let region = Region { offset, bytes, ..self.region.clone() };
        (position < *len as u64).then(|| self.with_region(region, shape))
    }

    /// Where its elements lie, in the terms of the device's driver: an address, or a `cl_mem` and an offset.
    /// They are contiguous. The memory is the array's; another library may use it while the array exists, in
    /// the order of the device's stream or queue: see
    /// [`Device::native`](crate::engine::device::Device::native).
    ///
    /// # Errors
    /// If the call that computed the array failed, or the device does not say: the host's memory is shared by
    /// [`DeviceArray::to_dlpack`].
    pub fn native(&self) -> Result<NativeMemory> {
        self.check()?;
        // The caller may write.
        self.forget_bounds();
        Ok(self.device.native_memory(&self.region)?)
    }

    /// The device, one stream of work.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Bounds of the elements, if they are known.
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        let known = self.bounds.as_deref().filter(|known| !known.stale.load(Ordering::Acquire));
        known.map(|known| known.bounds)
    }

    /// Elements may be written by other code than the engine's: their bounds are no longer known.
    pub(crate) fn forget_bounds(&self) {
        if let Some(known) = &self.bounds {
            known.stale.store(true, Ordering::Release);
        }
    }

    /// Its memory on the device.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// Donates the array to the call that takes it as an argument: if this is its only handle, the call may
    /// overwrite it with its results, unless that changes a result. Otherwise it is an ordinary argument.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f32>("x");
    /// let f = function([&x]).output(&x * 0.5).compile()?;
    /// let mut sim = f.optimize(Host::auto())?;
    /// let mut state = sim.upload(vec![64f32; 1000])?;
    /// for _ in 0..6 {
    ///     state = sim.call_device(args![state.donate()])?.remove(0);
    /// }
    /// assert_eq!(state.to_value()?.to_vec::<f32>()?, [1.0; 1000]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn donate(mut self) -> DeviceArray {
        self.donated = true;
        self
    }

    /// Whether it was donated and has no other handle.
    pub(crate) fn is_given(&self) -> bool {
        // The array itself holds two references: the lease, and the region's.
        self.donated && self.lease.as_ref().is_some_and(|lease| Arc::strong_count(lease) == 2)
    }

    /// The region, without a claim to its memory.
    pub(crate) fn unclaimed(&self) -> Region {
        match &self.lease {
            Some(lease) => Region { memory: lease.inner().clone(), ..self.region.clone() },
            None => self.region.clone(),
        }
    }
    /// Its dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// A copy on the host; waits for the device.
    ///
    /// # Errors
    /// If the device fails, or an index was out of range in the call that computed the array.
    pub fn to_value(&self) -> Result<Value> {
        self.check()?;
        download(self.device.as_ref(), &self.region, self.dtype, &self.shape)
    }

    /// Waits for the calls that computed the array, and reports their errors.
    pub(crate) fn check(&self) -> Result<()> {
        self.outcomes().iter().try_for_each(CallOutcome::check)
    }

    /// The result of a part of a method: errors of the call that computed it are the method's.
    pub(crate) fn located(mut self, origin: &Arc<StageOrigin>) -> DeviceArray {
        if let Some(outcomes) = &mut self.outcomes {
            let located = outcomes.iter().cloned().map(|outcome| outcome.located(origin));
            *outcomes = Arc::new(located.collect());
        }
        self
    }

    pub(crate) fn outcomes(&self) -> &[CallOutcome] {
        self.outcomes.as_ref().map_or(&[], |outcomes| outcomes)
    }

    /// Whether the array belongs to this stream of work.
    pub(crate) fn is_on(&self, device: &Arc<dyn Device>) -> bool {
        // Two streams of one device do not wait for each other.
        std::ptr::addr_eq(Arc::as_ptr(&self.device), Arc::as_ptr(device))
    }
}

/// The argument of a call for one input.
#[derive(Clone, Debug)]
pub(crate) enum CallInput {
    Host(Value),
    Device(DeviceArray),
    /// A sequence, one slice per iteration: zeros of a slice's shape, and the bounds of all slices.
    Slices(Value, Option<Bounds>),
}

impl CallInput {
    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            CallInput::Host(value) => value.shape(),
            CallInput::Device(array) => array.shape(),
            CallInput::Slices(zeros, _) => zeros.shape(),
        }
    }

    pub(crate) fn value(&self) -> Option<Value> {
        match self {
            CallInput::Host(value) | CallInput::Slices(value, _) => Some(value.clone()),
            CallInput::Device(array) => array.to_value().ok(),
        }
    }

    /// Bounds of the elements, if they are integers that the host knows.
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        match self {
            CallInput::Host(value) => Bounds::of(value),
            CallInput::Device(array) => array.bounds(),
            CallInput::Slices(_, bounds) => *bounds,
        }
    }
}

pub(crate) fn download(device: &dyn Device, region: &Region, dtype: DType, shape: &[usize]) -> Result<Value> {
    Value::try_filled(dtype, shape, |bytes| {
        if bytes.is_empty() {
            return Ok(());
        }
        let exact = Region { bytes: bytes.len() as u64, ..region.clone() };
        Ok(device.download(&exact, bytes)?)
    })
}

/// Bytes of an array.
pub(crate) fn byte_size(dtype: DType, shape: &[usize]) -> u64 {
    shape.iter().product::<usize>() as u64 * dtype.size() as u64
}
