//! Launches: groups one after another, and the work items of a group from barrier to barrier.

use super::bytecode::{CompiledKernel, Expected, ITEM_REGISTERS, MachineProgram, ObjectLocation, Reg};
use super::compile::MOST_LOCAL;
use super::item::{BYTES_OF_A_STEP, Stop, WorkItem};
use super::memory::{Fault, LaunchMemory, LaunchObject, pointer};
use crate::custom::launch::text_of;
use crate::custom::{KernelArg, KernelCall};
use crate::dtype::DType;
use crate::nest::Operand;
use std::collections::HashMap;

/// Work items of a group at most, as on GPUs.
const MOST_ITEMS: u64 = 1024;
/// Groups in each dimension at most, as in CUDA.
const MOST_GROUPS: [u64; 3] = [(1 << 31) - 1, 65_535, 65_535];
/// Steps of a launch at most, so that a kernel that does not end is an error: minutes, and on a slow machine
/// some tens of them.
pub(super) const MOST_STEPS: i64 = 1 << 36;
/// Steps that the start of a work item counts for.
const START: i64 = 16;
/// Bytes of the states of a group's work items at most.
const MOST_STATES: u64 = 1 << 28;

/// A kernel with its arguments.
#[derive(Debug)]
pub(super) struct BoundKernel {
    pub(super) kernel: String,
    grid: [u64; 3],
    group: [u32; 3],
    segments: Vec<LaunchObject>,
    entry: usize,
    has_barrier: bool,
    /// Registers that every work item begins with.
    start: Vec<(Reg, u64)>,
    local: usize,
    /// Steps at most.
    pub(super) steps: i64,
}

/// Memory that launches use, one after another.
#[derive(Debug, Default)]
pub(super) struct LaunchWorkspace {
    items: Vec<WorkItem>,
    local: Vec<u8>,
}

/// An error of a work item.
#[derive(Debug)]
pub(super) struct ItemError {
    /// The instruction.
    pub(super) at: usize,
    pub(super) why: Why,
    pub(super) item: [u32; 3],
    pub(super) group: [u64; 3],
}

/// What went wrong.
#[derive(Debug)]
pub(super) enum Why {
    Fault(Fault),
    /// This work item waits at a barrier, and another one at another instruction, or it has ended.
    Barrier {
        other: [u32; 3],
        waits: Option<usize>,
    },
}

impl BoundKernel {
    /// A call with its limits checked.
    pub(super) fn new(
        program: &MachineProgram,
        call: &KernelCall,
        operands: &[Operand],
    ) -> Result<BoundKernel, String> {
        let Some(kernel) = program.kernels.get(&call.kernel) else {
            return Err("the text, once preprocessed, has no kernel of this name".into());
        };
        let items = call.group.iter().map(|extent| u64::from(*extent)).fold(1, u64::saturating_mul);
        if items > MOST_ITEMS {
            return Err(format!(
                "expected at most {MOST_ITEMS} work items in a group, found {:?}",
                call.group
            ));
        }
        // Without groups nothing runs, and there is nothing to limit.
        let too_many = call.grid.iter().zip(MOST_GROUPS).any(|(extent, most)| *extent > most);
        if too_many && !call.grid.contains(&0) {
            return Err(format!("expected at most {MOST_GROUPS:?} groups, found {:?}", call.grid));
        }
        let states = (program.registers.len() * 8 + program.own) as u64 * items;
        if kernel.has_barrier && states > MOST_STATES {
            return Err(format!(
                "{items} work items with barriers need {states} bytes; at most {MOST_STATES} are supported"
            ));
        }
        let mut launch = BoundKernel {
            kernel: call.kernel.clone(),
            grid: call.grid,
            group: call.group,
            segments: program.objects.iter().map(|object| segment(object.memory)).collect(),
            entry: kernel.entry as usize,
            has_barrier: kernel.has_barrier,
            start: vec![],
            local: kernel.local,
            steps: MOST_STEPS,
        };
        launch.bind(kernel, call, operands)?;
        Ok(launch)
    }

    /// Gives the parameters their arguments.
    fn bind(
        &mut self,
        kernel: &CompiledKernel,
        call: &KernelCall,
        operands: &[Operand],
    ) -> Result<(), String> {
        if kernel.params.len() != call.args.len() {
            return Err(format!("expected {} arguments, found {}", kernel.params.len(), call.args.len()));
        }
        // An array that is given for several parameters is one object: that of the first.
        let mut arrays: HashMap<usize, usize> = HashMap::new();
        for (parameter, arg) in kernel.params.iter().zip(&call.args) {
            let bits = match (parameter.expected, *arg) {
                (Expected::Number(dtype), KernelArg::Scalar(scalar)) if same(scalar.dtype(), dtype) => {
                    super::memory::decoded(&scalar.to_le_bytes()[..dtype.size()], dtype)
                }
                (Expected::Pointer { object, dtype, constant }, KernelArg::Array(at))
                    if operands
                        .get(at)
                        .is_some_and(|operand| dtype.is_none_or(|d| same(d, operand.dtype))) =>
                {
                    let first = *arrays.entry(at).or_insert(object);
                    self.set_array(first, at, constant, operands)
                }
                (Expected::Pointer { object, .. }, KernelArg::Local(bytes)) => {
                    let base = self.local.next_multiple_of(16);
                    if base as u64 + bytes.min(MOST_LOCAL + 1) > MOST_LOCAL {
                        return Err(format!(
                            "expected at most {MOST_LOCAL} bytes of local memory, found {bytes} and {base} of the text"
                        ));
                    }
                    self.local = base + bytes as usize;
                    self.set(object, LaunchObject::Local { base, bytes: bytes as usize })
                }
                (expected, arg) => {
                    let found = text_of(operands, &arg);
                    let expected = expected.kind();
                    return Err(format!("expected {expected} for `{}`, found {found}", parameter.name));
                }
            };
            self.start.push((parameter.register, bits));
        }
        Ok(())
    }

    /// Gives an object the array of an operand, for one more parameter.
    fn set_array(&mut self, object: usize, at: usize, constant: bool, operands: &[Operand]) -> u64 {
        // The read operands come first.
        let reads = operands.iter().filter(|operand| !operand.written).count();
        let segment = match at.checked_sub(reads) {
            None => LaunchObject::Read(at),
            Some(at) => {
                let writable =
                    matches!(self.segment(object), Some(LaunchObject::Written { constant: false, .. }));
                LaunchObject::Written { at, constant: constant && !writable }
            }
        };
        self.set(object, segment)
    }

    /// Gives an object its memory; returns a pointer to it.
    fn set(&mut self, object: usize, segment: LaunchObject) -> u64 {
        if let Some(place) = self.segments.get_mut(object) {
            *place = segment;
        }
        pointer(object, 0).unwrap_or(0)
    }

    /// The memory of an object.
    pub(super) fn segment(&self, object: usize) -> Option<LaunchObject> {
        self.segments.get(object).copied()
    }

    fn states(&self) -> usize {
        if self.has_barrier { self.items() } else { 1 }
    }

    /// Work items of a group: at most [`MOST_ITEMS`].
    fn items(&self) -> usize {
        self.group.iter().map(|extent| *extent as usize).product()
    }

    /// Runs all groups.
    pub(super) fn run(
        &self,
        program: &MachineProgram,
        read: &[&[u8]],
        written: &mut [&mut [u8]],
        workspace: &mut LaunchWorkspace,
    ) -> Result<(), ItemError> {
        let LaunchWorkspace { items, local } = workspace;
        let (segments, constants) = (&self.segments[..], &program.constants[..]);
        let local = local.get_mut(..self.local).unwrap_or(&mut []);
        if self.grid.contains(&0) {
            return Ok(());
        }
        let mut shared = LaunchMemory { segments, read, written, local, constants, steps: self.steps };
        for z in 0..self.grid[2] {
            for y in 0..self.grid[1] {
                for x in 0..self.grid[0] {
                    // What is not written is as likely a NaN as anything.
                    shared.local.fill(0xff);
                    shared.steps -= (self.local / BYTES_OF_A_STEP as usize) as i64;
                    let group = [x, y, z];
                    let failed = |(at, why, item)| ItemError { at, why, item, group };
                    match self.has_barrier {
                        true => self.phases(program, &mut shared, items, group).map_err(failed)?,
                        false => self.items_in_turn(program, &mut shared, items, group).map_err(failed)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// The position of a work item in its group.
    fn position(&self, number: usize) -> [u32; 3] {
        let (number, [x, y, _]) = (number as u32, self.group);
        [number % x, number / x % y, number / x / y]
    }

    fn begin(&self, item: &mut WorkItem, number: usize, group: [u64; 3]) {
        let wide = |extents: [u32; 3]| extents.map(u64::from);
        let numbers = [wide(self.position(number)), wide(self.group), group, self.grid];
        let registers = &mut item.registers[..ITEM_REGISTERS];
        registers
            .iter_mut()
            .zip(numbers.into_iter().flatten())
            .for_each(|(register, number)| *register = number);
        for &(register, bits) in &self.start {
            item.registers[usize::from(register)] = bits;
        }
        item.next = self.entry;
    }

    /// Counts the start of a work item, so that there cannot be too many of them either.
    fn count_start(
        &self,
        shared: &mut LaunchMemory<'_, '_>,
        number: usize,
    ) -> Result<(), (usize, Why, [u32; 3])> {
        shared.steps -= START;
        match shared.steps < 0 {
            true => Err((self.entry, Why::Fault(Fault::Steps), self.position(number))),
            false => Ok(()),
        }
    }

    /// Without barriers one state serves all work items.
    fn items_in_turn(
        &self,
        program: &MachineProgram,
        shared: &mut LaunchMemory<'_, '_>,
        items: &mut [WorkItem],
        group: [u64; 3],
    ) -> Result<(), (usize, Why, [u32; 3])> {
        let Some(item) = items.first_mut() else { return Ok(()) };
        for number in 0..self.items() {
            self.begin(item, number, group);
            self.count_start(shared, number)?;
            let stopped = item.run(program, shared);
            stopped.map_err(|fault| (item.next, Why::Fault(fault), self.position(number)))?;
        }
        Ok(())
    }

    /// All work items run to the next barrier, until all have ended.
    fn phases(
        &self,
        program: &MachineProgram,
        shared: &mut LaunchMemory<'_, '_>,
        items: &mut [WorkItem],
        group: [u64; 3],
    ) -> Result<(), (usize, Why, [u32; 3])> {
        let items = items.get_mut(..self.items()).unwrap_or(&mut []);
        for (number, item) in items.iter_mut().enumerate() {
            self.begin(item, number, group);
            self.count_start(shared, number)?;
        }
        loop {
            let mut first = None;
            for (number, item) in items.iter_mut().enumerate() {
                let stopped = item.run(program, shared);
                let stop = stopped.map_err(|fault| (item.next, Why::Fault(fault), self.position(number)))?;
                // Where it waits: the barrier is the instruction before the next one.
                let waits = (stop == Stop::Barrier).then(|| item.next - 1);
                match *first.get_or_insert(waits) {
                    known if known == waits => {}
                    Some(at) => {
                        let why = Why::Barrier { other: self.position(number), waits };
                        return Err((at, why, self.position(0)));
                    }
                    None => {
                        let why = Why::Barrier { other: self.position(0), waits: None };
                        return Err((waits.unwrap_or(0), why, self.position(number)));
                    }
                }
            }
            if first.flatten().is_none() {
                return Ok(());
            }
        }
    }
}

impl LaunchWorkspace {
    /// Memory for any of the launches.
    ///
    /// # Errors
    /// The bytes that the system refused.
    pub(super) fn new(program: &MachineProgram, launches: &[BoundKernel]) -> Result<LaunchWorkspace, u64> {
        let count = launches.iter().map(BoundKernel::states).max().unwrap_or(0);
        let locals = launches.iter().map(|launch| launch.local).max().unwrap_or(0);
        let mut items = Vec::new();
        let refused = |bytes: usize| bytes as u64;
        items.try_reserve_exact(count).map_err(|_| refused(count * size_of::<WorkItem>()))?;
        for _ in 0..count {
            let mut registers = filled(program.registers.len(), 0u64).map_err(refused)?;
            registers.copy_from_slice(&program.registers);
            items.push(WorkItem { next: 0, registers, own: filled(program.own, 0u8).map_err(refused)? });
        }
        Ok(LaunchWorkspace { items, local: filled(locals, 0u8).map_err(refused)? })
    }

    /// Undoes what a launch that failed has left: functions that have not returned.
    pub(super) fn reset(&mut self, program: &MachineProgram) {
        self.items.iter_mut().for_each(|item| item.registers.copy_from_slice(&program.registers));
    }
}

/// Whether two dtypes are stored alike: bools are bytes.
fn same(a: DType, b: DType) -> bool {
    let stored = |dtype: DType| if dtype == DType::Bool { DType::U8 } else { dtype };
    stored(a) == stored(b)
}

fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>, usize> {
    let mut all = Vec::new();
    all.try_reserve_exact(count).map_err(|_| count.saturating_mul(size_of::<T>()))?;
    all.resize(count, value);
    Ok(all)
}

/// The memory of an object, before arguments are known.
fn segment(memory: ObjectLocation) -> LaunchObject {
    match memory {
        ObjectLocation::Null | ObjectLocation::Argument => LaunchObject::Null,
        ObjectLocation::Local { base, bytes } => LaunchObject::Local { base, bytes },
        ObjectLocation::Constant { base, bytes } => LaunchObject::Constant { base, bytes },
        ObjectLocation::Own { base, bytes, link } => LaunchObject::Own { base, bytes, link },
    }
}
