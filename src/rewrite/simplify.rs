//! Applies the local rules: to the DAG that `grad` differentiates, and to the graph that `compile` rewrites.

use super::mirror::Mirror;
use super::rule::{Rule, RuleKind};
use super::rules::stability;
use super::terms::{CountedGraph, Dag, Reads, Same, Terms};
use super::transform;
use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{Apply, FunctionGraph, Node, TensorType, VarId, Variable};
use crate::op::Op;
use std::collections::HashSet;
use std::sync::Arc;

/// Maximum number of successive replacements of one node. Each makes an expression smaller or of a later
/// form, so that a sequence ends long before; a rule for which it does not is wrong.
const MOST_REPLACEMENTS: usize = 64;

/// The pass: one walk in topological order, in which each replacement is rewritten again. `applied` gets the
/// names of the rules.
///
/// # Errors
/// If an added rule fails, changes the type, or rewrites its own replacements without end.
pub(super) fn apply_rules(
    graph: &FunctionGraph,
    rules: &[Rule],
    applied: &mut Vec<&'static str>,
) -> Result<FunctionGraph> {
    let mut reads = Reads::of(graph);
    let mut rewriter = Rewriter { rules, mirror: Mirror::default() };
    transform(graph, |new, node, inputs| {
        reads.became(&node.inputs, inputs);
        let [output] = node.outputs[..] else { return Ok(None) };
        let ty = &graph.var(output).ty;
        let mut at: (Arc<dyn Op>, Vec<VarId>) = (node.op.clone(), inputs.to_vec());
        let mut found = None;
        let first = applied.len();
        while let Some((rule, next)) = rewriter.first(new, &reads, node, ty, &at)? {
            if applied.len() - first == MOST_REPLACEMENTS {
                return without_end(rules, &applied[first..], node).map_or(Ok(found), Err);
            }
            applied.push(rule.name());
            found = Some(vec![next]);
            let Some(owner) = new.owner(&next) else { break };
            at = owner;
        }
        Ok(found)
    })
}

/// The error of an added rule that is applied without end; `None` if only this library's rules were applied.
fn without_end(rules: &[Rule], applied: &[&'static str], node: &Node) -> Option<Error> {
    let is_custom = |name: &&&str| rules.iter().any(|rule| rule.is_custom() && rule.name() == **name);
    let name = applied.iter().rev().find(is_custom)?;
    Some(Error::Compile(format!(
        "rewrite rule {name}: the replacements of {}{} do not end: there were {MOST_REPLACEMENTS}, one after \
         the other",
        node.op.label(),
        node.written_at()
    )))
}

/// The rules, and the graph as added rules see it.
struct Rewriter<'r> {
    rules: &'r [Rule],
    mirror: Mirror,
}

impl<'r> Rewriter<'r> {
    /// The first rule that applies to an op and its inputs, and the replacement; `node`, of type `ty`, is the
    /// node that is replaced in the end.
    fn first(
        &mut self,
        new: &mut FunctionGraph,
        reads: &Reads,
        node: &Node,
        ty: &TensorType,
        (op, inputs): &(Arc<dyn Op>, Vec<VarId>),
    ) -> Result<Option<(&'r Rule, VarId)>> {
        for rule in self.rules {
            let found = match &rule.body {
                RuleKind::BuiltIn(rule) if rule.is_for(op.as_ref()) => {
                    let found =
                        (rule.on_graph)(&mut CountedGraph { graph: new, reads }, op.as_ref(), inputs)?;
                    found.filter(|found| fits(ty, &new.var(*found).ty))
                }
                RuleKind::BuiltIn(_) => None,
                RuleKind::Custom(replace) => {
                    let fail =
                        |message: String| Error::Compile(format!("rewrite rule {}: {message}", rule.name()));
                    let inputs = self.mirror.variables(new, inputs)?;
                    // The replacement gets the source location of the node.
                    let _scope = node.place.map(source_location::enter_at);
                    let made = replace(op.as_ref(), &inputs).map_err(|error| fail(error.to_string()))?;
                    match made {
                        Some(made) => Some(self.adopted(new, node, ty, &made).map_err(fail)?),
                        None => None,
                    }
                }
            };
            if let Some(found) = found {
                return Ok(Some((rule, found)));
            }
        }
        Ok(None)
    }

    /// Checks the replacement that an added rule made, and adds it to the graph.
    fn adopted(
        &mut self,
        new: &mut FunctionGraph,
        node: &Node,
        ty: &TensorType,
        made: &Variable,
    ) -> Result<VarId, String> {
        let found = self.mirror.adopt(new, made).map_err(|error| error.to_string())?;
        let got = &new.var(found).ty;
        if fits(ty, got) {
            return Ok(found);
        }
        Err(format!(
            "the replacement of {}{} has type {got}, expected {ty}: a rule keeps dtype, rank and known \
             extents, and an extent that was not known does not become 1",
            node.op.label(),
            node.written_at()
        ))
    }
}

/// Whether something of type `got` may replace something of type `want`.
fn fits(want: &TensorType, got: &TensorType) -> bool {
    want.dtype == got.dtype
        && want.ndim() == got.ndim()
        // An unknown extent may become known; but not as 1, which another argument may have broadcast.
        && want.shape.iter().zip(&got.shape).all(|(w, g)| w == g || (w.is_none() && *g != Some(1)))
}

/// Applies the rules of stability to Variables, for [`crate::grad::grad`]; they look into no Variable whose
/// key is in `closed`.
pub(crate) fn variables(
    apply: &Apply,
    inputs: &[Variable],
    closed: &HashSet<(usize, usize)>,
) -> Result<Option<Vec<Variable>>> {
    let [ty] = &apply.types[..] else { return Ok(None) };
    let inputs: Vec<Same> = inputs.iter().cloned().map(Same).collect();
    let op = apply.op.as_ref();
    for rule in stability::RULES.iter().filter(|rule| rule.is_for(op)) {
        if let Some(found) = (rule.on_variables)(&mut Dag { closed }, op, &inputs)? {
            return Ok((found.0.ty() == ty).then(|| vec![found.0]));
        }
    }
    Ok(None)
}
