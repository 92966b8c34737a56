//! Pooling: maxima, means and sums of sliding windows, composed of a pad, [`Windows`] and a reduction.

use super::axes::over;
use super::elemwise::cast;
use super::methods::{fail, methods};
use super::pad::Pad;
use super::shape::{BroadcastTo, DimShuffle, Extent};
use super::windows::{Windows, affine_extent, effective_extent};
use crate::error::Result;
use crate::graph::Variable;
use crate::value::Value;
use workalike_kernels::nest::Fold;
use workalike_kernels::{DType, Scalar};

/// The options of [`Variable::max_pool`] and the other pools. Windows slide over the last axes, one for each
/// extent.
///
/// ```
/// use workalike::ops::Pool;
/// use workalike::prelude::*;
/// let x = matrix::<f32>("x");
/// // Adjacent windows of 2x2; the window's extents alone are enough.
/// let pooled = x.max_pool([2, 2]);
/// // Windows of 3x3, two elements apart, over an array padded on each side.
/// let pool = Pool::new([3, 3]).stride([2, 2]).padding([(1, 1), (1, 1)]).count_include_pad(false);
/// let means = x.average_pool(pool);
/// let f = function([&x]).output(pooled).output(means).compile()?;
/// let outputs = f.call(args![array![[1f32, 2.0], [3.0, 6.0]]])?;
/// assert_eq!(outputs[0].to_vec::<f32>()?, [6.0]);
/// assert_eq!(outputs[1].to_vec::<f32>()?, [3.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    window: Vec<usize>,
    /// Empty: as the window.
    stride: Vec<usize>,
    /// Empty: none.
    padding: Vec<(usize, usize)>,
    /// Empty: 1.
    dilation: Vec<usize>,
    ceil_mode: bool,
    count_include_pad: bool,
}

impl Pool {
    /// Adjacent windows of these extents, without padding.
    pub fn new(window: impl Into<Vec<usize>>) -> Pool {
        Pool {
            window: window.into(),
            stride: vec![],
            padding: vec![],
            dilation: vec![],
            ceil_mode: false,
            count_include_pad: true,
        }
    }

    /// Elements from one window to the next, along each axis. The window's extents unless given.
    #[must_use]
    pub fn stride(mut self, stride: impl Into<Vec<usize>>) -> Pool {
        self.stride = stride.into();
        self
    }

    /// Elements put before and after the array, along each axis: fewer than a window covers, so that windows
    /// that start in the padding reach the array. Of maxima they are the dtype's lowest value, else 0. None
    /// unless given.
    #[must_use]
    pub fn padding(mut self, padding: impl Into<Vec<(usize, usize)>>) -> Pool {
        self.padding = padding.into();
        self
    }

    /// Elements from one element of a window to the next, along each axis. 1 unless given. A dilated window
    /// may contain nothing but padding where the array is shorter than the dilation: its maximum is the
    /// dtype's lowest value, and its mean without the padding NaN.
    #[must_use]
    pub fn dilation(mut self, dilation: impl Into<Vec<usize>>) -> Pool {
        self.dilation = dilation.into();
        self
    }

    /// Whether windows that reach beyond the end of the padded array count too (Theano's
    /// `ignore_border=False`). Such a window has the elements that it covers, and it starts within the array
    /// or the padding before it. False by default.
    #[must_use]
    pub fn ceil_mode(mut self, ceil_mode: bool) -> Pool {
        self.ceil_mode = ceil_mode;
        self
    }

    /// Whether a mean divides by the number of all elements of a window that lie in the padded array, rather
    /// than in the array itself (Theano's `average_inc_pad` and `average_exc_pad`). True by default. The
    /// elements of a window beyond the end of the padded array never count.
    #[must_use]
    pub fn count_include_pad(mut self, count_include_pad: bool) -> Pool {
        self.count_include_pad = count_include_pad;
        self
    }

    /// The windows along each axis of `x`.
    fn resolve(self, op: &str, x: &Variable) -> Result<PoolWindows> {
        let axes = self.window.len();
        let or = |list: Vec<usize>, otherwise: &[usize]| {
            if list.is_empty() { otherwise.to_vec() } else { list }
        };
        let stride = or(self.stride, &self.window);
        let dilation = or(self.dilation, &vec![1; axes]);
        let windows = Windows { window: self.window, stride, dilation };
        windows.check().map_err(|message| fail(op, message))?;
        let first = x.ndim().checked_sub(axes).ok_or_else(|| {
            let window = &windows.window;
            fail(op, format!("expected at least {axes} axes for windows {window:?}, got {}", x.ty()))
        })?;
        let padding = if self.padding.is_empty() { vec![(0, 0); axes] } else { self.padding };
        if padding.len() != axes {
            let message = format!("expected pairs of padding for {axes} axes, got {padding:?}");
            return Err(fail(op, message));
        }
        let mut partial = Vec::with_capacity(axes);
        for (axis, &(before, after)) in padding.iter().enumerate() {
            let effective = effective_extent(windows.window[axis], windows.dilation[axis])
                .map_err(|message| fail(op, message))?;
            if before.max(after) >= effective {
                return Err(fail(
                    op,
                    format!(
                        "expected a padding below {effective}, the elements that a window covers along its \
                         axis {axis}, got ({before}, {after})"
                    ),
                ));
            }
            // With this many more elements at the end the number of windows is rounded up, but none starts
            // behind the array.
            let more = (windows.stride[axis] - 1).min(effective - 1 - after);
            partial.push(if self.ceil_mode { more } else { 0 });
        }
        Ok(PoolWindows { windows, first, padding, partial, count_include_pad: self.count_include_pad })
    }
}

impl<const N: usize> From<[usize; N]> for Pool {
    fn from(window: [usize; N]) -> Pool {
        Pool::new(window)
    }
}
impl From<&[usize]> for Pool {
    fn from(window: &[usize]) -> Pool {
        Pool::new(window)
    }
}
impl From<Vec<usize>> for Pool {
    fn from(window: Vec<usize>) -> Pool {
        Pool::new(window)
    }
}
impl From<&Pool> for Pool {
    fn from(pool: &Pool) -> Pool {
        pool.clone()
    }
}

/// A [`Pool`] over the last axes of some array.
struct PoolWindows {
    windows: Windows,
    /// The first axis that windows are laid over.
    first: usize,
    padding: Vec<(usize, usize)>,
    /// Elements that the last windows may have beyond the end of the padded array.
    partial: Vec<usize>,
    count_include_pad: bool,
}

impl PoolWindows {
    /// The windows over `x` padded with a number.
    fn windows(&self, x: &Variable, number: f64) -> Result<Variable> {
        let mut widths = vec![[0, 0]; self.first];
        // Both together are fewer than a window covers.
        widths.extend(
            self.padding.iter().zip(&self.partial).map(|(&(before, after), more)| [before, after + more]),
        );
        let padded = x.try_pad(widths, Pad::Constant(number))?;
        Variable::apply1(self.windows.clone(), &[padded])
    }

    /// The windows' own axes.
    fn axes(&self) -> Vec<usize> {
        let axes = self.padding.len();
        (self.first + axes..self.first + 2 * axes).collect()
    }

    /// The divisor of each total: a number, or an array over the windows.
    fn count(&self, x: &Variable, dtype: DType) -> Result<Variable> {
        let number = |n: f64| Variable::constant(Value::scalar(Scalar::from_f64(dtype, n)));
        let (mut same, mut counts) = (1.0, None);
        for axis in 0..self.padding.len() {
            let padded = self.padding[axis] != (0, 0) && !self.count_include_pad;
            if !padded && self.partial[axis] == 0 {
                same *= self.windows.window[axis] as f64;
                continue;
            }
            let along = self.count_along(x, axis, &number(1.0))?;
            counts = Some(match counts {
                None => along,
                Some(before) => along.try_mul(&before)?,
            });
        }
        match counts {
            None => Ok(number(same)),
            Some(counts) => counts.try_mul(number(same)),
        }
    }

    /// The number of elements of each window along an axis that count; it broadcasts over the windows'
    /// positions.
    fn count_along(&self, x: &Variable, axis: usize, one: &Variable) -> Result<Variable> {
        let (before, after) = self.padding[axis];
        let partial = self.partial[axis];
        let (inside, outside) = match self.count_include_pad {
            true => (before.saturating_add(after), [0, partial]),
            false => (0, [before, after + partial]),
        };
        let inside = i64::try_from(inside).map_err(|e| fail("average_pool", e.to_string()))?;
        let extent = affine_extent(x, self.first + axis, 1, inside)?;
        let (extents, further) = Extent::list("average_pool", vec![extent])?;
        let counted = BroadcastTo::of(one, extents, &further)?.try_pad([outside], Pad::Constant(0.0))?;
        let part = |list: &[usize]| vec![list[axis]];
        let windows = Windows {
            window: part(&self.windows.window),
            stride: part(&self.windows.stride),
            dilation: part(&self.windows.dilation),
        };
        let along = Variable::apply1(windows, &[counted])?.try_sum(1usize)?;
        DimShuffle::of(&along, (0..self.padding.len()).map(|a| (a == axis).then_some(0)).collect())
    }
}

methods! {
    /// All windows of these extents over the last axes, each `stride` elements behind the one before, the
    /// elements of a window `dilation` apart (NumPy's `sliding_window_view`). The windows' own axes come
    /// last.
    sliding_windows / try_sliding_windows(
        x,
        window: impl Into<Vec<usize>>,
        stride: impl Into<Vec<usize>>,
        dilation: impl Into<Vec<usize>>
    ) {
        let windows = Windows { window: window.into(), stride: stride.into(), dilation: dilation.into() };
        Variable::apply1(windows, std::slice::from_ref(x))
    }
    /// The maximum of each window over the last axes, NaN if there is one: `x.max_pool([2, 2])`, or with a
    /// [`Pool`](crate::ops::Pool). Equal maxima share the gradient.
    max_pool / try_max_pool(x, pool: impl Into<Pool>) {
        let layout = pool.into().resolve("max_pool", x)?;
        layout.windows(x, Fold::Max.identity(x.dtype()).to_f64())?.try_max(layout.axes())
    }
    /// The mean of each window over the last axes, of integers as float64: `x.average_pool([2, 2])`, or with
    /// a [`Pool`](crate::ops::Pool).
    average_pool / try_average_pool(x, pool: impl Into<Pool>) {
        let layout = pool.into().resolve("average_pool", x)?;
        let dtype = if x.dtype().is_float() { x.dtype() } else { DType::F64 };
        let wide = dtype.register();
        let total = layout.windows(&cast(x, dtype)?, 0.0)?.try_sum(over(layout.axes()).dtype(wide))?;
        cast(&total.try_div(layout.count(x, wide)?)?, dtype)
    }
    /// The sum of each window over the last axes, with the dtypes of [`Variable::sum`]: `x.sum_pool([2, 2])`,
    /// or with a [`Pool`](crate::ops::Pool).
    sum_pool / try_sum_pool(x, pool: impl Into<Pool>) {
        let layout = pool.into().resolve("sum_pool", x)?;
        layout.windows(x, 0.0)?.try_sum(layout.axes())
    }
}
