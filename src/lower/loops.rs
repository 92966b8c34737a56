//! Loops: a body is lowered to a Program of its own, and bound, iteration by iteration, to rows of buffers of
//! the Program around it.
//!
//! A device accepts regions that start at a multiple of its alignment. So the rows of an array that an
//! iteration reads or writes are that far apart: rows of another size are padded, and an array of such rows
//! that is given is copied first.

use super::build::{At, NestBuilder};
use super::index_bounds::Trusted;
use super::program::{Access, Body, BranchStep, BufferId, LoopStep, Program, Role, Step, WhileStep};
use super::view::View;
use super::{Lowering, Refusal};
use crate::graph::shapes::Shapes;
use crate::graph::{FunctionGraph, VarId};
use crate::op::AxisRead;
use workalike_kernels::DType;
use workalike_kernels::nest::{Affine, Nest, PhaseKind};

/// Iterations that a device far from the host computes before the host reads whether there is another:
/// reading takes about as long as a few small kernels.
const AHEAD: u64 = 8;
/// The most bytes of carried values of which so many are kept.
const MOST_AHEAD: u64 = 8 << 20;

/// An array of rows, which iterations read and write one by one.
#[derive(Clone, Debug)]
pub(crate) struct RowArray {
    buffer: BufferId,
    dtype: DType,
    row: Vec<u64>,
    /// Elements from one row to the next.
    pitch: u64,
    /// Rows that there is memory for.
    kept: u64,
    /// Rows of the whole array; the last ones are kept.
    whole: u64,
}

impl RowArray {
    /// The row that each iteration accesses, `first` in the first.
    pub(crate) fn from(&self, first: u64) -> Access {
        let stride = self.pitch.saturating_mul(self.dtype.size() as u64);
        // The last rows lie in order at the end of the loop.
        let skipped = self.whole - self.kept;
        let shift = (self.kept - skipped % self.kept.max(1)) % self.kept.max(1);
        let first = first.saturating_add(shift) % self.kept.max(1);
        let rows = (skipped > 0).then_some(self.kept);
        Access { buffer: self.buffer, first: first.saturating_mul(stride), stride: stride as i64, rows }
    }

    /// Its memory.
    pub(crate) fn buffer(&self) -> BufferId {
        self.buffer
    }

    /// The array; rows that are not kept are not to be read.
    pub(crate) fn view(&self) -> View {
        let skipped = self.whole - self.kept;
        View::rows(self.buffer, [self.kept, self.whole, self.pitch], &self.row, skipped)
    }
}

impl<'a> Lowering<'a> {
    /// The body at a position of the node's, as a Program of its own, whose inputs and outputs are those of
    /// the graph.
    pub(crate) fn body(
        &self,
        position: usize,
        graph: &FunctionGraph,
        shapes: &Shapes,
    ) -> Result<Program, Refusal> {
        let numbers = self.numbers.of_body(self.graph, self.node, position);
        let lowered = super::lower_numbered(graph, shapes, self.abilities, &Trusted::default(), numbers);
        let mut program = lowered.map_err(|e| e.to_string())?;
        if let Some(node) = program.host_nodes().next() {
            return Err(format!("{} in its body has no device form: {}", node.op.label(), node.why));
        }
        for position in 0..program.outputs.len() {
            let output = program.outputs[position];
            // An output has memory of its own, apart from what is carried.
            let carried = matches!(program.buffers[output].role, Role::Shared(_))
                || program.updates.iter().any(|update| update.1 == output);
            if carried || program.outputs[..position].contains(&output) {
                program.outputs[position] = copied(&mut program, output, self.abilities.properties().f64);
            }
        }
        Ok(program)
    }

    /// What is known within the node's body at a position.
    pub(crate) fn body_shapes(&self, position: usize) -> Result<&'a Shapes, Refusal> {
        let bodies = self.shapes.bodies.get(&self.node);
        bodies
            .and_then(|bodies| bodies.get(position))
            .ok_or_else(|| "the shapes of its body are not known".into())
    }

    /// A new buffer for an output of the node.
    pub(crate) fn result(&mut self, id: VarId) -> View {
        let (dtype, shape) = (self.dtype(id), self.shape(id));
        View::whole(self.temp(dtype, &shape), &shape)
    }

    fn bound(
        &mut self,
        program: Program,
        inputs: Vec<Access>,
        outputs: Vec<Access>,
        carried: Vec<BufferId>,
    ) -> Body {
        let status = program.status.map(|_| self.status());
        let scratch = self.temp(DType::U8, &[0]);
        Body { program, inputs, outputs, carried, status, scratch, offsets: vec![] }
    }

    fn push_control(&mut self, step: Step) {
        let mut written = step.writes();
        written.sort_unstable();
        written.dedup();
        self.mark_written(&written);
        self.program.steps.push(step);
    }

    /// Appends a loop: the body's inputs are `inputs`, in order, and its outputs are stored to `outputs`. The
    /// body updates `carried`.
    pub(crate) fn push_loop(
        &mut self,
        name: &str,
        program: Program,
        trips: u64,
        (inputs, outputs): (Vec<Access>, Vec<Access>),
        carried: Vec<BufferId>,
    ) {
        if !program.steps.is_empty() {
            let body = self.bound(program, inputs, outputs, carried);
            self.push_control(Step::Loop(LoopStep { name: name.into(), body, trips }));
        }
    }

    /// Appends a loop that goes on while `flag` is set, which the body's only output is stored to, up to
    /// `most` iterations. The body updates `carried`.
    pub(crate) fn push_while(
        &mut self,
        name: &str,
        program: Program,
        (flag, most): (BufferId, u64),
        carried: Vec<BufferId>,
        inputs: Vec<Access>,
    ) {
        let decides = program.steps.iter().any(Step::decides);
        let bytes =
            carried.iter().fold(0u64, |sum, &id| sum.saturating_add(self.program.buffers[id].bytes()));
        let waits = self.abilities.properties().is_wide();
        let ahead = match waits && !decides && bytes <= MOST_AHEAD {
            true => AHEAD,
            false => 1,
        };
        let body = self.bound(program, inputs, vec![Access::whole(flag)], carried);
        self.push_control(Step::While(WhileStep { name: name.into(), body, flag, most, ahead }));
    }

    /// Appends a branch: the body at position `index` stores its outputs to `results`.
    pub(crate) fn push_branch(
        &mut self,
        name: &str,
        programs: Vec<Program>,
        index: BufferId,
        inputs: &[Access],
        results: &[View],
    ) {
        let outputs: Vec<Access> = results.iter().map(|view| Access::whole(view.buffer)).collect();
        let body = |program| self.bound(program, inputs.to_vec(), outputs.clone(), vec![]);
        let bodies = programs.into_iter().map(body).collect();
        self.push_control(Step::Branch(BranchStep { name: name.into(), bodies, index }));
    }

    /// An array of `whole` rows that the loop writes row by row; the last `kept` rows are kept.
    pub(crate) fn rows(&mut self, dtype: DType, row: &[u64], whole: u64, kept: u64) -> RowArray {
        let size = dtype.size() as u64;
        let alignment = self.abilities.properties().alignment.max(size);
        let elements = row.iter().fold(1u64, |n, &e| n.saturating_mul(e));
        let pitch = elements.saturating_mul(size).max(1).next_multiple_of(alignment) / size;
        let kept = kept.min(whole);
        let buffer = match pitch == elements && kept == whole {
            true => self.temp(dtype, &std::iter::once(whole).chain(row.iter().copied()).collect::<Vec<_>>()),
            false => self.temp(dtype, &[kept, pitch]),
        };
        RowArray { buffer, dtype, row: row.to_vec(), pitch, kept, whole }
    }

    /// An array of `whole` rows that the loop changes in place; only the last row is kept.
    pub(crate) fn last_row(&mut self, dtype: DType, row: &[u64], whole: u64) -> RowArray {
        let pitch = row.iter().fold(1u64, |n, &e| n.saturating_mul(e));
        RowArray { buffer: self.temp(dtype, row), dtype, row: row.to_vec(), pitch, kept: 1, whole }
    }

    /// Copies a view of rows to the first rows of an array.
    pub(crate) fn set_rows(&mut self, rows: &RowArray, view: &View) {
        let first = view.shape.first().copied().unwrap_or_default();
        let RowArray { buffer, pitch, kept, .. } = *rows;
        // Where the first rows lie if not all are kept.
        let at = rows.from(0);
        let stride = pitch.saturating_mul(rows.dtype.size() as u64).max(1);
        let runs = match at.rows {
            None => vec![(0, first, 0)],
            Some(kept) => {
                let start = at.first / stride;
                let ahead = first.min(kept - start.min(kept));
                vec![(0, ahead, start), (ahead, first - ahead, 0)]
            }
        };
        for (from, count, to) in runs.into_iter().filter(|run| run.1 > 0) {
            let source = view.slice(0, from as i64, 1, Some(count), None);
            let all = View::rows(buffer, [kept, kept, pitch], &rows.row, 0);
            let target = all.slice(0, to as i64, 1, Some(count), None);
            self.copy_view(&source, &target);
        }
    }

    fn copy_view(&mut self, source: &View, target: &View) {
        let mut nest = NestBuilder::new("rows", source.shape(), &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let here = At::axes(source.shape().len());
        let value = point.load(source, &here);
        point.store_view(target, &here, value);
        point.finish();
        self.push(nest);
    }

    /// The row of a view that each iteration reads. The view is copied if its rows do not lie where a device
    /// reads them.
    pub(crate) fn read_rows(&mut self, view: &View) -> Access {
        if let Some(access) = self.aligned_rows(view) {
            return access;
        }
        let dtype = self.program.buffers[view.buffer].dtype;
        let count = view.shape.first().copied().unwrap_or_default();
        let rows = self.rows(dtype, view.shape.get(1..).unwrap_or_default(), count, count);
        self.set_rows(&rows, view);
        rows.from(0)
    }

    fn aligned_rows(&self, view: &View) -> Option<Access> {
        let Affine { offset, coefficients: strides } = view.linear()?;
        let (stride, within) = strides.split_first()?;
        let within = Affine { offset: 0, coefficients: within.to_vec() };
        let contiguous = within.is_row_major(&view.shape[1..]);
        let size = self.program.buffers[view.buffer].dtype.size() as i64;
        let alignment = self.abilities.properties().alignment.max(1) as i64;
        let (first, stride) = (offset.checked_mul(size)?, stride.checked_mul(size)?);
        let aligned = first % alignment == 0 && stride % alignment == 0;
        let first = u64::try_from(first).ok()?;
        (contiguous && aligned).then_some(Access { buffer: view.buffer, first, stride, rows: None })
    }

    /// All of a view, in each iteration.
    pub(crate) fn read_whole(&mut self, view: &View) -> Access {
        Access::whole(self.whole(view))
    }

    /// How many of the last positions along the first axis of an output of the node are read: none known
    /// where all may be.
    pub(crate) fn last_rows_read(&self, output: usize) -> Option<u64> {
        let id = self.graph.nodes[self.node].outputs[output];
        if self.graph.roots().any(|root| root == id) {
            return None;
        }
        let extent = *self.shapes.shapes[id as usize].first()? as i64;
        let mut lowest = extent;
        for &reader in &self.readers()[id as usize] {
            let reader = &self.graph.nodes[reader];
            if !super::is_done(reader, self.shapes, &self.needed) {
                continue;
            }
            let known = self.known_inputs(reader);
            for input in (0..known.len()).filter(|&input| reader.inputs[input] == id) {
                let AxisRead::Slice { start, step, count } = reader.op.axis_read(input, 0, &known) else {
                    return None;
                };
                let last = step.checked_mul(count.saturating_sub(1) as i64)?.checked_add(start)?;
                let positions = (count > 0).then_some([start, last]).into_iter().flatten();
                for at in positions {
                    let at = if at < 0 { at + extent } else { at };
                    lowest = lowest.min(at.max(0));
                }
            }
        }
        u64::try_from(extent - lowest).ok()
    }
}

/// Appends a copy of a buffer to a Program; returns the new buffer.
fn copied(program: &mut Program, from: BufferId, f64: bool) -> BufferId {
    let (dtype, shape, len) = {
        let buffer = &program.buffers[from];
        (buffer.dtype, buffer.shape.clone(), buffer.len())
    };
    let to = program.buffer(dtype, &shape, Role::Temp);
    if len == 0 {
        return to;
    }
    // A move of float64 needs no float64 arithmetic, which the device may lack.
    let moved = if dtype == DType::F64 && !f64 { DType::I64 } else { dtype };
    let nest = Nest::copy(moved, &[len]);
    program.steps.push(Step::Nest { nest, buffers: vec![from, to] });
    to
}
