//! Whether the members of a group divide a call among them.
//!
//! Divided, each member computes its part of the call, and they exchange what depends on all parts. An
//! exchange takes its time, however small its arrays are: so a small call is computed in less time by each
//! member alone, as a whole. Then all of them must get the same bits ([`repeats`]), since each stores the new
//! values of its own shared variables.

use super::cost::{self, Work};
use super::fuse::cost::CostModel;
use crate::lower::program::{Program, Step};
use workalike_device::Properties;
use workalike_device::group::{Collective, CollectiveArray};
use workalike_kernels::custom::CustomLaunch;

/// Whether members on devices of this kind compute a call in less time if each computes the part that `part`
/// does, than if each computes all of it, as `whole` does. `None` if that is not known without `whole`.
pub(super) fn pays(
    part: &Program,
    whole: Option<&Program>,
    properties: &Properties,
    members: usize,
) -> Option<bool> {
    let cost = CostModel::of(properties);
    let Some(parts) = costs(part, &cost) else { return Some(true) };
    // Most flops are those of parts, but not all.
    let least_saved = 0.5 * members.saturating_sub(1) as f64 * parts.flops;
    match whole {
        _ if least_saved > parts.exchanged => Some(true),
        None => None,
        Some(whole) => Some(costs(whole, &cost)?.computed - parts.computed > parts.exchanged),
    }
}

/// What a Program costs a member.
#[derive(Default)]
struct Costs {
    computed: f64,
    /// The part of it that is flops.
    flops: f64,
    exchanged: f64,
}

/// `None` if members may share a device, or how often they exchange arrays is not known.
fn costs(program: &Program, cost: &CostModel) -> Option<Costs> {
    let mut all = Costs::default();
    for step in &program.steps {
        if let Some(op) = step.exchange() {
            all.exchanged += cost.exchange(bytes(op))?;
        } else if step.bodies().next().is_none() {
            let work = cost::step(program, step);
            all.computed += cost.work(work);
            all.flops += cost.work(Work { flops: work.flops, ..Work::default() });
        } else if step.exchanges() && matches!(step, Step::While(_)) {
            return None;
        }
        for body in step.bodies() {
            let (body, trips) = (costs(body, cost)?, step.trips() as f64);
            all.computed += trips * body.computed;
            all.flops += trips * body.flops;
            all.exchanged += trips * body.exchanged;
        }
    }
    Some(all)
}

fn bytes(op: &Collective) -> u64 {
    op.arrays.iter().map(CollectiveArray::bytes).fold(0, u64::saturating_add)
}

/// Whether devices of one kind compute the same bits by it, if they may only do what is
/// [deterministic](workalike_device::Options::deterministic): kernels of users may do anything.
pub(super) fn repeats(program: &Program) -> bool {
    !program.all_steps().any(|step| match step {
        Step::Library(library) => library.op.downcast::<CustomLaunch>().is_some(),
        _ => false,
    })
}

/// Whether two devices are of one kind: they have the same kernels, and choose alike among algorithms.
pub(super) fn are_alike(a: &Properties, b: &Properties) -> bool {
    let kind = |of: &Properties| (of.name.clone(), of.driver.clone(), of.units, of.lanes, of.memory);
    kind(a) == kind(b)
}
