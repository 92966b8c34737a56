//! The choice of one of a library's algorithms for a call: the one stored on disk, else the fastest.
//!
//! The first candidate of a library is seldom much slower than the best one, but for calls of middling size
//! another is often 10% faster. So the candidates are timed, several runs of each in one graph, as they run
//! later, and the choice is stored on disk. A timed choice that is not stored would make two runs of a
//! program differ in their last bits: without a cache the first candidate that runs is taken, untimed. The
//! same holds for calls too small for the choice to matter, and for those so large that one run takes 10 ms.

use super::Streams;
use crate::context::{OrDriver, PrimaryContext, lock};
use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUstream};
use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use workalike_device::DeviceResult;
use workalike_device::cache::{CacheKey, KernelCache};

/// A candidate is preferred to earlier ones in the library's order if its time is below this fraction of
/// theirs.
const CLEARLY: f64 = 0.98;
/// Maximum number of choices held in memory; beyond it they are read from disk again.
const REMEMBERED: usize = 4096;
/// Calls that take at least this long are not timed: they fill the device with any algorithm.
const LONG: Duration = Duration::from_millis(10);

/// A call for which a library has several algorithms.
pub(super) trait Tunable {
    type Algorithm: Copy + PartialEq;

    /// Time limit for loading the kernels of candidates.
    const PATIENCE: Duration;

    /// The algorithms, the best first by what the library says.
    fn candidates(&mut self) -> DeviceResult<Vec<Self::Algorithm>>;

    /// Whether the library has the algorithm, and it computes the call. Runs it, which loads its kernels.
    fn admits(&mut self, algorithm: Self::Algorithm) -> DeviceResult<bool>;

    /// Enqueues the call with an algorithm that was admitted.
    fn enqueue(&mut self, algorithm: Self::Algorithm, stream: CUstream) -> DeviceResult<()>;

    /// How the algorithms are tried if one run takes `once`.
    fn trial(once: Duration) -> TrialOptions {
        TrialOptions::of(once)
    }

    /// Whether the call takes long enough for the choice to matter.
    fn is_worth_timing(&self) -> bool {
        true
    }

    /// An algorithm as it is stored on disk.
    fn encode(algorithm: Self::Algorithm) -> Vec<u8>;

    /// A stored algorithm; `None` if the entry is damaged or of another layout.
    fn decode(&self, bytes: &[u8]) -> Option<Self::Algorithm>;
}

/// What a choice depends on, in addition to the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TuningEnvironment {
    /// The device's name; devices of the same name share choices.
    pub(super) device: String,
    pub(super) units: i32,
    pub(super) driver: i32,
    /// The library's version.
    pub(super) version: usize,
    /// Maximum bytes of workspace.
    pub(super) workspace: u64,
}

impl TuningEnvironment {
    /// The values for a device. The context must be current.
    pub(super) fn of(
        context: &PrimaryContext,
        version: usize,
        workspace: u64,
    ) -> DeviceResult<TuningEnvironment> {
        let units = context.cuda.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        Ok(TuningEnvironment {
            device: context.cuda.name().or_driver(&context.id, "cuDeviceGetName")?,
            units: units.or_driver(&context.id, "cuDeviceGetAttribute")?,
            driver: context.driver,
            version,
            workspace,
        })
    }

    /// The key of a call's entry; `kind` names the kind of call.
    pub(super) fn key(&self, kind: &str, call: &impl fmt::Debug) -> CacheKey {
        CacheKey::of(&[kind, &format!("{self:?}"), &format!("{call:?}")])
    }
}

/// Choices of this process, as they are stored: all device objects of a device choose alike. Locked during
/// trials: two that are timed at once would disturb each other.
static CHOSEN: Mutex<Option<HashMap<CacheKey, Vec<u8>>>> = Mutex::new(None);

/// The stored choice for a call, which is not known to run; `None` if there is none.
pub(super) fn stored<T: Tunable>(call: &T, key: &CacheKey) -> Option<T::Algorithm> {
    let chosen = lock(&CHOSEN);
    let bytes = chosen.as_ref().and_then(|chosen| chosen.get(key).cloned());
    call.decode(&bytes.or_else(|| KernelCache::of_process().load(key))?)
}

/// The algorithm of a call, with its kernels loaded; `None` if the library has none. The recorder must be
/// locked.
pub(super) fn choose<T: Tunable>(
    streams: &Streams,
    call: &mut T,
    key: CacheKey,
) -> DeviceResult<Option<T::Algorithm>> {
    let mut chosen = lock(&CHOSEN);
    let chosen = chosen.get_or_insert_with(HashMap::new);
    let cache = KernelCache::of_process();
    let known = chosen.get(&key).cloned().or_else(|| cache.load(&key));
    let known = known.and_then(|bytes| call.decode(&bytes));
    let best = match known {
        Some(known) if call.admits(known)? => Some(known),
        _ => choose_candidate(streams, call, cache, &key)?,
    };
    if let Some(best) = best {
        if chosen.len() >= REMEMBERED {
            chosen.clear();
        }
        chosen.insert(key, T::encode(best));
    }
    Ok(best)
}

/// Chooses one of the candidates, by time if the choice can be stored on disk, and stores it.
fn choose_candidate<T: Tunable>(
    streams: &Streams,
    call: &mut T,
    cache: &KernelCache,
    key: &CacheKey,
) -> DeviceResult<Option<T::Algorithm>> {
    let candidates = call.candidates()?;
    let keeps = cache.folder().is_some() && cache.trouble().is_none();
    let timed = keeps && candidates.len() > 1 && call.is_worth_timing();
    let best = match timed {
        true => fastest(streams, call, &candidates)?,
        false => first(call, &candidates)?,
    };
    if let Some(best) = best {
        cache.store(key, &T::encode(best));
    }
    if !timed {
        return Ok(best);
    }
    // Later processes find what is on disk now. Another process may have stored first, or storing may have
    // failed.
    match cache.load(key).and_then(|bytes| call.decode(&bytes)) {
        found if found == best => Ok(best),
        Some(other) if call.admits(other)? => Ok(Some(other)),
        _ => first(call, &candidates),
    }
}

fn first<T: Tunable>(call: &mut T, candidates: &[T::Algorithm]) -> DeviceResult<Option<T::Algorithm>> {
    for &candidate in candidates {
        if call.admits(candidate)? {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

/// The candidate with the least measured time; `None` if none runs.
fn fastest<T: Tunable>(
    streams: &Streams,
    call: &mut T,
    candidates: &[T::Algorithm],
) -> DeviceResult<Option<T::Algorithm>> {
    let mut able = Vec::new();
    let mut trial = T::trial(Duration::ZERO);
    let mut begun = Instant::now();
    for &candidate in candidates {
        if !call.admits(candidate)? {
            continue;
        }
        able.push(candidate);
        if able.len() == 1 {
            // The first run loaded the kernels, the second one measures.
            let first = begun.elapsed();
            begun = Instant::now();
            let mut again = || streams.runs(|stream| call.enqueue(candidate, stream));
            let once = if first < 10 * LONG && again()? { begun.elapsed() } else { first };
            trial = T::trial(once);
            begun = Instant::now();
        }
        if able.len() >= trial.candidates || begun.elapsed() > T::PATIENCE {
            break;
        }
    }
    if able.len() < 2 {
        return Ok(able.first().copied());
    }
    let runs = (trial.repeats, trial.rounds);
    let times = streams.times(able.len(), runs, |at, stream| call.enqueue(able[at], stream))?;
    Ok(pick(&times).map(|at| able[at]))
}

/// How candidates are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrialOptions {
    /// Maximum number of candidates.
    pub(super) candidates: usize,
    /// Runs of each candidate in a row.
    pub(super) repeats: usize,
    /// Repetitions of the whole trial; the best time of each candidate counts.
    pub(super) rounds: usize,
}

impl TrialOptions {
    /// The trial for a call that takes `once` per run.
    fn of(once: Duration) -> TrialOptions {
        if once >= LONG {
            return TrialOptions { candidates: 1, repeats: 0, rounds: 0 };
        }
        match once.as_micros() as usize {
            1000.. => TrialOptions { candidates: 4, repeats: 1, rounds: 2 },
            micros => TrialOptions { candidates: 16, repeats: (100 / micros.max(1)).clamp(1, 4), rounds: 3 },
        }
    }
}

/// The position of the first time that is not clearly above the least; see [`CLEARLY`].
fn pick(times: &[Duration]) -> Option<usize> {
    let least = times.iter().min()?.as_secs_f64();
    times.iter().position(|time| time.as_secs_f64() * CLEARLY <= least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_librarys_order_holds_among_the_nearly_equal() {
        let pick = |times: &[u64]| {
            let times: Vec<Duration> = times.iter().map(|t| Duration::from_micros(*t)).collect();
            super::pick(&times)
        };
        assert_eq!(pick(&[]), None);
        assert_eq!(pick(&[500]), Some(0));
        assert_eq!(pick(&[1000, 990, 985]), Some(0));
        assert_eq!(pick(&[1000, 1000, 900]), Some(2));
        // The second is nearly as fast as the fastest.
        assert_eq!(pick(&[1000, 909, 900, 950]), Some(1));
    }

    #[test]
    fn trials_are_short() {
        let mut least = usize::MAX;
        for micros in [0, 5, 20, 100, 900, 1000, 9000, 10_000, 1_000_000] {
            let TrialOptions { candidates, repeats, rounds } =
                TrialOptions::of(Duration::from_micros(micros));
            let each = repeats * rounds;
            assert!(each as u64 * micros <= 20_000, "{micros} us: {repeats} x {rounds}");
            assert!(candidates >= 1 && candidates * each <= least);
            least = candidates * each;
        }
        assert_eq!(least, 0, "a second is too long to try anything");
    }
}
