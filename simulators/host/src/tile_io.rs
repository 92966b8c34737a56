//! Elements between memory and tiles: fills, gathers, scatters, conversions of halves and bools.
//!
//! All memory access of the interpreter is here. Addresses are counted in elements from an operand's first
//! byte; `bind` has proven that every address an index map can give lies within the operand's region, and
//! dynamic parts are clamped.

use super::affine::Lanes;
use super::halves;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::level::{Loop, run};
use workalike_kernels::ops::{lanes, lanes_mut};

/// Fills `n` lanes with a scalar, in its register dtype.
pub(super) fn fill(out: &mut [u64], scalar: Scalar, n: usize) {
    let scalar = scalar.cast(scalar.dtype().register());
    match scalar.dtype().size() {
        1 => lanes_mut::<u8>(out)[..n].fill(scalar.bits() as u8),
        2 => lanes_mut::<u16>(out)[..n].fill(scalar.bits() as u16),
        4 => lanes_mut::<u32>(out)[..n].fill(scalar.bits() as u32),
        _ => lanes_mut::<u64>(out)[..n].fill(scalar.bits()),
    }
}

/// Broadcasts lane `at` of `from` to the first `n` lanes of `out`; lanes have `size` bytes.
pub(super) fn broadcast(from: &[u64], at: usize, out: &mut [u64], size: usize, n: usize) {
    match size {
        1 => lanes_mut::<u8>(out)[..n].fill(lanes::<u8>(from)[at]),
        2 => lanes_mut::<u16>(out)[..n].fill(lanes::<u16>(from)[at]),
        4 => lanes_mut::<u32>(out)[..n].fill(lanes::<u32>(from)[at]),
        _ => out[..n].fill(from[at]),
    }
}

/// Broadcasts lane `at` of `from` to lanes `to` of `out`; lanes have `size` bytes.
pub(super) fn broadcast_to(from: &[u8], at: usize, out: &mut [u64], size: usize, to: Range<usize>) {
    match size {
        1 => lanes_mut::<u8>(out)[to].fill(lanes::<u8>(from)[at]),
        2 => lanes_mut::<u16>(out)[to].fill(lanes::<u16>(from)[at]),
        4 => lanes_mut::<u32>(out)[to].fill(lanes::<u32>(from)[at]),
        _ => out[to].fill(lanes::<u64>(from)[at]),
    }
}

/// Writes the values of an affine map as i64 lanes.
pub(super) fn iota(map: &Lanes, base: i64, start: u64, n: usize, out: &mut [i64]) {
    map.runs(base, start, n, |lane, value, count, step| {
        run(IotaLoop { out: &mut out[lane..lane + count], value, step });
    });
}

struct IotaLoop<'a> {
    out: &'a mut [i64],
    value: i64,
    step: i64,
}

impl Loop for IotaLoop<'_> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (i, out) in self.out.iter_mut().enumerate() {
            *out = self.value + i as i64 * self.step;
        }
    }
}

/// An index; negative values count from the end.
#[inline(always)]
pub(super) fn wrapped(value: i64, wraps: i64) -> i64 {
    value.wrapping_add((value >> 63) & wraps)
}

/// Whether a value is out of range as an index of `extent` elements, counted from either end.
#[inline(always)]
pub(super) fn is_outside(value: i64, extent: i64) -> bool {
    value.wrapping_add(extent) as u64 >= 2 * extent as u64
}

/// Whether any of these is out of range.
pub(super) fn any_outside(values: &[i64], extent: i64) -> bool {
    run(OutsideLoop { values, extent })
}

struct OutsideLoop<'a> {
    values: &'a [i64],
    extent: i64,
}

impl Loop for OutsideLoop<'_> {
    type Out = bool;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        self.values.iter().fold(false, |any, value| any | is_outside(*value, self.extent))
    }
}

/// Indices along a dimension: `value + position`, clamped into range. `wraps` is added to negative values,
/// `last` is the last index, `stride` the distance between elements.
#[derive(Clone, Copy)]
pub(super) struct Indices<'a> {
    pub(super) values: &'a [i64],
    pub(super) wraps: i64,
    pub(super) last: i64,
    pub(super) stride: i64,
}

impl Indices<'_> {
    /// Writes the addresses of these indices at one position, plus `from` and `step` times the lane.
    pub(super) fn start(self, addresses: &mut [i64], position: i64, (from, step): (i64, i64)) {
        match (position, self.stride, step) {
            (0, 1, 0) => run(StartLoop::<true> { index: self, addresses, position, from, step }),
            _ => run(StartLoop::<false> { index: self, addresses, position, from, step }),
        }
    }

    /// Adds the addresses of these indices at `positions`.
    pub(super) fn add(self, addresses: &mut [i64], positions: &[i64]) {
        run(AddLoop { index: self, addresses, positions });
    }

    #[inline(always)]
    fn at(&self, value: i64, position: i64) -> i64 {
        wrapped(value, self.wraps).wrapping_add(position).min(self.last).max(0)
    }
}

/// `PLAIN`: contiguous elements, no position and no step.
struct StartLoop<'a, const PLAIN: bool> {
    index: Indices<'a>,
    addresses: &'a mut [i64],
    position: i64,
    from: i64,
    step: i64,
}

impl<const PLAIN: bool> Loop for StartLoop<'_, PLAIN> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (i, (address, value)) in self.addresses.iter_mut().zip(self.index.values).enumerate() {
            let here = |position| self.index.at(*value, position);
            *address = self.from
                + match PLAIN {
                    true => here(0),
                    false => i as i64 * self.step + here(self.position) * self.index.stride,
                };
        }
    }
}

struct AddLoop<'a> {
    index: Indices<'a>,
    addresses: &'a mut [i64],
    positions: &'a [i64],
}

impl Loop for AddLoop<'_> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for ((address, value), position) in
            self.addresses.iter_mut().zip(self.index.values).zip(self.positions)
        {
            *address += self.index.at(*value, *position) * self.index.stride;
        }
    }
}

/// Copies `n` elements of `size` bytes, `step` elements apart, to contiguous lanes.
///
/// # Safety
/// `from` must be aligned and readable for these elements, which no other thread writes, and `to` writable
/// for `n`; they must not overlap.
pub(super) unsafe fn copy_lanes(from: *const u8, to: *mut u8, size: usize, n: usize, step: isize) {
    // SAFETY: the caller guarantees `n` elements of `size` bytes, `step` apart, and room for them; each arm
    // copies exactly these.
    unsafe {
        if step == 1 {
            return std::ptr::copy_nonoverlapping(from, to, n * size);
        }
        match size {
            _ if step == 0 => repeated(from, to, size, n),
            1 => strided(from, to, n, step),
            2 => strided(from.cast::<u16>(), to.cast(), n, step),
            4 => strided(from.cast::<u32>(), to.cast(), n, step),
            _ => strided(from.cast::<u64>(), to.cast(), n, step),
        }
    }
}

/// Copies one element to `n` contiguous elements.
///
/// # Safety
/// Same as [`copy_lanes`], for one element that is read.
unsafe fn repeated(from: *const u8, to: *mut u8, size: usize, n: usize) {
    /// # Safety
    /// `from` must be aligned and readable, and `to` writable for `n` elements, which do not overlap `from`.
    unsafe fn fill<T: Copy>(from: *const T, to: *mut T, n: usize) {
        // SAFETY: the caller guarantees one element to read and `n` to write.
        unsafe {
            let value = *from;
            (0..n).for_each(|i| *to.add(i) = value);
        }
    }
    // SAFETY: the caller guarantees one element of `size` bytes to read, and room for `n`.
    unsafe {
        match size {
            1 => fill(from, to, n),
            2 => fill(from.cast::<u16>(), to.cast(), n),
            4 => fill(from.cast::<u32>(), to.cast(), n),
            _ => fill(from.cast::<u64>(), to.cast(), n),
        }
    }
}

/// The lanes of an operand that a tile touches.
#[derive(Clone, Copy)]
pub(super) enum Where<'a> {
    /// `map` over lanes from `start` on, plus `base`.
    Map { map: &'a Lanes, base: i64, start: u64 },
    /// One address per lane.
    Each(&'a [i64]),
}

/// # Safety
/// `from` must point to elements of `T`, aligned, and be readable at every address in `at`; no other thread
/// may write them. `out` must be writable for `n` elements, which these addresses do not overlap.
unsafe fn gather<T: Copy>(from: *const T, at: Where<'_>, out: *mut T, n: usize) {
    match at {
        Where::Map { map, base, start } => map.runs(base, start, n, |lane, first, count, step| {
            // SAFETY: the run's lanes are below `n`, and the caller guarantees the map's addresses.
            unsafe {
                let (out, from) = (out.add(lane), from.offset(first as isize));
                match step {
                    1 => std::ptr::copy_nonoverlapping(from, out, count),
                    0 => {
                        let value = *from;
                        (0..count).for_each(|i| *out.add(i) = value);
                    }
                    step => strided(from, out, count, step as isize),
                }
            }
        }),
        Where::Each(addresses) => {
            for (i, &address) in addresses[..n].iter().enumerate() {
                // SAFETY: the caller guarantees an element at each address, and room for `n`; `i` is below
                // `n`.
                unsafe { *out.add(i) = *from.offset(address as isize) };
            }
        }
    }
}

/// Gathers `n` elements of `size` bytes to contiguous memory.
///
/// # Safety
/// Same as [`gather`], for elements of this size.
pub(super) unsafe fn gather_bits(from: *const u8, at: Where<'_>, to: *mut u8, size: usize, n: usize) {
    // SAFETY: the caller guarantees what `gather` needs, for any type of this size.
    unsafe {
        match size {
            1 => gather(from, at, to, n),
            2 => gather(from.cast::<u16>(), at, to.cast(), n),
            4 => gather(from.cast::<u32>(), at, to.cast(), n),
            _ => gather(from.cast::<u64>(), at, to.cast(), n),
        }
    }
}

/// Copies every `STEP`-th element. Only [`StridedLoop::new`] makes one.
struct StridedLoop<T, const STEP: isize> {
    from: *const T,
    out: *mut T,
    n: usize,
}

impl<T: Copy, const STEP: isize> StridedLoop<T, STEP> {
    /// # Safety
    /// Until it has run, `from` must be aligned and readable for `n` elements, `STEP` apart, which no other
    /// thread writes, and `out` writable for `n`, which overlap none of those.
    unsafe fn new(from: *const T, out: *mut T, n: usize) -> Self {
        StridedLoop { from, out, n }
    }
}

impl<T: Copy, const STEP: isize> Loop for StridedLoop<T, STEP> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for i in 0..self.n {
            // SAFETY: the caller of `new` guarantees element `i` on both sides.
            unsafe { *self.out.add(i) = *self.from.offset(i as isize * STEP) };
        }
    }
}

/// Copies every `step`-th element. Loops with a constant step are vectorized.
///
/// # Safety
/// `from` must be aligned and readable for `n` elements, `step` apart, which no other thread writes, and
/// `out` writable for `n`, which overlap none of those.
#[inline(never)]
unsafe fn strided<T: Copy>(from: *const T, out: *mut T, n: usize, step: isize) {
    // SAFETY: the caller guarantees these `n` elements, `step` apart, and room for them.
    unsafe {
        match step {
            2 => run(StridedLoop::<T, 2>::new(from, out, n)),
            3 => run(StridedLoop::<T, 3>::new(from, out, n)),
            4 => run(StridedLoop::<T, 4>::new(from, out, n)),
            step => (0..n).for_each(|i| *out.add(i) = *from.offset(i as isize * step)),
        }
    }
}

/// An element that can be stored while other threads store to the same address.
trait Element: Copy {
    /// # Safety
    /// `at` must be valid and aligned, and other threads may write it only through this function.
    unsafe fn store_shared(at: *mut Self, value: Self);
}

macro_rules! elements {
    ($($t:ty: $atomic:ty),*) => {
        $(impl Element for $t {
            unsafe fn store_shared(at: *mut Self, value: Self) {
                // SAFETY: the caller guarantees a valid, aligned element that other threads store to
                // atomically, if at all; the atomic type has the same layout.
                unsafe { <$atomic>::from_ptr(at) }.store(value, Relaxed);
            }
        })*
    };
}
elements!(u8: AtomicU8, u16: AtomicU16, u32: AtomicU32, u64: AtomicU64);

/// Stores a number unless one of `above` is there: the final value does not depend on the order of the
/// threads.
///
/// # Safety
/// `at` must be valid and aligned, and other threads may touch it only through this function.
pub(super) unsafe fn report(at: *mut i64, number: i64, above: &[i64]) {
    // SAFETY: the caller guarantees a valid, aligned word that other threads touch atomically, if at all; the
    // atomic type has the same layout.
    let word = unsafe { AtomicI64::from_ptr(at) };
    let keeps = |found: i64| (!above.contains(&found)).then_some(number);
    // `Err` means that the found number stays.
    let _ = word.fetch_update(Relaxed, Relaxed, keeps);
}

/// # Safety
/// `to` must point to elements of `T`, aligned, and be writable at every address of a lane that is stored.
/// Other threads may read or write there only through their own `Where::Each`. `from` and `when` must not
/// overlap it.
unsafe fn scatter<T: Element>(from: &[T], to: *mut T, at: Where<'_>, n: usize, when: Option<&[u8]>) {
    let from = &from[..n];
    // Conditional stores are mostly error reports, and there is rarely an error.
    if when.is_some_and(|w| w[..n].iter().fold(0, |any, w| any | w) == 0) {
        return;
    }
    match (at, when) {
        (Where::Map { map, base, start }, None) => map.runs(base, start, n, |lane, first, count, step| {
            let from = &from[lane..lane + count];
            // SAFETY: the caller guarantees the map's addresses.
            unsafe {
                let to = to.offset(first as isize);
                match step {
                    1 => std::ptr::copy_nonoverlapping(from.as_ptr(), to, count),
                    step => {
                        from.iter()
                            .enumerate()
                            .for_each(|(i, v)| *to.offset(i as isize * step as isize) = *v);
                    }
                }
            }
        }),
        (Where::Map { map, base, start }, Some(when)) => {
            map.runs(base, start, n, |lane, first, count, step| {
                for i in (0..count).filter(|i| when[lane + i] != 0) {
                    // SAFETY: the caller guarantees the map's addresses at lanes that are stored.
                    unsafe { *to.offset(first as isize + i as isize * step as isize) = from[lane + i] };
                }
            })
        }
        (Where::Each(addresses), None) => {
            for (&address, &value) in addresses[..n].iter().zip(from) {
                // SAFETY: the caller guarantees every address; stores at computed addresses may coincide, so
                // they are atomic.
                unsafe { T::store_shared(to.offset(address as isize), value) };
            }
        }
        (Where::Each(addresses), Some(when)) => {
            for i in (0..n).filter(|&i| when[i] != 0) {
                // SAFETY: the caller guarantees the addresses of lanes that are stored; they may coincide, so
                // stores are atomic.
                unsafe { T::store_shared(to.offset(addresses[i] as isize), from[i]) };
            }
        }
    }
}

/// Loads `n` lanes of `dtype` into its register form; `staging` has room for a tile of 2-byte lanes.
///
/// # Safety
/// `from` must be aligned for `dtype` and readable at every address in `at`, and no other thread may write
/// there; `out` and `staging` must not overlap it.
pub(super) unsafe fn load(
    dtype: DType,
    from: *const u8,
    at: Where<'_>,
    out: &mut [u64],
    staging: &mut [u64],
    n: usize,
) {
    match dtype {
        DType::F16 | DType::BF16 => {
            let line = match at {
                Where::Map { map: Lanes::Line(1), base, start } => Some(base as isize + start as isize),
                _ => None,
            };
            let raw = match line {
                // SAFETY: the map addresses these `n` contiguous elements; the caller guarantees that they
                // are readable and not written.
                Some(first) => unsafe { std::slice::from_raw_parts(from.cast::<u16>().offset(first), n) },
                None => {
                    let staging = &mut lanes_mut::<u16>(staging)[..n];
                    // SAFETY: the caller guarantees the addresses; the slice has room for `n` lanes and does
                    // not overlap them.
                    unsafe { gather(from.cast::<u16>(), at, staging.as_mut_ptr(), n) };
                    staging
                }
            };
            halves::widen(dtype, raw, &mut lanes_mut::<f32>(out)[..n]);
        }
        DType::Bool => {
            let out = &mut lanes_mut::<u8>(out)[..n];
            // SAFETY: the caller guarantees the addresses; the slice has room for `n` lanes and does not
            // overlap them.
            unsafe { gather(from, at, out.as_mut_ptr(), n) };
            out.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        _ => match dtype.size() {
            1 => {
                let out = &mut lanes_mut::<u8>(out)[..n];
                // SAFETY: the caller guarantees the addresses, for this size; the slice has room for `n`
                // lanes.
                unsafe { gather(from, at, out.as_mut_ptr(), n) }
            }
            2 => {
                let out = &mut lanes_mut::<u16>(out)[..n];
                // SAFETY: the caller guarantees the addresses, for this size; the slice has room for `n`
                // lanes.
                unsafe { gather(from.cast(), at, out.as_mut_ptr(), n) }
            }
            4 => {
                let out = &mut lanes_mut::<u32>(out)[..n];
                // SAFETY: the caller guarantees the addresses, for this size; the slice has room for `n`
                // lanes.
                unsafe { gather(from.cast(), at, out.as_mut_ptr(), n) }
            }
            _ => {
                let out = &mut lanes_mut::<u64>(out)[..n];
                // SAFETY: the caller guarantees the addresses, for this size; the slice has room for `n`
                // lanes.
                unsafe { gather(from.cast(), at, out.as_mut_ptr(), n) }
            }
        },
    }
}

/// Stores `n` lanes, from the register form of `dtype`, where `when` holds.
///
/// # Safety
/// `to` must be aligned for `dtype` and writable at every address in `at`. No other thread may read or write
/// there, except that stores of `Where::Each` may coincide. `value`, `when` and `staging` must not overlap
/// it.
pub(super) unsafe fn store(
    dtype: DType,
    value: &[u8],
    to: *mut u8,
    at: Where<'_>,
    staging: &mut [u64],
    n: usize,
    when: Option<&[u8]>,
) {
    let when = when.map(|w| &w[..n]);
    match dtype {
        DType::F16 | DType::BF16 => {
            let staging = &mut lanes_mut::<u16>(staging)[..n];
            let line = match (at, when) {
                (Where::Map { map: Lanes::Line(1), base, start }, None) => {
                    Some(base as isize + start as isize)
                }
                _ => None,
            };
            if let Some(first) = line {
                // SAFETY: the map addresses these `n` contiguous elements; the caller guarantees that they
                // are writable, and that no other thread uses them.
                let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<u16>().offset(first), n) };
                return halves::narrow(dtype, &lanes::<f32>(value)[..n], to);
            }
            halves::narrow(dtype, &lanes::<f32>(value)[..n], staging);
            // SAFETY: the caller guarantees the addresses, for two bytes; staging and `when` do not overlap
            // them.
            unsafe { scatter(staging, to.cast(), at, n, when) }
        }
        _ => match dtype.size() {
            // SAFETY: the caller guarantees the addresses, for one byte; the slices do not overlap them.
            1 => unsafe { scatter(lanes::<u8>(value), to, at, n, when) },
            // SAFETY: the caller guarantees the addresses, for two bytes; the slices do not overlap them.
            2 => unsafe { scatter(lanes::<u16>(value), to.cast(), at, n, when) },
            // SAFETY: the caller guarantees the addresses, for four bytes; the slices do not overlap them.
            4 => unsafe { scatter(lanes::<u32>(value), to.cast(), at, n, when) },
            // SAFETY: the caller guarantees the addresses, for eight bytes; the slices do not overlap them.
            _ => unsafe { scatter(lanes::<u64>(value), to.cast(), at, n, when) },
        },
    }
}
