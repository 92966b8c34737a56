//! Where an array is not zero: positions whose number depends on values.

pub(crate) mod lower;

use super::indexing::number;
use super::methods::fail;
use super::shape::ShapeOf;
use crate::error::{Error, Result};
use crate::fallible;
use crate::graph::Node;
use crate::graph::{TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Gradient, Known, Op};
use crate::value::Value;
use workalike_kernels::DType;
use workalike_kernels::interval::Interval;

/// The error where a device finds other elements than the host expects.
pub(super) const OTHER_COUNT: &str =
    "other elements are not zero on the device than on the host, where the number of them was worked out";

/// The row-major positions at which its input is not zero, in order, as int64. A second input is an array
/// whose axes from `axis` on must have the first one's extents; nothing else of it is looked at.
///
/// The number of positions is worked out on the host, by the reference, from the values that the input is
/// made of; the positions themselves are found on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonZero {
    /// The first axis of the second input, if there is one.
    pub axis: Option<usize>,
}

impl NonZero {
    /// The positions at which `mask` is true along each of its axes, as an index into the axes of `x` from
    /// `axis` on.
    pub(super) fn along(mask: &Variable, x: &Variable, axis: usize) -> Result<Vec<Variable>> {
        let flat = Variable::apply1(NonZero { axis: Some(axis) }, &[mask.clone(), x.clone()])?;
        NonZero::unraveled(&flat, mask)
    }

    /// Positions along each axis of `x` of flat positions.
    pub(super) fn unraveled(flat: &Variable, x: &Variable) -> Result<Vec<Variable>> {
        let extents = (0..x.ndim()).map(|axis| match x.ty().shape[axis] {
            Some(extent) => Ok(number(extent as i64)),
            None => ShapeOf::of(x, axis),
        });
        super::positions::unravel(flat, &extents.collect::<Result<Vec<_>>>()?)
    }

    /// The positions at which any array is not zero.
    pub(super) fn of(x: &Variable) -> Result<Variable> {
        if x.ndim() == 0 {
            return Err(fail("nonzero", "a 0-d array has no axes; compare it with 0".into()));
        }
        Variable::apply1(NonZero { axis: None }, std::slice::from_ref(x))
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
        match dtype.size() {
            1 => some(bytes, u8::MAX),
            2 => some(bytes, u16::MAX >> shift),
            4 => some(bytes, u32::MAX >> shift),
            _ => some(bytes, u64::MAX >> shift),
        }
    }
}

impl Op for NonZero {
    fn id(&self) -> &'static str {
        "nonzero"
    }

    fn attributes(&self) -> Attributes {
        vec![("axis".into(), Attr::Int(self.axis.map_or(-1, |a| a as i64)))]
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let (mask, x) = match (inputs, self.axis) {
            (&[mask], None) => (mask, None),
            (&[mask, x], Some(axis)) => (mask, Some((x, axis))),
            _ => return Err(format!("{} inputs do not fit", inputs.len())),
        };
        if let Some((x, axis)) = x {
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
        Ok(vec![TensorType::of_rank(DType::I64, 1)])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        if let (Some(axis), [mask, x]) = (self.axis, inputs) {
            let along = mask.shape.iter().zip(x.shape.get(axis..).unwrap_or(&[])).enumerate();
            if let Some((at, (have, want))) = along.into_iter().find(|(_, (have, want))| have != want) {
                return Err(mismatch(axis + at, *want, *have));
            }
        }
        let value = inputs[0]
            .value
            .ok_or("its values are not known on the host, and they decide the shape of the result")?;
        // The bytes alone tell; only what is not contiguous is looked at one by one.
        let count = match value.contiguous_bytes() {
            Some(bytes) => workalike_kernels::nonzero::count(value.dtype(), bytes),
            None => NonZero::positions(value).map_err(|e| e.to_string())?.len(),
        };
        Ok(vec![vec![count]])
    }

    fn shape_values(&self) -> Vec<usize> {
        vec![0]
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
