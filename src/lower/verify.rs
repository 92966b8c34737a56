//! Checks of the steps that [`Op::lower`](crate::ops::Op::lower) appends and the views that it returns.
//! Everything after lowering relies on well-formed Programs, and an op of another crate may append anything.

use super::program::{Buffer, BufferId, Role};
use super::view::{View, count};
use super::{Lowering, Refusal};
use crate::graph::Node;
use workalike_device::LibraryOp;
use workalike_kernels::DType;
use workalike_kernels::nest::{IndexMode, Inst, Nest, Operand, Phase, PhaseKind, Store};

impl Lowering<'_> {
    /// Records a mistake of the current node's op: the op is refused for the first one.
    pub(super) fn refuse(&mut self, why: impl Into<Refusal>) {
        self.mistake.get_or_insert_with(|| why.into());
    }

    /// Records which buffers a step of the current node writes. Fusion leaves a buffer alone that several
    /// steps write.
    pub(crate) fn mark_written(&mut self, buffers: &[BufferId]) {
        for &id in buffers {
            if !self.written.insert(id)
                && let Some(buffer) = self.program.buffers.get_mut(id)
            {
                buffer.mutable = true;
            }
        }
    }

    /// Whether the current node made a buffer and stored nothing there yet.
    fn is_unwritten(&self, id: BufferId, buffer: &Buffer) -> bool {
        id >= self.first_buffer
            && buffer.role == Role::Temp
            && !buffer.is_empty()
            && !self.written.contains(&id)
    }

    /// A step writes buffers that its own node made, and the status words.
    fn check_target(&self, id: BufferId, buffer: &Buffer) -> Result<(), Refusal> {
        if buffer.role == Role::Status || (id >= self.first_buffer && buffer.role == Role::Temp) {
            return Ok(());
        }
        Err(format!("a step writes buffer {id} ({:?}); expected a buffer that the op made", buffer.role))
    }

    /// Checks that a Nest is made of buffers of this Program, and may be computed in parallel as far as its
    /// indices show. Its own form is checked by [`verify`](workalike_kernels::verify::verify).
    pub(super) fn check_nest(&self, nest: &Nest, buffers: &[BufferId]) -> Result<(), Refusal> {
        if nest.phases.is_empty() {
            return Err(format!("Nest `{}` has no phases", nest.name));
        }
        let mut roles = Vec::with_capacity(buffers.len());
        for (at, (operand, &id)) in nest.operands.iter().zip(buffers).enumerate() {
            let buffer = self.program.buffer_at(id)?;
            check_operand(operand, buffer)?;
            roles.push(&buffer.role);
            if operand.written {
                self.check_target(id, buffer)?;
                let others = buffers.iter().enumerate().any(|(other, &b)| other != at && b == id);
                if others && buffer.role != Role::Status {
                    return Err(format!("Nest `{}` writes buffer {id} under two shapes", nest.name));
                }
            } else if self.is_unwritten(id, buffer) {
                return Err(format!("Nest `{}` reads buffer {id}, which nothing wrote", nest.name));
            }
        }
        let is_status = |operand: usize| roles.get(operand) == Some(&&Role::Status);
        for phase in &nest.phases {
            self.check_reports(phase, is_status)?;
            let mut stores = phase.stores.iter().filter(|store| !is_status(store.operand));
            if let Some(axis) = stores.find_map(|store| shared_axis(nest, phase, store)) {
                return Err(format!("Nest `{}`: points along axis {axis} store to one element", nest.name));
            }
        }
        Ok(())
    }

    /// Checks that a phase reports nothing but the number of the current node.
    fn check_reports(&self, phase: &Phase, is_status: impl Fn(usize) -> bool) -> Result<(), Refusal> {
        let expected = self.report();
        let refused = || Err(format!("a report stores {expected} (`Lowering::report`) in the status word"));
        for inst in &phase.block.insts {
            if let Inst::Position { mode: IndexMode::Report { status, node }, .. } = inst
                && (!is_status(*status) || i128::from(*node) != expected)
            {
                return refused();
            }
        }
        for store in phase.stores.iter().filter(|store| is_status(store.operand)) {
            if !self.is_report(&phase.block.insts, store.value) || store.add || !store.index.is_empty() {
                return refused();
            }
        }
        Ok(())
    }

    /// Checks the parameters of a library op, and that its operands lie within these buffers.
    pub(super) fn check_library(
        &self,
        op: &dyn LibraryOp,
        inputs: &[(BufferId, u64)],
        outputs: &[BufferId],
    ) -> Result<(), Refusal> {
        op.verify().map_err(|why| why.to_string())?;
        let (read, written) = (op.inputs(), op.outputs());
        if (read.len(), written.len()) != (inputs.len(), outputs.len()) {
            let (reads, writes) = (read.len(), written.len());
            let (given, made) = (inputs.len(), outputs.len());
            return Err(format!(
                "{} has {reads} inputs and {writes} outputs, got {given} and {made}",
                op.name()
            ));
        }
        for (operand, &(id, first)) in read.iter().zip(inputs) {
            let buffer = self.program.buffer_at(id)?;
            check_reach(op, operand, buffer, first)?;
            if self.is_unwritten(id, buffer) {
                return Err(format!("{} reads buffer {id}, which nothing wrote", op.name()));
            }
        }
        for (at, (operand, &id)) in written.iter().zip(outputs).enumerate() {
            let buffer = self.program.buffer_at(id)?;
            self.check_target(id, buffer)?;
            check_reach(op, operand, buffer, 0)?;
            let twice = outputs[..at].contains(&id) || inputs.iter().any(|input| input.0 == id);
            if twice || (op.reads_outputs() && self.is_unwritten(id, buffer)) {
                return Err(format!("{} cannot write buffer {id} in place", op.name()));
            }
        }
        Ok(())
    }

    /// Checks that these views are the outputs of a node.
    pub(super) fn check_outputs(&self, node: &Node, views: &[View]) -> Result<(), Refusal> {
        if views.len() != node.outputs.len() {
            return Err(format!("lowering gives {} views, expected {}", views.len(), node.outputs.len()));
        }
        for (view, &id) in views.iter().zip(&node.outputs) {
            let buffer = view.check(&self.program)?;
            let (dtype, shape) = (self.dtype(id), self.shape(id));
            if buffer.dtype != dtype || view.shape != shape || count(&view.base) != Some(buffer.len()) {
                let (given, found) = (buffer.dtype, &view.shape);
                return Err(format!("lowering gives {given} of {found:?}, expected {dtype} of {shape:?}"));
            }
            for &start in view.dynamic.iter().flatten() {
                let unwritten = self
                    .program
                    .buffers
                    .get(start)
                    .is_none_or(|b| b.role == Role::Status || self.is_unwritten(start, b));
                if unwritten {
                    return Err(format!(
                        "lowering gives a view that starts at buffer {start}, which nothing wrote"
                    ));
                }
            }
            if buffer.role == Role::Status || self.is_unwritten(view.buffer, buffer) {
                return Err(format!("lowering gives buffer {}, which nothing wrote", view.buffer));
            }
        }
        Ok(())
    }
}

/// An operand of a Nest lies within its buffer and has its dtype.
fn check_operand(operand: &Operand, buffer: &Buffer) -> Result<(), Refusal> {
    // A copy moves float64 as int64.
    let moved = buffer.dtype == DType::F64 && operand.dtype == DType::I64;
    let fits = count(&operand.shape).is_some_and(|n| n <= buffer.len());
    if fits && (operand.dtype == buffer.dtype || moved) {
        return Ok(());
    }
    let (dtype, shape) = (operand.dtype, &operand.shape);
    Err(format!("an operand {dtype} of {shape:?} in a buffer of {} {:?}", buffer.dtype, buffer.shape))
}

/// An operand of a library op, from this element on, lies within its buffer and has its dtype.
fn check_reach(op: &dyn LibraryOp, operand: &Operand, buffer: &Buffer, first: u64) -> Result<(), Refusal> {
    let last =
        operand.shape.iter().zip(&operand.strides).try_fold(i128::from(first), |last, (&e, &stride)| {
            let reach = i128::from(e.saturating_sub(1)).checked_mul(stride.into())?;
            (reach >= 0).then_some(())?;
            last.checked_add(reach)
        });
    let empty = operand.shape.contains(&0);
    let fits = empty || last.is_some_and(|last| last < i128::from(buffer.len()));
    if fits && operand.dtype == buffer.dtype {
        return Ok(());
    }
    let (name, dtype, shape) = (op.name(), operand.dtype, &operand.shape);
    let (given, found) = (buffer.dtype, &buffer.shape);
    Err(format!(
        "{name}: an operand {dtype} of {shape:?} from element {first} of a buffer {given} of {found:?}"
    ))
}

/// An axis along which points that may run at once store to one element. Computed positions are not checked:
/// the op is responsible for them.
fn shared_axis(nest: &Nest, phase: &Phase, store: &Store) -> Option<usize> {
    if store.add || store.index.iter().any(|index| index.dynamic.is_some()) {
        return None;
    }
    let axes = match phase.kind {
        PhaseKind::Point | PhaseKind::Ordered => nest.grid,
        PhaseKind::Map | PhaseKind::Reduce => nest.axes.len(),
    };
    let moves = |axis: usize| store.index.iter().any(|index| index.terms.iter().any(|term| term.0 == axis));
    (0..axes).find(|&axis| nest.axes[axis] > 1 && !moves(axis))
}
