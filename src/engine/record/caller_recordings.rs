//! Recordings of a Program over memory that the caller owns: device arrays are read in place, and in calls
//! whose results stay on the device these are written directly to it. No result is copied, and nothing is
//! allocated.
//!
//! A recording binds addresses, so other memory needs another recording. This is cheap because programs are
//! repetitive: memory returns to the pool and is lent again, and arrays are passed again. So a few variants
//! are kept for each Program. A variant can be replayed when the memory of its results is idle in the pool,
//! and its inputs are the call's. Otherwise a call goes through the arena, and copies.

use super::recorded::Recorded;
use super::regions::Elsewhere;
use crate::engine::compile::{Compiled, is_overwritable};
use crate::engine::dependences::Dependences;
use crate::engine::storage::{CallInput, DeviceArray, DevicePool, EngineContext, PooledMemory};
use crate::error::Result;
use crate::lower::program::BufferId;
use std::collections::VecDeque;
use std::sync::Arc;
use workalike_device::{Memory, Region};

/// Variants kept for a Program.
const KEPT: usize = 6;

/// The number of calls after which an unused variant may be replaced.
const STALE: u64 = 200;

/// The number of calls whose input addresses are remembered.
const REMEMBERED: usize = 8;

/// The variants of a Program.
#[derive(Debug, Default)]
pub(crate) struct CallerRecordings {
    pub(crate) list: Vec<CallerRecording>,
    /// Addresses of the device arrays of earlier calls. Inputs that repeat are worth a recording.
    seen: VecDeque<Vec<Address>>,
    calls: u64,
    made: VariantId,
}

/// The number of a variant, which no other variant of its Program ever has.
pub(crate) type VariantId = u64;

/// A device array as an input: position, address, offset, whether it may be overwritten.
type Address = (usize, usize, u64, bool);

#[derive(Debug)]
pub(crate) struct CallerRecording {
    id: VariantId,
    inputs: Vec<Address>,
    /// Empty if results are at their planned addresses.
    pub(crate) outputs: Vec<(BufferId, ResultTarget)>,
    pub(crate) recorded: Recorded,
    /// The call that used it last.
    used: u64,
}

/// A variant that a call can use, and the memory of its results, which is borrowed for the call.
pub(crate) struct RecordingChoice {
    pub(crate) variant: usize,
    pub(crate) leases: Vec<Arc<PooledMemory>>,
}

/// Where a result is written.
#[derive(Debug)]
pub(crate) enum ResultTarget {
    /// To memory of the pool.
    Pool(Arc<dyn Memory>),
    /// Over the input at this position.
    Input(usize),
}

impl CallerRecordings {
    pub(crate) fn clear(&mut self) {
        self.list.clear();
    }

    /// The recording of a variant, if it is one for the current addresses.
    pub(crate) fn current_mut(&mut self, id: VariantId, context: &EngineContext) -> Option<&mut Recorded> {
        let variant = self.list.iter_mut().find(|variant| variant.id == id)?;
        Some(&mut variant.recorded).filter(|recorded| recorded.is_current(context))
    }

    /// The recording of a variant.
    pub(crate) fn recorded(&self, id: VariantId) -> Option<&Recorded> {
        self.list.iter().find(|variant| variant.id == id).map(|variant| &variant.recorded)
    }

    /// The variant that reads the device arrays of a call in place and leaves its results at their planned
    /// addresses; `None` if there are none, or they are new.
    pub(crate) fn in_place(
        &mut self,
        compiled: &Compiled,
        context: &EngineContext,
        args: &[CallInput],
    ) -> Result<Option<VariantId>> {
        let inputs = addresses(args);
        if inputs.is_empty() {
            return Ok(None);
        }
        self.calls += 1;
        self.list.retain(|v| v.recorded.is_current(context));
        let found = self.list.iter_mut().find(|v| v.outputs.is_empty() && v.inputs == inputs);
        if let Some(found) = found {
            found.used = self.calls;
            return Ok(Some(found.id));
        }
        if !self.is_known(&inputs) || !self.has_room() {
            return Ok(None);
        }
        let elsewhere = Elsewhere { inputs: in_their_places(&inputs, args), outputs: vec![] };
        let recorded = Recorded::bind(compiled, context, &elsewhere)?;
        Ok(Some(self.push(inputs, vec![], recorded)))
    }

    fn push(
        &mut self,
        inputs: Vec<Address>,
        outputs: Vec<(BufferId, ResultTarget)>,
        recorded: Recorded,
    ) -> VariantId {
        self.made += 1;
        self.list.push(CallerRecording { id: self.made, inputs, outputs, recorded, used: self.calls });
        self.made
    }

    /// A variant for these inputs whose result memory is free, if there are results of the caller; borrows
    /// that memory.
    fn find(
        &mut self,
        pool: &Arc<DevicePool>,
        inputs: &[Address],
        args: &[CallInput],
        has_results: bool,
    ) -> Option<RecordingChoice> {
        let calls = self.calls;
        let chosen = self.list.iter().enumerate().find_map(|(variant, v)| {
            let fits = v.inputs == inputs && v.outputs.is_empty() != has_results;
            let leases = fits.then(|| v.borrow(pool, args)).flatten()?;
            Some(RecordingChoice { variant, leases })
        })?;
        self.list[chosen.variant].used = calls;
        Some(chosen)
    }

    /// Whether another variant may be recorded; evicts the oldest one if it is stale.
    fn has_room(&mut self) -> bool {
        if self.list.len() < KEPT {
            return true;
        }
        let oldest = self.list.iter().enumerate().min_by_key(|(_, v)| v.used).map(|(at, v)| (at, v.used));
        match oldest {
            Some((at, used)) if used + STALE < self.calls => {
                self.list.remove(at);
                true
            }
            _ => false,
        }
    }

    /// Whether an earlier call had its device arrays at these addresses.
    fn is_known(&mut self, inputs: &[Address]) -> bool {
        if inputs.is_empty() || self.seen.iter().any(|s| s == inputs) {
            return true;
        }
        if self.seen.len() == REMEMBERED {
            self.seen.pop_front();
        }
        self.seen.push_back(inputs.to_vec());
        false
    }
}

impl CallerRecording {
    /// The memory of the results, if all of it is free; otherwise borrowed memory is returned when it is
    /// dropped.
    fn borrow(&self, pool: &Arc<DevicePool>, args: &[CallInput]) -> Option<Vec<Arc<PooledMemory>>> {
        let lease = |(_, place): &(BufferId, ResultTarget)| match place {
            ResultTarget::Pool(memory) => pool.take_this(memory),
            ResultTarget::Input(input) => given(&args[*input]),
        };
        self.outputs.iter().map(lease).collect()
    }
}

/// The claim to a donated array's memory.
fn given(arg: &CallInput) -> Option<Arc<PooledMemory>> {
    match arg {
        CallInput::Device(array) if array.is_given() => array.lease.clone(),
        _ => None,
    }
}

/// The device arrays of a call.
fn addresses(args: &[CallInput]) -> Vec<Address> {
    let address = |(position, arg): (usize, &CallInput)| match arg {
        CallInput::Device(array) if array.region.bytes > 0 => Some(address(position, array)),
        _ => None,
    };
    args.iter().enumerate().filter_map(address).collect()
}

/// The regions of the device arrays at these addresses.
fn in_their_places(inputs: &[Address], args: &[CallInput]) -> Vec<(usize, Region)> {
    let region = |&(position, ..): &Address| match &args[position] {
        CallInput::Device(array) => Some((position, array.unclaimed())),
        _ => None,
    };
    inputs.iter().filter_map(region).collect()
}

fn address(position: usize, array: &DeviceArray) -> Address {
    let at = Arc::as_ptr(&array.unclaimed().memory).cast::<()>().addr();
    (position, at, array.region.offset, array.is_given())
}

impl CallerRecordings {
    /// A recorded variant for a call, and the memory of its results. `None`: the call goes through the arena.
    pub(crate) fn choose(
        &mut self,
        compiled: &Compiled,
        context: &EngineContext,
        args: &[CallInput],
    ) -> Result<Option<RecordingChoice>> {
        let pool = &context.pool;
        let inputs = addresses(args);
        let has_results = !compiled.owned.is_empty();
        if !has_results && inputs.is_empty() {
            return Ok(None);
        }
        self.calls += 1;
        self.list.retain(|v| v.recorded.is_current(context));
        if let Some(found) = self.find(pool, &inputs, args, has_results) {
            return Ok(Some(found));
        }
        if self.is_known(&inputs) && self.has_room() {
            return self.add(compiled, context, args, inputs).map(Some);
        }
        if inputs.is_empty() {
            return Ok(None);
        }
        // The arrays are copied to the inputs' planned regions, but the results need not be copied.
        if let Some(found) = self.find(pool, &[], args, has_results) {
            return Ok(Some(found));
        }
        if has_results && self.has_room() {
            return self.add(compiled, context, args, vec![]).map(Some);
        }
        Ok(None)
    }

    /// Records a variant that reads these inputs in place.
    fn add(
        &mut self,
        compiled: &Compiled,
        context: &EngineContext,
        args: &[CallInput],
        inputs: Vec<Address>,
    ) -> Result<RecordingChoice> {
        let mut elsewhere = Elsewhere { inputs: in_their_places(&inputs, args), outputs: vec![] };
        let (mut outputs, mut leases) = (Vec::new(), Vec::new());
        let donated = inputs.iter().filter(|address| address.3).map(|address| address.0);
        let mut free: Vec<usize> = donated.collect();
        let dependences = (!free.is_empty()).then(|| Dependences::of(&compiled.program));
        for &(buffer, bytes) in &compiled.owned {
            let over = free.iter().position(|&input| {
                let dependences = dependences.as_ref();
                dependences.is_some_and(|known| {
                    is_overwritable(&compiled.program, known, (args, input), (buffer, bytes))
                })
            });
            // In order: results that replace parameters usually have the order of the parameters.
            let over = over.map(|position| free.remove(position));
            let (place, lease) = match over.and_then(|input| given(&args[input]).map(|lease| (input, lease)))
            {
                Some((input, lease)) => (ResultTarget::Input(input), lease),
                None => {
                    let lease = context.pool.take(bytes)?;
                    (ResultTarget::Pool(lease.inner().clone()), lease)
                }
            };
            // The recording holds the memory, not the claim to it.
            elsewhere.outputs.push((buffer, Region { memory: lease.inner().clone(), offset: 0, bytes }));
            outputs.push((buffer, place));
            leases.push(lease);
        }
        let recorded = Recorded::bind(compiled, context, &elsewhere)?;
        self.push(inputs, outputs, recorded);
        Ok(RecordingChoice { variant: self.list.len() - 1, leases })
    }
}
