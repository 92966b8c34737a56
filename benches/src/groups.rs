//! Groups of GPUs: exchanges by themselves, and data parallel training beside one GPU.

use crate::network;
use std::sync::Barrier;
use std::time::Instant;
use workalike::cuda::Cuda;
use workalike::prelude::*;
use workalike::{Error, Result};

/// Repeats of a measurement; the median is reported.
const REPEATS: usize = 7;
/// The bytes of the arrays that are summed.
pub(crate) const SUMMED: [usize; 4] = [4 << 10, 256 << 10, 4 << 20, 256 << 20];

/// What members of one process are called in the rows.
const FORM: &str = "group";

/// A network, the rows of a step on each GPU, and the steps of a measurement.
pub(crate) struct Training {
    pub(crate) name: &'static str,
    pub(crate) layers: &'static [usize],
    pub(crate) rows: usize,
    pub(crate) steps: u64,
}

pub(crate) const TRAININGS: [Training; 3] = [
    Training { name: "50M parameters", layers: &network::MILLIONS, rows: 8192, steps: 10 },
    Training { name: "50M parameters, small batch", layers: &network::MILLIONS, rows: 512, steps: 20 },
    Training { name: "digits", layers: &[64, 128, 10], rows: 32, steps: 5_000 },
];

/// Prints rows of JSON for groups of so many GPUs.
pub(crate) fn rows(gpus: usize) -> Result<()> {
    for bytes in SUMMED {
        print("all_reduce", &format!("{bytes} bytes, {gpus} GPUs"), FORM, sums(gpus, bytes)?);
    }
    for work in TRAININGS {
        for (count, rows) in [(1, work.rows), (gpus, work.rows * gpus), (gpus, work.rows)] {
            let variant = format!("{}, {rows} rows, {count} GPUs", work.name);
            let (divided, us) = training(&work, count, rows, false)?;
            print("data_parallel", &variant, FORM, us);
            if !divided {
                let variant = format!("{variant}, always divided");
                print("data_parallel", &variant, FORM, training(&work, count, rows, true)?.1);
            }
        }
    }
    Ok(())
}

/// The median of some times, which become ordered.
pub(crate) fn median(mut us: Vec<f64>) -> f64 {
    us.sort_by(f64::total_cmp);
    us[us.len() / 2]
}

pub(crate) fn print(work: &str, variant: &str, form: &str, us: Vec<f64>) {
    let [least, most] = [us.iter().copied().fold(f64::MAX, f64::min), us.iter().copied().fold(0.0, f64::max)];
    let middle = median(us);
    println!(
        r#"{{"work": "{work}", "variant": "{variant}", "lib": "workalike", "form": "{form}", "us": {middle}, "us_min": {least}, "us_max": {most}}}"#
    );
}

/// Microseconds of a sum over all members, whose inputs and results stay on the GPUs.
fn sums(gpus: usize, bytes: usize) -> Result<Vec<f64>> {
    let x = vector::<f32>("x");
    let f = function([&x]).output(x.all_reduce(Reduction::Sum, "g")).compile()?;
    let mut sim = f.optimize(group("g", (0..gpus).map(Cuda::device)))?;
    let meeting = Barrier::new(gpus);
    let meet = || {
        meeting.wait();
    };
    let times = sim.each_member(|_, simulator| repeated_sums(simulator, bytes, meet))?;
    times.into_iter().next().ok_or_else(|| Error::Sync("a group without members".into()))
}

/// Microseconds of a sum, by a member whose Function takes one array; members `meet` before each repeat.
pub(crate) fn repeated_sums(simulator: &mut Simulator, bytes: usize, meet: impl Fn()) -> Result<Vec<f64>> {
    let calls = (64 << 20) / bytes.max(1 << 16) + 20;
    let given = simulator.upload(vec![1f32; bytes / 4])?;
    let mut repeat = || -> Result<f64> {
        meet();
        let start = Instant::now();
        for _ in 0..calls {
            simulator.call_device(args![&given])?;
        }
        simulator.synchronize()?;
        Ok(start.elapsed().as_secs_f64() * 1e6 / calls as f64)
    };
    repeat()?;
    (0..REPEATS).map(|_| repeat()).collect()
}

/// Whether so many GPUs divide a step, and its microseconds; they share the rows.
pub(crate) fn training(
    work: &Training,
    gpus: usize,
    rows: usize,
    always_divided: bool,
) -> Result<(bool, Vec<f64>)> {
    let [x, y] = network::batch(work.layers, rows)?;
    let f = network::step(work.layers, network::weights)?;
    let mut divided = true;
    let mut run: Box<dyn FnMut(u64) -> Result<()>> = if gpus == 1 {
        let mut sim = f.optimize(Cuda::device(0))?;
        Box::new(move |steps| sim.run_n(steps, args![&x, &y])?[0].item::<f32>().map(|_| ()))
    } else {
        let members = group("g", (0..gpus).map(Cuda::device));
        let members = if always_divided { members.always_divided() } else { members };
        let mut sim = f.data_parallel("g", ["x", "y"])?.optimize(members)?;
        divided = sim.divides(args![&x, &y])?;
        Box::new(move |steps| sim.run_n(steps, args![&x, &y])?[0].item::<f32>().map(|_| ()))
    };
    Ok((divided, steps_of(work.steps, &mut *run)?))
}

/// Microseconds of a step, by runs of so many and of three times as many: the difference leaves out the
/// copies of the inputs and of the result.
pub(crate) fn steps_of(steps: u64, mut run: impl FnMut(u64) -> Result<()>) -> Result<Vec<f64>> {
    let mut timed = |steps| -> Result<f64> {
        let start = Instant::now();
        run(steps)?;
        Ok(start.elapsed().as_secs_f64())
    };
    timed(steps * 3)?;
    let mut repeat = || Ok((timed(steps * 3)? - timed(steps)?) * 1e6 / (2 * steps) as f64);
    (0..REPEATS).map(|_| repeat()).collect()
}
