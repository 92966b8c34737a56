//! Givens: Variables that others replace before a Function is compiled.

use crate::error::{Error, Result};
use crate::graph::{Variable, ancestors, rebuild};
use std::collections::{HashMap, HashSet};

type Key = (usize, usize);

/// The replacement of each Variable, with the other replacements applied to it: of `x -> y + 1, y -> z` the
/// first becomes `z + 1`. A replacement that uses the replaced Variable, such as `x -> x + 1`, means the old
/// one.
///
/// # Errors
/// If one is ill-typed, replaces a Variable of another dtype or rank or one that is replaced already, or they
/// form a cycle.
pub(super) fn resolved(givens: &[(Variable, Variable)]) -> Result<Vec<(Variable, Variable)>> {
    let mut position: HashMap<Key, usize> = HashMap::new();
    for (at, (from, to)) in givens.iter().enumerate() {
        let (from, to) = (from.checked()?, to.checked()?);
        if from.dtype() != to.dtype() || from.ndim() != to.ndim() {
            return Err(Error::mismatch("givens", from.ty().to_string(), to.ty().to_string()));
        }
        if position.insert(from.key(), at).is_some() {
            return Err(Error::Compile(format!("givens: {} is replaced twice", what(from))));
        }
    }
    let mut needs: Vec<HashSet<usize>> = givens.iter().map(|(_, to)| reads(to, &position)).collect();
    for (at, needs) in needs.iter_mut().enumerate() {
        needs.remove(&at);
    }
    let mut done: HashMap<Key, Variable> = HashMap::new();
    let mut left: Vec<usize> = (0..givens.len()).collect();
    while !left.is_empty() {
        let ready = |at: &usize| needs[*at].iter().all(|other| done.contains_key(&givens[*other].0.key()));
        let (now, later): (Vec<usize>, Vec<usize>) = left.iter().partition(|at| ready(at));
        if now.is_empty() {
            let names: Vec<String> = left.iter().map(|&at| what(&givens[at].0)).collect();
            return Err(Error::Compile(format!(
                "givens: the replacements of {} are made of each other; replace them by new Variables",
                names.join(", ")
            )));
        }
        for at in now {
            let (from, to) = &givens[at];
            let mut known = done.clone();
            let replaced = rebuild(std::slice::from_ref(to), &mut known, |_, _| Ok(None))?;
            done.insert(from.key(), replaced.into_iter().next().unwrap_or_else(|| to.clone()));
        }
        left = later;
    }
    let replaced = |from: &Variable| done.get(&from.key()).cloned();
    Ok(givens.iter().filter_map(|(from, _)| Some((from.clone(), replaced(from)?))).collect())
}

/// Positions of the replaced Variables that an expression reads.
fn reads(root: &Variable, position: &HashMap<Key, usize>) -> HashSet<usize> {
    let walked = ancestors(std::slice::from_ref(root), |v| position.contains_key(&v.key()));
    let inputs = walked.iter().filter_map(Variable::owner).flat_map(|(apply, _)| &apply.inputs);
    inputs.chain([root]).filter_map(|v| position.get(&v.key()).copied()).collect()
}

fn what(variable: &Variable) -> String {
    variable.name().map_or_else(|| format!("{variable:?}"), Into::into)
}
