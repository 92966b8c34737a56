//! Data parallel Functions: members that compute together give what one device gives.

mod edges;
mod members;

use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure, equal, near, relative};
use workalike::graph::debugprint;
use workalike::ops::Bins;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 10] = [
        ("classifier", classifier),
        ("images", images),
        ("embeddings", embeddings),
        ("attention", attention),
        ("batch_statistics", batch_statistics),
        ("draws", draws),
        ("shapes", shapes),
        ("rows_that_need_others", mixing),
        ("recurrent_network", recurrent),
        ("odd_extents", odd_extents),
    ];
    let own = family("data_parallel", &stories).into_iter();
    own.chain(edges::scenarios()).chain(members::scenarios()).collect()
}

fn ramp(shape: &[usize], step: usize) -> Value {
    let count: usize = shape.iter().product();
    let numbers: Vec<f32> = (0..count).map(|i| ((i * step + step) % 23) as f32 * 0.08 - 0.9).collect();
    Value::from_vec(shape, numbers).unwrap_or_else(|_| Value::from(0f32))
}

/// Calls the Function on groups of one to three members, three times, and compares outputs and shared
/// variables with the reference's; all members must have the same bits.
fn compare(stage: &Stage, f: &Function, divided: &[&str], args: &[Value], share: f64) -> Result<()> {
    let given = || args.iter().fold(Args::new(), Args::with);
    for (size, always) in (1..=3).flat_map(|size| [(size, true), (size, false)]) {
        let reference = f.fork()?;
        let parallel = stage.function(&f.fork()?.data_parallel("g", divided.iter().copied())?)?;
        let members = group("g", stage.open_members(size)?);
        let mut sim = parallel.optimize(if always { members.always_divided() } else { members })?;
        if !always && sim.divides(given())? {
            // It is the same.
            continue;
        }
        let mut rows = parallel.optimize(group("g", [stage.open()?]))?;
        for call in 0..3 {
            let want = reference.call_reference(given())?;
            let got = sim.call(given())?;
            for (at, (_, want)) in want.iter().enumerate() {
                let what = format!("output {at} of call {call} by {size} members");
                near(&what, &got[at], want, &relative(want, share))?;
            }
        }
        rows.run_n(3, given())?;
        for cell in reference.cells() {
            let (name, want) = (cell.name(), cell.get_value()?);
            let all = sim.each_member(|_, simulator| simulator.get_value(name))?;
            for (rank, got) in all.iter().enumerate() {
                near(&format!("{name} of member {rank} of {size}"), got, &want, &relative(&want, share))?;
                ensure(*got == all[0], || format!("members 0 and {rank} of {size} have another {name}"))?;
            }
            near(&format!("{name} after run_n"), &rows.get_value(name)?, &want, &relative(&want, share))?;
        }
        sim.sync_to_parent()?;
    }
    Ok(())
}

fn printed(f: &Function) -> String {
    debugprint(f.graph())
}

/// The number of collectives of a kind in a Function's graph.
fn count(f: &Function, kind: &str) -> usize {
    printed(f).matches(kind).count()
}

fn classifier(stage: &Stage) -> Result<()> {
    let (x, t) = (matrix::<f32>("x"), vector::<i64>("t"));
    let w = [shared("w0", ramp(&[6, 8], 5)), shared("w1", ramp(&[8, 5], 7))];
    let b = [shared("b0", ramp(&[8], 3)), shared("b1", ramp(&[5], 11))];
    let velocity = shared("velocity", ramp(&[8, 5], 1));
    let hidden = (x.dot(&w[0]) + &*b[0]).relu();
    let scores = hidden.dot(&w[1]) + &*b[1];
    let rows = categorical_crossentropy(softmax(&scores, 1), &t);
    let right = scores.argmax(1).equal(&t).cast(DType::F32).mean(..);
    for mean in [true, false] {
        let cost = if mean { rows.mean(..) } else { rows.sum(..) };
        let all = [&w[0], &b[0], &w[1], &b[1]];
        let grads = grad(&cost, all)?;
        let next = 0.9 * &*velocity - 0.05 * &grads[2];
        let f = function([&x, &t])
            .output(&cost)
            .output(&right)
            .output(&scores)
            .update(&w[0], &*w[0] - 0.05 * &grads[0])
            .update(&b[0], &*b[0] - 0.05 * &grads[1])
            .update(&w[1], &*w[1] + &next)
            .update(&velocity, &next)
            .update(&b[1], &*b[1] - 0.05 * &grads[3])
            .compile()?;
        let targets = Value::from((0..12).map(|i| i % 5).collect::<Vec<i64>>());
        compare(stage, &f, &["x", "t"], &[ramp(&[12, 6], 7), targets], 1e-4)?;
        let parallel = f.data_parallel("g", ["x", "t"])?;
        let kinds = ["all_reduce", "all_gather", "reduce_scatter"].map(|kind| count(&parallel, kind));
        // Four gradients, the cost and the share that is right; the rows of scores.
        ensure(kinds == [6, 1, 0], || format!("collectives {kinds:?} in\n{}", printed(&parallel)))?;
    }
    Ok(())
}

fn images(stage: &Stage) -> Result<()> {
    let (x, t) = (tensor::<f32>("x", [None, Some(2), Some(8), Some(8)]), vector::<f32>("t"));
    let (filters, w) = (shared("filters", ramp(&[3, 2, 3, 3], 5)), shared("w", ramp(&[48], 7)));
    let maps = x.conv2d(&filters, Conv::default().padding(Padding::Same)).relu();
    let pooled = maps.max_pool(Pool::new([2, 2]));
    let y = pooled.reshape([-1, 48]).dot(&w);
    let cost = (y - &t).sqr().mean(..);
    let grads = grad(&cost, [&filters, &w])?;
    let f = function([&x, &t])
        .output(&cost)
        .update(&filters, &*filters - 0.01 * &grads[0])
        .update(&w, &*w - 0.01 * &grads[1])
        .compile()?;
    compare(stage, &f, &["x", "t"], &[ramp(&[6, 2, 8, 8], 5), ramp(&[6], 3)], 2e-4)?;
    let parallel = f.data_parallel("g", ["x", "t"])?;
    ensure(count(&parallel, "all_gather") == 0, || format!("nothing is gathered:\n{}", printed(&parallel)))
}

fn embeddings(stage: &Stage) -> Result<()> {
    let (ids, t) = (matrix::<i64>("ids"), vector::<f32>("t"));
    let (table, w) = (shared("table", ramp(&[10, 4], 5)), shared("w", ramp(&[4], 7)));
    let y = table.index(idx![&ids]).mean(1).dot(&w);
    let cost = (y - &t).sqr().sum(..);
    let grads = grad(&cost, [&table, &w])?;
    let f = function([&ids, &t])
        .output(&cost)
        .update(&table, &*table - 0.05 * &grads[0])
        .update(&w, &*w - 0.05 * &grads[1])
        .compile()?;
    let places: Vec<i64> = (0..18).map(|i| (i * 7) % 10).collect();
    compare(stage, &f, &["ids", "t"], &[Value::from_vec(&[6, 3], places)?, ramp(&[6], 3)], 1e-4)?;
    let parallel = f.data_parallel("g", ["ids", "t"])?;
    ensure(count(&parallel, "all_gather") == 0, || format!("nothing is gathered:\n{}", printed(&parallel)))
}

/// Sequences in a batch: products with a batch axis, softmax along the last axis, layer norm.
fn attention(stage: &Stage) -> Result<()> {
    let x = tensor::<f32>("x", [None, Some(5), Some(4)]);
    let w = shared("w", ramp(&[4, 4], 5));
    let keys = x.dot(&w);
    let weights = softmax(x.matmul(keys.dimshuffle([Some(0), Some(2), Some(1)])) / 2.0, 2);
    let mixed = weights.matmul(&x);
    let mean = mixed.mean(over(2).keepdims());
    let normal = (&mixed - &mean) / (mixed.var(over(2).keepdims()) + 1e-3).sqrt();
    let cost = (normal * &x).sum(..);
    let f = function([&x])
        .output(&cost)
        .output(mixed.index(idx![.., 0]))
        .update(&w, &*w - 0.01 * &grad(&cost, [&w])?[0])
        .compile()?;
    compare(stage, &f, &["x"], &[ramp(&[6, 5, 4], 5)], 5e-4)?;
    let parallel = f.data_parallel("g", ["x"])?;
    ensure(count(&parallel, "all_gather") == 1, || format!("the rows of one output:\n{}", printed(&parallel)))
}

/// Means, variances and extremes over the batch, which all members share.
fn batch_statistics(stage: &Stage) -> Result<()> {
    let x = matrix::<f32>("x");
    let (scale, running) = (shared("scale", ramp(&[4], 5)), shared("running", ramp(&[4], 3)));
    let (mean, var) = (x.mean(0), x.var(0));
    let normal = (&x - &mean) / (&var + 1e-3).sqrt() * &*scale;
    let cost = normal.tanh().sum(..);
    let f = function([&x])
        .output(&cost)
        .output(x.max(0) - x.min(0))
        .output(x.max(..))
        .output(x.greater(0.0).all(..))
        .output(x.greater(0.0).sum(0))
        .update(&scale, &*scale - 0.1 * &grad(&cost, [&scale])?[0])
        .update(&running, 0.9 * &*running + 0.1 * &mean)
        .compile()?;
    compare(stage, &f, &["x"], &[ramp(&[12, 4], 7)], 5e-4)
}

/// Draws for the whole batch: each member uses its rows of them.
fn draws(stage: &Stage) -> Result<()> {
    let x = matrix::<f32>("x");
    let streams = RandomStreams::new(7);
    let kept = dropout(&x, 0.5, &streams);
    let noisy = &x + streams.normal::<f32>(like(&x));
    let f = function([&x]).output(kept).output(noisy.sum(0)).compile()?;
    compare(stage, &f, &["x"], &[ramp(&[6, 4], 7)], 1e-5)
}

/// Reshapes, broadcasts, slices, joins and extents of what is divided.
fn shapes(stage: &Stage) -> Result<()> {
    let x = tensor::<f32>("x", [None, Some(4)]);
    let rows = x.extent(0);
    let cube = x.reshape([-1, 2, 2]);
    let b = shared("b", ramp(&[4], 5));
    let f = function([&x])
        .output(cube.sum(2))
        .output(x.reshape([&rows * 4i64]))
        .output(x.flatten() * 2.0)
        .output(x.index(idx![.., 1..3]))
        .output(concatenate([&x, &(&x * 2.0)], 1))
        .output(full([&rows, &constant(4i64)], 2.0f32) * &x)
        .output(x.sum(..) / rows.cast(DType::F32))
        .output(grad((x.index(idx![.., 1..3]).sqr() * 3.0).sum(..), [&x])?.swap_remove(0))
        .output((&*b + &x * 0.0).sum(0))
        .output(x.cumsum(1))
        .output(x.sort(1))
        .output(x.argsort(1))
        .output(arange(&rows).cast(DType::F32) * x.index(idx![.., 0]))
        .output(x.swapaxes(0, 1).dot(&x))
        .output(x.swapaxes(0, 1))
        .output(x.dimshuffle([Some(1), None, Some(0)]).sum(0))
        .compile()?;
    compare(stage, &f, &["x"], &[ramp(&[12, 4], 7)], 1e-4)
}

/// What needs the rows of others: they are gathered.
fn mixing(stage: &Stage) -> Result<()> {
    let x = matrix::<f32>("x");
    let order = x.index(idx![.., 0]).argsort(0);
    let f = function([&x])
        .output(x.sort(0))
        .output(x.cumsum(0))
        .output(x.index(idx![&order]))
        .output(x.index(idx![0]) + x.index(idx![-1]))
        .output(x.flip(0))
        .output(concatenate([&x, &x], 0))
        .output(x.dot(x.swapaxes(0, 1)))
        .output(x.prod(0))
        .output(softmax(&x, 0))
        .output(fori(3i64, &x, |_, x| &x * 0.5 + x.sum(0)))
        .compile()?;
    compare(stage, &f, &["x"], &[ramp(&[6, 3], 7)], 1e-4)
}

/// A recurrent network over the rows of a batch: the loop and that of its gradient compute with parts, and
/// the gradients of weights are terms until the end.
fn recurrent(stage: &Stage) -> Result<()> {
    let (xs, t) = (tensor::<f32>("xs", [None, None, Some(3)]), vector::<f32>("t"));
    let (wx, wh, wy) =
        (shared("wx", ramp(&[3, 5], 5)), shared("wh", ramp(&[5, 5], 7)), shared("wy", ramp(&[5], 3)));
    // Sequences are in front, the batch is behind.
    let steps = xs.dimshuffle([Some(1), Some(0), Some(2)]);
    let start = full([xs.extent(0), constant(5i64)], 0f32);
    let states = scan([&steps], [&start], |[x], [h]| [(x.dot(&wx) + h.dot(&wh)).tanh()]);
    let last = states[0].index(idx![-1]);
    let cost = (last.dot(&wy) - &t).sqr().mean(..);
    let grads = grad(&cost, [&wx, &wh, &wy])?;
    let f = function([&xs, &t])
        .output(&cost)
        .output(&last)
        .update(&wx, &*wx - 0.1 * &grads[0])
        .update(&wh, &*wh - 0.1 * &grads[1])
        .update(&wy, &*wy - 0.1 * &grads[2])
        .compile()?;
    compare(stage, &f, &["xs", "t"], &[ramp(&[6, 4, 3], 5), ramp(&[6], 3)], 5e-4)?;
    let parallel = f.data_parallel("g", ["xs", "t"])?;
    let kinds = ["all_reduce", "all_gather"].map(|kind| count(&parallel, kind));
    // The cost and three gradients; the rows of an output.
    ensure(kinds == [4, 1], || format!("collectives {kinds:?} in\n{}", printed(&parallel)))
}

/// Extents that say nothing of the batch, arrays that broadcast only when it runs, indices that are not
/// rows'.
fn odd_extents(stage: &Stage) -> Result<()> {
    let (x, b) = (matrix::<f32>("x"), matrix::<f32>("b"));
    let (ids, flags) = (vector::<i64>("ids"), shared("flags", vec![false; 4]));
    let table = shared("table", ramp(&[12, 5], 3));
    let f = function([&x, &b, &ids])
        .output(x.reshape([3, -1]))
        .output(x.reshape([3, -1]).sum(1))
        .output(x.reshape([1, -1]))
        .output(x.reshape([-1, 2]))
        .output(&x + &b)
        .output(x.index(idx![arange(2), arange(2)]))
        .output(x.diagonal(0, 0, 1))
        .output(x.trace(0))
        .output(x.segment_mean(&ids, 4))
        .output(ids.bincount(None, Bins::AtLeast(5)))
        .output(flags.inc_index(idx![&ids], true).sum(..))
        .output(table.index(idx![arange(ids.extent(0)), &ids]))
        .output(grad(table.index(idx![arange(ids.extent(0)), &ids]).sqr().sum(..), [&table])?.swap_remove(0))
        .compile()?;
    let ids = Value::from(vec![1i64, 1, 3, 0, 1, 2]);
    compare(stage, &f, &["x", "ids"], &[ramp(&[6, 4], 7), ramp(&[1, 4], 5), ids], 1e-4)?;
    let broadcast = function([&x]).output(x.broadcast_to([6, 4]) * 2.0).compile()?;
    compare(stage, &broadcast, &["x"], &[ramp(&[6, 4], 7)], 1e-5)?;
    let alone = broadcast.data_parallel("g", ["x"])?.call(args![ramp(&[1, 4], 7)])?;
    equal("repeated rows", &alone[0], broadcast.call(args![ramp(&[1, 4], 7)])?[0].clone())
}
