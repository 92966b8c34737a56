//! The choice of cuBLASLt's algorithm for a product: the one stored on disk, else the fastest.
//!
//! The library's first candidate is seldom much slower than the best one, but for products of middling size
//! another is often 10% faster. So the candidates are timed, several runs of each in one graph, as they run
//! later, and the choice is stored on disk. A timed choice that is not stored would make two runs of a
//! program differ in their last bits: without a cache the library's first candidate is taken, untimed. The
//! same holds for products too small for the choice to matter, and for those so large that one run takes
//! 10 ms.

use super::Products;
use super::cublaslt::{Algorithm, CublasLt};
use super::plan::{At, Call};
use super::plan_cache::{self, Place};
use crate::capture::instantiate;
use crate::context::lock;
use crate::timing::{Events, Timer};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use workalike_device::DeviceResult;
use workalike_device::cache::{KernelCache, Key};

/// Flops below which a product takes about as long as its launch, so that it is not timed.
const FLOPS: f64 = (1 << 24) as f64;
/// Time limit for loading the kernels of candidates. With halves, one kernel takes milliseconds.
const PATIENCE: Duration = Duration::from_millis(10);
/// A candidate is preferred to earlier ones in the library's order if its time is below this fraction of
/// theirs.
const CLEARLY: f64 = 0.98;
/// Maximum number of choices held in memory; beyond it they are read from disk again.
const REMEMBERED: usize = 4096;

/// The algorithm of a call, with its kernels loaded; `None` if the library has none. Trials write their
/// results to scratch memory; the operands of the call are only read.
pub(super) fn choose(
    products: &Products,
    cublas_lt: &CublasLt,
    call: &Call,
    at: At,
) -> DeviceResult<Option<Algorithm>> {
    // Shared by the process, so that all device objects of a device choose alike.
    static CHOSEN: Mutex<Option<HashMap<Key, Algorithm>>> = Mutex::new(None);
    let queue = &products.queue;
    let key = Place::of(&queue.context, cublas_lt.version(), products.workspace_bytes())?.key(call);
    let cache = KernelCache::of_process();
    // Held during the trials: two that are timed at once would disturb each other.
    let mut chosen = lock(&CHOSEN);
    let chosen = chosen.get_or_insert_with(HashMap::new);
    let known = chosen.get(&key).copied().or_else(|| plan_cache::load(cache, &key));
    let scratch = products.scratch(call)?;
    let scratch_at = scratch.as_ref().map(|scratch| at.into(scratch.pointer()));
    if let Some(known) = known
        && is_usable(products, cublas_lt, call, known, scratch_at)?
    {
        remember(chosen, key, known);
        return Ok(Some(known));
    }
    let candidates = cublas_lt.candidates(call)?;
    let Some(scratch_at) = scratch_at else {
        // Not remembered: there may be scratch memory later.
        return Ok(candidates.first().copied());
    };
    let best = choose_candidate(products, cublas_lt, call, &candidates, scratch_at, &key)?;
    if let Some(best) = best {
        remember(chosen, key, best);
    }
    Ok(best)
}

/// Whether the library still accepts an algorithm chosen earlier, and loads its kernels. `scratch_at` has
/// its result in scratch memory; without scratch memory the kernels are loaded in the capture, which fails
/// if they cannot be.
fn is_usable(
    products: &Products,
    cublas_lt: &CublasLt,
    call: &Call,
    known: Algorithm,
    scratch_at: Option<At>,
) -> DeviceResult<bool> {
    if !cublas_lt.accepts(call, known)? {
        return Ok(false);
    }
    match scratch_at {
        Some(at) => runs(products, cublas_lt, call, known, at),
        None => Ok(true),
    }
}

/// Chooses one of the candidates, by time if the choice can be stored on disk, and stores it; `None` if none
/// runs.
fn choose_candidate(
    products: &Products,
    cublas_lt: &CublasLt,
    call: &Call,
    candidates: &[Algorithm],
    at: At,
    key: &Key,
) -> DeviceResult<Option<Algorithm>> {
    let cache = KernelCache::of_process();
    let keeps = cache.folder().is_some() && cache.trouble().is_none();
    let first = || -> DeviceResult<Option<Algorithm>> {
        for candidate in candidates {
            if runs(products, cublas_lt, call, *candidate, at)? {
                return Ok(Some(*candidate));
            }
        }
        Ok(None)
    };
    let timed = keeps && candidates.len() > 1 && call.flops() >= FLOPS;
    let best = match timed {
        true => fastest(products, cublas_lt, call, candidates, at)?,
        false => first()?,
    };
    if let Some(chosen) = best {
        plan_cache::store(cache, key, chosen);
    }
    if !timed {
        return Ok(best);
    }
    // Later processes find what is on disk now. Another process may have stored first, or storing may have
    // failed.
    match plan_cache::load(cache, key) {
        found if found == best => Ok(best),
        Some(other) if cublas_lt.accepts(call, other)? && runs(products, cublas_lt, call, other, at)? => {
            Ok(Some(other))
        }
        _ => first(),
    }
}

fn remember(chosen: &mut HashMap<Key, Algorithm>, key: Key, algorithm: Algorithm) {
    if chosen.len() >= REMEMBERED {
        chosen.clear();
    }
    chosen.insert(key, algorithm);
}

/// Runs a call once, which loads its kernels. Returns whether the library accepted the call.
fn runs(
    products: &Products,
    cublas_lt: &CublasLt,
    call: &Call,
    algorithm: Algorithm,
    at: At,
) -> DeviceResult<bool> {
    let ran = cublas_lt.run(call, algorithm, at, products.queue.stream.cu_stream()).is_ok();
    // An error on the device is an error whatever the library returned.
    products.queue.synchronize()?;
    Ok(ran)
}

/// The candidate with the least measured time; `None` if none runs.
fn fastest(
    products: &Products,
    cublas_lt: &CublasLt,
    call: &Call,
    candidates: &[Algorithm],
    at: At,
) -> DeviceResult<Option<Algorithm>> {
    let run = |candidate| runs(products, cublas_lt, call, candidate, at);
    let mut able: Vec<Algorithm> = Vec::new();
    let mut trial = Trial::of(Duration::ZERO);
    let mut begun = Instant::now();
    for &candidate in candidates {
        if !run(candidate)? {
            continue;
        }
        able.push(candidate);
        if able.len() == 1 {
            // The first run loaded the kernels, the second one measures.
            let first = begun.elapsed();
            begun = Instant::now();
            let once = if first < 10 * LONG && run(candidate)? { begun.elapsed() } else { first };
            trial = Trial::of(once);
            begun = Instant::now();
        }
        if able.len() >= trial.candidates || begun.elapsed() > PATIENCE {
            break;
        }
    }
    if able.len() < 2 {
        return Ok(able.first().copied());
    }
    let queue = &products.queue;
    let events = Events::new(queue, able.len())?;
    let graph = instantiate(queue, &products.capture, |stream| {
        for (position, candidate) in able.iter().enumerate() {
            events.capture(position, stream)?;
            for _ in 0..trial.repeats {
                cublas_lt.run(call, *candidate, at, stream)?;
            }
        }
        events.capture(able.len(), stream)
    })?;
    let mut timer = Timer::new(graph, events);
    let mut times = vec![Duration::MAX; able.len()];
    for _ in 0..trial.rounds {
        for (best, time) in times.iter_mut().zip(timer.run()?) {
            *best = time.min(*best);
        }
    }
    Ok(pick(&times).map(|at| able[at]))
}

/// Products that take at least this long are not timed: they fill the device with any algorithm.
const LONG: Duration = Duration::from_millis(10);

/// How candidates are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trial {
    /// Maximum number of candidates.
    candidates: usize,
    /// Runs of each candidate in a row.
    repeats: usize,
    /// Repetitions of the whole trial; the best time of each candidate counts.
    rounds: usize,
}

impl Trial {
    /// The trial for a product of which one run takes `once`.
    fn of(once: Duration) -> Trial {
        if once >= LONG {
            return Trial { candidates: 1, repeats: 0, rounds: 0 };
        }
        match once.as_micros() as usize {
            1000.. => Trial { candidates: 4, repeats: 1, rounds: 2 },
            micros => Trial { candidates: 16, repeats: (100 / micros.max(1)).clamp(1, 4), rounds: 3 },
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
            let Trial { candidates, repeats, rounds } = Trial::of(Duration::from_micros(micros));
            let each = repeats * rounds;
            assert!(each as u64 * micros <= 20_000, "{micros} us: {repeats} x {rounds}");
            assert!(candidates >= 1 && candidates * each <= least);
            least = candidates * each;
        }
        assert_eq!(least, 0, "a second is too long to try anything");
    }
}
