//! The instruction set that the host's loops use, detected once, when the first loop runs.
//!
//! A loop is written once, as the `run` of a [`SimdLoop`], and compiled once for each level: [`run`] takes
//! the best level that the processor has, or a lower one that [`VARIABLE`] names. Everything that `run` calls
//! must be `#[inline(always)]`, because only inlined code is compiled for the level.

use std::ffi::OsStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The environment variable that names the level: `baseline`, `avx2` or `avx512`, if the processor has it. It
/// is read once. It holds for the loops of this workspace; `faer`, which factors matrices, detects
/// the processor's instructions itself and uses all of them at every level.
pub const VARIABLE: &str = "WORKALIKE_CPU_LEVEL";

/// A loop over lanes, with its arguments.
pub trait SimdLoop {
    /// The result.
    type Out;
    /// Runs it. `FMA`: whether `mul_add` is one instruction, and code that uses it is fast.
    fn run<const FMA: bool>(self) -> Self::Out;
}

/// The levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// The instruction set of the compiler's target.
    Baseline = 1,
    /// x86-64-v3: AVX2, FMA, F16C.
    Avx2 = 2,
    /// x86-64-v4: AVX-512 F, BW, CD, DQ and VL as well.
    Avx512 = 3,
}

impl Level {
    /// All levels. Each includes those before it.
    pub const ALL: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

    /// Its name in [`VARIABLE`].
    pub fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// [`VARIABLE`] names no level of this processor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: expected {expected}, found {found}", VARIABLE)]
pub struct LevelError {
    /// The levels of this processor.
    pub expected: String,
    /// The value of the variable.
    pub found: String,
}

/// Whether the compiler's target has a fused multiply-add.
pub const BASELINE_FMA: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

/// The level that [`VARIABLE`] names, or the best one of this processor.
///
/// # Errors
/// If the variable names no level, or one that this processor lacks.
pub fn chosen() -> Result<Level, LevelError> {
    static CHOSEN: OnceLock<Result<Level, LevelError>> = OnceLock::new();
    CHOSEN.get_or_init(|| choose(std::env::var_os(VARIABLE).as_deref(), detect())).clone()
}

/// The level of this name, if it is at most `best`. Without a name it is `best`.
fn choose(name: Option<&OsStr>, best: Level) -> Result<Level, LevelError> {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(best) };
    let levels = || Level::ALL.into_iter().filter(|level| *level <= best);
    levels().find(|level| name == level.name()).ok_or_else(|| {
        let names: Vec<&str> = levels().map(Level::name).collect();
        LevelError {
            expected: format!("a level of this processor ({})", names.join(", ")),
            found: format!("{name:?}"),
        }
    })
}

/// The level of all loops of this process: the [`chosen`] level, or the best level if that is an error.
#[inline]
pub fn level() -> Level {
    static FOUND: AtomicU8 = AtomicU8::new(0);
    match FOUND.load(Relaxed) {
        1 => Level::Baseline,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => {
            let level = chosen().unwrap_or_else(|_| detect());
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

/// Runs a loop at the [`level`] of this process.
#[inline]
pub fn run<L: SimdLoop>(work: L) -> L::Out {
    match level() {
        Level::Baseline => work.run::<BASELINE_FMA>(),
        // SAFETY: `level` is none above that which was found on this processor.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(work) },
        // SAFETY: `level` is none above that which was found on this processor.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(work) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => work.run::<BASELINE_FMA>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<L: SimdLoop>(work: L) -> L::Out {
    work.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn avx512<L: SimdLoop>(work: L) -> L::Out {
    work.run::<true>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_only_lowers_the_level() {
        for best in Level::ALL {
            assert_eq!(choose(None, best), Ok(best));
            assert_eq!(choose(Some(OsStr::new("")), best), Ok(best));
            for level in Level::ALL {
                let chosen = choose(Some(OsStr::new(level.name())), best);
                assert_eq!(chosen.ok(), (level <= best).then_some(level));
            }
        }
    }

    #[test]
    fn an_error_says_which_levels_there_are() {
        for name in ["avx512", "AVX2", "sse"] {
            let error = choose(Some(OsStr::new(name)), Level::Avx2).unwrap_err().to_string();
            for part in [VARIABLE, "baseline, avx2)", name] {
                assert!(error.contains(part), "{error}");
            }
        }
    }
}
