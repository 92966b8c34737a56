//! Slots: what an index expression takes along each axis, in static types and in numbers.

use crate::error::{Result, shape_text};
use crate::graph::TensorType;
use crate::op::{Attr, Known};
use crate::value::Value;
use workalike_kernels::DType;

/// A bound of a slice, or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// Left out.
    Open,
    /// Known when the graph is built; negative counts from the end.
    At(i64),
    /// The value of this further input, a 0-d int64.
    Input(usize),
}

/// The selection along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// One position; the axis disappears.
    Index(Bound),
    /// Every `step`-th from `start` to before `stop`, with Python's rules.
    Slice {
        /// Where it starts.
        start: Bound,
        /// Where it stops.
        stop: Bound,
        /// Not 0.
        step: i64,
    },
}

/// What a slot takes from an axis, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotRange {
    pub(crate) start: i64,
    pub(crate) step: i64,
    /// `None` for an index.
    pub(crate) len: Option<usize>,
}

/// Python's slice arithmetic on one axis.
fn slice_indices(start: Option<i64>, stop: Option<i64>, step: i64, extent: usize) -> (i64, usize) {
    let n = extent as i64;
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let clamp = |bound: Option<i64>, open: i64| match bound {
        None => open,
        Some(b) => (if b < 0 { b.saturating_add(n) } else { b }).clamp(low, high),
    };
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let (start, stop) = (clamp(start, first), clamp(stop, last));
    let span = if step > 0 { stop - start } else { start - stop };
    let len = if span <= 0 { 0 } else { (span - 1) / step.saturating_abs() + 1 };
    (start, len as usize)
}

impl Slot {
    /// Which axis of what is taken an axis is, if all of it is.
    pub(crate) fn kept_axis(slots: &[Slot], axis: usize) -> Option<usize> {
        let all = Slot::Slice { start: Bound::Open, stop: Bound::Open, step: 1 };
        let before = slots.iter().take(axis).filter(|slot| matches!(slot, Slot::Index(_))).count();
        slots.get(axis).is_none_or(|slot| *slot == all).then_some(axis - before)
    }

    /// The positions selected on each axis; `bound` gives the values of the bounds.
    pub(crate) fn take(
        slots: &[Slot],
        shape: &[usize],
        bound: impl Fn(Bound) -> Result<Option<i64>, String>,
    ) -> Result<Vec<SlotRange>, String> {
        if slots.len() > shape.len() {
            return Err(format!("{} indices for shape {}", slots.len(), shape_text(shape)));
        }
        let whole = Slot::Slice { start: Bound::Open, stop: Bound::Open, step: 1 };
        (0..shape.len())
            .map(|axis| match *slots.get(axis).unwrap_or(&whole) {
                Slot::Index(at) => {
                    let given = bound(at)?.ok_or("an index is left out")?;
                    let start = if given < 0 { given + shape[axis] as i64 } else { given };
                    if !(0..shape[axis] as i64).contains(&start) {
                        let extent = shape[axis];
                        return Err(format!(
                            "index {given} is out of bounds for axis {axis} with extent {extent}"
                        ));
                    }
                    Ok(SlotRange { start, step: 0, len: None })
                }
                Slot::Slice { step: 0, .. } => Err("the step of a slice is 0".into()),
                Slot::Slice { start, stop, step } => {
                    let (start, len) = slice_indices(bound(start)?, bound(stop)?, step, shape[axis]);
                    Ok(SlotRange { start, step, len: Some(len) })
                }
            })
            .collect()
    }

    fn bounds(&self) -> [Bound; 2] {
        match *self {
            Slot::Index(at) => [at, Bound::Open],
            Slot::Slice { start, stop, .. } => [start, stop],
        }
    }

    /// Positions (among the further inputs) of the bounds that are inputs; with `slices_only`, only those
    /// that decide extents.
    pub(super) fn inputs(slots: &[Slot], slices_only: bool) -> Vec<usize> {
        let chosen = slots.iter().filter(|s| !slices_only || matches!(s, Slot::Slice { .. }));
        let bounds = chosen.flat_map(Slot::bounds);
        bounds.filter_map(|b| if let Bound::Input(i) = b { Some(i) } else { None }).collect()
    }

    pub(in crate::ops) fn encode(slots: &[Slot]) -> Attr {
        let mut codes = Vec::new();
        let bound = |codes: &mut Vec<i64>, b: Bound| match b {
            Bound::Open => codes.extend([0, 0]),
            Bound::At(n) => codes.extend([1, n]),
            Bound::Input(i) => codes.extend([2, i as i64]),
        };
        for slot in slots {
            match *slot {
                Slot::Index(at) => {
                    codes.extend([0, 0]);
                    bound(&mut codes, at);
                    bound(&mut codes, Bound::Open);
                }
                Slot::Slice { start, stop, step } => {
                    codes.extend([1, step]);
                    bound(&mut codes, start);
                    bound(&mut codes, stop);
                }
            }
        }
        Attr::Ints(codes)
    }

    pub(in crate::ops) fn decode(codes: &[i64]) -> Result<Vec<Slot>, String> {
        let bound = |kind: i64, n: i64| match kind {
            0 => Ok(Bound::Open),
            1 => Ok(Bound::At(n)),
            2 if n >= 0 => Ok(Bound::Input(n as usize)),
            _ => Err(format!("unknown bound {kind}")),
        };
        if !codes.len().is_multiple_of(6) {
            return Err("slots are not in sixes".into());
        }
        codes
            .chunks_exact(6)
            .map(|c| match c[0] {
                0 => Ok(Slot::Index(bound(c[2], c[3])?)),
                1 => Ok(Slot::Slice { start: bound(c[2], c[3])?, stop: bound(c[4], c[5])?, step: c[1] }),
                kind => Err(format!("unknown slot {kind}")),
            })
            .collect()
    }

    /// Checks the bounds' types; `first` further inputs come before them.
    pub(super) fn check(slots: &[Slot], inputs: &[&TensorType], first: usize) -> Result<(), String> {
        let used = Slot::inputs(slots, false);
        if inputs.len() < first || used.iter().any(|&i| first + i >= inputs.len()) {
            return Err("a bound names an input that is not there".into());
        }
        if let Some(other) = inputs[first..].iter().find(|t| t.dtype != DType::I64 || t.ndim() != 0) {
            return Err(format!("bounds must be int64(), got {other}"));
        }
        if slots.len() > inputs[0].ndim() {
            return Err(format!("{} indices for {}", slots.len(), inputs[0]));
        }
        if slots.iter().any(|s| matches!(s, Slot::Slice { step: 0, .. } | Slot::Index(Bound::Open))) {
            return Err("a step of 0, or an index left out".into());
        }
        Ok(())
    }

    /// The static type of `x[slots]`.
    pub(super) fn taken_type(slots: &[Slot], x: &TensorType) -> Result<TensorType, String> {
        let mut shape = Vec::new();
        for (axis, &extent) in x.shape.iter().enumerate() {
            match slots.get(axis) {
                None => shape.push(extent),
                Some(slot @ Slot::Index(_)) => {
                    if let (Slot::Index(Bound::At(_)), Some(extent)) = (slot, extent) {
                        Slot::take(&[*slot], &[extent], fixed_bound)
                            .map_err(|e| format!("{e} (axis {axis} of {x})"))?;
                    }
                }
                Some(slot @ Slot::Slice { .. }) => {
                    let fixed = Slot::inputs(&[*slot], false).is_empty();
                    let open = *slot == Slot::Slice { start: Bound::Open, stop: Bound::Open, step: 1 };
                    shape.push(match extent {
                        Some(extent) if fixed => Slot::take(&[*slot], &[extent], fixed_bound)?[0].len,
                        _ if open => extent,
                        _ => None,
                    });
                }
            }
        }
        Ok(TensorType::new(x.dtype, shape))
    }
}

fn fixed_bound(bound: Bound) -> Result<Option<i64>, String> {
    match bound {
        Bound::Open => Ok(None),
        Bound::At(n) => Ok(Some(n)),
        Bound::Input(_) => Err("a bound is not known".into()),
    }
}

/// A bound's value from the inputs; `first` is the position of the first bound among them.
pub(super) fn known_bound<'a>(
    inputs: &'a [Known<'a>],
    first: usize,
) -> impl Fn(Bound) -> Result<Option<i64>, String> + 'a {
    move |bound| match bound {
        Bound::Input(i) => {
            let scalar = inputs.get(first + i).and_then(|k| k.value).and_then(Value::to_scalar);
            Ok(Some(scalar.ok_or("a bound is not known on the host")?.to_i128() as i64))
        }
        fixed => fixed_bound(fixed),
    }
}

/// The shape that slots take of another. An index does not decide it, and its value may be known only on the
/// device.
pub(super) fn taken_shape(
    slots: &[Slot],
    shape: &[usize],
    known: impl Fn(Bound) -> Result<Option<i64>, String>,
) -> Result<Vec<usize>, String> {
    let whole = Slot::Slice { start: Bound::Open, stop: Bound::Open, step: 1 };
    let mut taken = Vec::new();
    for (axis, &extent) in shape.iter().enumerate() {
        let slot = *slots.get(axis).unwrap_or(&whole);
        if let Slot::Slice { .. } = slot {
            taken.extend(Slot::take(&[slot], &[extent], &known)?[0].len);
        } else if extent == 0 {
            return Err(format!("an index into axis {axis}, which is empty"));
        }
    }
    Ok(taken)
}

/// The positions of inputs that are single indices, if the inputs of slots start at `first`.
pub(super) fn single_indices(slots: &[Slot], first: usize, count: usize) -> Vec<usize> {
    let inputs = slots.iter().filter_map(|slot| match slot {
        Slot::Index(Bound::Input(input)) => Some(first + input),
        _ => None,
    });
    inputs.filter(|&input| input < count).collect()
}

#[cfg(test)]
mod tests {
    use super::slice_indices;

    #[test]
    fn slices_follow_python() {
        // list(range(5))[start:stop:step] -> first index and length, from CPython's slice.indices
        for (start, stop, step, want) in [
            (None, None, 1, (0, 5)),
            (None, None, -1, (4, 5)),
            (Some(-3), None, 1, (2, 3)),
            (Some(1), Some(100), 2, (1, 2)),
            (Some(4), Some(1), 1, (4, 0)),
            (Some(10), Some(-10), -2, (4, 3)),
            (Some(-100), Some(3), 1, (0, 3)),
        ] {
            assert_eq!(slice_indices(start, stop, step, 5), want, "{start:?} {stop:?} {step}");
        }
        assert_eq!(slice_indices(None, None, 1, 0).1, 0);
        assert_eq!(slice_indices(None, None, -1, 0).1, 0);
    }
}
