//! What errors of work items say.

use super::bytecode::{MachineProgram, Object};
use super::launch::{BoundKernel, ItemError, Why};
use super::memory::{Fault, LaunchObject};

/// The error, with the line, the kernel and the work item.
pub(super) fn report(
    program: &MachineProgram,
    launch: &BoundKernel,
    failure: &ItemError,
    read: &[&[u8]],
    written: &[&mut [u8]],
) -> String {
    let line = |at: usize| program.lines.get(at).copied().unwrap_or(0);
    let ItemError { at, why, item, group } = failure;
    let what = match why {
        Why::Fault(fault) => of_fault(program, launch, fault, read, written),
        Why::Barrier { other, waits } => {
            let other = match waits {
                Some(at) => format!("work item {other:?} waits at that of line {}", line(*at)),
                None => format!("work item {other:?} has ended"),
            };
            format!("not all work items of the group reach this barrier: {other}")
        }
    };
    format!("kernels:{}: {what} (kernel {}, work item {item:?} of group {group:?})", line(*at), launch.kernel)
}

fn of_fault(
    program: &MachineProgram,
    launch: &BoundKernel,
    fault: &Fault,
    read: &[&[u8]],
    written: &[&mut [u8]],
) -> String {
    let object = |at: usize| program.objects.get(at);
    let name = |at: usize| object(at).map_or("an array", |object| &object.name);
    match *fault {
        Fault::Null => "an access by a null pointer".into(),
        Fault::Range { object: at, at: byte, bytes } => {
            let size = size(launch.segment(at), read, written);
            out_of_range(object(at), byte, bytes, size)
        }
        Fault::Misaligned { object, at, align } => {
            format!("byte {at} of `{}` is no multiple of {align}, the size of what is accessed", name(object))
        }
        Fault::Ended { object } => {
            format!("`{}` is a variable of a function that has returned", name(object))
        }
        Fault::Constant { object } => format!("`{}` is const and cannot be written", name(object)),
        Fault::Division => "a division by zero".into(),
        Fault::Shift { by, bits } => format!("a shift by {by} of a number of {bits} bits"),
        Fault::Inside => "an error of the compiler: a variable outside of private memory".into(),
        Fault::Steps => format!("the kernel did not end after {} steps", launch.steps),
        Fault::Beyond { object } => format!("a pointer is moved far beyond `{}`", name(object)),
        Fault::Distance { objects: [a, b] } => {
            format!("pointers to different arrays are compared, `{}` and `{}`", name(a), name(b))
        }
    }
}

fn out_of_range(object: Option<&Object>, byte: i64, bytes: usize, size: usize) -> String {
    let (name, element) = object.map_or(("an array", 1), |object| (&*object.name, object.element));
    let element = i64::try_from(element).unwrap_or(1).max(1);
    let count = size as i64 / element;
    // Of a struct, the element that the bytes are part of.
    let index = byte.div_euclid(element);
    match index >= count || byte < 0 {
        true => format!("{name}[{index}] is out of range: `{name}` has {count} elements"),
        false => format!(
            "bytes {byte} to {} of `{name}` are out of range: it has {size} bytes",
            byte + bytes as i64 - 1
        ),
    }
}

/// Bytes of an object.
fn size(segment: Option<LaunchObject>, read: &[&[u8]], written: &[&mut [u8]]) -> usize {
    match segment {
        None | Some(LaunchObject::Null) => 0,
        Some(LaunchObject::Read(at)) => read.get(at).map_or(0, |bytes| bytes.len()),
        Some(LaunchObject::Written { at, .. }) => written.get(at).map_or(0, |bytes| bytes.len()),
        Some(
            LaunchObject::Local { bytes, .. }
            | LaunchObject::Constant { bytes, .. }
            | LaunchObject::Own { bytes, .. },
        ) => bytes,
    }
}
