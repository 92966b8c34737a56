//! Recordings of a Program over memory that the caller owns: results are written where they stay, and device arrays are read
//! where they lie. No result is copied then, and nothing is allocated.
//!
//! A recording binds addresses, so another recording is needed for other memory. What makes that cheap is that programs repeat
//! themselves: memory comes back to the pool and is lent again, and arrays are passed again. So a few variants are kept for each
//! Program. One can be replayed when the memory of its results lies idle in the pool, and its inputs are the call's. Else
//! a call goes through the arena, and copies.

use super::super::device::{Memory, Region};
use super::super::inplace::is_legal;
use super::Engine;
use super::array::{DeviceArray, Fed};
use super::plan::Planned;
use super::pool::{Lent, Pool, is_same};
use super::record::{Elsewhere, Recorded};
use super::status::Outcome;
use crate::error::{DeviceError, Error, Result};
use crate::lower::program::{BufferId, Program, Role};
use std::collections::VecDeque;
use std::sync::Arc;

/// Variants kept for a Program.
const KEPT: usize = 6;

/// A variant that was not used for so many calls may be replaced.
const STALE: u64 = 200;

/// How many calls' input addresses are remembered.
const REMEMBERED: usize = 8;

/// The variants of a Program.
#[derive(Debug, Default)]
pub(super) struct Variants {
    list: Vec<Variant>,
    /// Addresses of the device arrays of earlier calls. What comes again is worth a recording.
    seen: VecDeque<Vec<Address>>,
    calls: u64,
}

/// A device array as an input: position, address, offset, whether it may be overwritten.
type Address = (usize, usize, u64, bool);

#[derive(Debug)]
struct Variant {
    inputs: Vec<Address>,
    outputs: Vec<(BufferId, Place)>,
    recorded: Recorded,
    /// The call that used it last.
    used: u64,
}

/// Where a result goes.
#[derive(Debug)]
enum Place {
    /// To memory of the pool.
    Pool(Arc<dyn Memory>),
    /// Over the input at this position.
    Input(usize),
}

impl Variants {
    pub(super) fn recorded(&self, variant: usize) -> Option<&Recorded> {
        self.list.get(variant).map(|v| &v.recorded)
    }

    pub(super) fn recorded_mut(&mut self, variant: usize) -> Option<&mut Recorded> {
        self.list.get_mut(variant).map(|v| &mut v.recorded)
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    /// A variant for these inputs whose results' memory is free; borrows that memory.
    fn find(&mut self, pool: &Arc<Pool>, inputs: &[Address], fed: &[Fed]) -> Option<(usize, Vec<Arc<Lent>>)> {
        let calls = self.calls;
        let (at, leases) = self.list.iter().enumerate().find_map(|(at, variant)| {
            (variant.inputs == inputs).then(|| variant.borrow(pool, fed)).flatten().map(|leases| (at, leases))
        })?;
        self.list[at].used = calls;
        Some((at, leases))
    }

    /// Whether one more may be recorded; makes room where that is worth it.
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

    /// Whether a call had its device arrays at these addresses before.
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

impl Variant {
    /// The memory of the results, if all of it is free. What was borrowed goes back by itself if not.
    fn borrow(&self, pool: &Arc<Pool>, fed: &[Fed]) -> Option<Vec<Arc<Lent>>> {
        let lease = |(_, place): &(BufferId, Place)| match place {
            Place::Pool(memory) => pool.take_this(memory),
            Place::Input(input) => given(&fed[*input]),
        };
        self.outputs.iter().map(lease).collect()
    }
}

/// The claim to a donated array's memory.
fn given(fed: &Fed) -> Option<Arc<Lent>> {
    match fed {
        Fed::Device(array) if array.is_given() => array.lease.clone(),
        _ => None,
    }
}

fn address(position: usize, array: &DeviceArray) -> Address {
    let at = Arc::as_ptr(&array.unclaimed().memory).cast::<()>().addr();
    (position, at, array.region.offset, array.is_given())
}

impl Engine {
    /// One call whose outputs the caller owns, on the device.
    pub(crate) fn run_owned(&mut self, method: usize, fed: &[Fed]) -> Result<Vec<DeviceArray>> {
        let at = self.planned(method, fed)?;
        self.make_room(method, at)?;
        let chosen = match self.variant(method, at, fed) {
            Err(Error::Device(DeviceError::OutOfMemory { .. })) if self.trim() > 0 => {
                // An arena that was larger than needed is gone.
                self.make_room(method, at)?;
                self.variant(method, at, fed)
            }
            outcome => outcome,
        };
        let Some((variant, leases)) = chosen? else { return self.run_and_copy(method, at, fed) };
        let planned = &self.methods[method].programs[at];
        if let Some(recorded) = planned.variants.recorded(variant) {
            self.feed_to(recorded, fed, None)?;
        }
        let outcome = self.replay_variant(method, at, variant)?;
        let outcomes = outcomes(outcome, fed);
        let planned = &self.methods[method].programs[at];
        let Some(chosen) = planned.variants.list.get(variant) else { return Ok(vec![]) };
        let outputs = self.results(method, at).map(|(buffer, dtype, shape)| {
            match chosen.outputs.iter().zip(&leases).find(|((output, _), _)| *output == buffer) {
                Some((_, lease)) => Ok(DeviceArray::lent(&self.device, lease.clone(), dtype, shape)),
                None => {
                    let region = self.output_region(method, at, Some(&chosen.recorded), buffer)?;
                    self.copy_of(region, dtype, shape)
                }
            }
        });
        Ok(watched(outputs.collect::<Result<_>>()?, outcomes.as_ref()))
    }

    /// One call through the arena, whose outputs are copied. Their memory is there before anything runs, so that no update is made
    /// by a call that fails for want of it.
    fn run_and_copy(&mut self, method: usize, at: usize, fed: &[Fed]) -> Result<Vec<DeviceArray>> {
        let arrays = self.results(method, at).map(|(buffer, dtype, shape)| {
            let bytes = shape.iter().product::<usize>() as u64 * dtype.size() as u64;
            Ok((buffer, DeviceArray::lent(&self.device, self.pool.take(bytes)?, dtype, shape)))
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let outcome = self.run_planned(method, at, fed)?;
        let outcomes = outcomes(outcome, fed);
        let recorded = self.methods[method].programs[at].recorded.as_ref();
        let copied = arrays.into_iter().map(|(buffer, array)| {
            let source = self.output_region(method, at, recorded, buffer)?;
            if array.region.bytes > 0 {
                self.device.copy(&Region { bytes: array.region.bytes, ..source.clone() }, &array.region)?;
            }
            Ok(array)
        });
        Ok(watched(copied.collect::<Result<_>>()?, outcomes.as_ref()))
    }

    /// A recorded variant for a call, and the memory of its results. `None`: the call goes through the arena.
    fn variant(&mut self, method: usize, at: usize, fed: &[Fed]) -> Result<Option<(usize, Vec<Arc<Lent>>)>> {
        let (pool, epoch) = (self.pool.clone(), self.epoch);
        let planned = &mut self.methods[method].programs[at];
        let inputs: Vec<Address> = fed
            .iter()
            .enumerate()
            .filter_map(|(position, fed)| match fed {
                Fed::Device(array) if array.region.bytes > 0 => Some(address(position, array)),
                _ => None,
            })
            .collect();
        if planned.owned.is_empty() && inputs.is_empty() {
            return Ok(None);
        }
        let variants = &mut planned.variants;
        variants.calls += 1;
        variants.list.retain(|v| v.recorded.epoch == epoch);
        if let Some(found) = variants.find(&pool, &inputs, fed) {
            return Ok(Some(found));
        }
        if variants.is_known(&inputs) && variants.has_room() {
            return self.new_variant(method, at, fed, inputs).map(Some);
        }
        if inputs.is_empty() {
            return Ok(None);
        }
        // The arrays are copied to the inputs' own places, but the results need not be.
        if let Some(found) = variants.find(&pool, &[], fed) {
            return Ok(Some(found));
        }
        if !planned.owned.is_empty() && variants.has_room() {
            return self.new_variant(method, at, fed, vec![]).map(Some);
        }
        Ok(None)
    }

    fn new_variant(
        &mut self,
        method: usize,
        at: usize,
        fed: &[Fed],
        inputs: Vec<Address>,
    ) -> Result<(usize, Vec<Arc<Lent>>)> {
        let Planned { program, owned, .. } = &self.methods[method].programs[at];
        let mut elsewhere = Elsewhere::default();
        for &(position, ..) in &inputs {
            if let Fed::Device(array) = &fed[position] {
                elsewhere.inputs.push((position, array.unclaimed()));
            }
        }
        let (mut outputs, mut leases, mut free) = (Vec::new(), Vec::new(), inputs.clone());
        for &(buffer, bytes) in owned {
            let over = free.iter().position(|&(input, .., donated)| {
                donated && is_overwritable(program, fed, input, buffer, bytes)
            });
            let over = over.map(|position| free.swap_remove(position).0);
            let (place, lease) = match over.and_then(|input| given(&fed[input]).map(|lease| (input, lease))) {
                Some((input, lease)) => (Place::Input(input), lease),
                None => {
                    let lease = self.pool.take(bytes)?;
                    (Place::Pool(lease.inner().clone()), lease)
                }
            };
            // The recording holds the memory, not the claim to it.
            elsewhere.outputs.push((buffer, Region { memory: lease.inner().clone(), offset: 0, bytes }));
            outputs.push((buffer, place));
            leases.push(lease);
        }
        let recorded = self.bind(method, at, &elsewhere)?;
        let variants = &mut self.methods[method].programs[at].variants;
        variants.list.push(Variant { inputs, outputs, recorded, used: variants.calls });
        Ok((variants.list.len() - 1, leases))
    }
}

/// Results, with what tells whether they are good.
fn watched(mut results: Vec<DeviceArray>, outcomes: Option<&Arc<Vec<Outcome>>>) -> Vec<DeviceArray> {
    if let Some(outcomes) = outcomes {
        results.iter_mut().for_each(|array| array.outcomes = Some(outcomes.clone()));
    }
    results
}

/// What tells whether results are good: the call's own outcome, and those of the arrays that it was given.
fn outcomes(own: Option<Outcome>, fed: &[Fed]) -> Option<Arc<Vec<Outcome>>> {
    if own.is_none() && fed.is_empty() {
        return None;
    }
    let given = fed.iter().flat_map(|fed| match fed {
        Fed::Device(array) => array.outcomes(),
        Fed::Host(_) | Fed::Slices(..) => &[],
    });
    let mut all: Vec<Outcome> = Vec::new();
    for outcome in own.into_iter().chain(given.filter(|outcome| !outcome.is_good()).cloned()) {
        // Of calls between the same two checks, the latest fails if any does.
        match all.iter_mut().find(|known| known.is_beside(&outcome)) {
            Some(known) => known.extend_to(&outcome),
            None => all.push(outcome),
        }
    }
    (!all.is_empty()).then(|| Arc::new(all))
}

/// The outputs that can be written where they stay, and their sizes: scratch of their own.
pub(super) fn owned_outputs(program: &Program) -> Vec<(BufferId, u64)> {
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
fn is_overwritable(program: &Program, fed: &[Fed], input: usize, output: BufferId, bytes: u64) -> bool {
    let Fed::Device(array) = &fed[input] else { return false };
    let whole = array.region.offset == 0 && array.region.memory.bytes() >= bytes;
    let mut others = fed.iter().enumerate().filter(|(position, _)| *position != input);
    let mut results = program.outputs.iter().chain(program.updates.iter().map(|u| &u.1));
    let alone = others.all(|(_, other)| match other {
        Fed::Device(other) => !is_same(&other.unclaimed().memory, &array.unclaimed().memory),
        Fed::Host(_) | Fed::Slices(..) => true,
    });
    let buffers = program.buffers.iter().enumerate();
    let mut places = buffers.filter(|(_, b)| b.role == Role::Input(input)).map(|(id, _)| id);
    let (place, more) = (places.next(), places.next());
    let mut kept = |place: BufferId| results.any(|&id| id == place);
    whole
        && alone
        && more.is_none()
        && place.is_some_and(|place| !kept(place))
        && is_legal(program, place, output)
}
