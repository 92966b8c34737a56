//! The scratch memory of bodies, planned from the inside out: that of a body is one buffer of its loop.

use super::plan_of;
use crate::lower::program::{Access, Program, Role, Step};

/// Makes the bodies of all steps ready to run: their constants become constants of the Program around them,
/// and their scratch buffers get places in that of their loop.
pub(crate) fn settle_bodies(program: &mut Program, alignment: u64) {
    for position in 0..program.steps.len() {
        let Step::Loop(step) = &mut program.steps[position] else { continue };
        let body = step.body.as_mut();
        settle_bodies(body, alignment);
        let scratch = step.scratch;
        let layout =
            plan_of(body, alignment, |id, buffer| buffer.role == Role::Temp && !body.outputs.contains(&id));
        step.offsets = layout.offsets;
        let values = std::mem::take(&mut body.constants);
        let mut constants = Vec::new();
        for buffer in &mut body.buffers {
            let Role::Constant(at) = buffer.role else { continue };
            if let Some(value) = values.get(at) {
                buffer.role = Role::Input(step.inputs.len() + constants.len());
                constants.push((buffer.dtype, buffer.shape.clone(), value.clone()));
            }
        }
        program.buffers[scratch].shape = vec![layout.arena.bytes];
        for (dtype, shape, value) in constants {
            program.constants.push(value);
            let role = Role::Constant(program.constants.len() - 1);
            let buffer = program.buffer(dtype, &shape, role);
            if let Step::Loop(step) = &mut program.steps[position] {
                step.inputs.push(Access { buffer, first: 0, stride: 0, rows: None });
            }
        }
    }
}
