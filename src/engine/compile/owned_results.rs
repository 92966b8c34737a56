//! Results in memory of the caller: which can be written there, and when over a donated input.

use crate::engine::dependences::Dependences;
use crate::engine::inplace::is_legal;
use crate::engine::storage::{CallInput, is_same};
use crate::lower::program::{BufferId, Program, Role};

/// The outputs that can be written directly to memory of the caller, and their sizes: scratch buffers of
/// their own.
pub(crate) fn owned_outputs(program: &Program) -> Vec<(BufferId, u64)> {
    let mut owned: Vec<(BufferId, u64)> = Vec::new();
    for &id in &program.outputs {
        let buffer = &program.buffers[id];
        if buffer.role == Role::Temp && buffer.bytes() > 0 && owned.iter().all(|(known, _)| *known != id) {
            owned.push((id, buffer.bytes()));
        }
    }
    owned
}

/// Whether a result may be written over a donated input.
pub(crate) fn is_overwritable(
    program: &Program,
    dependences: &Dependences,
    (args, input): (&[CallInput], usize),
    (output, bytes): (BufferId, u64),
) -> bool {
    let CallInput::Device(array) = &args[input] else { return false };
    let whole = array.region.offset == 0 && array.region.memory.bytes() >= bytes;
    let mut others = args.iter().enumerate().filter(|(position, _)| *position != input);
    let mut results = program.outputs.iter().chain(program.updates.iter().map(|u| &u.1));
    let alone = others.all(|(_, other)| match other {
        CallInput::Device(other) => !is_same(&other.unclaimed().memory, &array.unclaimed().memory),
        CallInput::Host(_) | CallInput::Slices(..) => true,
    });
    let buffers = program.buffers.iter().enumerate();
    let mut places = buffers.filter(|(_, b)| b.role == Role::Input(input)).map(|(id, _)| id);
    let (place, more) = (places.next(), places.next());
    let mut kept = |place: BufferId| results.any(|&id| id == place);
    whole
        && alone
        && more.is_none()
        && place.is_some_and(|place| !kept(place))
        && is_legal(program, dependences, place, output)
}
