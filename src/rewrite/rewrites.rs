//! The registry of passes and rules that `compile` runs.

use super::pass::{self, Pass, PassKind};
use super::rule::Rule;
use super::simplify::apply_rules;
use crate::error::{Error, Result};
use crate::graph::{FunctionGraph, verify};
use std::collections::HashMap;
use std::sync::Arc;

/// The passes and rules of `compile`: Theano's `mode`.
///
/// [`Rewrites::default`] has those of this library; [`Rewrites::none`] has none, so that a graph is compiled
/// as it was written. [`FunctionBuilder::rewrites`](crate::function::FunctionBuilder::rewrites) takes them. A
/// file holds the rewritten graph, and nothing of the rules.
///
/// ```
/// use workalike::prelude::*;
/// use workalike::rewrite::Rewrites;
///
/// for rule in Rewrites::default().rules() {
///     println!("{}: {}", rule.name(), rule.doc());
/// }
/// let x = vector::<f64>("x");
/// let y = x.exp().log();
/// let nodes = |rewrites| -> workalike::Result<usize> {
///     Ok(function([&x]).output(&y).rewrites(rewrites).compile()?.graph().nodes.len())
/// };
/// assert_eq!(nodes(Rewrites::default())?, 0);
/// assert_eq!(nodes(Rewrites::default().without("log_exp")?)?, 2);
/// assert!(Rewrites::default().without("log_exb").is_err());
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// [`grad`](crate::grad::grad) applies the stability rules of this library before it differentiates, whatever
/// is compiled with.
#[derive(Clone, Debug)]
pub struct Rewrites {
    passes: Vec<Pass>,
    /// Rules that a program added come first.
    rules: Vec<Rule>,
}

impl Default for Rewrites {
    fn default() -> Rewrites {
        Rewrites { passes: Pass::built_in(), rules: Rule::built_in() }
    }
}

impl Rewrites {
    /// No passes and no rules. Graphs stay as they are, including nodes that are not read.
    pub fn none() -> Rewrites {
        Rewrites { passes: vec![], rules: vec![] }
    }

    /// Adds a rule. At each node it is tried after rules that were added earlier, and before this library's.
    ///
    /// # Errors
    /// If there is a rule of this name, or no pass that applies rules.
    pub fn with_rule(mut self, rule: Rule) -> Result<Rewrites> {
        if self.rules.iter().any(|other| other.name() == rule.name()) {
            return Err(Error::mismatch("Rewrites::with_rule", "a name that no other rule has", rule.name()));
        }
        if !self.passes.iter().any(|pass| matches!(pass.body, PassKind::Rules)) {
            return Err(Error::mismatch(
                "Rewrites::with_rule",
                "the pass simplify",
                "no pass that applies rules",
            ));
        }
        let at = self.rules.iter().take_while(|rule| rule.is_custom()).count();
        self.rules.insert(at, rule);
        Ok(self)
    }

    /// Adds a pass. It runs after the others, but before `prune`, which drops what the pass leaves unused.
    ///
    /// # Errors
    /// If there is a pass of this name.
    pub fn with_pass(mut self, pass: Pass) -> Result<Rewrites> {
        if self.passes.iter().any(|other| other.name() == pass.name()) {
            return Err(Error::mismatch("Rewrites::with_pass", "a name that no other pass has", pass.name()));
        }
        let last = self.passes.last().is_some_and(|last| last.name() == "prune");
        self.passes.insert(self.passes.len() - usize::from(last), pass);
        Ok(self)
    }

    /// Removes the rule or the passes of this name.
    ///
    /// # Errors
    /// If there is neither.
    pub fn without(mut self, name: &str) -> Result<Rewrites> {
        let before = self.passes.len() + self.rules.len();
        self.passes.retain(|pass| pass.name() != name);
        self.rules.retain(|rule| rule.name() != name);
        if self.passes.len() + self.rules.len() == before {
            return Err(Error::mismatch("Rewrites::without", "the name of a rule or a pass", name));
        }
        Ok(self)
    }

    /// Without the pass that joins loops.
    pub(crate) fn with_loops_apart(mut self) -> Rewrites {
        self.passes.retain(|pass| pass.name() != "join_loops");
        self
    }

    /// The rules, in the order in which they are tried at a node.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The passes, in the order in which they run. A pass may run several times.
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// Runs all passes.
    ///
    /// # Errors
    /// If a rule or a pass fails, changes a type, or rewrites one node without end.
    pub fn run(&self, graph: FunctionGraph) -> Result<FunctionGraph> {
        Ok(self.trace(graph)?.0)
    }

    /// Runs all passes; also returns the names of the rules that were applied, in order.
    ///
    /// ```
    /// use workalike::graph::FunctionGraph;
    /// use workalike::prelude::*;
    /// use workalike::rewrite::Rewrites;
    /// let x = vector::<f64>("x");
    /// let (graph, _) = FunctionGraph::import(&[x.clone()], &[(1.0 + x.exp()).log()], &[])?;
    /// let (graph, applied) = Rewrites::default().trace(graph)?;
    /// assert_eq!((graph.nodes[0].op.label().as_str(), applied), ("softplus", vec!["log_one_plus"]));
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Rewrites::run`].
    pub fn trace(&self, graph: FunctionGraph) -> Result<(FunctionGraph, Vec<&'static str>)> {
        let mut applied = vec![];
        let graph = self.within_bodies(graph, &mut applied)?;
        let pass = |graph: FunctionGraph, pass| self.traced(pass, &graph, &mut applied);
        let graph = self.passes.iter().try_fold(graph, pass)?;
        Ok((graph, applied))
    }

    /// Runs all passes on the bodies of nodes.
    fn within_bodies(
        &self,
        mut graph: FunctionGraph,
        applied: &mut Vec<&'static str>,
    ) -> Result<FunctionGraph> {
        if self.passes.is_empty() {
            return Ok(graph);
        }
        // Nodes that share a body are of one op afterwards too.
        let mut known: HashMap<*const FunctionGraph, Arc<FunctionGraph>> = HashMap::new();
        for node in &mut graph.nodes {
            let mut bodies = Vec::new();
            for body in node.op.bodies() {
                bodies.push(match known.get(&Arc::as_ptr(body)) {
                    Some(done) => done.clone(),
                    None => {
                        let (done, more) = self.trace(body.as_ref().clone())?;
                        applied.extend(more);
                        let done = Arc::new(done);
                        known.insert(Arc::as_ptr(body), done.clone());
                        done
                    }
                });
            }
            if !bodies.is_empty()
                && let Some(op) = node.op.with_bodies(bodies)
            {
                node.op = op;
            }
        }
        Ok(graph)
    }

    /// Runs one pass, with these rules.
    ///
    /// # Errors
    /// As [`Rewrites::run`].
    pub fn run_pass(&self, pass: &Pass, graph: &FunctionGraph) -> Result<FunctionGraph> {
        self.traced(pass, graph, &mut vec![])
    }

    fn traced(
        &self,
        pass: &Pass,
        graph: &FunctionGraph,
        applied: &mut Vec<&'static str>,
    ) -> Result<FunctionGraph> {
        let next = match &pass.body {
            PassKind::Rules => apply_rules(graph, &self.rules, applied)?,
            PassKind::BuiltIn(run) => run(graph)?,
            PassKind::Custom(run) => return pass::checked(pass.name(), run.as_ref(), graph),
        };
        // In a release build, `compile` verifies only the last graph.
        if cfg!(debug_assertions) {
            verify(&next).map_err(|e| Error::Compile(format!("rewrite pass {}: {e}", pass.name())))?;
        }
        Ok(next)
    }
}
