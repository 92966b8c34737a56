//! The dependencies between commands, from the memory that they access.
//!
//! In a graph with these edges, rather than a chain, independent kernels run concurrently.

/// A range of device addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressRange {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

impl AddressRange {
    /// Whether the ranges share a byte.
    pub(crate) fn overlaps(self, other: AddressRange) -> bool {
        let ends_after = |a: AddressRange, b: AddressRange| a.start.saturating_add(a.bytes) > b.start;
        self.bytes > 0 && other.bytes > 0 && ends_after(self, other) && ends_after(other, self)
    }
}

/// The memory that a command accesses.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryAccess {
    pub(crate) reads: Vec<AddressRange>,
    pub(crate) writes: Vec<AddressRange>,
}

impl MemoryAccess {
    /// Whether the two commands must run in order.
    fn conflicts(&self, other: &MemoryAccess) -> bool {
        let any = |a: &[AddressRange], b: &[AddressRange]| a.iter().any(|x| b.iter().any(|y| x.overlaps(*y)));
        any(&self.writes, &other.writes) || any(&self.writes, &other.reads) || any(&self.reads, &other.writes)
    }
}

/// For each command, the earlier commands it must wait for, without those implied by its other dependencies.
pub(crate) fn dependencies(commands: &[MemoryAccess]) -> Vec<Vec<usize>> {
    let words = commands.len().div_ceil(64);
    // A row of bits for each command: all its dependencies, direct and indirect.
    let mut before: Vec<Vec<u64>> = Vec::with_capacity(commands.len());
    let mut direct = Vec::with_capacity(commands.len());
    for (at, command) in commands.iter().enumerate() {
        let mut row = vec![0u64; words];
        let mut list = Vec::new();
        for earlier in (0..at).rev() {
            let known = row[earlier / 64] >> (earlier % 64) & 1 == 1;
            if known || !command.conflicts(&commands[earlier]) {
                continue;
            }
            list.push(earlier);
            row[earlier / 64] |= 1 << (earlier % 64);
            row.iter_mut().zip(&before[earlier]).for_each(|(mine, theirs)| *mine |= theirs);
        }
        before.push(row);
        direct.push(list);
    }
    direct
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(reads: &[u64], writes: &[u64]) -> MemoryAccess {
        let ranges =
            |list: &[u64]| list.iter().map(|&n| AddressRange { start: n * 100, bytes: 100 }).collect();
        MemoryAccess { reads: ranges(reads), writes: ranges(writes) }
    }

    #[test]
    fn a_command_waits_for_what_it_reads_and_for_readers_of_what_it_writes() {
        let commands = [
            access(&[0], &[1]),
            access(&[0], &[2]),    // beside the first
            access(&[1, 2], &[3]), // after both
            access(&[3], &[4]),    // after the third only: the others are implied
            access(&[], &[1]),     // may not overtake the third, which reads 1
            access(&[5], &[6]),
        ];
        let expected: [&[usize]; 6] = [&[], &[], &[1, 0], &[2], &[2], &[]];
        assert_eq!(dependencies(&commands), expected);
    }

    #[test]
    fn parts_that_touch_only_at_their_ends_do_not_overlap() {
        let a = AddressRange { start: 0, bytes: 256 };
        assert!(!a.overlaps(AddressRange { start: 256, bytes: 4 }));
        assert!(a.overlaps(AddressRange { start: 255, bytes: 4 }));
        assert!(!a.overlaps(AddressRange { start: 100, bytes: 0 }));
    }
}
