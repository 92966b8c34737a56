//! Rows of floats, each multiplied with a number of its own, added lane by lane: a vector by a matrix.

#[cfg(target_arch = "x86_64")]
use super::super::matmul::vector::{Avx2, Avx512};
use super::super::matmul::vector::{Plain, Vector};
use super::strided_reduce::{Down, Rows};
use bytemuck::{AnyBitPattern, NoUninit};
use workalike_kernels::DType;
use workalike_kernels::level::{Level, level};
use workalike_kernels::ops::{lanes, lanes_mut};

/// Vectors of lanes that stay in registers while rows go by: as many as it takes to wait for none.
const STRIP: usize = 4;
/// Rows of long ones that are taken together.
const ROWS: usize = 4;

/// Adds the products of some rows to `N` vectors of lanes, the last of them in part.
///
/// # Safety
/// All rows must hold lanes `from..` of these vectors, `into` as well; the processor must have the vectors.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // Plain counts are what unrolls into registers.
unsafe fn strip<V: Vector, const N: usize>(
    into: *mut V::Item,
    (value, other): (Rows<'_>, Rows<'_>),
    from: usize,
    last: usize,
) {
    let (base, numbers) = (value.base.cast::<V::Item>(), other.base.cast::<V::Item>());
    // SAFETY: the caller's promise.
    unsafe {
        let mask = V::mask(last);
        let mut sums = [V::zero(); N];
        for v in 0..N {
            let at = into.add(from + v * V::LANES);
            sums[v] = if v + 1 == N { V::load_part(at, mask) } else { V::load(at) };
        }
        for k in 0..value.at.len() {
            let row = base.offset(value.at[k] as isize).add(from);
            let by = V::splat(*numbers.offset(other.at[k] as isize));
            for v in 0..N {
                let at = row.add(v * V::LANES);
                let x = if v + 1 == N { V::load_part(at, mask) } else { V::load(at) };
                sums[v] = sums[v].add_product(x, by);
            }
        }
        for v in 0..N {
            let at = into.add(from + v * V::LANES);
            if v + 1 == N { sums[v].store_part(at, mask) } else { sums[v].store(at) }
        }
    }
}

/// Adds the products of rows `first..first + R` to `n` lanes, or to `start`, vector by vector: all rows are asked for at the same pace.
///
/// # Safety
/// The rows and `into` must hold `n` lanes; the processor must have the vectors.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // As above.
unsafe fn group<V: Vector, const R: usize>(
    into: *mut V::Item,
    start: Option<V::Item>,
    (value, other): (Rows<'_>, Rows<'_>),
    first: usize,
    n: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let (mut rows, mut by) = ([std::ptr::null::<V::Item>(); R], [V::zero(); R]);
        for k in 0..R {
            rows[k] = value.base.cast::<V::Item>().offset(value.at[first + k] as isize);
            by[k] = V::splat(*other.base.cast::<V::Item>().offset(other.at[first + k] as isize));
        }
        let mut at = 0;
        while n - at >= V::LANES {
            let mut sum = if let Some(start) = start { V::splat(start) } else { V::load(into.add(at)) };
            for k in 0..R {
                sum = sum.add_product(V::load(rows[k].add(at)), by[k]);
            }
            sum.store(into.add(at));
            at += V::LANES;
        }
        if at < n {
            let mask = V::mask(n - at);
            let mut sum =
                if let Some(start) = start { V::splat(start) } else { V::load_part(into.add(at), mask) };
            for k in 0..R {
                sum = sum.add_product(V::load_part(rows[k].add(at), mask), by[k]);
            }
            sum.store_part(into.add(at), mask);
        }
    }
}

/// Each lane takes the rows one after the other, however they are grouped.
///
/// # Safety
/// As of [`Down`]; the processor must have the vectors.
#[inline(always)]
unsafe fn rows<V: Vector<Item: AnyBitPattern + NoUninit>>(
    into: &mut [u64],
    fresh: Option<u64>,
    (value, other): (Rows<'_>, Rows<'_>),
    n: usize,
) {
    let into = &mut lanes_mut::<V::Item>(into)[..n];
    let mut start = fresh.map(|word| lanes::<V::Item>(&[word])[0]);
    let mut done = 0;
    if n > STRIP * V::LANES {
        while value.at.len() - done >= ROWS {
            // SAFETY: the caller's promise.
            unsafe { group::<V, ROWS>(into.as_mut_ptr(), start.take(), (value, other), done, n) };
            done += ROWS;
        }
    }
    if let Some(start) = start {
        into.fill(start);
    }
    let into = into.as_mut_ptr();
    if value.at.len() == done {
        return;
    }
    let both = (Rows { at: &value.at[done..], ..value }, Rows { at: &other.at[done..], ..other });
    let mut from = 0;
    while from < n {
        let left = n - from;
        // SAFETY: the caller's promise; all that is loaded lies before `n`.
        unsafe {
            match left.div_ceil(V::LANES) {
                1 => strip::<V, 1>(into, both, from, left),
                2 => strip::<V, 2>(into, both, from, left - V::LANES),
                3 => strip::<V, 3>(into, both, from, left - 2 * V::LANES),
                _ => strip::<V, STRIP>(into, both, from, (left - 3 * V::LANES).min(V::LANES)),
            }
        }
        from += STRIP * V::LANES;
    }
}

/// The loop, compiled for a level.
macro_rules! compiled {
    ($name:ident, $v:ty $(, $feature:literal)?) => {
        /// # Safety
        /// As of [`Down`]; the processor must have the level.
        $(#[target_feature(enable = $feature)])?
        unsafe fn $name(into: &mut [u64], fresh: Option<u64>, value: Rows<'_>, other: Rows<'_>, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { rows::<$v>(into, fresh, (value, other), n) }
        }
    };
}
compiled!(plain_f32, Plain<f32, 4>);
compiled!(plain_f64, Plain<f64, 2>);
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::*;
    compiled!(avx2_f32, Avx2<__m256>, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt");
    compiled!(avx2_f64, Avx2<__m256d>, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt");
    compiled!(
        avx512_f32,
        Avx512<__m512>,
        "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
    );
    compiled!(
        avx512_f64,
        Avx512<__m512d>,
        "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
    );

    pub(crate) fn best(dtype: DType) -> Option<Down> {
        Some(match (level(), dtype) {
            (Level::Avx512, DType::F32) => avx512_f32,
            (Level::Avx512, DType::F64) => avx512_f64,
            (Level::Avx2, DType::F32) => avx2_f32,
            (Level::Avx2, DType::F64) => avx2_f64,
            _ => return None,
        })
    }
}

/// The loop for rows of `dtype`.
pub(crate) fn spread(dtype: DType) -> Option<Down> {
    #[cfg(target_arch = "x86_64")]
    if let Some(down) = x86::best(dtype) {
        return Some(down);
    }
    match dtype {
        DType::F32 => Some(plain_f32),
        DType::F64 => Some(plain_f64),
        _ => None,
    }
}
