//! Random numbers as host arrays: draws that are computed at once.

use super::args::Args;
use super::builder::function;
use crate::error::{Error, Result};
use crate::graph::Variable;
use crate::ops::{IntoSize, RandomStreams};
use crate::value::{Element, Value};

impl RandomStreams {
    /// A host array of [`RandomStreams::uniform`] draws, for initial values. It takes the next stream, as
    /// writing a draw does.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let streams = RandomStreams::new(42);
    /// let w = shared("w", streams.draw_uniform::<f32>([784, 10])? /* in [0, 1) */);
    /// let b = shared("b", streams.draw_normal::<f32>([10])?);
    /// # let _ = (w, b);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtype is no float, or there is no memory.
    #[track_caller]
    pub fn draw_uniform<T: Element>(&self, size: impl IntoSize) -> Result<Value> {
        drawn(&self.uniform::<T>(size))
    }

    /// A host array of [`RandomStreams::normal`] draws, for initial values. It takes the next stream, as
    /// writing a draw does.
    ///
    /// # Errors
    /// If the dtype is no float, or there is no memory.
    #[track_caller]
    pub fn draw_normal<T: Element>(&self, size: impl IntoSize) -> Result<Value> {
        drawn(&self.normal::<T>(size))
    }

    /// A host array of [`RandomStreams::bits`], as uint64. It takes the next stream, as writing a draw does.
    ///
    /// # Errors
    /// If there is no memory.
    #[track_caller]
    pub fn draw_bits(&self, size: impl IntoSize) -> Result<Value> {
        drawn(&self.bits(size))
    }
}

/// The value of a draw.
fn drawn(draw: &Variable) -> Result<Value> {
    let none: [&Variable; 0] = [];
    let f = function(none).output(draw).compile()?;
    let value = f.call(Args::new())?.into_values().pop();
    value.ok_or_else(|| Error::Internal("a draw without a value".into()))
}
