//! Where an array is not zero: positions whose number depends on values.

pub(crate) mod lower;

use super::axes::over;
use super::indexing::number;
use super::methods::fail;
use super::shape::ShapeOf;
use crate::error::{Error, Result};
use crate::fallible;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Gradient, Holds, Known, Op};
use crate::value::Value;
use workalike_kernels::interval::Interval;
use workalike_kernels::{DType, Width};

/// The error where a device finds other elements than the host expects.
pub(super) const OTHER_COUNT: &str =
    "other elements are not zero on the device than on the host, where the number of them was worked out";

/// The row-major positions at which its input is not zero, in order, as int64. A second input is an array
/// whose axes from `axis` on must have the first one's extents; nothing else of it is looked at. A last input
/// is the number of positions, an int64.
///
/// The number is known before the call: a reduction, so that a device computes it. Without that input the
/// reference counts on the host, from the values that the first input is made of. The positions themselves
/// are found on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonZero {
    /// The first axis of the second input, if there is one.
    pub axis: Option<usize>,
    /// Whether the number of positions is an input.
    pub counted: bool,
}

impl NonZero {
    /// The positions at which `mask` is true along each of its axes, as an index into the axes of `x` from
    /// `axis` on.
    pub(super) fn along(mask: &Variable, x: &Variable, axis: usize) -> Result<Vec<Variable>> {
        let op = NonZero { axis: Some(axis), counted: true };
        let flat = Variable::apply1(op, &[mask.clone(), x.clone(), NonZero::count(mask)?])?;
        NonZero::unraveled(&flat, mask)
    }

    /// Positions along each axis of `x` of flat positions.
    pub(super) fn unraveled(flat: &Variable, x: &Variable) -> Result<Vec<Variable>> {
        let extents = (0..x.ndim()).map(|axis| match x.ty().shape[axis] {
            Some(extent) => Ok(number(extent as i64)),
            None => ShapeOf::of(x, axis),
        });
        super::index_routines::unravel(flat, &extents.collect::<Result<Vec<_>>>()?)
    }

    /// The positions at which any array is not zero.
    pub(super) fn of(x: &Variable) -> Result<Variable> {
        if x.ndim() == 0 {
            return Err(fail("nonzero", "a 0-d array has no axes; compare it with 0".into()));
        }
        Variable::apply1(NonZero { axis: None, counted: true }, &[x.clone(), NonZero::count(x)?])
    }

    /// How many elements of `x` are not zero, as int64.
    fn count(x: &Variable) -> Result<Variable> {
        let there = if x.dtype() == DType::Bool { x.clone() } else { x.try_not_equal(0)? };
        there.try_sum(over(..).dtype(DType::I64))
    }

    /// The first input, the array beside it, and the number of positions.
    fn inputs<'i, T>(&self, inputs: &'i [T]) -> Result<(&'i T, Option<&'i T>, Option<&'i T>), String> {
        let unfit = || format!("{} inputs do not fit", inputs.len());
        let (count, rest) = match inputs.split_last() {
            Some((count, rest)) if self.counted => (Some(count), rest),
            _ => (None, inputs),
        };
        match (rest, self.axis) {
            ([mask], None) => Ok((mask, None, count)),
            ([mask, x], Some(_)) => Ok((mask, Some(x), count)),
            _ => Err(unfit()),
        }
    }

    fn positions(value: &Value) -> Result<Vec<i64>> {
        /// The positions of elements whose bits under `mask`, all but the sign, are not 0.
        fn some<T: bytemuck::AnyBitPattern + std::ops::BitAnd<Output = T> + PartialEq>(
            bytes: &[u8],
            mask: T,
        ) -> Result<Vec<i64>> {
            let zero = T::zeroed();
            let all = bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned::<T>);
            fallible::collected(
                all.enumerate().filter(|(_, bits)| *bits & mask != zero).map(|(at, _)| at as i64),
            )
        }
        let (whole, dtype) = (value.contiguous()?, value.dtype());
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        // A zero may have a sign.
        let shift = u32::from(dtype.is_float());
        match dtype.width() {
            Width::Bits8 => some(bytes, u8::MAX),
            Width::Bits16 => some(bytes, u16::MAX >> shift),
            Width::Bits32 => some(bytes, u32::MAX >> shift),
            Width::Bits64 => some(bytes, u64::MAX >> shift),
            Width::Bits128 => some(bytes, u128::MAX),
        }
    }
}

impl Op for NonZero {
    fn id(&self) -> &'static str {
        "nonzero"
    }

    fn attributes(&self) -> Attributes {
        vec![
            ("axis".into(), Attr::Int(self.axis.map_or(-1, |a| a as i64))),
            ("counted".into(), Attr::Int(i64::from(self.counted))),
        ]
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let (mask, x, count) = self.inputs(inputs)?;
        if let Some((axis, x)) = self.axis.zip(x) {
            if axis + mask.ndim() > x.ndim() {
                return Err(format!("{mask} has too many axes to index {x} from axis {axis} on"));
            }
            for (at, (have, want)) in mask.shape.iter().zip(&x.shape[axis..]).enumerate() {
                if let (Some(have), Some(want)) = (have, want)
                    && have != want
                {
                    return Err(mismatch(axis + at, *want, *have));
                }
            }
        }
        if let Some(count) = count.filter(|count| count.dtype != DType::I64 || count.ndim() != 0) {
            return Err(format!("{count} is no number of positions, which is an int64 without axes"));
        }
        Ok(vec![TensorType::of_rank(DType::I64, 1)])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let (mask, x, count) = self.inputs(inputs)?;
        if let Some((axis, x)) = self.axis.zip(x) {
            let along = mask.shape.iter().zip(x.shape.get(axis..).unwrap_or(&[])).enumerate();
            if let Some((at, (have, want))) = along.into_iter().find(|(_, (have, want))| have != want) {
                return Err(mismatch(axis + at, *want, *have));
            }
        }
        const UNKNOWN: &str = "its values are not known on the host, and they decide the shape of the result";
        if let Some(count) = count {
            let len: usize = mask.shape.iter().product();
            let count = count.value.and_then(Value::to_scalar).ok_or(UNKNOWN)?.to_i128();
            let fits = usize::try_from(count).ok().filter(|count| *count <= len);
            let count = fits.ok_or_else(|| format!("{count} of {len} elements cannot be other than zero"))?;
            return Ok(vec![vec![count]]);
        }
        let value = mask.value.ok_or(UNKNOWN)?;
        // The bytes alone tell; only what is not contiguous is looked at one by one.
        let count = match value.contiguous_bytes() {
            Some(bytes) => workalike_kernels::nonzero::count(value.dtype(), bytes),
            None => NonZero::positions(value).map_err(|e| e.to_string())?.len(),
        };
        Ok(vec![vec![count]])
    }

    fn shape_values(&self) -> Vec<usize> {
        let count = 1 + usize::from(self.axis.is_some());
        vec![if self.counted { count } else { 0 }]
    }

    fn read_inputs(&self, count: usize) -> usize {
        if self.counted { count.saturating_sub(1) } else { count }
    }

    fn trouble(&self) -> String {
        OTHER_COUNT.into()
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None; at.inputs.len()])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let known: Vec<Known> = inputs.iter().map(Known::of).collect();
        self.shapes(&known).map_err(|m| Error::mismatch("nonzero", "shapes that fit", m))?;
        let positions = NonZero::positions(&inputs[0])?;
        Ok(vec![Value::from_vec(&[positions.len()], positions)?])
    }

    fn results_are_new(&self) -> bool {
        true
    }

    fn element_bounds(&self, _: usize, inputs: &[Known], _: &[Interval], _: &[usize]) -> Option<Interval> {
        let len: usize = inputs.first()?.shape.iter().product();
        Some(Interval::new(DType::I64, 0.0, len as f64 - 1.0))
    }

    fn distinct_along(&self, _: usize, _: usize) -> Holds {
        Holds::Always
    }

    fn ascends_along(&self, _: usize, _: usize, _: &[Known], _: &[Interval]) -> Holds {
        Holds::Always
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

fn mismatch(axis: usize, want: usize, have: usize) -> String {
    format!(
        "the boolean index does not match the indexed array along axis {axis}: its extent is {}, that of the boolean array {}",
        want, have
    )
}
