//! Host arrays of any dtype.
//!
//! A [`Value`] is dtype, shape, strides and a reference-counted [`HostBytes`]: a `Vec`, a memory map, foreign
//! memory. It is viewed as an `ndarray` without a copy, and cloned without a copy.

mod complex;
mod elements;
mod from;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result, array_text, shape_text};
use std::fmt;
use std::sync::Arc;
use workalike_kernels::{DType, Scalar};

pub use elements::Element;
pub use workalike_device::HostBytes;

/// A host array. See the [module](self).
#[derive(Clone)]
pub struct Value {
    dtype: DType,
    shape: Vec<usize>,
    /// In elements.
    strides: Vec<isize>,
    /// In elements.
    offset: usize,
    buffer: Arc<dyn HostBytes>,
}

/// Row-major strides of a shape, in elements.
pub fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    let mut step = 1isize;
    for (stride, &extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(extent.max(1) as isize);
    }
    strides
}

/// Whether any of these bools is another byte than 0 and 1.
fn foreign(bools: &[u8]) -> bool {
    // The loop over a part has no early exit, so it is vectorized.
    bools.chunks(4096).any(|part| part.iter().fold(0, |all, b| all | b) > 1)
}

/// The most axes that an array may have, as in NumPy.
pub const MAX_RANK: usize = 64;

/// Number of elements of a shape, or an error if it does not fit the address space. Empty axes aside, so that
/// the product of any part of the extents fits too.
///
/// # Errors
/// Also if there are more than [`MAX_RANK`] axes.
pub fn checked_len(shape: &[usize], dtype: DType) -> Result<usize> {
    if shape.len() > MAX_RANK {
        let given = format!("{} axes", shape.len());
        return Err(Error::mismatch("array", format!("at most {MAX_RANK} axes"), given));
    }
    let len = shape.iter().filter(|&&e| e > 0).try_fold(1usize, |n, &e| n.checked_mul(e));
    let len = len.filter(|n| n.checked_mul(dtype.size()).is_some_and(|b| b <= isize::MAX as usize));
    len.map(|n| if shape.contains(&0) { 0 } else { n }).ok_or_else(|| {
        Error::mismatch("array", "a size that fits the address space", array_text(dtype, shape))
    })
}

impl Value {
    /// A contiguous row-major array over existing memory. Bools that are other bytes than 0 and 1 are true,
    /// and copied.
    ///
    /// # Errors
    /// If the buffer is not exactly as long as dtype and shape say.
    pub fn from_buffer(dtype: DType, shape: &[usize], buffer: Arc<dyn HostBytes>) -> Result<Value> {
        if dtype == DType::Bool && foreign(buffer.bytes()) {
            return Value::from_bytes(dtype, shape, buffer.bytes());
        }
        Value::exactly(dtype, shape, buffer)
    }

    /// [`Value::from_buffer`] of memory in which every bool is 0 or 1.
    fn exactly(dtype: DType, shape: &[usize], buffer: Arc<dyn HostBytes>) -> Result<Value> {
        let bytes = checked_len(shape, dtype)? * dtype.size();
        if buffer.bytes().len() != bytes {
            let given = format!("{} bytes", buffer.bytes().len());
            return Err(Error::mismatch(array_text(dtype, shape), format!("{bytes} bytes"), given));
        }
        Ok(Value { dtype, shape: shape.to_vec(), strides: row_major(shape), offset: 0, buffer })
    }

    /// A contiguous row-major array over memory that is known to be exactly as long as dtype and shape say.
    pub(crate) fn over(dtype: DType, shape: &[usize], buffer: Arc<dyn HostBytes>) -> Value {
        debug_assert_eq!(buffer.bytes().len(), shape.iter().product::<usize>() * dtype.size());
        Value { dtype, shape: shape.to_vec(), strides: row_major(shape), offset: 0, buffer }
    }

    /// A contiguous row-major array from stored little-endian bytes; any byte but 0 is true.
    ///
    /// # Errors
    /// If there are not exactly as many bytes as dtype and shape say.
    pub fn from_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Value> {
        let mut words = zeroed_words(bytes.len())?;
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        if dtype == DType::Bool {
            bytemuck::cast_slice_mut::<u64, u8>(&mut words).iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        Value::exactly(dtype, shape, Arc::new(Words { words, bytes: bytes.len() }))
    }

    /// A contiguous row-major array of zeros, filled in by `fill` through its bytes.
    pub(crate) fn filled(dtype: DType, shape: &[usize], fill: impl FnOnce(&mut [u8])) -> Result<Value> {
        let bytes = checked_len(shape, dtype)? * dtype.size();
        let mut words = zeroed_words(bytes)?;
        fill(&mut bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes]);
        Value::exactly(dtype, shape, Arc::new(Words { words, bytes }))
    }

    /// Like [`Value::filled`], where filling can fail.
    pub(crate) fn try_filled<E: From<Error>>(
        dtype: DType,
        shape: &[usize],
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Value, E> {
        let mut outcome = Ok(());
        let value = Value::filled(dtype, shape, |bytes| outcome = fill(bytes))?;
        outcome.map(|()| value)
    }

    /// A 0-d array.
    pub fn scalar(scalar: Scalar) -> Value {
        let bytes = scalar.to_le_bytes()[..scalar.dtype().size()].to_vec();
        let words = bytemuck::cast::<[u8; 16], [u64; 2]>(scalar.to_le_bytes()).to_vec();
        let buffer = Arc::new(Words { words, bytes: bytes.len() });
        Value { dtype: scalar.dtype(), shape: vec![], strides: vec![], offset: 0, buffer }
    }

    /// A contiguous array of zeros.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn zeros(dtype: DType, shape: &[usize]) -> Result<Value> {
        Value::filled(dtype, shape, |_| {})
    }

    /// From elements in row-major order.
    ///
    /// # Errors
    /// If their number is not the shape's.
    pub fn from_vec<T: Element>(shape: &[usize], elements: Vec<T>) -> Result<Value> {
        Value::exactly(T::DTYPE, shape, Arc::new(elements))
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Elements from one index to the next, per axis.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Number of axes.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all elements.
    pub fn byte_len(&self) -> usize {
        self.len() * self.dtype.size()
    }

    /// The elements' bytes, if they lie contiguous in row-major order.
    pub fn contiguous_bytes(&self) -> Option<&[u8]> {
        // The stride that the axis has in a contiguous array; unused if the array is empty.
        let mut step = 1isize;
        let dense = self.shape.iter().zip(&self.strides).rev().all(|(&extent, &stride)| {
            let unit = extent <= 1 || stride == step;
            step = step.saturating_mul(extent.max(1) as isize);
            unit
        });
        let bytes = self.byte_len();
        if bytes > 0 && !dense {
            return None;
        }
        let start = self.offset * self.dtype.size();
        self.buffer.bytes().get(start..start + bytes)
    }

    /// The bytes for writing, if the array is contiguous in memory of this library that nothing else refers
    /// to: as results of calls are. There are none of bools, which are 0 or 1.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if self.dtype == DType::Bool {
            return None;
        }
        self.contiguous_bytes()?;
        let (start, bytes) = (self.offset * self.dtype.size(), self.byte_len());
        Arc::get_mut(&mut self.buffer)?.bytes_mut()?.get_mut(start..start + bytes)
    }

    /// This array, contiguous in row-major order; copied only if it is not.
    pub fn contiguous(&self) -> Result<Value> {
        if self.contiguous_bytes().is_some() {
            return Ok(self.clone());
        }
        let size = self.dtype.size();
        let source = self.buffer.bytes();
        Value::try_filled(self.dtype, &self.shape, |target| {
            let mut at = self.positions();
            for element in target.chunks_exact_mut(size) {
                let from = at.next().unwrap_or(0) * size;
                element.copy_from_slice(source.get(from..from + size).ok_or_else(shrunk)?);
            }
            Ok::<(), Error>(())
        })
    }

    /// Positions in the buffer of all elements, row-major.
    fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        let mut index = vec![0usize; self.ndim()];
        let mut at = self.offset as isize;
        (0..self.len()).map(move |_| {
            let here = at as usize;
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                // An axis of extent 1 may have any stride: it is added and subtracted again at once.
                at = at.wrapping_add(self.strides[axis]);
                if index[axis] < self.shape[axis] {
                    break;
                }
                at = at.wrapping_sub(self.strides[axis].wrapping_mul(self.shape[axis] as isize));
                index[axis] = 0;
            }
            here
        })
    }

    /// A view of the same memory with other shape, strides and offset (in elements, from the start of the
    /// buffer).
    ///
    /// # Errors
    /// If some index would lie outside the memory, or there are more elements than can be counted.
    pub fn view_as(&self, shape: &[usize], strides: &[isize], offset: usize) -> Result<Value> {
        checked_len(shape, self.dtype)?;
        let len = self.buffer.bytes().len() / self.dtype.size();
        let mut low = offset as i128;
        let mut high = offset as i128;
        for (&extent, &stride) in shape.iter().zip(strides) {
            let reach = stride as i128 * (extent.max(1) as i128 - 1);
            low += reach.min(0);
            high += reach.max(0);
        }
        let empty = shape.contains(&0);
        if shape.len() != strides.len() || (!empty && (low < 0 || high >= len as i128)) {
            return Err(Error::mismatch(
                "view",
                format!("indices within {len} elements"),
                format!("{low}..={high}"),
            ));
        }
        let offset = if empty { 0 } else { offset };
        Ok(Value { shape: shape.to_vec(), strides: strides.to_vec(), offset, ..self.clone() })
    }

    /// So many positions of an axis, from the first one on, in the same memory.
    ///
    /// # Errors
    /// If the array has no such axis, or not so many positions.
    pub(crate) fn range(&self, axis: usize, first: usize, count: usize) -> Result<Value> {
        let mut shape = self.shape.clone();
        let extent =
            shape.get_mut(axis).filter(|extent| first.checked_add(count).is_some_and(|end| end <= **extent));
        *extent.ok_or_else(|| {
            let what = format!("positions {first} to {} of axis {axis}", first.saturating_add(count));
            Error::mismatch("view", what, shape_text(&self.shape))
        })? = count;
        let steps = if shape.contains(&0) { 0 } else { first as isize * self.strides[axis] };
        // The first element of the range is one of the array, whose positions are not negative.
        self.view_as(&shape, &self.strides, self.offset.saturating_add_signed(steps))
    }

    /// Whether both are the same view of one memory.
    pub(crate) fn is_same(&self, other: &Value) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.buffer), Arc::as_ptr(&other.buffer))
            && (self.dtype, self.offset) == (other.dtype, other.offset)
            && (&self.shape, &self.strides) == (&other.shape, &other.strides)
    }

    /// Position of the first element in the buffer.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The same elements in row-major order under another shape of equal size.
    ///
    /// # Errors
    /// If the sizes differ.
    pub fn reshaped(&self, shape: &[usize]) -> Result<Value> {
        if checked_len(shape, self.dtype)? != self.len() {
            return Err(Error::mismatch(
                "reshape",
                array_text(self.dtype, &self.shape),
                array_text(self.dtype, shape),
            ));
        }
        let whole = self.contiguous()?;
        Ok(Value { shape: shape.to_vec(), strides: row_major(shape), ..whole })
    }

    /// Viewed with `shape`, axes of extent 1 repeated (NumPy's `broadcast_to`).
    ///
    /// # Errors
    /// If the shapes do not broadcast.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Value> {
        let pad = shape.len().checked_sub(self.ndim());
        let fits = pad.is_some_and(|p| self.shape.iter().zip(&shape[p..]).all(|(&a, &b)| a == b || a == 1));
        let Some(pad) = pad.filter(|_| fits) else {
            return Err(Error::mismatch(
                "broadcast",
                array_text(self.dtype, shape),
                array_text(self.dtype, &self.shape),
            ));
        };
        let stride =
            |i: usize| if i < pad || self.shape[i - pad] != shape[i] { 0 } else { self.strides[i - pad] };
        let strides: Vec<_> = (0..shape.len()).map(stride).collect();
        if self.is_empty() || shape.contains(&0) {
            return Value::zeros(self.dtype, shape);
        }
        self.view_as(shape, &strides, self.offset)
    }
}

/// The error for a [`HostBytes`] whose memory became shorter.
pub(crate) fn shrunk() -> Error {
    Error::mismatch("array", "memory that does not change its length", "shorter memory (HostBytes::bytes)")
}

fn zeroed_words(bytes: usize) -> Result<Vec<u64>> {
    // Zeroed by the allocator: the system's new pages are zero anyway.
    let words = bytemuck::allocation::try_zeroed_slice_box(bytes.div_ceil(8));
    let refused = |()| Error::mismatch("array", "memory for it", format!("{bytes} bytes"));
    Ok(words.map_err(refused)?.into_vec())
}

/// Memory aligned for every dtype.
struct Words {
    words: Vec<u64>,
    bytes: usize,
}

impl HostBytes for Words {
    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice::<u64, u8>(&self.words)[..self.bytes]
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        Some(&mut bytemuck::cast_slice_mut::<u64, u8>(&mut self.words)[..self.bytes])
    }
}

impl PartialEq for Value {
    /// Equal dtype, shape and bits of every element.
    fn eq(&self, other: &Value) -> bool {
        self.dtype == other.dtype && self.shape == other.shape && self.scalars().eq(other.scalars())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", array_text(self.dtype, &self.shape))?;
        let few: Vec<String> = self.scalars().take(8).map(|s| s.to_string()).collect();
        let more = if self.len() > 8 { ", ..." } else { "" };
        write!(f, "[{}{more}]", few.join(", "))
    }
}
