//! The tensors of a file. Their rows are checked at once, their elements are copied on first use.

use super::{TensorSource, dtype, shape};
use crate::error::Result;
use crate::fallible;
use crate::format::bad;
use crate::format::codec::{Budget, Decoder};
use crate::value::{Value, checked_len};
use workalike_kernels::DType;

/// Bytes of a constant besides its shape and elements.
const PER_TENSOR: usize = 256;

/// One row of the table: type and position of a tensor.
pub(super) struct TensorRow {
    dtype: DType,
    shape: Vec<usize>,
    offset: u64,
}

pub(super) fn tensor_row(from: &mut Decoder) -> Result<TensorRow> {
    let dtype = dtype(from)?;
    let shape = shape(from, |from| {
        let extent = from.number()?;
        match usize::try_from(extent) {
            Ok(extent) => Ok(extent),
            Err(_) => bad(format!("extent {extent}")),
        }
    })?;
    from.budget.take(PER_TENSOR)?;
    Ok(TensorRow { dtype, shape, offset: from.number()? })
}

/// The tensors of a file. Each becomes a Value on first use; later uses share it.
pub(super) struct Tensors<'a> {
    rows: Vec<TensorRow>,
    made: Vec<Option<Value>>,
    contents: &'a TensorSource<'a>,
}

impl<'a> Tensors<'a> {
    /// Checks that tensors lie within their section and do not overlap.
    pub(super) fn new(
        rows: Vec<TensorRow>,
        contents: &'a TensorSource<'a>,
        budget: &mut Budget,
    ) -> Result<Tensors<'a>> {
        budget.take(rows.len().saturating_mul(size_of::<(usize, usize)>() + size_of::<Option<Value>>()))?;
        let mut parts = fallible::with_capacity(rows.len())?;
        for row in &rows {
            let bytes = checked_len(&row.shape, row.dtype)? * row.dtype.size();
            let start = usize::try_from(row.offset).ok();
            let part = start.and_then(|start| Some((start, start.checked_add(bytes)?)));
            let part = match contents {
                TensorSource::File(section) => part.filter(|p| p.1 <= section.len()),
                TensorSource::Known(..) => part,
            };
            match part {
                Some((start, end)) if start < end => parts.push((start, end)),
                Some(_) => {}
                None => return bad("a tensor ends beyond its section"),
            }
        }
        parts.sort_unstable();
        if parts.windows(2).any(|pair| pair[0].1 > pair[1].0) {
            return bad("two tensors overlap");
        }
        let made = fallible::filled(None, rows.len())?;
        Ok(Tensors { rows, made, contents })
    }

    /// The number of tensors.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The value of a tensor.
    pub(super) fn get(&mut self, id: u32, budget: &mut Budget) -> Result<Value> {
        let row = super::row(&self.rows, id, "tensor")?;
        // Each use has shape and strides of its own.
        budget.take_each(2, row.shape.len() * size_of::<usize>())?;
        if let Some(value) = &self.made[id as usize] {
            return Ok(value.clone());
        }
        let bytes = checked_len(&row.shape, row.dtype)? * row.dtype.size();
        budget.take(bytes)?;
        let value = match self.contents {
            TensorSource::File(section) => {
                let start = row.offset as usize;
                Value::from_bytes(row.dtype, &row.shape, &section[start..start + bytes])?
            }
            TensorSource::Known(values, _) => super::row(values, id, "tensor")?.clone(),
        };
        self.made[id as usize] = Some(value.clone());
        Ok(value)
    }

    /// The value of a tensor that has a single user.
    pub(super) fn take(&mut self, id: u32, budget: &mut Budget) -> Result<Value> {
        let value = self.get(id, budget)?;
        budget.take(value.byte_len())?;
        self.made[id as usize] = None;
        Ok(value)
    }
}
