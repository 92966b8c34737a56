//! Elements between memory and tiles: fills, gathers, scatters, conversions of halves.
//!
//! Addresses are counted in elements from an operand's first byte; `bind` has proven that every address an
//! index map can give lies within the operand's region, and computed indices are clamped.

use super::affine::LanePattern;
use super::exec::{Frame, ThreadRun, view, view_mut, words};
use super::halves;
use super::plan::{AccessPlan, Dynamic, StorePlan, TileOperand};
use super::strided_copy::StridedCopy;
use crate::uniform_rows::Runs;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::level::{SimdLoop, run};
use workalike_kernels::ops::lanes;

/// Fills `n` lanes with a scalar, in its register dtype.
pub(super) fn fill(out: &mut [u64], scalar: Scalar, n: usize) {
    let scalar = scalar.cast(scalar.dtype().register());
    repeat(scalar.bits(), out, scalar.dtype().size(), n);
}

/// Broadcasts lane `at` of `from` to the first `n` lanes of `out`; lanes have `size` bytes.
pub(super) fn broadcast(from: &[u64], at: usize, out: &mut [u64], size: usize, n: usize) {
    let lane = match size {
        1 => lanes::<u8>(from)[at].into(),
        2 => lanes::<u16>(from)[at].into(),
        4 => lanes::<u32>(from)[at].into(),
        _ => from[at],
    };
    repeat(lane, out, size, n);
}

/// Fills the words of the first `n` lanes of `out` with a lane of `size` bytes.
fn repeat(lane: u64, out: &mut [u64], size: usize, n: usize) {
    let word = match size {
        1 => lane * 0x0101_0101_0101_0101,
        2 => lane * 0x0001_0001_0001_0001,
        4 => lane * 0x0000_0001_0000_0001,
        _ => lane,
    };
    run(FillLoop { out: &mut out[..words(n, size)], word });
}

struct FillLoop<'a> {
    out: &'a mut [u64],
    word: u64,
}

impl SimdLoop for FillLoop<'_> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        self.out.fill(self.word);
    }
}

/// Writes the values of an affine map as i64 lanes.
pub(super) fn iota(map: &LanePattern, base: i64, start: u64, n: usize, out: &mut [i64]) {
    map.runs(base, start, n, |lane, value, count, step| {
        run(IotaLoop { out: &mut out[lane..lane + count], value, step });
    });
}

struct IotaLoop<'a> {
    out: &'a mut [i64],
    value: i64,
    step: i64,
}

impl SimdLoop for IotaLoop<'_> {
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
fn is_outside(value: i64, extent: i64) -> bool {
    value.wrapping_add(extent) as u64 >= 2 * extent as u64
}

/// Whether any of these is out of range.
fn any_outside(values: &[i64], extent: i64) -> bool {
    run(OutsideLoop { values, extent })
}

struct OutsideLoop<'a> {
    values: &'a [i64],
    extent: i64,
}

impl SimdLoop for OutsideLoop<'_> {
    type Out = bool;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        self.values.iter().fold(false, |any, value| any | is_outside(*value, self.extent))
    }
}

impl Dynamic {
    /// Adds the addresses of indices to `addresses`: each value plus `position`, clamped into range. `wraps`
    /// is added to negative values.
    pub(super) fn add_to(&self, addresses: &mut [i64], values: &[i64], (wraps, position): (i64, i64)) {
        run(IndexLoop { addresses, values, wraps, position, last: self.extent - 1, stride: self.stride });
    }
}

struct IndexLoop<'a> {
    addresses: &'a mut [i64],
    values: &'a [i64],
    wraps: i64,
    position: i64,
    last: i64,
    stride: i64,
}

impl SimdLoop for IndexLoop<'_> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (address, value) in self.addresses.iter_mut().zip(self.values) {
            let index = wrapped(*value, self.wraps).wrapping_add(self.position);
            *address += index.min(self.last).max(0) * self.stride;
        }
    }
}

/// Gathers elements of `size` bytes to contiguous memory.
///
/// # Safety
/// `from` must point to elements of this size, aligned, and be readable at every address in `at`; no other
/// thread may write them. `to` must be aligned and writable for as many elements, which do not overlap them.
unsafe fn gather(from: *const u8, at: &[i64], to: *mut u8, size: usize) {
    /// # Safety
    /// Same as [`gather`], for elements of `T`.
    unsafe fn each<T: Copy>(from: *const T, at: &[i64], to: *mut T) {
        for (i, &address) in at.iter().enumerate() {
            // SAFETY: the caller guarantees an element at each address, and room for all.
            unsafe { *to.add(i) = *from.offset(address as isize) };
        }
    }
    // SAFETY: the caller guarantees what `each` needs, for any type of this size.
    unsafe {
        match size {
            1 => each(from, at, to),
            2 => each(from.cast::<u16>(), at, to.cast()),
            4 => each(from.cast::<u32>(), at, to.cast()),
            _ => each(from.cast::<u64>(), at, to.cast()),
        }
    }
}

/// Stores elements of `size` bytes at these addresses, where `when` holds. Addresses may coincide, on other
/// threads too, so stores are atomic.
///
/// # Safety
/// `to` must be aligned and writable at every address of a lane that is stored. Other threads may touch these
/// elements only through this function. `from` and `when` must not overlap them.
unsafe fn scatter(from: &[u8], to: *mut u8, at: &[i64], size: usize, when: Option<&[u8]>) {
    macro_rules! each {
        ($t:ty, $atomic:ty) => {
            for (i, (&address, &value)) in at.iter().zip(lanes::<$t>(from)).enumerate() {
                if when.is_none_or(|when| when[i] != 0) {
                    // SAFETY: the caller guarantees a valid, aligned element that other threads store to
                    // atomically, if at all; the atomic type has the same layout.
                    unsafe { <$atomic>::from_ptr(to.cast::<$t>().offset(address as isize)) }
                        .store(value, Relaxed);
                }
            }
        };
    }
    match size {
        1 => each!(u8, AtomicU8),
        2 => each!(u16, AtomicU16),
        4 => each!(u32, AtomicU32),
        _ => each!(u64, AtomicU64),
    }
}

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

impl ThreadRun<'_> {
    /// Loads lanes into the register of an access, in their register form; returns the register.
    pub(super) fn load_tile(&self, frame: &Frame, access: &AccessPlan, start: u64, n: usize) -> *const u8 {
        let dtype = access.touch.dtype;
        let register = frame.at(self.plan.regs[access.reg as usize]).cast::<u8>();
        // A product that is not stored is contiguous.
        let product = self.bound.bases[access.touch.operand].is_null();
        let contiguous = product || access.dynamic.is_empty() && access.map.lanes == LanePattern::Line(1);
        let from = if contiguous {
            self.address(frame, access, start)
        } else {
            let tile = if dtype.is_half() { frame.at(self.plan.staging).cast() } else { register };
            // SAFETY: the plan orders instructions, so indices were computed. Both are tiles of this thread's
            // frame, and liveness gave the register to no value that is read here.
            unsafe { self.load_stored(frame, access, tile, start, n) };
            tile
        };
        // SAFETY: the elements were just copied to a tile of this thread's frame; or they are elements of the
        // operand, whose range `bind` checked, or of the product, and no other thread writes them. The
        // register has room for a tile and overlaps neither.
        unsafe {
            if dtype.is_half() {
                let stored = view(from.cast_const().cast::<u16>(), n);
                halves::widen(dtype, stored, view_mut(register.cast::<f32>(), n));
            } else if contiguous {
                std::ptr::copy_nonoverlapping(from, register, n * dtype.size());
            }
        }
        register
    }

    /// Repeats an element in the register of an access, in its register form; returns the register.
    ///
    /// # Safety
    /// `from` must be an element of the access's operand that no other thread writes.
    pub(super) unsafe fn load_uniform(
        &self,
        frame: &Frame,
        access: &AccessPlan,
        from: *const u8,
        n: usize,
    ) -> *const u8 {
        let dtype = access.touch.dtype;
        let (register, size) = (frame.at(self.plan.regs[access.reg as usize]), dtype.register().size());
        // SAFETY: the caller guarantees the element; the register is a tile of this thread's frame, and
        // liveness gave it to no value that is read here.
        let (lane, out) = unsafe {
            let lane = match dtype {
                DType::F16 => halves::widen_one::<true>(from.cast::<u16>().read()).to_bits().into(),
                DType::BF16 => halves::widen_one::<false>(from.cast::<u16>().read()).to_bits().into(),
                _ => match size {
                    1 => from.read().into(),
                    2 => from.cast::<u16>().read().into(),
                    4 => from.cast::<u32>().read().into(),
                    _ => from.cast::<u64>().read(),
                },
            };
            (lane, view_mut(register, words(n, size)))
        };
        repeat(lane, out, size, n);
        register.cast_const().cast()
    }

    /// Copies the elements of a load to contiguous memory, in their stored form.
    ///
    /// # Safety
    /// The indices must have been computed at these lanes. `to` must be aligned and writable for `n` stored
    /// elements, outside of the load's operand and the frame's addresses; no other thread may use it.
    unsafe fn load_stored(&self, frame: &Frame, access: &AccessPlan, to: *mut u8, start: u64, n: usize) {
        let size = access.touch.dtype.size();
        // SAFETY: the caller guarantees indices and target; the strides count its lanes from point 0. `bind`
        // checked the address range against the region. The addresses are used up by `gather`.
        unsafe {
            if access.runs == Runs::Not && !access.dynamic.is_empty() {
                let from = self.bound.bases[access.touch.operand];
                return gather(from, self.addresses(frame, access, start, n), to, size);
            }
            let target = (&access.strides, to.wrapping_sub(start as usize * size));
            self.copy_load(frame, access, target, false, (start, n));
        }
    }

    /// Stores lanes from their register form, where the store's condition holds.
    ///
    /// # Safety
    /// The phase's instructions must have run at these lanes, at most a tile.
    pub(super) unsafe fn store_tile(&self, frame: &Frame, store: &StorePlan, start: u64, n: usize) {
        let access = &self.plan.accesses[store.access as usize];
        let (dtype, size) = (access.touch.dtype, access.touch.dtype.size());
        let to = self.bound.bases[access.touch.operand];
        let strided = store.when.is_none() && access.dynamic.is_empty();
        // SAFETY: the caller guarantees that the value was computed. Loads copy values out of written
        // operands, so the stores below do not change it.
        let mut value = unsafe { self.value(frame, store.value, n) };
        if dtype.is_half() {
            let contiguous = strided && access.map.lanes == LanePattern::Line(1);
            let stored = match contiguous {
                true => self.address(frame, access, start).cast::<u16>(),
                false => frame.at(self.plan.staging).cast::<u16>(),
            };
            // SAFETY: elements of the operand, whose range `bind` checked, and which no other thread uses, or
            // a tile of this thread's frame that holds no value.
            unsafe {
                halves::narrow(dtype, lanes::<f32>(value), view_mut(stored, n));
                value = view(stored.cast_const().cast(), n * size);
            }
            if contiguous {
                return;
            }
        }
        if strided {
            let copy = StridedCopy { strides: &access.strides, size, offsets: None, nontemporal: false };
            let base = access.map.base(&frame.coordinates) as isize * size as isize;
            let from = value.as_ptr().wrapping_sub(start as usize * size);
            // SAFETY: `n` elements of the value; the strides count them from point 0. `bind` checked the
            // address range against the region, which no other thread uses and the value does not overlap.
            return unsafe { copy.run(from, to.wrapping_offset(base), start, n) };
        }
        // SAFETY: the caller guarantees that indices and condition were computed; positions are unused once
        // there are addresses, and both are used up by `scatter`. `bind` checked the address range against
        // the region, which threads share only if other accesses do not touch what this store does.
        unsafe {
            let at = self.addresses(frame, access, start, n);
            let when = store.when.map(|when| self.condition(frame, store, when, n));
            scatter(value, to, at, size, when);
        }
    }

    /// Whether a conditional store writes any lane.
    pub(super) fn any(&self, frame: &Frame, store: &StorePlan, when: TileOperand, n: usize) -> bool {
        // SAFETY: stores come after the phase's instructions, so the condition was computed; nothing is
        // written while the slice lives.
        let when = unsafe { self.value(frame, when, n) };
        match store.outside {
            Some(extent) => any_outside(&lanes::<i64>(when)[..n], extent),
            None => when[..n].iter().fold(0, |any, one| any | one) != 0,
        }
    }

    /// Bools: the lanes that a conditional store writes.
    ///
    /// # Safety
    /// Same as [`ThreadRun::value`]; and nothing may use the frame's positions while the slice lives.
    pub(super) unsafe fn condition<'a>(
        &'a self,
        frame: &Frame,
        store: &StorePlan,
        when: TileOperand,
        n: usize,
    ) -> &'a [u8] {
        // SAFETY: the caller guarantees that the condition was computed, and is not written while the slice
        // lives.
        let given = unsafe { self.value(frame, when, n) };
        let Some(extent) = store.outside else { return given };
        // SAFETY: a tile of this thread's frame that holds no value; the caller guarantees that nothing else
        // uses it.
        let bools = unsafe { view_mut(frame.at(self.plan.positions).cast::<u8>(), n) };
        let found = bools.iter_mut().zip(&lanes::<i64>(given)[..n]);
        found.for_each(|(found, value)| *found = is_outside(*value, extent).into());
        bools
    }
}
