//! `workalike demo`: from expression to file to device and back, on real data.
//!
//! A softmax classifier and a network learn handwritten digits. What is shown is the way of a Function: compiled, saved,
//! loaded, re-hosted, trained on a device in steps that do not come back to the host, synced, and called on the CPU.

use crate::builtins;
use crate::devices::{Place, Wish, survey};
use crate::digits::{Images, shuffled, split};
use crate::report::{Failure, Result, While, printable, say, seconds};
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Instant;
use workalike::prelude::*;

/// Images in a step.
const BATCH: usize = 32;
/// What the network must reach on images it never saw.
const GOAL: f64 = 0.95;
/// How long a device is timed, in seconds.
const TIMED: f64 = 0.25;

/// A model of the bundle, and how long it learns.
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

/// Runs the demonstration. An error if the network did not learn.
pub(crate) fn demo(wish: Wish) -> Result<()> {
    let start = Instant::now();
    let (learn, held_out) = split()?;
    say(&format!("{} images of handwritten digits to learn from, {} held out", learn.len(), held_out.len()))?;
    let bundle = compile_save_load()?;
    say(&format!(
        "compiled, saved and loaded; untrained, the network is right about {} of the held-out images",
        percent(accuracy(&bundle[NETWORK.predict], &held_out)?)
    ))?;

    let mut simulator = bundle[NETWORK.train].optimize(wish.choose())?;
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

    let (x, y) = learn.batches(&shuffled(learn.len(), 0)[..BATCH], BATCH)?;
    let (x, y) = (x.reshaped(&x.shape()[1..])?, y.reshaped(&y.shape()[1..])?);
    say(&format!("time of one training step of the network, {BATCH} images:"))?;
    time_devices(&bundle[NETWORK.train], &x, &y)?;
    say(&format!("done in {}", seconds(start.elapsed().as_secs_f64())))?;
    if network < GOAL {
        let (network, goal) = (percent(network), percent(GOAL));
        return Err(Failure::new(format!(
            "the network is right about {network} of the held-out images; at least {goal} was expected"
        )));
    }
    Ok(())
}

/// The bundle as another program on another machine would have it: through a file.
fn compile_save_load() -> Result<Bundle> {
    let folder = tempfile::tempdir().during("a temporary folder")?;
    let file = folder.path().join("digits.walk");
    builtins::digits()?.save(&file)?;
    Ok(Bundle::load(&file)?)
}

fn percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

/// Which part of the images the Function is right about, on the CPU.
fn accuracy(predict: &Function, images: &Images) -> Result<f64> {
    right(&predict.call(args![images.x()?])?, images)
}

fn right(outputs: &Outputs, images: &Images) -> Result<f64> {
    let labels = outputs[0].to_vec::<i64>()?;
    let right = labels.iter().zip(images.labels()).filter(|(a, b)| a == b).count();
    Ok(right as f64 / images.len() as f64)
}

/// Trains a model on the device: one epoch is one `run_n`, so the host is not asked between steps.
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
        let costs = simulator.run_n_collect(model.train, count, args![each(xs), each(ys)])?;
        let costs = costs[0].to_f64s();
        let cost = costs.iter().sum::<f64>() / costs.len() as f64;
        let accuracy = right(&simulator.call_method(model.predict, args![&x])?, held_out)?;
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

/// Times a training step on every device. One that fails is reported, and ends nothing.
fn time_devices(train: &Function, x: &Value, y: &Value) -> Result<()> {
    let survey = survey()?;
    for device in &survey.devices {
        let line = match &device.problem {
            Some(problem) => format!("cannot be used: {}", printable(problem)),
            None => match time_step(train, device.place, x, y) {
                Ok(step) => seconds(step),
                Err(failure) => format!("failed: {failure}"),
            },
        };
        say(&format!("  {:<12} {line:>9}  {}", device.id, printable(&device.name)))?;
    }
    for (api, why) in &survey.absent {
        say(&format!("  {api:<12} none: {}", printable(why)))?;
    }
    Ok(())
}

/// Seconds of a step, on copies of the weights; the outputs of the last step have come back when the clock stops.
fn time_step(train: &Function, place: Place, x: &Value, y: &Value) -> Result<f64> {
    let mut simulator = train.fork()?.optimize(place)?;
    let mut time = |steps: u64| -> Result<f64> {
        let start = Instant::now();
        simulator.run_n(steps, args![x, y])?;
        Ok(start.elapsed().as_secs_f64())
    };
    // The first round compiles; it is not measured.
    time(16)?;
    let mut steps = 64;
    loop {
        let took = time(steps)?;
        if took >= TIMED {
            return Ok(took / steps as f64);
        }
        steps = (steps as f64 * (1.2 * TIMED / took.max(1e-6)).clamp(2.0, 100.0)) as u64;
    }
}
