//! Passes as values, and the check that each keeps the graph well-formed.

use crate::error::{Error, Result};
use crate::graph::{FunctionGraph, VarId, verify};
use std::fmt;
use std::sync::Arc;

/// A pass added by a program.
type Run = dyn Fn(&FunctionGraph) -> Result<FunctionGraph> + Send + Sync;

/// A pass: a pure function from graph to graph that keeps the graph's results.
///
/// ```
/// use workalike::prelude::*;
/// use workalike::rewrite::{Pass, Rewrites};
///
/// let count = Pass::new("example.count", |graph| {
///     println!("{} nodes are left", graph.nodes.len());
///     Ok(graph.clone())
/// });
/// let x = vector::<f32>("x");
/// function([&x]).output(x.exp()).rewrites(Rewrites::default().with_pass(count)?).compile()?;
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone)]
pub struct Pass {
    name: &'static str,
    pub(super) body: PassKind,
}

/// The implementation of a pass.
#[derive(Clone)]
pub(super) enum PassKind {
    /// It applies the rules.
    Rules,
    /// A pass of this library.
    BuiltIn(fn(&FunctionGraph) -> Result<FunctionGraph>),
    /// A pass added by a program.
    Custom(Arc<Run>),
}

impl Pass {
    /// A pass. It returns a graph of the same inputs, shared variables, outputs and updates, each of its
    /// type; anything else is an error of `compile`, as are the pass's own errors.
    pub fn new(
        name: &'static str,
        run: impl Fn(&FunctionGraph) -> Result<FunctionGraph> + Send + Sync + 'static,
    ) -> Pass {
        Pass { name, body: PassKind::Custom(Arc::new(run)) }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// This library's passes, in order.
    pub(super) fn built_in() -> Vec<Pass> {
        let pass = |name, run: fn(&FunctionGraph) -> Result<FunctionGraph>| Pass {
            name,
            body: PassKind::BuiltIn(run),
        };
        vec![
            pass("merge", super::merge),
            Pass { name: "simplify", body: PassKind::Rules },
            pass("lift", super::lift),
            // What nothing reads needs no place in a loop.
            pass("prune", super::prune),
            pass("hoist", super::hoist),
            pass("join_loops", super::join_loops),
            pass("fold_constants", super::fold_constants),
            // Rules compare expressions by identity.
            pass("merge", super::merge),
            pass("pairs", super::pairs),
            pass("prune", super::prune),
            Pass { name: "simplify", body: PassKind::Rules },
            pass("merge", super::merge),
            pass("prune", super::prune),
        ]
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Runs an added pass and checks its graph.
pub(super) fn checked(name: &str, run: &Run, graph: &FunctionGraph) -> Result<FunctionGraph> {
    let fail = |message: String| Error::Compile(format!("rewrite pass {name}: {message}"));
    let next = run(graph).map_err(|error| fail(error.to_string()))?;
    verify(&next).map_err(|error| fail(error.to_string()))?;
    keeps_interface(graph, &next).map_err(fail)?;
    Ok(next)
}

/// Whether the graph has the same inputs, shared variables, outputs and updates, each of its type.
fn keeps_interface(old: &FunctionGraph, new: &FunctionGraph) -> Result<(), String> {
    let lists = [
        ("input", &old.inputs, &new.inputs),
        ("shared variable", &old.shared, &new.shared),
        ("output", &old.outputs, &new.outputs),
    ];
    for (what, old_ids, new_ids) in lists {
        if old_ids.len() != new_ids.len() {
            return Err(format!("it gives {} {what}s of {}", new_ids.len(), old_ids.len()));
        }
        for (at, (&from, &to)) in old_ids.iter().zip(new_ids).enumerate() {
            // A call's arguments are bound by the types of inputs and shared variables: these must not
            // narrow.
            let (was, is) = (&old.var(from).ty, &new.var(to).ty);
            if what != "output" && was != is {
                return Err(format!("{what} {at} was {was} and is {is}"));
            }
            keeps_type(old, from, new, to).map_err(|types| format!("{what} {at} {types}"))?;
        }
    }
    if old.updates.len() != new.updates.len() {
        return Err(format!("it gives {} updates of {}", new.updates.len(), old.updates.len()));
    }
    for (&(shared, from), &(other, to)) in old.updates.iter().zip(&new.updates) {
        if shared != other {
            return Err(format!("the update of shared variable {shared} is now of {other}"));
        }
        keeps_type(old, from, new, to)
            .map_err(|types| format!("the update of shared variable {shared} {types}"))?;
    }
    Ok(())
}

fn keeps_type(old: &FunctionGraph, from: VarId, new: &FunctionGraph, to: VarId) -> Result<(), String> {
    let (from, to) = (&old.var(from).ty, &new.var(to).ty);
    if from.includes(to) { Ok(()) } else { Err(format!("was {from} and is {to}")) }
}
