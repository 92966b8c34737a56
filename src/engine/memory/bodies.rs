//! The scratch memory of bodies, planned from the inside out: that of a body is one buffer of its loop.

use super::{Sharing, plan_of};
use crate::engine::fuse::nothing;
use crate::engine::inplace::carry_in_place;
use crate::lower::program::{Access, Body, Buffer, Program, Role, Step};

/// Makes the bodies of all steps ready to run: their constants become constants of the Program around them,
/// and their scratch buffers become parts of the scratch memory of their loop.
pub(crate) fn settle_bodies(program: &mut Program, alignment: u64) {
    for position in 0..program.steps.len() {
        let mut step = std::mem::replace(&mut program.steps[position], nothing());
        // Iterations that are enqueued ahead keep their values apart.
        let in_place = !matches!(&step, Step::While(step) if step.ahead > 1);
        for body in step.bound_bodies_mut() {
            settle(body, program, alignment, in_place);
        }
        program.steps[position] = step;
    }
}

fn settle(body: &mut Body, around: &mut Program, alignment: u64, in_place: bool) {
    settle_bodies(&mut body.program, alignment);
    if in_place {
        let carried: Vec<u64> = body.carried.iter().map(|&id| around.buffers[id].bytes()).collect();
        body.program = carry_in_place(std::mem::take(&mut body.program), &carried);
    }
    let own = &mut body.program;
    let outputs = own.outputs.clone();
    let scratch = |id, buffer: &Buffer| buffer.role == Role::Temp && !outputs.contains(&id);
    let layout = plan_of(own, alignment, scratch, Sharing::ALL);
    body.offsets = layout.offsets;
    around.buffers[body.scratch].shape = vec![layout.arena.bytes];
    let values = std::mem::take(&mut own.constants);
    for buffer in &mut own.buffers {
        let Role::Constant(at) = buffer.role else { continue };
        let Some(value) = values.get(at) else { continue };
        buffer.role = Role::Input(body.inputs.len());
        around.constants.push(value.clone());
        let role = Role::Constant(around.constants.len() - 1);
        body.inputs.push(Access::whole(around.buffer(buffer.dtype, &buffer.shape, role)));
    }
}
