//! The memory plan as text.

use super::Layout;
use crate::dtype::DType;
use crate::lower::program::{BufferId, Program, Role};
use crate::rehost::engine::PoolReport;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// The number of buffers that a report names.
const NAMED: usize = 8;

/// The memory that a call needs, and that its Simulator holds; prints as a table. Made by
/// [`Simulator::memory_report`](crate::rehost::Simulator::memory_report).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MemoryReport {
    /// The device; of several contexts, the name and device of each, and the numbers below are sums.
    pub device: String,
    /// The method.
    pub method: String,
    /// Bytes of memory that the device has.
    pub device_memory: u64,
    /// Bytes of all shared variables.
    pub state: u64,
    /// Bytes of this call's constants.
    pub constants: u64,
    /// Bytes of constants held for all methods and signatures.
    pub constants_held: u64,
    /// Bytes of this call's inputs; part of the arena. If it runs in several contexts, also of what its
    /// stages hand to each other.
    pub inputs: u64,
    /// Bytes of this call's outputs; part of the arena, and once more in the pool while a caller holds them
    /// on the device.
    pub outputs: u64,
    /// Bytes of arena that this call needs.
    pub arena: u64,
    /// Maximum number of bytes of arena alive at once: no plan needs less.
    pub lower_bound: u64,
    /// Bytes of arena held, for all methods and signatures.
    pub arena_held: u64,
    /// Bytes of this call's scratch buffers without reuse.
    pub without_reuse: u64,
    /// The pool of results on the device.
    pub pool: PoolReport,
    /// Idle bytes of host memory, for later results.
    pub host_idle: u64,
    /// The largest buffers of this call, largest first.
    pub largest: Vec<BufferUse>,
}

/// A buffer of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BufferUse {
    /// Its size.
    pub bytes: u64,
    /// Its element type.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<u64>,
    /// An input, a shared variable, a constant, or the name of the op or kernel that made it.
    pub what: String,
    /// The first and the last step of its lifetime, for buffers in the arena.
    pub life: Option<(usize, usize)>,
}

impl MemoryReport {
    /// The report of a plan alone; `name` gives the names of inputs and shared variables.
    pub(crate) fn of(
        program: &Program,
        layout: &Layout,
        name: impl Fn(&Role) -> Option<String>,
    ) -> MemoryReport {
        let mut writers: HashMap<BufferId, String> = HashMap::new();
        for step in &program.steps {
            for id in step.writes() {
                writers.entry(id).or_insert_with(|| step.name());
            }
        }
        let arena = layout.arena;
        let mut report =
            MemoryReport { arena: arena.bytes, lower_bound: arena.lower_bound, ..MemoryReport::default() };
        for (id, buffer) in program.buffers.iter().enumerate() {
            let bytes = buffer.bytes();
            let life = layout.lives[id];
            let made = || writers.get(&id).cloned().unwrap_or_else(|| "scratch".into());
            let named = name(&buffer.role).unwrap_or_default();
            let what = match buffer.role {
                Role::Input(_) => format!("input {named}"),
                Role::Shared(_) => format!("shared {named}"),
                Role::Constant(_) => "constant".into(),
                Role::Temp if program.outputs.contains(&id) => format!("output of {}", made()),
                Role::Temp => made(),
                Role::Status => continue,
            };
            match buffer.role {
                Role::Input(_) if life.is_some() => report.inputs += bytes,
                Role::Constant(_) => report.constants += bytes,
                _ => {}
            }
            if life.is_some() {
                report.without_reuse += bytes;
            }
            let is_used = life.is_some() || matches!(buffer.role, Role::Shared(_) | Role::Constant(_));
            if is_used && bytes > 0 {
                let (dtype, shape) = (buffer.dtype, buffer.shape.clone());
                report.largest.push(BufferUse { bytes, dtype, shape, what, life });
            }
        }
        report.outputs = program.outputs.iter().map(|&id| program.buffers[id].bytes()).sum();
        // Equal sizes stay in the order of the Program.
        report.largest.sort_by_key(|b| std::cmp::Reverse(b.bytes));
        report.largest.truncate(NAMED);
        report
    }

    /// The report of a method that runs in several contexts, from those of its stages, each with its context.
    /// The stages of one context have one arena, the largest of them.
    pub(crate) fn of_stages(method: &str, stages: Vec<(String, MemoryReport)>) -> MemoryReport {
        let mut all = MemoryReport { method: method.into(), ..MemoryReport::default() };
        let mut contexts: BTreeMap<String, MemoryReport> = BTreeMap::new();
        for (name, mut stage) in stages {
            all.constants += stage.constants;
            all.inputs += stage.inputs;
            all.outputs += stage.outputs;
            all.without_reuse += stage.without_reuse;
            all.largest.extend(stage.largest.drain(..).map(|mut buffer| {
                buffer.what = format!("{} (on {name})", buffer.what);
                buffer
            }));
            let context = contexts.entry(name).or_insert_with(|| stage.clone());
            context.arena = context.arena.max(stage.arena);
            context.lower_bound = context.lower_bound.max(stage.lower_bound);
        }
        for (name, context) in &contexts {
            let comma = if all.device.is_empty() { "" } else { ", " };
            all.device += &format!("{comma}{name} ({})", context.device);
            all.device_memory += context.device_memory;
            all.state += context.state;
            all.constants_held += context.constants_held;
            all.arena += context.arena;
            all.lower_bound += context.lower_bound;
            all.arena_held += context.arena_held;
            all.pool.lent += context.pool.lent;
            all.pool.idle += context.pool.idle;
            all.pool.limit += context.pool.limit;
            all.pool.allocations += context.pool.allocations;
            all.host_idle += context.host_idle;
        }
        all.largest.sort_by_key(|b| std::cmp::Reverse(b.bytes));
        all.largest.truncate(NAMED);
        all
    }

    /// Bytes that running the call needs on the device: shared variables, constants, arena.
    pub fn needed(&self) -> u64 {
        self.state + self.constants + self.arena
    }
}

/// A number of bytes, as text.
fn size(bytes: u64) -> String {
    let units: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let unit = units.iter().zip(1..5u32).rev().find(|(_, power)| bytes >= 1u64 << (10 * power));
    match unit {
        Some((unit, power)) => format!("{:.1} {unit}", bytes as f64 / (1u64 << (10 * power)) as f64),
        None => format!("{bytes} B"),
    }
}

impl fmt::Display for MemoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "memory of {} on {} ({})", self.method, self.device, size(self.device_memory))?;
        let rows = [
            ("shared variables", self.state, String::new()),
            ("constants", self.constants, format!("{} held", size(self.constants_held))),
            (
                "arena",
                self.arena,
                format!(
                    "{} alive at once, {} without reuse, {} held",
                    size(self.lower_bound),
                    size(self.without_reuse),
                    size(self.arena_held)
                ),
            ),
            ("  inputs", self.inputs, String::new()),
            ("  outputs", self.outputs, String::new()),
            (
                "result pool",
                self.pool.lent + self.pool.idle,
                format!("{} lent, {} idle", size(self.pool.lent), size(self.pool.idle)),
            ),
            ("needed in all", self.needed(), String::new()),
        ];
        for (what, bytes, more) in rows {
            writeln!(f, "{}", format!("  {what:<18} {:>12}  {more}", size(bytes)).trim_end())?;
        }
        for buffer in &self.largest {
            let shape: Vec<String> = buffer.shape.iter().map(u64::to_string).collect();
            let life =
                buffer.life.map_or(String::new(), |(first, last)| format!(", steps {first} to {last}"));
            let (bytes, dtype, what) = (size(buffer.bytes), buffer.dtype, &buffer.what);
            writeln!(f, "  {bytes:>12}  {dtype}({})  {what}{life}", shape.join(", "))?;
        }
        Ok(())
    }
}
