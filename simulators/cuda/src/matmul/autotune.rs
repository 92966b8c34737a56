//! Which of the library's algorithms computes a product: the one that was kept, else the one that takes the
//! least time.
//!
//! What a library takes for the fastest seldom is by far not, but for products of middling size another is
//! often a tenth faster. So what it offers is timed, each candidate some times over in one graph, as it will
//! run later, and the choice is kept on disk. A choice by the clock that is not kept would make two runs of a
//! program differ in their last bits: where there is no cache, the library's first candidate is taken,
//! untimed. So it is for products too small for the choice to matter, and for those so large that each
//! candidate keeps the device busy for long.

use super::Products;
use super::cublaslt::{Algorithm, Light};
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

/// Below this a product takes about as long as its launch.
const FLOPS: f64 = (1 << 24) as f64;
/// How long candidates' kernels are loaded. A library of halves takes milliseconds for each.
const PATIENCE: Duration = Duration::from_millis(10);
/// A candidate is preferred to those that the library puts before it if it takes less than this part of their
/// time.
const CLEARLY: f64 = 0.98;
/// Choices remembered at most; beyond it they are read from disk again.
const REMEMBERED: usize = 4096;

/// The algorithm of a call, with its kernels loaded; `None` if the library has none. It is tried into
/// scratch: what the call would write is not touched, the rest only read.
pub(super) fn choose(
    products: &Products,
    light: &Light,
    call: &Call,
    at: At,
) -> DeviceResult<Option<Algorithm>> {
    // Of this process, so that all device objects of a device choose alike.
    static CHOSEN: Mutex<Option<HashMap<Key, Algorithm>>> = Mutex::new(None);
    let queue = &products.queue;
    let key = Place::of(&queue.context, light.version(), products.workspace_bytes())?.key(call);
    let cache = KernelCache::of_process();
    // Held meanwhile: two timings at once would disturb each other.
    let mut chosen = lock(&CHOSEN);
    let chosen = chosen.get_or_insert_with(HashMap::new);
    let known = chosen.get(&key).copied().or_else(|| plan_cache::load(cache, &key));
    let scratch = products.scratch(call)?;
    if let Some(known) = known
        && light.accepts(call, known)?
    {
        // Without scratch memory the kernels are loaded in the capture, if they can be; one that breaks says
        // so.
        let loaded = match &scratch {
            Some(scratch) => runs(products, light, call, known, at.into(scratch.pointer()))?,
            None => true,
        };
        if loaded {
            remember(chosen, key, known);
            return Ok(Some(known));
        }
    }
    let candidates = light.candidates(call)?;
    let Some(scratch) = scratch else {
        // For now: there may be room later.
        return Ok(candidates.first().copied());
    };
    let at = at.into(scratch.pointer());
    let keeps = cache.folder().is_some() && cache.trouble().is_none();
    let first = |candidates: &[Algorithm]| {
        for candidate in candidates {
            if runs(products, light, call, *candidate, at)? {
                return Ok(Some(*candidate));
            }
        }
        Ok(None)
    };
    let timed = keeps && candidates.len() > 1 && call.flops() >= FLOPS;
    let mut best = match timed {
        true => fastest(products, light, call, &candidates, at)?,
        false => first(&candidates)?,
    };
    if let Some(chosen) = best {
        plan_cache::store(cache, &key, chosen);
    }
    // What later processes will find is what counts: another process may have been faster, or nothing be
    // kept.
    if timed {
        best = match plan_cache::load(cache, &key) {
            found if found == best => best,
            Some(other) if light.accepts(call, other)? && runs(products, light, call, other, at)? => {
                Some(other)
            }
            _ => first(&candidates)?,
        };
    }
    if let Some(best) = best {
        remember(chosen, key, best);
    }
    Ok(best)
}

fn remember(chosen: &mut HashMap<Key, Algorithm>, key: Key, algorithm: Algorithm) {
    if chosen.len() >= REMEMBERED {
        chosen.clear();
    }
    chosen.insert(key, algorithm);
}

/// Runs a call once, which loads its kernels; whether the library did so.
fn runs(products: &Products, light: &Light, call: &Call, algorithm: Algorithm, at: At) -> DeviceResult<bool> {
    let ran = light.run(call, algorithm, at, products.queue.stream.cu_stream()).is_ok();
    // What the device met is an error whatever the library says.
    products.queue.synchronize()?;
    Ok(ran)
}

/// The fastest candidate, by the clock; `None` if none runs.
fn fastest(
    products: &Products,
    light: &Light,
    call: &Call,
    candidates: &[Algorithm],
    at: At,
) -> DeviceResult<Option<Algorithm>> {
    let run = |candidate| runs(products, light, call, candidate, at);
    let mut able: Vec<Algorithm> = Vec::new();
    let mut trial = Trial::of(Duration::ZERO);
    let mut begun = Instant::now();
    for &candidate in candidates {
        if !run(candidate)? {
            continue;
        }
        able.push(candidate);
        if able.len() == 1 {
            // The first run has loaded, the second tells how long one takes.
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
                light.run(call, *candidate, at, stream)?;
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

/// From here on a product is not timed: however it is cut, it fills the device.
const LONG: Duration = Duration::from_millis(10);

/// How candidates are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trial {
    /// How many at most.
    candidates: usize,
    /// How often each runs in a row.
    repeats: usize,
    /// How often all of that is done; the best time of each counts.
    rounds: usize,
}

impl Trial {
    /// That of a product which takes so long.
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

/// The first that is not clearly slower than the fastest.
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
