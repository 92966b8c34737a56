//! Default updates: shared variables that move on by themselves at each call, such as the states of random
//! streams.

use super::cell::Cell;
use super::rebuild::ancestors;
use super::source_location;
use super::variable::{Kind, Variable};
use crate::error::{Error, Result};
use std::collections::HashSet;
use std::sync::Arc;

/// The default updates of the shared variables that `roots` read, except those in `seen`, to which they are
/// added; `stop` holds for expressions that are not looked into. An update may read further shared variables,
/// which are updated too. A variable that a loop carries gets the value after the last iteration.
///
/// # Errors
/// If an update is ill-typed, or two loops carry one variable.
pub(crate) fn default_updates(
    roots: &[Variable],
    seen: &mut HashSet<(usize, usize)>,
    stop: impl Fn(&Variable) -> bool,
) -> Result<Vec<(Arc<Cell>, Variable)>> {
    let mut updates = Vec::new();
    let mut pending = roots.to_vec();
    while !pending.is_empty() {
        let walked = ancestors(&pending, &stop);
        pending.clear();
        let mut add = |cell: &Arc<Cell>, next: Variable| {
            updates.push((cell.clone(), next.clone()));
            pending.push(next);
        };
        for (shared, next) in carried(&walked)? {
            if let (Kind::Shared(cell), true) = (shared.kind(), seen.insert(shared.key())) {
                add(cell, next);
            }
        }
        for variable in walked {
            let Kind::Shared(cell) = variable.kind() else { continue };
            let Some(advance) = cell.default_update() else { continue };
            if seen.insert(variable.key()) {
                let next = {
                    let _scope = source_location::leave();
                    advance(&variable)
                };
                next.checked()?;
                add(cell, next);
            }
        }
    }
    Ok(updates)
}

/// The shared variables that loops among what `roots` depend on carry, each with its value after the last
/// iteration; `stop` holds for expressions that are not looked into.
///
/// # Errors
/// If two loops carry one variable.
pub(crate) fn carried_states(
    roots: &[Variable],
    stop: impl Fn(&Variable) -> bool,
) -> Result<Vec<(Variable, Variable)>> {
    carried(&ancestors(roots, stop))
}

/// The shared variables that loops carry, each with its value after the last iteration. A loop that was made
/// of another's body gets a state from the loop around it, and not the shared variable.
fn carried(walked: &[Variable]) -> Result<Vec<(Variable, Variable)>> {
    let mut list: Vec<(Variable, Variable)> = Vec::new();
    let mut loops = HashSet::new();
    let leaves: HashSet<(usize, usize)> =
        walked.iter().filter(|v| v.owner().is_none()).map(Variable::key).collect();
    for (apply, _) in walked.iter().filter_map(Variable::owner) {
        if !loops.insert(Arc::as_ptr(apply)) {
            continue;
        }
        let outputs: Vec<Variable> = (0..apply.types.len()).map(|at| Variable::output(apply, at)).collect();
        let states = apply.op.states_after(&outputs)?;
        for (shared, next) in states.into_iter().filter(|(shared, _)| leaves.contains(&shared.key())) {
            if list.iter().any(|(known, _)| known.key() == shared.key()) {
                let name = shared.name().unwrap_or("a state").to_string();
                return Err(Error::Compile(format!(
                    "shared variable {name} is carried by two loops; draw random numbers anew in each"
                )));
            }
            list.push((shared, next));
        }
    }
    Ok(list)
}
