//! The axes of a reduction, and its options.

use workalike_kernels::DType;

/// Which axes a reduction takes: one, several, or all (`..`), as `isize`, `usize`, `i32` or `i64`. Negative
/// ones count from the end.
pub trait Axes {
    /// Sorted, each once.
    ///
    /// # Errors
    /// If an axis is out of range or given twice.
    fn axes(&self, ndim: usize) -> Result<Vec<usize>, String>;

    /// The options; see [`over`].
    fn choices(&self) -> Choices {
        Choices::default()
    }
}

impl Axes for std::ops::RangeFull {
    fn axes(&self, ndim: usize) -> Result<Vec<usize>, String> {
        Ok((0..ndim).collect())
    }
}
macro_rules! axes_of {
    ($($t:ty),*) => { $(
        impl Axes for $t {
            fn axes(&self, ndim: usize) -> Result<Vec<usize>, String> {
                // An axis that is no isize is out of range for every array.
                Ok(vec![normalize_axis(isize::try_from(*self).unwrap_or(isize::MAX), ndim)?])
            }
        }
        impl Axes for &[$t] {
            fn axes(&self, ndim: usize) -> Result<Vec<usize>, String> {
                let mut axes = Vec::with_capacity(self.len());
                for axis in *self {
                    axes.extend(axis.axes(ndim)?);
                }
                axes.sort_unstable();
                if axes.windows(2).any(|w| w[0] == w[1]) {
                    return Err(format!("axes {self:?} name one axis twice"));
                }
                Ok(axes)
            }
        }
        impl<const N: usize> Axes for [$t; N] {
            fn axes(&self, ndim: usize) -> Result<Vec<usize>, String> {
                self.as_slice().axes(ndim)
            }
        }
        impl Axes for Vec<$t> {
            fn axes(&self, ndim: usize) -> Result<Vec<usize>, String> {
                self.as_slice().axes(ndim)
            }
        }
        impl Axes for &Vec<$t> {
            fn axes(&self, ndim: usize) -> Result<Vec<usize>, String> {
                self.as_slice().axes(ndim)
            }
        }
    )* };
}
axes_of!(isize, i32, i64, usize);

/// The options of a reduction besides its axes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choices {
    /// The reduced axes stay, with extent 1.
    pub keepdims: bool,
    /// The dtype of the result, of sums and products.
    pub dtype: Option<DType>,
    /// The dtype in which they are accumulated.
    pub acc_dtype: Option<DType>,
    /// Subtracted from the number of elements by which a variance divides.
    pub ddof: usize,
}

/// See [`over`].
#[derive(Clone, Debug)]
pub struct Over<A> {
    axes: A,
    choices: Choices,
}

/// Axes with options: `x.sum(over(0).keepdims())`, `x.var(over(..).ddof(1))`,
/// `x.sum(over(-1).acc_dtype(DType::F64))`.
pub fn over<A: Axes>(axes: A) -> Over<A> {
    Over { axes, choices: Choices::default() }
}

impl<A> Over<A> {
    /// The reduced axes stay, with extent 1.
    #[must_use]
    pub fn keepdims(mut self) -> Self {
        self.choices.keepdims = true;
        self
    }

    /// The dtype of the result, of sums and products.
    #[must_use]
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.choices.dtype = Some(dtype);
        self
    }

    /// The dtype in which sums and products are accumulated. Halves accumulate in float32 at least.
    #[must_use]
    pub fn acc_dtype(mut self, dtype: DType) -> Self {
        self.choices.acc_dtype = Some(dtype);
        self
    }

    /// A variance divides by the number of elements less this.
    #[must_use]
    pub fn ddof(mut self, ddof: usize) -> Self {
        self.choices.ddof = ddof;
        self
    }
}

impl<A: Axes> Axes for Over<A> {
    fn axes(&self, ndim: usize) -> Result<Vec<usize>, String> {
        self.axes.axes(ndim)
    }

    fn choices(&self) -> Choices {
        self.choices
    }
}

/// An axis counted from the end if negative.
pub(crate) fn normalize_axis(axis: isize, ndim: usize) -> Result<usize, String> {
    let at = if axis < 0 { axis + ndim as isize } else { axis };
    if (0..ndim as isize).contains(&at) {
        return Ok(at as usize);
    }
    Err(format!("axis {axis} is out of range for {ndim} axes"))
}
