//! Arrays of a device as arguments: views, sequences, new values of shared variables.

use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure, equal, fails};
use ndarray::{Array1, Array2, Axis, s};
use std::ops::ControlFlow::Continue;
use workalike::Result;
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 6] = [
        ("views", views),
        ("sequences", sequences),
        ("sequences_in_each_kind_of_loop", loops),
        ("sequences_that_do_not_fit", misfits),
        ("values_of_shared_variables", states),
        ("functions_called_on_a_device", functions),
    ];
    family("device_arguments", &stories)
}

fn table(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| (i * columns + j) as f32)
}

/// Contiguous or not, of this stream or of another.
fn views(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let v = matrix::<f32>("v");
    let f = function([&v]).output(v.sum(1)).compile()?;
    let mut sim = f.optimize(device.clone())?;
    let all = table(40, 6);
    for device in [device, stage.open()?] {
        let x = DeviceArray::upload(&device, &all)?;
        for (name, rows, columns) in [("rows", s![3..17, ..], 6), ("columns", s![.., 1..5;2], 2)] {
            let (view, want) = (x.slice(rows)?, all.slice(rows).sum_axis(Axis(1)));
            ensure(view.shape()[1] == columns, || format!("{view:?}"))?;
            equal(name, &sim.call(args![&view])?[0], &want)?;
            equal(name, &f.call(args![view])?[0], &want)?;
        }
        let turned = x.t();
        equal("turned", &sim.call(args! {"v" => turned})?[0], all.t().sum_axis(Axis(1)))?;
    }
    fails("a rank", sim.call(args![DeviceArray::upload(sim.device(), &all)?.slice(s![0, ..])?]), &["input v"])
}

/// Slices at a device's alignment and others, as many as fit in a chunk or more.
fn sequences(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    for columns in [0usize, 1, 3, 64, 1024] {
        let (x, total) = (vector::<f32>("x"), shared("total", Array1::<f32>::zeros(columns)));
        let f = function([&x]).output(&x * 2f32).update(&total, &total + &x).compile()?;
        let mut sim = f.optimize(device.clone())?;
        let all = table(37, columns);
        let xs = DeviceArray::upload(&device, &all)?;
        let doubled = sim.run_n_collect(37, args![each(&xs)])?;
        equal("outputs", &doubled[0], &all * 2.0)?;
        equal("the state", &sim.get(&total)?, all.sum_axis(Axis(0)))?;
        // The last ones backward, on another stream.
        let other = DeviceArray::upload(&stage.open()?, &all)?;
        sim.run_n(5, args![each(other.slice(s![32..;-1])?)])?;
        let last = sim.run_n(0, args![each(xs.slice(s![0..0])?)])?;
        ensure(last.is_empty(), || format!("{last:?}"))?;
        let want = all.sum_axis(Axis(0)) + all.slice(s![32.., ..]).sum_axis(Axis(0));
        equal("a part", &sim.get(&total)?, &want)?;
        let started = f.fork()?;
        started.run_n(37, args![each(&xs)])?;
        equal("the Function", &started.shared("total")?.get_value()?, all.sum_axis(Axis(0)))?;
    }
    // Numbers, of which each is padded to the alignment: more than one chunk on a device.
    let (i, total) = (scalar::<u8>("i"), shared("total", 0i64));
    let count = function([&i]).update(&total, &total + i.cast(DType::I64)).compile()?;
    let mut sim = count.optimize(device.clone())?;
    let numbers: Vec<u8> = (0..3000).map(|i| (i % 251) as u8).collect();
    let want: i64 = numbers.iter().map(|i| i64::from(*i)).sum();
    sim.run_n(3000, args![each(DeviceArray::upload(&device, numbers)?)])?;
    equal("numbers", &sim.get(&total)?, want)
}

/// With probes, by `run_while`, watched, profiled, compared with the reference.
fn loops(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let (at, total) = (scalar::<i64>("at"), shared("total", Array1::<f32>::zeros(8)));
    let more = &total + &total.index(idx![&at]).sum(..) + 1f32;
    let go_on = more.max(..).less(60f32);
    let f = function([&at]).output_named("go_on", go_on).update(&total, &more).compile()?;
    let positions: Vec<i64> = (0..32).map(|i| i * 5 % 8).collect();
    let xs = DeviceArray::upload(&device, positions.clone())?;
    let host = f.fork()?;
    let (want_steps, _) = host.optimize(Host::threads(1))?.run_while("go_on", 32, args![each(positions)])?;
    let mut sim = f.optimize(device)?;
    let (steps, _) = sim.run_while("go_on", 32, args![each(&xs)])?;
    ensure(steps == want_steps, || format!("{steps} steps, not {want_steps}"))?;
    sim.reset()?;
    let mut seen = vec![];
    let (done, _) = sim.run_n_watched(6, 4, args![each(xs.slice(s![..6])?)], |sim, done| {
        seen.push((done, sim.get(&total).map(|total| total.to_f64s()[0])));
        Continue(())
    })?;
    let seen: Vec<(u64, f64)> = seen.into_iter().map(|(done, x)| (done, x.unwrap_or(f64::NAN))).collect();
    ensure(done == 6 && seen == [(4, 15.0), (6, 63.0)], || format!("{seen:?}"))?;
    sim.reset()?;
    let verified = sim.verify(args![each(xs.slice(s![..6])?)], 6)?;
    ensure(verified.mismatch.is_none(), || verified.to_string())?;
    sim.profile(6, args![each(xs.slice(s![2..8])?)]).map(drop)
}

fn misfits(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let (x, total) = (vector::<f32>("x"), shared("total", Array1::<f32>::zeros(3)));
    let f = function([&x]).update(&total, &total + &x).compile()?;
    let mut sim = f.optimize(device.clone())?;
    let xs = DeviceArray::upload(&device, table(4, 3))?;
    fails("slices", sim.run_n(5, args![each(&xs)]), &["input x", "5 slices", "4"])?;
    fails("a rank", sim.run_n(3, args![each(xs.slice(s![0, ..])?)]), &["input x", "(?,)", "float32()"])?;
    let number = DeviceArray::upload(&device, 1f32)?;
    fails("no axis", sim.run_n(1, args![each(&number)]), &["input x", "first axis"])?;
    let doubles = DeviceArray::upload(&device, table(4, 3).mapv(f64::from))?;
    fails("a dtype", sim.run_n(4, args![each(&doubles)]), &["input x", "float64"])?;
    fails("a call", sim.call(args![each(&xs)]), &["run_n"])?;
    sim.run_n(4, args![each(&xs)])?;
    equal("a good one", &sim.get(&total)?, table(4, 3).sum_axis(Axis(0)))
}

/// Copied on the device: also a shape that is new, a part, and one of another stream.
fn states(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let (w, k) = (shared_dynamic("w", table(2, 3), &[0]), shared("k", 1i64));
    let f = function([] as [&Variable; 0])
        .output(w.sum(..))
        .output(w.index(idx![&k]))
        .update(&w, &w * 2f32)
        .compile()?;
    let mut sim = f.optimize(device.clone())?;
    let x = DeviceArray::upload(&device, table(4, 3))?;
    sim.set(&w, &x)?;
    equal("a larger one", &sim.call(args![])?[0], 66f32)?;
    equal("the source is as it was", &x.to_value()?, table(4, 3))?;
    sim.set_value("w", x.slice(s![..;-3, ..])?)?;
    equal("a part", &sim.call(args![])?[1], array![0f32, 1.0, 2.0])?;
    sim.set(&w, DeviceArray::upload(&stage.open()?, table(1, 3))?)?;
    sim.set(&k, DeviceArray::upload(&device, 0i64)?)?;
    equal("of another stream", &sim.call(args![])?[1], array![0f32, 1.0, 2.0])?;
    // What a position may be follows from the new value.
    sim.set(&k, DeviceArray::upload(&device, 1i64)?)?;
    fails("a position", sim.call(args![]), &["out of range"])?;
    fails("a rank", sim.set(&w, x.slice(s![0, ..])?), &["shared variable w", "(?, 3)", "(3,)"])?;
    fails("a sequence", sim.set(&w, each(&x)), &["each"])?;
    ensure(sim.sync_to_parent()?.iter().any(|name| name == "w"), || "w has changed".into())?;
    equal("the parent's", &w.get_value()?, table(1, 3) * 2.0)
}

/// A Function with calls on a device: its shared variables are the program's after every call.
fn functions(stage: &Stage) -> Result<()> {
    let (x, i) = (vector::<f32>("x"), scalar::<i64>("i"));
    let (w, count) = (shared_dynamic("w", array![1f32, 2.0, 3.0], &[0]), shared("count", 0i64));
    let host = function([&x])
        .output_named("sum", (&w * &x).sum(..))
        .output_named("count", &count)
        .update(&w, &w + &x)
        .update(&count, &count + 1i64)
        .compile()?;
    let f = host.on_device(stage.open()?)?;
    equal("a call", &f.call(args![vec![1f32; 3]])?["sum"], 6f32)?;
    equal("its update", &w.get_value()?, array![2f32, 3.0, 4.0])?;
    // What others change is seen, and so is a new shape.
    w.set_value(array![1f32, 1.0])?;
    equal("a new value", &f.call(args![vec![2f32; 2]])?[0], 4f32)?;
    host.call(args![vec![1f32; 2]])?;
    equal("of a call on the host", &f.call_outputs(["sum"], args![vec![1f32; 2]])?[0], 8f32)?;
    f.run_n(3, args![each(array![[1f32, 0.0], [0.0, 1.0], [1.0, 1.0]])])?;
    equal("a loop", &w.get_value()?, array![7f32, 7.0])?;
    equal("calls", &count.get_value()?, 7i64)?;
    // A Simulator of it is one of the same shared variables.
    let mut sim = f.optimize(stage.open()?)?;
    sim.call(args![vec![1f32; 2]])?;
    f.call(args![vec![2f32; 2]])?;
    fails("both changed them", sim.sync_to_parent(), &["variable w", "changed in the parent"])?;
    equal("the Function's", &w.get_value()?, array![9f32, 9.0])?;
    // A call that fails changes nothing; a good one follows.
    let pick = function([&i]).output(w.index(idx![&i])).update(&w, &w * 2f32).compile()?;
    let pick = pick.on_device(stage.open()?)?;
    fails("a position", pick.call(args![5i64]), &["out of range"])?;
    equal("nothing changed", &w.get_value()?, array![9f32, 9.0])?;
    equal("a good call", &pick.call(args![1i64])?[0], 9f32)?;
    equal("it changed", &w.get_value()?, array![18f32, 18.0])?;
    // The device is no part of a file, and clones share it.
    let there = Function::from_bytes(&f.to_bytes()?)?;
    equal("of a file", &there.call(args![vec![1f32; 2]])?[0], 36f32)?;
    let calls = |f: &Function| (0..20).try_for_each(|_| f.call(args![vec![0f32; 2]]).map(drop));
    std::thread::scope(|scope| {
        let threads = [f.clone(), f.renamed("other"), host.clone()].map(|f| scope.spawn(move || calls(&f)));
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })?;
    equal("of threads", &count.get_value()?, 68i64)
}
