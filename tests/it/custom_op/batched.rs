//! [`Op::batch`]: an op of a program's own in the backward pass of a Jacobian.

use super::{Checked, assert_close};
use workalike::Result;
use workalike::ops::{Batch, BatchedOutputs, Gradient, Known, Op};
use workalike::prelude::*;

/// Its input, of which the last axis is reversed: an op that is its own gradient.
#[derive(Clone, Copy, Debug)]
struct Mirror {
    /// Whether it has a batching rule.
    has_rule: bool,
}

impl Op for Mirror {
    fn id(&self) -> &'static str {
        "example.mirror"
    }

    fn types(&self, inputs: &[&TensorType]) -> Checked<Vec<TensorType>> {
        Ok(vec![inputs[0].clone()])
    }

    fn shapes(&self, inputs: &[Known]) -> Checked<Vec<Vec<usize>>> {
        Ok(vec![inputs[0].shape.to_vec()])
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None]) };
        Ok(vec![Variable::apply(*self, std::slice::from_ref(g))?.pop()])
    }

    /// Axes before the last one make no difference.
    fn batch(&self, at: &Batch) -> BatchedOutputs {
        if self.has_rule { at.broadcast(*self) } else { Ok(None) }
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let shape = inputs[0].shape();
        let length = shape.last().copied().unwrap_or(1).max(1);
        let rows = inputs[0].to_vec::<f32>()?;
        let mirrored = rows.chunks_exact(length).flat_map(|row| row.iter().rev().copied()).collect();
        Ok(vec![Value::from_vec(shape, mirrored)?])
    }
}

/// A vector of unknown length that depends on the mirrored one.
fn of(has_rule: bool) -> (Variable, Variable) {
    let x = vector::<f32>("x");
    let mirrored = Variable::apply(Mirror { has_rule }, std::slice::from_ref(&x)).unwrap().swap_remove(0);
    let y = mirrored * &x;
    (x, y)
}

#[test]
fn a_jacobian_takes_all_rows_at_once() {
    let (x, y) = of(true);
    let j = jacobian(&y, [&x]).unwrap().swap_remove(0);
    let f = function([&x]).output(j).compile().unwrap();
    // y = (x0 x2, x1 x1, x2 x0).
    let want = [5.0, 0.0, 2.0, 0.0, 6.0, 0.0, 5.0, 0.0, 2.0];
    for outputs in [f.call(args![[2f32, 3.0, 5.0]]), f.call_reference(args![[2f32, 3.0, 5.0]])] {
        assert_close(&outputs.unwrap()[0].to_vec::<f32>().unwrap(), &want);
    }
}

#[test]
fn without_a_rule_the_length_must_be_known() {
    let (x, y) = of(false);
    let error = jacobian(&y, [&x]).unwrap_err().to_string();
    assert!(error.contains("example.mirror") && error.contains("specify_shape"), "{error}");
    assert!(jacobian(&y.specify_shape([Some(3)]), [&x]).is_ok());
}
