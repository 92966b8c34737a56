//! Views: how a Var's elements lie in a buffer. Dimshuffle, broadcast, slice and (most) reshape are views and
//! cost no kernel.

use super::Refusal;
use super::program::{Buffer, BufferId, Program};
use workalike_kernels::DType;
use workalike_kernels::nest::{Affine, Index};

/// A Var's elements as a part of a buffer, with extents and an order of their own.
///
/// The methods derive views from a view; they compute nothing. A request that is not a view gives an unusable
/// one, which holds the mistake: [`Lowering`](super::Lowering) refuses the op that uses it.
// Dimension `d` of the buffer, seen with extents `base`, has the index `index[d]`: its terms name axes of the
// view, its dynamic part (see `dynamic`) is added.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The buffer.
    pub(crate) buffer: BufferId,
    /// Extents under which the buffer's elements are indexed, contiguous row-major; of the buffer's size.
    pub(crate) base: Vec<u64>,
    /// Extents of the view.
    pub(crate) shape: Vec<u64>,
    /// One per dimension of `base`; without dynamic parts.
    pub(crate) index: Vec<Index>,
    /// Per dimension of `base`: 0-d int64 buffers whose values are added to the index.
    pub(crate) dynamic: Vec<Vec<BufferId>>,
    /// The first request that could not be met.
    mistake: Option<Refusal>,
}

/// Number of elements; `None` if it does not fit in 64 bits.
pub(crate) fn count(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent))
}

impl View {
    /// All of a buffer, in row-major order under these extents. They need not be those of the buffer, but
    /// their product must be its number of elements.
    pub fn whole(buffer: BufferId, shape: &[u64]) -> View {
        View {
            buffer,
            base: shape.to_vec(),
            shape: shape.to_vec(),
            index: (0..shape.len()).map(Index::axis).collect(),
            dynamic: vec![vec![]; shape.len()],
            mistake: None,
        }
    }

    /// An array of rows of which a buffer holds the last, `pitch` elements apart. The `skipped` rows before
    /// these must not be read.
    pub(crate) fn rows(buffer: BufferId, [kept, whole, pitch]: [u64; 3], row: &[u64], skipped: u64) -> View {
        let shape: Vec<u64> = std::iter::once(whole).chain(row.iter().copied()).collect();
        if skipped == 0 && count(row) == Some(pitch) {
            return View::whole(buffer, &shape);
        }
        let mut within = Index::default();
        let mut step = 1i64;
        for (axis, &extent) in row.iter().enumerate().rev() {
            within.add_term(axis + 1, step);
            step = step.saturating_mul(extent.max(1) as i64);
        }
        let mut first = Index::axis(0);
        first.offset = -i64::try_from(skipped).unwrap_or(i64::MAX);
        let (base, index) = (vec![kept, pitch], vec![first, within]);
        View { buffer, base, shape, index, dynamic: vec![vec![]; 2], mistake: None }
    }

    /// Extents of the view.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The buffer that holds the elements.
    pub fn buffer(&self) -> BufferId {
        self.buffer
    }

    /// The same view, with this mistake if it is the first.
    fn refused(&self, why: impl FnOnce() -> Refusal) -> View {
        let mut view = self.clone();
        view.mistake.get_or_insert_with(why);
        view
    }

    /// The buffer in this Program.
    ///
    /// # Errors
    /// The view's mistake, or what does not fit the Program's buffers.
    pub(crate) fn check<'p>(&self, program: &'p Program) -> Result<&'p Buffer, Refusal> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone());
        }
        let buffer = program.buffer_at(self.buffer)?;
        if count(&self.base).is_none_or(|n| n > buffer.len()) {
            let (asked, found) = (&self.base, &buffer.shape);
            return Err(format!("a view of extents {asked:?} does not fit a buffer of extents {found:?}"));
        }
        for &start in self.dynamic.iter().flatten() {
            let start = program.buffer_at(start)?;
            if start.dtype != DType::I64 || start.is_empty() {
                let (dtype, shape) = (start.dtype, &start.shape);
                return Err(format!(
                    "a computed start is a 0-d int64 buffer, not {dtype} of extents {shape:?}"
                ));
            }
        }
        Ok(buffer)
    }

    /// Whether it is all of the buffer, in order: the view's row-major position is the buffer's.
    pub fn is_whole(&self) -> bool {
        let in_order = self.linear().is_some_and(|address| address.is_row_major(&self.shape));
        let size = count(&self.base);
        in_order && size.is_some() && count(&self.shape) == size
    }

    /// The address of its elements in the buffer, by its own axes, if no part is dynamic and it fits in 64
    /// bits.
    pub fn linear(&self) -> Option<Affine> {
        if self.mistake.is_some() || self.dynamic.iter().any(|d| !d.is_empty()) {
            return None;
        }
        let mut address = Affine::zero(self.shape.len());
        let mut step = 1i64;
        for (index, &extent) in self.index.iter().zip(&self.base).rev() {
            address.add(index, step)?;
            step = step.saturating_mul(extent.max(1) as i64);
        }
        Some(address)
    }

    /// What a Nest over axes of extents `shape` loads at an index of an operand, which is a buffer with
    /// extents `base`. No part of the index is computed.
    pub(crate) fn of_operand(buffer: BufferId, base: &[u64], shape: &[u64], index: &[Index]) -> View {
        let dynamic = vec![vec![]; base.len()];
        View {
            buffer,
            base: base.to_vec(),
            shape: shape.to_vec(),
            index: index.to_vec(),
            dynamic,
            mistake: None,
        }
    }

    /// The same elements as a view of `source`, if this view's buffer is a copy of `source` in row-major
    /// order. `None` if they are not a view of it.
    pub(crate) fn through(&self, source: &View) -> Option<View> {
        if source.linear().is_some_and(|address| address.is_row_major(&source.shape))
            && count(&source.base) == count(&source.shape)
        {
            return Some(View { buffer: source.buffer, ..self.clone() });
        }
        let known = self.dynamic.iter().all(Vec::is_empty);
        (known && self.base == source.shape).then(|| View {
            shape: self.shape.clone(),
            index: source.index.iter().map(|index| index.over(&self.index)).collect(),
            mistake: self.mistake.clone(),
            ..source.clone()
        })
    }

    /// Axes renamed: `order[new]` is the old axis, or `None` for a new one of extent 1. Old axes not named
    /// have extent 1.
    pub fn dimshuffle(&self, order: &[Option<usize>]) -> View {
        let named = |axis: usize| order.iter().filter(|o| **o == Some(axis)).count();
        let known = order.iter().flatten().all(|&axis| axis < self.shape.len() && named(axis) == 1);
        let kept = self.shape.iter().enumerate().all(|(axis, &extent)| extent == 1 || named(axis) == 1);
        if !known || !kept {
            return self.refused(|| format!("dimshuffle {order:?} does not fit extents {:?}", self.shape));
        }
        let shape = order.iter().map(|o| o.map_or(1, |axis| self.shape[axis])).collect();
        let mut index = self.index.clone();
        for index in &mut index {
            let terms = std::mem::take(&mut index.terms);
            for (axis, coefficient) in terms {
                if let Some(new) = order.iter().position(|o| *o == Some(axis)) {
                    index.add_term(new, coefficient);
                }
            }
        }
        View { shape, index, ..self.clone() }
    }

    /// Axes of extent 1 repeated to these extents.
    pub fn broadcast(&self, shape: &[u64]) -> View {
        let fits = self.shape.iter().zip(shape).all(|(&from, &to)| from == to || from == 1);
        if self.shape.len() != shape.len() || !fits {
            return self.refused(|| format!("extents {:?} do not broadcast to {shape:?}", self.shape));
        }
        let mut view = View { shape: shape.to_vec(), ..self.clone() };
        for index in &mut view.index {
            index.terms.retain(|&(axis, _)| self.shape[axis] == shape[axis]);
        }
        view
    }

    /// Axis `axis` starts at `start` and goes in steps; `None` as length takes one position and drops the
    /// axis. `dynamic` is a 0-d int64 buffer whose value is added to the start, where
    /// [`View::takes_dynamic`]; it must hold numbers with which all positions lie within the axis.
    pub fn slice(
        &self,
        axis: usize,
        start: i64,
        step: i64,
        len: Option<u64>,
        dynamic: Option<BufferId>,
    ) -> View {
        let extent = self.shape.get(axis).map_or(0, |&extent| i128::from(extent));
        let last = i128::from(len.unwrap_or(1).saturating_sub(1)).saturating_mul(step.into());
        let inside = |at: i128| dynamic.is_some() || len == Some(0) || (0..extent).contains(&at);
        let ends = inside(start.into()) && inside(last.saturating_add(start.into()));
        let steps = step != 0 || len.is_none_or(|len| len < 2);
        if axis >= self.shape.len() || !ends || !steps || (dynamic.is_some() && !self.takes_dynamic(axis)) {
            let asked = format!("start {start}, step {step}, length {len:?} along axis {axis}");
            return self.refused(|| format!("{asked} is no slice of extents {:?}", self.shape));
        }
        let mut view = self.clone();
        for (index, list) in view.index.iter_mut().zip(&mut view.dynamic) {
            let Ok(at) = index.terms.binary_search_by_key(&axis, |t| t.0) else { continue };
            let coefficient = index.terms[at].1;
            index.offset = index.offset.saturating_add(coefficient.saturating_mul(start));
            if len.is_none_or(|len| len < 2) {
                // There is no second position, and the step may be any number.
                index.terms.remove(at);
            } else {
                index.terms[at].1 = coefficient.saturating_mul(step);
            }
            list.extend(dynamic);
        }
        match len {
            Some(len) => view.shape[axis] = len,
            None => {
                view.shape.remove(axis);
                for index in &mut view.index {
                    index.terms.retain(|t| t.0 != axis);
                    index.terms.iter_mut().filter(|t| t.0 > axis).for_each(|t| t.0 -= 1);
                }
            }
        }
        view
    }

    /// Windows along `axis`: it becomes `count` positions, `stride` elements apart, and a last axis is
    /// appended of the `window` elements at each, `dilation` apart. All of them lie within the axis.
    pub fn windows(&self, axis: usize, [count, stride, window, dilation]: [u64; 4]) -> View {
        let reach = |count: u64, step: u64| count.saturating_sub(1).saturating_mul(step);
        let last = reach(count, stride).saturating_add(reach(window, dilation));
        let inside = |extent: u64| count == 0 || window == 0 || last < extent;
        if !self.shape.get(axis).is_some_and(|&extent| inside(extent)) {
            let asked = format!("{count} windows of {window}, {stride} apart, along axis {axis}");
            return self.refused(|| format!("{asked} do not fit extents {:?}", self.shape));
        }
        let mut view = self.clone();
        let last = self.shape.len();
        view.shape[axis] = count;
        view.shape.push(window);
        for index in &mut view.index {
            let Ok(at) = index.terms.binary_search_by_key(&axis, |t| t.0) else { continue };
            let coefficient = index.terms[at].1;
            // Along an axis of one position any stride is right, and only there it may be too large to
            // multiply.
            let by = |step: u64| i64::try_from(step).map_or(0, |step| coefficient.saturating_mul(step));
            index.terms[at].1 = by(stride);
            if count < 2 || index.terms[at].1 == 0 {
                index.terms.remove(at);
            }
            if window > 1 {
                index.add_term(last, by(dilation));
            }
        }
        view
    }

    /// The axes from `from` on moved to stand before the axis `to`, in their order.
    pub fn with_axes_at(&self, from: usize, to: usize) -> View {
        if to > from || from > self.shape.len() {
            return self.refused(|| format!("axes from {from} on cannot stand before axis {to}"));
        }
        let moved = from..self.shape.len();
        let order = (0..to).chain(moved).chain(to..from).map(Some).collect::<Vec<_>>();
        self.dimshuffle(&order)
    }

    /// Whether a dynamic start along `axis` can be added to the index as it is: every dimension it moves
    /// along is stepped by 1.
    pub fn takes_dynamic(&self, axis: usize) -> bool {
        self.index.iter().all(|i| i.terms.iter().all(|&(a, c)| a != axis || c == 1))
    }

    /// The same elements under another shape, if that is a view: the view is whole, or only axes of extent 1
    /// come and go.
    pub fn reshape(&self, shape: &[u64]) -> Option<View> {
        if count(shape) != count(&self.shape) {
            return None;
        }
        if self.is_whole() {
            return Some(View::whole(self.buffer, shape));
        }
        let solid = |s: &[u64]| -> Vec<usize> { (0..s.len()).filter(|&a| s[a] != 1).collect() };
        let (old, new) = (solid(&self.shape), solid(shape));
        let same = old.len() == new.len() && old.iter().zip(&new).all(|(&o, &n)| self.shape[o] == shape[n]);
        if !same {
            return None;
        }
        let mut order = vec![None; shape.len()];
        old.iter().zip(&new).for_each(|(&o, &n)| order[n] = Some(o));
        Some(self.dimshuffle(&order))
    }
}
