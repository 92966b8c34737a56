//! What an op of a program's own says of its inputs: less is computed for it, as for ours.

use super::Checked;
use workalike::Result;
use workalike::graph::Node;
use workalike::kernels::library::LibraryNonZero;
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

/// The elements of a vector of float32 that a mask keeps; its third input are the positions of the mask.
#[derive(Debug)]
struct Pick {
    /// Whether it does without the positions where no other node needs them.
    takes_mask: bool,
    /// Whether it has a device form that reads the positions.
    on_device: bool,
}

impl Op for Pick {
    fn id(&self) -> &'static str {
        "example.pick"
    }

    fn types(&self, inputs: &[&TensorType]) -> Checked<Vec<TensorType>> {
        Ok(vec![inputs[2].with_dtype(inputs[0].dtype)])
    }

    fn read_inputs(&self, _: usize) -> usize {
        2
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None, None, None])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let (x, positions) = (inputs[0].to_vec::<f32>()?, inputs[2].to_vec::<i64>()?);
        let elements = positions.iter().map(|&at| x[usize::try_from(at).unwrap()]).collect();
        Ok(vec![Value::from_vec(inputs[2].shape(), elements)?])
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        let (shape, len) = (to.shape(node.outputs[0]), inputs[0].shape()[0]);
        let [x, mask] = [&inputs[0], &inputs[1]].map(|view| to.whole(view));
        let Some(positions) = inputs.get(2) else {
            if !self.takes_mask || to.is_computed(node.inputs[2]) {
                return Err("it reads the positions".into());
            }
            let compress =
                LibraryNonZero { dtype: DType::Bool, len, kept: shape[0], taken: Some(DType::F32) };
            let found = to.library(compress, vec![(mask, 0), (x, 0)], &[&shape, &[]]);
            return found
                .map(|mut views| vec![views.swap_remove(0)])
                .ok_or("the device has no such op".into());
        };
        if !self.on_device {
            return Err("it has no device form".into());
        }
        let target = to.temp(DType::F32, &shape);
        let mut nest = NestBuilder::new("pick", &shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, to.program());
        let at = point.load(positions, &At::axes(1));
        let at = point.nearest(at, len);
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

/// Compiles the elements twice those of `x` that are above 0, with or without their positions, and calls it.
/// Whether each of two library ops was in the plan: of the elements, and of the positions.
fn picked(pick: Pick, with_positions: bool) -> [bool; 2] {
    let x = vector::<f32>("x");
    let mask = x.greater(0.0);
    let positions = mask.flatnonzero();
    let picked = Variable::apply(pick, &[&x * 2f32, mask, positions.clone()]).unwrap().swap_remove(0);
    let f = function([&x]).output(picked);
    let f = if with_positions { f.output(positions) } else { f }.compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let given = args![vec![1f32, -1.0, 0.0, 3.0, -2.0, 5.0]];
    assert_eq!(sim.call(given).unwrap()[0].to_vec::<f32>().unwrap(), [2.0, 6.0, 10.0]);
    ["library compress", "library nonzero"].map(|step| sim.explain().contains(step))
}

#[test]
fn an_input_that_no_form_reads_is_not_computed() {
    assert_eq!(picked(Pick { takes_mask: true, on_device: true }, false), [true, false]);
}

#[test]
fn an_op_that_needs_an_input_after_all_gets_it() {
    for on_device in [true, false] {
        assert_eq!(picked(Pick { takes_mask: false, on_device }, false), [false, true]);
    }
}

#[test]
fn what_another_node_needs_is_computed_and_known_to_be() {
    assert_eq!(picked(Pick { takes_mask: true, on_device: true }, true), [false, true]);
}
