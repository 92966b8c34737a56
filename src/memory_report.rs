//! What memory a call needs and a Simulator holds, as data and as text.

use std::collections::BTreeMap;
use std::fmt;
use workalike_kernels::DType;

/// The number of buffers that a report names.
const NAMED: usize = 8;

/// The memory that a call needs, and that its Simulator holds; prints as a table. Made by
/// [`Simulator::memory_report`](crate::engine::Simulator::memory_report).
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

/// Statistics of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolReport {
    /// Bytes of results that are still held.
    pub lent: u64,
    /// Idle bytes, for later results.
    pub idle: u64,
    /// Maximum number of idle bytes; memory that is returned beyond it is freed.
    pub limit: u64,
    /// The number of allocations from the device.
    pub allocations: u64,
}

impl MemoryReport {
    /// Adds the buffers that it names: the largest of these.
    pub(crate) fn name_largest(&mut self, mut buffers: Vec<BufferUse>) {
        // Equal sizes stay in the order of the Program.
        buffers.sort_by_key(|buffer| std::cmp::Reverse(buffer.bytes));
        buffers.truncate(NAMED);
        self.largest = buffers;
    }

    /// The report of a method that runs in several contexts, from those of its stages, each with its context.
    /// The stages of one context have one arena, the largest of them.
    pub(crate) fn of_stages(method: &str, stages: Vec<(String, MemoryReport)>) -> MemoryReport {
        let mut all = MemoryReport { method: method.into(), ..MemoryReport::default() };
        let mut largest = Vec::new();
        let mut contexts: BTreeMap<String, MemoryReport> = BTreeMap::new();
        for (name, mut stage) in stages {
            all.constants += stage.constants;
            all.inputs += stage.inputs;
            all.outputs += stage.outputs;
            all.without_reuse += stage.without_reuse;
            largest.extend(stage.largest.drain(..).map(|mut buffer| {
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
        all.name_largest(largest);
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
