//! Recordings of a Program over memory that the caller owns: device arrays are read in place, and in calls
//! whose results stay on the device these are written directly to it. No result is copied, and nothing is
//! allocated.
//!
//! A recording binds addresses, so other memory needs another recording. This is cheap because programs are
//! repetitive: memory returns to the pool and is lent again, and arrays are passed again. So a few variants
//! are kept for each Program. A variant can be replayed when the memory of its results is idle in the pool,
//! and its inputs are the call's. Otherwise a call goes through the arena, and copies.

use super::super::dependences::Dependences;
use super::super::device::{Memory, Region};
use super::Engine;
use super::array::{CallInput, DeviceArray};
use super::context::EngineContext;
use super::owned::is_overwritable;
use super::planned::{Compiled, Planned};
use super::pool::{DevicePool, PooledMemory};
use super::recorded::{BoundProgram, Recorded};
use super::regions::Elsewhere;
use super::status::CallOutcome;
use crate::error::{DeviceError, Error, Result};
use crate::lower::program::BufferId;
use std::collections::VecDeque;
use std::sync::Arc;

/// Variants kept for a Program.
const KEPT: usize = 6;

/// The number of calls after which an unused variant may be replaced.
const STALE: u64 = 200;

/// The number of calls whose input addresses are remembered.
const REMEMBERED: usize = 8;

/// The variants of a Program.
#[derive(Debug, Default)]
pub(super) struct CallerRecordings {
    list: Vec<CallerRecording>,
    /// Addresses of the device arrays of earlier calls. Inputs that repeat are worth a recording.
    seen: VecDeque<Vec<Address>>,
    calls: u64,
    made: VariantId,
}

/// The number of a variant, which no other variant of its Program ever has.
pub(super) type VariantId = u64;

/// A device array as an input: position, address, offset, whether it may be overwritten.
type Address = (usize, usize, u64, bool);

#[derive(Debug)]
struct CallerRecording {
    id: VariantId,
    inputs: Vec<Address>,
    /// Empty if results are at their planned addresses.
    outputs: Vec<(BufferId, ResultTarget)>,
    recorded: Recorded,
    /// The call that used it last.
    used: u64,
}

/// A variant that a call can use, and the memory of its results, which is borrowed for the call.
pub(super) struct RecordingChoice {
    variant: usize,
    leases: Vec<Arc<PooledMemory>>,
}

/// Where a result is written.
#[derive(Debug)]
enum ResultTarget {
    /// To memory of the pool.
    Pool(Arc<dyn Memory>),
    /// Over the input at this position.
    Input(usize),
}

impl CallerRecordings {
    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    /// The recording of a variant, if it is one for the current addresses.
    pub(super) fn current_mut(&mut self, id: VariantId, context: &EngineContext) -> Option<&mut Recorded> {
        let variant = self.list.iter_mut().find(|variant| variant.id == id)?;
        Some(&mut variant.recorded).filter(|recorded| recorded.is_current(context))
    }

    /// The recording of a variant.
    pub(super) fn recorded(&self, id: VariantId) -> Option<&Recorded> {
        self.list.iter().find(|variant| variant.id == id).map(|variant| &variant.recorded)
    }

    /// The variant that reads the device arrays of a call in place and leaves its results at their planned
    /// addresses; `None` if there are none, or they are new.
    pub(super) fn in_place(
        &mut self,
        compiled: &Compiled,
        context: &EngineContext,
        fed: &[CallInput],
    ) -> Result<Option<VariantId>> {
        let inputs = addresses(fed);
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
        let elsewhere = Elsewhere { inputs: in_their_places(&inputs, fed), outputs: vec![] };
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
        fed: &[CallInput],
        has_results: bool,
    ) -> Option<RecordingChoice> {
        let calls = self.calls;
        let chosen = self.list.iter().enumerate().find_map(|(variant, v)| {
            let fits = v.inputs == inputs && v.outputs.is_empty() != has_results;
            let leases = fits.then(|| v.borrow(pool, fed)).flatten()?;
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
    fn borrow(&self, pool: &Arc<DevicePool>, fed: &[CallInput]) -> Option<Vec<Arc<PooledMemory>>> {
        let lease = |(_, place): &(BufferId, ResultTarget)| match place {
            ResultTarget::Pool(memory) => pool.take_this(memory),
            ResultTarget::Input(input) => given(&fed[*input]),
        };
        self.outputs.iter().map(lease).collect()
    }
}

/// The claim to a donated array's memory.
fn given(fed: &CallInput) -> Option<Arc<PooledMemory>> {
    match fed {
        CallInput::Device(array) if array.is_given() => array.lease.clone(),
        _ => None,
    }
}

/// The device arrays of a call.
fn addresses(fed: &[CallInput]) -> Vec<Address> {
    let address = |(position, fed): (usize, &CallInput)| match fed {
        CallInput::Device(array) if array.region.bytes > 0 => Some(address(position, array)),
        _ => None,
    };
    fed.iter().enumerate().filter_map(address).collect()
}

/// The regions of the device arrays at these addresses.
fn in_their_places(inputs: &[Address], fed: &[CallInput]) -> Vec<(usize, Region)> {
    let region = |&(position, ..): &Address| match &fed[position] {
        CallInput::Device(array) => Some((position, array.unclaimed())),
        _ => None,
    };
    inputs.iter().filter_map(region).collect()
}

fn address(position: usize, array: &DeviceArray) -> Address {
    let at = Arc::as_ptr(&array.unclaimed().memory).cast::<()>().addr();
    (position, at, array.region.offset, array.is_given())
}

impl Engine {
    /// One call whose outputs stay on the device and belong to the caller.
    pub(crate) fn run_owned(&mut self, method: usize, fed: &[CallInput]) -> Result<Vec<DeviceArray>> {
        let (planned, context) = self.ready(method, fed)?;
        let chosen = match planned.choose(context, fed) {
            Err(Error::Device(DeviceError::OutOfMemory { .. })) if self.trim() > 0 => {
                // The arena was dropped if it was larger than needed.
                self.make_room(method)?;
                let (planned, context) = self.current(method)?;
                planned.choose(context, fed)
            }
            outcome => outcome,
        };
        let chosen = chosen?;
        let (planned, context) = self.current(method)?;
        match chosen {
            Some(chosen) => planned.run_chosen(context, fed, chosen),
            None => planned.run_and_copy(context, fed),
        }
    }
}

impl Planned {
    /// One call that writes its results directly to memory of the caller.
    fn run_chosen(
        &mut self,
        context: &mut EngineContext,
        fed: &[CallInput],
        chosen: RecordingChoice,
    ) -> Result<Vec<DeviceArray>> {
        let Planned { compiled, variants, .. } = self;
        let Some(variant) = variants.list.get_mut(chosen.variant) else {
            return self.run_and_copy(context, fed);
        };
        let mut bound = BoundProgram { compiled, recorded: &mut variant.recorded };
        bound.feed(context, fed, None)?;
        let outcomes = outcomes(bound.replay(context)?, fed);
        let ran = bound.ran(context);
        let outputs = ran.compiled.results().map(|(buffer, dtype, shape)| {
            match variant.outputs.iter().zip(&chosen.leases).find(|((output, _), _)| *output == buffer) {
                Some((_, lease)) => Ok(DeviceArray::lent(&ran.context.device, lease.clone(), dtype, shape)),
                None => ran.context.copy_of(ran.region(buffer)?, dtype, shape),
            }
        });
        Ok(watched(outputs.collect::<Result<_>>()?, outcomes.as_ref()))
    }

    /// One call through the arena, whose outputs are copied. Their memory is allocated before anything runs,
    /// so that a call that fails for lack of memory makes no update.
    fn run_and_copy(&mut self, context: &mut EngineContext, fed: &[CallInput]) -> Result<Vec<DeviceArray>> {
        let arrays = self.compiled.results().map(|(buffer, dtype, shape)| {
            let bytes = super::tap::size(dtype, shape);
            Ok((buffer, DeviceArray::lent(&context.device, context.pool.take(bytes)?, dtype, shape)))
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let mut bound = self.record(context)?;
        bound.feed(context, fed, None)?;
        let outcomes = outcomes(bound.replay(context)?, fed);
        let ran = bound.ran(context);
        let copied = arrays.into_iter().map(|(buffer, array)| {
            let source = ran.region(buffer)?;
            if array.region.bytes > 0 {
                let source = Region { bytes: array.region.bytes, ..source.clone() };
                ran.context.device.copy(&source, &array.region)?;
            }
            Ok(array)
        });
        Ok(watched(copied.collect::<Result<_>>()?, outcomes.as_ref()))
    }

    /// A recorded variant for a call, and the memory of its results. `None`: the call goes through the arena.
    fn choose(&mut self, context: &EngineContext, fed: &[CallInput]) -> Result<Option<RecordingChoice>> {
        let pool = &context.pool;
        let inputs = addresses(fed);
        let Planned { compiled, variants, .. } = self;
        let has_results = !compiled.owned.is_empty();
        if !has_results && inputs.is_empty() {
            return Ok(None);
        }
        variants.calls += 1;
        variants.list.retain(|v| v.recorded.is_current(context));
        if let Some(found) = variants.find(pool, &inputs, fed, has_results) {
            return Ok(Some(found));
        }
        if variants.is_known(&inputs) && variants.has_room() {
            return variants.add(compiled, context, fed, inputs).map(Some);
        }
        if inputs.is_empty() {
            return Ok(None);
        }
        // The arrays are copied to the inputs' planned regions, but the results need not be copied.
        if let Some(found) = variants.find(pool, &[], fed, has_results) {
            return Ok(Some(found));
        }
        if has_results && variants.has_room() {
            return variants.add(compiled, context, fed, vec![]).map(Some);
        }
        Ok(None)
    }
}

impl CallerRecordings {
    /// Records a variant that reads these inputs in place.
    fn add(
        &mut self,
        compiled: &Compiled,
        context: &EngineContext,
        fed: &[CallInput],
        inputs: Vec<Address>,
    ) -> Result<RecordingChoice> {
        let mut elsewhere = Elsewhere { inputs: in_their_places(&inputs, fed), outputs: vec![] };
        let (mut outputs, mut leases) = (Vec::new(), Vec::new());
        let donated = inputs.iter().filter(|address| address.3).map(|address| address.0);
        let mut free: Vec<usize> = donated.collect();
        let dependences = (!free.is_empty()).then(|| Dependences::of(&compiled.program));
        for &(buffer, bytes) in &compiled.owned {
            let over = free.iter().position(|&input| {
                let dependences = dependences.as_ref();
                dependences.is_some_and(|known| {
                    is_overwritable(&compiled.program, known, (fed, input), (buffer, bytes))
                })
            });
            // In order: results that replace parameters usually have the order of the parameters.
            let over = over.map(|position| free.remove(position));
            let (place, lease) = match over.and_then(|input| given(&fed[input]).map(|lease| (input, lease))) {
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

/// Results with the outcomes of the calls that they depend on.
fn watched(mut results: Vec<DeviceArray>, outcomes: Option<&Arc<Vec<CallOutcome>>>) -> Vec<DeviceArray> {
    if let Some(outcomes) = outcomes {
        results.iter_mut().for_each(|array| array.outcomes = Some(outcomes.clone()));
    }
    results
}

/// The outcomes that results depend on: the call's own, and those of its array arguments.
fn outcomes(own: Option<CallOutcome>, fed: &[CallInput]) -> Option<Arc<Vec<CallOutcome>>> {
    if own.is_none() && fed.is_empty() {
        return None;
    }
    let given = fed.iter().flat_map(|fed| match fed {
        CallInput::Device(array) => array.outcomes(),
        CallInput::Host(_) | CallInput::Slices(..) => &[],
    });
    let mut all: Vec<CallOutcome> = Vec::new();
    for outcome in own.into_iter().chain(given.filter(|outcome| !outcome.is_good()).cloned()) {
        // Of calls between the same two checks, the latest fails if any does.
        match all.iter_mut().find(|known| known.is_beside(&outcome)) {
            Some(known) => known.extend_to(&outcome),
            None => all.push(outcome),
        }
    }
    (!all.is_empty()).then(|| Arc::new(all))
}
