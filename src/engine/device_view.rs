//! Arrays of a device as NumPy and PyCUDA know them: views with strides, copies, elements that are set.

mod store;

use super::storage::DeviceArray;
use crate::error::{Error, Result, shape_text};
use crate::npy;
use crate::value::{Value, checked_len, row_major};
use ndarray::SliceInfoElem;
use std::path::Path;
use std::sync::Arc;
use store::StoredValue;
use workalike_device::{Device, Region};
use workalike_kernels::{DType, Scalar};

/// A part of a [`DeviceArray`], or its elements in another order: extents and strides over the same memory.
///
/// ```
/// use ndarray::s;
/// use workalike::prelude::*;
/// let device = Host::auto().open()?;
/// let x = DeviceArray::upload(&device, array![[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
/// let columns = x.slice(s![.., ..;-2])?;
/// assert_eq!((columns.shape(), columns.strides()), (&[2, 2][..], &[3, -2][..]));
/// assert_eq!(columns.to_value()?.to_vec::<f32>()?, [3.0, 1.0, 6.0, 4.0]);
/// columns.fill(0f32)?;
/// assert_eq!(x.to_value()?.to_vec::<f32>()?, [0.0, 2.0, 0.0, 0.0, 5.0, 0.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceView {
    array: DeviceArray,
    shape: Vec<usize>,
    /// In elements.
    strides: Vec<isize>,
    /// The position of the first element in the array.
    offset: usize,
}

/// Whether a converted number is the same, or the nearest float.
fn same_number(given: Scalar, own: Scalar) -> bool {
    if given.dtype().is_complex() || own.dtype().is_complex() {
        let rounded = Scalar::from_parts(own.dtype().complex(), given.parts()).parts();
        return own.dtype().is_complex() && own.parts() == rounded || given.parts() == own.parts();
    }
    match (given.dtype().is_float(), own.dtype().is_float()) {
        (true, true) => true,
        (false, false) => given.to_i128() == own.to_i128(),
        (true, false) => given.to_f64() == own.to_i128() as f64,
        (false, true) => own.to_f64() as i128 == given.to_i128(),
    }
}

impl DeviceArray {
    /// All of the array as a view.
    pub fn view(&self) -> DeviceView {
        let shape = self.shape().to_vec();
        DeviceView { strides: row_major(&shape), shape, offset: 0, array: self.clone() }
    }

    /// A part of it: ndarray's `s![1..5, ..;2]`. See [`DeviceView::slice`].
    ///
    /// # Errors
    /// As [`DeviceView::slice`].
    pub fn slice(&self, slice: impl AsRef<[SliceInfoElem]>) -> Result<DeviceView> {
        self.view().slice(slice)
    }

    /// A view with its axes in reverse order.
    #[must_use]
    pub fn t(&self) -> DeviceView {
        self.view().t()
    }

    /// The same memory under another shape of as many elements.
    ///
    /// # Errors
    /// If the number of elements differs.
    pub fn reshape(&self, shape: &[usize]) -> Result<DeviceArray> {
        let (old, new) = (checked_len(self.shape(), self.dtype())?, checked_len(shape, self.dtype())?);
        if old != new {
            let (expected, given) = (format!("{old} elements"), format!("{new} in {}", shape_text(shape)));
            return Err(Error::mismatch("reshape", expected, given));
        }
        Ok(self.with_shape(shape))
    }

    /// A copy in memory of its own.
    ///
    /// # Errors
    /// If the device has no memory for it, or fails.
    pub fn copy(&self) -> Result<DeviceArray> {
        self.check()?;
        let copy = DeviceArray::allocate(self.device(), self.dtype(), self.shape())?;
        let bytes = copy.region().bytes;
        if bytes > 0 {
            self.device().copy(&Region { bytes, ..self.region().clone() }, copy.region())?;
        }
        Ok(copy)
    }

    /// Replaces its elements, also for all other handles and views of the memory.
    ///
    /// # Errors
    /// If dtype or shape differ, or the device fails.
    pub fn set(&self, value: impl Into<Value>) -> Result<()> {
        self.view().set(value)
    }

    /// Sets all elements to one number: see [`DeviceView::fill`].
    ///
    /// # Errors
    /// As [`DeviceView::fill`].
    pub fn fill(&self, number: impl Into<Value>) -> Result<()> {
        self.view().fill(number)
    }

    /// A NumPy file on a device.
    ///
    /// # Errors
    /// As [`npy::load`] and [`DeviceArray::upload`].
    pub fn load_npy(device: &Arc<dyn Device>, path: impl AsRef<Path>) -> Result<DeviceArray> {
        DeviceArray::upload(device, npy::load(path)?)
    }

    /// Saves it as a NumPy file.
    ///
    /// # Errors
    /// As [`DeviceArray::to_value`] and [`npy::save`].
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        npy::save(path, &self.to_value()?)
    }
}

impl DeviceView {
    /// The dtype of its elements.
    pub fn dtype(&self) -> DType {
        self.array.dtype()
    }

    /// Its extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Elements from one index to the next, for each axis.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The position of its first element in [`DeviceView::array`].
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The array whose memory it is.
    pub fn array(&self) -> &DeviceArray {
        &self.array
    }

    /// A part of the view: for each axis a range, a position, or a new axis, as ndarray's `s![1..5, ..;2]`
    /// says. Negative numbers count from the end; a negative step reverses. Axes at the end may be left out.
    ///
    /// # Errors
    /// If a position or a range is out of range, a step is 0, or there are too many axes.
    pub fn slice(&self, slice: impl AsRef<[SliceInfoElem]>) -> Result<DeviceView> {
        let mut part =
            DeviceView { shape: vec![], strides: vec![], offset: self.offset, array: self.array.clone() };
        let mut first = isize::try_from(self.offset).unwrap_or(isize::MAX);
        let mut axes = self.shape.iter().copied().zip(self.strides.iter().copied());
        let mut axis = || {
            let many = || Error::mismatch("slice", format!("{} axes", self.shape.len()), "more");
            axes.next().ok_or_else(many)
        };
        for element in slice.as_ref() {
            match *element {
                SliceInfoElem::NewAxis => {
                    part.shape.push(1);
                    part.strides.push(0);
                }
                SliceInfoElem::Index(index) => {
                    let (extent, stride) = axis()?;
                    first += position(index, extent, false)? as isize * stride;
                }
                SliceInfoElem::Slice { start, end, step } => {
                    let (extent, stride) = axis()?;
                    let (start, count) = range(start, end, step, extent)?;
                    first += start as isize * stride;
                    part.shape.push(count);
                    part.strides.push(if count < 2 { stride } else { stride.saturating_mul(step) });
                }
            }
        }
        for (extent, stride) in axes {
            part.shape.push(extent);
            part.strides.push(stride);
        }
        // All positions lie within the array; an empty view may begin at its end.
        part.offset = usize::try_from(first).unwrap_or(0);
        Ok(part)
    }

    /// Its axes in reverse order.
    #[must_use]
    pub fn t(mut self) -> DeviceView {
        self.shape.reverse();
        self.strides.reverse();
        self
    }

    /// Whether it is all of its array, in order.
    fn is_whole(&self) -> bool {
        let len = |shape: &[usize]| shape.iter().product::<usize>();
        self.offset == 0 && self.is_in_order() && len(&self.shape) == len(self.array.shape())
    }

    /// Its elements in order, as an array: in the same memory if the view is all of it, else in a copy on the
    /// device.
    ///
    /// # Errors
    /// If the device has no memory for a copy, or fails.
    pub fn to_array(&self) -> Result<DeviceArray> {
        if self.is_whole() {
            return Ok(self.array.with_shape(&self.shape));
        }
        self.array.check()?;
        let copy = DeviceArray::allocate(self.array.device(), self.dtype(), &self.shape)?;
        copy.view().assign(self)?;
        Ok(copy)
    }

    /// Its elements on the host; waits for the device.
    ///
    /// # Errors
    /// As [`DeviceView::to_array`].
    pub fn to_value(&self) -> Result<Value> {
        self.to_array()?.to_value()
    }

    /// Replaces its elements.
    ///
    /// # Errors
    /// If dtype or shape differ, or the device fails.
    pub fn set(&self, value: impl Into<Value>) -> Result<()> {
        let value = value.into();
        self.check_same(value.dtype(), value.shape())?;
        if self.is_whole() {
            let whole = value.contiguous()?;
            let bytes = whole.contiguous_bytes().unwrap_or(&[]);
            self.array.forget_bounds();
            let region = Region { bytes: bytes.len() as u64, ..self.array.region().clone() };
            return if bytes.is_empty() { Ok(()) } else { Ok(self.array.device().upload(bytes, &region)?) };
        }
        self.assign(&DeviceArray::upload(self.array.device(), value)?.view())
    }

    /// Replaces its elements by those of another view on the same stream, whose memory does not overlap.
    ///
    /// # Errors
    /// If dtype, shape or stream differ, or the device fails.
    pub fn assign(&self, from: &DeviceView) -> Result<()> {
        self.check_same(from.dtype(), &from.shape)?;
        let device = self.array.device();
        if !from.array.is_on(device) {
            let [expected, given] = [device, from.array.device()].map(|d| d.properties().id.clone());
            return Err(Error::mismatch("assign", format!("an array on the stream of {expected}"), given));
        }
        from.array.check()?;
        let (to, read) = (self.array.region(), from.array.region());
        // Elements of one array are read before they are written.
        let same = std::ptr::addr_eq(Arc::as_ptr(&to.memory), Arc::as_ptr(&read.memory));
        let copied = same.then(|| from.array.copy()).transpose()?;
        let array = copied.unwrap_or_else(|| from.array.clone());
        let from = DeviceView { array, ..from.clone() };
        match (self.contiguous(), from.contiguous()) {
            (Some(to), Some(from)) if !self.shape.contains(&0) => {
                self.array.forget_bounds();
                Ok(device.copy(from.region(), to.region())?)
            }
            _ => self.store(StoredValue::View(&from)),
        }
    }

    /// Sets all its elements to one number, of any dtype that has it exactly: `fill(0)` of floats.
    ///
    /// # Errors
    /// If the array's dtype does not have the number (or only rounded, but for a float in an array of
    /// narrower floats), it is no number, or the device fails.
    pub fn fill(&self, number: impl Into<Value>) -> Result<()> {
        let value = number.into();
        let scalar = value.to_scalar().filter(|_| value.shape().is_empty());
        let own = value.cast(self.dtype()).ok().and_then(|value| value.to_scalar());
        match (scalar, own) {
            (Some(given), Some(own)) if same_number(given, own) => self.store(StoredValue::Number(own)),
            (Some(given), _) => {
                let expected = format!("a number that {} has", self.dtype());
                Err(Error::mismatch("fill", expected, format!("{} {}", given.dtype(), given.to_f64())))
            }
            (None, _) => {
                let given = format!("{} of shape {}", value.dtype(), shape_text(value.shape()));
                Err(Error::mismatch("fill", format!("a number of {}", self.dtype()), given))
            }
        }
    }

    /// Whether its elements are in order, without gaps.
    fn is_in_order(&self) -> bool {
        let follows = |((extent, stride), row): ((&usize, &isize), isize)| *extent == 1 || *stride == row;
        self.shape.iter().zip(&self.strides).zip(row_major(&self.shape)).all(follows)
    }

    /// The view as an array in the same memory, if its elements are in order, without gaps.
    pub(crate) fn contiguous(&self) -> Option<DeviceArray> {
        let size = self.dtype().size() as u64;
        let (whole, count) = (self.array.region(), self.shape.iter().product::<usize>() as u64);
        let (offset, bytes) = (whole.offset + self.offset as u64 * size, count * size);
        let region = Region { offset, bytes, ..whole.clone() };
        self.is_in_order().then(|| self.array.with_region(region, &self.shape))
    }

    /// Its elements in order, as an array: in the same memory if they lie in order there, else in a copy on
    /// the device.
    ///
    /// # Errors
    /// If the device has no memory for a copy, or fails.
    pub(crate) fn in_order(&self) -> Result<DeviceArray> {
        self.contiguous().map_or_else(|| self.to_array(), Ok)
    }

    /// For a kernel's argument: the memory from its first element on.
    pub(crate) fn starting_at_first(&self) -> DeviceArray {
        let size = self.dtype().size() as u64;
        let region = self.array.region();
        let first = (self.offset as u64 * size).min(region.bytes);
        let (offset, bytes) = (region.offset + first, region.bytes - first);
        let region = Region { offset, bytes, ..region.clone() };
        self.array.with_region(region, &[(bytes / size) as usize])
    }

    fn check_same(&self, dtype: DType, shape: &[usize]) -> Result<()> {
        if dtype == self.dtype() && shape == self.shape {
            return Ok(());
        }
        let text = |dtype: DType, shape: &[usize]| format!("{dtype} of shape {}", shape_text(shape));
        Err(Error::mismatch(
            "elements of a device array",
            text(self.dtype(), &self.shape),
            text(dtype, shape),
        ))
    }
}

/// A position along an axis, counted from the end if negative; `end`: it may be the extent.
fn position(index: isize, extent: usize, end: bool) -> Result<usize> {
    let at = if index < 0 { index.checked_add_unsigned(extent) } else { Some(index) };
    let at = at.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < extent || end && at == extent);
    let expected = || format!("positions of an axis of {extent} elements");
    at.ok_or_else(|| Error::mismatch("slice", expected(), index.to_string()))
}

/// The first position of a range, as ndarray counts, and the number of positions.
fn range(start: isize, end: Option<isize>, step: isize, extent: usize) -> Result<(usize, usize)> {
    if step == 0 {
        return Err(Error::mismatch("slice", "a step that is not 0", "0"));
    }
    let start = position(start, extent, true)?;
    let end = end.map_or(Ok(extent), |end| position(end, extent, true))?;
    let len = end.saturating_sub(start);
    let count = len.div_ceil(step.unsigned_abs());
    // A negative step begins at the last element of the range.
    let first = if step < 0 && len > 0 { end - 1 } else { start };
    Ok((first, count))
}
