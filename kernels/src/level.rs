//! Which instructions of the processor the host's loops use, found out once, when the first loop runs.
//!
//! A loop is written once, as the `run` of a [`Loop`], and compiled once for each level: [`run`] takes the best one that the
//! processor has. Everything that `run` calls must be `#[inline(always)]`, for only what is inlined is compiled for the level.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A loop over lanes, with what it works on.
pub trait Loop {
    /// What it gives.
    type Out;
    /// Runs it. `FMA`: whether `mul_add` is one instruction, so that functions made of it pay.
    fn run<const FMA: bool>(self) -> Self::Out;
}

/// The levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// What the compiler's target has anyway.
    Baseline = 1,
    /// x86-64-v3: AVX2, FMA, F16C.
    Avx2 = 2,
    /// x86-64-v4: AVX-512 F, BW, CD, DQ and VL as well.
    Avx512 = 3,
}

/// Whether the compiler's target has a fused multiply-add.
const BASELINE_FMA: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

/// The level of this processor.
#[inline]
pub fn level() -> Level {
    static FOUND: AtomicU8 = AtomicU8::new(0);
    match FOUND.load(Relaxed) {
        1 => Level::Baseline,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => {
            let level = detect();
            FOUND.store(level as u8, Relaxed);
            level
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    macro_rules! all { ($($feature:tt)*) => { true $(&& is_x86_feature_detected!($feature))* } }
    if !all!("avx2" "fma" "f16c" "bmi1" "bmi2" "lzcnt" "popcnt") {
        Level::Baseline
    } else if all!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl") {
        Level::Avx512
    } else {
        Level::Avx2
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Baseline
}

/// Runs a loop with the best instructions there are.
#[inline]
pub fn run<L: Loop>(work: L) -> L::Out {
    match level() {
        Level::Baseline => work.run::<BASELINE_FMA>(),
        // SAFETY: `level` found these instructions on this processor.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(work) },
        // SAFETY: `level` found these instructions on this processor.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(work) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => work.run::<BASELINE_FMA>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<L: Loop>(work: L) -> L::Out {
    work.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn avx512<L: Loop>(work: L) -> L::Out {
    work.run::<true>()
}
