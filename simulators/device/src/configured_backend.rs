//! Backends with options.

use crate::device::{Device, DeviceResult};
use crate::open::{Open, Options, Sizes};
use std::sync::Arc;

/// A backend with options, made by [`Open::strict`], [`Open::with_options`] and the other methods of
/// [`Open`].
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

    /// A backend with its default options.
    pub(crate) fn of(inner: O) -> Tuned<O> {
        Tuned { options: inner.options(), inner }
    }

    /// An op without a device form is an error rather than a host node.
    #[must_use]
    pub fn strict(mut self) -> Tuned<O> {
        self.options.strict = true;
        self
    }

    /// All calls must have the shapes of the first: another shape is an error that names the input.
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

    /// Whether the first call with new sizes may use kernels for any size, which other sizes have compiled
    /// already, rather than wait for a compiler. True by default, on devices that compile kernels: OpenCL and
    /// CUDA. When the sizes return, kernels for them are compiled in the background, and replace the others.
    /// They sum in the same order, so that a size has the same bits in all its calls, also in a Simulator
    /// that was saved and loaded; without [`Tuned::deterministic`] they are free to sum faster. Simulators
    /// that had other first sizes may differ in the last bits; those with `any_size(false)` do not.
    ///
    /// The first sizes of a method have kernels of their own from the start, unless it is
    /// [`Tuned::dynamic`]. The second sizes wait for kernels for any size, and later ones do not wait. If
    /// false, all sizes have kernels of their own from their first call on.
    #[must_use]
    pub fn any_size(mut self, any: bool) -> Tuned<O> {
        self.options.any_size = any;
        self
    }

    /// Whether results may be less accurate in their last bits, for speed. By default every device rounds
    /// within the tolerances of this library, and no two operations are contracted to one.
    ///
    /// With fast math those tolerances do not hold. NaN and infinity keep their meaning; subnormal numbers
    /// may become 0, and the sign of a zero may be lost.
    ///
    /// - CUDA: products contract with sums, f32 division and square root are accurate to 2 ulp, and `exp`,
    ///   `log`, `sin`, `cos` and `tanh` of f32 are the hardware's (`sin` and `cos` to 2^-21, `tanh` to 11
    ///   bits). Matrix products of f32 use TF32: factors keep 11 bits, sums stay f32.
    /// - OpenCL: kernels are built with `-cl-mad-enable` and `-cl-denorms-are-zero`; the accuracy of division
    ///   and square root depends on the driver. `-cl-finite-math-only` is never used, nor
    ///   `-cl-unsafe-math-optimizations`, with which sines of large numbers are wrong with some drivers.
    /// - Host: no change.
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

    /// Whether each run gives the same bits. True by default.
    ///
    /// If false, increments at computed indices (`inc_index` by integer arrays, and gradients of such
    /// indexing, for example of embeddings) are made concurrently and in any order, by atomic adds. Sums of
    /// floats then differ in their last bits from run to run, and a device may treat subnormal numbers as 0
    /// there. Integers and all other ops are not affected. Atomic adds are used where they are estimated to
    /// be faster than the ordered form: for few or narrow rows, few of them at the same index. On an H200,
    /// 100,000 floats are added to 65,536 elements in 2 us, and in 27 us in order.
    ///
    /// CUDA has atomic adds for integers and floats of 32 and 64 bits, OpenCL for integers of 32 bits, and of
    /// 64 bits with `cl_khr_int64_base_atomics`; on processors for floats of these sizes too. Where the
    /// device has none for the dtype (halves, bools, small integers; on the host for all dtypes) the ordered
    /// form is used, and also where indices set rather than increment.
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

    /// Whether all indices are promised to be in range, as `x.in_bounds()` promises it of one index array.
    /// False by default.
    ///
    /// Then the device does not check indices, the host does not scan them before an upload, and updates are
    /// not guarded. An index that is out of range after all reads or writes the position nearest to it, and
    /// the call succeeds. `sim.verify(..)` finds such an index, and so does [`Tuned::nan_guard`].
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (x, i) = (vector::<f32>("x"), vector::<i64>("i"));
    /// let f = function([&x, &i]).output(x.index(idx![&i])).compile()?;
    /// let mut sim = f.optimize(Host::auto().in_bounds(true))?;
    /// assert_eq!(sim.call(args![vec![1f32, 2.0], vec![1i64]])?[0].to_vec::<f32>()?, [2.0]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn in_bounds(mut self, promised: bool) -> Tuned<O> {
        self.options.in_bounds = promised;
        self
    }

    /// For debugging: each step is launched and waited for by itself, and an error names its kernel and the
    /// node that it computes, with the line where that was written. Slow. The environment variable
    /// `WORKALIKE_LAUNCH_BLOCKING=1` sets it for all Simulators and Functions of a process.
    #[must_use]
    pub fn launch_blocking(mut self, blocking: bool) -> Tuned<O> {
        self.options.launch_blocking = blocking;
        self
    }

    /// For debugging: each node is computed by itself, and its float results are checked on the device. The
    /// first node that makes a NaN from operands without NaN, or an infinity from operands without infinity,
    /// is an error of the call, and no shared variable changes. Slow. The environment variable
    /// `WORKALIKE_NAN_GUARD=1` sets it for all Simulators and Functions of a process.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f32>("x");
    /// let f = function([&x]).output((&x - 1.0).log().sum(..)).compile()?;
    /// let mut sim = f.optimize(Host::auto().nan_guard(true))?;
    /// sim.call(args![vec![2f32, 3.0]])?;
    /// let error = sim.call(args![vec![2f32, 0.5]]).unwrap_err().to_string();
    /// assert!(error.contains("log") && error.contains("it makes a NaN, first at [1]"), "{error}");
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn nan_guard(mut self, guard: bool) -> Tuned<O> {
        self.options.nan_guard = guard;
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
