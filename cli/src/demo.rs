//! `workalike demo`: from expression to file to device and back, on real data.
//!
//! A softmax classifier and a network learn handwritten digits. The demo shows the life of a Function: it is
//! compiled, saved, loaded, re-hosted, trained on a device by `run_n`, synced, and called on the CPU. Then
//! every other device of the machine runs the same file.

use crate::builtins;
use crate::devices::survey;
use crate::digits::{Images, shuffled, split};
use crate::numbers::seconds;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;
use std::time::Instant;
use workalike::Selector;
use workalike::prelude::*;
use workalike_cli_common::device;
use workalike_cli_common::report::{ErrorContext, Failure, Result, printable, say};

/// Images in a training step.
const BATCH: usize = 32;
/// The share of held-out images that the network must classify correctly.
const GOAL: f64 = 0.95;
/// The number of training steps that are compared, outputs and state, with the portable Function on each
/// device.
const VERIFIED: u64 = 3;
/// The time for which a device is measured, in seconds.
const TIMED: f64 = 0.25;

/// A model of the bundle, and its number of epochs.
struct Model {
    what: &'static str,
    train: &'static str,
    predict: &'static str,
    epochs: u32,
}

const SOFTMAX: Model =
    Model { what: "softmax classifier", train: "softmax_train", predict: "softmax_predict", epochs: 20 };
const NETWORK: Model =
    Model { what: "64-128-10 tanh network", train: "train", predict: "predict", epochs: 40 };

/// Runs the demonstration; an error if the network did not learn.
pub(crate) fn demo(wish: Selector) -> Result<()> {
    let start = Instant::now();
    let (learn, held_out) = split()?;
    say(&format!("{} images of handwritten digits to learn from, {} held out", learn.len(), held_out.len()))?;
    let folder = tempfile::tempdir().during("a temporary folder")?;
    let file = folder.path().join("digits.walk");
    // Another program on another machine would load the same file.
    builtins::digits()?.save(&file)?;
    let bundle = Bundle::load(&file)?;
    say(&format!(
        "compiled, saved and loaded; untrained, the network is right about {} of the held-out images",
        percent(accuracy(&bundle[NETWORK.predict], &held_out)?)
    ))?;

    let mut simulator = bundle[NETWORK.train].optimize(device::choose(wish))?;
    for method in [NETWORK.predict, SOFTMAX.train, SOFTMAX.predict] {
        simulator.add_method(method, &bundle[method])?;
    }
    let device = simulator.device().properties();
    say(&format!("re-hosted on {}: {} ({})", device.id, printable(&device.name), printable(&device.driver)))?;
    for model in [&SOFTMAX, &NETWORK] {
        train(&mut simulator, model, &learn, &held_out)?;
    }

    let synced = simulator.sync_to_parent()?;
    say(&format!("synced back to the portable Functions: {}", synced.join(", ")))?;
    let [softmax, network] = [&SOFTMAX, &NETWORK].map(|model| accuracy(&bundle[model.predict], &held_out));
    let (softmax, network) = (softmax?, network?);
    say(&format!(
        "called on the CPU, they are right about {} (softmax) and {} (network) of the held-out images",
        percent(softmax),
        percent(network)
    ))?;

    bundle.save(&file)?;
    let (x, y) = learn.batches(&shuffled(learn.len(), 0)[..BATCH], BATCH)?;
    let (x, y) = (x.reshaped(&x.shape()[1..])?, y.reshaped(&y.shape()[1..])?);
    let differing = every_device(&file, &x, &y)?;
    say(&format!("done in {}", seconds(start.elapsed().as_secs_f64())))?;
    if network < GOAL {
        let (network, goal) = (percent(network), percent(GOAL));
        return Err(Failure::new(format!(
            "the network is right about {network} of the held-out images; at least {goal} was expected"
        )));
    }
    match differing.is_empty() {
        true => Ok(()),
        false => {
            Err(Failure::new(format!("results differ from the portable Function: {}", differing.join(", "))))
        }
    }
}

fn percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

/// The share of the images that the Function classifies correctly on the CPU.
fn accuracy(predict: &Function, images: &Images) -> Result<f64> {
    right(&predict.call(args![images.x()?])?, images)
}

fn right(outputs: &Outputs, images: &Images) -> Result<f64> {
    let labels = outputs[0].to_vec::<i64>()?;
    let right = labels.iter().zip(images.labels()).filter(|(a, b)| a == b).count();
    Ok(right as f64 / images.len() as f64)
}

/// Trains a model on the device. One epoch is one `run_n`: the host is not involved between iterations.
fn train(simulator: &mut Simulator, model: &Model, learn: &Images, held_out: &Images) -> Result<()> {
    let bar = ProgressBar::new(u64::from(model.epochs));
    let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} epochs, {msg}")
        .during("the progress bar")?;
    bar.set_style(style.progress_chars("=> "));
    bar.set_prefix(model.what);
    let x = held_out.x()?;
    let start = Instant::now();
    let mut steps = 0;
    let mut last = String::new();
    for epoch in 1..=model.epochs {
        let (xs, ys) = learn.batches(&shuffled(learn.len(), epoch), BATCH)?;
        let count = ys.shape()[0] as u64;
        steps += count;
        let costs = simulator.method(model.train)?.run_n_collect(count, args![each(xs), each(ys)])?;
        let costs = costs[0].to_f64s();
        let cost = costs.iter().sum::<f64>() / costs.len() as f64;
        let accuracy = right(&simulator.method(model.predict)?.call(args![&x])?, held_out)?;
        last = format!("cost {cost:.4}, held-out accuracy {}", percent(accuracy));
        bar.set_message(last.clone());
        bar.inc(1);
        if bar.is_hidden() && (epoch == 1 || epoch % 10 == 0) {
            say(&format!("{}: epoch {epoch} of {}, {last}", model.what, model.epochs))?;
        }
    }
    bar.finish_and_clear();
    let took = seconds(start.elapsed().as_secs_f64());
    say(&format!("{}: {steps} steps in {took}, {last}", model.what))
}

/// The results of a device.
struct Rehosted {
    /// Seconds to the end of the first call, which compiles the kernels.
    first: f64,
    /// Seconds per training step.
    step: f64,
}

/// Re-hosts the trained file on every device, verifies training steps against the portable Function and
/// measures them. A device that fails is reported and skipped. Returns the devices with wrong results.
fn every_device(file: &Path, x: &Value, y: &Value) -> Result<Vec<String>> {
    say(&format!(
        "the same file on every device: {VERIFIED} training steps of the network verified, then timed, {BATCH} images each"
    ))?;
    say(&format!("  {:<12} {:>10} {:>10}  {:<12} {}", "device", "first call", "a step", "verified", "name"))?;
    let survey = survey()?;
    let mut differing = Vec::new();
    for device in &survey.devices {
        let (id, name) = (&device.id, printable(&device.name));
        let line = match &device.problem {
            Some(problem) => format!("cannot be used: {}", printable(problem)),
            None => match run_on_device(file, device.selector, x, y) {
                Ok(Ok(Rehosted { first, step })) => {
                    format!("{:>10} {:>10}  {:<12} {name}", seconds(first), seconds(step), "yes")
                }
                Ok(Err(mismatch)) => {
                    differing.push(id.clone());
                    format!("{:>10} {:>10}  {:<12} {name}: {mismatch}", "", "", "NO")
                }
                Err(failure) => format!("failed: {failure}"),
            },
        };
        say(&format!("  {id:<12} {line}"))?;
    }
    for (api, why) in &survey.absent {
        say(&format!("  {api:<12} none: {}", printable(why)))?;
    }
    Ok(differing)
}

/// Verifies and measures training steps on a device; the error names the difference. The time ends when the
/// outputs of the last step are on the host.
fn run_on_device(file: &Path, device: Selector, x: &Value, y: &Value) -> Result<Result<Rehosted, String>> {
    let bundle = Bundle::load(file)?;
    let start = Instant::now();
    let mut simulator = bundle[NETWORK.train].optimize(device)?;
    simulator.run_n(16, args![x, y])?;
    let first = start.elapsed().as_secs_f64();
    let found = simulator.method(NETWORK.train)?.verify(args![x, y], VERIFIED)?;
    if !found.passed() {
        return Ok(Err(found.to_string()));
    }
    let mut time = |steps: u64| -> Result<f64> {
        let start = Instant::now();
        simulator.run_n(steps, args![x, y])?;
        Ok(start.elapsed().as_secs_f64())
    };
    let mut steps = 64;
    loop {
        let took = time(steps)?;
        if took >= TIMED {
            return Ok(Ok(Rehosted { first, step: took / steps as f64 }));
        }
        steps = (steps as f64 * (1.2 * TIMED / took.max(1e-6)).clamp(2.0, 100.0)) as u64;
    }
}
