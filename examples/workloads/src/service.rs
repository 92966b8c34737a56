//! A service: threads answer requests while another thread learns from them and publishes new weights after
//! each lesson. Each answer is computed from weights of one version. docs/serving.md explains the parts.

use crate::Device;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use workalike::prelude::*;
use workalike::{Error, Result};

const FEATURES: usize = 16;
/// Requests of 1 to 64 rows are padded to one of these sizes, so there are two Programs.
const SIZES: [usize; 2] = [8, 64];

/// Does `work`; if the device fails, repeats it on the host, from the weights that were published last.
fn fallback<T>(f: &Function, sim: &mut Simulator, work: impl Fn(&mut Simulator) -> Result<T>) -> Result<T> {
    match work(sim) {
        Err(Error::Device(_) | Error::OutOfMemory { .. }) => {
            *sim = f.optimize(Host::auto())?;
            work(sim)
        }
        done => done,
    }
}

/// `train` and `predict` over the same weights; the version of the weights is a shared variable too.
fn functions() -> Result<Bundle> {
    let streams = RandomStreams::new(5);
    let (x, y, n) = (matrix::<f32>("x"), vector::<i64>("y"), scalar::<i64>("n"));
    let w = shared("w", glorot_uniform::<f32>(&streams, &[FEATURES, 32])?);
    let v = shared("v", glorot_uniform::<f32>(&streams, &[32, 2])?);
    let version = shared("version", 0i64);
    let p = softmax(x.dot(&w).tanh().dot(&v), -1);
    // Rows from n on are padding.
    let costs = where_(arange(x.extent(0)).less(&n), categorical_crossentropy(&p, &y), 0.0);
    let cost = costs.sum(..) / n.cast(DType::F32);
    let updates = adam([&w, &v], grad(&cost, [&w, &v])?, 0.02)?;
    let train = function([&x, &y, &n]).output(cost).updates(updates).update(&version, &version + 1);
    let predict = function([&x]).output_named("p", p).output_named("version", &version);
    Ok(Bundle::new().with("train", &train.compile()?).with("predict", &predict.compile()?))
}

type Rows = Vec<f32>;
/// Padded requests, and the outputs of `predict` for each.
type Answers = Vec<(Value, Outputs)>;

fn padded(mut rows: Rows) -> Result<Value> {
    let size = SIZES.into_iter().find(|size| size * FEATURES >= rows.len()).unwrap_or(64);
    rows.resize(size * FEATURES, 0.0);
    Value::from_vec(&[size, FEATURES], rows)
}

/// Answers requests, each with the weights published last, and sends them to the trainer as lessons.
fn answer(predict: &Function, device: &Device, asked: &[Rows], lessons: SyncSender<Rows>) -> Result<Answers> {
    let mut sim = predict.optimize(device).or_else(|_| predict.optimize(Host::auto()))?;
    let mut answers = Answers::new();
    for rows in asked {
        let x = padded(rows.clone())?;
        let out = fallback(predict, &mut sim, |sim| {
            sim.sync_from_parent()?; // all weights, of one version
            sim.call(args![&x])
        })?;
        answers.push((x, out)); // later rows of p are padding
        if lessons.send(rows.clone()).is_err() {
            break; // the trainer has failed, and reports the error
        }
    }
    Ok(answers)
}

/// Learns from each lesson and publishes the weights. Returns `predict` with each version.
fn learn(bundle: &Bundle, device: &Device, lessons: Receiver<Rows>) -> Result<Vec<Function>> {
    let (train, predict) = (&bundle["train"], &bundle["predict"]);
    let mut sim = train.optimize(device).or_else(|_| train.optimize(Host::auto()))?;
    let mut versions = vec![predict.fork()?];
    for rows in lessons {
        let mut y: Vec<i64> = rows.chunks(FEATURES).map(|row| i64::from(row[0] > row[1])).collect();
        let (n, x) = (y.len() as i64, padded(rows)?);
        y.resize(x.shape()[0], 0);
        fallback(train, &mut sim, |sim| {
            sim.call(args![&x, &y, n])?;
            sim.sync_to_parent()
        })?;
        versions.push(predict.fork()?);
    }
    Ok(versions)
}

/// The share of rows that a version of `predict` classifies correctly.
fn right(predict: &Function, rows: &Value) -> Result<f64> {
    let (p, rows) = (predict.call(args![rows])?["p"].to_vec::<f32>()?, rows.to_vec::<f32>()?);
    let pairs = p.chunks(2).zip(rows.chunks(FEATURES));
    let hits = pairs.clone().filter(|(p, row)| (p[1] > p[0]) == (row[0] > row[1]));
    Ok(hits.count() as f64 / pairs.count() as f64)
}

/// Serves and learns, and checks each answer against the version of the weights that it reports.
pub fn serve(device: &Device, threads: usize, requests: usize) -> Result<String> {
    let bundle = &functions()?;
    let rows = RandomStreams::new(1).draw_normal::<f32>(&[threads * requests, 64 * FEATURES])?;
    let (rows, size) = (rows.to_vec::<f32>()?, |request: usize| (1 + request * 29 % 64) * FEATURES);
    let asked = rows.chunks(64 * FEATURES).enumerate().map(|(request, rows)| rows[..size(request)].to_vec());
    let asked: Vec<Rows> = asked.collect();
    let (lessons, learned) = sync_channel(1);
    let (learned, answers) = thread::scope(|scope| {
        let start = |asked| {
            let lessons = lessons.clone();
            scope.spawn(move || answer(&bundle["predict"], device, asked, lessons))
        };
        let servers: Vec<_> = asked.chunks(requests).map(start).collect();
        drop(lessons);
        let learned = learn(bundle, device, learned);
        let answers = servers.into_iter().map(|s| s.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (learned, answers.collect::<Result<Vec<Answers>>>())
    });
    let (versions, answers) = (learned?, answers?.concat());
    let mut newest = 0;
    for (x, out) in &answers {
        let version = out["version"].item::<i64>()? as usize;
        let expected = versions[version].call(args![x])?["p"].to_vec::<f32>()?;
        let off =
            out["p"].to_vec::<f32>()?.iter().zip(expected).fold(0f32, |off, (p, e)| off.max((p - e).abs()));
        assert!(off < 1e-4, "an answer is {off} off what version {version} gives");
        newest = newest.max(version);
    }
    let count = threads * requests;
    assert_eq!((answers.len(), versions.len()), (count, count + 1));
    // A thread waits until its second-to-last lesson is learned, so the last answers come from late versions.
    assert!(newest + threads + 2 >= count, "the last answer came from version {newest} of {count}");
    // The order of the lessons depends on the threads; the result hardly does.
    let unseen = RandomStreams::new(2).draw_normal::<f32>(&[256, FEATURES])?;
    let (before, after) = (right(&versions[0], &unseen)?, right(&versions[count], &unseen)?);
    assert!(after > before && after > 0.7, "the share of correct rows went from {before} to {after}");
    Ok(format!("{count} answers, {count} versions, none mixed; right {before:.2}, in the end {after:.2}"))
}
