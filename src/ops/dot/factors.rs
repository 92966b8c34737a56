//! The layout of a product's factors: whether a library can read them, as batches of rows and columns with
//! constant strides.

use crate::lower::View;
use workalike_kernels::nest::Affine;

/// Steps from one product, row and column to the next.
type Steps = [i64; 3];

/// The axes of a product at concrete shapes.
pub(crate) struct ProductAxes {
    /// How many axes are the batch's.
    pub(crate) batch: usize,
    /// How many are the left factor's.
    pub(crate) left: usize,
    pub(crate) contracted: usize,
    /// Extents of the result.
    pub(crate) shape: Vec<u64>,
}

/// A product as a library op.
pub(crate) struct ProductCall {
    /// The batch, m, n, k.
    pub(crate) extents: [u64; 4],
    /// Each factor's first element and steps if it can be read in place, else the view to be copied.
    pub(crate) factors: [Result<(u64, Steps), View>; 2],
    /// Whether every product of the batch has the same factor.
    repeated: [bool; 2],
}

impl ProductCall {
    /// The steps of a factor, in place or after the copy.
    pub(crate) fn steps(&self, side: usize) -> Steps {
        let [_, m, n, k] = self.extents;
        let (rows, columns) = if side == 0 { (m, k) } else { (k, n) };
        match &self.factors[side] {
            Ok((_, steps)) => *steps,
            Err(_) if self.repeated[side] || self.extents[0] == 1 => [0, columns as i64, 1],
            Err(_) => [(rows * columns) as i64, columns as i64, 1],
        }
    }

    /// Elements of the factors that are to be copied.
    pub(crate) fn copied(&self) -> u64 {
        let count = |view: &View| view.shape.iter().fold(1u64, |n, &e| n.saturating_mul(e));
        self.factors.iter().filter_map(|f| f.as_ref().err()).map(count).fold(0, u64::saturating_add)
    }

    fn copies(&self) -> usize {
        self.factors.iter().filter(|f| f.is_err()).count()
    }
}

impl ProductAxes {
    /// The factors, with the axes that are summed over in an order in which both have one step along them, if
    /// there is one.
    pub(crate) fn in_order(&self, a: &View, b: &View) -> [View; 2] {
        let given: Vec<usize> = (0..self.contracted).collect();
        let first = [self.batch + self.left, self.batch];
        let ordered = |order: &[usize]| {
            [(a, first[0]), (b, first[1])].map(|(view, start)| {
                let mut axes: Vec<Option<usize>> = (0..view.shape.len()).map(Some).collect();
                order.iter().enumerate().for_each(|(i, &o)| axes[start + i] = Some(start + o));
                view.dimshuffle(&axes)
            })
        };
        if self.contracted < 2 {
            return [a.clone(), b.clone()];
        }
        let by_steps = |view: &View, start: usize| {
            let strides = view.linear()?.coefficients;
            let mut order = given.clone();
            order.sort_by_key(|&i| std::cmp::Reverse(strides[start + i].abs()));
            Some(order)
        };
        let orders = [Some(given.clone()), by_steps(a, first[0]), by_steps(b, first[1])];
        let fits = |views: &[View; 2]| {
            views.iter().zip(first).all(|(view, start)| {
                let sums = start..start + self.contracted;
                let steps = view.linear().map(|address| address.coefficients);
                steps.is_some_and(|steps| step(&view.shape[sums.clone()], &steps[sums]).is_some())
            })
        };
        let mut found = orders.into_iter().flatten().map(|order| ordered(&order));
        found.find(fits).unwrap_or_else(|| ordered(&given))
    }

    /// The product for each position along one of the axes that are summed over, which becomes the first axis
    /// of the batch.
    pub(crate) fn sliced(&self, factors: &[View; 2], sum: usize) -> (ProductAxes, [View; 2]) {
        let first = [self.batch + self.left, self.batch].map(|start| start + sum);
        let extent = factors[0].shape[first[0]];
        let sliced = [0, 1].map(|side| {
            let others = (0..factors[side].shape.len()).filter(|&axis| axis != first[side]);
            let order: Vec<Option<usize>> = [first[side]].into_iter().chain(others).map(Some).collect();
            factors[side].dimshuffle(&order)
        });
        let shape = [extent].iter().chain(&self.shape).copied().collect();
        (
            ProductAxes { batch: self.batch + 1, left: self.left, contracted: self.contracted - 1, shape },
            sliced,
        )
    }

    /// The library op that copies least; among equals, the one with the fewest and largest products. None if
    /// there are too many elements to count.
    pub(crate) fn call(&self, [a, b]: &[View; 2]) -> Option<ProductCall> {
        let own = self.batch + self.left;
        let order = (0..self.batch).map(Some).chain((0..self.left).map(|_| None));
        let b = &b.dimshuffle(&order.chain((self.batch..b.shape.len()).map(Some)).collect::<Vec<_>>());
        // Where every product of a batch has the same right factor, they are rows of one.
        let rows = (0..own).rev().take_while(|&axis| b.shape[axis] == 1).count();
        let mut best: Option<ProductCall> = None;
        for batch in own - rows..=own - rows.min(1) {
            let call = self.call_with(a, b, batch)?;
            if best.as_ref().is_none_or(|best| call.copies() < best.copies()) {
                best = Some(call);
            }
        }
        best
    }

    /// The product with this number of batch axes. The other axes up to the left factor's last are rows. The
    /// right factor has all axes of the result.
    fn call_with(&self, a: &View, b: &View, batch: usize) -> Option<ProductCall> {
        let own = self.batch + self.left;
        let size = |extents: &[u64]| extents.iter().try_fold(1u64, |n, &e| n.checked_mul(e));
        let extents = [
            size(&self.shape[..batch])?,
            size(&self.shape[batch..own])?,
            size(&self.shape[own..])?,
            size(&a.shape[own..])?,
        ];
        let [products, m, n, k] = extents;
        m.checked_mul(k)?.checked_mul(products)?;
        n.checked_mul(k)?.checked_mul(products)?;
        let kept = (0..b.shape.len()).filter(|axis| !(batch..own).contains(axis));
        let b = &b.dimshuffle(&kept.map(Some).collect::<Vec<_>>());
        let repeated = [a, b].map(|view| view.shape[..batch].iter().all(|&e| e == 1));
        #[expect(clippy::result_large_err, reason = "a view to be copied, not an error")]
        let factor = |view: &View, groups: [usize; 2], rows: u64, columns: u64, repeated: bool, to: usize| {
            let extents = [&self.shape[..to], &view.shape[to..]].concat();
            let broadcast = view.broadcast(&extents);
            lies(&broadcast, groups, rows, columns).ok_or(if repeated {
                view.broadcast(&[&view.shape[..batch], &extents[batch..]].concat())
            } else {
                broadcast
            })
        };
        let factors = [
            factor(a, [batch, own], m, k, repeated[0], own),
            factor(b, [batch, batch + self.contracted], k, n, repeated[1], batch),
        ];
        Some(ProductCall { extents, factors, repeated })
    }
}

/// First element and steps of a factor, whose axes are divided at two places, if a library can read it in
/// place.
fn lies(view: &View, [rows_from, columns_from]: [usize; 2], rows: u64, columns: u64) -> Option<(u64, Steps)> {
    let Affine { offset, coefficients: strides } = view.linear()?;
    let group = |range: std::ops::Range<usize>| step(&view.shape[range.clone()], &strides[range]);
    let batch = group(0..rows_from)?;
    let steps = [group(rows_from..columns_from)?, group(columns_from..view.shape.len())?];
    let [row, column] = laid_out(rows, columns, steps)?;
    (batch >= 0).then_some((u64::try_from(offset).ok()?, [batch, row, column]))
}

/// The step from each position along axes to the next, in row-major order, if it is always the same; 0 if
/// there is one position.
fn step(extents: &[u64], strides: &[i64]) -> Option<i64> {
    let mut last: Option<(i64, i64)> = None;
    for (&extent, &stride) in extents.iter().zip(strides).rev().filter(|(e, _)| **e != 1) {
        let step = match last {
            None => stride,
            Some((step, span)) if span == stride => step,
            Some(_) => return None,
        };
        last = Some((step, stride.saturating_mul(extent as i64)));
    }
    Some(last.map_or(0, |(step, _)| step))
}

/// Steps that a library accepts, one of them 1; that along an axis of extent 1 may be any.
fn laid_out(rows: u64, columns: u64, [row, column]: [i64; 2]) -> Option<[i64; 2]> {
    let (rows, columns) = (rows as i64, columns as i64);
    let row = |natural: i64| if rows == 1 { natural } else { row };
    let column = |natural: i64| if columns == 1 { natural } else { column };
    if column(1) == 1 && row(columns) >= columns {
        return Some([row(columns), 1]);
    }
    (row(1) == 1 && column(rows) >= rows).then(|| [1, column(rows)])
}
