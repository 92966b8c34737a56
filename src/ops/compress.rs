//! The elements of a vector that a mask keeps.

use super::advanced_indexing::lower::gather;
use super::advanced_indexing::{AdvancedIncSubtensor, AdvancedSubtensor};
use super::complex;
use super::creation::zeros_like;
use crate::error::Result;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Batch, BatchedOutputs, Gradient, Op};
use crate::value::Value;
use workalike_kernels::DType;
use workalike_kernels::library::LibraryNonZero as NonZeroElements;

/// `x[positions]` of a vector `x`, where the positions are those at which a mask of bools, as long as `x`, is
/// true (NumPy's `compress`). Its inputs are `x`, the mask and the positions.
///
/// A rewrite rule makes it of `x[mask]`. A device that takes elements by the mask itself reads no positions,
/// so that they are not computed where nothing else reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compress;

impl Op for Compress {
    fn id(&self) -> &'static str {
        "compress"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let &[x, mask, positions] = inputs else { return Err(format!("{} inputs do not fit", inputs.len())) };
        if inputs.iter().any(|t| t.ndim() != 1) || mask.dtype != DType::Bool || positions.dtype != DType::I64
        {
            return Err(format!("expected vectors, of bool and int64 the last: {x}, {mask}, {positions}"));
        }
        Ok(vec![TensorType::new(x.dtype, positions.shape.clone())])
    }

    fn read_inputs(&self, _: usize) -> usize {
        2
    }

    fn index_inputs(&self, _: usize) -> Vec<usize> {
        vec![2]
    }

    fn results_are_new(&self) -> bool {
        true
    }

    fn trouble(&self) -> String {
        super::nonzero::OTHER_COUNT.into()
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(*self, inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let [x, _, positions] = at.inputs else { return Ok(vec![None; at.inputs.len()]) };
        let spread = |g: &Variable| {
            let inputs = [zeros_like(x), g.clone(), positions.clone()];
            Variable::apply1(AdvancedIncSubtensor { set: false }, &inputs)
        };
        Ok(vec![at.output_grads[0].as_ref().map(spread).transpose()?, None, None])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let taken = [at.inputs[0].clone(), at.inputs[2].clone()];
        AdvancedSubtensor.batch(&Batch { inputs: &taken, count: at.count })
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        AdvancedSubtensor.perform(&[inputs[0].clone(), inputs[2].clone()])
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    /// By the mask where the device does so and no other node needs the positions; else from the positions.
    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        let (output, positions) = (node.outputs[0], node.inputs[2]);
        if let [x, _, places] = inputs {
            return gather(to, output, x, &[positions], std::slice::from_ref(places));
        }
        if to.is_computed(positions) {
            return Err("another node needs the positions".into());
        }
        let [x, mask] = inputs else { return Err(format!("{} inputs do not fit", inputs.len())) };
        let (shape, taken) = (to.shape(output), Some(to.dtype(output)));
        let (&[len], &[kept]) = (&x.shape[..], &shape[..]) else { return Err("it is no vector".into()) };
        let compress = NonZeroElements { dtype: DType::Bool, len, kept, taken };
        if mask.shape != x.shape || !to.abilities().has(&compress) {
            return Err("the device takes no elements by a mask".into());
        }
        let (mask, x) = (to.whole(mask), to.whole(x));
        let found = to.library(compress, vec![(mask, 0), (x, 0)], &[&shape, &[]]);
        let Some([taken, number]) = found.and_then(|views| <[View; 2]>::try_from(views).ok()) else {
            return Err("the device has no room for it".into());
        };
        to.check_count(&number, &[], kept);
        Ok(vec![taken])
    }
}
