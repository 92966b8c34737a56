//! Members of a group in threads, each on a stream of the tested device: what each kind of collective gives,
//! gradients, loops, updates, and what goes wrong.

mod members;

use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative, wrong};
use crate::tolerance::Bound;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use workalike::engine::device::group::{Group, threads};
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 7] = [
        ("every_kind_and_dtype", kinds),
        ("axes_and_places", axes),
        ("gradients", gradients),
        ("batches", batches),
        ("loops", loops),
        ("training_in_parts", training),
        ("several_groups", several),
    ];
    let own = family("collectives", &stories).into_iter();
    own.chain(members::scenarios()).collect()
}

const PATIENCE: Duration = Duration::from_secs(120);

/// Runs `work` for each member of a group that calls itself `g`.
fn members<T: Send>(
    stage: &Stage,
    count: usize,
    f: &Function,
    work: impl Fn(usize, &mut Simulator) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    each_member(stage, threads(count, PATIENCE), |rank, seat, device| {
        work(rank, &mut f.optimize(member("g", seat, device))?)
    })
}

type OpenDevice = Arc<dyn workalike::engine::device::Device>;

/// Runs `work` in a thread for each seat, with a stream of its own.
fn each_member<T: Send>(
    stage: &Stage,
    seats: Vec<Arc<dyn Group>>,
    work: impl Fn(usize, Arc<dyn Group>, OpenDevice) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let devices = stage.open_members(seats.len())?;
    let work = &work;
    thread::scope(|scope| {
        let started = seats.into_iter().zip(devices).enumerate();
        let started = started.map(|(rank, (seat, device))| scope.spawn(move || work(rank, seat, device)));
        let started: Vec<_> = started.collect();
        started.into_iter().map(|thread| thread.join().map_err(|_| wrong("a member panicked"))?).collect()
    })
}

/// Six small numbers of a member, in rows of two.
fn numbers(rank: usize, dtype: DType) -> Result<Value> {
    let numbers: Vec<f64> = (0..6).map(|i| ((i * 5 + rank * 3 + 1) % 7) as f64).collect();
    Value::from_vec(&[6], numbers)?.reshaped(&[3, 2])?.cast(dtype)
}

/// The rows of several arrays, one after another.
fn joined(arrays: &[Value]) -> Result<Value> {
    let bytes: Vec<u8> = arrays.iter().flat_map(|a| a.contiguous_bytes().unwrap_or(&[])).copied().collect();
    let rows = arrays.iter().map(|a| a.shape()[0]).sum();
    Value::from_bytes(arrays[0].dtype(), &[rows, arrays[0].shape()[1]], &bytes)
}

/// A fold of the members' arrays, in float64.
fn folded(arrays: &[Value], dtype: DType, fold: fn(f64, f64) -> f64) -> Result<Value> {
    let all: Vec<Vec<f64>> = arrays.iter().map(Value::to_f64s).collect();
    let sums = (0..all[0].len()).map(|i| all[1..].iter().fold(all[0][i], |sum, a| fold(sum, a[i])));
    Value::from_vec(arrays[0].shape(), sums.collect::<Vec<f64>>())?.cast(dtype)
}

fn kinds(stage: &Stage) -> Result<()> {
    use DType::{BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let count = 3;
    for dtype in [F32, F64, F16, BF16, I8, I16, I32, I64, U8, U16, U32, U64, Bool] {
        let x = Variable::input("x", TensorType::of_rank(dtype, 2));
        let f = function([&x])
            .output(x.all_reduce(Reduction::Sum, "g"))
            .output(x.all_reduce(Reduction::Max, "g"))
            .output(x.all_reduce(Reduction::Min, "g"))
            .output(x.all_gather(0, "g"))
            .output(x.reduce_scatter(Reduction::Max, 0, "g"))
            .output(x.broadcast_from(2, "g"))
            .output(x.collective_permute(1, "g"))
            .output(x.collective_permute([(2, 0)], "g"))
            .output(x.all_reduce(Reduction::Mean, "g"))
            .compile()?;
        let f = stage.function(&f)?;
        let all = (0..count).map(|rank| numbers(rank, dtype)).collect::<Result<Vec<_>>>()?;
        let largest = folded(&all, dtype, f64::max)?;
        let summed = if dtype == Bool { I64 } else { dtype };
        let sum = folded(&all, summed, |a, b| a + b)?;
        let mean = sum.to_f64s().iter().map(|sum| sum / count as f64).collect::<Vec<_>>();
        let mean_dtype = if dtype.is_float() { dtype } else { F64 };
        let mean = Value::from_vec(&[3, 2], mean)?.cast(mean_dtype)?;
        let got = members(stage, count, &f, |rank, sim| {
            let first = sim.call(args![&all[rank]])?.into_values();
            ensure(sim.call(args![&all[rank]])?.into_values() == first, || "two equal calls differ".into())?;
            Ok(first)
        })?;
        let alone = f.call(args![&all[1]]);
        fails("a route past the only member", alone, &["broadcast", "below 1", "found 2"])?;
        for (rank, got) in got.iter().enumerate() {
            let what = |kind: &str| format!("{kind} of {dtype} at {rank}");
            equal(&what("sum"), &got[0], sum.clone())?;
            equal(&what("max"), &got[1], largest.clone())?;
            equal(&what("min"), &got[2], folded(&all, dtype, f64::min)?)?;
            equal(&what("gathered"), &got[3], joined(&all)?)?;
            let part: Vec<f64> = largest.to_f64s()[rank * 2..rank * 2 + 2].to_vec();
            equal(&what("scattered"), &got[4], Value::from_vec(&[1, 2], part)?.cast(dtype)?)?;
            equal(&what("broadcast"), &got[5], all[2].clone())?;
            equal(&what("shifted"), &got[6], all[(rank + count - 1) % count].clone())?;
            let routed = if rank == 0 { all[2].clone() } else { Value::zeros(dtype, &[3, 2])? };
            equal(&what("along a route"), &got[7], routed)?;
            near(&what("mean"), &got[8], &mean, &Bound::Ulp(1.0))?;
        }
    }
    Ok(())
}

/// Other axes, scalars, complex numbers, and shapes that follow from ranks.
fn axes(stage: &Stage) -> Result<()> {
    let (x, s) = (matrix::<f32>("x"), scalar::<f32>("s"));
    let first = group_rank("g") * 2i64;
    let f = function([&x, &s])
        .output(x.all_gather(-1, "g"))
        .output(x.reduce_scatter(Reduction::Sum, 1, "g"))
        .output(s.all_gather(0, "g"))
        .output(s.all_reduce(Reduction::Sum, "g") + group_size("g").cast(DType::F32))
        .output(x.index(idx![.., range(&first, &first + 2i64)]))
        .output(complex(&s, x.sum(..)).all_reduce(Reduction::Sum, "g"))
        .output(arange(group_size("g") + group_rank("g")))
        .compile()?;
    let f = stage.function(&f)?;
    let of = |rank: usize| Array2::from_shape_fn((2, 4), |(i, j)| (i * 4 + j) as f32 + 10.0 * rank as f32);
    let got = members(stage, 2, &f, |rank, sim| Ok(sim.call(args![of(rank), rank as f32])?.into_values()))?;
    for (rank, got) in got.iter().enumerate() {
        let gathered = ndarray::concatenate(ndarray::Axis(1), &[of(0).view(), of(1).view()]);
        equal("gathered along the last axis", &got[0], gathered.map_err(|e| wrong(e.to_string()))?)?;
        let sum = of(0) + of(1);
        let columns = |of: &Array2<f32>| of.slice(ndarray::s![.., 2 * rank..2 * rank + 2]).to_owned();
        equal("scattered along the last axis", &got[1], columns(&sum))?;
        equal("gathered scalars", &got[2], vec![0f32, 1.0])?;
        equal("a sum of scalars", &got[3], 3f32)?;
        equal("columns by rank", &got[4], columns(&of(rank)))?;
        equal("complex", &got[5], Value::from(Complex::new(1f32, sum.sum())))?;
        equal("as many as rank and size say", &got[6], (0..2 + rank as i64).collect::<Vec<_>>())?;
    }
    let alone = f.call(args![of(1), 5f32])?;
    equal("alone", &alone[0], of(1))?;
    equal("alone", &alone[3], 6f32)
}

/// The gradient of the sum of all members' costs, by central differences of each member's input.
fn gradients(stage: &Stage) -> Result<()> {
    let count = 2;
    let x = vector::<f64>("x");
    let weight =
        &(arange(x.shape().index(idx![0])).cast(DType::F64) + group_rank("g").cast(DType::F64) + 1.0);
    let whole = |y: Variable| (y.sqr() * (arange(y.shape().index(idx![0])).cast(DType::F64) + 1.0)).sum(..);
    let each = |y: Variable| (y.sqr() * weight).sum(..);
    let costs = [
        each(x.all_reduce(Reduction::Sum, "g")),
        each(x.all_reduce(Reduction::Mean, "g")),
        each(x.all_reduce(Reduction::Max, "g")),
        each(x.all_reduce(Reduction::Min, "g")),
        whole(x.all_gather(0, "g")) * (group_rank("g") + 1i64).cast(DType::F64),
        whole(x.reduce_scatter(Reduction::Sum, 0, "g")) * (group_rank("g") + 1i64).cast(DType::F64),
        whole(x.reduce_scatter(Reduction::Max, 0, "g")),
        each(x.broadcast_from(1, "g")),
        each(x.collective_permute(1, "g")),
        each(x.collective_permute([(1, 0)], "g")),
    ];
    let values: [[f64; 4]; 2] = [[0.5, -1.0, 2.0, 0.25], [1.5, -0.5, 0.75, -2.0]];
    for (number, cost) in costs.iter().enumerate() {
        let f = stage
            .function(&function([&x]).output(cost).output(grad(cost, [&x])?.swap_remove(0)).compile()?)?;
        let run = |values: [[f64; 4]; 2]| {
            members(stage, count, &f, |rank, sim| {
                let got = sim.call(args![values[rank].to_vec()])?;
                Ok((got[0].item::<f64>()?, got[1].to_vec::<f64>()?))
            })
        };
        let slopes = run(values)?;
        for (rank, i) in [(0, 0), (1, 1), (1, 3)] {
            let (mut above, mut below) = (values, values);
            above[rank][i] += 1e-5;
            below[rank][i] -= 1e-5;
            let total = |values| Ok::<f64, workalike::Error>(run(values)?.iter().map(|got| got.0).sum());
            let slope = (total(above)? - total(below)?) / 2e-5;
            let got = slopes[rank].1[i];
            let text = || format!("cost {number}, x[{i}] of member {rank}: {got}, by differences {slope}");
            ensure((got - slope).abs() < 1e-6 * slope.abs().max(1.0), text)?;
        }
    }
    Ok(())
}

/// A jacobian differentiates all rows at once, with the batch's axis in front.
fn batches(stage: &Stage) -> Result<()> {
    let x = vector::<f64>("x");
    let outputs = [
        x.sqr().all_reduce(Reduction::Sum, "g"),
        x.sqr().all_gather(0, "g"),
        x.sqr().reduce_scatter(Reduction::Sum, 0, "g"),
        x.sqr().collective_permute(1, "g"),
    ];
    for (number, y) in outputs.iter().enumerate() {
        let jacobian = jacobian(y, [&x])?.swap_remove(0);
        let f = stage.function(&function([&x]).output(jacobian).compile()?)?;
        let value = |rank: usize| vec![1.0 + rank as f64, 3.0];
        let got = members(stage, 2, &f, |rank, sim| Ok(sim.call(args![value(rank)])?[0].clone()))?;
        for (rank, got) in got.iter().enumerate() {
            let own = value(rank).iter().map(|x| 2.0 * x).collect::<Vec<_>>();
            let at = |size: usize, shape: &[usize]| {
                let mut full = vec![0.0; size];
                // Each row is the gradient of the sum of both members' elements.
                let places: Vec<(usize, f64)> = match number {
                    0 => vec![(0, 2.0 * own[0]), (3, 2.0 * own[1])],
                    1 => vec![(rank * 4, 2.0 * own[0]), (rank * 4 + 3, 2.0 * own[1])],
                    2 => vec![(0, own[0]), (1, own[1])],
                    _ => vec![(0, own[0]), (3, own[1])],
                };
                places.into_iter().for_each(|(at, slope)| full[at] = slope);
                Value::from_vec(shape, full)
            };
            let want = match number {
                1 => at(8, &[4, 2])?,
                2 => at(2, &[1, 2])?,
                _ => at(4, &[2, 2])?,
            };
            equal(&format!("jacobian {number} at {rank}"), got, want)?;
        }
    }
    Ok(())
}

/// A collective in each iteration of a loop, whose gradient is a loop too.
fn loops(stage: &Stage) -> Result<()> {
    let x = vector::<f64>("x");
    let turns = fori(3i64, &x, |_, x| x.all_reduce(Reduction::Mean, "g") * 0.5 + &x * 0.25);
    let cost = turns.sqr().sum(..);
    let f = function([&x]).output(&turns).output(grad(&cost, [&x])?.swap_remove(0)).compile()?;
    let f = stage.function(&f)?;
    let start = |rank: usize| vec![1.0 + rank as f64, -2.0];
    let got = members(stage, 2, &f, |rank, sim| Ok(sim.call(args![start(rank)])?.into_values()))?;
    let mut want = [start(0), start(1)];
    for _ in 0..3 {
        let mean: Vec<f64> = (0..2).map(|i| (want[0][i] + want[1][i]) / 2.0).collect();
        want.iter_mut().for_each(|x| (0..2).for_each(|i| x[i] = mean[i] * 0.5 + x[i] * 0.25));
    }
    for rank in 0..2 {
        near("turns", &got[rank][0], &want[rank].clone().into(), &Bound::Ulp(4.0))?;
        // One turn takes y = A x, and A is symmetric: the gradient is 2 A^3 y.
        let mut slopes = [want[0].clone(), want[1].clone()];
        for _ in 0..3 {
            let mean: Vec<f64> = (0..2).map(|i| (slopes[0][i] + slopes[1][i]) / 2.0).collect();
            slopes.iter_mut().for_each(|x| (0..2).for_each(|i| x[i] = mean[i] * 0.5 + x[i] * 0.25));
        }
        let slope: Vec<f64> = slopes[rank].iter().map(|s| 2.0 * s).collect();
        near("their gradient", &got[rank][1], &slope.into(), &Bound::Ulp(8.0))?;
    }
    Ok(())
}

/// Each member trains on a part of the batch, by `call` and `run_n`: all have the weights of one device.
fn training(stage: &Stage) -> Result<()> {
    let (steps, rows, count) = (6, 12, 3);
    let data = |s: usize, i: usize| ((s * 7 + i * 5) % 11) as f32 * 0.1;
    let xs = ndarray::Array3::from_shape_fn((steps, rows, 4), |(s, i, j)| data(s, i * 4 + j));
    let ts = ndarray::Array3::from_shape_fn((steps, rows, 2), |(s, i, j)| data(s + 3, i * 2 + j));
    let build = |parts: bool| {
        let (x, t) = (matrix::<f32>("x"), matrix::<f32>("t"));
        let w = shared("w", Array2::from_shape_fn((4, 2), |(i, j)| (i as f32 - j as f32) * 0.1));
        let b = shared("b", vec![0.1f32, -0.1]);
        let cost = ((x.dot(&w) + &*b).tanh() - &t).sqr().mean(..);
        let grads = grad(&cost, [&w, &b])?;
        let mean = |g: &Variable| if parts { g.all_reduce(Reduction::Mean, "g") } else { g.clone() };
        function([&x, &t])
            .output(mean(&cost))
            .update(&w, &*w - 0.2 * mean(&grads[0]))
            .update(&b, &*b - 0.2 * mean(&grads[1]))
            .compile()
    };
    let slice = |a: &ndarray::Array3<f32>, s: usize, part: std::ops::Range<usize>| {
        Value::from(a.slice(ndarray::s![s, part, ..]).to_owned())
    };
    let reference = build(false)?;
    let mut costs = Vec::new();
    for step in 0..steps {
        let all = |a| slice(a, step, 0..rows);
        costs.push(reference.call_reference(args![all(&xs), all(&ts)])?[0].clone());
    }
    let f = stage.function(&build(true)?)?;
    let states = members(stage, count, &f, |rank, sim| {
        let part = rank * rows / count..(rank + 1) * rows / count;
        for (step, want) in costs.iter().enumerate() {
            let own = |a| slice(a, step, part.clone());
            near("cost", &sim.call(args![own(&xs), own(&ts)])?[0], want, &relative(want, 1e-5))?;
        }
        let by_call = [sim.get_value("w")?, sim.get_value("b")?];
        sim.reset()?;
        let own = |a: &ndarray::Array3<f32>| a.slice(ndarray::s![.., part.clone(), ..]).to_owned();
        let last = sim.run_n(steps as u64, args![each(own(&xs)), each(own(&ts))])?;
        near("cost of run_n", &last[0], &costs[steps - 1], &relative(&costs[steps - 1], 1e-5))?;
        equal("run_n", &sim.get_value("w")?, by_call[0].clone())?;
        sim.sync_to_parent_keeping(Keep::Simulator)?;
        Ok(by_call)
    })?;
    for state in &states {
        ensure(*state == states[0], || "members have different weights".into())?;
        for (got, name) in state.iter().zip(["w", "b"]) {
            let want = reference.shared(name)?.get_value()?;
            near(name, got, &want, &relative(&want, 1e-5))?;
            equal("the parent", &f.shared(name)?.get_value()?, got.clone())?;
        }
    }
    Ok(())
}

/// Rows and columns of members: each has a seat in two groups.
fn several(stage: &Stage) -> Result<()> {
    let x = vector::<f32>("x");
    let f = function([&x])
        .output(x.all_reduce(Reduction::Sum, "row") * group_rank("column").cast(DType::F32))
        .output(x.all_reduce(Reduction::Max, "column"))
        .compile()?;
    let f = stage.function(&f)?;
    let groups = [(); 4].map(|()| threads(2, PATIENCE));
    let [row0, row1, column0, column1] = &groups;
    let seats: Vec<Arc<dyn Group>> = [row0, row1].iter().flat_map(|row| row.iter().cloned()).collect();
    let columns: Vec<_> = (0..4).map(|at| [column0, column1][at % 2][at / 2].clone()).collect();
    let got = each_member(stage, seats, |at, seat, device| {
        let mut sim = f.optimize(member("row", seat, device).and("column", columns[at].clone()))?;
        Ok(sim.call(args![vec![at as f32]])?.into_values())
    })?;
    for (at, got) in got.iter().enumerate() {
        equal("rows", &got[0], vec![if at < 2 { 0.0 } else { 5f32 }])?;
        equal("columns", &got[1], vec![(at % 2 + 2) as f32])?;
    }
    // Members of a column are in different rows, which may decide otherwise.
    let of = |decide: &str| {
        let rows = x.all_reduce(Reduction::Sum, decide).sum(..).greater(0.0);
        let branch = if_else(&rows, || x.all_reduce(Reduction::Sum, "column"), || x.clone());
        let f = function([&x]).output(branch).output(x.all_reduce(Reduction::Sum, "row")).compile()?;
        let seats = [(); 2].map(|()| threads(1, PATIENCE).remove(0));
        let [row, column] = seats;
        f.optimize(member("row", row, stage.open()?).and("column", column))
    };
    fails("a branch by another group", of("row"), &["branches", "may take different ones"])?;
    of("column")?;
    let twice = |seats: Vec<Arc<dyn Group>>| {
        f.optimize(member("row", seats[0].clone(), stage.open()?).and("row", seats[0].clone()))
    };
    fails("two seats in one group", twice(threads(1, PATIENCE)), &["row twice"])?;
    let one = f.optimize(member("row", threads(1, PATIENCE).remove(0), stage.open()?));
    fails("no seat in a group", one, &["column", "expected one of", "row"])
}
