//! The plan of a Simulator as data: steps, buffers, predicted bytes and flops. It prints as a table.

mod bodies;
mod stages;
mod text;

pub use bodies::BodyPlan;

use super::{Simulator, SimulatorMethod};
use crate::engine::compile::Compiled;
use crate::engine::cost;
use crate::engine::cost::Work;
use crate::engine::executor::{MethodPart, StageInput};
use crate::engine::record::way;
use crate::error::Result;
use crate::function::{ArgsIn, IntoArgs};
use crate::lower::program::{BufferId, Epilogue, LibraryStep, Program, Role, Step};
use serde::Serialize;
use workalike_device::Properties;
use workalike_kernels::nest::{Inst, Nest};

/// The plan of a method at one signature, before or after it has run. It prints as a table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Plan {
    /// The method.
    pub method: String,
    /// The device, as the command line names it; of several contexts, the name and device of each.
    pub device: String,
    /// The steps, in order; copies of new values to shared variables come last.
    pub steps: Vec<StepPlan>,
    /// All buffers that a step touches.
    pub buffers: Vec<BufferPlan>,
    /// The number of Segments, each recorded and replayed as a whole.
    pub segments: usize,
    /// Bytes of arena that the Program needs.
    pub arena_bytes: u64,
    /// Minimum number of bytes of arena of any layout: the most that is alive at one step.
    pub arena_lower_bound: u64,
    /// The work of all steps.
    pub total: Work,
    /// Bytes that any implementation must move; see [`cost::compulsory_bytes`].
    pub compulsory_bytes: u64,
    /// The generated source of all kernels; empty where a device has none.
    pub source: String,
}

/// A step of a [`Plan`].
#[derive(Clone, Debug, Serialize)]
pub struct StepPlan {
    /// Which Segment it belongs to; a host node belongs to none.
    pub segment: Option<usize>,
    /// `nest`, `library`, `copy`, `host`, `loop`, `while` or `branch`.
    pub kind: &'static str,
    /// A readable name.
    pub name: String,
    /// For a Nest, the position of its kernel in the source: `k0`, `k1`, ... Equal Nests share one.
    pub kernel: Option<usize>,
    /// Extents of the axes: of a Nest, the grid axes first; of a library op, its sizes (of a matmul batch, m,
    /// n, k); of a loop, the number of iterations.
    pub axes: Vec<u64>,
    /// How many of the axes are grid axes.
    pub grid: usize,
    /// The phases of a Nest, or of the epilogue of a library op, in order.
    pub phases: Vec<String>,
    /// The operands that it reads and writes.
    pub operands: Vec<OperandPlan>,
    /// The predicted work.
    pub work: Work,
    /// Of a host node, why it does not run on the device.
    pub why: Option<String>,
    /// The context where it is, if the method runs in several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Of a loop or a branch, how the device runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
    /// Of a loop its body, of a branch all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bodies: Vec<BodyPlan>,
}

/// An operand of a [`StepPlan`].
#[derive(Clone, Debug, Serialize)]
pub struct OperandPlan {
    /// Position in [`Program::buffers`], and [`BufferPlan::id`].
    pub buffer: BufferId,
    /// The dtype.
    pub dtype: &'static str,
    /// The extents as the step sees them.
    pub shape: Vec<u64>,
    /// Elements from one index to the next, per dimension.
    pub strides: Vec<i64>,
    /// Whether it is read.
    pub read: bool,
    /// Whether it is written.
    pub written: bool,
}

/// A buffer of a [`Plan`].
#[derive(Clone, Debug, Serialize)]
pub struct BufferPlan {
    /// Position in [`Program::buffers`].
    pub id: BufferId,
    /// `input`, `shared`, `constant`, `scratch` or `status`.
    pub role: &'static str,
    /// The name of the input or shared variable; of others, the name in the printed Plan.
    pub name: String,
    /// The dtype.
    pub dtype: &'static str,
    /// The extents.
    pub shape: Vec<u64>,
    /// Its size.
    pub bytes: u64,
    /// The offset in the arena, if it is there.
    pub offset: Option<u64>,
    /// The context where it is, if the method runs in several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

impl Simulator {
    /// The plan of a call of the first method with these arguments: the call is planned and compiled, but not
    /// run. In several [`contexts`](crate::engine::contexts) it is the plan of all stages, in order.
    ///
    /// # Errors
    /// If the arguments do not fit, the device cannot compile it, or shapes in one context depend on a value
    /// that another one computes.
    pub fn plan<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Plan> {
        self.plan_at(0, args.into_args())
    }

    pub(super) fn plan_at(&mut self, method: usize, args: ArgsIn<'_>) -> Result<Plan> {
        let inputs = self.planned_for(method, args)?;
        self.executor.prepare(method, &inputs)?;
        let plan = |piece| self.plan_of(method, piece);
        let plans = self.executor.pieces(method).into_iter().map(plan).collect::<Result<Vec<_>>>()?;
        Ok(Plan::joined(plans))
    }

    /// The plan of a method, or of a stage of it.
    fn plan_of(&self, method: usize, piece: MethodPart<'_>) -> Result<Plan> {
        let SimulatorMethod { name, function, .. } = &self.methods[method];
        let input = |at: usize| match piece.stage.map(|stage| stage.inputs.get(at)) {
            None => Some(function.input_name(at)),
            Some(Some(StageInput::Input(at))) => Some(function.input_name(*at)),
            Some(Some(StageInput::Value(id))) => Some(function.graph().describe(*id)),
            Some(None) => None,
        };
        let shared = |at: usize| {
            let at = piece.stage.map_or(Some(at), |stage| stage.shared.get(at).copied());
            Some(function.cells().get(at?)?.name().to_string())
        };
        let named = |role: &Role| match role {
            Role::Input(i) => input(*i),
            Role::Shared(i) => shared(*i),
            _ => None,
        };
        let properties = self.executor.engine(piece.part).device().properties();
        let mut plan = Plan::of(name, self.executor.compiled(piece)?, properties, &named);
        if piece.stage.is_some() {
            plan.in_context(self.executor.context_name(piece.part).unwrap_or_default());
        }
        Ok(plan)
    }
}

impl Plan {
    fn of(
        method: &str,
        compiled: &Compiled,
        properties: &Properties,
        named: &dyn Fn(&Role) -> Option<String>,
    ) -> Plan {
        let Compiled { program, layout, module, .. } = compiled;
        let steps = compiled.with_kernels().map(|(step, kernels)| StepPlan {
            bodies: bodies::of(step, &mut kernels.iter().copied()),
            ..numbered(program, step, &mut kernels.iter().copied())
        });
        let mut steps: Vec<StepPlan> = steps.collect();
        for &(shared, buffer) in &program.updates {
            let work = cost::update(program, shared, buffer);
            if work.launches > 0 {
                steps.push(copy_plan(program, buffer, named(&Role::Shared(shared)), work));
            }
        }
        let segments = number_segments(&mut steps);
        let arena = layout.arena;
        Plan {
            method: method.into(),
            device: properties.id.clone(),
            buffers: buffer_plans(program, &|id| layout.offsets.get(id).copied().flatten(), named),
            segments,
            arena_bytes: arena.bytes,
            arena_lower_bound: arena.lower_bound,
            total: steps.iter().map(|s| s.work).sum(),
            compulsory_bytes: cost::compulsory_bytes(program),
            source: module.source().into(),
            steps,
        }
    }
}

/// Sets the Segment of each step; a host node ends a Segment. Returns the number of Segments.
fn number_segments(steps: &mut [StepPlan]) -> usize {
    let (mut segments, mut open) = (0, false);
    for step in steps {
        let on_device = step.kind != "host";
        segments += usize::from(on_device && !open);
        open = on_device;
        step.segment = on_device.then(|| segments - 1);
    }
    segments
}

/// A step, with the position of its kernel, which is the next of `kernels`.
fn numbered(program: &Program, step: &Step, kernels: &mut dyn Iterator<Item = usize>) -> StepPlan {
    let kernel = step.nest().and_then(|_| kernels.next());
    StepPlan { kernel, ..step_plan(program, step) }
}

fn step_plan(program: &Program, step: &Step) -> StepPlan {
    let work = cost::step(program, step);
    let whole = |buffer: BufferId, written: bool| whole_operand(program, buffer, written);
    let blank = StepPlan {
        segment: None,
        kind: step.kind(),
        name: step.name(),
        kernel: None,
        axes: vec![],
        grid: 0,
        phases: vec![],
        operands: vec![],
        work,
        why: None,
        context: None,
        way: way(step),
        bodies: vec![],
    };
    let phases =
        |nest: &Nest| nest.phases.iter().map(|p| format!("{:?}", p.kind).to_lowercase()).collect::<Vec<_>>();
    match step {
        Step::Nest { nest, buffers } => StepPlan {
            axes: nest.axes.clone(),
            grid: nest.grid,
            phases: phases(nest),
            operands: nest_operands(nest, buffers),
            ..blank
        },
        Step::Library(LibraryStep { op, inputs, outputs, scratch, epilogue }) => {
            let read = inputs.iter().zip(op.inputs()).map(|(input, operand)| OperandPlan {
                shape: operand.shape,
                strides: operand.strides,
                ..whole(input.0, false)
            });
            let mut operands: Vec<OperandPlan> = read.collect();
            let mut then = vec![];
            match epilogue {
                None => operands.extend(outputs.iter().map(|&b| whole(b, true))),
                Some(Epilogue { nest, buffers }) => {
                    let others = nest_operands(nest, buffers).into_iter();
                    operands.extend(others.filter(|o| !outputs.contains(&o.buffer)));
                    then = phases(nest);
                }
            }
            operands.extend(scratch.iter().map(|&b| whole(b, true)));
            StepPlan { axes: op.extents(), phases: then, operands, ..blank }
        }
        Step::Host(node) => {
            let inputs = node.inputs.iter().map(|&b| whole(b, false));
            let operands = inputs.chain(node.outputs.iter().map(|&b| whole(b, true))).collect();
            let name = format!("{} (node #{})", node.op.label(), node.node);
            StepPlan { name, operands, why: Some(node.why.clone()), ..blank }
        }
        Step::Loop(_) | Step::While(_) | Step::Branch(_) => {
            let read = step.reads().into_iter().map(|b| whole(b, false));
            let operands = read.chain(step.writes().into_iter().map(|b| whole(b, true))).collect();
            StepPlan { axes: trips(step).into_iter().collect(), operands, ..blank }
        }
    }
}

/// The number of iterations of a loop, if it is known.
fn trips(step: &Step) -> Option<u64> {
    if let Step::Loop(step) = step { Some(step.trips) } else { None }
}

/// The copy of a new value to its shared variable.
fn copy_plan(program: &Program, buffer: BufferId, shared: Option<String>, work: Work) -> StepPlan {
    StepPlan {
        segment: None,
        kind: "copy",
        name: format!("to shared variable {}", shared.unwrap_or_default()),
        kernel: None,
        axes: program.buffers[buffer].shape.clone(),
        grid: 0,
        phases: vec![],
        operands: vec![whole_operand(program, buffer, false)],
        work,
        why: None,
        context: None,
        way: None,
        bodies: vec![],
    }
}

fn nest_operands(nest: &Nest, buffers: &[BufferId]) -> Vec<OperandPlan> {
    let mut read = vec![false; nest.operands.len()];
    for inst in nest.phases.iter().flat_map(|p| &p.block.insts) {
        if let Inst::Load { operand, .. } = inst {
            read[*operand] = true;
        }
    }
    let operands = nest.operands.iter().zip(buffers).zip(read);
    let plan = |((operand, &buffer), read): ((&workalike_kernels::nest::Operand, _), _)| OperandPlan {
        buffer,
        dtype: operand.dtype.name(),
        shape: operand.shape.clone(),
        strides: operand.strides.clone(),
        read,
        written: operand.written,
    };
    operands.map(plan).collect()
}

fn whole_operand(program: &Program, buffer: BufferId, written: bool) -> OperandPlan {
    let whole = &program.buffers[buffer];
    let operand = workalike_kernels::nest::Operand::contiguous(whole.dtype, &whole.shape, written);
    OperandPlan {
        buffer,
        dtype: whole.dtype.name(),
        shape: operand.shape,
        strides: operand.strides,
        read: !written,
        written,
    }
}

fn buffer_plans(
    program: &Program,
    offset: &dyn Fn(BufferId) -> Option<u64>,
    named: &dyn Fn(&Role) -> Option<String>,
) -> Vec<BufferPlan> {
    let mut used = vec![false; program.buffers.len()];
    let touched = program.steps.iter().flat_map(|s| s.reads().into_iter().chain(s.writes()));
    touched.chain(program.outputs.iter().copied()).for_each(|b| used[b] = true);
    program.updates.iter().for_each(|u| used[u.1] = true);
    let buffers = program.buffers.iter().enumerate().filter(|(id, _)| used[*id]);
    let plan = |(id, buffer): (BufferId, &crate::lower::program::Buffer)| {
        let (role, own) = match buffer.role {
            Role::Input(i) => ("input", format!("input{i}")),
            Role::Shared(i) => ("shared", format!("shared{i}")),
            Role::Constant(i) => ("constant", format!("constant{i}")),
            Role::Temp => ("scratch", format!("t{id}")),
            Role::Status => ("status", "status".into()),
        };
        BufferPlan {
            id,
            role,
            name: named(&buffer.role).unwrap_or(own),
            dtype: buffer.dtype.name(),
            shape: buffer.shape.clone(),
            bytes: buffer.bytes(),
            offset: offset(id),
            context: None,
        }
    };
    buffers.map(plan).collect()
}
