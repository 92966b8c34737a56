//! Library calls: steps of regular data movement that no Nest says well, which a device may have a kernel of its own for.
//!
//! A [`Call`] reads and writes contiguous arrays: most of `(outer, n, inner)` elements, along the middle axis. What it computes is said here; how, each device decides. Where a device has none, lowering says the same with Nests.

use crate::dtype::DType;
use crate::nest::Fold;

/// The most bytes of an argument of a call, extents of zero aside. Far more than any device has, and far from overflow in
/// whatever a device computes from it: scratch memory, groups, tasks.
pub const LARGEST_ARGUMENT: u64 = 1 << 48;

/// Why a [`Call`] is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {argument}: expected {expected}, found {found}")]
pub struct CallError {
    /// The call's name.
    pub call: String,
    /// The parameter that is wrong.
    pub argument: &'static str,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub found: String,
}

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// One input, one output of its extents.
    Cumulate(Cumulate),
    /// One input; the values, if they are asked for, and the indices, if they are.
    Sort(Sorting),
    /// Two inputs: positions as uint32, each a row of the table, and the rows that go there. Its output, the table, is read as well.
    Scatter(Scatter),
    /// One input; the positions of its elements that are not zero, and how many there are. Or two: the second one's elements there.
    NonZero(NonZero),
    /// Two inputs: a sorted vector, and the numbers whose places are looked for. The places, as int64.
    Search(Search),
}

/// Running folds along the middle axis, in the dtype of what is folded; halves accumulate in float32 at least. Folds of floats may
/// be made in any fixed order: where factors leave the range of the accumulator before a product does, so may a result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cumulate {
    /// Sum, Product, Max or Min; of bools only the extremes.
    pub fold: Fold,
    /// Of input and output.
    pub dtype: DType,
    /// Extents before the axis, along it, and after it.
    pub shape: [u64; 3],
    /// From the end.
    pub reverse: bool,
}

/// A stable sort along the middle axis: NaN are equal to each other and greater than all numbers, zeros of either sign are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sorting {
    /// Of input and values.
    pub dtype: DType,
    /// Extents before the axis, along it, and after it.
    pub shape: [u64; 3],
    /// How many of the first are wanted; at most as many as there are, which [`Call::verify`] checks.
    pub kept: u64,
    /// From the greatest to the least; equal ones stay in their order.
    pub descending: bool,
    /// Whether the elements are wanted.
    pub values: bool,
    /// Whether their former positions are wanted, as int64.
    pub indices: bool,
    /// The places along the axis that anyone reads of the results, ascending; what stands in others is not said. `None`: all.
    pub only: Option<Vec<u64>>,
}

/// Row-major positions of elements that are not zero, ascending, as int64; then, as one int64, how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NonZero {
    /// Of the elements.
    pub dtype: DType,
    /// How many elements there are.
    pub len: u64,
    /// How many positions there is room for. Of fewer the first are written, of more the rest is not.
    pub kept: u64,
    /// The dtype of a second input of as many elements, of which those at the positions are given in place of the positions.
    pub taken: Option<DType>,
}

/// How many elements of a sorted vector come before each number, or not after it. NaN come after all numbers, zeros of either sign are
/// equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    /// Of both inputs.
    pub dtype: DType,
    /// Elements of the vector.
    pub len: u64,
    /// Numbers whose places are looked for.
    pub asked: u64,
    /// Whether equal elements count.
    pub right: bool,
}

/// Rows that go to rows of a table, of which some are named repeatedly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scatter {
    /// Of the rows and the table.
    pub dtype: DType,
    /// Sum, Product, Max or Min: a row of the table is folded with all that go there, in any fixed order. Else the last one stays.
    pub fold: Option<Fold>,
    /// Rows that go somewhere.
    pub points: u64,
    /// Rows of the table.
    pub rows: u64,
    /// Elements of a row.
    pub width: u64,
    /// Whether each point brings a row of its own, rather than all the same one.
    pub each_row: bool,
    /// Whether a row that is brought has all elements, rather than one for all.
    pub each_column: bool,
}

impl Scatter {
    /// Elements that are brought.
    pub fn brought(&self) -> u64 {
        (if self.each_row { self.points } else { 1 }) * (if self.each_column { self.width } else { 1 })
    }
}

impl Call {
    /// Checks what every reader of a call relies on. It is total, and must succeed before anything else but
    /// [`Call::name`] is asked of a call that comes from outside.
    ///
    /// # Errors
    /// Extents whose product exceeds [`LARGEST_ARGUMENT`], more elements kept than there are, places that are not
    /// ascending or not along the axis, folds that the call does not have, rows that no position can name.
    pub fn verify(&self) -> Result<(), CallError> {
        match self {
            Call::Cumulate(c) => {
                self.check_size("shape", c.dtype, &c.shape)?;
                self.check_fold(Some(c.fold), c.dtype)
            }
            Call::Sort(s) => {
                self.check_size("shape", s.dtype, &s.shape)?;
                self.check_size("indices", DType::I64, &s.shape)?;
                self.require(s.kept <= s.shape[1], "kept", || (format!("at most {}", s.shape[1]), s.kept))?;
                let places = s.only.as_deref().unwrap_or(&[]);
                let ascending = places.windows(2).all(|pair| pair[0] < pair[1]);
                let along = places.last().is_none_or(|last| *last < s.shape[1]);
                let expected = || (format!("ascending places below {}", s.shape[1]), format!("{places:?}"));
                self.require(ascending && along, "only", expected)
            }
            Call::Scatter(s) => {
                self.check_size("points", DType::I64, &[s.points])?;
                self.check_size("rows and width", s.dtype, &[s.rows, s.width])?;
                self.check_size("points and width", s.dtype, &[s.points, s.width])?;
                let rows = u64::from(s.points > 0)..=1 << 32;
                self.require(rows.contains(&s.rows), "rows", || (format!("{rows:?}"), s.rows))?;
                self.check_fold(s.fold, s.dtype)
            }
            Call::NonZero(z) => {
                self.check_size("len", z.dtype, &[z.len])?;
                self.check_size("taken", z.taken.unwrap_or(z.dtype), &[z.len])?;
                self.check_size("kept", DType::I64, &[z.kept])
            }
            Call::Search(s) => {
                self.check_size("len", s.dtype, &[s.len])?;
                self.check_size("asked", s.dtype, &[s.asked])?;
                self.check_size("asked", DType::I64, &[s.asked])
            }
        }
    }

    fn require<F: ToString>(
        &self,
        holds: bool,
        argument: &'static str,
        texts: impl FnOnce() -> (String, F),
    ) -> Result<(), CallError> {
        if holds {
            return Ok(());
        }
        let (expected, found) = texts();
        Err(CallError { call: self.name(), argument, expected, found: found.to_string() })
    }

    /// Extents of zero are left out, so that the product of any part of the extents fits as well.
    fn check_size(&self, argument: &'static str, dtype: DType, shape: &[u64]) -> Result<(), CallError> {
        let extents = shape.iter().filter(|extent| **extent > 0);
        let bytes = extents.fold(dtype.size() as u64, |bytes, extent| bytes.saturating_mul(*extent));
        let texts = || (format!("at most {LARGEST_ARGUMENT} bytes of {dtype}"), format!("{shape:?}"));
        self.require(bytes <= LARGEST_ARGUMENT, argument, texts)
    }

    fn check_fold(&self, fold: Option<Fold>, dtype: DType) -> Result<(), CallError> {
        let extreme = matches!(fold, None | Some(Fold::Max | Fold::Min));
        let known = extreme || (matches!(fold, Some(Fold::Sum | Fold::Product)) && dtype != DType::Bool);
        let expected = if dtype == DType::Bool { "Max or Min" } else { "Sum, Product, Max or Min" };
        self.require(known, "fold", || (format!("{expected} of {dtype}"), format!("{fold:?}")))
    }

    /// What people call it.
    pub fn name(&self) -> String {
        match self {
            Call::Cumulate(c) => format!("cumulate_{:?}", c.fold).to_lowercase(),
            Call::Sort(s) if s.kept < s.shape[1] => "topk".into(),
            Call::Sort(s) if s.only.is_some() => "select".into(),
            Call::Sort(s) if s.values => "sort".into(),
            Call::Sort(_) => "argsort".into(),
            Call::Scatter(_) => "scatter".into(),
            Call::NonZero(z) if z.taken.is_some() => "compress".into(),
            Call::NonZero(_) => "nonzero".into(),
            Call::Search(_) => "searchsorted".into(),
        }
    }

    /// The dtype of what it moves.
    pub fn dtype(&self) -> DType {
        match self {
            Call::Cumulate(c) => c.dtype,
            Call::Sort(s) => s.dtype,
            Call::Scatter(s) => s.dtype,
            Call::NonZero(z) => z.dtype,
            Call::Search(s) => s.dtype,
        }
    }

    /// Extents before the axis, along it, and after it; of a scatter those of the rows, of a search the numbers looked for.
    pub fn shape(&self) -> [u64; 3] {
        match self {
            Call::Cumulate(c) => c.shape,
            Call::Sort(s) => s.shape,
            Call::Scatter(s) => [1, s.points, s.width],
            Call::NonZero(z) => [1, z.len, 1],
            Call::Search(s) => [1, s.asked, 1],
        }
    }

    /// Elements of what it moves.
    pub fn elements(&self) -> u64 {
        self.shape().iter().product()
    }

    /// The dtype and the number of elements of each input.
    pub fn inputs(&self) -> Vec<(DType, u64)> {
        match self {
            Call::Scatter(s) => vec![(DType::U32, s.points), (s.dtype, s.brought())],
            Call::NonZero(NonZero { dtype, taken: Some(taken), len, .. }) => {
                vec![(*dtype, *len), (*taken, *len)]
            }
            Call::Search(s) => vec![(s.dtype, s.len), (s.dtype, s.asked)],
            _ => vec![(self.dtype(), self.elements())],
        }
    }

    /// Whether it also reads its output, which therefore has to be there before.
    pub fn reads_output(&self) -> bool {
        matches!(self, Call::Scatter(_))
    }

    /// The dtype and the number of elements of each output.
    pub fn outputs(&self) -> Vec<(DType, u64)> {
        match self {
            Call::Cumulate(c) => vec![(c.dtype, self.elements())],
            Call::Sort(s) => {
                let count = s.shape[0] * s.kept * s.shape[2];
                let values = s.values.then_some((s.dtype, count));
                values.into_iter().chain(s.indices.then_some((DType::I64, count))).collect()
            }
            Call::Scatter(s) => vec![(s.dtype, s.rows * s.width)],
            Call::NonZero(z) => vec![(z.taken.unwrap_or(DType::I64), z.kept), (DType::I64, 1)],
            Call::Search(s) => vec![(DType::I64, s.asked)],
        }
    }

    /// What it computes at least: a fold an element, `log2(n)` comparisons, or a few where only some are wanted.
    pub fn flops(&self) -> f64 {
        let each = match self {
            Call::Cumulate(_) | Call::NonZero(_) => 1.0,
            Call::Scatter(s) => f64::from(u8::from(s.fold.is_some())),
            Call::Sort(s) if s.only.is_some() => 2.0,
            Call::Sort(s) => (s.shape[1].max(2) as f64).log2(),
            Call::Search(s) => (s.len.max(2) as f64).log2(),
        };
        each * self.elements() as f64
    }
}
