//! Scatters: writes at computed indices.

use super::lower::{has_positions, positions};
use crate::graph::{Def, Node, VarId};
use crate::lower::program::BufferId;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use crate::op::AxisRead;
use crate::value::Value;
use workalike_kernels::library::Scatter;
use workalike_kernels::nest::{Fold, PhaseKind};
use workalike_kernels::ops::ScalarOp;
use workalike_kernels::{DType, ops as scalar};

/// Estimated cost of a contended atomic addition on a CPU, in plain additions. PoCL measured several.
const CONTENDED_ADD: u64 = 8;

/// Most atomic additions in all where the library has a scatter.
const ADDS_IN_ALL: u64 = 1 << 22;

/// Up to this many rows are added atomically, whatever their positions. On an H100 atomic additions to one
/// element take 7 ns each, and a scatter of the library 20 us.
const FEW_ROWS: u64 = 4096;

/// Up to this many rows are added atomically if the table has as many rows. With all of them at one position
/// they take eight times as long as the library's scatter; spread evenly half as long, and with a tenth of
/// them at one position about as long.
const SPREAD_ROWS: u64 = 16_384;

/// Positions `start, start + step, ...` of an index array along one of its axes. None is negative, and no two
/// are equal.
struct PositionRange {
    start: i128,
    step: i128,
    /// Which index array.
    array: usize,
}

/// The axes of an index, as axes of a Nest.
struct IndexAxes {
    /// Extents of the index.
    points: Vec<u64>,
    /// Axes of the index that are grid axes.
    free: Vec<usize>,
    /// Axes of the index that one worker visits in order, since positions may repeat along them.
    ordered: Vec<usize>,
    /// Whether elements are added atomically; no axis is ordered then.
    adds: bool,
}

/// Whether atomic additions of rows to `x` are expected to take less time than the library's scatter. `shape`
/// is that of `x`, whose first `indexed` axes are indexed; `points` are the extents of the index.
fn adds_are_cheaper(shape: &[u64], indexed: usize, points: &[u64]) -> bool {
    let extent = |axes: &[u64]| axes.iter().copied().fold(1, u64::saturating_mul);
    let (places, width, rows) = (extent(&shape[..indexed]), extent(&shape[indexed..]), extent(points));
    rows.saturating_mul(width) <= ADDS_IN_ALL && rows <= FEW_ROWS.max(places.min(SPREAD_ROWS))
}

impl Lowering<'_> {
    /// Deterministic: repeated indices are visited in order by one worker, or the rows are sorted by index.
    /// Axes of the index along which some index array is a range never repeat, so they and the axes of `x`
    /// that are not indexed are grid axes; so is a last one along which positions are distinct.
    ///
    /// If that leaves the device idle, and the device may add to elements in any order, all axes are grid
    /// axes, unless the library's scatter is estimated to be cheaper ([`adds_are_cheaper`]).
    ///
    /// `row` computes the new element from the old one and the value; without it the element is replaced.
    pub(crate) fn scatter(&mut self, row: Option<ScalarOp>, node: &Node, inputs: &[View]) -> Lowered {
        let (x, indices) = (&inputs[0], &inputs[2..]);
        has_positions(x, indices)?;
        let rank = indices[0].shape.len();
        let extent = |axis: usize| indices.iter().map(|v| v.shape[axis]).find(|&e| e != 1).unwrap_or(1);
        let points: Vec<u64> = (0..rank).map(extent).collect();
        let ranges = self.index_ranges(node, indices, &points);
        let everywhere = |axis: usize| {
            ranges[axis].as_ref().filter(|r| r.start == 0 && r.step == 1 && points[axis] == x.shape[r.array])
        };
        if let Some(arrays) = (0..rank).map(|a| everywhere(a).map(|r| r.array)).collect::<Option<Vec<_>>>() {
            return self.scatter_by_choice(row, node, inputs, &points, &arrays);
        }
        let (mut free, mut ordered): (Vec<usize>, Vec<usize>) = (0..rank).partition(|&a| ranges[a].is_some());
        // Ranges name the points but for their place along one axis, where positions may not repeat either.
        if let [axis] = ordered[..]
            && self.is_distinct_index(node, inputs, axis)
        {
            (free, ordered) = ((0..rank).collect(), vec![]);
        }
        if let (None, [], &[count]) = (row, &free[..], &points[..])
            && self.is_in_order(node, &points)
        {
            return self.scatter_in_order(node, inputs, count);
        }
        let rest = x.shape[indices.len()..].iter().copied();
        let workers = free.iter().map(|&a| points[a]).chain(rest).fold(1, u64::saturating_mul);
        let cost = if self.abilities.properties().is_wide() { 1 } else { CONTENDED_ADD };
        let idle = !ordered.is_empty() && workers.saturating_mul(cost) < self.abilities.properties().lanes;
        let dtype = self.program.buffers[x.buffer].dtype;
        let adds = idle && row == Some(scalar::ADD) && self.abilities.adds_to(dtype);
        if free.is_empty()
            && !(adds && adds_are_cheaper(&x.shape, indices.len(), &points))
            && let Some(views) = self.scatter_sorted(row, node, inputs, &points)
        {
            return Ok(views);
        }
        if adds {
            (free, ordered) = ((0..rank).collect(), vec![]);
        }
        self.scatter_nest(row, node, inputs, &IndexAxes { points, free, ordered, adds })
    }

    /// Whether some index array holds distinct positions along an axis of the index.
    fn is_distinct_index(&self, node: &Node, inputs: &[View], axis: usize) -> bool {
        let (x, indices) = (&inputs[0], &inputs[2..]);
        node.inputs[2..].iter().zip(indices).zip(&x.shape).any(|((&id, index), &extent)| {
            // What is negative counts from the end, where another may be already.
            index.shape[axis] > 1
                && self.is_distinct_along(id, axis)
                && self.stays_within(id, 0, extent.into())
        })
    }

    /// For each axis of the index, the range that some index array holds along it. `points` are the extents
    /// of the index.
    fn index_ranges(&self, node: &Node, indices: &[View], points: &[u64]) -> Vec<Option<PositionRange>> {
        let range = |axis: usize| {
            let arrays = node.inputs[2..].iter().zip(indices).enumerate();
            let mut along = arrays.filter(|(_, (_, view))| view.shape[axis] == points[axis]);
            along.find_map(|(array, (&id, _))| {
                self.range_along(id, axis).map(|r| PositionRange { array, ..r })
            })
        };
        (0..points.len()).map(range).collect()
    }

    /// The scatter as a Nest over the index and the axes of `x` that are not indexed.
    fn scatter_nest(
        &mut self,
        row: Option<ScalarOp>,
        node: &Node,
        inputs: &[View],
        axes: &IndexAxes,
    ) -> Lowered {
        let (x, y, indices) = (&inputs[0], &inputs[1], &inputs[2..]);
        let IndexAxes { points, free, ordered, adds } = axes;
        let rest = &x.shape[indices.len()..];
        let grid: Vec<u64> = free.iter().map(|&a| points[a]).chain(rest.iter().copied()).collect();
        let inner: Vec<u64> = ordered.iter().map(|&a| points[a]).collect();
        let position = |axis: usize| match free.iter().position(|&a| a == axis) {
            Some(at) => At::Axis(at),
            None => At::Axis(grid.len() + ordered.iter().position(|&a| a == axis).unwrap_or(0)),
        };
        let index_at: Vec<At> = (0..points.len()).map(position).collect();
        let rest_at = (0..rest.len()).map(|i| At::Axis(free.len() + i));

        let reports = self.check_indices(&node.inputs[2..], indices, &x.shape);
        let target = self.writable_copy(x);
        let number = self.report();
        let mut nest = NestBuilder::new("scatter", &grid, &inner);
        let any_order = *adds || row.is_none() && ordered.is_empty();
        let kind = if any_order { PhaseKind::Point } else { PhaseKind::Ordered };
        let mut phase = nest.phase(kind, &self.program);
        let mut at = positions(&mut phase, indices, &x.shape, points, &index_at, &reports, number);
        at.extend(rest_at.clone());
        let full: Vec<u64> = points.iter().chain(rest).copied().collect();
        let y_at = index_at.iter().copied().chain(rest_at).zip(y.shape.iter().zip(&full));
        let y_at: Vec<At> =
            y_at.map(|(at, (&e, &f))| if e == 1 && f != 1 { At::First } else { at }).collect();
        let mut value = phase.load(y, &y_at);
        let place = View::whole(target, &x.shape);
        if *adds {
            phase.add_view(&place, &at, value);
        } else {
            if let Some(row) = row {
                let old = phase.load(&place, &at);
                value = phase.apply(row, &[old, value]);
            }
            phase.store_view(&place, &at, value);
        }
        phase.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &x.shape)])
    }

    /// The scatter as a library op, if the device has one and there are enough points for its launches.
    fn scatter_sorted(
        &mut self,
        row: Option<ScalarOp>,
        node: &Node,
        inputs: &[View],
        points: &[u64],
    ) -> Option<Vec<View>> {
        let (x, y, indices) = (&inputs[0], &inputs[1], &inputs[2..]);
        let (scatter, brought) = self.library_scatter(row, x, y, points, indices.len())?;
        let lines = &x.shape[..indices.len()];

        let reports = self.check_indices(&node.inputs[2..], indices, lines);
        let target = self.writable_copy(x);
        let number = self.report();
        let places = self.temp(DType::U32, points);
        let mut nest = NestBuilder::new("rows", points, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let here = At::axes(points.len());
        let at = positions(&mut point, indices, lines, points, &here, &reports, number);
        let mut place = point.number(DType::I64, 0);
        for (at, &extent) in at.into_iter().zip(lines) {
            let At::Value(at) = at else { return None };
            let extent = point.number(DType::I64, extent.into());
            place = point.apply(scalar::MUL, &[place, extent]);
            place = point.apply(scalar::ADD, &[place, at]);
        }
        let place = point.convert(place, DType::U32);
        point.store(places, points, &here, place, None);
        point.finish();
        self.push(nest);
        let y = if y.shape == brought { y.clone() } else { y.broadcast(&brought) };
        let y = self.whole(&y);
        self.library_into(scatter, vec![(places, 0), (y, 0)], vec![target])?;
        Some(vec![View::whole(target, &x.shape)])
    }

    /// The library op of a scatter into the first `indexed` axes of `x`, and the shape in which it reads `y`.
    /// None if the device lacks the op, or a Nest is cheaper.
    fn library_scatter(
        &self,
        row: Option<ScalarOp>,
        x: &View,
        y: &View,
        points: &[u64],
        indexed: usize,
    ) -> Option<(Scatter, Vec<u64>)> {
        const MIN_POINTS: u64 = 32;
        let fold = match row {
            None => None,
            Some(op) => Some(
                [Fold::Sum, Fold::Product, Fold::Max, Fold::Min].into_iter().find(|f| f.combine() == op)?,
            ),
        };
        let (lines, rest) = x.shape.split_at(indexed);
        let (over, along) = y.shape.split_at(points.len());
        let [each_row, each_column] = [over, along].map(|own| own.iter().any(|&e| e != 1));
        let product = |extents: &[u64]| extents.iter().try_fold(1u64, |n, &e| n.checked_mul(e));
        let (count, rows, width) = (product(points)?, product(lines)?, product(rest)?);
        let dtype = self.program.buffers[x.buffer].dtype;
        // The op reads one row, or one number per row, for all points. A `y` that repeats in other ways is
        // written out, if that takes no more memory than the table.
        let brought = [(each_row, points), (each_column, rest)];
        let brought: Vec<u64> = brought
            .into_iter()
            .flat_map(|(each, all)| all.iter().map(move |&e| if each { e } else { 1 }))
            .collect();
        let repeats = y.shape != brought && product(&brought)? > product(&x.shape)?;
        let scatter = Scatter { dtype, fold, points: count, rows, width, each_row, each_column };
        let few = count < MIN_POINTS || width == 0;
        if few || repeats || dtype == DType::F64 && fold.is_some() && !self.abilities.properties().f64 {
            return None;
        }
        self.abilities.has(&scatter).then_some((scatter, brought))
    }

    /// The scatter as a choice at each element of `x`, if by the index arrays `arrays` (one for each axis of
    /// the index) every position along their axes is written once: `x[arange(n), y] += v` is `x +
    /// where(j == y[i], v[i], 0)`. It is an elementwise step and writes no more than a copy of `x`.
    fn scatter_by_choice(
        &mut self,
        row: Option<ScalarOp>,
        node: &Node,
        inputs: &[View],
        points: &[u64],
        arrays: &[usize],
    ) -> Lowered {
        let (x, y, indices) = (&inputs[0], &inputs[1], &inputs[2..]);
        let dtype = self.program.buffers[x.buffer].dtype;
        let target = self.temp(dtype, &x.shape);
        let number = self.report();
        let others: Vec<usize> = (0..indices.len()).filter(|k| !arrays.contains(k)).collect();
        let check = |k: &usize| self.check_index_of(node.inputs[2 + k], &indices[*k], x.shape[*k]);
        let reports: Vec<Option<BufferId>> = others.iter().map(check).collect();
        let mut nest = NestBuilder::new("scatter", &x.shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        // Axis `a` of the index lies along dimension `arrays[a]` of `x`.
        let index_at: Vec<At> = arrays.iter().map(|&k| At::Axis(k)).collect();
        let mut chosen = None;
        if !others.is_empty() {
            let asked: Vec<View> = others.iter().map(|&k| indices[k].clone()).collect();
            let extents: Vec<u64> = others.iter().map(|&k| x.shape[k]).collect();
            let places = positions(&mut point, &asked, &extents, points, &index_at, &reports, number);
            for (&k, place) in others.iter().zip(places) {
                let At::Value(place) = place else { continue };
                let here = point.axis(k);
                let same = point.apply(scalar::EQ, &[here, place]);
                chosen = Some(match chosen {
                    Some(before) => point.apply(scalar::AND, &[before, same]),
                    None => same,
                });
            }
        }
        let rest = (indices.len()..x.shape.len()).map(At::Axis);
        let full = points.iter().copied().chain(x.shape[indices.len()..].iter().copied());
        let y_at = index_at.iter().copied().chain(rest).zip(y.shape.iter().zip(full));
        let y_at: Vec<At> = y_at.map(|(at, (&e, f))| if e == 1 && f != 1 { At::First } else { at }).collect();
        let here = At::axes(x.shape.len());
        let mut value = point.load(y, &y_at);
        let old = (row.is_some() || chosen.is_some()).then(|| point.load(x, &here));
        if let (Some(old), Some(row)) = (old, row) {
            value = point.apply(row, &[old, value]);
        }
        value = point.convert(value, dtype);
        if let (Some(old), Some(chosen)) = (old, chosen) {
            value = point.apply(scalar::WHERE, &[chosen, value, old]);
        }
        point.store(target, &x.shape, &here, value, None);
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &x.shape)])
    }

    /// The range that a Var holds along one axis of its shape; its other axes have extent 1.
    fn range_along(&self, id: VarId, axis: usize) -> Option<PositionRange> {
        let fixed = self.shapes.fixed[id as usize].as_ref();
        let value = match (&self.graph.var(id).def, fixed) {
            (_, Some(value)) | (Def::Constant(value), None) => value,
            (Def::Output { node, index: 0 }, None) => {
                let node = &self.graph.nodes[*node as usize];
                let known = self.known_inputs(node);
                return match node.op.axis_read(0, 0, &known) {
                    AxisRead::Passed(to) if to == axis => self.range_along(*node.inputs.first()?, 0),
                    AxisRead::Passed(_) => None,
                    // What is negative counts from the end.
                    _ => match node.op.range(&known)? {
                        [start, step] if axis == 0 && start >= 0 && step >= 1 => {
                            Some(PositionRange { start, step, array: 0 })
                        }
                        _ => None,
                    },
                };
            }
            _ => return None,
        };
        let along = value.shape().iter().enumerate().all(|(a, &extent)| a == axis || extent == 1);
        if along { range_in(value) } else { None }
    }
}

/// The range that an integer array is, in order.
fn range_in(value: &Value) -> Option<PositionRange> {
    if !value.dtype().is_integer() {
        return None;
    }
    let list: Vec<i128> = value.scalars().map(|s| s.to_i128()).collect();
    let start = *list.first()?;
    let step = list.get(1).map_or(1, |second| second - start);
    let regular = list.windows(2).all(|pair| pair[1] - pair[0] == step);
    (start >= 0 && step >= 1 && regular).then_some(PositionRange { start, step, array: 0 })
}
