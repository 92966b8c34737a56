//! A Program: what a Function does at one signature, as Nests, library ops and host nodes over buffers.
//!
//! Lowering makes it (op by op, unfused), fusion rewrites it, planning lays its buffers out in memory, a
//! device runs it. Nothing in it is bound to memory or to a device: buffers name logical devices, which are
//! numbers.
//!
//! - here: buffers, and the [`Program`];
//! - `step`: the steps, and what passes ask of them.

mod step;

pub use super::index_check::IndexBound;
pub use step::{Epilogue, HostNode, LibraryStep, Step};

use crate::dtype::DType;
use crate::kernels::nest::Nest;
use crate::value::Value;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// Position of a buffer in [`Program::buffers`].
pub type BufferId = usize;

/// Words of [`Role::Status`]: the last error, the number of calls that succeeded, and the first error.
pub const STATUS_WORDS: u64 = 3;

/// Memory that steps read and write.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The stored element type.
    pub dtype: DType,
    /// Extents; contiguous row-major.
    pub shape: Vec<u64>,
    /// Where it lies.
    pub role: Role,
    /// The device in whose memory it lies.
    pub device: LogicalDevice,
    /// Written by more than one step, in order. Fusion leaves such a buffer's steps alone, except that a copy
    /// into a part of it may be replaced by the step that computes the copied values.
    pub mutable: bool,
    /// The node of the graph whose result it holds, or for which it is scratch; for errors.
    pub node: Option<usize>,
}

/// A device of a Program, by number. The engine decides which device it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalDevice(pub u16);

impl LogicalDevice {
    /// The first device of a Program, which is the default of buffers.
    pub const FIRST: LogicalDevice = LogicalDevice(0);

    /// Its number, unless it is the first: listings name only the others.
    pub fn listed(self) -> Option<u16> {
        (self != LogicalDevice::FIRST).then_some(self.0)
    }
}

/// Where a buffer lies.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// The input at this position; filled by each call.
    Input(usize),
    /// The shared variable at this position of the graph, at its canonical address.
    Shared(usize),
    /// The constant at this position of [`Program::constants`].
    Constant(usize),
    /// Scratch.
    Temp,
    /// [`STATUS_WORDS`] int64. The first is 0, or the number plus one of a node that found something wrong:
    /// an index out of range, a condition that does not hold.
    Status,
}

impl Buffer {
    /// Number of elements.
    pub fn len(&self) -> u64 {
        self.shape.iter().fold(1, |n, &extent| n.saturating_mul(extent))
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.len().saturating_mul(self.dtype.size() as u64)
    }
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// All buffers.
    pub buffers: Vec<Buffer>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Values of [`Role::Constant`] buffers.
    pub constants: Vec<Value>,
    /// The buffer of each output: scratch of its own, alive to the end.
    pub outputs: Vec<BufferId>,
    /// New values: position of the shared variable, and the buffer that holds its new value at the end: the
    /// shared variable's own (updated in place), or scratch that is copied there at the end.
    pub updates: Vec<(usize, BufferId)>,
    /// The status words, if some step may report an index out of range.
    pub status: Option<BufferId>,
    /// Assumptions about the values of inputs and shared variables; a call that does not meet them must not
    /// run this Program.
    pub assumed: Vec<IndexBound>,
}

impl Program {
    /// The buffer at the canonical address of each shared variable; the first, if there are several.
    pub(crate) fn homes(&self) -> HashMap<usize, BufferId> {
        let mut homes = HashMap::new();
        for (id, buffer) in self.buffers.iter().enumerate() {
            if let Role::Shared(shared) = buffer.role {
                homes.entry(shared).or_insert(id);
            }
        }
        homes
    }

    /// A new buffer, on the first device.
    pub fn buffer(&mut self, dtype: DType, shape: &[u64], role: Role) -> BufferId {
        let device = LogicalDevice::FIRST;
        self.buffers.push(Buffer { dtype, shape: shape.to_vec(), role, device, mutable: false, node: None });
        self.buffers.len() - 1
    }

    /// A new buffer, on the device of another one.
    pub(crate) fn buffer_beside(
        &mut self,
        other: BufferId,
        dtype: DType,
        shape: &[u64],
        role: Role,
    ) -> BufferId {
        let device = self.buffers.get(other).map_or(LogicalDevice::FIRST, |buffer| buffer.device);
        let id = self.buffer(dtype, shape, role);
        self.buffers[id].device = device;
        id
    }

    /// The buffer at this position, if there is one.
    pub(crate) fn buffer_at(&self, id: BufferId) -> Result<&Buffer, String> {
        self.buffers.get(id).ok_or_else(|| format!("there is no buffer {id}, only {}", self.buffers.len()))
    }

    /// The device that runs a step: that of its buffers. `None` where the host acts, which may access buffers
    /// of several devices.
    ///
    /// # Errors
    /// If the step needs no host and accesses buffers of several devices, or a buffer that does not exist.
    pub fn device_of(&self, step: &Step) -> Result<Option<LogicalDevice>, String> {
        if step.needs_host() {
            return Ok(None);
        }
        let mut found = None;
        for id in step.buffers() {
            let device = self.buffer_at(id)?.device;
            let first = *found.get_or_insert(device);
            if device != first {
                let both = format!("found buffers of devices {} and {}", first.0, device.0);
                return Err(format!("step {}: expected buffers of one device, {both}", step.name()));
            }
        }
        Ok(Some(found.unwrap_or_default()))
    }

    /// The devices of all buffers, including those of bodies.
    pub fn devices(&self) -> BTreeSet<LogicalDevice> {
        let bodies = self.steps.iter().flat_map(Step::bodies).flat_map(Program::devices);
        self.buffers.iter().map(|buffer| buffer.device).chain(bodies).collect()
    }

    /// The host nodes, including those of bodies.
    pub fn host_nodes(&self) -> impl Iterator<Item = &HostNode> {
        step::walk(&self.steps).filter_map(|s| if let Step::Host(node) = s { Some(node) } else { None })
    }

    /// The Nests in the order of the steps, including those of bodies.
    pub fn nests(&self) -> impl Iterator<Item = &Nest> {
        step::walk(&self.steps).filter_map(Step::nest)
    }

    /// The bodies of all steps, to be rewritten.
    pub(crate) fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Program> {
        self.steps.iter_mut().flat_map(Step::bodies_mut)
    }

    /// The Program as text: one line per step, with its buffers. `@` and a number follow the name of a buffer
    /// on another than the first device.
    pub fn print(&self) -> String {
        let mut text = String::new();
        let name = |id: &BufferId| {
            let b = &self.buffers[*id];
            let shape: Vec<String> = b.shape.iter().map(u64::to_string).collect();
            let role = match b.role {
                Role::Input(i) => format!("input{i}"),
                Role::Shared(i) => format!("shared{i}"),
                Role::Constant(i) => format!("constant{i}"),
                Role::Temp => format!("t{id}"),
                Role::Status => "status".into(),
            };
            let device = b.device.listed().map_or(String::new(), |number| format!("@{number}"));
            format!("{role}{device}:{}[{}]", b.dtype.short(), shape.join(","))
        };
        let list = |ids: Vec<BufferId>| ids.iter().map(name).collect::<Vec<_>>().join(" ");
        for step in &self.steps {
            let (written, what, read) = (list(step.writes()), step.description(), list(step.reads()));
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{written} <- {what} <- {read}");
        }
        let _ = writeln!(text, "outputs {}", list(self.outputs.clone()));
        for (shared, buffer) in &self.updates {
            let _ = writeln!(text, "update shared{shared} <- {}", name(buffer));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::ops;
    use std::sync::Arc;

    /// A Nest without phases over these buffers: only they matter here.
    fn nest(buffers: Vec<BufferId>) -> Step {
        let nest = Nest { name: "copy".into(), axes: vec![], grid: 0, operands: vec![], phases: vec![] };
        Step::Nest { nest, buffers }
    }

    fn host_node(inputs: Vec<BufferId>, outputs: Vec<BufferId>) -> Step {
        let op = Arc::new(crate::ops::Elemwise { op: ops::ADD });
        Step::Host(HostNode { op, node: 0, why: "a test".into(), inputs, outputs })
    }

    /// Two buffers on the first device, and one on the second.
    fn two_devices() -> Program {
        let mut program = Program::default();
        (0..2).for_each(|at| _ = program.buffer(DType::F32, &[8], Role::Input(at)));
        let second = program.buffer(DType::F32, &[8], Role::Temp);
        program.buffers[second].device = LogicalDevice(1);
        program
    }

    #[test]
    fn a_step_runs_on_the_device_of_its_buffers() {
        let program = two_devices();
        assert_eq!(program.device_of(&nest(vec![])), Ok(Some(LogicalDevice::FIRST)));
        assert_eq!(program.device_of(&nest(vec![0, 1])), Ok(Some(LogicalDevice::FIRST)));
        assert_eq!(program.device_of(&nest(vec![2, 2])), Ok(Some(LogicalDevice(1))));
        let refused = program.device_of(&nest(vec![0, 2])).unwrap_err();
        assert!(refused.contains("step copy") && refused.contains("devices 0 and 1"), "{refused}");
        assert!(program.device_of(&nest(vec![3])).is_err(), "there is no such buffer");
        assert_eq!(program.device_of(&host_node(vec![0], vec![2])), Ok(None));
    }

    #[test]
    fn a_new_buffer_lies_beside_another() {
        let mut program = two_devices();
        let devices = [0, 2].map(|other| {
            let id = program.buffer_beside(other, DType::U8, &[64], Role::Temp);
            program.buffers[id].device
        });
        assert_eq!(devices, [LogicalDevice::FIRST, LogicalDevice(1)]);
        assert_eq!(program.devices().into_iter().collect::<Vec<_>>(), devices);
    }

    #[test]
    fn listings_name_other_devices_than_the_first() {
        let mut program = two_devices();
        program.steps = vec![host_node(vec![0], vec![2])];
        program.outputs = vec![2];
        let text = program.print();
        assert!(text.starts_with("t2@1:f32[8] <- host "), "{text}");
        assert!(text.ends_with("<- input0:f32[8]\noutputs t2@1:f32[8]\n"), "{text}");
    }
}
