//! Backends with options.

use super::Simulator;
use crate::error::Result;
use crate::function::Function;
use crate::rehost::{Backend, Open, Options, Sizes};

/// A backend with options: made by [`Open::strict`], [`Open::with_options`] and their like.
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

    /// An op without a device form is an error rather than a host node.
    #[must_use]
    pub fn strict(mut self) -> Tuned<O> {
        self.options.strict = true;
        self
    }

    /// The shapes of the first call hold for all: another shape is an error that names the input.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f32>("x");
    /// let f = function([&x]).output(&x + 1.0).compile()?;
    /// let mut sim = f.optimize(Host::auto().strict().fixed_size())?;
    /// sim.call(args![vec![0f32; 3]])?;
    /// let error = sim.call(args![vec![0f32; 4]]).unwrap_err().to_string();
    /// assert!(error.contains("x has shape (4,)") && error.contains("had (3,)"));
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn fixed_size(mut self) -> Tuned<O> {
        self.options.sizes = Sizes::Fixed;
        self
    }

    /// Shapes change often: see [`Sizes::Dynamic`].
    #[must_use]
    pub fn dynamic(mut self) -> Tuned<O> {
        self.options.sizes = Sizes::Dynamic;
        self
    }
}

impl<O: Open> Backend for Tuned<O> {
    type Simulator = Simulator;

    fn rehost(&self, function: &Function) -> Result<Simulator> {
        Simulator::new(function, self.inner.open()?, self.options)
    }
}
