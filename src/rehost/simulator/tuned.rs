//! Backends with options.

use super::Simulator;
use crate::error::Result;
use crate::function::Function;
use crate::rehost::{Backend, Open, Options};

/// A backend with options: made by [`Open::strict`] and [`Open::with_options`].
#[derive(Clone, Copy, Debug)]
pub struct Tuned<O> {
    inner: O,
    options: Options,
}

impl<O: Open> Tuned<O> {
    /// A backend with these options.
    pub fn new(inner: O, options: Options) -> Tuned<O> {
        Tuned { inner, options }
    }
}

impl<O: Open> Backend for Tuned<O> {
    type Simulator = Simulator;

    fn rehost(&self, function: &Function) -> Result<Simulator> {
        Simulator::new(function, self.inner.open()?, self.options)
    }
}
