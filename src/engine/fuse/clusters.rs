//! Joins clusters of maps over the same points, such as an unrolled recurrence and its gradient, in one go.
//!
//! Large ones are joined before any other pass looks at pairs of Nests. A pass over pairs copies a Nest each
//! time something joins it, so with Nests of thousands of instructions it would copy each instruction
//! thousands of times. Small ones are joined once producers are inlined:
//! [`merge`](crate::engine::fuse::merge) would need few operands in every intermediate pair, and a value that
//! a later map needs is one of them until that map has joined.
//!
//! The maps of a cluster are put in an [order](crate::engine::fuse::schedule) in which few values are needed
//! later, and cut into Nests that are within the [`limits`]: each is appended once.

mod segment;
#[cfg(test)]
mod tests;

use super::limits::FusionLimits;
use super::schedule::ScheduleGraph;
use super::{is_private, order_matters, touches_mutable};
use crate::engine::dependences::Dependences;
use crate::lower::program::{BufferId, Program, Role, Step};
use segment::ClusterNest;
use std::collections::{HashMap, HashSet};
use workalike_kernels::nest::{Index, Inst, Nest, Operand};

/// Maps of a cluster that is joined before pairs are. Smaller ones are left to the passes over pairs, whose
/// results are better: they may compute a value twice rather than store it. They copy each instruction about
/// as often as this.
pub(super) const LARGE: usize = 64;
/// Maps of a cluster that is joined once producers are inlined; smaller ones are pairs.
pub(super) const SMALL: usize = 3;
/// Steps without a map of the cluster after which it ends.
const GAP: usize = 64;

/// Joins the cluster that starts at each step, if it has at least so many maps.
pub(super) fn run(program: &mut Program, limits: FusionLimits, smallest: usize) {
    if program.steps.len() < smallest {
        return;
    }
    let uses = Dependences::of(program);
    // Before assembled arrays are read by parts, their readers are left to the passes that do that.
    let waits = |at: usize| match smallest {
        LARGE => touches_mutable(program, &program.steps[at]),
        _ => order_matters(program, &uses, at),
    };
    let access = |at: usize| StepAccesses::of(program, at, waits(at));
    let accesses: Vec<StepAccesses> = (0..program.steps.len()).map(access).collect();
    let mut visited = vec![false; program.steps.len()];
    let mut is_member = vec![false; program.steps.len()];
    // The joined steps, by the position of the last step of their cluster.
    let mut joined: HashMap<usize, Vec<Step>> = HashMap::new();
    for start in 0..program.steps.len() {
        if visited[start] {
            continue;
        }
        let members = members_from(program, &accesses, &is_member, start);
        // A cluster without its first maps would hardly be larger.
        members.iter().for_each(|&at| visited[at] = true);
        if let (true, Some(&last)) = (members.len() >= smallest, members.last()) {
            members.iter().for_each(|&at| is_member[at] = true);
            joined.insert(last, Cluster::of(program, &uses, &accesses, &members).joined(limits));
        }
    }
    if joined.is_empty() {
        return;
    }
    let steps = std::mem::take(&mut program.steps);
    for (at, step) in steps.into_iter().enumerate() {
        if !is_member[at] {
            program.steps.push(step);
        }
        program.steps.extend(joined.remove(&at).into_iter().flatten());
    }
}

/// What a step accesses, without the status word.
struct StepAccesses {
    reads: Vec<BufferId>,
    writes: Vec<BufferId>,
    /// Whether the step may be part of a cluster.
    is_map: bool,
}

impl StepAccesses {
    fn of(program: &Program, at: usize, waits: bool) -> StepAccesses {
        let step = &program.steps[at];
        let (mut reads, mut writes) = (step.reads(), step.writes());
        let is_map = step.nest().is_some_and(|nest| {
            let stores = &nest.phases.first().map_or(&[][..], |phase| &phase.stores);
            nest.is_map() && !stores.iter().any(|store| store.add)
        });
        let is_map = is_map && !waits;
        let counts = |id: &BufferId| program.buffers[*id].role != Role::Status;
        let mut seen = HashSet::new();
        reads.retain(|id| counts(id) && seen.insert(*id));
        writes.retain(counts);
        StepAccesses { reads, writes, is_map }
    }
}

/// How a map stores to a buffer.
#[derive(Clone, Copy, PartialEq)]
struct StorePattern<'p> {
    shape: &'p [u64],
    strides: &'p [i64],
    index: &'p [Index],
}

impl<'p> StorePattern<'p> {
    fn of(operand: &'p Operand, index: &'p [Index]) -> StorePattern<'p> {
        StorePattern { shape: &operand.shape, strides: &operand.strides, index }
    }
}

/// Where a map stores to a buffer, if a map that loads from the same place can use the stored value instead:
/// one unconditional store, at an index that is not computed.
fn stored_at(step: &Step, buffer: BufferId) -> Option<StorePattern<'_>> {
    let Step::Nest { nest, buffers } = step else { return None };
    let mut stores = nest.phases.iter().flat_map(|p| &p.stores).filter(|s| buffers[s.operand] == buffer);
    let (store, None) = (stores.next()?, stores.next()) else { return None };
    let known = store.when.is_none() && store.index.iter().all(|i| i.dynamic.is_none());
    known.then(|| StorePattern::of(&nest.operands[store.operand], &store.index))
}

/// The maps that can run together from `start` on: each accesses what one before it accesses, at the same
/// points, and no other step between them depends on them.
fn members_from(program: &Program, accesses: &[StepAccesses], taken: &[bool], start: usize) -> Vec<usize> {
    let first = &program.steps[start];
    let (Some(nest), true) = (first.nest(), accesses[start].is_map && !taken[start]) else { return vec![] };
    let mut members = Vec::new();
    let mut read: HashSet<BufferId> = HashSet::new();
    let mut written: HashMap<BufferId, Option<StorePattern>> = HashMap::new();
    for (at, step) in program.steps.iter().enumerate().skip(start) {
        if at - members.last().copied().unwrap_or(start) > GAP {
            break;
        }
        let StepAccesses { reads, writes, is_map } = &accesses[at];
        let follows = reads.iter().any(|id| written.contains_key(id));
        let overwrites = writes.iter().any(|id| read.contains(id) || written.contains_key(id));
        let is_near = follows || at == start || reads.iter().any(|id| read.contains(id));
        let same_points = step.nest().is_some_and(|other| other.axes == nest.axes && other.grid == nest.grid);
        let suits = *is_map && !taken[at] && !overwrites && same_points;
        if is_near && suits && loads_match(step, &written) {
            members.push(at);
            read.extend(reads);
            written.extend(writes.iter().map(|&id| (id, stored_at(step, id))));
        } else if follows || overwrites {
            break;
        }
    }
    members
}

/// Whether every load from a buffer of the cluster can use the stored value.
fn loads_match(step: &Step, written: &HashMap<BufferId, Option<StorePattern>>) -> bool {
    let Step::Nest { nest, buffers } = step else { return false };
    nest.phases.iter().flat_map(|phase| &phase.block.insts).all(|inst| match inst {
        Inst::Load { operand, index } => {
            let place = Some(StorePattern::of(&nest.operands[*operand], index));
            written.get(&buffers[*operand]).is_none_or(|stored| *stored == place)
        }
        _ => true,
    })
}

/// A map of a cluster.
struct ClusterMember<'p> {
    nest: &'p Nest,
    buffers: &'p [BufferId],
    access: &'p StepAccesses,
}

impl ClusterMember<'_> {
    fn step(&self) -> Step {
        Step::Nest { nest: self.nest.clone(), buffers: self.buffers.to_vec() }
    }
}

/// Maps in the order in which they are joined.
struct Cluster<'p> {
    program: &'p Program,
    members: Vec<ClusterMember<'p>>,
    /// The last member that reads each buffer; none, if other steps read it too.
    last_readers: HashMap<BufferId, Option<usize>>,
}

impl<'p> Cluster<'p> {
    fn of(
        program: &'p Program,
        uses: &Dependences,
        accesses: &'p [StepAccesses],
        positions: &[usize],
    ) -> Cluster<'p> {
        let member = |&at: &usize| match &program.steps[at] {
            Step::Nest { nest, buffers } => Some(ClusterMember { nest, buffers, access: &accesses[at] }),
            _ => None,
        };
        let found: Vec<ClusterMember> = positions.iter().filter_map(member).collect();
        let inside = |step: &usize| positions.binary_search(step).is_ok();
        let is_private = |id: BufferId| is_private(program, uses, id, inside);
        let mut members: Vec<Option<ClusterMember>> = Vec::with_capacity(found.len());
        let order = order_of(&found, &is_private);
        members.extend(found.into_iter().map(Some));
        let members: Vec<ClusterMember> = order.into_iter().filter_map(|at| members[at].take()).collect();
        let mut last_readers = HashMap::new();
        for (at, member) in members.iter().enumerate() {
            for &id in &member.access.writes {
                last_readers.insert(id, is_private(id).then_some(at));
            }
            for id in &member.access.reads {
                if let Some(Some(last)) = last_readers.get_mut(id) {
                    *last = at;
                }
            }
        }
        Cluster { program, members, last_readers }
    }

    /// Whether a buffer that a member writes is still needed when the first members have run.
    fn is_needed_after(&self, buffer: BufferId, members: usize) -> bool {
        self.last_readers.get(&buffer).is_some_and(|last| last.is_none_or(|last| last >= members))
    }

    /// The members, joined to as few Nests as possible.
    fn joined(&self, limits: FusionLimits) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut start = 0;
        while start < self.members.len() {
            let (step, length) = ClusterNest::longest(self, start, limits);
            steps.push(step);
            start += length;
        }
        steps
    }
}

/// The order in which few results of members are needed later.
fn order_of(members: &[ClusterMember], is_private: &dyn Fn(BufferId) -> bool) -> Vec<usize> {
    let mut writers: HashMap<BufferId, usize> = HashMap::new();
    for (at, member) in members.iter().enumerate() {
        member.access.writes.iter().for_each(|&id| _ = writers.insert(id, at));
    }
    let mut is_read = vec![false; members.len()];
    for member in members {
        member.access.reads.iter().filter_map(|id| writers.get(id)).for_each(|&at| is_read[at] = true);
    }
    let is_result = |at: &usize| {
        let writes = &members[*at].access.writes;
        !is_read[*at] || writes.iter().any(|&id| !is_private(id))
    };
    ScheduleGraph {
        count: members.len(),
        results: (0..members.len()).filter(is_result).collect(),
        arguments: &|at, visit| {
            members[at]
                .access
                .reads
                .iter()
                .filter_map(|id| writers.get(id))
                .for_each(|&before| visit(before));
        },
        is_free: &|_| false,
    }
    .order()
}
