//! What an op of a program's own says of its inputs: `sort` and `nonzero` compute less for it, as for ours.

use super::Checked;
use workalike::Result;
use workalike::graph::Node;
use workalike::kernels::nest::PhaseKind;
use workalike::lower::{At, Lowered, Lowering, NestBuilder, View};
use workalike::ops::{AxisRead, Gradient, Known, Op};
use workalike::prelude::*;

/// The second element of a vector of float32.
#[derive(Debug)]
struct Second;

impl Op for Second {
    fn id(&self) -> &'static str {
        "example.second"
    }

    fn types(&self, inputs: &[&TensorType]) -> Checked<Vec<TensorType>> {
        Ok(vec![TensorType::new(inputs[0].dtype, vec![])])
    }

    fn shapes(&self, _: &[Known]) -> Checked<Vec<Vec<usize>>> {
        Ok(vec![vec![]])
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![Value::from(inputs[0].to_vec::<f32>()?[1])])
    }

    fn axis_read(&self, _: usize, _: usize, _: &[Known]) -> AxisRead {
        AxisRead::Slice { start: 1, step: 1, count: 1 }
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].slice(0, 1, 1, None, None)])
    }
}

/// The elements of a vector of float32 at positions.
#[derive(Debug)]
struct Pick {
    /// Whether it takes a mask, as it says.
    takes_mask: bool,
    /// Whether it has a device form.
    on_device: bool,
}

impl Op for Pick {
    fn id(&self) -> &'static str {
        "example.pick"
    }

    fn types(&self, inputs: &[&TensorType]) -> Checked<Vec<TensorType>> {
        Ok(vec![inputs[1].with_dtype(inputs[0].dtype)])
    }

    fn shapes(&self, inputs: &[Known]) -> Checked<Vec<Vec<usize>>> {
        Ok(vec![inputs[1].shape.to_vec()])
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None, None])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let (x, positions) = (inputs[0].to_vec::<f32>()?, inputs[1].to_vec::<i64>()?);
        let elements = positions.iter().map(|&at| x[usize::try_from(at).unwrap()]).collect();
        Ok(vec![Value::from_vec(inputs[1].shape(), elements)?])
    }

    fn takes_from(&self, positions: usize, _: usize) -> Option<usize> {
        (positions == 1).then_some(0)
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        if self.takes_mask
            && let Some(taken) = to.compressed(node.inputs[1], &inputs[0], node.outputs[0])
        {
            return Ok(vec![taken]);
        }
        if !self.on_device {
            return Err("it has no device form".into());
        }
        let (shape, length) = (to.shape(node.outputs[0]), inputs[0].shape()[0]);
        let target = to.temp(DType::F32, &shape);
        let mut nest = NestBuilder::new("pick", &shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, to.program());
        let at = point.load(&inputs[1], &At::axes(1));
        let at = point.nearest(at, length);
        let element = point.load(&inputs[0], &[At::Value(at)]);
        point.store(target, &shape, &At::axes(1), element, None);
        point.finish();
        to.push(nest);
        Ok(vec![View::whole(target, &shape)])
    }
}

#[test]
fn a_sort_whose_reader_takes_one_element_selects() {
    let x = vector::<f32>("x");
    let second = Variable::apply(Second, &[x.sort(0)]).unwrap().swap_remove(0);
    let f = function([&x]).output(second).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1).strict()).unwrap();
    let given: Vec<f32> = (0..1000).map(|i| ((i * 7919) % 1000) as f32).collect();
    assert_eq!(sim.call(args![given]).unwrap()[0].item::<f32>().unwrap(), 1.0);
    assert!(sim.explain().contains("library select"), "{}", sim.explain());
}

#[test]
fn positions_that_are_taken_by_a_mask_are_not_computed() {
    for (takes_mask, on_device) in [(true, true), (false, true), (false, false)] {
        let x = vector::<f32>("x");
        let positions = x.greater(0.0).flatnonzero();
        let inputs = [&x * 2f32, positions];
        let picked = Variable::apply(Pick { takes_mask, on_device }, &inputs).unwrap().swap_remove(0);
        let f = function([&x]).output(picked).compile().unwrap();
        let mut sim = f.optimize(Host::threads(1)).unwrap();
        let given = || args![vec![1f32, -1.0, 0.0, 3.0, -2.0, 5.0]];
        assert_eq!(sim.call(given()).unwrap()[0].to_vec::<f32>().unwrap(), [2.0, 6.0, 10.0]);
        // An op that declares that it takes a mask, and then does not, gets positions.
        let plan = sim.explain();
        assert_eq!(plan.contains("library compress"), takes_mask, "{plan}");
        assert_eq!(plan.contains("library nonzero"), !takes_mask, "{plan}");
    }
}
