//! A work item: runs instructions up to a barrier or the end.

use super::bytecode::{MachineInst, MachineProgram, Reg};
use super::memory::{Fault, LaunchMemory, Own, decoded, encode, moved, split};
use std::mem::take;

/// Bytes that are copied in the time of a step.
pub(super) const BYTES_OF_A_STEP: u32 = 16;

/// Why a work item stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Barrier,
    End,
}

/// The state of a work item.
#[derive(Clone, Debug)]
pub(super) struct WorkItem {
    /// The next instruction; behind an error, the one that failed.
    pub(super) next: usize,
    pub(super) registers: Vec<u64>,
    pub(super) own: Vec<u8>,
}

impl WorkItem {
    /// Continues. The compiler checked that registers and jump targets exist.
    pub(super) fn run(
        &mut self,
        program: &MachineProgram,
        shared: &mut LaunchMemory<'_, '_>,
    ) -> Result<Stop, Fault> {
        let WorkItem { next, registers, own } = self;
        let registers = registers.as_mut_slice();
        let mut at = *next;
        let mut steps = shared.steps;
        let stopped = loop {
            let Some(&inst) = program.code.get(at) else { break Ok(Stop::End) };
            let get = |register: Reg| registers[usize::from(register)];
            let before = at;
            at += 1;
            steps -= 1;
            match inst {
                MachineInst::Move { to, from } => registers[usize::from(to)] = get(from),
                MachineInst::Apply1 { function, to, a } => registers[usize::from(to)] = function(get(a)),
                MachineInst::Apply2 { function, to, a, b } => {
                    registers[usize::from(to)] = function(get(a), get(b));
                }
                MachineInst::Apply3 { function, to, a, b, c } => {
                    registers[usize::from(to)] = function(get(a), get(b), get(c));
                }
                MachineInst::Jump { to } => at = to as usize,
                MachineInst::Branch { condition, when, to } => {
                    if (get(condition) != 0) == when {
                        at = to as usize;
                    }
                }
                MachineInst::BranchBy { function, a, b, when, to } => {
                    if (function(get(a), get(b)) != 0) == when {
                        at = to as usize;
                    }
                }
                MachineInst::Call { link, to } => {
                    registers[usize::from(link)] = at as u64;
                    at = to as usize;
                }
                MachineInst::Return { link } => at = take(&mut registers[usize::from(link)]) as usize,
                MachineInst::Barrier => break Ok(Stop::Barrier),
                MachineInst::End => break Ok(Stop::End),
                other => {
                    if let Err(fault) = demanding(other, registers, own, shared, &mut steps) {
                        at = before;
                        break Err(fault);
                    }
                }
            }
            // Whatever does not end jumps back; so does a call, or the return from it.
            if at <= before && steps < 0 {
                at = before;
                break Err(Fault::Steps);
            }
        };
        *next = at;
        shared.steps = steps;
        stopped
    }
}

/// Instructions that may fail.
#[inline(always)]
fn demanding(
    inst: MachineInst,
    registers: &mut [u64],
    own: &mut Vec<u8>,
    shared: &mut LaunchMemory<'_, '_>,
    steps: &mut i64,
) -> Result<(), Fault> {
    match inst {
        MachineInst::Divide { .. }
        | MachineInst::Shift { .. }
        | MachineInst::Offset { .. }
        | MachineInst::Advance { .. }
        | MachineInst::Distance { .. } => checked(inst, registers),
        MachineInst::Copy { bytes, .. }
        | MachineInst::CopyOwn { bytes, .. }
        | MachineInst::ClearOwn { bytes, .. } => {
            *steps -= i64::from(bytes / BYTES_OF_A_STEP);
            copied(inst, registers, own, shared)
        }
        _ => access(inst, registers, own, shared),
    }
}

/// Instructions on many bytes of memory.
fn copied(
    inst: MachineInst,
    registers: &mut [u64],
    own: &mut [u8],
    shared: &mut LaunchMemory<'_, '_>,
) -> Result<(), Fault> {
    let get = |register: Reg| registers[usize::from(register)];
    match inst {
        MachineInst::Copy { to, from, bytes } => {
            let (to, from) = (get(to), get(from));
            shared.copy(&mut Own { registers, bytes: own }, to, from, bytes)
        }
        MachineInst::CopyOwn { to, from, bytes } => {
            let [to, from, bytes] = [to, from, bytes].map(|number| number as usize);
            if to.max(from) + bytes > own.len() {
                return Err(Fault::Inside);
            }
            own.copy_within(from..from + bytes, to);
            Ok(())
        }
        MachineInst::ClearOwn { at, bytes } => {
            let (at, bytes) = (at as usize, bytes as usize);
            own.get_mut(at..at + bytes).ok_or(Fault::Inside)?.fill(0);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Arithmetic that may fail.
#[inline(always)]
fn checked(inst: MachineInst, registers: &mut [u64]) -> Result<(), Fault> {
    let get = |register: Reg| registers[usize::from(register)];
    let (to, value) = match inst {
        MachineInst::Divide { function, to, a, b } => match get(b) {
            0 => return Err(Fault::Division),
            divisor => (to, function(get(a), divisor)),
        },
        MachineInst::Shift { function, to, a, b, bits } => match get(b) {
            by if by < u64::from(bits) => (to, function(get(a), by)),
            by => return Err(Fault::Shift { by: by.cast_signed(), bits }),
        },
        MachineInst::Offset { to, pointer, index, step } => (to, element(get(pointer), get(index), step)?),
        MachineInst::Advance { to, pointer, by } => {
            let from = get(pointer);
            (to, moved(from, by).ok_or(Fault::Beyond { object: split(from).0 })?)
        }
        MachineInst::Distance { to, a, b, step } => {
            let [(x, from), (y, until)] = [split(get(a)), split(get(b))];
            if x != y {
                return Err(Fault::Distance { objects: [x, y] });
            }
            (to, (from - until).checked_div(step).unwrap_or(0).cast_unsigned())
        }
        _ => return Ok(()),
    };
    registers[usize::from(to)] = value;
    Ok(())
}

/// A pointer to an element.
#[inline(always)]
fn element(pointer: u64, index: u64, step: i64) -> Result<u64, Fault> {
    let by = index.cast_signed().checked_mul(step);
    by.and_then(|by| moved(pointer, by)).ok_or(Fault::Beyond { object: split(pointer).0 })
}

/// Instructions on memory.
#[inline(always)]
fn access(
    inst: MachineInst,
    registers: &mut [u64],
    own: &mut Vec<u8>,
    shared: &mut LaunchMemory<'_, '_>,
) -> Result<(), Fault> {
    let get = |register: Reg| registers[usize::from(register)];
    let (to, value) = match inst {
        MachineInst::LoadAt { to, pointer, index, dtype } => {
            let pointer = element(get(pointer), get(index), dtype.size() as i64)?;
            (to, shared.load(&Own { registers, bytes: own }, pointer, 0, dtype)?)
        }
        MachineInst::StoreAt { pointer, index, from, dtype } => {
            let (pointer, value) = (element(get(pointer), get(index), dtype.size() as i64)?, get(from));
            return shared.store(&mut Own { registers, bytes: own }, pointer, 0, value, dtype);
        }
        MachineInst::Load { to, pointer, offset, dtype } => {
            let pointer = get(pointer);
            (to, shared.load(&Own { registers, bytes: own }, pointer, offset, dtype)?)
        }
        MachineInst::Store { pointer, offset, from, dtype } => {
            let (pointer, value) = (get(pointer), get(from));
            return shared.store(&mut Own { registers, bytes: own }, pointer, offset, value, dtype);
        }
        MachineInst::LoadOwn { to, at, dtype } => {
            let at = at as usize;
            let bytes = own.get(at..at + dtype.size()).ok_or(Fault::Inside)?;
            (to, decoded(bytes, dtype))
        }
        MachineInst::StoreOwn { at, from, dtype } => {
            let at = at as usize;
            encode(own.get_mut(at..at + dtype.size()).ok_or(Fault::Inside)?, get(from), dtype);
            return Ok(());
        }
        MachineInst::AtomicAdd { function, to, pointer, value, dtype } => {
            let (pointer, value) = (get(pointer), get(value));
            let before = shared.load(&Own { registers, bytes: own }, pointer, 0, dtype)?;
            shared.store(&mut Own { registers, bytes: own }, pointer, 0, function(before, value), dtype)?;
            (to, before)
        }
        _ => return Ok(()),
    };
    registers[usize::from(to)] = value;
    Ok(())
}
