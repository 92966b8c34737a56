//! Members of a [`Cluster`] that follow each other, as one Nest.

use super::{Cluster, ClusterMember};
use crate::engine::fuse::join::add_name;
use crate::engine::fuse::limits::{FusionLimits, NestSize};
use crate::lower::dead_code::tidy;
use crate::lower::program::{BufferId, Role, Step};
use std::collections::HashMap;
use workalike_kernels::nest::{Block, BlockWriter, Inst, Nest, Operand, Phase, PhaseKind, Store, Value};

/// A Nest that grows member by member.
pub(super) struct ClusterNest<'c, 'p> {
    cluster: &'c Cluster<'p>,
    /// The first member.
    start: usize,
    operands: Vec<Operand>,
    buffers: Vec<BufferId>,
    /// The operands of each buffer.
    positions: HashMap<BufferId, Vec<usize>>,
    /// What was stored to each buffer.
    values: HashMap<BufferId, Value>,
    writer: BlockWriter,
    stores: Vec<Store>,
    ends: Vec<NestLengths>,
    /// Operands that are loaded; the status word counts too.
    loaded: usize,
    /// Values of the segment that later members or other steps need.
    needed: usize,
    /// Those that other steps need.
    given_out: usize,
    /// The most that are needed after any member.
    peak: usize,
    /// Bytes of scratch for the values that are needed.
    stored: u64,
}

/// What a segment has after a member.
struct NestLengths {
    insts: usize,
    stores: usize,
    operands: usize,
}

/// The first members of a segment.
#[derive(Clone, Copy)]
struct Prefix {
    length: usize,
    /// Bytes of the scratch that it stores.
    stored: u64,
}

impl Prefix {
    /// The prefix that stores the fewest bytes, of those at least half as long as the longest.
    fn better(best: Option<Prefix>, next: Prefix) -> Option<Prefix> {
        let keeps = |best: &Prefix| best.stored < next.stored && best.length >= next.length / 2;
        best.filter(keeps).or(Some(next))
    }
}

impl<'c, 'p> ClusterNest<'c, 'p> {
    /// The step of the members from `start` on that one Nest has room for, and their number.
    pub(super) fn longest(cluster: &'c Cluster<'p>, start: usize, limits: FusionLimits) -> (Step, usize) {
        let mut segment = ClusterNest {
            cluster,
            start,
            operands: vec![],
            buffers: vec![],
            positions: HashMap::new(),
            values: HashMap::new(),
            writer: BlockWriter::new(PhaseKind::Point),
            stores: vec![],
            ends: vec![],
            loaded: 0,
            needed: 0,
            given_out: 0,
            peak: 0,
            stored: 0,
        };
        let (mut best, mut small) = (None, None);
        for member in &cluster.members[start..] {
            segment.append(member);
            let size = segment.size();
            if limits.exclude(size) {
                break;
            }
            if !limits.admit(size) {
                continue;
            }
            let prefix = Prefix { length: segment.ends.len(), stored: segment.stored };
            best = Prefix::better(best, prefix);
            if size.is_small() {
                small = Prefix::better(small, prefix);
            }
        }
        // What the size tells of values that are alive at once is an estimate.
        let mut lengths = [best, small].into_iter().flatten().map(|prefix| prefix.length);
        let found = lengths.find_map(|length| Some((segment.first(length, limits)?, length)));
        found.unwrap_or_else(|| (cluster.members[start].step(), 1))
    }

    fn size(&self) -> NestSize {
        NestSize {
            operands: self.loaded + self.needed,
            fixed: self.loaded + self.given_out,
            insts: self.writer.insts().len(),
            alive: self.peak,
        }
    }

    fn append(&mut self, member: &ClusterMember) {
        let adopted = self.adopt(member);
        let phase = &member.nest.phases[0];
        let mut values: Vec<Value> = Vec::with_capacity(phase.block.insts.len());
        for inst in &phase.block.insts {
            let known = match inst {
                Inst::Load { operand, .. } => self.values.get(&member.buffers[*operand]).copied(),
                _ => None,
            };
            values.push(known.unwrap_or_else(|| self.writer.copy(inst, None, &adopted, &values)));
        }
        for store in &phase.stores {
            self.stores.push(self.writer.store(store, None, &adopted, &values));
            let buffer = member.buffers[store.operand];
            if self.cluster.last_readers.contains_key(&buffer) {
                self.values.insert(buffer, values[store.value as usize]);
            }
        }
        self.ends.push(NestLengths {
            insts: self.writer.insts().len(),
            stores: self.stores.len(),
            operands: self.operands.len(),
        });
        self.count(member);
    }

    /// The operands of a member that are not computed here.
    fn adopt(&mut self, member: &ClusterMember) -> Vec<usize> {
        let operands = member.nest.operands.iter().zip(member.buffers);
        let adopted = operands.map(|(operand, &buffer)| {
            if self.values.contains_key(&buffer) {
                // No instruction refers to it.
                return 0;
            }
            let there = self.positions.entry(buffer).or_default();
            let same = |at: &&usize| {
                let known = &self.operands[**at];
                (&known.shape, &known.strides) == (&operand.shape, &operand.strides)
            };
            if let Some(&at) = there.iter().find(same) {
                return at;
            }
            there.push(self.operands.len());
            self.operands.push(operand.clone());
            self.buffers.push(buffer);
            self.loaded += usize::from(!member.access.writes.contains(&buffer));
            self.operands.len() - 1
        });
        adopted.collect()
    }

    /// Counts what is needed after a member, the last one.
    fn count(&mut self, member: &ClusterMember) {
        let here = self.start + self.ends.len();
        let cluster = self.cluster;
        let bytes = |id: BufferId| {
            let buffer = &cluster.program.buffers[id];
            if buffer.role == Role::Temp { buffer.bytes() } else { 0 }
        };
        for &id in member.access.writes.iter().filter(|id| cluster.is_needed_after(**id, here)) {
            self.needed += 1;
            self.given_out += usize::from(cluster.is_needed_after(id, usize::MAX));
            self.stored += bytes(id);
        }
        let reads = &member.access.reads;
        for &id in reads.iter().filter(|id| self.values.contains_key(id)) {
            // It was needed by this member, and is needed by no later one.
            if cluster.is_needed_after(id, here - 1) && !cluster.is_needed_after(id, here) {
                self.needed -= 1;
                self.stored -= bytes(id);
            }
        }
        self.peak = self.peak.max(self.needed);
    }

    /// The first members as one step, if they fit.
    fn first(&self, length: usize, limits: FusionLimits) -> Option<Step> {
        let &NestLengths { insts, stores, operands } = &self.ends[length - 1];
        let block = Block { insts: self.writer.insts()[..insts].to_vec() };
        let is_kept = |store: &&Store| {
            let id = self.buffers[store.operand];
            let is_status = self.cluster.program.buffers[id].role == Role::Status;
            is_status || self.cluster.is_needed_after(id, self.start + length)
        };
        let stores = self.stores[..stores].iter().filter(is_kept).cloned().collect();
        let members = &self.cluster.members[self.start..self.start + length];
        let mut nest = Nest {
            operands: self.operands[..operands].to_vec(),
            phases: vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores }],
            name: members[0].nest.name.clone(),
            axes: members[0].nest.axes.clone(),
            grid: members[0].nest.grid,
        };
        members[1..].iter().for_each(|member| add_name(&mut nest, &member.nest.name));
        let mut buffers = self.buffers[..operands].to_vec();
        tidy(&mut nest, &mut buffers);
        limits.fits(&mut nest, insts).then_some(Step::Nest { nest, buffers })
    }
}
