//! A description of a Simulator as text.

use super::Simulator;
use crate::engine::compile::Compiled;
use crate::engine::executor::{MethodPart, StageInput};
use crate::graph::FunctionGraph;
use crate::lower::replace::replaced_nodes;
use std::fmt::Write;

impl Simulator {
    /// A description as text: the device, and per method and signature the steps, and each host node with the
    /// reason. Of several contexts, it names each with its device, and lists the stages of a method.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        for (part, engine) in self.executor.engines().enumerate() {
            let properties = engine.device().properties();
            let name = self.executor.context_name(part).map_or(String::new(), |name| format!("{name} "));
            let _ = writeln!(text, "{name}on {} ({}, {})", properties.id, properties.name, properties.driver);
        }
        (0..self.methods.len()).for_each(|method| self.explain_to(&mut text, method));
        text
    }

    /// Appends the description of a method.
    pub(super) fn explain_to(&self, text: &mut String, method: usize) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "method {}", self.methods[method].name);
        for piece in self.executor.pieces(method) {
            let context = self.executor.context_name(piece.part).unwrap_or_default();
            match piece.stage {
                Some(stage) => {
                    let taken = stage.inputs.iter().filter(|i| matches!(i, StageInput::Value(_))).count();
                    let (nodes, given) = (stage.nodes.len(), stage.outputs.len());
                    let (name, counts) = (&stage.name, format!("takes {taken} values, gives {given}"));
                    let _ = writeln!(text, "  {name} on {context}: {nodes} nodes, {counts}");
                }
                None if context.is_empty() => {}
                None => {
                    let _ = writeln!(text, "  all on {context}");
                }
            }
            self.explain_piece(text, self.methods[method].function.graph(), piece);
        }
    }

    fn explain_piece(&self, text: &mut String, graph: &FunctionGraph, piece: MethodPart<'_>) {
        let graph = piece.stage.map_or(graph, |stage| &stage.graph);
        let number = |at: usize| piece.stage.and_then(|stage| stage.nodes.get(at).copied()).unwrap_or(at);
        for (at, node, why) in replaced_nodes(graph, &self.executor.engine(piece.part).context().abilities())
        {
            let at = number(at);
            let _ = writeln!(text, "  {} (#{at}) is computed by its reference: {why}", node.op.label());
        }
        let mut planned = false;
        for Compiled { program, layout, .. } in self.executor.programs(piece) {
            planned = true;
            let hosts = program.host_nodes().count();
            let _ = writeln!(
                text,
                "  {} steps, {hosts} of them on the host, {} bytes of arena",
                program.steps.len(),
                layout.arena.bytes
            );
            for node in program.host_nodes() {
                let at = number(node.node);
                let _ = writeln!(text, "  host node {} (#{at}): {}", node.op.label(), node.why);
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
        let pieces = (0..self.methods.len()).flat_map(|method| self.executor.pieces(method));
        let all = pieces.flat_map(|piece| self.executor.programs(piece));
        all.map(|compiled| compiled.module.source().to_string()).filter(|s| !s.is_empty()).collect()
    }
}
