//! Backends with options.

use crate::device::{Device, DeviceResult};
use crate::open::{Open, Options, Sizes};
use std::sync::Arc;

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

    /// A backend with the options that it has by itself.
    pub(crate) fn of(inner: O) -> Tuned<O> {
        Tuned { options: inner.options(), inner }
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

    /// Whether the last bits may be given for speed. By default they are not: every device rounds as the
    /// tolerances of this library say, and no two operations become one.
    ///
    /// Where it is on, those tolerances do not hold. NaN and infinity keep their meaning; numbers too small
    /// to be normal may become 0, and the sign of a zero may be lost.
    ///
    /// | device | what it does then |
    /// |---|---|
    /// | CUDA | products contract with sums, f32 divides and takes roots to 2 ulp, and `exp`, `log`, `sin`, `cos`, `tanh` of f32 are the hardware's (`sin` and `cos` to 2^-21, `tanh` to 11 bits); matrix products of f32 go through TF32: factors keep 11 bits, sums stay f32 |
    /// | OpenCL | kernels are built with `-cl-mad-enable` and `-cl-denorms-are-zero`, and divide and take roots as the driver likes; never with `-cl-unsafe-math-optimizations`, which costs some drivers the sines of large numbers, nor `-cl-finite-math-only` |
    /// | host | nothing: it computes as ever |
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f32>("x");
    /// let f = function([&x]).output(x.exp() / (x.exp() + 1.0)).compile()?;
    /// let mut sim = f.optimize(Host::auto().fast_math(true))?;
    /// let y = sim.call(args![vec![0f32, f32::NAN]])?[0].to_vec::<f32>()?;
    /// assert!((y[0] - 0.5).abs() < 1e-3 && y[1].is_nan());
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn fast_math(mut self, fast: bool) -> Tuned<O> {
        self.options.fast_math = fast;
        self
    }

    /// Whether each run gives the same bits, as it does by default.
    ///
    /// Without, increments at computed indices (`inc_index` by integer arrays, and the gradients of such
    /// indexing: of embeddings) may be made in any order, all at once, rather than one after the other
    /// wherever an index repeats. Sums of floats then differ in their last bits from run to run (and a device
    /// may take numbers too small to be normal for 0 there); integers do not differ, and everything else
    /// stays as it is. That is much faster where indices are many and what lies behind each is little, and is
    /// done where that would leave the device idle.
    ///
    /// The device has to add to elements of the dtype as a whole: CUDA does to integers and floats of 32 and
    /// 64 bits, OpenCL to those of 32 bits, and of 64 where it has `cl_khr_int64_base_atomics`. Where the
    /// device has no such addition for the dtype (halves, bools, small integers; the host at all) the ordered
    /// form is used, and so it is where indices set rather than increment.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (table, i) = (vector::<f32>("table"), vector::<i64>("i"));
    /// let f = function([&table, &i]).output(table.inc_index(idx![&i], 1.0)).compile()?;
    /// let mut sim = f.optimize(Host::auto().deterministic(false))?;
    /// let counts = sim.call(args![vec![0f32; 3], vec![2i64, 0, 2, -1]])?[0].to_vec::<f32>()?;
    /// assert_eq!(counts, [1.0, 0.0, 3.0]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn deterministic(mut self, deterministic: bool) -> Tuned<O> {
        self.options.deterministic = deterministic;
        self
    }
}

impl<O: Open> Open for Tuned<O> {
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        self.inner.open()
    }

    fn options(&self) -> Options {
        self.options
    }
}
