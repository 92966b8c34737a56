//! The report of a memory plan.

use super::Layout;
use crate::lower::program::{BufferId, Program, Role};
use crate::memory_report::{BufferUse, MemoryReport};
use std::collections::HashMap;

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
        let mut used = Vec::new();
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
                used.push(BufferUse { bytes, dtype, shape, what, life });
            }
        }
        report.outputs = program.outputs.iter().map(|&id| program.buffers[id].bytes()).sum();
        report.name_largest(used);
        report
    }
}
