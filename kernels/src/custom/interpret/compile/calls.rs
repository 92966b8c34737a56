//! Which functions call which.

use super::super::expr::FunctionDef;
use super::super::token::refuse;
use super::Compiled;

/// A function must be defined, and must not call itself.
pub(super) fn check_calls(all: &[FunctionDef]) -> Compiled<()> {
    let mut left: Vec<usize> = all.iter().map(|function| function.calls.len()).collect();
    for function in all {
        for &callee in &function.calls {
            if all[callee].body.is_none() {
                return refuse(
                    function.line,
                    format!("`{}`, which `{}` calls, is not defined", all[callee].name, function.name),
                );
            }
        }
    }
    let callers = callers(all);
    let mut ready: Vec<usize> = (0..all.len()).filter(|at| left[*at] == 0).collect();
    let mut done = 0;
    while let Some(at) = ready.pop() {
        done += 1;
        for &caller in &callers[at] {
            left[caller] -= 1;
            if left[caller] == 0 {
                ready.push(caller);
            }
        }
    }
    if done == all.len() {
        return Ok(());
    }
    // Each function that is left calls another one that is left: following the calls finds a cycle.
    let start = left.iter().position(|count| *count > 0).unwrap_or(0);
    let next = |at: usize| all[at].calls.iter().copied().find(|callee| left[*callee] > 0).unwrap_or(at);
    let within = (0..all.len()).fold(start, |at, _| next(at));
    refuse(all[within].line, format!("`{}` calls itself; recursion is not supported", all[within].name))
}

/// Whether each function or one that it calls has a barrier.
pub(super) fn barriers(all: &[FunctionDef]) -> Vec<bool> {
    let mut has: Vec<bool> = all.iter().map(|function| function.has_barrier).collect();
    let callers = callers(all);
    let mut found: Vec<usize> = (0..all.len()).filter(|at| has[*at]).collect();
    while let Some(at) = found.pop() {
        for &caller in &callers[at] {
            if !std::mem::replace(&mut has[caller], true) {
                found.push(caller);
            }
        }
    }
    has
}

/// The functions that call each function.
fn callers(all: &[FunctionDef]) -> Vec<Vec<usize>> {
    let mut callers = vec![vec![]; all.len()];
    for (at, function) in all.iter().enumerate() {
        function.calls.iter().for_each(|callee| callers[*callee].push(at));
    }
    callers
}
