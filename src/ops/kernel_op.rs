//! Ops of a program's own, with kernels in C and a reference of public ops.
//!
//! - here: [`KernelOp`], which makes such an op; `kernel`: the op;
//! - `body`: what it consists of; `serialization`: its form in a file;
//! - `launches`: launches of kernels with sizes in terms of shapes; `grid`: their work items;
//! - `lower`: its steps on a device.

mod body;
mod grid;
mod kernel;
mod launches;
mod lower;
mod serialization;

pub use grid::{Grid, GridSize};
pub use kernel::Kernel;
pub use launches::{LaunchInput, Local};

use super::methods::fail;
use super::op_from_graph::stand_ins;
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{FunctionGraph, Kind, Variable};
use crate::list::IntoList;
use body::{DeviceCode, GivenGradient, KernelOpBody, ShapeRule};
use launches::{Arrays, Builder};
pub(super) use serialization::decode;
use std::sync::Arc;
use workalike_kernels::custom::KernelSource;

/// An op with kernels in C, or in C++ for CUDA, and a reference of public ops: Theano's `GpuKernelBase` with
/// its CPU op.
///
/// The reference defines the op. It gives the types, the shapes and the gradient, unless others are given,
/// and it runs where the kernels cannot: in a call of the Function, on the host device, on a device that does
/// not take their language. On other devices the kernels run.
///
/// A file holds all of it, so that a program that has never seen the op loads it, runs it, trains through it
/// and verifies it; it compiles the kernels only if
/// [`LoadOptions::allow_kernels`](crate::function::LoadOptions::allow_kernels) says so.
///
/// ```
/// use workalike::custom::{Grid, KernelOp, KernelSource};
/// use workalike::prelude::*;
/// let source = KernelSource::dialect(
///     "KERNEL void soft_sign(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *y, u32 n) {
///          u32 i = GID_0 * LDIM_0 + LID_0;
///          if (i < n) y[i] = x[i] / (1 + fabs(x[i]));
///      }",
/// )?;
/// let x = vector::<f32>("x");
/// let y = &x / (1.0 + x.abs());
/// let soft_sign = KernelOp::new("soft_sign", source, [&x], [&y])?
///     .launch("soft_sign", Grid::items([&x.extent(0)]), (&x, &y, &x.extent(0)))?
///     // d/dx x / (1 + |x|) = 1 / (1 + |x|)^2
///     .grad(|inputs, _, output_grads| vec![Some(&output_grads[0] / (1.0 + inputs[0].abs()).sqr())])?;
/// let v = vector::<f32>("v");
/// let s = &soft_sign.apply([&v])[0];
/// let f = function([&v]).output(s).output(&grad(&s.sum(..), [&v])?[0]).compile()?;
/// let results = f.call(args![vec![1f32, -3.0]])?;
/// assert_eq!(results[0].to_vec::<f32>()?, [0.5, -0.75]);
/// assert_eq!(results[1].to_vec::<f32>()?, [0.25, 0.0625]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelOp {
    body: Arc<KernelOpBody>,
    inputs: Vec<Variable>,
    outputs: Vec<Variable>,
    launches: Builder,
}

impl KernelOp {
    /// An op of this name, for people, with kernels of a source. `outputs` are the reference: expressions of
    /// `inputs`, which are input Variables. [`KernelOp::launch`] says which kernels run.
    ///
    /// # Errors
    /// If an expression is ill-typed, an input is none or is given twice, the reference uses another input, a
    /// shared variable, an op with an effect or another kernel, or an output is an input.
    #[track_caller]
    pub fn new(
        name: &str,
        source: KernelSource,
        inputs: impl IntoIterator<Item = impl Into<Variable>>,
        outputs: impl IntoIterator<Item = impl Into<Variable>>,
    ) -> Result<KernelOp> {
        let _scope = source_location::enter();
        let launches = Builder::of(source);
        KernelOp::of(name, launches, inputs, outputs)
    }

    /// An op that computes each element from the elements of its inputs at the same position. `operation` is
    /// one or more statements of the [dialect](KernelSource) that set the outputs, by the names of the
    /// Variables; halves are float32 in it. The op fuses with its neighbours. Extents follow from the
    /// reference.
    ///
    /// ```
    /// use workalike::custom::KernelOp;
    /// use workalike::prelude::*;
    /// let (x, beta) = (vector::<f32>("x"), scalar::<f32>("beta"));
    /// let y = (1.0 + (&beta * &x).exp()).log() / &beta;
    /// let text = "y = log1p(exp(beta * x)) / beta;";
    /// let softplus = KernelOp::elementwise("softplus", [&x, &beta], [y.named("y")], text)?;
    /// let (v, b) = (vector::<f32>("v"), scalar::<f32>("b"));
    /// let f = function([&v, &b]).output(&softplus.apply([&v, &b])[0].sqr()).compile()?;
    /// assert_eq!(f.call(args![vec![0f32], 1f32])?[0].to_vec::<f32>()?, [2f32.ln().powi(2)]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`KernelOp::new`]; or if an input or output has no name, or one that is no identifier of C.
    #[track_caller]
    pub fn elementwise(
        name: &str,
        inputs: impl IntoIterator<Item = impl Into<Variable>>,
        outputs: impl IntoIterator<Item = impl Into<Variable>>,
        operation: &str,
    ) -> Result<KernelOp> {
        let _scope = source_location::enter();
        let mut op = KernelOp::of(name, Builder::default(), inputs, outputs)?;
        let functions = body::functions(name, &op.body.reference, operation).map_err(|e| fail(name, e))?;
        Arc::make_mut(&mut op.body).code = DeviceCode::Elementwise { functions, operation: operation.into() };
        Ok(op)
    }

    fn of(
        name: &str,
        launches: Builder,
        inputs: impl IntoIterator<Item = impl Into<Variable>>,
        outputs: impl IntoIterator<Item = impl Into<Variable>>,
    ) -> Result<KernelOp> {
        let inputs: Vec<Variable> = inputs.into_iter().map(Into::into).collect();
        let outputs: Vec<Variable> = outputs.into_iter().map(Into::into).collect();
        for (position, input) in inputs.iter().enumerate() {
            let repeated = inputs[..position].iter().any(|i| i.key() == input.key());
            if !matches!(input.checked()?.kind(), Kind::Input) || repeated {
                let what = if repeated { "is given twice" } else { "is no input Variable" };
                return Err(fail(name, format!("input {position}, {input:?}, {what}")));
            }
            if outputs.iter().any(|output| output.key() == input.key()) {
                return Err(fail(name, format!("{input:?} is an input and an output")));
            }
        }
        if outputs.is_empty() {
            return Err(fail(name, "there are no outputs".into()));
        }
        let reference = imported(name, &inputs, &outputs)?;
        body::check_reference(&reference).map_err(|why| fail(name, why))?;
        let code = DeviceCode::Launches(Arc::new(launches.launches.clone()));
        let body = KernelOpBody::new(name, reference, code);
        Ok(KernelOp { body: Arc::new(body), inputs, outputs, launches })
    }

    /// With the same kernels in another language: a device uses the first source in a language that it takes.
    ///
    /// # Errors
    /// If the source lacks a kernel, or a kernel has other parameters.
    #[track_caller]
    pub fn or_source(mut self, source: KernelSource) -> Result<KernelOp> {
        let _scope = source_location::enter();
        let name = self.body.name.clone();
        self.launches.add_source(source).map_err(|why| fail(&name, why))?;
        self.with_launches()
    }

    /// Memory for launches to exchange values, undefined before the first launch. `memory` is an input
    /// Variable that stands for it in [`KernelOp::launch`], `extents` are as a grid's sizes.
    ///
    /// # Errors
    /// If the number of extents is not the Variable's rank, or as [`KernelOp::launch`].
    #[track_caller]
    pub fn scratch<Form>(
        mut self,
        memory: &Variable,
        extents: impl IntoList<LaunchInput, Form>,
    ) -> Result<KernelOp> {
        let _scope = source_location::enter();
        let name = self.body.name.clone();
        let known = |v: &&Variable| v.key() == memory.key();
        if self.inputs.iter().chain(&self.outputs).find(known).is_some() {
            return Err(fail(&name, format!("{memory:?} is an input or an output, not scratch memory")));
        }
        self.launches.add_scratch(memory, extents.into_list()).map_err(|why| fail(&name, why))?;
        self.with_launches()
    }

    /// Adds a launch of a kernel; launches run one after another. Sizes of the grid are 0-d integer
    /// Variables. Each argument is an input, an output or [scratch memory](KernelOp::scratch), where the
    /// parameter is an array; a number or a 0-d Variable, where it is a number; or [`Local`] memory. All
    /// arrays are contiguous. An output is undefined before the first launch that writes it.
    ///
    /// Sizes and numbers depend on the shapes of inputs and outputs, and on nothing else: a kernel reads
    /// values from arrays.
    ///
    /// # Errors
    /// If the source has no such kernel; if an argument does not fit its parameter; if a size depends on
    /// values.
    #[track_caller]
    pub fn launch<Form>(
        mut self,
        kernel: &str,
        grid: Grid<Variable>,
        args: impl IntoList<LaunchInput, Form>,
    ) -> Result<KernelOp> {
        let _scope = source_location::enter();
        let name = self.body.name.clone();
        let arrays = Arrays { inputs: &self.inputs, outputs: &self.outputs };
        let added = self.launches.add(kernel, &grid, args.into_list(), &arrays);
        added.map_err(|why| fail(&name, format!("launch of {kernel}: {why}")))?;
        self.with_launches()
    }

    /// The same op with its launches as they are now.
    fn with_launches(mut self) -> Result<KernelOp> {
        let name = self.body.name.clone();
        let arrays = Arrays { inputs: &self.inputs, outputs: &self.outputs };
        self.launches.import(&name, &arrays)?;
        Arc::make_mut(&mut self.body).code = DeviceCode::Launches(Arc::new(self.launches.launches.clone()));
        Ok(self)
    }

    /// The extents of an output, as 0-d integer Variables that depend on the inputs' shapes, and on the
    /// values of small inputs. Without it they are those of the reference.
    ///
    /// # Errors
    /// If `output` is no output, there is not one extent for each axis, one is not a 0-d integer, or uses
    /// other inputs.
    #[track_caller]
    pub fn shape<Form>(
        mut self,
        output: &Variable,
        extents: impl IntoList<LaunchInput, Form>,
    ) -> Result<KernelOp> {
        let _scope = source_location::enter();
        let name = self.body.name.clone();
        let Some(at) = self.outputs.iter().position(|o| o.key() == output.key()) else {
            return Err(fail(&name, format!("shape of {output:?}, which is no output")));
        };
        let extents =
            launches::extents(extents.into_list(), output.ndim()).map_err(|why| fail(&name, why))?;
        let graph = imported(&name, &self.inputs, &extents)?;
        let body = Arc::make_mut(&mut self.body);
        let rule = ShapeRule { graph: Arc::new(graph) };
        rule.check(&body.reference, at).map_err(|why| fail(&name, why))?;
        body.rules[at] = Some(rule);
        Ok(self)
    }

    /// A gradient in place of the reference's: given the inputs, the outputs and the gradients of the outputs
    /// (zeros where nothing depends on one), the gradient of each input, `None` where there is no smooth
    /// dependence. It is called once, here, and makes expressions, which are differentiated again for second
    /// derivatives. It may apply other ops with kernels.
    ///
    /// # Errors
    /// If there is not one for each input, one is of another dtype or rank than its input, or uses other
    /// inputs than those given.
    #[track_caller]
    pub fn grad(
        mut self,
        gradient: impl FnOnce(&[Variable], &[Variable], &[Variable]) -> Vec<Option<Variable>>,
    ) -> Result<KernelOp> {
        let _scope = source_location::enter();
        let name = self.body.name.clone();
        let (outputs, output_grads) = (stand_ins(&self.outputs), stand_ins(&self.outputs));
        let grads = {
            // Expressions of the closure have the closure's own source lines.
            let _own = source_location::leave();
            gradient(&self.inputs, &outputs, &output_grads)
        };
        if grads.len() != self.inputs.len() {
            return Err(fail(&name, format!("{} gradients for {} inputs", grads.len(), self.inputs.len())));
        }
        let of = (0..grads.len()).filter(|&at| grads[at].is_some()).collect();
        let there: Vec<Variable> = grads.into_iter().flatten().collect();
        let all: Vec<Variable> = self.inputs.iter().chain(&outputs).chain(&output_grads).cloned().collect();
        let graph = Arc::new(imported(&name, &all, &there)?);
        let given = GivenGradient { graph, of };
        given.check(&self.body.reference).map_err(|why| fail(&name, why))?;
        Arc::make_mut(&mut self.body).gradient = Some(given);
        Ok(self)
    }

    /// The outputs for these inputs.
    ///
    /// # Errors
    /// If the number or the types of inputs do not fit, or there are no launches.
    #[track_caller]
    pub fn try_apply(&self, inputs: impl IntoIterator<Item = impl Into<Variable>>) -> Result<Vec<Variable>> {
        let inputs: Vec<Variable> = inputs.into_iter().map(Into::into).collect();
        let _scope = source_location::enter();
        if matches!(&self.body.code, DeviceCode::Launches(launches) if launches.calls.is_empty()) {
            return Err(fail(&self.body.name, "it has no launches: add them with launch(..)".into()));
        }
        for input in &inputs {
            input.checked()?;
        }
        Variable::apply_at(Arc::new(Kernel { body: self.body.clone() }), &inputs, source_location::here())
    }

    /// [`KernelOp::try_apply`], with errors in the results.
    #[track_caller]
    #[must_use]
    pub fn apply(&self, inputs: impl IntoIterator<Item = impl Into<Variable>>) -> Vec<Variable> {
        let count = self.outputs.len();
        self.try_apply(inputs).unwrap_or_else(|e| vec![Variable::poison(e); count])
    }
}

/// Expressions as a graph of these inputs alone.
fn imported(name: &str, inputs: &[Variable], outputs: &[Variable]) -> Result<FunctionGraph> {
    for output in outputs {
        output.checked()?;
    }
    let (graph, cells) = FunctionGraph::import(inputs, outputs, &[])?;
    match cells.first() {
        None => Ok(graph),
        Some(cell) => {
            Err(fail(name, format!("it reads shared variable {}: make that an input", cell.name())))
        }
    }
}

#[cfg(test)]
mod tests;
