//! What a call would run: plans, memory, and the sizes of what stages hand to each other.

use super::staged::{Staged, StagedPart};
use super::stages::{Stage, StageInput};
use super::{ContextEngine, ExecutionMode, Executor, ExecutorMethod};
use crate::engine::compile::Compiled;
use crate::engine::storage::CallInput;
use crate::error::{Error, Result};
use crate::graph::VarId;
use crate::graph::shapes::{Demand, ShapeInputs, Shapes, infer};
use crate::lower::program::Program;
use crate::memory_report::MemoryReport;
use crate::value::Value;
use workalike_kernels::DType;

/// A method of an engine that a method consists of: the whole of it, or a stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MethodPart<'e> {
    pub(crate) part: usize,
    /// Its position among the engine's methods.
    pub(crate) at: usize,
    /// `None` for a whole method.
    pub(crate) stage: Option<&'e Stage>,
}

impl StagedPart {
    fn piece(&self) -> MethodPart<'_> {
        MethodPart { part: self.stage.device, at: self.at, stage: Some(&self.stage) }
    }
}

impl Executor {
    /// The pieces of a method, in the order in which they run.
    pub(crate) fn pieces(&self, method: usize) -> Vec<MethodPart<'_>> {
        match &self.methods[method].form {
            ExecutionMode::Whole { part, at } => vec![MethodPart { part: *part, at: *at, stage: None }],
            ExecutionMode::Stages(staged) => staged.all().map(StagedPart::piece).collect(),
        }
    }

    /// Plans and compiles a call, without running it; see [`Executor::compiled`].
    ///
    /// # Errors
    /// If a device cannot compile it, or a shape in one stage depends on a value that another stage computes.
    pub(crate) fn prepare(&mut self, method: usize, args: &[CallInput]) -> Result<()> {
        for (part, at, args) in self.planned(method, args)? {
            self.parts[part].engine.prepare(at, &args)?;
        }
        Ok(())
    }

    /// Does all that calls with these inputs would do before they run: plans, compiles and records them.
    ///
    /// # Errors
    /// As [`Executor::prepare`], or if a device has no memory for the calls.
    pub(crate) fn warm_up(&mut self, method: usize, calls: &[Vec<CallInput>]) -> Result<()> {
        let planned = calls.iter().map(|args| self.planned(method, args)).collect::<Result<Vec<_>>>()?;
        for (part, ContextEngine { engine, .. }) in self.parts.iter_mut().enumerate() {
            let own = planned.iter().flatten().filter(|(on, ..)| *on == part);
            engine.warm_up(own.map(|(_, at, args)| (*at, args.as_slice())))?;
        }
        Ok(())
    }

    /// The Program of a piece that was planned or run last.
    pub(crate) fn compiled(&self, piece: MethodPart<'_>) -> Result<&Compiled> {
        self.parts[piece.part].engine.compiled(piece.at)
    }

    /// The Programs of a piece; the most recently used one is last.
    pub(crate) fn programs(&self, piece: MethodPart<'_>) -> impl Iterator<Item = &Compiled> {
        self.parts[piece.part].engine.programs(piece.at)
    }

    /// The engines' methods that a call runs, each as part and position, with arguments of their sizes.
    fn planned(&self, method: usize, args: &[CallInput]) -> Result<Vec<(usize, usize, Vec<CallInput>)>> {
        let method = &self.methods[method];
        let staged = match &method.form {
            ExecutionMode::Whole { part, at } => return Ok(vec![(*part, *at, args.to_vec())]),
            ExecutionMode::Stages(staged) => staged,
        };
        self.check_known(method, staged)?;
        let shapes = self.infer(method, args)?;
        let planned = |staged: &StagedPart| {
            let stage = &staged.stage;
            let arg = |source: &StageInput| match *source {
                StageInput::Input(at) => args.get(at).cloned().ok_or_else(missing),
                StageInput::Value(id) => stand_in(method, &shapes, id),
            };
            Ok((stage.device, staged.at, stage.inputs.iter().map(arg).collect::<Result<_>>()?))
        };
        staged.all().map(planned).collect()
    }

    /// Refuses stages whose shapes depend on values of other stages: these are not known before a call.
    fn check_known(&self, method: &ExecutorMethod, staged: &Staged) -> Result<()> {
        for StagedPart { stage, at, origin } in staged.all() {
            let deciding = self.parts[stage.device].engine.deciding_inputs(*at);
            let computed = deciding.iter().find_map(|&input| match stage.inputs.get(input) {
                Some(StageInput::Value(id)) => Some(*id),
                _ => None,
            });
            if let Some(id) = computed {
                let message = format!(
                    "shapes on {} depend on the value of {}, which another context computes: they are not known before a \
                     call. Call it, and see explain(); or compute the value in {}",
                    origin.context,
                    method.graph.describe(id),
                    origin.context
                );
                return Err(Error::Call { function: method.name.clone(), message });
            }
        }
        Ok(())
    }

    /// The extents of all Vars of a method.
    fn infer(&self, method: &ExecutorMethod, args: &[CallInput]) -> Result<Shapes> {
        let inputs: Vec<Vec<usize>> = args.iter().map(|arg| arg.shape().to_vec()).collect();
        let shared: Vec<Vec<usize>> =
            method.states.iter().map(|&state| self.state(state).shape.clone()).collect();
        let input_values = |at: usize| args.get(at).and_then(CallInput::value);
        let shared_values = |at: usize| self.read_state(method.states[at]).ok();
        let given = ShapeInputs {
            inputs: &inputs,
            shared: &shared,
            input_values: &input_values,
            shared_values: &shared_values,
        };
        infer(&method.graph, &Demand::of(&method.graph), &given)
    }

    /// The dtypes and extents of the outputs of a call, which is planned and not run.
    pub(crate) fn output_types(
        &mut self,
        method: usize,
        args: &[CallInput],
    ) -> Result<Vec<(DType, Vec<usize>)>> {
        if let ExecutionMode::Whole { part, at } = self.methods[method].form {
            return self.parts[part].engine.output_types(at, args);
        }
        let method = &self.methods[method];
        let shapes = self.infer(method, args)?;
        let outputs = method.graph.outputs.iter();
        Ok(outputs.map(|&id| (method.graph.var(id).ty.dtype, shapes.shapes[id as usize].clone())).collect())
    }

    /// Whether shapes in a method depend on the value of the shared variable at this position.
    pub(crate) fn value_decides_shapes(&self, method: usize, shared: usize) -> bool {
        let method = &self.methods[method];
        match method.form {
            ExecutionMode::Whole { part, at } => self.parts[part].engine.value_decides_shapes(at, shared),
            ExecutionMode::Stages(_) => Demand::of(&method.graph).shared.contains(&shared),
        }
    }

    /// The Program of a call with these inputs, which is neither compiled nor run; `None` if values decide
    /// shapes, or it runs in several contexts.
    ///
    /// # Errors
    /// If shapes do not fit.
    pub(crate) fn drafted(&self, method: usize, args: &[CallInput]) -> Result<Option<Program>> {
        match self.methods[method].form {
            ExecutionMode::Whole { part, at } => self.parts[part].engine.drafted(at, args),
            ExecutionMode::Stages(_) => Ok(None),
        }
    }

    /// The memory that a call with these inputs needs, and the memory that is held.
    pub(crate) fn memory_report(&self, method: usize, args: &[CallInput]) -> Result<MemoryReport> {
        if let ExecutionMode::Whole { part, at } = self.methods[method].form {
            return self.parts[part].engine.memory_report(at, args);
        }
        let report = |(part, at, args): (usize, usize, Vec<CallInput>)| {
            let context = self.parts[part].name.clone().unwrap_or_default();
            Ok((context, self.parts[part].engine.memory_report(at, &args)?))
        };
        let reports = self.planned(method, args)?.into_iter().map(report).collect::<Result<_>>()?;
        Ok(MemoryReport::of_stages(&self.methods[method].name, reports))
    }

    /// Makes the arena of each device at least this large.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<()> {
        self.parts.iter_mut().try_for_each(|part| part.engine.reserve(bytes))
    }

    /// Plans and records a call with these inputs, and allocates the memory of its results, without running
    /// it.
    pub(crate) fn reserve_for(&mut self, method: usize, args: &[CallInput]) -> Result<()> {
        for (part, at, args) in self.planned(method, args)? {
            self.parts[part].engine.reserve_for(at, &args)?;
        }
        Ok(())
    }

    /// Frees memory that is not in use; returns the approximate number of bytes of device memory freed.
    pub(crate) fn trim(&mut self) -> u64 {
        self.methods.iter_mut().for_each(|method| {
            if let ExecutionMode::Stages(staged) = &mut method.form {
                staged.last = None;
            }
        });
        self.parts.iter_mut().map(|part| part.engine.trim()).sum()
    }

    /// How often Programs of a method were planned again after they were evicted.
    pub(crate) fn planned_again(&self, method: usize) -> u64 {
        let again = |piece: MethodPart<'_>| self.parts[piece.part].engine.planned_again(piece.at);
        self.pieces(method).into_iter().map(again).max().unwrap_or(0)
    }

    /// The extents of the first call of a method that runs whole on one device, if it was called.
    pub(crate) fn first_sizes(&self, method: usize) -> Option<&Vec<usize>> {
        match self.methods[method].form {
            ExecutionMode::Whole { part, at } => self.parts[part].engine.first_sizes(at),
            ExecutionMode::Stages(_) => None,
        }
    }

    /// Sets the extents of the first call of a method, where another Simulator made it.
    pub(crate) fn set_first_sizes(&self, method: usize, extents: Vec<usize>) {
        if let ExecutionMode::Whole { part, at } = self.methods[method].form {
            self.parts[part].engine.set_first_sizes(at, extents);
        }
    }
}

/// An argument of the size that a Var has, with an unknown value.
fn stand_in(method: &ExecutorMethod, shapes: &Shapes, id: VarId) -> Result<CallInput> {
    let zeros = Value::zeros(method.graph.var(id).ty.dtype, &[])?;
    Ok(CallInput::Slices(zeros.broadcast_to(&shapes.shapes[id as usize])?, None))
}

fn missing() -> Error {
    Error::Internal("a stage takes an input that the method does not have".into())
}
