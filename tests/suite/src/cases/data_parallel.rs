//! Data parallel Functions: members that compute together give what one device gives.

use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative};
use workalike::graph::debugprint;
use workalike::ops::Bins;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 14] = [
        ("classifier", classifier),
        ("images", images),
        ("embeddings", embeddings),
        ("attention", attention),
        ("batch_statistics", batch_statistics),
        ("draws", draws),
        ("shapes", shapes),
        ("rows_that_need_others", mixing),
        ("recurrent_network", recurrent),
        ("members_of_a_checkpoint", checkpoint),
        ("weights_in_parts", weights_in_parts),
        ("compared_members", compared),
        ("odd_extents", odd_extents),
        ("misuse", misuse),
    ];
    family("data_parallel", &stories)
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
    for size in 1..=3 {
        let reference = f.fork()?;
        let parallel = stage.function(&f.fork()?.data_parallel("g", divided.iter().copied())?)?;
        let devices = (0..size).map(|_| stage.open()).collect::<Result<Vec<_>>>()?;
        let mut sim = parallel.optimize(group("g", devices))?;
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

/// Training goes on with another number of members, from a file.
fn checkpoint(stage: &Stage) -> Result<()> {
    let (x, w) = (matrix::<f32>("x"), shared("w", ramp(&[4], 5)));
    let cost = x.dot(&w).sqr().mean(..);
    let f = function([&x]).output(&cost).update(&w, &*w - 0.1 * &grad(&cost, [&w])?[0]).compile()?;
    let (reference, mut saved) = (f.fork()?, f.data_parallel("g", ["x"])?);
    let x = ramp(&[12, 4], 7);
    for members in [2, 3, 1] {
        let parallel = Function::from_bytes(&saved.to_bytes()?)?;
        let devices = (0..members).map(|_| stage.open()).collect::<Result<Vec<_>>>()?;
        let mut sim = parallel.optimize(group("g", devices))?;
        for _ in 0..2 {
            let want = reference.call_reference(args![&x])?;
            near("cost", &sim.call(args![&x])?[0], &want[0], &relative(&want[0], 1e-4))?;
        }
        sim.sync_to_parent()?;
        saved = parallel;
    }
    let want = reference.shared("w")?.get_value()?;
    near("w", &saved.shared("w")?.get_value()?, &want, &relative(&want, 1e-4))
}

/// Each member keeps a part of the weights: they are gathered for a step, and each member's part is moved by
/// its part of the gradient.
fn weights_in_parts(stage: &Stage) -> Result<()> {
    let (x, t) = (matrix::<f32>("x"), vector::<f32>("t"));
    let whole = shared("w", ramp(&[6], 5));
    let cost = |w: &Variable| (x.dot(w) - &t).sqr().sum(..);
    let one = cost(&whole);
    let reference = function([&x, &t])
        .output(&one)
        .update(&whole, &*whole - 0.01 * &grad(&one, [&whole])?[0])
        .compile()?;
    let part = shared_dynamic("part", vec![0f32; 2], &[0]);
    let own = cost(&part.all_gather(0, "g"));
    // The gradient of gathering is the member's part of the sum of all gradients.
    let step = &*part - 0.01 * &grad(&own, [&part])?[0];
    let f = function([&x, &t]).output(own.all_reduce(Reduction::Sum, "g")).update(&part, step).compile()?;
    let f = stage.function(&f)?;
    let (xs, ts, w) = (ramp(&[9, 6], 7), ramp(&[9], 3), ramp(&[6], 5));
    let rows = |value: &Value, rank: usize| {
        let mut shape = value.shape().to_vec();
        shape[0] /= 3;
        value.view_as(&shape, value.strides(), (rank * shape[0]) * value.strides()[0] as usize)
    };
    let mut sim = f.optimize(group("g", [stage.open()?, stage.open()?, stage.open()?]))?;
    sim.each_member(|rank, simulator| simulator.set_value("part", rows(&w, rank)?))?;
    for _ in 0..3 {
        let want = reference.call_reference(args![&xs, &ts])?;
        let costs = sim.each_member(|rank, simulator| {
            Ok(simulator.call(args![rows(&xs, rank)?, rows(&ts, rank)?])?[0].clone())
        })?;
        costs.iter().try_for_each(|cost| near("cost", cost, &want[0], &relative(&want[0], 1e-4)))?;
    }
    let want = reference.shared("w")?.get_value()?;
    let parts = sim.each_member(|_, simulator| simulator.get_value("part"))?;
    for (rank, part) in parts.iter().enumerate() {
        let want = rows(&want, rank)?.contiguous()?;
        near(&format!("part {rank}"), part, &want, &relative(&want, 1e-4))?;
    }
    Ok(())
}

/// Members whose shared variables differ find out, after as many steps as they were told.
fn compared(stage: &Stage) -> Result<()> {
    let (x, w) = (vector::<f32>("x"), shared("w", vec![1f32, 2.0]));
    let other = shared("other", 0i64);
    let f = function([&x]).update(&w, &*w + x.sum(..)).update(&other, &*other + 1i64).compile()?;
    let parallel = stage.function(&f.data_parallel("g", ["x"])?)?;
    let devices = [stage.open()?, stage.open()?];
    let mut sim = parallel.optimize(group("g", devices).compared_every(3))?;
    sim.run_n(6, args![vec![1f32, 2.0]])?;
    sim.each_member(|rank, simulator| match rank {
        1 => simulator.set_value("other", 100i64),
        _ => Ok(()),
    })?;
    sim.call(args![vec![1f32, 2.0]])?;
    sim.call(args![vec![1f32, 2.0]])?;
    let third = sim.call(args![vec![1f32, 2.0]]);
    fails("after three steps", third, &["shared variable other", "at member 1 of the group g", "member 0"])?;
    fails("at once", sim.each_member(|_, simulator| simulator.compare_members()), &["other bits"])?;
    sim.set_value("other", 0i64)?;
    sim.run_n(3, args![vec![1f32, 2.0]])?;
    equal("then good steps", &sim.get_value("other")?, 3i64)
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

fn misuse(stage: &Stage) -> Result<()> {
    let (x, s) = (matrix::<f32>("x"), scalar::<f32>("s"));
    let total = shared("total", 0f32);
    let f = function([&x, &s]).output(&x * &s).update(&total, &*total + (&x * &s).sum(..)).compile()?;
    fails("no such input", f.data_parallel("g", ["y"]), &["no input y", "x, s"])?;
    fails("no axis", f.data_parallel("g", ["s"]), &["input s", "no axis"])?;
    fails("no group", f.data_parallel("", ["x"]), &["name of a group"])?;
    let twice = f.data_parallel("g", ["x"])?.data_parallel("g", ["x"]);
    fails("twice", twice, &["own_part", "of the group g already"])?;
    let y = vector::<f32>("y");
    let filled = function([In::new(&y).default(vec![1f32, 2.0])]).output(&y * 2.0).compile()?;
    fails("a default", filled.data_parallel("g", ["y"]), &["input y has a default"])?;
    let parallel = stage.function(&f.data_parallel("g", ["x"])?)?;
    let mut sim = parallel.optimize(group("g", [stage.open()?, stage.open()?]))?;
    fails("odd rows", sim.call(args![ramp(&[3, 2], 5), 1f32]), &["input x", "multiple of 2", "(3, 2)"])?;
    fails("another rank", sim.call(args![ramp(&[2, 2], 5), vec![1f32]]), &["input s", "(1,)"])?;
    let x = ramp(&[4, 2], 5);
    equal("then a good call", &sim.call(args![&x, 2f32])?[0], f.fork()?.call(args![&x, 2f32])?[0].clone())?;
    // Whole inputs on each of two members.
    let seats = workalike::engine::device::group::threads(1, std::time::Duration::from_secs(9));
    let mut alone = parallel.optimize(member("g", seats[0].clone(), stage.open()?).with_own_parts())?;
    equal("own parts", &alone.call(args![&x, 2f32])?[0], f.fork()?.call(args![&x, 2f32])?[0].clone())?;
    let none =
        parallel.optimize(group("g", Vec::<std::sync::Arc<dyn workalike::engine::device::Device>>::new()));
    fails("no devices", none, &["at least one device"])?;
    let others = parallel.optimize(group("h", [stage.open()?]));
    fails("another group", others, &["expected one of", "h", "found g"])
}
