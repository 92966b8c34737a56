//! Products: the device's library where it has one, else a Nest that folds over the contracted axis.

use super::Dot;
use super::cost::ProductCost;
use super::factors::{ProductAxes, ProductCall};
use crate::graph::Node;
use crate::lower::program::BufferId;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use workalike_device::{ByteMatmul, Matmul};
use workalike_kernels::nest::{Fold, PhaseKind};
use workalike_kernels::{DType, ops as scalar};

/// Rows and columns of the tile that a library gives a group in a product with few tiles.
const TILE: u64 = 64;
/// Maximum number of parts along k, unless k is so long that their results are little beside the factors.
const PARTS: u64 = 8;
/// How often longer than its number of results the sums of a product are if few groups compute it.
const LONG: u64 = 16;
/// Minimum length of a part along k. The startup of a group would dominate a shorter one.
const SHORTEST: u64 = 96;

pub(crate) fn lower(op: &Dot, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let shape = to.shape(node.outputs[0]);
    let left = inputs[0].shape.len() - op.batch - op.contracted;
    let axes = ProductAxes { batch: op.batch, left, contracted: op.contracted, shape: shape.clone() };
    Ok(vec![to.contraction(&axes, &inputs[0], &inputs[1], to.dtype(node.outputs[0]))])
}

impl Lowering<'_> {
    /// The sums of products over the contracted axes: by the device's library, else by a Nest.
    pub(crate) fn contraction(&mut self, axes: &ProductAxes, a: &View, b: &View, dtype: DType) -> View {
        let factors = axes.in_order(a, b);
        let target = self.temp(dtype, &axes.shape);
        let by_library = self.of_bytes(axes, &factors, target)
            || self.by_slices(axes, &factors, target)
            || self.by_library(axes, &factors, target);
        if !by_library {
            self.by_nest(axes, &factors, target);
        }
        View::whole(target, &axes.shape)
    }

    /// The same by a Nest, which copies neither factor.
    pub(crate) fn implicit_contraction(
        &mut self,
        axes: &ProductAxes,
        a: &View,
        b: &View,
        dtype: DType,
    ) -> View {
        let target = self.temp(dtype, &axes.shape);
        self.by_nest(axes, &[a.clone(), b.clone()], target);
        View::whole(target, &axes.shape)
    }

    /// Whether the device's library takes it.
    fn by_library(&mut self, axes: &ProductAxes, factors: &[View; 2], target: BufferId) -> bool {
        let Some(call) = axes.call(factors) else { return false };
        self.pays_by_library(&call, self.program.buffers[target].dtype)
            && self.call_library(&call, factors, target)
    }

    /// The product of int32 numbers that were int8, by the device's library, if it takes it: its factors have
    /// neighbours along the sum.
    fn of_bytes(&mut self, axes: &ProductAxes, factors: &[View; 2], target: BufferId) -> bool {
        if self.program.buffers[target].dtype != DType::I32 || axes.contracted != 1 {
            return false;
        }
        let of_bytes = |view: &View| self.program.buffers[view.buffer].dtype == DType::I8;
        let [Some(a), Some(b)] = [0, 1].map(|side| self.before_cast(&factors[side]).filter(of_bytes)) else {
            return false;
        };
        let Some(call) = axes.call(&[a.clone(), b.clone()]) else { return false };
        let product = self.matmul_of(&call, DType::I8);
        // In the layout that the copies below give it.
        let [_, m, n, k] = call.extents.map(|extent| extent as i64);
        let asked = ByteMatmul(Matmul { a: [m * k, k, 1], b: [n * k, 1, k], ..product });
        if !self.pays_by_library(&call, DType::I8) || !self.abilities.has(&asked) {
            return false;
        }
        let sums = [axes.batch + axes.left, axes.batch];
        let factors = [self.with_last(&a, sums[0]), self.with_last(&b, sums[1])];
        axes.call(&factors).is_some_and(|call| self.call_library(&call, &factors, target))
    }

    /// The view of bytes, or one of a copy, in which the elements along an axis are neighbours, and start
    /// where devices load vectors.
    fn with_last(&mut self, view: &View, axis: usize) -> View {
        let alignment = self.abilities.properties().alignment.max(1) as i64;
        if view
            .linear()
            .is_some_and(|address| address.coefficients[axis] == 1 && address.offset % alignment == 0)
        {
            return view.clone();
        }
        let rank = view.shape.len();
        let order: Vec<usize> = (0..rank).filter(|&other| other != axis).chain([axis]).collect();
        let place = |of: usize| order.iter().position(|&axis| axis == of);
        let moved = view.dimshuffle(&order.iter().map(|&axis| Some(axis)).collect::<Vec<_>>());
        self.own_copy(&moved).dimshuffle(&(0..rank).map(place).collect::<Vec<_>>())
    }

    fn matmul_of(&self, call: &ProductCall, dtype: DType) -> Matmul {
        let [batch, m, n, k] = call.extents;
        let [a, b] = [0, 1].map(|side| call.steps(side));
        Matmul { dtype, batch, m, n, k, a, b, fast: self.abilities.fast }
    }

    /// Appends a call of the device's library, if it takes it.
    fn call_library(&mut self, call: &ProductCall, factors: &[View; 2], target: BufferId) -> bool {
        let (dtype, factor) =
            (self.program.buffers[target].dtype, self.program.buffers[factors[0].buffer].dtype);
        let [batch, m, n, _] = call.extents;
        let product = self.matmul_of(call, factor);
        let device = self.abilities.properties();
        let units = if device.is_wide() { device.units.into() } else { 0 };
        let product = if batch == 1 { cut(&product, units) } else { product };
        let wide = factor != dtype;
        let takes = match wide {
            true => self.abilities.has(&ByteMatmul(product.clone())),
            false => self.abilities.has(&product),
        };
        if !takes {
            return false;
        }
        let [a, b] = [0, 1].map(|side| match &call.factors[side] {
            Ok((offset, _)) => (factors[side].buffer, *offset),
            Err(view) => (self.own_copy(view).buffer, 0),
        });
        if product.batch == batch {
            return self.push_product(product, wide, [a, b], target).is_some();
        }
        let parts = [product.batch, m, n];
        let sums = self.temp(dtype, &parts);
        if self.push_product(product, wide, [a, b], sums).is_none() {
            return false;
        }
        self.sum_of_parts(sums, &parts, target);
        true
    }

    /// Appends a library's product, of bytes with wide sums or of one dtype.
    fn push_product(
        &mut self,
        product: Matmul,
        wide: bool,
        inputs: [(BufferId, u64); 2],
        target: BufferId,
    ) -> Option<()> {
        match wide {
            true => self.library_into(ByteMatmul(product), inputs.into(), vec![target]),
            false => self.library_into(product, inputs.into(), vec![target]),
        }
    }

    /// The sum of a batch of products, one for each position along one of the axes that are summed over, if
    /// the library can read those in place but would need copies for a single product, and the copies would
    /// move more than the batch's results.
    fn by_slices(&mut self, axes: &ProductAxes, factors: &[View; 2], target: BufferId) -> bool {
        let dtype = self.program.buffers[target].dtype;
        let whole = dtype.register() == dtype;
        if axes.contracted < 2 || !whole || !self.abilities.properties().is_wide() {
            return false;
        }
        let Some(call) = axes.call(factors) else { return false };
        if call.copied() == 0 || !self.pays_by_library(&call, dtype) {
            return false;
        }
        let in_place = |sum: usize| {
            let (axes, factors) = axes.sliced(factors, sum);
            let call = axes.call(&factors).filter(|call| call.copied() == 0)?;
            Some((axes, factors, call))
        };
        let Some((axes, factors, slices)) = (0..axes.contracted).find_map(in_place) else { return false };
        let results = axes.shape.iter().try_fold(1u64, |all, &e| all.checked_mul(e));
        if results.is_none_or(|results| results > call.copied()) {
            return false;
        }
        let sums = self.temp(dtype, &axes.shape);
        if !self.call_library(&slices, &factors, sums) {
            return false;
        }
        self.sum_of_parts(sums, &axes.shape, target);
        true
    }

    fn by_nest(&mut self, axes: &ProductAxes, [a, b]: &[View; 2], target: BufferId) {
        let acc = self.program.buffers[target].dtype.register();
        let grid = axes.shape.len();
        let inner = &a.shape[axes.batch + axes.left..];
        let mut nest = NestBuilder::new("dot", &axes.shape, inner);
        let mut reduce = nest.phase(PhaseKind::Reduce, &self.program);
        let batch = |view: &View, axis: usize| if view.shape[axis] == 1 { At::First } else { At::Axis(axis) };
        let sums = (grid..grid + axes.contracted).map(At::Axis);
        let (own, all) = (axes.batch + axes.left, 0..axes.batch);
        let at = all.clone().map(|i| batch(a, i)).chain((axes.batch..own).map(At::Axis)).chain(sums.clone());
        let left = reduce.load(a, &at.collect::<Vec<_>>());
        let at = all.map(|i| batch(b, i)).chain(sums).chain((own..grid).map(At::Axis));
        let right = reduce.load(b, &at.collect::<Vec<_>>());
        let (left, right) = (reduce.convert(left, acc), reduce.convert(right, acc));
        let product = reduce.apply(scalar::MUL, &[left, right]);
        let fold = reduce.fold(Fold::Sum, product, None);
        let phase = reduce.finish();
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.folded(phase, fold, acc);
        point.store(target, &axes.shape, &At::axes(grid), value, None);
        point.finish();
        self.push(nest);
    }

    /// Whether a library's product is worth what a Nest would fuse with. Matrix-vector products stream one
    /// factor once: a Nest does that as fast.
    fn pays_by_library(&self, call: &ProductCall, dtype: DType) -> bool {
        let [batch, m, n, k] = call.extents;
        if m <= 1 || n <= 1 || k == 0 || batch == 0 {
            return false;
        }
        let device = self.abilities.properties();
        !device.is_wide() || ProductCost { call, dtype, units: device.units }.library_pays()
    }

    /// A Nest that sums along the first axis: pair by pair if it is short.
    fn sum_of_parts(&mut self, parts: BufferId, shape: &[u64], target: BufferId) {
        if shape[0] > PARTS {
            return self.sum_of_many(parts, shape, target);
        }
        let mut nest = NestBuilder::new("sum_of_parts", &shape[1..], &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let whole = View::whole(parts, shape);
        let mut values: Vec<_> = (0..shape[0])
            .map(|part| point.load(&whole.slice(0, part as i64, 1, None, None), &At::axes(shape.len() - 1)))
            .collect();
        while values.len() > 1 {
            values = values
                .chunks(2)
                .map(|pair| if pair.len() == 2 { point.apply(scalar::ADD, pair) } else { pair[0] })
                .collect();
        }
        for value in values {
            point.store(target, &shape[1..], &At::axes(shape.len() - 1), value, None);
        }
        point.finish();
        self.push(nest);
    }

    fn sum_of_many(&mut self, parts: BufferId, shape: &[u64], target: BufferId) {
        let acc = self.program.buffers[target].dtype.register();
        let grid = shape.len() - 1;
        let mut nest = NestBuilder::new("sum_of_parts", &shape[1..], &shape[..1]);
        let mut reduce = nest.phase(PhaseKind::Reduce, &self.program);
        let at: Vec<At> = [grid].into_iter().chain(0..grid).map(At::Axis).collect();
        let value = reduce.load(&View::whole(parts, shape), &at);
        let fold = reduce.fold(Fold::Sum, value, None);
        let phase = reduce.finish();
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.folded(phase, fold, acc);
        point.store(target, &shape[1..], &At::axes(grid), value, None);
        point.finish();
        self.push(nest);
    }
}

/// A product as a batch of products over equal parts of k, whose results are to be summed; a batch of one if
/// that gains nothing.
///
/// A product of few tiles leaves most of a wide device's units idle. A library would cut it along k as well,
/// and then sum the parts by a kernel of its own; here the sum is a Nest, which fuses with what becomes of
/// the product.
fn cut(product: &Matmul, units: u64) -> Matmul {
    let &Matmul { dtype, m, n, k, .. } = product;
    let tiles = m.div_ceil(TILE).saturating_mul(n.div_ceil(TILE)).max(1);
    // Parts of halves would be rounded before they are summed.
    let most = if dtype.register() == dtype { units.saturating_mul(2) / tiles } else { 1 };
    let light = (m.saturating_add(n)).saturating_mul(k) / m.saturating_mul(n).saturating_mul(LONG).max(1);
    let most = most.min(light.max(PARTS)).min(k / SHORTEST);
    // Parts that start as well aligned as the whole: libraries load vectors.
    let vector = 16 / dtype.size() as u64;
    let starts = |part: u64| part.is_multiple_of(vector) || !k.is_multiple_of(vector);
    let parts = (2..=most).rev().find(|parts| k.is_multiple_of(*parts) && starts(k / parts)).unwrap_or(1);
    let part = k / parts;
    // From one part to the next, along k.
    let next = |step: i64| if parts > 1 { step * part as i64 } else { 0 };
    let (a, b) = (product.a, product.b);
    Matmul {
        batch: parts,
        k: part,
        a: [next(a[2]), a[1], a[2]],
        b: [next(b[1]), b[1], b[2]],
        ..product.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(m: u64, n: u64, k: u64) -> Matmul {
        Matmul { dtype: DType::F32, batch: 1, m, n, k, a: [0, k as i64, 1], b: [0, n as i64, 1], fast: false }
    }

    #[test]
    fn few_tiles_are_cut_along_k() {
        let parts = cut(&plain(512, 500, 784), 132);
        let k = 784 / 4;
        assert_eq!(
            parts,
            Matmul { batch: 4, k, a: [196, 784, 1], b: [98_000, 500, 1], ..plain(512, 500, 784) }
        );
        let left_transposed = Matmul { a: [0, 1, 784], ..plain(784, 500, 512) };
        let parts = cut(&left_transposed, 132);
        assert_eq!(
            parts,
            Matmul { batch: 2, k: 256, a: [256 * 784, 1, 784], b: [128_000, 500, 1], ..left_transposed }
        );
    }

    #[test]
    fn long_sums_of_few_results_are_cut_into_many_parts() {
        let long = plain(20, 25, 288_000);
        let parts = cut(&long, 132);
        assert_eq!((parts.batch, parts.k), (250, 1152));
        assert_eq!(parts.a, [1152, 288_000, 1]);
        // Results that are larger than the factors would be written many times.
        assert_eq!(cut(&plain(64, 64, 800), 132).batch, 8);
    }

    #[test]
    fn what_gains_nothing_or_would_lose_is_left_whole() {
        for whole in [
            plain(1024, 1024, 1024),
            plain(512, 500, 787),
            plain(128, 128, 190),
            Matmul { dtype: DType::F16, ..plain(512, 500, 784) },
        ] {
            assert_eq!(cut(&whole, 132), whole);
        }
        assert_eq!(cut(&plain(512, 500, 784), 0), plain(512, 500, 784), "a device that is not wide");
    }
}
