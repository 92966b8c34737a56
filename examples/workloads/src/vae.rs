//! A variational autoencoder (D. Kingma and M. Welling, "Auto-encoding variational Bayes", 2014) of
//! handwritten digits: minibatches drawn on the device, a checkpoint without the data set, and the decoder
//! alone in a file, which a server answers requests with. docs/training.md explains the parts.

use crate::digits::{self, PIXELS};
use crate::pictures::Picture;
use crate::{Device, temporary_file};
use ndarray::Axis;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use workalike::prelude::*;
use workalike::{Error, Result};

const LATENT: usize = 8;
const HIDDEN: usize = 128;
const BATCH: usize = 64;
const TRAIN: usize = 1500; // of 1797 images
const STEPS: usize = 600;

/// A layer, whose weights become parameters of the model.
fn layer(
    model: &mut Parameters,
    streams: &RandomStreams,
    name: &str,
    sizes: [usize; 2],
) -> Result<impl Fn(&Variable) -> Variable + use<>> {
    let w = model.shared(&format!("{name}.w"), glorot_uniform::<f32>(streams, &sizes)?);
    let b = model.shared(&format!("{name}.b"), Value::zeros(DType::F32, &sizes[1..])?);
    Ok(move |x: &Variable| x.dot(&w) + &b)
}

fn functions(images: &Value) -> Result<Bundle> {
    let (streams, model) = (&RandomStreams::new(7), &mut Parameters::new());
    let hidden = layer(model, streams, "hidden", [PIXELS, HIDDEN])?;
    let mean = layer(model, streams, "mean", [HIDDEN, LATENT])?;
    let log_variance = layer(model, streams, "log_variance", [HIDDEN, LATENT])?;
    let wide = layer(model, streams, "wide", [LATENT, HIDDEN])?;
    let pixels = layer(model, streams, "pixels", [HIDDEN, PIXELS])?;

    let decoder = |z: &Variable| pixels(&wide(z).relu());
    // The lower bound of the log likelihood, of any number of images.
    let bound = |x: &Variable| {
        let h = hidden(x).relu();
        let (m, log_v) = (mean(&h), log_variance(&h));
        let z = &m + streams.normal::<f32>(like(&m)) * (0.5 * &log_v).exp();
        let likelihood = -binary_crossentropy_with_logits(decoder(&z), x).sum(1);
        let divergence = -0.5 * (1.0 + &log_v - m.sqr() - log_v.exp()).sum(1);
        (likelihood - divergence).mean(..)
    };

    let data = shared("data", images).transient();
    let reached = bound(&data.take(streams.choice(TRAIN, BATCH), 0));
    let updates = adam(&*model, grad(&-&reached, &*model)?, 2e-3)?;
    let (x, z) = (matrix::<f32>("x"), matrix::<f32>("z"));
    let train = function(()).output_named("bound", reached).updates(updates).compile()?;
    let test = function([&x]).output_named("bound", bound(&x)).compile()?;
    let decode = function([&z]).output_named("images", decoder(&z).sigmoid()).compile()?;
    Ok(Bundle::new().with("train", &train).with("test", &test).with("decode", &decode))
}

/// Answers `GET /?n=16&seed=3` with a picture of samples.
fn answer(decode: &mut Simulator, stream: TcpStream) -> Result<()> {
    let failed = |error: std::io::Error| Error::Format { what: "request".into(), message: error.to_string() };
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).map_err(failed)?;
    let number = |key| {
        let rest = line.split_once(key)?.1;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let (n, seed) = (number("n=").unwrap_or(16).clamp(1, 256), number("seed=").unwrap_or(0));
    let z = RandomStreams::new(seed).draw_normal::<f32>([n, LATENT as u64])?;
    let png =
        Picture::grid(&decode.call(args![z])?["images"].to_vec()?, 8, n.min(16) as usize, 4).to_png()?;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: {}\r\n\r\n", png.len());
    (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(&png)).map_err(failed)
}

/// Serves the decoder of a file, and asks for pictures; returns their sizes in bytes.
fn serve(file: &Path, device: &Device, requests: usize) -> Result<Vec<usize>> {
    let failed = |error: std::io::Error| Error::Format { what: "server".into(), message: error.to_string() };
    let mut sim = Function::load(file)?.optimize(device.clone().dynamic())?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let asker = std::thread::spawn(move || {
        let ask = |request: usize| {
            let (mut stream, mut reply) = (TcpStream::connect(address)?, vec![]);
            write!(stream, "GET /?n={}&seed={request} HTTP/1.1\r\n\r\n", 1 + request * 29 % 64)?;
            stream.read_to_end(&mut reply).map(|_| reply.len())
        };
        (0..requests).map(ask).collect::<std::io::Result<_>>()
    });
    for stream in listener.incoming().take(requests) {
        answer(&mut sim, stream.map_err(failed)?)?;
    }
    asker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(failed)
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let (images, _) = digits::load()?;
    let mut sim = functions(&images)?.optimize(device)?;
    let mut curve = sim.run_n_collect(STEPS / 2, args![])?["bound"].to_vec::<f32>()?;
    let file = temporary_file("vae");
    sim.save(&file)?;
    let rest = sim.run_n_collect(STEPS / 2, args![])?["bound"].to_vec::<f32>()?;

    // What another process does: all but the data is in the file, also Adam's moments and the streams.
    let saved = Bundle::load(&file)?;
    saved["train"].shared("data")?.set_value(&images)?;
    let mut resumed = saved.optimize(device)?;
    let again = resumed.run_n_collect(STEPS / 2, args![])?["bound"].to_vec::<f32>()?;
    assert_eq!(rest, again, "a resumed run has equal bits");
    curve.extend(rest);
    Picture::curve(&curve, 600, 200).keep("vae_bound")?;

    let unseen = images.view::<f32>()?.slice_axis(Axis(0), (TRAIN..).into()).to_owned();
    let held_out = sim.method("test")?.call(args![unseen])?["bound"].item::<f32>()?;
    assert!(held_out > -28.0, "the bound of unseen images is {held_out}");

    // The decoder alone, as an expression in a Function with samples of its own; and served.
    sim.sync_to_parent()?;
    sim.bundle()["decode"].save(&file)?;
    let z = RandomStreams::new(99).normal::<f32>([64, LATENT]);
    let samples = function(()).output(Function::load(&file)?.apply([&z])?.remove(0)).compile()?;
    let samples = samples.call(args![])?[0].to_vec::<f32>()?;
    assert!(samples.iter().all(|ink| (0.0..=1.0).contains(ink)));
    Picture::grid(&samples, 8, 16, 4).keep("vae_samples")?;
    let sizes = serve(&file, device, 20)?;
    let _ = std::fs::remove_file(&file);
    Ok(format!(
        "bound {:.1}, in the end {:.1}, of unseen images {held_out:.1}; {} pictures served",
        curve[0],
        curve[STEPS - 1],
        sizes.len()
    ))
}
