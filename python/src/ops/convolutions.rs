//! Convolutions and pooling.

use super::{Made, one};
use crate::arguments::Arguments;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use workalike::ops::{Conv, Padding, Pool};

pub(super) fn call(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let convolves = name.starts_with("conv") && name.ends_with('d');
    if convolves {
        let (x, filters) = (given.variable("x")?, given.variable("filters")?);
        let options = options(given)?;
        return one(match name {
            "conv1d" => x.try_conv1d(filters, options),
            "conv2d" => x.try_conv2d(filters, options),
            "conv3d" => x.try_conv3d(filters, options),
            "conv_transpose1d" => x.try_conv_transpose1d(filters, options),
            "conv_transpose2d" => x.try_conv_transpose2d(filters, options),
            "conv_transpose3d" => x.try_conv_transpose3d(filters, options),
            _ => return Ok(None),
        });
    }
    if !name.ends_with("_pool") {
        return Ok(None);
    }
    let (x, window) = (given.variable("x")?, given.list::<usize>("window")?.unwrap_or_default());
    let mut pool = Pool::new(window);
    if let Some(stride) = given.list::<usize>("stride")? {
        pool = pool.stride(stride);
    }
    if let Some(padding) = given.list::<(usize, usize)>("padding")? {
        pool = pool.padding(padding);
    }
    one(match name {
        "max_pool" => x.try_max_pool(pool),
        "average_pool" => x.try_average_pool(pool),
        "sum_pool" => x.try_sum_pool(pool),
        _ => return Ok(None),
    })
}

/// `stride`, `padding` ("valid", "same", "full", or pairs), `dilation`, `groups`, `flip_filters`,
/// `output_padding`.
fn options(given: &mut Arguments<'_>) -> PyResult<Conv> {
    let mut options = Conv::default();
    if let Some(stride) = given.list::<usize>("stride")? {
        options = options.stride(stride);
    }
    if let Some(padding) = given.option("padding")? {
        let padding = match padding.extract::<String>() {
            Ok(name) => match name.to_lowercase().as_str() {
                "valid" => Padding::Valid,
                "same" => Padding::Same,
                "full" => Padding::Full,
                other => {
                    return Err(PyValueError::new_err(format!(
                        "padding is valid, same, full or pairs, not {other}"
                    )));
                }
            },
            Err(_) => Padding::Explicit(crate::arguments::list(&padding)?),
        };
        options = options.padding(padding);
    }
    if let Some(dilation) = given.list::<usize>("dilation")? {
        options = options.dilation(dilation);
    }
    options = options.groups(given.get_or("groups", 1)?).flip_filters(given.get_or("flip_filters", false)?);
    if let Some(more) = given.list::<usize>("output_padding")? {
        options = options.output_padding(more);
    }
    Ok(options)
}
