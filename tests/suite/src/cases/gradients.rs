//! Gradients: against central differences in float64, and on every device against the reference.

mod problems;

use crate::data::{below, normal};
use crate::group::Group;
use crate::stage::{Scenario, Stage, ensure};
use crate::tolerance::Tier;
use problems::{Problem, problems};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![on_devices()]
}

pub(super) fn scenarios() -> Vec<Scenario> {
    // Compares the reference and `Function::call`; the group compares every device with the reference.
    let run = central_differences;
    vec![Scenario { family: "gradients", name: "central_differences", host_only: true, run }]
}

impl Problem {
    /// A 0-d cost with a different weight for every element.
    fn cost(&self) -> Result<Variable> {
        let output = self.output.checked()?;
        // The weight of a position is a cosine of the indices, for any extents.
        let mut weights = Variable::constant(1.0f64);
        for axis in 0..output.ndim() {
            let index = arange(output.extent(axis as isize)).cast(DType::F64);
            let along = (index * (1.3 + axis as f64) + 0.5).cos() + 1.5;
            let order = (0..output.ndim()).map(|a| (a == axis).then_some(0)).collect::<Vec<_>>();
            weights = weights * along.dimshuffle(order);
        }
        Ok((output * weights).sum(..))
    }

    fn args(&self) -> Args {
        self.inputs.iter().fold(Args::new(), |args, (_, value)| args.with(value))
    }
}

fn central_differences(stage: &Stage) -> Result<()> {
    for problem in problems()? {
        check(&problem, stage).map_err(|e| crate::stage::wrong(format!("{}: {e}", problem.name)))?;
    }
    Ok(())
}

fn check(problem: &Problem, stage: &Stage) -> Result<()> {
    let cost = problem.cost()?;
    let variables = || problem.inputs.iter().map(|i| &i.0);
    let g = grad(&cost, variables())?;
    let inputs = || variables().enumerate().map(|(i, v)| In::new(v).name(&format!("i{i}")));
    let f = stage.function(&function(inputs()).output(&cost).compile()?)?;
    let df = stage.function(&function(inputs()).outputs(&g).allow_unused_inputs().compile()?)?;
    let by_reference = df.call_reference(problem.args())?;
    let by_host = df.call(problem.args())?;
    for (position, (variable, value)) in problem.inputs.iter().enumerate() {
        ensure(by_host[position].shape() == value.shape(), || "the gradient has another shape".into())?;
        ensure(g[position].dtype() == variable.dtype(), || "the gradient has another dtype".into())?;
        let numbers = value.to_vec::<f64>()?;
        for at in 0..numbers.len() {
            let step = 1e-5;
            let moved = |by: f64| -> Result<f64> {
                let mut numbers = numbers.clone();
                numbers[at] += by;
                let mut args = Args::new();
                for (other, (_, value)) in problem.inputs.iter().enumerate() {
                    let here = Value::from_vec(value.shape(), numbers.clone());
                    args = if other == position { args.with(here?) } else { args.with(value) };
                }
                f.call_reference(args)?[0].item::<f64>()
            };
            // Richardson extrapolation of central differences at two steps.
            let central = |step: f64| -> Result<f64> { Ok((moved(step)? - moved(-step)?) / (2.0 * step)) };
            let numeric = (4.0 * central(step)? - central(2.0 * step)?) / 3.0;
            for (who, got) in [("reference", &by_reference), ("host", &by_host)] {
                let analytic = got[position].to_vec::<f64>()?[at];
                let near = (analytic - numeric).abs() <= 1e-7 * (1.0 + numeric.abs());
                ensure(near, || {
                    format!(
                        "input {position}, element {at}: {analytic} by the {who}, {numeric} by differences"
                    )
                })?;
            }
        }
    }
    Ok(())
}

/// Compares the gradients on every device with the reference. They are short compositions; each step has an
/// error of a few ulp of numbers of size 1.
fn on_devices() -> Result<Group> {
    let mut group = Group::new("gradient");
    for problem in problems()? {
        let cost = problem.cost()?;
        let g = grad(&cost, problem.inputs.iter().map(|i| &i.0))?;
        for (variable, value) in &problem.inputs {
            group.adopt(variable, value);
        }
        for (position, g) in g.iter().enumerate() {
            let scale = super::magnitude(g).max(..) + 1.0;
            let bound = (zeros_like(g) + scale) * (256.0 * f64::EPSILON);
            group.case(format!("{}_{position}", problem.name), g, Tier::Within(bound));
        }
    }
    // Larger sizes in float32, through matrix products and reductions.
    let (rows, inner, columns) = (30, 40, 20);
    let number = |shape: &[usize], seed: u32| {
        let numbers: Vec<f64> = normal(shape.iter().product(), seed).iter().map(|v| v * 0.3).collect();
        crate::data::numbers(DType::F32, shape, &numbers)
    };
    let x = group.input(number(&[rows, inner], 60)?);
    let w = group.input(number(&[inner, columns], 61)?);
    let b = group.input(number(&[columns], 62)?);
    let y = group.input(below(columns, DType::I64, &[rows], 63)?);
    let cost = |x: &Variable, w: &Variable, b: &Variable| {
        categorical_crossentropy(softmax((x.dot(w) + b).tanh(), -1), &y).mean(..)
    };
    let narrow = grad(cost(&x, &w, &b), [&w, &b])?;
    let (x, w, b) = (x.cast(DType::F64), w.cast(DType::F64), b.cast(DType::F64));
    let wide = grad(cost(&x, &w, &b), [&w, &b])?;
    for (name, narrow, wide) in [("weights", &narrow[0], &wide[0]), ("bias", &narrow[1], &wide[1])] {
        // Sums over inner, columns and rows of numbers below 1, divided by rows.
        let bound = zeros_like(wide) + 1.0;
        let steps = (inner + columns + rows) as f64 * f64::from(f32::EPSILON) * 0.2;
        group.against(format!("layer_{name}"), narrow, wide, Tier::Within(bound * steps));
    }
    Ok(group)
}
