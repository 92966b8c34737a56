//! Scatters of rows. Wide rows are folded in order: each task has some rows of the table. Many narrow rows
//! are folded in parts, each into a table of its own; then the tables are joined. Neither depends on the
//! number of threads.

use super::super::cache_hints;
use super::super::folds::rules::{FoldRule, Max, Min, Product, Sum};
use super::super::pool::ThreadPool;
use super::Sharing;
use crate::folds::read_modify_write::{Half, StoredElement};
use bytemuck::pod_read_unaligned;
use std::marker::PhantomData;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use workalike_kernels::level::{SimdLoop, run};
use workalike_kernels::library::Scatter;
use workalike_kernels::nest::Fold;
use workalike_kernels::{DType, Scalar, Width};

/// Fewer elements are scattered by a Nest, which computes them as well.
const FEW: u64 = 1 << 12;
/// Bytes from which a row is wide.
const WIDE: u64 = 64;
/// The most parts, each with a table of its own.
const PARTS: u64 = 32;
/// Parts that a task visits in turns: what follows in one waits for what comes before it.
const TURNS: usize = 4;
/// Elements of the table that are joined at a time.
const JOINED: usize = 1 << 10;
/// Elements from which threads share the work.
const SHARED: usize = 1 << 15;
/// Points among which a task finds its own.
const BLOCK: usize = 256;
/// Rows of the table are fetched so many points before they are needed.
const AHEAD: usize = 8;

/// How a scatter is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScatterPartition {
    /// Each task has some rows of the table.
    Rows,
    /// This number of parts of the points have tables of their own.
    Parts(u64),
}

/// None where a Nest is as fast: it has a step less, and one thread.
fn way(s: &Scatter) -> Option<ScatterPartition> {
    let elements = s.points.saturating_mul(s.width);
    if elements < FEW {
        return None;
    }
    if s.width.saturating_mul(s.dtype.size() as u64) >= WIDE {
        return Some(ScatterPartition::Rows);
    }
    // All tables together are at most half as large as what is scattered.
    let most = elements / s.rows.saturating_mul(s.width).max(1) / 2;
    let parts = [PARTS, PARTS / 2, PARTS / 4].into_iter().find(|parts| *parts <= most)?;
    s.fold.map(|_| ScatterPartition::Parts(parts))
}

/// Bytes of scratch memory: the tables of all parts; `None` where a Nest is as fast.
pub(super) fn scratch(s: &Scatter) -> Option<u64> {
    Some(match way(s)? {
        ScatterPartition::Rows => 0,
        ScatterPartition::Parts(parts) => parts * s.rows * s.width * s.dtype.register().size() as u64,
    })
}

/// The code of a scatter, for some fold and dtype.
#[derive(Clone, Copy)]
struct ScatterLoops {
    /// Scatters the rows of a task among so many.
    rows: unsafe fn(&Scattering, task: usize, tasks: usize),
    /// Fills the tables of some parts, and folds their points into them.
    parts: unsafe fn(&Scattering, task: usize),
    /// Joins a part of the tables.
    join: unsafe fn(&Scattering, task: usize),
}

impl ScatterLoops {
    fn of<T: StoredElement, R: FoldRule<T::Number>>() -> ScatterLoops {
        ScatterLoops { rows: rows::<T, R>, parts: parts::<T, R>, join: join::<T, R> }
    }

    /// By the fold.
    fn folding<T: StoredElement>(fold: Fold) -> ScatterLoops
    where
        Sum: FoldRule<T::Number>,
        Product: FoldRule<T::Number>,
        Max: FoldRule<T::Number>,
        Min: FoldRule<T::Number>,
    {
        match fold {
            Fold::Sum => ScatterLoops::of::<T, Sum>(),
            Fold::Product => ScatterLoops::of::<T, Product>(),
            Fold::Max | Fold::ArgMax => ScatterLoops::of::<T, Max>(),
            Fold::Min | Fold::ArgMin => ScatterLoops::of::<T, Min>(),
        }
    }

    /// Of a checked op: `bool` has extremes alone, and no fold has an index.
    fn new(s: &Scatter) -> ScatterLoops {
        match (s.fold, s.dtype) {
            (None, dtype) => match dtype.width() {
                Width::Bits8 => ScatterLoops::of::<u8, Last>(),
                Width::Bits16 => ScatterLoops::of::<u16, Last>(),
                Width::Bits32 => ScatterLoops::of::<u32, Last>(),
                // Checked ops have no complex operands.
                Width::Bits64 | Width::Bits128 => ScatterLoops::of::<u64, Last>(),
            },
            (Some(fold), DType::Bool | DType::U8) => ScatterLoops::folding::<u8>(fold),
            (Some(fold), DType::U16) => ScatterLoops::folding::<u16>(fold),
            (Some(fold), DType::U32) => ScatterLoops::folding::<u32>(fold),
            (Some(fold), DType::U64) => ScatterLoops::folding::<u64>(fold),
            (Some(fold), DType::I8) => ScatterLoops::folding::<i8>(fold),
            (Some(fold), DType::I16) => ScatterLoops::folding::<i16>(fold),
            (Some(fold), DType::I32) => ScatterLoops::folding::<i32>(fold),
            (Some(fold), DType::I64) => ScatterLoops::folding::<i64>(fold),
            (Some(fold), DType::F16) => ScatterLoops::folding::<Half<true>>(fold),
            (Some(fold), DType::BF16) => ScatterLoops::folding::<Half<false>>(fold),
            (Some(fold), DType::F32) => ScatterLoops::folding::<f32>(fold),
            (Some(fold), DType::F64 | DType::C64 | DType::C128) => ScatterLoops::folding::<f64>(fold),
        }
    }
}

/// The last value replaces the others.
#[derive(Clone, Copy)]
struct Last;

impl<T> FoldRule<T> for Last {
    #[inline(always)]
    fn fold(_: T, b: T) -> T {
        b
    }
}

/// A scatter with memory bound.
pub(super) struct Scattering {
    way: ScatterPartition,
    code: ScatterLoops,
    positions: *const u32,
    brought: *const u8,
    table: *mut u8,
    /// The tables of the parts.
    tables: *mut u8,
    points: usize,
    /// Of the table.
    rows: usize,
    width: usize,
    each_row: bool,
    each_column: bool,
    /// What no value changes by a fold, as bits of a register.
    identity: u64,
}

// SAFETY: it is immutable. Only `run` uses the memory behind the pointers; each task writes its own rows, its
// own tables, or its own part of the table.
unsafe impl Sync for Scattering {}

impl Scattering {
    /// Of an op that has scratch memory.
    pub(super) fn new(s: &Scatter, starts: &[*mut u8]) -> Scattering {
        let register = s.dtype.register();
        // 0.0 would change -0.0.
        let identity = match s.fold {
            Some(Fold::Sum) if register.is_float() => Scalar::from_f64(register, -0.0),
            fold => fold.unwrap_or(Fold::Sum).identity(register),
        };
        Scattering {
            way: way(s).unwrap_or(ScatterPartition::Rows),
            code: ScatterLoops::new(s),
            positions: starts[0].cast_const().cast(),
            brought: starts[1].cast_const(),
            table: starts[2],
            tables: starts.get(3).copied().unwrap_or(std::ptr::null_mut()),
            points: s.points as usize,
            rows: s.rows as usize,
            width: s.width as usize,
            each_row: s.each_row,
            each_column: s.each_column,
            identity: identity.bits(),
        }
    }

    /// # Safety
    /// Same as [`LibraryCall::run`](super::LibraryCall::run).
    pub(super) unsafe fn run(&self, pool: &ThreadPool) -> bool {
        let gains = self.points * self.width >= SHARED;
        match self.way {
            ScatterPartition::Rows => {
                let tasks = if gains { pool.threads() } else { 1 };
                // SAFETY: the caller guarantees the operands, and `new` chose the code for their dtype; each
                // task runs once.
                Sharing::new(tasks, tasks, gains).run(pool, &|task, _| unsafe {
                    (self.code.rows)(self, task, tasks);
                })
            }
            ScatterPartition::Parts(parts) => {
                let tasks = parts as usize / TURNS;
                // SAFETY: the caller guarantees operands of the dtype for which `new` chose the code, and as
                // much scratch memory as the tables of all parts take; each task runs once.
                let done = Sharing::new(tasks, pool.threads(), gains)
                    .run(pool, &|task, _| unsafe { (self.code.parts)(self, task) });
                let tasks = (self.rows * self.width).div_ceil(JOINED);
                // SAFETY: the same operands, and tables that are complete, since all parts are done.
                done && Sharing::new(tasks, pool.threads(), gains)
                    .run(pool, &|task, _| unsafe { (self.code.join)(self, task) })
            }
        }
    }

    /// The row of the table at which a point is folded.
    ///
    /// # Safety
    /// The positions are alive, nothing writes them, and the point exists.
    #[inline(always)]
    unsafe fn row(&self, point: usize) -> usize {
        // SAFETY: the caller guarantees the element. Positions are within the table; if a kernel was wrong,
        // the bound keeps writes inside.
        unsafe { (*self.positions.add(point) as usize).min(self.rows - 1) }
    }

    /// The first value of a point, and the step from one to the next.
    #[inline(always)]
    fn value<T>(&self, point: usize) -> (*const T, usize) {
        let row = if self.each_column { self.width } else { 1 };
        let first = if self.each_row { point * row } else { 0 };
        (self.brought.cast::<T>().wrapping_add(first), usize::from(self.each_column))
    }
}

/// Scatters the points whose rows are those of a task. Rows are dealt by their hash, since often used ones
/// may be neighbours.
///
/// # Safety
/// The operands that `work` was made with are as [`LibraryCall::run`](super::LibraryCall::run) needs them,
/// with elements of `T`. No other thread runs this task of so many.
unsafe fn rows<T: StoredElement, R: FoldRule<T::Number>>(work: &Scattering, task: usize, tasks: usize) {
    run(ScatterRowsLoop::<T, R> { work, task, tasks, fold: PhantomData });
}

/// The loop of [`rows`], which alone makes it.
struct ScatterRowsLoop<'a, T, R> {
    work: &'a Scattering,
    task: usize,
    tasks: usize,
    fold: PhantomData<(T, R)>,
}

impl<T: StoredElement, R: FoldRule<T::Number>> SimdLoop for ScatterRowsLoop<'_, T, R> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let ScatterRowsLoop { work, task, tasks, .. } = self;
        let width = work.width;
        // Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4).
        let owner = |row: usize| {
            let hash = u64::from((row as u32).wrapping_mul(0x9E37_79B9));
            ((hash * tasks as u64) >> 32) as usize
        };
        let mut own = [(0usize, 0usize); BLOCK];
        for first in (0..work.points).step_by(BLOCK) {
            let mut count = 0;
            for point in first..work.points.min(first + BLOCK) {
                // SAFETY: the caller of `rows` guarantees the positions; the point exists.
                let row = unsafe { work.row(point) };
                own[count] = (point, row);
                count += usize::from(owner(row) == task);
            }
            let own = &own[..count];
            for (at, &(point, row)) in own.iter().enumerate() {
                let to = |row: usize| work.table.cast::<T>().wrapping_add(row * width);
                if let Some(&(_, row)) = own.get(at + AHEAD) {
                    cache_hints::prefetch(to(row).cast_const().cast(), width * size_of::<T>());
                }
                let (from, step) = work.value::<T>(point);
                // SAFETY: the caller guarantees the table, and that no other thread has a row of this task;
                // the row is within it. Values are read only, and overlap no operand that is written.
                unsafe {
                    let to = from_raw_parts_mut(to(row), width);
                    if step == 1 {
                        let from = from_raw_parts(from, width);
                        to.iter_mut().zip(from).for_each(|(to, from)| fold::<T, R>(to, from.widen()));
                    } else {
                        let value = (*from).widen();
                        to.iter_mut().for_each(|to| fold::<T, R>(to, value));
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn fold<T: StoredElement, R: FoldRule<T::Number>>(to: &mut T, value: T::Number) {
    *to = T::narrow(R::fold(to.widen(), value));
}

/// The identity as a number.
fn identity<T: StoredElement>(work: &Scattering) -> T::Number {
    pod_read_unaligned(&work.identity.to_le_bytes()[..size_of::<T::Number>()])
}

/// Folds the points of some parts into their tables.
///
/// # Safety
/// Same as [`rows`]; the scratch memory has tables of all parts.
unsafe fn parts<T: StoredElement, R: FoldRule<T::Number>>(work: &Scattering, task: usize) {
    let ScatterPartition::Parts(parts) = work.way else { return };
    let (size, width) = (work.rows * work.width, work.width);
    let tables = work.tables.cast::<T::Number>().wrapping_add(task * TURNS * size);
    // SAFETY: the caller guarantees tables of all parts, aligned; those of this task are used by no other
    // thread, and lie one behind the other.
    let tables = unsafe { from_raw_parts_mut(tables, TURNS * size) };
    tables.fill(identity::<T>(work));
    let len = work.points.div_ceil(parts as usize);
    let range = |turn: usize| {
        let first = (task * TURNS + turn) * len;
        first.min(work.points)..(first + len).min(work.points)
    };
    let mut take = |turn: usize, point: usize| {
        // SAFETY: the caller guarantees the positions; the point exists.
        let row = turn * size + unsafe { work.row(point) } * width;
        let (from, step) = work.value::<T>(point);
        if width == 1 {
            // SAFETY: the caller guarantees the values; the point exists.
            tables[row] = R::fold(tables[row], unsafe { (*from).widen() });
            return;
        }
        for (column, to) in tables[row..row + width].iter_mut().enumerate() {
            // SAFETY: the caller guarantees the values; the point and the column exist.
            *to = R::fold(*to, unsafe { (*from.add(column * step)).widen() });
        }
    };
    // The last part is the shortest.
    let (first, together) = (task * TURNS * len, range(TURNS - 1).len());
    for at in 0..together {
        (0..TURNS).for_each(|turn| take(turn, first + turn * len + at));
    }
    for turn in 0..TURNS {
        range(turn).skip(together).for_each(|point| take(turn, point));
    }
}

/// Folds a part of all tables into the table.
///
/// # Safety
/// Same as [`parts`], which has run for all parts.
unsafe fn join<T: StoredElement, R: FoldRule<T::Number>>(work: &Scattering, task: usize) {
    let ScatterPartition::Parts(parts) = work.way else { return };
    let size = work.rows * work.width;
    let first = task * JOINED;
    let count = JOINED.min(size - first);
    let mut sums = [identity::<T>(work); JOINED];
    let sums = &mut sums[..count];
    for part in 0..parts as usize {
        let from = work.tables.cast::<T::Number>().wrapping_add(part * size + first).cast_const();
        // SAFETY: the caller guarantees complete tables, which no thread writes now.
        let from = unsafe { from_raw_parts(from, count) };
        sums.iter_mut().zip(from).for_each(|(sum, from)| *sum = R::fold(*sum, *from));
    }
    // SAFETY: the caller guarantees the table, and that no other thread has this part of it.
    let to = unsafe { from_raw_parts_mut(work.table.cast::<T>().wrapping_add(first), count) };
    to.iter_mut().zip(sums).for_each(|(to, sum)| fold::<T, R>(to, *sum));
}

#[cfg(test)]
mod tests;
