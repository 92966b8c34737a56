//! The op of all Fourier transforms.

use super::lower;
use super::options::to_reals;
use super::transform::ArrayTransform;
use crate::error::{Error, Result};
use crate::fallible;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Batch, BatchedOutputs, Gradient, Known, Op, expect_inputs};
use crate::ops::array_manipulation::extent;
use crate::ops::batching::only;
use crate::ops::creation::arange;
use crate::ops::elementwise_methods::where_;
use crate::ops::shape::{DimShuffle, Extent};
use crate::value::Value;
use workalike_kernels::DType;
use workalike_kernels::library::{self, DefinitionError, Fourier, InMemory};

/// Which transform. None is scaled: an inverse of a forward transform is the input times the number of its
/// elements. A complex number is a pair, real part first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// `y[k] = sum over j of x[j] exp(-2 pi i j k / n)`, of complex numbers.
    Forward,
    /// The same with `exp(+2 pi i j k / n)`.
    Inverse,
    /// [`Transform::Forward`] of real numbers: the first `n / 2 + 1` elements along the last axis.
    RealForward,
    /// [`Transform::Inverse`] to so many real numbers, from the first `n / 2 + 1` elements, along one axis.
    /// The imaginary parts of elements 0 and, if `n` is even, `n / 2` are not read. The extent is not
    /// [`Extent::Infer`].
    RealInverse(Extent),
}

impl Transform {
    /// As library ops name it.
    pub(super) fn in_library(self) -> library::FourierKind {
        match self {
            Transform::Forward => library::FourierKind::Forward,
            Transform::Inverse => library::FourierKind::Inverse,
            Transform::RealForward => library::FourierKind::RealForward,
            Transform::RealInverse(_) => library::FourierKind::RealInverse,
        }
    }
}

/// A Fourier transform along the last axes of real numbers, or along the last axes before the pairs of
/// complex ones, of float32 or float64. The other axes are a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FourierOp {
    /// Which transform.
    pub transform: Transform,
    /// Number of axes: 1 to 3, of [`Transform::RealInverse`] 1.
    pub axes: usize,
}

impl FourierOp {
    pub(crate) fn decode(transform: &str, axes: usize, length: i64) -> Result<FourierOp, String> {
        let transform = match transform {
            "forward" => Transform::Forward,
            "inverse" => Transform::Inverse,
            "real_forward" => Transform::RealForward,
            "real_inverse" => {
                Transform::RealInverse(Extent::decode(&[length]).first().copied().unwrap_or(Extent::Infer))
            }
            other => return Err(format!("unknown Fourier transform {other}")),
        };
        Ok(FourierOp { transform, axes })
    }

    fn name(&self) -> &'static str {
        match self.transform {
            Transform::Forward => "forward",
            Transform::Inverse => "inverse",
            Transform::RealForward => "real_forward",
            Transform::RealInverse(_) => "real_inverse",
        }
    }

    /// The op of a batch of arrays of these extents, in the time domain, for the reference.
    fn in_memory(&self, reals: &[usize]) -> Fourier {
        let (batch, extents) = reals.split_at(reals.len().saturating_sub(self.axes));
        Fourier {
            dtype: DType::F64,
            transform: self.transform.in_library(),
            batch: batch.iter().product::<usize>() as u64,
            extents: extents.iter().map(|&extent| extent as u64).collect(),
            in_memory: InMemory(None),
        }
    }

    fn refuse(&self, ty: &TensorType) -> String {
        let reals = self.transform == Transform::RealForward;
        let what =
            if reals { "real numbers" } else { "pairs of a real and an imaginary part along the last axis" };
        let axes = self.axes + usize::from(!reals);
        format!("expected {what}, of float32 or float64 with at least {axes} axes, got {ty}")
    }

    /// Extents after the transform, from those before it.
    fn result(&self, ty: &TensorType, length: Option<usize>) -> Result<Vec<Option<usize>>, String> {
        let refuse = || self.refuse(ty);
        let mut shape = ty.shape.to_vec();
        let real = self.transform == Transform::RealForward;
        if !real && !matches!(shape.pop().ok_or_else(refuse)?, None | Some(2)) {
            return Err(refuse());
        }
        let rank = shape.len();
        let most = if matches!(self.transform, Transform::RealInverse(_)) { 1 } else { 3 };
        if !matches!(ty.dtype, DType::F32 | DType::F64)
            || !(1..=most).contains(&self.axes)
            || rank < self.axes
        {
            return Err(refuse());
        }
        if shape[rank - self.axes..].contains(&Some(0)) || length == Some(0) {
            return Err(format!("there is no Fourier transform of 0 elements, got {ty}"));
        }
        let last = &mut shape[rank - 1];
        match self.transform {
            Transform::Forward | Transform::Inverse => {}
            Transform::RealForward => *last = last.map(|n| n / 2 + 1),
            Transform::RealInverse(_) => {
                if let (Some(m), Some(n)) = (*last, length)
                    && m != n / 2 + 1
                {
                    return Err(format!("{n} real numbers have {} complex ones, got {ty}", n / 2 + 1));
                }
                *last = length;
                return Ok(shape);
            }
        }
        shape.push(Some(2));
        Ok(shape)
    }

    /// The extent that is not an axis of the input, where it has one.
    fn lengths(&self) -> Vec<Extent> {
        match self.transform {
            Transform::RealInverse(length) => vec![length],
            _ => vec![],
        }
    }

    fn inverse_of(&self) -> Option<FourierOp> {
        let transform = match self.transform {
            Transform::Forward => Transform::Inverse,
            Transform::Inverse => Transform::Forward,
            _ => return None,
        };
        Some(FourierOp { transform, axes: self.axes })
    }
}

/// Scales complex numbers that belong to `points` real ones: by `ends` those at the ends, which stand for one
/// of the whole, by `inner` the others, which stand for two.
fn weighted(z: &Variable, points: &Variable, [ends, inner]: [f64; 2]) -> Result<Variable> {
    let axis = z.ndim() - 2;
    let position = arange(extent(z, axis)?);
    let twice = &position * 2i64;
    let is_end = position.try_equal(0i64)?.try_or(twice.try_equal(points)?)?;
    let weight = where_(is_end, ends, inner).try_cast(z.dtype())?;
    z.try_mul(DimShuffle::of(&weight, vec![Some(0), None])?)
}

/// Elements in float64, by the definition of the library op.
fn transformed(call: &Fourier, input: &Value, shape: &[usize]) -> Result<Value> {
    let x = input.cast(DType::F64)?.to_vec::<f64>()?;
    let mut y = fallible::filled(0.0, shape.iter().product())?;
    if !y.is_empty() {
        let failed = |e: DefinitionError| match e {
            DefinitionError::OutOfMemory { bytes } => fallible::refused(bytes as usize),
            other => Error::Internal(format!("{call:?}: {other}")),
        };
        let mut plan = ArrayTransform::<f64>::new(call).map_err(failed)?;
        plan.run(bytemuck::cast_slice(&x), bytemuck::cast_slice_mut(&mut y)).map_err(failed)?;
    }
    Value::from_vec(shape, y)?.cast(input.dtype())
}

impl Op for FourierOp {
    fn id(&self) -> &'static str {
        "fourier"
    }

    fn attributes(&self) -> Attributes {
        let mut list = vec![
            ("transform".into(), Attr::Text(self.name().into())),
            ("axes".into(), Attr::Int(self.axes as i64)),
        ];
        list.extend(self.lengths().iter().map(|length| ("length".into(), Attr::Int(length.code()))));
        list
    }

    fn label(&self) -> String {
        format!("fourier[{}, {}]", self.name(), self.axes)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let lengths = self.lengths();
        if lengths.is_empty() {
            expect_inputs(inputs.len(), 1)?;
        } else {
            Extent::types(&lengths, inputs)?;
        }
        let length = match lengths.first() {
            Some(Extent::Infer) => return Err("the number of real numbers is not given".into()),
            Some(Extent::Fixed(n)) => Some(*n),
            _ => None,
        };
        Ok(vec![TensorType::new(inputs[0].dtype, self.result(inputs[0], length)?)])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let length = Extent::values(&self.lengths(), inputs)?;
        let length = match length.first() {
            Some(None) => return Err("the number of real numbers is negative".into()),
            Some(length) => *length,
            None => None,
        };
        let shape = self.result(&inputs[0].ty(), length)?;
        Ok(vec![shape.into_iter().collect::<Option<_>>().ok_or("an extent is not known")?])
    }

    fn shape_values(&self) -> Vec<usize> {
        (1..=self.lengths().iter().filter(|length| matches!(length, Extent::Input(_))).count()).collect()
    }

    fn read_inputs(&self, _: usize) -> usize {
        1
    }

    fn results_are_new(&self) -> bool {
        true
    }

    /// The adjoint of the transform, as a linear map of real numbers.
    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let mut grads = vec![None; at.inputs.len()];
        let (x, Some(g)) = (&at.inputs[0], &at.output_grads[0]) else { return Ok(grads) };
        grads[0] = Some(match self.transform {
            Transform::Forward | Transform::Inverse => {
                let op = self.inverse_of().unwrap_or(*self);
                Variable::apply1(op, std::slice::from_ref(g))?
            }
            // Each inner element of the half stands for two of the whole, which the inverse counts twice.
            Transform::RealForward => {
                let points = extent(x, x.ndim() - 1)?;
                let half = weighted(g, &points, [1.0, 0.5])?;
                to_reals(&half, self.axes, &points)?
            }
            Transform::RealInverse(_) => {
                let points = extent(g, g.ndim() - 1)?;
                let op = FourierOp { transform: Transform::RealForward, axes: 1 };
                weighted(&Variable::apply1(op, std::slice::from_ref(g))?, &points, [1.0, 2.0])?
            }
        });
        Ok(grads)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let Some(further) = at.same(1) else { return Ok(None) };
        let inputs: Vec<Variable> = std::iter::once(at.with_axis(0)?).chain(further).collect();
        only(Variable::apply1(*self, &inputs))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let known: Vec<Known> = inputs.iter().map(Known::of).collect();
        let refuse = |message| Error::mismatch(self.label(), "an array that fits", message);
        let shape = self.shapes(&known).map_err(refuse)?.swap_remove(0);
        let reals = match self.transform {
            Transform::Forward | Transform::Inverse => &shape[..shape.len() - 1],
            Transform::RealForward => inputs[0].shape(),
            Transform::RealInverse(_) => &shape[..],
        };
        Ok(vec![transformed(&self.in_memory(reals), &inputs[0], &shape)?])
    }

    fn axis_sources(&self, axis: usize, inputs: &[Variable]) -> Vec<(usize, usize)> {
        let last = match self.transform {
            Transform::Forward | Transform::Inverse | Transform::RealForward => inputs[0].ndim() - 1,
            Transform::RealInverse(_) => inputs[0].ndim() - 2,
        };
        if axis < last { vec![(0, axis)] } else { vec![] }
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}
