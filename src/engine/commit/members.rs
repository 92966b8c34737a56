//! What the members of a group must agree on before one of them stores updates.
//!
//! - [`exchange_reports`]: an error that one of them found stops all.
//! - [`check_exchanges`]: exchanges that a device makes by itself may be cut off, when another member does
//!   not come.
//!   What follows is computed from whatever the memory holds, so a check behind the last one reports it.

use super::{TROUBLE, is_zero, on_status, push};
use crate::lower::program::{BufferId, HostNode, LibraryStep, Program, Role, STATUS_WORDS, Step};
use std::sync::Arc;
use workalike_device::group::{Collective, CollectiveArray, CollectiveKind, ExchangeCheck, Group};
use workalike_kernels::DType;
use workalike_kernels::nest::{Fold, Index, Inst, Operand, Store};

/// What tells the numbers of exchanges of reports from those of nodes.
const OF_REPORTS: u64 = 1 << 63;

/// Of each group the last exchange that is `counted`, those of bodies included.
fn last_exchanges(program: &Program, counted: impl Fn(&Step) -> bool) -> Vec<&Step> {
    let mut found: Vec<&Step> = Vec::new();
    for step in program.all_steps().filter(|step| step.exchange().is_some() && counted(step)) {
        let same = |other: &&Step| match (other.exchange(), step.exchange()) {
            (Some(other), Some(own)) => Arc::ptr_eq(&other.group, &own.group),
            _ => false,
        };
        found.retain(|other| !same(other));
        found.push(step);
    }
    found
}

/// Members of a group find out whether one of them has found an error, so that none of them stores updates
/// then: each gets the largest report of all. The last exchange of the group takes the report along if it
/// can; otherwise there is one more, after the last report. Returns each group with the largest report.
pub(in crate::engine) fn exchange_reports(program: &mut Program) -> Vec<(Arc<dyn Group>, BufferId)> {
    let Some(status) = program.status.filter(|_| !program.updates.is_empty()) else { return vec![] };
    let writes = |step: &Step| step.writes().contains(&status);
    let Some(last) = program.steps.iter().rposition(writes) else { return vec![] };
    let position = |step: &Step| program.steps.iter().position(|own| std::ptr::eq(own, step));
    // A host node of a body names a node of the body's graph.
    let has = |step: &Step| matches!(step, Step::Library(_)) || position(step).is_some();
    let mut joint: Vec<(Step, Option<usize>)> =
        last_exchanges(program, has).into_iter().map(|step| (step.clone(), position(step))).collect();
    // Bodies that the host runs have no steps.
    for node in program.host_nodes() {
        for exchange in node.exchanges_within() {
            let same = |(form, _): &(Step, _)| {
                form.exchange().is_some_and(|known| Arc::ptr_eq(&known.group, &exchange.group))
            };
            if !joint.iter().any(same) {
                joint.push((Step::Host(HostNode { exchange: Some(exchange), ..node.clone() }), None));
            }
        }
    }
    let (mut added, mut reports): (Vec<(usize, Step)>, Vec<_>) = (vec![], vec![]);
    for (form, at) in joint {
        let agreed = program.buffer(DType::I64, &[1], Role::Temp);
        let report =
            CollectiveArray { kind: CollectiveKind::AllReduce(Fold::Max), dtype: DType::I64, elements: 1 };
        reports.extend(form.exchange().map(|op| (op.group.clone(), agreed)));
        let behind = match at.filter(|&at| at > last && form.all_reduce().is_some()) {
            Some(at) => {
                program.steps[at].reduce_too([(report, (status, 0), agreed)]);
                at + 1
            }
            None => {
                added.extend(exchange_of(report, form, status, agreed).map(|step| (last + 1, step)));
                last + 1
            }
        };
        added.extend(keep_report(status, agreed).map(|step| (behind, step)));
    }
    added.sort_by_key(|(place, _)| *place);
    for (place, step) in added.into_iter().rev() {
        program.steps.insert(place, step);
    }
    reports
}

/// Adds the checks of exchanges that devices make by themselves. They report the last node of the group; the
/// first node's number is above `report_base`. A check behind the exchange of `reports` takes the report over
/// as well.
pub(in crate::engine) fn check_exchanges(
    program: &mut Program,
    report_base: i128,
    reports: &[(Arc<dyn Group>, BufferId)],
) {
    // Others of the same group, in main memory, report by themselves.
    let by_device = |step: &Step| matches!(step, Step::Library(_));
    let joint = last_exchanges(program, by_device).into_iter().filter_map(Step::exchange);
    let joint: Vec<Collective> = joint.filter(|op| op.group.needs_check()).cloned().collect();
    let Some(last) = program.steps.iter().rposition(Step::exchanges) else { return };
    for (at, Collective { group, number, .. }) in joint.into_iter().enumerate() {
        let status = program.status_words();
        let report = report_base + i128::from(number & !OF_REPORTS) + 1;
        let exchanged = reports.iter().find(|(of, _)| Arc::ptr_eq(of, &group)).map(|(_, report)| *report);
        // Only the step that keeps it reads it.
        let kept = exchanged.and_then(|taken| {
            let behind = program.steps[last + 1..].iter().position(|step| step.reads().contains(&taken))?;
            program.steps.remove(last + 1 + behind);
            Some(taken)
        });
        let (report, takes_report) = (report as i64, kept.is_some());
        let check = ExchangeCheck { group, report, words: STATUS_WORDS, takes_report };
        let step = LibraryStep {
            op: Arc::new(check),
            inputs: kept.map(|taken| (taken, 0)).into_iter().collect(),
            outputs: vec![status],
            scratch: None,
            epilogue: None,
        };
        program.steps.insert(last + 1 + at, Step::Library(step));
    }
}

/// An exchange of one array in the form of another exchange.
fn exchange_of(array: CollectiveArray, form: Step, input: BufferId, output: BufferId) -> Option<Step> {
    let op = form.exchange()?.clone();
    let op = Collective { arrays: vec![array], number: op.number | OF_REPORTS, ..op };
    Some(match form {
        Step::Host(node) => {
            let (inputs, outputs, exchange) = (vec![input], vec![output], Some(op));
            Step::Host(HostNode { inputs, outputs, exchange, ..node })
        }
        _ => Step::Library(LibraryStep {
            op: Arc::new(op),
            inputs: vec![(input, 0)],
            outputs: vec![output],
            scratch: None,
            epilogue: None,
        }),
    })
}

/// Takes over another member's report, unless this one has its own.
fn keep_report(status: BufferId, agreed: BufferId) -> Option<Step> {
    let mut insts = Vec::new();
    let (_, good) = is_zero(&mut insts, 0, TROUBLE);
    let word = push(&mut insts, Inst::Load { operand: 1, index: vec![Index::constant(0)] });
    let index = vec![Index::constant(TROUBLE)];
    let stores = vec![Store { operand: 0, index, value: word, when: Some(good), add: false }];
    let mut step = on_status("agree", status, insts, stores);
    if let Step::Nest { nest, buffers } = &mut step {
        nest.operands.push(Operand::contiguous(DType::I64, &[1], false));
        buffers.push(agreed);
    }
    Some(step)
}

#[cfg(test)]
mod tests;
