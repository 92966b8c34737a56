//! Views: how a Var's elements lie in a buffer. Dimshuffle, broadcast, slice and (most) reshape are views and cost no kernel.

use super::program::BufferId;
use crate::kernels::nest::Index;

/// A Var's elements as a part of a buffer. Dimension `d` of the buffer, seen with extents `base`, has the index
/// `index[d]`: its terms name axes of the view, its dynamic part (see [`View::dynamic`]) is added.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The buffer.
    pub buffer: BufferId,
    /// Extents under which the buffer's elements are indexed, contiguous row-major; of the buffer's size.
    pub base: Vec<u64>,
    /// Extents of the view.
    pub shape: Vec<u64>,
    /// One per dimension of `base`; without dynamic parts.
    pub index: Vec<Index>,
    /// Per dimension of `base`: 0-d int64 buffers whose values are added to the index.
    pub dynamic: Vec<Vec<BufferId>>,
}

impl View {
    /// All of a buffer.
    pub(crate) fn whole(buffer: BufferId, shape: &[u64]) -> View {
        View {
            buffer,
            base: shape.to_vec(),
            shape: shape.to_vec(),
            index: (0..shape.len()).map(Index::axis).collect(),
            dynamic: vec![vec![]; shape.len()],
        }
    }

    /// Whether it is all of the buffer, in order: the view's row-major position is the buffer's.
    pub(crate) fn is_whole(&self) -> bool {
        let Some((offset, strides)) = self.linear() else { return false };
        let mut step = 1i64;
        let contiguous = self.shape.iter().zip(&strides).rev().all(|(&extent, &stride)| {
            let fits = extent == 1 || stride == step;
            step = step.saturating_mul(extent as i64);
            fits
        });
        let size: u64 = self.base.iter().product();
        offset == 0 && contiguous && self.shape.iter().product::<u64>() == size
    }

    /// Offset and stride per axis in elements, if no part is dynamic.
    pub(crate) fn linear(&self) -> Option<(i64, Vec<i64>)> {
        if self.dynamic.iter().any(|d| !d.is_empty()) {
            return None;
        }
        let mut offset = 0i64;
        let mut strides = vec![0i64; self.shape.len()];
        let mut step = 1i64;
        for (index, &extent) in self.index.iter().zip(&self.base).rev() {
            offset += index.offset * step;
            for &(axis, coefficient) in &index.terms {
                strides[axis] += coefficient * step;
            }
            step = step.saturating_mul(extent.max(1) as i64);
        }
        Some((offset, strides))
    }

    /// Axes renamed: `order[new]` is the old axis, or `None` for a new one of extent 1. Old axes not named have extent 1.
    pub(crate) fn dimshuffle(&self, order: &[Option<usize>]) -> View {
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
    pub(crate) fn broadcast(&self, shape: &[u64]) -> View {
        let mut view = View { shape: shape.to_vec(), ..self.clone() };
        for index in &mut view.index {
            index.terms.retain(|&(axis, _)| self.shape[axis] == shape[axis]);
        }
        view
    }

    /// Axis `axis` starts at `start` and goes in steps; `None` as length takes one position and drops the axis.
    /// Further dynamic starts are 0-d buffers, already multiplied by nothing: see [`View::takes_dynamic`].
    pub(crate) fn slice(
        &self,
        axis: usize,
        start: i64,
        step: i64,
        len: Option<u64>,
        dynamic: Option<BufferId>,
    ) -> View {
        let mut view = self.clone();
        for (index, list) in view.index.iter_mut().zip(&mut view.dynamic) {
            let Ok(at) = index.terms.binary_search_by_key(&axis, |t| t.0) else { continue };
            let coefficient = index.terms[at].1;
            index.offset += coefficient * start;
            if len.is_none_or(|len| len < 2) {
                // There is no second position, and the step may be any number.
                index.terms.remove(at);
            } else {
                index.terms[at].1 = coefficient * step;
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

    /// Windows along `axis`: it becomes `count` positions, `stride` elements apart, and a last axis is appended of the
    /// `window` elements at each, `dilation` apart. All of them lie within the axis.
    pub(crate) fn windows(&self, axis: usize, [count, stride, window, dilation]: [u64; 4]) -> View {
        let mut view = self.clone();
        let last = self.shape.len();
        view.shape[axis] = count;
        view.shape.push(window);
        for index in &mut view.index {
            let Ok(at) = index.terms.binary_search_by_key(&axis, |t| t.0) else { continue };
            let coefficient = index.terms[at].1;
            // Along an axis of one position any stride is right, and only there it may be too large to multiply.
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
    pub(crate) fn with_axes_at(&self, from: usize, to: usize) -> View {
        let moved = from..self.shape.len();
        let order = (0..to).chain(moved).chain(to..from).map(Some).collect::<Vec<_>>();
        self.dimshuffle(&order)
    }

    /// Whether a dynamic start along `axis` can be added to the index as it is: every dimension it moves along is stepped by 1.
    pub(crate) fn takes_dynamic(&self, axis: usize) -> bool {
        self.index.iter().all(|i| i.terms.iter().all(|&(a, c)| a != axis || c == 1))
    }

    /// The same elements under another shape, if that is a view: the view is whole, or only axes of extent 1 come and go.
    pub(crate) fn reshape(&self, shape: &[u64]) -> Option<View> {
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
