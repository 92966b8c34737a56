//! A few elements of the sorted row, without sorting it: short rows are partitioned about them. Of a long row a sample says between which
//! two elements the wanted one must lie; one sweep, which threads share, counts what is below and keeps what is between.

use super::super::pool::Pool;
use super::Sharing;
use super::keys::{Key, Sortable, ToKeys, by_dtype, element_of, key_of};
use workalike_kernels::level::{Loop, run as at_best_level};
use workalike_kernels::library::Sorting;
use workalike_kernels::nonzero::packed;

/// Places beyond which a row is sorted.
const FEW: usize = 8;
/// Elements from which rows are swept.
const LONG: usize = 1 << 13;
/// Elements of a block of a long row.
const BLOCK: usize = 1 << 14;
/// Elements from which threads share the work.
const SHARED: usize = 1 << 14;
/// Keys that are looked at together: as many as a word has bits.
const TOGETHER: usize = 64;

/// A selection with memory bound.
pub(super) struct Selector {
    each: unsafe fn(&Selector, &Pool) -> bool,
    what: Sorting,
    ranks: Vec<usize>,
    source: *const u8,
    values: *mut u8,
    scratch: *mut u8,
    threads: usize,
    sharing: Sharing,
}

// SAFETY: as for the call that it is part of.
unsafe impl Sync for Selector {}

/// Whether so few places are asked for that this is less to do than to sort.
pub(super) fn pays(s: &Sorting) -> bool {
    let few = |only: &Vec<u64>| only.len() <= FEW && only.len() as u64 * 4 <= s.shape[1];
    s.values && !s.indices && s.kept == s.shape[1] && s.shape[2] == 1 && s.only.as_ref().is_some_and(few)
}

/// What a sweep found in a block.
#[derive(Clone, Copy, Default)]
struct Tally {
    /// Keys below the lower bound, up to it, below the upper bound, and up to that.
    counts: [u64; 4],
    /// The least and the greatest key.
    ends: [u64; 2],
}

/// Bytes for one row: its keys, and a tally for each block.
fn row_bytes(s: &Sorting) -> u64 {
    let tallies = s.shape[1].div_ceil(BLOCK as u64) * size_of::<Tally>() as u64;
    (s.shape[1] * s.dtype.size() as u64).next_multiple_of(64) + tallies.next_multiple_of(64)
}

/// How rows are shared: threads take a row each where there are enough, else all share one row after the other, by its blocks.
fn sharing(s: &Sorting, threads: usize) -> Sharing {
    let [outer, n, _] = s.shape.map(|e| e as usize);
    let by_rows = outer > 1 && (outer >= threads || n < LONG || outer > n.div_ceil(BLOCK));
    Sharing::new(outer, threads, by_rows && outer * n >= SHARED)
}

pub(super) fn scratch(s: &Sorting, threads: usize) -> u64 {
    row_bytes(s) * sharing(s, threads).slices() as u64
}

impl Selector {
    pub(super) fn new(s: &Sorting, starts: &[*mut u8], threads: usize) -> Selector {
        let each = by_dtype!(s.dtype, rows);
        let places = s.only.iter().flatten().map(|&place| place as usize);
        let mut ranks: Vec<usize> = places.filter(|&rank| rank < s.shape[1] as usize).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let (source, values, scratch) = (starts[0], starts[1], starts[2]);
        let sharing = sharing(s, threads);
        Selector { each, what: s.clone(), ranks, source, values, scratch, threads, sharing }
    }

    pub(super) unsafe fn run(&self, pool: &Pool) -> bool {
        // SAFETY: passed on.
        unsafe { (self.each)(self, pool) }
    }
}

unsafe fn rows<T: Sortable>(work: &Selector, pool: &Pool) -> bool {
    let s = &work.what;
    let [outer, n, _] = s.shape.map(|e| e as usize);
    let row_bytes = row_bytes(s) as usize;
    let one = |row: usize, slice: usize, pool: Option<&Pool>| {
        // SAFETY: the call was checked to have memory of these sizes, aligned as a device's regions are; the slice of the scratch
        // memory is this row's meanwhile, any bits are keys and tallies, and every row has its own elements of the results.
        let row = unsafe {
            let scratch = work.scratch.add(slice * row_bytes);
            let tallies = scratch.add((n * size_of::<T>()).next_multiple_of(64)).cast();
            Row {
                source: std::slice::from_raw_parts(work.source.cast::<T>().add(row * n), n),
                descending: s.descending,
                keys: std::slice::from_raw_parts_mut(scratch.cast::<T::Key>(), n),
                tallies: std::slice::from_raw_parts_mut(tallies, n.div_ceil(BLOCK)),
                values: work.values.cast::<T>().add(row * n),
                pool,
            }
        };
        row.select(&work.ranks)
    };
    if work.sharing.threads == 1 {
        let pool = (work.threads > 1 && n >= SHARED).then_some(pool);
        return (0..outer).all(|row| one(row, 0, pool));
    }
    // A row that nobody shares cannot fail but by a panic, of which the pool knows.
    work.sharing.run(pool, &|row, slice| {
        one(row, slice, None);
    })
}

/// A row, and what it takes to select from it.
struct Row<'a, T: Sortable> {
    source: &'a [T],
    descending: bool,
    /// As many as there are elements.
    keys: &'a mut [T::Key],
    tallies: &'a mut [Tally],
    values: *mut T,
    /// Threads that share the row.
    pool: Option<&'a Pool>,
}

impl<T: Sortable> Row<'_, T> {
    /// Writes the elements of these ranks, which ascend. False if something panicked.
    fn select(mut self, ranks: &[usize]) -> bool {
        let n = self.source.len();
        if n < LONG {
            self.partition(ranks);
            return true;
        }
        let (mut found, mut known) = ([T::Key::default(); FEW], 0);
        while let Some(&rank) = ranks.get(known) {
            // Neighbours are between the same bounds.
            let together = ranks[known..].iter().take_while(|&&r| r - rank <= n / 1024).count();
            let (from, to) = (known, known + together);
            match self.sweep_for(&ranks[from..to], &mut found[from..to]) {
                None => return false,
                Some(true) => known = to,
                Some(false) => {
                    self.partition(ranks);
                    return true;
                }
            }
        }
        ranks.iter().zip(found).for_each(|(&rank, key)| self.put(rank, key));
        true
    }

    /// All keys, parted about one rank after the other.
    fn partition(&mut self, ranks: &[usize]) {
        let descending = self.descending;
        self.keys.iter_mut().zip(self.source).for_each(|(key, x)| *key = x.bits());
        at_best_level(ToKeys::<T> { keys: &mut *self.keys, descending });
        let mut at = [(0, T::Key::default()); FEW];
        let (mut rest, mut first) = (&mut *self.keys, 0);
        for (&rank, found) in ranks.iter().zip(&mut at) {
            let (_, &mut key, above) = rest.select_nth_unstable(rank - first);
            *found = (rank, key);
            (rest, first) = (above, rank + 1);
        }
        at.into_iter().take(ranks.len()).for_each(|(rank, key)| self.put(rank, key));
    }

    /// Writes the element of this rank, whose key is found.
    fn put(&self, rank: usize, key: T::Key) {
        let element = element_of(key, self.descending);
        let element = if T::ZEROS && key == key_of(T::zero(false), self.descending) {
            T::zero(self.sign_of_zero(rank))
        } else {
            element
        };
        // SAFETY: the rank is one of the row's, and the row is this task's.
        unsafe { *self.values.add(rank) = element };
    }

    /// Zeros have one key; their signs stand in the order they were in. Whether the one of this rank is negative.
    fn sign_of_zero(&self, rank: usize) -> bool {
        if !self.source.iter().any(|x| x.negative_zero() == Some(true)) {
            return false;
        }
        let zero = key_of(T::zero(false), self.descending);
        let below = self.source.iter().filter(|x| key_of(**x, self.descending) < zero).count();
        let mut signs = self.source.iter().filter_map(|x| x.negative_zero());
        signs.nth(rank.saturating_sub(below)).unwrap_or(false)
    }

    /// Finds the keys of a few neighbouring ranks. Whether it did, for the sample may mislead; `None` if something panicked.
    fn sweep_for(&mut self, ranks: &[usize], found: &mut [T::Key]) -> Option<bool> {
        let n = self.source.len();
        let (Some(&first), Some(&last)) = (ranks.first(), ranks.last()) else { return Some(true) };
        let end = (first == last && (first == 0 || first == n - 1)).then_some(usize::from(first > 0));
        // The sweep finds the ends anyway.
        let bounds = if end.is_some() { Default::default() } else { self.bounds(first, last) };
        if !self.sweep(bounds) {
            return None;
        }
        let mut counts = [0; 4];
        let mut ends = [u64::MAX, 0];
        for tally in &*self.tallies {
            counts.iter_mut().zip(tally.counts).for_each(|(all, count)| *all += count as usize);
            ends = [ends[0].min(tally.ends[0]), ends[1].max(tally.ends[1])];
        }
        if let Some(end) = end {
            found.fill(T::Key::narrow(ends[end]));
            return Some(true);
        }
        let [below, up_to_low, below_high, up_to_high] = counts;
        if first < below || last >= up_to_high {
            return Some(false);
        }
        // What is between the bounds stands at the front of each block.
        let mut between = 0;
        if bounds.0 < bounds.1 {
            for (block, tally) in self.tallies.iter().enumerate() {
                let kept = (tally.counts[2] - tally.counts[1]) as usize;
                self.keys.copy_within(block * BLOCK..block * BLOCK + kept, between);
                between += kept;
            }
        }
        let (mut rest, mut start) = (&mut self.keys[..between], up_to_low);
        for (&rank, found) in ranks.iter().zip(found) {
            *found = if rank < up_to_low {
                bounds.0
            } else if rank < below_high {
                let (_, &mut key, above) = rest.select_nth_unstable(rank - start);
                (rest, start) = (above, rank + 1);
                key
            } else {
                bounds.1
            };
        }
        Some(true)
    }

    /// Two keys between which, of a sample, those of these ranks must lie but for bad luck.
    fn bounds(&mut self, first: usize, last: usize) -> (T::Key, T::Key) {
        let n = self.source.len();
        let count = ((n as f64).powf(2.0 / 3.0) / 2.0) as usize;
        let (stride, descending) = (n / count, self.descending);
        let sample = &mut self.keys[..count];
        let mut state = 1u64;
        for (at, key) in sample.iter_mut().enumerate() {
            // Not at equal distances, which the data may have as well.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *key = key_of(self.source[at * stride + (state >> 33) as usize % stride], descending);
        }
        let place = |rank: usize, side: f64| -> Option<usize> {
            let part = rank as f64 / n as f64;
            let spread = (count as f64 * part * (1.0 - part)).sqrt();
            let at = part * count as f64 + side * (3.0 * spread + 4.0);
            (at >= 0.0 && at < count as f64).then_some(at as usize)
        };
        let (low, high) = (place(first, -1.0), place(last, 1.0));
        let mut key = |at: usize| *sample.select_nth_unstable(at).1;
        (low.map_or(T::Key::default(), &mut key), high.map_or(T::Key::default().not(), &mut key))
    }

    /// Goes through all elements once, and leaves what is between the bounds at the front of each block of keys.
    fn sweep(&mut self, (low, high): (T::Key, T::Key)) -> bool {
        let (source, descending) = (self.source, self.descending);
        let len = self.keys.len();
        let parts = Parts { keys: self.keys.as_mut_ptr(), tallies: self.tallies.as_mut_ptr(), len };
        let one = |block: usize| {
            // SAFETY: the keys and tallies are this row's, and each block is taken once.
            let (keys, tally) = unsafe { parts.block(block) };
            let source = &source[block * BLOCK..][..keys.len()];
            *tally = at_best_level(Sweep { source, descending, low, high, keys });
        };
        let blocks = len.div_ceil(BLOCK);
        match self.pool {
            Some(pool) => pool.run(blocks, &|block, _| one(block)),
            None => {
                (0..blocks).for_each(one);
                true
            }
        }
    }
}

/// The blocks of a row's keys, with a tally each, for threads that share the row.
struct Parts<K> {
    keys: *mut K,
    tallies: *mut Tally,
    len: usize,
}

// SAFETY: threads take different blocks, which share nothing.
unsafe impl<K: Key> Sync for Parts<K> {}

impl<K: Key> Parts<K> {
    /// # Safety
    /// The keys and tallies are borrowed for this, and nobody else has this block.
    #[allow(clippy::mut_from_ref)]
    unsafe fn block(&self, block: usize) -> (&mut [K], &mut Tally) {
        let first = block * BLOCK;
        // SAFETY: the caller's; there are `len` keys, and a tally for each block.
        unsafe {
            let keys = std::slice::from_raw_parts_mut(self.keys.add(first), BLOCK.min(self.len - first));
            (keys, &mut *self.tallies.add(block))
        }
    }
}

struct Sweep<'a, T: Sortable> {
    source: &'a [T],
    descending: bool,
    low: T::Key,
    high: T::Key,
    keys: &'a mut [T::Key],
}

impl<T: Sortable> Loop for Sweep<'_, T> {
    type Out = Tally;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Tally {
        let Sweep { source, descending, low, high, keys } = self;
        let mut kept = 0;
        let mut counts = [0u64; 4];
        let (mut least, mut most) = (T::Key::default().not(), T::Key::default());
        let mut parts = source.chunks_exact(TOGETHER);
        for part in &mut parts {
            let mut here = [T::Key::default(); TOGETHER];
            for (key, x) in here.iter_mut().zip(part) {
                *key = key_of(*x, descending);
            }
            let (mut few, mut between) = ([0u32; 4], [0u8; TOGETHER]);
            for (key, flag) in here.iter().zip(&mut between) {
                let [a, b, c, d] = [*key < low, *key <= low, *key < high, *key <= high];
                few[0] += u32::from(a);
                few[1] += u32::from(b);
                few[2] += u32::from(c);
                few[3] += u32::from(d);
                *flag = u8::from(!b & c);
                least = least.min(*key);
                most = most.max(*key);
            }
            counts.iter_mut().zip(few).for_each(|(all, few)| *all += u64::from(few));
            let mut bits = packed(&between);
            while bits != 0 {
                keys[kept] = here[bits.trailing_zeros() as usize];
                kept += 1;
                bits &= bits - 1;
            }
        }
        for x in parts.remainder() {
            let key = key_of(*x, descending);
            let [a, b, c, d] = [key < low, key <= low, key < high, key <= high];
            counts.iter_mut().zip([a, b, c, d]).for_each(|(all, is)| *all += u64::from(is));
            if !b & c {
                keys[kept] = key;
                kept += 1;
            }
            (least, most) = (least.min(key), most.max(key));
        }
        // Where the bounds are the same, nothing is between.
        counts[2] = counts[2].max(counts[1]).min(counts[3]);
        Tally { counts, ends: [least.wide(), most.wide()] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike_kernels::DType;

    /// The elements of these ranks, by this call.
    fn selected<T: Sortable + Default>(
        dtype: DType,
        x: &[T],
        rows: usize,
        ranks: &[u64],
        threads: usize,
    ) -> Vec<T> {
        let n = x.len() / rows;
        let shape = [rows as u64, n as u64, 1];
        let (kept, only) = (n as u64, Some(ranks.to_vec()));
        let what = Sorting { dtype, shape, kept, descending: false, values: true, indices: false, only };
        let mut values = vec![T::default(); x.len()];
        let mut memory = vec![0u64; scratch(&what, threads) as usize / 8];
        let starts = [x.as_ptr().cast_mut().cast(), values.as_mut_ptr().cast(), memory.as_mut_ptr().cast()];
        let selector = Selector::new(&what, &starts, threads);
        // SAFETY: all is as large as the call says, and nobody else uses it.
        assert!(unsafe { selector.run(&Pool::shared(threads)) });
        let at = |row: usize| ranks.iter().map(move |&rank| row * n + rank as usize);
        (0..rows).flat_map(at).map(|at| values[at]).collect()
    }

    #[test]
    fn what_is_selected_is_what_sorting_gives() {
        let mut state = 3u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        for (rows, n) in [(1, 9), (3, 100), (1, LONG - 1), (2, LONG), (1, 100_003), (40, 20_000)] {
            for kind in 0..5 {
                let x: Vec<i64> = (0..rows * n)
                    .map(|at| match kind {
                        0 => random() as i64 - (1 << 43),
                        // Many equal ones, all equal ones, and such as lie in order or far apart.
                        1 => (random() % 3) as i64,
                        2 => -7,
                        3 => at as i64,
                        _ => 1i64 << (random() % 62),
                    })
                    .collect();
                let last = n as u64 - 1;
                for ranks in
                    [vec![last / 2, last / 2 + 1, last], vec![0], vec![0, 1, last - 1], vec![last / 3]]
                {
                    let mut want = Vec::new();
                    for row in x.chunks(n) {
                        let mut sorted = row.to_vec();
                        sorted.sort_unstable();
                        want.extend(ranks.iter().map(|&rank| sorted[rank as usize]));
                    }
                    for threads in [1, 2] {
                        let found = selected(DType::I64, &x, rows, &ranks, threads);
                        assert_eq!(found, want, "{rows} rows of {n}, {kind}, {ranks:?}, {threads} threads");
                    }
                    let narrow: Vec<i8> = x.iter().map(|x| *x as i8).collect();
                    let mut want = Vec::new();
                    for row in narrow.chunks(n) {
                        let mut sorted = row.to_vec();
                        sorted.sort_unstable();
                        want.extend(ranks.iter().map(|&rank| sorted[rank as usize]));
                    }
                    assert_eq!(
                        selected(DType::I8, &narrow, rows, &ranks, 2),
                        want,
                        "{rows} rows of {n}, {kind}"
                    );
                }
            }
        }
    }

    fn median(rows: u64, n: u64) -> Sorting {
        let (kept, only) = (n, Some(vec![n / 2]));
        let shape = [rows, n, 1];
        Sorting { dtype: DType::F32, shape, kept, descending: false, values: true, indices: false, only }
    }

    #[test]
    fn rows_are_shared_where_there_are_more_than_blocks() {
        assert_eq!(sharing(&median(255, 16_000), 64).slices(), 64);
        assert_eq!(sharing(&median(20, 16_000), 64).slices(), 20);
        assert_eq!(sharing(&median(100, 100_000_000), 64).slices(), 64);
        // These are shared by their blocks.
        assert_eq!(sharing(&median(3, 1_000_000), 64).slices(), 1);
    }

    #[test]
    fn rows_may_be_longer_than_positions_of_32_bits() {
        let what = median(1, 1 << 33);
        assert!(pays(&what) && super::super::scratch(&what, 2).is_some());
    }

    #[test]
    fn nan_are_last_and_zeros_keep_their_order() {
        for n in [11usize, 50_001] {
            let x: Vec<f64> = (0..n)
                .map(|at| match at % 5 {
                    0 => -0.0,
                    1 => f64::NAN,
                    2 => 0.0,
                    3 => -1.5,
                    _ => f64::INFINITY,
                })
                .collect();
            let mut sorted = x.clone();
            sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())));
            for rank in [0, n / 4, n / 4 + 1, n / 3, n / 2, n - 1] {
                let found = selected(DType::F64, &x, 1, &[rank as u64], 2)[0];
                let want = sorted[rank];
                assert!(
                    found.to_bits() == want.to_bits() || (found.is_nan() && want.is_nan()),
                    "{found} at {rank} of {n}, not {want}"
                );
            }
        }
    }
}
