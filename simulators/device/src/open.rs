//! Selection of a device, and options of re-hosting Functions on it.

use crate::configured_backend::Tuned;
use crate::device::{Device, DeviceResult};
use crate::fault_injection::Failing;
use std::sync::Arc;

/// Options of re-hosting a Function.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// An op without a device form is an error rather than a host node.
    pub strict: bool,
    /// Fuse Nests. Results are the same within tolerance; switch it off to compare.
    pub fuse: bool,
    /// How the shapes of inputs may vary from call to call.
    pub sizes: Sizes,
    /// The first call with new sizes uses kernels for any size: see
    /// [`Tuned::any_size`](crate::Tuned::any_size).
    pub any_size: bool,
    /// Results may be less accurate, for speed: see [`Tuned::fast_math`](crate::Tuned::fast_math).
    pub fast_math: bool,
    /// Each run gives the same bits: see [`Tuned::deterministic`](crate::Tuned::deterministic).
    pub deterministic: bool,
    /// All indices are promised to be in range: see [`Tuned::in_bounds`](crate::Tuned::in_bounds).
    pub in_bounds: bool,
    /// Steps run one by one: see [`Tuned::launch_blocking`](crate::Tuned::launch_blocking).
    pub launch_blocking: bool,
    /// Results are checked: see [`Tuned::nan_guard`](crate::Tuned::nan_guard).
    pub nan_guard: bool,
}

impl Options {
    /// Whether steps are launched and waited for one by one.
    pub fn stepwise(&self) -> bool {
        self.launch_blocking || self.nan_guard
    }

    /// These options, and those that environment variables set: see
    /// [`Tuned::launch_blocking`](crate::Tuned::launch_blocking) and
    /// [`Tuned::nan_guard`](crate::Tuned::nan_guard).
    #[must_use]
    pub fn with_environment(mut self) -> Options {
        let asked = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        self.launch_blocking |= asked("WORKALIKE_LAUNCH_BLOCKING");
        self.nan_guard |= asked("WORKALIKE_NAN_GUARD");
        self
    }
}

/// How the shapes of inputs and shared variables may vary from call to call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sizes {
    /// All calls must have the shapes of the first: another shape is an error.
    Fixed,
    /// A few combinations: the 16 last used Programs are kept.
    #[default]
    Several,
    /// Many combinations: the 64 last used Programs are kept, the first call has kernels for any size, and
    /// the arena is allocated larger than needed, so that fewer recordings are made again.
    Dynamic,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            strict: false,
            fuse: true,
            sizes: Sizes::default(),
            any_size: true,
            fast_math: false,
            deterministic: true,
            in_bounds: false,
            launch_blocking: false,
            nan_guard: false,
        }
    }
}

/// A backend that opens a [`Device`] for workalike's engine. `f.optimize(backend)` takes every type that
/// implements it, and references, `Box` and `Arc` of it.
///
/// A backend that is chosen at run time is a `Box<dyn Open>`:
///
/// ```
/// use workalike::prelude::*;
/// let x = vector::<f32>("x");
/// let f = function([&x]).output(&x + 1.0).compile()?;
/// let checked = true;
/// let backend: Box<dyn Open> =
///     if checked { Box::new(Host::auto().strict()) } else { Box::new(Host::auto()) };
/// let mut sim = f.optimize(&backend)?;
/// assert_eq!(sim.call(args![vec![1f32]])?[0].to_vec::<f32>()?, [2.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
pub trait Open {
    /// A device with its own stream.
    ///
    /// # Errors
    /// If the device is not available; the error says what is missing, and what to do.
    fn open(&self) -> DeviceResult<Arc<dyn Device>>;

    /// The default options of this backend, which [`Open::strict`] and the methods below change.
    fn options(&self) -> Options {
        Options::default()
    }

    /// This backend with strict mode: an op without a device form is an error rather than a host node.
    fn strict(self) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).strict()
    }

    /// This backend with fixed shapes: a shape that differs from the first call's is an error that names the
    /// input.
    fn fixed_size(self) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).fixed_size()
    }

    /// This backend, for shapes that change often: see [`Sizes::Dynamic`].
    fn dynamic(self) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).dynamic()
    }

    /// This backend, with or without kernels for any size: see [`Tuned::any_size`].
    fn any_size(self, any: bool) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).any_size(any)
    }

    /// This backend, with or without faster and less accurate arithmetic: see [`Tuned::fast_math`].
    fn fast_math(self, fast: bool) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).fast_math(fast)
    }

    /// This backend, with or without bitwise reproducible runs: see [`Tuned::deterministic`].
    fn deterministic(self, deterministic: bool) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).deterministic(deterministic)
    }

    /// This backend with steps that are waited for one by one, so that an error names its kernel and node:
    /// see [`Tuned::launch_blocking`].
    fn launch_blocking(self, blocking: bool) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).launch_blocking(blocking)
    }

    /// This backend, with the promise that all indices are in range: see [`Tuned::in_bounds`].
    fn in_bounds(self, promised: bool) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).in_bounds(promised)
    }

    /// This backend with a search for the first node that makes a NaN or infinity: see [`Tuned::nan_guard`].
    fn nan_guard(self, guard: bool) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::of(self).nan_guard(guard)
    }

    /// This backend with devices that work for so many commands and fail from then on, for tests of what a
    /// program does then. Commands are calls of [`Device`] and replays of recordings; a call of a Simulator
    /// takes a few, the first one some tens. The limit holds for all devices that are opened together.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f32>("x");
    /// let f = function([&x]).output(&x * 2.0).compile()?;
    /// let failing = Host::auto().failing_after(40);
    /// let mut sim = f.optimize(&failing)?;
    /// for _ in 0..100 {
    ///     let result = sim.call(args![vec![1f32]]).or_else(|_| {
    ///         sim = f.optimize(Host::auto())?;
    ///         sim.call(args![vec![1f32]])
    ///     });
    ///     assert_eq!(result?[0].to_vec::<f32>()?, [2.0]);
    /// }
    /// assert!(failing.has_failed());
    /// # Ok::<(), workalike::Error>(())
    /// ```
    fn failing_after(self, commands: u64) -> Failing<Self>
    where
        Self: Sized,
    {
        Failing::new(self, commands)
    }

    /// This backend with other options.
    fn with_options(self, options: Options) -> Tuned<Self>
    where
        Self: Sized,
    {
        Tuned::new(self, options)
    }
}

/// The stream of work of another Simulator: `g.optimize(sim.device().clone())`. Each then accepts device
/// arrays of the other without a copy.
impl Open for Arc<dyn Device> {
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        Ok(self.clone())
    }
}

macro_rules! open_behind {
    ($($pointer:ty),*) => { $(
        impl<O: Open + ?Sized> Open for $pointer {
            fn open(&self) -> DeviceResult<Arc<dyn Device>> {
                (**self).open()
            }

            fn options(&self) -> Options {
                (**self).options()
            }
        }
    )* };
}
open_behind!(&O, Box<O>, Arc<O>);
