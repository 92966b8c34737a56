//! Sequences: inputs that take one slice per iteration. They are uploaded in chunks of bounded size, with
//! slices at the device's alignment, so that a block takes its slices in one copy and binds them directly.

use super::super::device::Region;
use super::array::DeviceArray;
use super::context::Context;
use crate::error::Result;
use crate::value::Value;
use workalike_kernels::DType;

/// Maximum size of a sequence's chunk on the device, in bytes; a single larger slice makes a larger chunk.
const CHUNK: u64 = 64 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) input: usize,
    /// Contiguous.
    value: Value,
    dtype: DType,
    shape: Vec<usize>,
    /// Bytes of a slice.
    pub(super) bytes: u64,
    /// Bytes from one slice on the device to the next.
    pub(super) stride: u64,
    chunk: Region,
    /// The number of slices that fit into the chunk.
    capacity: u64,
    /// The slices in the chunk: the first, and their number.
    held: (u64, u64),
    /// Staging memory of a chunk, if slices are padded.
    padded: Vec<u8>,
}

impl Sequence {
    /// A sequence for an input; its first axis counts the iterations.
    pub(super) fn new(context: &Context, input: usize, value: &Value) -> Result<Sequence> {
        let value = value.contiguous()?;
        let (count, shape) = (value.shape()[0] as u64, value.shape()[1..].to_vec());
        let bytes = super::tap::size(value.dtype(), &shape);
        let stride = bytes.next_multiple_of(context.device.properties().alignment.max(1));
        let capacity = (CHUNK / stride.max(1)).clamp(1, count.max(1));
        let chunk = context.allocate(capacity * stride)?;
        let dtype = value.dtype();
        Ok(Sequence {
            input,
            value,
            dtype,
            shape,
            bytes,
            stride,
            chunk,
            capacity,
            held: (0, 0),
            padded: vec![],
        })
    }

    /// Slices `step..step + count` on the device, at multiples of the stride. At most [`Sequence::most`] at a
    /// time.
    pub(super) fn slices(&mut self, context: &Context, step: u64, count: u64) -> Result<Region> {
        let (first, held) = self.held;
        if step < first || step + count > first + held {
            // Pending copies from the chunk run before this upload, since the device works in order.
            let all = self.value.shape()[0] as u64;
            let held = self.capacity.min(all - step.min(all));
            self.upload(context, step, held)?;
            self.held = (step, held);
        }
        let offset = self.chunk.offset + (step - self.held.0) * self.stride;
        Ok(Region { offset, bytes: count * self.stride, ..self.chunk.clone() })
    }

    fn upload(&mut self, context: &Context, first: u64, count: u64) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let (bytes, stride) = (self.bytes as usize, self.stride as usize);
        let all = self.value.contiguous_bytes().unwrap_or(&[]);
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

    /// The slice of one iteration, as an array.
    pub(super) fn slice(&mut self, context: &Context, step: u64) -> Result<DeviceArray> {
        let region = Region { bytes: self.bytes, ..self.slices(context, step, 1)? };
        Ok(DeviceArray::of(&context.device, region, self.dtype, &self.shape))
    }

    /// The maximum number of slices at a time.
    pub(super) fn most(&self) -> u64 {
        self.capacity
    }
}
