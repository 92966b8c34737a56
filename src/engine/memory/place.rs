//! Packing: items that are alive at the same time must not overlap, and the arena should be as small as
//! possible.
//!
//! An optimal packing is hard to find, so several heuristics are tried and the smallest packing is used: by
//! time with best fit, which suits chains; and by size, by lifetime and by area, each item at the lowest
//! offset that is free throughout its life. If none reaches the lower bound, the items at the top are moved
//! to the front of the order and all are packed again, a few times.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A number of bytes that is needed from one time to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiveInterval {
    /// Not 0.
    pub(super) bytes: u64,
    pub(super) first: usize,
    pub(super) last: usize,
}

impl LiveInterval {
    fn meets(&self, other: &LiveInterval) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Above this number of items only the packing by time is tried: the others compare items in pairs.
const FEW: usize = 2000;

/// Maximum number of comparisons of all repackings.
const EFFORT: usize = 4_000_000;

/// Maximum number of repackings.
const ROUNDS: usize = 200;

/// The key by which items are sorted before they are packed.
type Order<'a> = &'a dyn Fn(&LiveInterval) -> Reverse<(u64, u64)>;

/// An offset for each item, and the size of the arena.
pub(super) fn place(items: &[LiveInterval]) -> (Vec<u64>, u64) {
    let mut best = by_time(items);
    let bound = lower_bound(items);
    if items.len() > FEW || best.1 == bound {
        return best;
    }
    let life = |i: &LiveInterval| (i.last - i.first) as u64 + 1;
    let area = |i: &LiveInterval| i.bytes.saturating_mul(life(i));
    let orders: [Order; 3] = [&|i| Reverse((i.bytes, life(i))), &|i| Reverse((life(i), i.bytes)), &|i| {
        Reverse((area(i), i.bytes))
    }];
    let mut order: Vec<usize> = Vec::new();
    for key in orders {
        let mut sorted: Vec<usize> = (0..items.len()).collect();
        sorted.sort_by_key(|&at| key(&items[at]));
        let packed = in_order(items, &sorted);
        if packed.1 < best.1 || order.is_empty() {
            order = sorted;
        }
        if packed.1 < best.1 {
            best = packed;
        }
    }
    let rounds = ROUNDS.min(EFFORT / (items.len() * items.len()).max(1));
    let mut packed = in_order(items, &order);
    for _ in 0..rounds {
        if best.1 == bound {
            break;
        }
        // Items at the top go first; the others keep their order.
        let reach = packed.1;
        let top = |&at: &usize| packed.0[at] + items[at].bytes < reach;
        if order.first().is_some_and(|at| !top(at)) {
            // They are first already. Another order is tried instead of the same one again.
            order.rotate_left(1);
        }
        order.sort_by_key(top);
        packed = in_order(items, &order);
        if packed.1 < best.1 {
            best = packed.clone();
        }
    }
    best
}

/// Maximum number of bytes alive at the same time.
pub(super) fn lower_bound(items: &[LiveInterval]) -> u64 {
    let mut changes: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for item in items {
        changes.entry(item.first).or_default().0 += item.bytes;
        changes.entry(item.last + 1).or_default().1 += item.bytes;
    }
    let (mut now, mut most) = (0u64, 0u64);
    for (starting, ending) in changes.values() {
        now = now - ending + starting;
        most = most.max(now);
    }
    most
}

/// Places each item at the lowest offset that is free throughout its life, in this order.
fn in_order(items: &[LiveInterval], order: &[usize]) -> (Vec<u64>, u64) {
    let mut offsets = vec![0; items.len()];
    // The items placed so far, by offset.
    let mut placed: Vec<usize> = Vec::with_capacity(items.len());
    let mut reach = 0;
    for &at in order {
        let item = &items[at];
        let mut free = 0;
        for &other in placed.iter().filter(|&&o| items[o].meets(item)) {
            if offsets[other] >= free + item.bytes {
                break;
            }
            free = free.max(offsets[other] + items[other].bytes);
        }
        offsets[at] = free;
        reach = reach.max(free + item.bytes);
        let position = placed.partition_point(|&o| offsets[o] <= free);
        placed.insert(position, at);
    }
    (offsets, reach)
}

/// Places items as their lives begin, each in the smallest hole that fits.
fn by_time(items: &[LiveInterval]) -> (Vec<u64>, u64) {
    let mut starts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut stops: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        starts.entry(item.first).or_default().push(at);
        stops.entry(item.last).or_default().push(at);
    }
    let mut free = Free::default();
    let mut offsets = vec![0; items.len()];
    let mut stops = stops.into_iter().peekable();
    for (time, mut begin) in starts {
        while let Some((_, ended)) = stops.next_if(|(stop, _)| *stop < time) {
            ended.into_iter().for_each(|at| free.give(offsets[at], items[at].bytes));
        }
        // Large items first: they leave fewer holes.
        begin.sort_by_key(|&at| Reverse(items[at].bytes));
        begin.into_iter().for_each(|at| offsets[at] = free.take(items[at].bytes));
    }
    (offsets, free.end)
}

/// Free ranges of the arena: their lengths by offset, and their offsets by length.
#[derive(Default)]
struct Free {
    ranges: BTreeMap<u64, u64>,
    lengths: std::collections::BTreeSet<(u64, u64)>,
    end: u64,
}

impl Free {
    /// The smallest free range that fits, else new space at the end.
    fn take(&mut self, bytes: u64) -> u64 {
        if let Some(&(len, offset)) = self.lengths.range((bytes, 0)..).next() {
            self.remove(offset, len);
            if len > bytes {
                self.insert(offset + bytes, len - bytes);
            }
            return offset;
        }
        // A free range at the end of the arena is extended rather than left free.
        if let Some((&offset, &len)) = self.ranges.last_key_value()
            && offset + len == self.end
        {
            self.remove(offset, len);
            self.end = offset + bytes;
            return offset;
        }
        self.end += bytes;
        self.end - bytes
    }

    fn give(&mut self, offset: u64, bytes: u64) {
        let (mut offset, mut bytes) = (offset, bytes);
        if let Some((&before, &len)) = self.ranges.range(..offset).next_back()
            && before + len == offset
        {
            self.remove(before, len);
            offset = before;
            bytes += len;
        }
        if let Some(&len) = self.ranges.get(&(offset + bytes)) {
            self.remove(offset + bytes, len);
            bytes += len;
        }
        self.insert(offset, bytes);
    }

    fn insert(&mut self, offset: u64, len: u64) {
        self.ranges.insert(offset, len);
        self.lengths.insert((len, offset));
    }

    fn remove(&mut self, offset: u64, len: u64) {
        self.ranges.remove(&offset);
        self.lengths.remove(&(len, offset));
    }
}

#[cfg(test)]
mod tests;
