//! The methods of [`Lowering`] for ops: they query shapes, make buffers and append steps.

use super::abilities::Abilities;
use super::build::{At, NestBuilder};
use super::program::{BufferId, LibraryStep, Program, Role, Step};
use super::view::View;
use super::{Lowering, bounds_reports, view, wide};
use crate::graph::{Def, VarId};
use crate::value::Value;
use std::sync::Arc;
use workalike_device::LibraryOp;
use workalike_kernels::DType;
use workalike_kernels::nest::PhaseKind;

impl Lowering<'_> {
    /// The number that the current node stores in the status word to report an error.
    pub fn report(&self) -> i128 {
        self.numbers.number(self.node)
    }

    /// The Program so far.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What the device offers.
    pub fn abilities(&self) -> &Abilities<'_> {
        self.abilities
    }

    /// The extents of an input or output of the node; empty for a Var that the graph does not have.
    pub fn shape(&self, id: VarId) -> Vec<u64> {
        let parts = self.graph.vars.get(id as usize).filter(|var| var.ty.dtype.is_complex()).map(|_| 2);
        let shape = self.shapes.shapes.get(id as usize).map_or(vec![], |shape| wide(shape));
        shape.into_iter().chain(parts).collect()
    }

    /// The dtype of an input or output of the node; bool for a Var that the graph does not have.
    pub fn dtype(&self, id: VarId) -> DType {
        self.graph.vars.get(id as usize).map_or(DType::Bool, |var| var.ty.dtype.real())
    }

    /// The value of an input or output of the node, if constants and shapes alone decide it.
    pub fn fixed(&self, id: VarId) -> Option<&Value> {
        self.shapes.fixed.get(id as usize)?.as_ref()
    }

    /// A new buffer for results of steps of this node. Its elements are undefined until a step stores them.
    pub fn temp(&mut self, dtype: DType, shape: &[u64]) -> BufferId {
        let fits = view::count(shape).is_some();
        if !fits {
            self.refuse(format!("a buffer of extents {shape:?} does not fit in 64 bits"));
        }
        let id = self.program.buffer(dtype, if fits { shape } else { &[0] }, Role::Temp);
        self.program.buffers[id].node = Some(self.node);
        id
    }

    /// Appends a Nest, unless it has nothing to do. Indices are checked even if it has no result. A Nest that
    /// is not well-formed is a mistake: see the [module](crate::lower).
    pub fn push(&mut self, nest: NestBuilder) {
        let NestBuilder { nest, buffers, mistake } = nest;
        let checked = mistake.map_or_else(|| self.check_nest(&nest, &buffers), Err);
        if let Err(why) = checked {
            return self.refuse(why);
        }
        let nests = if nest.axes[..nest.grid].contains(&0) {
            bounds_reports::alone(&self.program, &nest, &buffers)
        } else {
            vec![(nest, buffers)]
        };
        for (nest, buffers) in nests {
            if let Err(why) = workalike_kernels::verify::verify(&nest) {
                return self.refuse(why.to_string());
            }
            let step = Step::Nest { nest, buffers };
            self.mark_written(&step.writes());
            self.program.steps.push(step);
        }
    }

    /// A buffer that holds exactly this view: the view's own, or a copy.
    pub fn whole(&mut self, view: &View) -> BufferId {
        if view.is_whole() { view.buffer } else { self.own_copy(view).buffer }
    }

    /// A view's elements in a new buffer, in order.
    pub fn own_copy(&mut self, view: &View) -> View {
        let dtype = match view.check(&self.program) {
            Ok(buffer) => buffer.dtype,
            Err(why) => {
                self.refuse(why);
                return view.clone();
            }
        };
        let target = self.temp(dtype, &view.shape);
        let mut nest = NestBuilder::new("copy", &view.shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.load(view, &At::axes(view.shape.len()));
        point.store(target, &view.shape, &At::axes(view.shape.len()), value, None);
        point.finish();
        if !self.abilities.properties().f64 {
            // Moving float64 needs no arithmetic on it.
            let doubles = nest.nest.operands.iter_mut().filter(|o| o.dtype == DType::F64);
            doubles.for_each(|o| o.dtype = DType::I64);
        }
        self.push(nest);
        View::whole(target, &view.shape)
    }

    /// Appends a library op on these inputs, each with the position of its first element, if the device has
    /// it; its outputs are new buffers of these extents. Parameters that the op refuses, and inputs in which
    /// an operand does not lie, are mistakes: see the [module](crate::lower).
    pub fn library(
        &mut self,
        op: impl LibraryOp,
        inputs: Vec<(BufferId, u64)>,
        shapes: &[&[u64]],
    ) -> Option<Vec<View>> {
        if let Err(why) = op.verify() {
            self.refuse(why.to_string());
            return None;
        }
        let scratch = self.abilities.scratch(&op)?;
        let results = (&op as &dyn LibraryOp).outputs();
        let outputs: Vec<BufferId> =
            results.iter().zip(shapes).map(|(result, shape)| self.temp(result.dtype, shape)).collect();
        let views = outputs.iter().zip(shapes).map(|(&buffer, shape)| View::whole(buffer, shape)).collect();
        self.push_library(Arc::new(op), inputs, outputs, scratch)?;
        Some(views)
    }

    /// The same, into existing buffers.
    pub(crate) fn library_into(
        &mut self,
        op: impl LibraryOp,
        inputs: Vec<(BufferId, u64)>,
        outputs: Vec<BufferId>,
    ) -> Option<()> {
        let scratch = self.abilities.scratch(&op)?;
        self.push_library(Arc::new(op), inputs, outputs, scratch)
    }

    /// The view of the only output of a later node, which steps of the current one compute.
    pub(crate) fn give(&mut self, output: VarId, view: View) {
        if let Def::Output { node, .. } = self.graph.var(output).def {
            self.given.insert(node as usize, vec![view]);
        }
    }

    fn push_library(
        &mut self,
        op: Arc<dyn LibraryOp>,
        inputs: Vec<(BufferId, u64)>,
        outputs: Vec<BufferId>,
        scratch: u64,
    ) -> Option<()> {
        if let Err(why) = self.check_library(&*op, &inputs, &outputs) {
            self.refuse(why);
            return None;
        }
        if outputs.iter().all(|&output| self.program.buffers[output].is_empty()) {
            return Some(());
        }
        self.mark_written(&outputs);
        let scratch = (scratch > 0).then(|| self.temp(DType::U8, &[scratch]));
        let step = LibraryStep { op, inputs, outputs, scratch, epilogue: None };
        self.program.steps.push(Step::Library(step));
        Some(())
    }
}
