//! Sequences: inputs that take one slice per iteration, with slices at the device's alignment, so that a
//! block takes its slices in one copy and binds them directly. Those of the host are uploaded in chunks of
//! bounded size. Those of the device are used where they are, or copied in such chunks if their slices are
//! not at the alignment.

use crate::engine::device_view::DeviceView;
use crate::engine::storage::{CallInput, DeviceArray, EngineContext};
use crate::error::Result;
use crate::value::Value;
use ndarray::SliceInfoElem;
use workalike_device::Region;
use workalike_kernels::DType;

/// Maximum size of a sequence's chunk on the device, in bytes; a single larger slice makes a larger chunk.
const CHUNK: u64 = 64 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) input: usize,
    source: SliceSource,
    /// The number of slices.
    count: u64,
    dtype: DType,
    shape: Vec<usize>,
    /// Bytes of a slice.
    pub(crate) bytes: u64,
    /// Bytes from one slice on the device to the next.
    pub(crate) stride: u64,
    chunk: Region,
    /// The number of slices that fit into the chunk.
    capacity: u64,
    /// The slices in the chunk: the first, and their number.
    held: (u64, u64),
    /// Staging memory of a chunk, if slices are padded.
    padded: Vec<u8>,
}

/// Where the slices come from.
#[derive(Debug)]
enum SliceSource {
    /// Contiguous.
    Host(Value),
    Device(DeviceArray),
}

impl Sequence {
    /// A sequence for an input; its first axis counts the iterations.
    pub(crate) fn new(context: &EngineContext, input: usize, sequence: &CallInput) -> Result<Sequence> {
        let (source, dtype) = match sequence {
            CallInput::Host(value) | CallInput::Slices(value, _) => {
                (SliceSource::Host(value.contiguous()?), value.dtype())
            }
            CallInput::Device(array) => (SliceSource::Device(array.clone()), array.dtype),
        };
        let (count, shape) = match sequence.shape() {
            [count, shape @ ..] => (*count as u64, shape.to_vec()),
            [] => (0, vec![]),
        };
        let bytes = crate::engine::storage::byte_size(dtype, &shape);
        let alignment = context.device.properties().alignment.max(1);
        let stride = bytes.next_multiple_of(alignment);
        let in_place = match &source {
            SliceSource::Device(array) if stride == bytes => {
                array.region.offset.is_multiple_of(alignment).then(|| array.region.clone())
            }
            _ => None,
        };
        let (chunk, capacity, held) = match in_place {
            Some(region) => (region, count.max(1), (0, count)),
            None => {
                let capacity = (CHUNK / stride.max(1)).clamp(1, count.max(1));
                (context.allocate(capacity * stride)?, capacity, (0, 0))
            }
        };
        let padded = vec![];
        Ok(Sequence { input, source, count, dtype, shape, bytes, stride, chunk, capacity, held, padded })
    }

    /// Slices `step..step + count` on the device, at multiples of the stride. At most [`Sequence::most`] at a
    /// time.
    pub(crate) fn slices(&mut self, context: &EngineContext, step: u64, count: u64) -> Result<Region> {
        let (first, held) = self.held;
        if step < first || step + count > first + held {
            // Pending copies from the chunk run before this one is filled, since the device works in order.
            let held = self.capacity.min(self.count - step.min(self.count));
            self.fill(context, step, held)?;
            self.held = (step, held);
        }
        let offset = self.chunk.offset + (step - self.held.0) * self.stride;
        Ok(Region { offset, bytes: count * self.stride, ..self.chunk.clone() })
    }

    /// Copies slices into the chunk.
    fn fill(&mut self, context: &EngineContext, first: u64, count: u64) -> Result<()> {
        if self.bytes == 0 || count == 0 {
            return Ok(());
        }
        let (bytes, stride) = (self.bytes as usize, self.stride as usize);
        let all = match &self.source {
            SliceSource::Device(array) => return self.copy(context, array, first, count),
            SliceSource::Host(value) => value.contiguous_bytes().unwrap_or(&[]),
        };
        let wanted = &all[first as usize * bytes..(first + count) as usize * bytes];
        let target = Region { bytes: count * self.stride, ..self.chunk.clone() };
        if bytes == stride {
            return Ok(context.device.upload(wanted, &target)?);
        }
        self.padded.resize(self.padded.len().max(count as usize * stride), 0);
        for (slot, slice) in self.padded.chunks_exact_mut(stride).zip(wanted.chunks_exact(bytes)) {
            slot[..bytes].copy_from_slice(slice);
        }
        Ok(context.device.upload(&self.padded[..count as usize * stride], &target)?)
    }

    /// Copies slices of an array of the device into the chunk, as rows of a matrix with gaps.
    fn copy(&self, context: &EngineContext, array: &DeviceArray, first: u64, count: u64) -> Result<()> {
        let rows = |of: &Region, skipped: u64, row: u64| -> DeviceView {
            let region = Region { offset: of.offset + skipped, bytes: count * row, ..of.clone() };
            let columns = row as usize / self.dtype.size();
            DeviceArray::of(&context.device, region, self.dtype, &[count as usize, columns]).view()
        };
        let slice = (0..(self.bytes as isize / self.dtype.size() as isize)).into();
        let target = rows(&self.chunk, 0, self.stride).slice([SliceInfoElem::from(..), slice])?;
        target.assign(&rows(&array.region, first * self.bytes, self.bytes))
    }

    /// The slice of one iteration, as an array.
    pub(crate) fn slice(&mut self, context: &EngineContext, step: u64) -> Result<DeviceArray> {
        let region = Region { bytes: self.bytes, ..self.slices(context, step, 1)? };
        Ok(DeviceArray::of(&context.device, region, self.dtype, &self.shape))
    }

    /// The maximum number of slices at a time.
    pub(crate) fn most(&self) -> u64 {
        self.capacity
    }
}
