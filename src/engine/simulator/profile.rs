//! Profiles: calls with every kernel timed on the device, as a table, and (in `json`) as JSON and as a trace.

mod json;

use super::Simulator;
use crate::engine::run::StepWork;
use crate::error::Result;
use crate::function::{ArgsIn, Count, IntoArgs};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::{Duration, Instant};

/// Maximum number of launches in the trace; the totals count all.
const SLICES: usize = 1 << 20;

/// The result of [`Simulator::profile`]. `{}` is a table of the kernels, longest total time first.
///
/// Times are measured by the device. On CUDA a kernel's time runs from the end of the previous kernel to its
/// own end, so it includes about a microsecond of latency, as in a call; on OpenCL it runs from its start to
/// its end; on the host it is wall-clock time. Bytes and flops are predicted: the minimum that the kernel
/// must move and compute. The achieved bandwidth is therefore at least the value shown.
#[derive(Clone, Debug)]
pub struct Profile {
    device: String,
    device_name: String,
    method: String,
    calls: u64,
    elapsed: Duration,
    kernels: Vec<KernelTime>,
    slices: Vec<Slice>,
    dropped: u64,
}

/// A kernel of a [`Profile`], over all calls.
#[derive(Clone, Debug)]
pub struct KernelTime {
    /// The name. A kernel's starts as in [`Simulator::sources`]; others are descriptions. If the method runs
    /// in several contexts, the name of the context comes first.
    pub name: String,
    /// `kernel`, `library` (code of the device's own), `copy` (of a new value to its shared variable), or
    /// `host` (an op the device lacks).
    pub kind: &'static str,
    /// How often it ran.
    pub launches: u64,
    /// The total time of all launches.
    pub total: Duration,
    /// Minimum number of bytes that one launch reads and writes.
    pub bytes: u64,
    /// Arithmetic operations of one launch.
    pub flops: u64,
}

/// One launch.
#[derive(Clone, Copy, Debug)]
struct Slice {
    kernel: usize,
    call: u64,
    start: Duration,
    took: Duration,
}

impl KernelTime {
    /// Bytes per second, in units of 1e9.
    pub fn gigabytes_per_second(&self) -> f64 {
        rate(self.bytes, self.launches, self.total)
    }

    /// Operations per second, in units of 1e9.
    pub fn gigaflops_per_second(&self) -> f64 {
        rate(self.flops, self.launches, self.total)
    }
}

/// 0 where no time passed.
fn rate(amount: u64, launches: u64, total: Duration) -> f64 {
    let nanoseconds = total.as_nanos() as f64;
    if nanoseconds > 0.0 { amount as f64 * launches as f64 / nanoseconds } else { 0.0 }
}

impl Profile {
    /// The kernels, longest total time first.
    pub fn kernels(&self) -> &[KernelTime] {
        &self.kernels
    }

    /// The number of calls.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The total time of all kernels.
    pub fn total(&self) -> Duration {
        self.kernels.iter().map(|k| k.total).sum()
    }

    /// Wall-clock time from the start of the first call to the end of the last. What exceeds
    /// [`Profile::total`] is time of the host, mostly for measuring.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// A kernel's share of the total time, from 0 to 1.
    fn share(&self, kernel: &KernelTime) -> f64 {
        let total = self.total().as_secs_f64();
        if total > 0.0 { kernel.total.as_secs_f64() / total } else { 0.0 }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_call = |time: Duration| time.as_secs_f64() * 1e6 / self.calls.max(1) as f64;
        writeln!(
            f,
            "{} on {} ({}): {} calls, {:.2} us each on the device",
            self.method,
            self.device,
            self.device_name,
            self.calls,
            per_call(self.total())
        )?;
        let heads = ["launches", "us/launch", "share", "GB/s", "GFLOP/s"];
        let [a, b, c, d, e] = heads;
        write!(f, "{a:>8} {b:>11} {c:>7} {d:>9} {e:>9}  kernel")?;
        for k in &self.kernels {
            let each = k.total.as_secs_f64() * 1e6 / k.launches.max(1) as f64;
            write!(
                f,
                "\n{:>8} {each:>11.2} {:>6.1}% {:>9.1} {:>9.1}  {}",
                k.launches,
                100.0 * self.share(k),
                k.gigabytes_per_second(),
                k.gigaflops_per_second(),
                k.name
            )?;
        }
        Ok(())
    }
}

impl Simulator {
    /// Calls the first method `n` times, as [`Simulator::run_n`] does, and returns the time of every kernel.
    /// Updates are kept, as there. Planning and compilation are not included in the times.
    ///
    /// # Errors
    /// As [`Simulator::run_n`].
    pub fn profile<'a>(&mut self, n: impl Count, args: impl IntoArgs<'a>) -> Result<Profile> {
        self.profile_at(0, n.count()?, args.into_args())
    }

    pub(super) fn profile_at(&mut self, method: usize, n: u64, args: ArgsIn<'_>) -> Result<Profile> {
        self.with_states(method, args, |simulator, args| simulator.profile_bound(method, n, args))
    }

    fn profile_bound(&mut self, method: usize, n: u64, args: ArgsIn<'_>) -> Result<Profile> {
        let (constant, each) = self.call_inputs(method, args, Some(n))?;
        let mut calls = ProfileTotals::default();
        let ran =
            self.executor.run_n_timed(method, n, &constant, &each, |start, steps| calls.add(start, steps));
        if n > 0 {
            self.note_updates(method);
        }
        ran?;
        self.executor.finish()?;
        let (device, device_name) = self.device_names(method);
        let mut profile = Profile {
            device,
            device_name,
            method: self.methods[method].name.clone(),
            calls: n,
            elapsed: calls.elapsed,
            kernels: calls.kernels,
            slices: calls.slices,
            dropped: calls.dropped,
        };
        profile.sort();
        Ok(profile)
    }

    /// The id and the name of a method's device; of several contexts, those of each.
    fn device_names(&self, method: usize) -> (String, String) {
        let pieces = self.executor.pieces(method);
        let parts: BTreeSet<usize> = pieces.iter().map(|piece| piece.part).collect();
        let properties = parts.iter().map(|&part| {
            let properties = self.executor.engine(part).device().properties();
            match self.executor.context_name(part).filter(|_| parts.len() > 1) {
                Some(name) => (format!("{name} ({})", properties.id), properties.name.clone()),
                None => (properties.id.clone(), properties.name.clone()),
            }
        });
        let (ids, names): (Vec<String>, Vec<String>) = properties.unzip();
        (ids.join(", "), names.join(", "))
    }
}

impl Profile {
    /// Sorts the kernels, longest total time first.
    fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.kernels.len()).collect();
        order.sort_by_key(|&k| std::cmp::Reverse(self.kernels[k].total));
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        self.slices.iter_mut().for_each(|slice| slice.kernel = place[slice.kernel]);
        self.kernels = order.iter().map(|&old| self.kernels[old].clone()).collect();
    }
}

/// Sums over calls.
#[derive(Default)]
struct ProfileTotals {
    known: HashMap<StepWork, usize>,
    kernels: Vec<KernelTime>,
    slices: Vec<Slice>,
    dropped: u64,
    began: Option<Instant>,
    elapsed: Duration,
    count: u64,
    /// The end of the trace's last slice.
    end: Duration,
}

impl ProfileTotals {
    fn add(&mut self, start: Instant, steps: Vec<(StepWork, Duration)>) {
        let began = *self.began.get_or_insert(start);
        self.elapsed = began.elapsed();
        self.end = self.end.max(start - began);
        for (work, took) in steps {
            let kernel = *self.known.entry(work).or_insert_with_key(|work| {
                let StepWork { name, kind, bytes, flops } = work.clone();
                let (launches, total) = (0, Duration::ZERO);
                self.kernels.push(KernelTime { name, kind, launches, total, bytes, flops });
                self.kernels.len() - 1
            });
            self.kernels[kernel].launches += 1;
            self.kernels[kernel].total += took;
            if self.slices.len() < SLICES {
                self.slices.push(Slice { kernel, call: self.count, start: self.end, took });
            } else {
                self.dropped += 1;
            }
            self.end += took;
        }
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn trained(n: u64) -> (Simulator, Profile) {
        let (x, w) = (matrix::<f32>("x"), shared("w", Array2::<f32>::ones((8, 4))));
        let cost = x.dot(&w).tanh().sum(..);
        let g = grad(&cost, [&w]).unwrap();
        let f = function([&x]).output(&cost).update(&w, &w - 0.5 * &g[0]).name("train").compile().unwrap();
        let mut sim = f.optimize(Host::threads(1)).unwrap();
        let profile = sim.profile(n, args![Array2::<f32>::ones((16, 8))]).unwrap();
        (sim, profile)
    }

    #[test]
    fn the_calls_are_real_and_every_launch_is_counted() {
        let (sim, profile) = trained(3);
        let (mut plain, none) = trained(0);
        assert_eq!(none.kernels().len(), 0);
        assert_ne!(sim.get_value("w").unwrap(), plain.get_value("w").unwrap());
        plain.run_n(3, args![Array2::<f32>::ones((16, 8))]).unwrap();
        assert_eq!(sim.get_value("w").unwrap(), plain.get_value("w").unwrap());
        assert!(profile.kernels().iter().all(|k| k.launches.is_multiple_of(3) && !k.total.is_zero()));
        assert!(profile.total() <= profile.elapsed());
        // Either of the two products may take longer.
        let mut products = profile.kernels().iter().filter(|k| k.name.starts_with("matmul"));
        let plain = (4 * (16 * 8 + 8 * 4 + 16 * 4), 2 * 16 * 8 * 4);
        assert!(products.any(|k| (k.bytes, k.flops) == plain), "{profile}");
        let sorted = profile.kernels().windows(2).all(|k| k[0].total >= k[1].total);
        assert!(sorted, "{profile}");
        let source = sim.explain();
        assert!(profile.kernels().iter().filter(|k| k.kind == "kernel").all(|k| {
            let name = k.name.split_once(' ').unwrap().1;
            source.contains(name)
        }));
        assert!(profile.to_string().lines().count() == 2 + profile.kernels().len(), "{profile}");
    }

    #[test]
    fn sequences_are_taken_slice_by_slice() {
        let x = vector::<f32>("x");
        let total = shared("total", 0f32);
        let f = function([&x]).output(&total).update(&total, &total + x.sum(..)).compile().unwrap();
        let mut sim = f.optimize(Host::threads(1)).unwrap();
        let xs = array![[1f32, 2.0], [3.0, 4.0], [5.0, 6.0]];
        sim.profile(3, args![each(xs)]).unwrap();
        assert_eq!(sim.get_value("total").unwrap().item::<f32>().unwrap(), 21.0);
        assert!(sim.profile(2, args![each(array![[1f32, 2.0]])]).is_err());
    }

    #[test]
    fn json_and_trace_hold_what_the_table_shows() {
        let (_, profile) = trained(2);
        let (json, trace) = (profile.to_json(), profile.to_trace());
        assert!(json.starts_with(r#"{"device":"host","#) && json.contains(r#""calls":2,"#), "{json}");
        for kernel in profile.kernels() {
            assert!(
                json.contains(&format!(r#"{{"name":"{}","kind":"{}""#, kernel.name, kernel.kind)),
                "{json}"
            );
        }
        let launches: u64 = profile.kernels().iter().map(|k| k.launches).sum();
        assert_eq!(trace.matches(r#""ph":"X""#).count() as u64, launches, "{trace}");
        let shares: f64 = profile.kernels().iter().map(|k| profile.share(k)).sum();
        assert!((shares - 1.0).abs() < 1e-9);
        assert!(profile.slices.windows(2).all(|s| s[0].start + s[0].took <= s[1].start));
    }
}
