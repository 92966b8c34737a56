//! Index expressions by NumPy's rules, as compositions: a basic part (a view), its axes in the order that
//! gathers and scatters want (a view, too), and one gather or scatter.

use super::advanced_fold::AdvancedFold;
use super::advanced_indexing::{AdvancedIncSubtensor, AdvancedSubtensor};
use super::elementwise_methods::where_;
use super::elemwise::{broadcast_types, cast, elemwise};
use super::index_expression::{Ix, slots_of};
use super::methods::fail;
use super::nonzero::NonZero;
use super::shape::DimShuffle;
use super::specify_shape::SpecifyShape;
use super::subtensor::{IncSubtensor, Subtensor};
use crate::error::{Error, Result};
use crate::graph::{Operand, TensorType, Variable};
use crate::value::Value;
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::{self as scalar, ScalarOp};

/// How an element is changed by a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    /// It is replaced.
    Set,
    /// The value is added to it.
    Add,
    /// It is folded with the value: product, maximum or minimum.
    Fold(Fold),
}

impl Combine {
    /// The row that computes the new element from the old one and the value; `None` if it is replaced.
    pub(super) fn row(self) -> Option<ScalarOp> {
        match self {
            Combine::Set => None,
            Combine::Add => Some(scalar::ADD),
            Combine::Fold(fold) => Some(AdvancedFold { fold }.row()),
        }
    }

    fn of(self, old: &Variable, value: &Variable) -> Result<Variable> {
        match self.row() {
            None => Ok(value.clone()),
            Some(row) => {
                elemwise(row, vec![Operand::Variable(old.clone()), Operand::Variable(value.clone())])
            }
        }
    }
}

/// A boolean array of an expression.
struct Mask {
    /// The first axis of the basic part that it indexes.
    at: usize,
    array: Variable,
}

/// An index expression taken apart.
struct IndexPlan {
    /// The selection along each axis by numbers and slices; axes that arrays index are whole.
    basic: Vec<Ix>,
    /// The number of axes of the basic part.
    kept: usize,
    /// The axes of the basic part that arrays index, and the arrays, of one rank.
    arrays: Vec<(usize, Variable)>,
    /// The other axes of the result: an axis of the basic part, or a new one.
    rest: Vec<Option<usize>>,
    /// How many of these stand before the arrays' axes in the result.
    before: usize,
    /// The boolean arrays.
    masks: Vec<Mask>,
}

impl IndexPlan {
    fn of(x: &Variable, entries: &[Ix]) -> Result<IndexPlan> {
        check(x, entries)?;
        let open = x.ndim() - entries.iter().map(Ix::axes).sum::<usize>();
        let first = adjacent_arrays(entries);
        let mut plan =
            IndexPlan { basic: vec![], kept: 0, arrays: vec![], rest: vec![], before: 0, masks: vec![] };
        let end = entries.iter().all(|e| !matches!(e, Ix::Ellipsis)).then_some(Ix::Ellipsis);
        for (at, entry) in entries.iter().chain(&end).enumerate() {
            if first == Some(at) {
                plan.before = plan.rest.len();
            }
            plan.push(x, entry, open)?;
        }
        plan.align_arrays()?;
        Ok(plan)
    }

    /// Adds an entry. An ellipsis stands for `open` axes.
    fn push(&mut self, x: &Variable, entry: &Ix, open: usize) -> Result<()> {
        match entry {
            Ix::At(v) if v.ndim() == 0 => self.basic.push(entry.clone()),
            Ix::At(v) => {
                let axis = self.basic.len();
                let positions = if v.dtype() == DType::Bool {
                    self.masks.push(Mask { at: self.kept, array: v.clone() });
                    NonZero::along(v, x, axis)?
                } else {
                    in_bounds(v, x, axis)?;
                    vec![v.clone()]
                };
                for positions in positions {
                    self.basic.push(Ix::whole());
                    self.arrays.push((self.kept, positions));
                    self.kept += 1;
                }
            }
            Ix::Slice { .. } => {
                self.basic.push(entry.clone());
                self.rest.push(Some(self.kept));
                self.kept += 1;
            }
            Ix::NewAxis => self.rest.push(None),
            Ix::Ellipsis => {
                for _ in 0..open {
                    self.basic.push(Ix::whole());
                    self.rest.push(Some(self.kept));
                    self.kept += 1;
                }
            }
        }
        Ok(())
    }

    /// Gives the arrays one rank, and checks that they broadcast.
    fn align_arrays(&mut self) -> Result<()> {
        let rank = self.rank();
        for (_, array) in &mut self.arrays {
            *array = DimShuffle::pad_left(array, rank)?;
        }
        let types: Vec<&TensorType> = self.arrays.iter().map(|a| a.1.ty()).collect();
        if broadcast_types(&types).is_err() {
            let all: Vec<String> = types.iter().map(|t| t.to_string()).collect();
            let message = format!("indexing arrays could not be broadcast together: {}", all.join(", "));
            return Err(fail("index", message));
        }
        Ok(())
    }

    /// The boolean array, if it is the only array of the expression.
    fn only_mask(&self) -> Option<&Mask> {
        match self.masks.as_slice() {
            [mask] if mask.array.ndim() == self.arrays.len() => Some(mask),
            _ => None,
        }
    }

    /// The number of axes of the arrays.
    fn rank(&self) -> usize {
        self.arrays.iter().map(|a| a.1.ndim()).max().unwrap_or(0)
    }

    /// The slots of the basic part and their bounds; no slots if it is everything.
    fn slots(&self) -> Result<(Vec<super::Slot>, Vec<Variable>)> {
        let whole = self.basic.iter().rev().take_while(|e| e.is_whole()).count();
        slots_of(&self.basic[..self.basic.len() - whole])
    }

    fn basic_part(&self, x: &Variable) -> Result<Variable> {
        let (slots, bounds) = self.slots()?;
        if slots.is_empty() {
            return Ok(x.clone());
        }
        let inputs: Vec<Variable> = std::iter::once(x.clone()).chain(bounds).collect();
        Variable::apply1(Subtensor { slots }, &inputs)
    }

    /// `x` with its basic part replaced.
    fn with_basic_part(&self, x: &Variable, part: &Variable) -> Result<Variable> {
        let (slots, bounds) = self.slots()?;
        if slots.is_empty() {
            return Ok(part.clone());
        }
        let inputs: Vec<Variable> = [x, part].into_iter().cloned().chain(bounds).collect();
        Variable::apply1(IncSubtensor { slots, set: true }, &inputs)
    }

    /// Where axis `at` of `rest` stands in the result.
    fn place(&self, at: usize) -> usize {
        if at < self.before { at } else { at + self.rank() }
    }

    /// The axes of the basic part in the order in which arrays come first.
    fn arrays_first(&self) -> Vec<usize> {
        self.arrays.iter().map(|a| a.0).chain(self.rest.iter().flatten().copied()).collect()
    }

    /// `y` with the result's number of axes; the axes that the result adds have extent 1.
    fn fitted(&self, y: &Variable) -> Result<Variable> {
        let rank = self.rest.len() + self.rank();
        if y.ndim() > rank {
            let message = format!("{} does not broadcast to a part of {rank} axes", y.ty());
            return Err(fail("index", message));
        }
        let y = DimShuffle::pad_left(y, rank)?;
        let mut extents = vec![None; rank];
        for (at, axis) in self.rest.iter().enumerate() {
            if axis.is_none() && y.ty().shape[self.place(at)] != Some(1) {
                extents[self.place(at)] = Some(1);
            }
        }
        if extents.iter().all(Option::is_none) {
            Ok(y)
        } else {
            Variable::apply1(SpecifyShape { extents }, &[y])
        }
    }
}

/// The position of the first array, if all arrays are adjacent: the result has their axes in its place, else
/// first of all. As in NumPy, a number counts as an array where there are arrays.
fn adjacent_arrays(entries: &[Ix]) -> Option<usize> {
    if !entries.iter().any(|e| matches!(e, Ix::At(v) if v.ndim() > 0)) {
        return None;
    }
    let is_array = |entry: &Ix| matches!(entry, Ix::At(_));
    let (first, last) = (entries.iter().position(is_array)?, entries.iter().rposition(is_array)?);
    entries[first..=last].iter().all(is_array).then_some(first)
}

/// Refuses entries that cannot index `x`.
fn check(x: &Variable, entries: &[Ix]) -> Result<()> {
    for entry in entries {
        let Ix::At(v) = entry else { continue };
        let dtype = v.checked()?.dtype();
        if !dtype.is_integer() && dtype != DType::Bool {
            let message = format!(
                "{} is no index: only integers, slices (`..`), ELLIPSIS, NEWAXIS and integer or boolean arrays are",
                v.ty()
            );
            return Err(fail("index", message));
        }
        if dtype == DType::Bool && v.ndim() == 0 {
            return Err(fail(
                "index",
                "a boolean array that is an index has at least one axis; choose by where_".into(),
            ));
        }
    }
    if entries.iter().filter(|e| matches!(e, Ix::Ellipsis)).count() > 1 {
        return Err(fail("index", "an index can only have a single ELLIPSIS".into()));
    }
    let used: usize = entries.iter().map(Ix::axes).sum();
    if used > x.ndim() {
        let message = format!("too many indices: {} has {} axes, but {used} were indexed", x.ty(), x.ndim());
        return Err(fail("index", message));
    }
    Ok(())
}

/// Refuses constant positions that are out of range.
fn in_bounds(array: &Variable, x: &Variable, axis: usize) -> Result<()> {
    let (Some(value), Some(extent)) = (array.constant_value(), x.ty().shape[axis]) else { return Ok(()) };
    let n = extent as i128;
    match value.scalars().map(|s| s.to_i128()).find(|at| !(-n..n).contains(at)) {
        Some(at) => Err(fail(
            "index",
            format!("index {at} is out of bounds for axis {axis} with extent {extent} of {}", x.ty()),
        )),
        None => Ok(()),
    }
}

/// Axes in another order; `x` itself if the order is the same.
fn shuffled(x: &Variable, order: Vec<Option<usize>>) -> Result<Variable> {
    if order.len() == x.ndim() && order.iter().enumerate().all(|(at, &axis)| axis == Some(at)) {
        return Ok(x.clone());
    }
    DimShuffle::of(x, order)
}

/// `x[entries]`.
pub(super) fn read(x: &Variable, entries: &[Ix]) -> Result<Variable> {
    let plan = IndexPlan::of(x, entries)?;
    let part = plan.basic_part(x)?;
    if plan.arrays.is_empty() {
        return shuffled(&part, plan.rest);
    }
    let rank = plan.rank();
    let first = plan.arrays.iter().map(|a| Some(a.0));
    let part = shuffled(&part, first.chain(plan.rest.iter().copied()).collect())?;
    let arrays = plan.arrays.iter().map(|a| a.1.clone());
    let inputs: Vec<Variable> = std::iter::once(part).chain(arrays).collect();
    let taken = Variable::apply1(AdvancedSubtensor, &inputs)?;
    let order = (rank..rank + plan.before).chain(0..rank).chain(rank + plan.before..taken.ndim());
    shuffled(&taken, order.map(Some).collect())
}

/// `x` with `x[entries]` combined with `y`.
pub(super) fn write(x: &Variable, entries: &[Ix], y: Operand, how: Combine) -> Result<Variable> {
    let y = Operand::resolve(vec![Operand::Variable(x.clone()), y]).swap_remove(1);
    let y = cast(y.checked()?, x.dtype())?;
    let plan = IndexPlan::of(x, entries)?;
    let y = plan.fitted(&y)?;
    if let Some(chosen) = by_choice(&plan, x, &y, how)? {
        return Ok(chosen);
    }
    let rank = plan.rank();
    let rest = (0..plan.rest.len()).filter(|&at| plan.rest[at].is_some()).map(|at| plan.place(at));
    let y = shuffled(&y, (plan.before..plan.before + rank).chain(rest).map(Some).collect())?;
    if plan.arrays.is_empty() {
        let (slots, bounds) = plan.slots()?;
        let (y, set) = match how {
            Combine::Set => (y, true),
            Combine::Add => (y, false),
            Combine::Fold(_) => (how.of(&plan.basic_part(x)?, &y)?, true),
        };
        let inputs: Vec<Variable> = [x.clone(), y].into_iter().chain(bounds).collect();
        return Variable::apply1(IncSubtensor { slots, set }, &inputs);
    }
    let order = plan.arrays_first();
    let part = shuffled(&plan.basic_part(x)?, order.iter().copied().map(Some).collect())?;
    let arrays = plan.arrays.iter().map(|a| a.1.clone());
    let inputs: Vec<Variable> = [part, y].into_iter().chain(arrays).collect();
    let written = match how {
        Combine::Set => Variable::apply1(AdvancedIncSubtensor { set: true }, &inputs)?,
        Combine::Add => Variable::apply1(AdvancedIncSubtensor { set: false }, &inputs)?,
        Combine::Fold(fold) => Variable::apply1(AdvancedFold { fold }, &inputs)?,
    };
    let back = (0..order.len()).map(|axis| order.iter().position(|&o| o == axis));
    plan.with_basic_part(x, &shuffled(&written, back.collect())?)
}

/// If a boolean array is the only array, and the value does not differ along its axis: a choice at each
/// element. Its shapes depend on no values.
fn by_choice(plan: &IndexPlan, x: &Variable, y: &Variable, how: Combine) -> Result<Option<Variable>> {
    let Some(Mask { at, array }) = plan.only_mask() else { return Ok(None) };
    if y.ty().shape[plan.before] != Some(1) {
        return Ok(None);
    }
    let part = plan.basic_part(x)?;
    let mask: Vec<Option<usize>> =
        (0..part.ndim()).map(|axis| axis.checked_sub(*at).filter(|&a| a < array.ndim())).collect();
    let order = (0..part.ndim()).map(|axis| {
        let at = plan.rest.iter().position(|&r| r == Some(axis));
        at.map(|at| plan.place(at))
    });
    let y = shuffled(y, order.collect())?;
    let mask = DimShuffle::of(array, mask)?;
    // An axis of extent 1 must not broadcast the mask, nor the value the array.
    let narrow = |v: &Variable, axis: usize| v.ty().shape[axis] == Some(1);
    let fits = (0..part.ndim()).all(|axis| {
        let asked = plan.rest.contains(&Some(axis));
        if asked {
            !narrow(&part, axis) || narrow(&y, axis)
        } else {
            narrow(&mask, axis) == narrow(&part, axis)
        }
    });
    if !fits {
        return Ok(None);
    }
    let chosen = where_(mask, how.of(&part, &y)?, &part);
    plan.with_basic_part(x, chosen.checked()?).map(Some)
}

/// A 0-d int64 constant.
pub(super) fn number(value: i64) -> Variable {
    Variable::constant(Value::from(value))
}

/// The internal error for an op with too few outputs.
pub(super) fn missing(op: &str) -> Error {
    Error::Internal(format!("{op} lacks an output"))
}
