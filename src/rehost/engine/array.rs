//! Tensors that stay on their device, and what a call may give for an input.

use super::super::device::{Device, Region};
use super::pool::Lent;
use super::status::Outcome;
use crate::dtype::DType;
use crate::error::Result;
use crate::lower::index_check::Bounds;
use crate::value::Value;
use std::sync::Arc;

/// A tensor that stays on its device.
#[derive(Clone, Debug)]
pub struct DeviceArray {
    pub(super) device: Arc<dyn Device>,
    pub(super) region: Region,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    /// What gives the memory back to the pool, if it is the pool's.
    pub(super) lease: Option<Arc<Lent>>,
    pub(super) donated: bool,
    /// Bounds of the elements, if they are integers that came from the host. In a box, since arrays are moved
    /// often.
    pub(super) bounds: Option<Box<Bounds>>,
    /// What says whether the calls that this was computed by went well; none if nothing can have gone wrong.
    pub(super) outcomes: Option<Arc<Vec<Outcome>>>,
}

impl DeviceArray {
    /// An array in memory of the pool.
    pub(super) fn lent(
        device: &Arc<dyn Device>,
        lease: Arc<Lent>,
        dtype: DType,
        shape: &[usize],
    ) -> DeviceArray {
        let bytes = super::tap::size(dtype, shape);
        let region = Region { memory: lease.clone(), offset: 0, bytes };
        DeviceArray { lease: Some(lease), ..DeviceArray::of(device, region, dtype, shape) }
    }

    /// A view of memory that is not the array's own.
    pub(super) fn of(device: &Arc<dyn Device>, region: Region, dtype: DType, shape: &[usize]) -> DeviceArray {
        let (device, shape) = (device.clone(), shape.to_vec());
        let (lease, donated, bounds, outcomes) = (None, false, None, None);
        DeviceArray { device, region, dtype, shape, lease, donated, bounds, outcomes }
    }

    /// Gives the array to the call that it is an argument of: if this is its only handle, the call may write
    /// its results over it, where that changes nothing that is computed. Otherwise it is an argument like any
    /// other.
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

    /// Whether it was donated and nobody else holds it.
    pub(super) fn is_given(&self) -> bool {
        // Two references are the array's own: the lease, and the region's.
        self.donated && self.lease.as_ref().is_some_and(|lease| Arc::strong_count(lease) == 2)
    }

    /// Where it lies, without a claim to the memory.
    pub(super) fn unclaimed(&self) -> Region {
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

    /// Reports what was found wrong in the calls that computed the array; waits for them.
    pub(crate) fn check(&self) -> Result<()> {
        self.outcomes().iter().try_for_each(Outcome::check)
    }

    pub(super) fn outcomes(&self) -> &[Outcome] {
        self.outcomes.as_ref().map_or(&[], |outcomes| outcomes)
    }

    /// Whether the array belongs to this stream of work.
    pub(crate) fn is_on(&self, device: &Arc<dyn Device>) -> bool {
        // Two streams of one device do not wait for each other.
        std::ptr::addr_eq(Arc::as_ptr(&self.device), Arc::as_ptr(device))
    }
}

/// What a call gives for one input.
#[derive(Clone, Debug)]
pub(crate) enum Fed {
    Host(Value),
    Device(DeviceArray),
    /// A sequence, of which each step takes a slice: zeros of a slice's shape, and the bounds of all slices.
    Slices(Value, Option<Bounds>),
}

impl Fed {
    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Fed::Host(value) => value.shape(),
            Fed::Device(array) => array.shape(),
            Fed::Slices(zeros, _) => zeros.shape(),
        }
    }

    pub(super) fn value(&self) -> Option<Value> {
        match self {
            Fed::Host(value) | Fed::Slices(value, _) => Some(value.clone()),
            Fed::Device(array) => array.to_value().ok(),
        }
    }

    /// Bounds of the elements, if they are integers that the host has seen.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        match self {
            Fed::Host(value) => Bounds::of(value),
            Fed::Device(array) => array.bounds.as_deref().copied(),
            Fed::Slices(_, bounds) => *bounds,
        }
    }
}

pub(super) fn download(device: &dyn Device, region: &Region, dtype: DType, shape: &[usize]) -> Result<Value> {
    Value::try_filled(dtype, shape, |bytes| {
        if bytes.is_empty() {
            return Ok(());
        }
        let exact = Region { bytes: bytes.len() as u64, ..region.clone() };
        Ok(device.download(&exact, bytes)?)
    })
}
