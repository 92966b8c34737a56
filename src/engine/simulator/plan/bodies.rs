//! What loops and branches run, as a part of a [`Plan`](super::Plan).

use super::{BufferPlan, StepPlan, buffer_plans, numbered};
use crate::lower::program::{Role, Step};
use serde::Serialize;

/// The steps of one iteration of a loop, or of a branch.
#[derive(Clone, Debug, Serialize)]
pub struct BodyPlan {
    /// The steps, in order.
    pub steps: Vec<StepPlan>,
    /// The buffers that they touch; inputs and carried values are rows of buffers around the loop.
    pub buffers: Vec<BufferPlan>,
}

/// The bodies of a step, whose kernels are the next of `kernels`.
pub(super) fn of(step: &Step, kernels: &mut dyn Iterator<Item = usize>) -> Vec<BodyPlan> {
    let body = |body: &crate::lower::program::Body| {
        let program = &body.program;
        let mut steps = Vec::with_capacity(program.steps.len());
        for step in &program.steps {
            let own = numbered(program, step, kernels);
            steps.push(StepPlan { bodies: of(step, kernels), ..own });
        }
        let named = |role: &Role| match role {
            Role::Input(at) => Some(format!("given{at}")),
            Role::Shared(at) => Some(format!("carried{at}")),
            _ => None,
        };
        BodyPlan { steps, buffers: buffer_plans(program, &|_| None, &named) }
    };
    step.bound_bodies().iter().map(body).collect()
}
