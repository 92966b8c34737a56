//! The [`Plan`] of a method that runs in several contexts: those of its stages, one after another.

use super::Plan;
use std::collections::BTreeMap;

impl Plan {
    /// Notes the context of a stage, whose plan this is.
    pub(super) fn in_context(&mut self, name: &str) {
        self.steps.iter_mut().for_each(|step| step.context = Some(name.into()));
        self.buffers.iter_mut().for_each(|buffer| buffer.context = Some(name.into()));
        self.device = format!("{name} ({})", self.device);
        if !self.source.is_empty() {
            self.source = format!("/* a stage on {name} */\n{}", self.source);
        }
    }

    /// One plan of all stages. Buffers and Segments are numbered in a row, kernels within the source of their
    /// stage. The stages of one context have one arena, the largest of them.
    pub(super) fn joined(plans: Vec<Plan>) -> Plan {
        let mut arenas: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let whole = plans.into_iter().reduce(|mut all, stage| {
            if arenas.is_empty() {
                arenas.insert(all.device.clone(), (all.arena_bytes, all.arena_lower_bound));
            }
            let (bytes, lower_bound) = arenas.entry(stage.device.clone()).or_default();
            *bytes = stage.arena_bytes.max(*bytes);
            *lower_bound = stage.arena_lower_bound.max(*lower_bound);
            all.append(stage);
            all
        });
        let mut whole = whole.unwrap_or_default();
        if !arenas.is_empty() {
            whole.device = arenas.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            whole.arena_bytes = arenas.values().map(|arena| arena.0).sum();
            whole.arena_lower_bound = arenas.values().map(|arena| arena.1).sum();
        }
        whole
    }

    fn append(&mut self, mut stage: Plan) {
        let first = self.buffers.iter().map(|buffer| buffer.id + 1).max().unwrap_or(0);
        stage.buffers.iter_mut().for_each(|buffer| buffer.id += first);
        for step in &mut stage.steps {
            step.segment = step.segment.map(|segment| segment + self.segments);
            step.operands.iter_mut().for_each(|operand| operand.buffer += first);
        }
        self.steps.append(&mut stage.steps);
        self.buffers.append(&mut stage.buffers);
        self.segments += stage.segments;
        self.total = [self.total, stage.total].into_iter().sum();
        self.compulsory_bytes += stage.compulsory_bytes;
        self.source += &stage.source;
    }
}
