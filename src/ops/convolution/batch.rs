//! Convolutions for a batch of one factor: the batch axis is folded into an axis that this factor shares with
//! the result alone.

use super::super::batching::{first_behind, only};
use super::super::methods::fail;
use super::super::windows::affine_extent;
use super::{Convolution, ConvolutionRole};
use crate::error::Result;
use crate::graph::{Operand, Variable};
use crate::op::{Batch, BatchedOutputs};

/// All extents: numbers where the type knows them.
fn extents(x: &Variable) -> Result<Vec<Operand>> {
    (0..x.ndim()).map(|axis| affine_extent(x, axis, 1, 0)).collect()
}

/// The extent of an axis that is two axes in one.
fn merged(a: Operand, b: Operand) -> Result<Operand> {
    match (a, b) {
        (Operand::Int(a), Operand::Int(b)) => Ok(Operand::Int(a.saturating_mul(b))),
        (Operand::Variable(a), b) => Ok(Operand::Variable(a.try_mul(b)?)),
        (a, Operand::Variable(b)) => Ok(Operand::Variable(b.try_mul(a)?)),
        (a, b) => Err(fail("convolution", format!("expected extents, got {a} and {b}"))),
    }
}

/// The first axis merged with `axis` of the others, as its slower part.
fn folded(x: &Variable, axis: usize) -> Result<Variable> {
    let moved = first_behind(x, axis)?;
    let mut shape = extents(&moved)?;
    let own = shape.remove(axis + 1);
    let batch = shape[axis].clone();
    shape[axis] = merged(batch, own)?;
    moved.try_reshape(shape)
}

/// The inverse of [`folded`], where the batch and the axis have these extents.
fn unfolded(x: &Variable, axis: usize, [batch, own]: [Operand; 2]) -> Result<Variable> {
    let mut shape = extents(x)?;
    shape[axis] = batch;
    shape.insert(axis + 1, own);
    x.try_reshape(shape)?.try_moveaxis(axis as isize, 0)
}

impl Convolution {
    /// One convolution, of more images, more filters or more channels. Groups are cut along filters and
    /// channels, so only images can be more then.
    pub(super) fn batched(&self, at: &Batch) -> BatchedOutputs {
        use ConvolutionRole::{FilterGradient, Forward, InputGradient};
        let [a, b, ..] = at.inputs else { return Ok(None) };
        if a.batched && b.batched {
            return Ok(None);
        }
        // Which factor has the batch, which of its axes, and which axis of the result.
        let (factor, axis, result) = match (self.role, b.batched) {
            // Images, of the input and the output.
            (Forward | InputGradient, false) => (0, 0, 0),
            // Outputs, of the filters and the output.
            (Forward, true) => (1, 0, 1),
            (FilterGradient, true) => (1, 1, 0),
            // Channels, of the input and the filters.
            (InputGradient, true) => (1, 1, 1),
            (FilterGradient, false) => (0, 1, 1),
        };
        if self.groups > 1 && (axis, result) != (0, 0) {
            return Ok(None);
        }
        let whole = at.repeated(factor)?;
        let batch = [affine_extent(&whole, 0, 1, 0)?, affine_extent(&whole, axis + 1, 1, 0)?];
        let mut inputs = vec![a.variable.clone(), b.variable.clone()];
        inputs[factor] = folded(&whole, axis)?;
        if self.role != Forward {
            // Of the third input only the shape is read.
            inputs.push(folded(&at.repeated(2)?, result)?);
        }
        only(unfolded(&Variable::apply1(self.clone(), &inputs)?, result, batch))
    }
}
