//! A description of a Simulator as text.

use super::Simulator;
use crate::lower::program::LogicalDevice;
use crate::lower::replace::replaced_nodes;
use crate::rehost::engine::Compiled;
use std::fmt::Write;

impl Simulator {
    /// A description as text: the device, and per method and signature the steps, and each host node with the
    /// reason.
    pub fn explain(&self) -> String {
        let properties = self.engine.device().properties();
        let mut text = format!("on {} ({}, {})\n", properties.id, properties.name, properties.driver);
        (0..self.methods.len()).for_each(|method| self.explain_to(&mut text, method));
        text
    }

    /// Appends the description of a method.
    pub(super) fn explain_to(&self, text: &mut String, method: usize) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "method {}", self.methods[method].name);
        let graph = self.methods[method].function.graph();
        for (at, node, why) in replaced_nodes(graph, &self.engine.context().abilities()) {
            let _ = writeln!(text, "  {} (#{at}) is computed by its reference: {why}", node.op.label());
        }
        let mut planned = false;
        for Compiled { program, layout, .. } in self.engine.programs(method) {
            planned = true;
            let hosts = program.host_nodes().count();
            let _ = writeln!(
                text,
                "  {} steps, {hosts} of them on the host, {} bytes of arena",
                program.steps.len(),
                layout.arena(LogicalDevice::FIRST).bytes
            );
            for node in program.host_nodes() {
                let _ = writeln!(text, "  host node {} (#{}): {}", node.op.label(), node.node, node.why);
            }
            for line in program.print().lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
        if !planned {
            let _ = writeln!(text, "  not called yet: shapes are not known");
        }
    }

    /// The generated source of everything that was compiled.
    pub fn sources(&self) -> Vec<String> {
        let all = (0..self.methods.len()).flat_map(|m| self.engine.programs(m));
        all.map(|compiled| compiled.module.source().to_string()).filter(|s| !s.is_empty()).collect()
    }
}
