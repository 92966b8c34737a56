//! Graphs as text, for people: one line per node, Theano's indented tree, and Graphviz's dot.
//!
//! None of them recurses, and all are linear in the graph: shared subtrees are written once.

use super::function_graph::{Def, FunctionGraph, VarId};
use crate::printable::{is_printable, printable};
use std::collections::{HashSet, VecDeque};
use std::fmt::Write;

/// A tree is cut at this depth and continued below, so that a long chain does not fill the page with
/// indentation.
const DEEPEST: usize = 48;

/// One line per node in order, then outputs and updates; ids are those of the graph's Vars. The body of a
/// node follows it, indented.
pub fn listing(graph: &FunctionGraph) -> String {
    let mut text = String::new();
    let name = |id: VarId| match &graph.var(id).def {
        Def::Constant(value) => format!("{value:?}"),
        _ => graph.var(id).name.as_ref().map_or(format!("%{id}"), |n| format!("{}%{id}", printable(n))),
    };
    let list = |ids: &[VarId]| ids.iter().map(|&id| name(id)).collect::<Vec<_>>().join(", ");
    // Writing to a String cannot fail, so the results are ignored.
    for (kind, ids) in [("input", &graph.inputs), ("shared", &graph.shared)] {
        for &id in ids {
            let _ = writeln!(text, "{kind} {}: {}", name(id), graph.var(id).ty);
        }
    }
    for node in &graph.nodes {
        let types: Vec<String> = node.outputs.iter().map(|&id| graph.var(id).ty.to_string()).collect();
        let (outputs, inputs) = (list(&node.outputs), list(&node.inputs));
        let _ = writeln!(text, "{outputs} = {}({inputs}): {}", printable(&node.op.label()), types.join(", "));
        for body in node.op.bodies() {
            listing(body).lines().for_each(|line| _ = writeln!(text, "  {line}"));
        }
    }
    let _ = writeln!(text, "output {}", list(&graph.outputs));
    for &(position, id) in &graph.updates {
        let _ = writeln!(text, "update {} <- {}", name(graph.shared[position as usize]), name(id));
    }
    text
}

/// The graph as Theano's `debugprint` shows it: a tree for each output and update, every line an op or a leaf
/// with an id in letters, its type and its name. A subtree that was shown before ends in `...`; one that is
/// too deep is continued in a tree of its own. The bodies of loops come last.
///
/// ```
/// use workalike::prelude::*;
/// let x = vector::<f32>("x");
/// let y = x.exp().named("y");
/// let f = function([&x]).output(&y.tanh() + &y).compile()?;
/// assert_eq!(
///     workalike::graph::debugprint(f.graph()),
///     "output 0\n\
///      add [id A] float32(?,)\n\
///      \x20|tanh [id B] float32(?,)\n\
///      \x20| |exp [id C] float32(?,) 'y'\n\
///      \x20| | |x [id D] float32(?,) input\n\
///      \x20|exp [id C] float32(?,) 'y' ...\n"
/// );
/// # Ok::<(), workalike::Error>(())
/// ```
pub fn debugprint(graph: &FunctionGraph) -> String {
    let mut tree = Tree {
        graph,
        ids: vec![None; graph.vars.len()],
        given: 0,
        shown: HashSet::new(),
        deferred: VecDeque::new(),
        text: String::new(),
    };
    for (position, &id) in graph.outputs.iter().enumerate() {
        tree.root(&format!("output {position}"), id);
    }
    for &(shared, id) in &graph.updates {
        let title = format!("update of {}", graph.describe(graph.shared[shared as usize]));
        tree.root(&title, id);
    }
    let mut text = tree.text;
    for (position, node) in graph.nodes.iter().enumerate() {
        for body in node.op.bodies() {
            let _ = writeln!(text, "body of {}, node #{position}", printable(&node.op.label()));
            debugprint(body).lines().for_each(|line| _ = writeln!(text, "  {line}"));
        }
    }
    text
}

struct Tree<'g> {
    graph: &'g FunctionGraph,
    ids: Vec<Option<usize>>,
    given: usize,
    /// Vars that were shown with their inputs.
    shown: HashSet<VarId>,
    /// Vars that were too deep, in order.
    deferred: VecDeque<VarId>,
    text: String,
}

impl Tree<'_> {
    fn root(&mut self, title: &str, id: VarId) {
        self.text += &printable(title);
        self.text.push('\n');
        self.walk(id);
        while let Some(id) = self.deferred.pop_front() {
            if !self.shown.contains(&id) {
                let letters = self.letters(id);
                let _ = writeln!(self.text, "further down, [id {letters}]");
                self.walk(id);
            }
        }
    }

    fn walk(&mut self, root: VarId) {
        let mut stack = vec![(root, 0)];
        while let Some((id, depth)) = stack.pop() {
            self.text += &" |".repeat(depth);
            let before = self.shown.contains(&id);
            self.line(id);
            let Def::Output { node, .. } = self.graph.var(id).def else {
                self.text.push('\n');
                continue;
            };
            if before || depth == DEEPEST {
                self.text += " ...\n";
                if !before {
                    self.deferred.push_back(id);
                }
                continue;
            }
            self.text.push('\n');
            self.shown.insert(id);
            let inputs = &self.graph.nodes[node as usize].inputs;
            stack.extend(inputs.iter().rev().map(|&input| (input, depth + 1)));
        }
    }

    fn line(&mut self, id: VarId) {
        let letters = self.letters(id);
        let var = self.graph.var(id);
        let (what, name) = match &var.def {
            Def::Output { node, index } => {
                let node = &self.graph.nodes[*node as usize];
                let which = if node.outputs.len() > 1 { format!(".{index}") } else { String::new() };
                let name = var.name.as_ref().map(|n| format!(" '{}'", printable(n)));
                (format!("{}{which}", node.op.label()), name.unwrap_or_default())
            }
            Def::Constant(value) => (format!("{value:?}"), String::new()),
            Def::Input(_) => (self.graph.describe(id), " input".into()),
            Def::Shared(_) => (self.graph.describe(id), " shared".into()),
        };
        let _ = write!(self.text, "{} [id {letters}] {}{name}", printable(&what), var.ty);
    }

    fn letters(&mut self, id: VarId) -> String {
        let number = *self.ids[id as usize].get_or_insert_with(|| {
            self.given += 1;
            self.given
        });
        letters(number)
    }
}

/// A, B, ..., Z, AA, AB, ... for 1, 2, ...
fn letters(mut number: usize) -> String {
    let mut letters = Vec::new();
    while number > 0 {
        number -= 1;
        letters.push(b'A' + (number % 26) as u8);
        number /= 26;
    }
    letters.iter().rev().map(|&l| char::from(l)).collect()
}

/// The graph in Graphviz's language: a box per node, an ellipse per input, shared variable and constant, and
/// edges labelled with types. The body of a loop is a cluster of its own. `dot -Tsvg` draws it.
pub fn dot(graph: &FunctionGraph) -> String {
    let mut text = String::from("digraph function {\n  rankdir=TB;\n  node [fontname=\"monospace\"];\n");
    dot_graph(graph, "", &mut text);
    text += "}\n";
    text
}

/// The nodes and edges of a graph, whose names begin with `prefix`.
fn dot_graph(graph: &FunctionGraph, prefix: &str, text: &mut String) {
    let place = |id: VarId| format!("{prefix}{}", place(graph, id));
    let mut used = vec![false; graph.vars.len()];
    let read = graph.nodes.iter().flat_map(|n| n.inputs.iter().copied()).chain(graph.roots());
    read.chain(graph.inputs.iter().chain(&graph.shared).copied()).for_each(|id| used[id as usize] = true);
    for (id, var) in graph.vars.iter().enumerate().filter(|(id, _)| used[*id]) {
        let (kind, colour) = match &var.def {
            Def::Input(_) => ("input", "palegreen"),
            Def::Shared(_) => ("shared", "khaki"),
            Def::Constant(_) => ("constant", "lightgrey"),
            Def::Output { .. } => continue,
        };
        let what = graph.describe(id as VarId);
        let label = if kind == "constant" { what } else { format!("{kind} {what}\n{}", var.ty) };
        let _ =
            writeln!(text, "  {prefix}v{id} [label={}, style=filled, fillcolor={colour}];", quoted(&label));
    }
    for (position, node) in graph.nodes.iter().enumerate() {
        let names = node.outputs.iter().filter_map(|&o| graph.var(o).name.clone());
        let lines: Vec<String> = std::iter::once(node.op.label()).chain(names).collect();
        let _ = writeln!(text, "  {prefix}n{position} [shape=box, label={}];", quoted(&lines.join("\n")));
        for (slot, &input) in node.inputs.iter().enumerate() {
            let slot = if node.inputs.len() > 1 { format!("{slot}: ") } else { String::new() };
            let label = quoted(&format!("{slot}{}", graph.var(input).ty));
            let _ = writeln!(text, "  {} -> {prefix}n{position} [label={label}];", place(input));
        }
        for (at, body) in node.op.bodies().into_iter().enumerate() {
            let within = format!("{prefix}n{position}b{at}_");
            let label = quoted(&format!("body of {}", node.op.label()));
            let _ = writeln!(text, "  subgraph cluster_{within} {{\n  label={label};");
            dot_graph(body, &within, text);
            *text += "  }\n";
        }
    }
    for (position, &id) in graph.outputs.iter().enumerate() {
        let label = quoted(&format!("output {position}"));
        let _ = writeln!(text, "  {prefix}o{position} [label={label}, style=filled, fillcolor=lightblue];");
        let ty = quoted(&graph.var(id).ty.to_string());
        let _ = writeln!(text, "  {} -> {prefix}o{position} [label={ty}];", place(id));
    }
    for &(shared, id) in &graph.updates {
        let to = graph.shared[shared as usize];
        let _ = writeln!(
            text,
            "  {} -> {prefix}v{to} [style=dashed, constraint=false, label=update];",
            place(id)
        );
    }
}

/// The dot node that a Var's edges start at.
fn place(graph: &FunctionGraph, id: VarId) -> String {
    match graph.var(id).def {
        Def::Output { node, .. } => format!("n{node}"),
        _ => format!("v{id}"),
    }
}

/// A string of dot's.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted += "\\n",
            c => quoted.push(if is_printable(c) { c } else { char::REPLACEMENT_CHARACTER }),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn ids_are_letters() {
        let some = [1, 2, 26, 27, 52, 53, 702, 703].map(letters);
        assert_eq!(some, ["A", "B", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }

    #[test]
    fn shared_subtrees_are_shown_once() {
        let x = vector::<f32>("x");
        let s = shared("s", 1f32);
        let y = (&x * &s).exp().named("y");
        let f = function([&x]).output(y.tanh()).output(y.sqrt()).update(&s, y.sum(..)).compile().unwrap();
        let text = debugprint(f.graph());
        assert_eq!(text.matches("exp [id B] float32(?,) 'y'").count(), 3, "{text}");
        assert_eq!(text.matches("'y' ...\n").count(), 2, "{text}");
        assert_eq!(text.matches("multiply [id").count(), 1, "{text}");
        assert!(text.contains("update of s\n") && text.contains("s [id"), "{text}");
        assert!(text.contains(" | | |x [id D] float32(?,) input\n"), "{text}");
    }

    #[test]
    fn dot_names_everything_once() {
        let x = Variable::input("a \"quoted\"\nname", TensorType::of_rank(DType::F32, 1));
        let s = shared("s", 1f32);
        let y = x.exp();
        let f = function([&x]).output(&y + &y.tanh()).update(&s, y.sum(..)).compile().unwrap();
        let text = dot(f.graph());
        assert_eq!(text.matches("label=\"exp\"").count(), 1, "{text}");
        assert!(text.contains("input a \\\"quoted\\\"\u{fffd}name"), "{text}");
        assert!(text.contains("label=update") && text.contains("output 0"), "{text}");
        for line in text.lines().filter(|l| l.contains("->")) {
            for end in line.trim().split(" [").next().unwrap().split(" -> ") {
                assert!(text.contains(&format!("  {end} [")), "{end} is not declared in {text}");
            }
        }
    }

    #[test]
    fn names_are_not_obeyed() {
        let bad = "\u{1b}]0;title\u{7}\u{9b}31m\u{202e}\u{2028}\r\n";
        let x = vector::<f32>(bad);
        let s = shared(bad, 1f32);
        let y = x.exp().named(bad).print(bad);
        let f = function([&x]).output(&y).update(&s, y.sum(..)).compile().unwrap();
        let graph = f.graph();
        let shown = [
            debugprint(graph),
            dot(graph),
            listing(graph),
            graph.describe(graph.shared[0]),
            format!("{f:?}"),
        ];
        for text in shown {
            assert!(text.contains("]0;title"), "{text}");
            assert!(text.lines().all(|line| line.chars().all(is_printable)), "{text:?}");
        }
        assert!(debugprint(graph).contains("update of \u{fffd}]0;title"));
        let error = f.call(args![1f32]).unwrap_err().to_string();
        assert!(
            error.contains("]0;title") && error.chars().all(|c| c == '\n' || is_printable(c)),
            "{error:?}"
        );
    }

    #[test]
    fn a_hundred_thousand_nodes() {
        let x = scalar::<f32>("x");
        let mut y = x.clone();
        for i in 0..100_000 {
            y = if i % 2 == 0 { y.sin() } else { &y + &x };
        }
        let f = function([&x]).output(&y).compile().unwrap();
        let text = debugprint(f.graph());
        assert!(text.lines().filter(|l| l.contains("sin [id")).count() >= 50_000);
        assert!(text.len() < 40_000_000, "{}", text.len());
        assert_eq!(dot(f.graph()).matches("shape=box").count(), 100_000);
    }
}
