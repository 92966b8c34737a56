//! `run_n`: it equals that many calls, however the iterations are recorded.

use super::family;
use crate::data::random;
use crate::stage::{Scenario, Stage, ensure, equal};
use workalike::prelude::*;
use workalike::{Error, Result};

pub(super) fn scenarios() -> Vec<Scenario> {
    family(
        "steps",
        &[
            ("through_scratch", through_scratch),
            ("slices", slices),
            ("products", products),
            ("index_out_of_range", index_out_of_range),
            ("until", until),
            ("probes", probes),
        ],
    )
}

const NONE: [&Variable; 0] = [];

/// Runs iterations by calls and by runs of these lengths, and compares last outputs and state. They are equal
/// bit by bit, because the same kernels ran.
fn same(stage: &Stage, f: &Function, runs: &[u64]) -> Result<()> {
    let f = stage.function(f)?;
    let (mut calls, mut loops) = (stage.simulator(&f)?, stage.simulator(&f)?);
    for n in runs {
        let mut want = vec![];
        for _ in 0..*n {
            want = calls.call(args![])?.into_values();
        }
        let got = loops.run_n(*n, args![])?.into_values();
        for (output, (want, got)) in want.iter().zip(&got).enumerate() {
            equal(&format!("output {output} of the last of {n} steps"), got, want.clone())?;
        }
        for cell in f.cells() {
            let (got, want) = (loops.get_value(cell.name())?, calls.get_value(cell.name())?);
            equal(&format!("{} after {n} steps", cell.name()), &got, want)?;
        }
    }
    Ok(())
}

fn through_scratch(stage: &Stage) -> Result<()> {
    let (x, y) =
        (shared("x", random(DType::F32, &[17, 17], 1)?), shared("y", random(DType::F32, &[17, 17], 2)?));
    let f = function(NONE)
        .output(&x)
        .output(x.sum(..))
        .update(&x, (&y * 0.5 - &x * 0.25).t())
        .update(&y, &x * 0.5 + y.t() * 0.25)
        .compile()?;
    same(stage, &f, &[300, 7, 130, 1])
}

fn slices(stage: &Stage) -> Result<()> {
    for extent in [1usize, 5, 64] {
        let (v, k) = (vector::<f32>("v"), scalar::<i32>("k"));
        let sum = shared("sum", Value::zeros(DType::F32, &[extent])?);
        let f = function([&v, &k])
            .output(&sum + &v)
            .update(&sum, &sum * 0.5 + &v * &k.cast(DType::F32))
            .compile()?;
        let f = stage.function(&f.renamed("f"))?;
        let (mut calls, mut loops) = (stage.simulator(&f)?, stage.simulator(&f)?);
        let n = 150usize;
        let rows: Vec<Value> =
            (0..n).map(|i| random(DType::F32, &[extent], i as u32)).collect::<Result<_>>()?;
        let vs = crate::stage::stacked(&rows.iter().collect::<Vec<_>>())?;
        let ks = Value::from((0..n as i32).map(|i| i % 3).collect::<Vec<_>>());
        let mut want = vec![];
        for (step, row) in rows.iter().enumerate() {
            want.extend(calls.call(args![row, step as i32 % 3])?.into_values());
        }
        let got = loops.method("f")?.run_n_collect(n as u64, args![each(&vs), each(&ks)])?;
        equal("all outputs", &got[0], crate::stage::stacked(&want.iter().collect::<Vec<_>>())?)?;
        equal("the state", &loops.get_value("sum")?, calls.get_value("sum")?)?;
        let last = loops.run_n(n as u64, args![each(&vs), each(&ks)])?.into_values();
        for (step, row) in rows.iter().enumerate() {
            want = calls.call(args![row, step as i32 % 3])?.into_values();
        }
        equal("the last output", &last[0], want[0].clone())?;
    }
    Ok(())
}

fn products(stage: &Stage) -> Result<()> {
    let (w, h) =
        (shared("w", random(DType::F32, &[24, 24], 1)?), shared("h", random(DType::F32, &[8, 24], 2)?));
    let f = function(NONE).output(h.max(..)).update(&h, (h.dot(&w) * 0.25).tanh()).compile()?;
    same(stage, &f, &[100, 3, 64])
}

fn index_out_of_range(stage: &Stage) -> Result<()> {
    let (table, i) = (shared("table", random(DType::F32, &[8], 1)?), vector::<i64>("i"));
    let count = shared("count", 0i64);
    let f =
        function([&i]).output(table.index(workalike::idx![&i])).update(&count, &count + 1i64).compile()?;
    let mut simulator = stage.simulator(&stage.function(&f)?)?;
    let mut steps = vec![3i64; 200];
    steps[70] = 8;
    let found = simulator.run_n(200, args![each(Value::from_vec(&[200, 1], steps)?)]);
    ensure(matches!(found, Err(Error::Run { .. })), || format!("a bad index in a block: {found:?}"))?;
    equal("steps before it", &simulator.get_value("count")?, 70i64)?;
    simulator.run_n(200, args![vec![7i64]])?;
    equal("steps", &simulator.get_value("count")?, 270i64)
}

fn until(stage: &Stage) -> Result<()> {
    for stop in [0i64, 5, 90, 1000] {
        let (count, kept) = (shared("count", 0i64), shared("kept", random(DType::F32, &[5, 5], 1)?));
        let f = function(NONE).output_named("more", count.less(stop)).output(&count);
        let f = f.update(&count, &count + 1i64).update(&kept, (&kept + 1.0).t()).compile()?;
        let f = stage.function(&f)?;
        let (mut whiles, mut loops) = (stage.simulator(&f)?, stage.simulator(&f)?);
        let (steps, outputs) = whiles.run_while("more", 400, args![])?;
        ensure(steps == 400.min(stop as u64 + 1), || format!("{steps} steps instead of {}", stop + 1))?;
        equal("the last output", &outputs[1], steps as i64 - 1)?;
        loops.run_n(steps, args![])?;
        for name in ["count", "kept"] {
            equal(name, &whiles.get_value(name)?, loops.get_value(name)?)?;
        }
    }
    Ok(())
}

fn probes(stage: &Stage) -> Result<()> {
    let (x, v) = (scalar::<f32>("x"), shared("v", Value::zeros(DType::F32, &[3])?));
    let drive = (&v * 0.25 + &x).named("drive");
    let f = function([&x]).output_named("old", &v * 1.0).update(&v, &v * 0.5 + &drive).compile()?;
    let f = stage.function(&f)?;
    for (steps, capacity) in [(1u64, 7u64), (3, 1000), (20, 2)] {
        let (mut calls, mut loops) = (stage.simulator(&f)?, stage.simulator(&f)?);
        let names = ["v", "drive", "old"];
        let [a, b] = [&mut calls, &mut loops].map(|s| names.map(|name| s.probe(name, steps, capacity)));
        let xs: Vec<f32> = (0..300).map(|i| (i % 7) as f32).collect();
        for x in &xs {
            calls.call(args![*x])?;
        }
        loops.run_n(300, args![each(Value::from(xs))])?;
        for ((a, b), name) in a.into_iter().zip(b).zip(names) {
            let (want, got) = (calls.read_probe(a?)?, loops.read_probe(b?)?);
            ensure(got.shape() == [300 / steps as usize, 3], || format!("{name}: {:?}", got.shape()))?;
            equal(&format!("{name} each {steps} steps"), &got, want)?;
        }
        equal("the state", &loops.get_value("v")?, calls.get_value("v")?)?;
    }
    Ok(())
}
