//! Members that differ, leave, fail or are loaded, and conditions that they may not share.

use super::{PATIENCE, each_member, members};
use crate::cases::{Story, family};
use crate::stage::{Scenario, Stage, ensure, equal, fails};
use std::time::Duration;
use workalike::engine::device::group::threads;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 8] = [
        ("members_that_differ", different),
        ("members_that_leave", leaving),
        ("an_error_of_one_member", one_fails),
        ("conditions", conditions),
        ("saved_and_probed", saved),
        ("those_of_a_user", of_a_user),
        ("shapes_by_exchange", shapes_by_exchange),
        ("loops_in_main_memory", loops_in_main_memory),
    ];
    family("collectives", &stories)
}

/// Members with other files or arrays are named, and none waits for long.
fn different(stage: &Stage) -> Result<()> {
    let x = vector::<f32>("x");
    let sum = stage.function(&function([&x]).output(x.all_reduce(Reduction::Sum, "g")).compile()?)?;
    let max = stage.function(&function([&x]).output(x.all_reduce(Reduction::Max, "g")).compile()?)?;
    each_member(stage, threads(3, PATIENCE), |rank, seat, device| {
        let joined = if rank == 2 { &max } else { &sum }.optimize(member("g", seat, device));
        let other = if rank == 2 { "member 0" } else { "member 2" };
        fails("another file", joined, &[other, "another graph", "same file"])
    })?;
    members(stage, 2, &sum, |rank, sim| {
        equal("before", &sim.call(args![vec![1f32]])?[0], vec![2f32])?;
        let outcome = sim.call(args![vec![1f32; 3 + rank]]);
        fails("other shapes", outcome, &["3 float32", "4 float32", "equal shapes", "all_reduce"])?;
        fails("a closed group", sim.call(args![vec![1f32]]), &["3 float32", "4 float32"])
    })?;
    let part = stage.function(&function([&x]).output(x.reduce_scatter(Reduction::Sum, 0, "g")).compile()?)?;
    members(stage, 2, &part, |_, sim| {
        let odd = sim.call(args![vec![1f32; 3]]);
        fails("uneven parts", odd, &["reduce_scatter", "a multiple of 2", "3 rows"])?;
        equal("then even ones", &sim.call(args![vec![1f32; 2]])?[0], vec![2f32])
    })?;
    let root = stage.function(&function([&x]).output(x.broadcast_from(2, "g")).compile()?)?;
    members(stage, 2, &root, |_, sim| {
        fails("no such member", sim.call(args![vec![1f32]]), &["broadcast", "root", "below 2", "found 2"])
    })?;
    Ok(())
}

/// A member that waits for one that has left gets an error in time, and keeps the state of the last good
/// call.
fn leaving(stage: &Stage) -> Result<()> {
    let (x, total) = (vector::<f32>("x"), shared("total", vec![0f32]));
    let f = function([&x]).update(&total, &*total + x.all_reduce(Reduction::Sum, "g")).compile()?;
    let f = stage.function(&f)?;
    members(stage, 3, &f, |rank, sim| {
        sim.call(args![vec![1f32]])?;
        if rank == 1 {
            return Ok(());
        }
        let left = sim.run_n(5, args![vec![1f32]]);
        fails("a member left", left, &["member 1 has left", "checkpoint"])?;
        equal("the last good state", &sim.get_value("total")?, vec![3f32])?;
        sim.sync_to_parent_keeping(Keep::Simulator).map(drop)
    })?;
    equal("the parent", &f.shared("total")?.get_value()?, vec![3f32])?;
    // NCCL takes a while to join them.
    let seats = threads(2, Duration::from_millis(2500));
    // Both have joined before one of them stays away.
    let meeting = std::sync::Barrier::new(2);
    each_member(stage, seats, |rank, seat, device| {
        let mut sim = f.optimize(member("g", seat, device))?;
        meeting.wait();
        if rank == 0 {
            fails(
                "nobody comes",
                sim.call(args![vec![1f32]]),
                &["member 1 did not come", "2.5 s", "all_reduce"],
            )?;
        }
        meeting.wait();
        Ok(())
    })?;
    Ok(())
}

/// An index that is out of range on one member is an error for all, and no member stores new values.
fn one_fails(stage: &Stage) -> Result<()> {
    let (at, seen) = (vector::<i64>("at"), shared("seen", vec![0f32; 2]));
    // What the host knows to be in range is checked too, so that all members make the same exchanges.
    let rows = shared("rows", vec![1f32, 2.0, 3.0]).index(idx![&at]).all_reduce(Reduction::Sum, "g");
    let known = stage.function(&function([&at]).update(&seen, &*seen + rows).compile()?)?;
    members(stage, 2, &known, |rank, sim| {
        fails("a host's index", sim.call(args![vec![0i64, 2 + rank as i64]]), &["out of range"])?;
        sim.call(args![vec![0i64, 2]])?;
        equal("then good ones", &sim.get_value("seen")?, vec![2f32, 6.0])
    })?;
    let (x, total) = (vector::<f32>("x"), shared("total", vec![0f32; 2]));
    let table = shared("table", vec![1f32, 2.0, 3.0, 4.0]);
    // What is computed on the device is not known to be in range before.
    let taken = table.index(idx![(&x * 2.0).cast(DType::I64)]);
    let sum = (&taken * &taken).all_reduce(Reduction::Sum, "g");
    let mean = taken.all_reduce(Reduction::Mean, "g");
    let f =
        function([&x]).output(mean).update(&total, &*total + &sum).update(&table, &*table * 1.0).compile()?;
    let f = stage.function(&f)?;
    members(stage, 2, &f, |rank, sim| {
        sim.call(args![vec![0f32, 0.5]])?;
        let state = [sim.get_value("total")?, sim.get_value("table")?];
        equal("a good call", &state[0], vec![2f32, 8.0])?;
        // Out of range for one member alone, once in the middle of a run.
        let bad = if rank == 1 { 7f32 } else { 1.0 };
        fails("one index", sim.call(args![vec![bad, 0.0]]), &["out of range"])?;
        equal("total", &sim.get_value("total")?, state[0].clone())?;
        let steps = ndarray::arr2(&[[0f32, 0.5], [1.0, 1.5], [0.0, bad], [0.0, 0.0]]);
        fails("in a run", sim.run_n(4, args![each(steps)]), &["out of range"])?;
        equal("after two of four", &sim.get_value("total")?, vec![2f32 + 2.0 + 18.0, 8.0 + 8.0 + 32.0])?;
        sim.call(args![vec![0f32, 0.5]])?;
        equal("then a good call", &sim.get_value("total")?, vec![24f32, 56.0])
    })?;
    Ok(())
}

/// What a user's collectives say is done by the members of `group(..)` as by any others.
fn of_a_user(stage: &Stage) -> Result<()> {
    let x = vector::<f32>("x");
    let f = function([&x])
        .output(x.all_gather(0, "g"))
        .output(x.all_gather(0, "g").own_part(0, "g"))
        .output(x.own_part(0, "g").sum(..))
        .compile()?;
    let f = stage.function(&f)?;
    let mut sim = f.optimize(group("g", stage.open_members(2)?))?;
    let got = sim.each_member(|rank, member| {
        let own = [1f32, 2.0].map(|x| x + 10.0 * rank as f32);
        Ok(member.call(args![own.to_vec()])?.into_values())
    })?;
    for (rank, got) in got.iter().enumerate() {
        equal("of all", &got[0], vec![1f32, 2.0, 11.0, 12.0])?;
        equal("the member's", &got[1], [vec![1f32, 2.0], vec![11.0, 12.0]][rank].clone())?;
        equal("the part of its own", &got[2], [1f32, 12.0][rank])?;
    }
    Ok(())
}

/// Members whose arrays are as long as the longest: what they exchange to find out shapes is exchanged once a
/// call, also by members that know some of the shapes already.
fn shapes_by_exchange(stage: &Stage) -> Result<()> {
    let y = vector::<f32>("y");
    let longest = y.extent(0).all_reduce(Reduction::Max, "g");
    let padded = full([longest], 0f32).set_index(idx![arange(y.extent(0))], &y);
    let f = stage.function(&function([&y]).output(padded.all_reduce(Reduction::Sum, "g")).compile()?)?;
    members(stage, 2, &f, |rank, sim| {
        for lengths in [[5, 3], [5, 5], [2, 5], [5, 3], [1, 1]] {
            let own = vec![1f32 + rank as f32; lengths[rank]];
            let given = |at: usize, rank: usize| if at < lengths[rank] { 1f32 + rank as f32 } else { 0.0 };
            let want: Vec<f32> =
                (0..lengths[0].max(lengths[1])).map(|at| given(at, 0) + given(at, 1)).collect();
            equal(&format!("lengths {lengths:?}"), &sim.call(args![own])?[0], want)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// An error of one member is one for all, also where the host runs the loop in which they exchange arrays.
fn loops_in_main_memory(stage: &Stage) -> Result<()> {
    let (at, total) = (vector::<i64>("at"), shared("total", 0f32));
    let table = shared("table", vec![1f32, 2.0, 3.0]);
    let first = table.index(idx![&at * 1i64]).sum(..);
    let [last] = fori(3i64, [&first], |_, [s]| [s.all_reduce(Reduction::Mean, "g") * 2.0]);
    let new = &*total + last;
    let f = function([&at]).update(&total, new).update(&table, &*table * 1.0).compile()?;
    let f = stage.function(&f)?;
    each_member(stage, threads(2, PATIENCE), |rank, seat, device| {
        let mut sim = f.optimize(member("g", seat, device).in_main_memory())?;
        sim.call(args![vec![0i64, 1]])?;
        equal("a good call", &sim.get_value("total")?, 24f32)?;
        fails("one index", sim.call(args![vec![0i64, if rank == 1 { 7 } else { 1 }]]), &["out of range"])?;
        equal("nothing is stored", &sim.get_value("total")?, 24f32)?;
        sim.call(args![vec![0i64, 1]])?;
        equal("then a good call", &sim.get_value("total")?, 48f32)
    })?;
    Ok(())
}

/// What decides whether members exchange arrays must be the same for all of them.
fn conditions(stage: &Stage) -> Result<()> {
    let (x, c, count) = (vector::<f64>("x"), scalar::<bool>("c"), shared("count", 0i64));
    let branch =
        |c: &Variable| if_else(c, || x.all_reduce(Reduction::Sum, "g"), || x.all_gather(0, "g") * 0.0);
    let join = |f: Function| f.optimize(member("g", threads(1, PATIENCE).remove(0), stage.open()?));
    let of = |y: Variable| function((&x, In::new(&c))).allow_unused_inputs().output(y);
    let own = join(stage.function(&of(branch(&c)).compile()?)?);
    fails("a branch by a member's own value", own, &["branches", "may take different ones", "all_reduce"])?;
    join(of(branch(&c.all_reduce(Reduction::Max, "g"))).compile()?)?;
    let every = (&*count % 2i64).equal(0i64);
    let counted = of(branch(&every)).update(&count, &*count + 1i64);
    join(counted.clone().compile()?)?;
    let moved = of(branch(&every)).update(&count, &*count + c.cast(DType::I64)).compile()?;
    fails("by a variable that members change apart", join(moved), &["may take different ones"])?;
    // Newton's method for the square roots of all members' numbers, until the worst of them is good.
    let root = |shared: bool| {
        let [root, _] = while_loop(
            [ones_like(&x), constant(1f64)],
            |[_, off]| off.greater(1e-12),
            |[r, _]| {
                let next = (&r + &x / &r) * 0.5;
                let off = ((&next * &next - &x).abs() / &x).max(..);
                let worst = off.all_reduce(Reduction::Max, "g");
                [next, if shared { worst } else { &worst * 0.0 + off }]
            },
        );
        function([&x]).output(root).compile()
    };
    fails("a loop by a member's own value", join(root(false)?), &["different numbers of", "all_reduce"])?;
    let f = stage.function(&root(true)?)?;
    let got = members(stage, 2, &f, |rank, sim| {
        sim.call(args![vec![2f64 + 100.0 * rank as f64]])?[0].item::<f64>()
    })?;
    ensure((got[0] - 2f64.sqrt()).abs() < 1e-12 && (got[1] - 102f64.sqrt()).abs() < 1e-11, || {
        format!("{got:?}")
    })
}

/// A Simulator that is loaded as a member exchanges again, what it saves is the Function as it was, and
/// probes see what the members computed together.
fn saved(stage: &Stage) -> Result<()> {
    let (x, w) = (vector::<f32>("x"), shared("w", vec![0f32]));
    let sum = (&x * 2.0).all_reduce(Reduction::Sum, "g");
    let f = function([&x]).name("main").output(&sum).update(&w, &*w + &sum).compile()?;
    let bytes = f.optimize(stage.open()?)?.to_bytes()?;
    each_member(stage, threads(2, PATIENCE), |rank, seat, device| {
        let mut sim = Simulator::from_bytes(&bytes, member("g", seat, device))?;
        let given = vec![1f32 + rank as f32];
        equal("loaded", &sim.call(args![given.clone()])?[0], vec![6f32])?;
        let alone = sim.function("main")?.fork()?.call(args![given])?;
        equal("the parent is alone", &alone[0], vec![2f32 + 2.0 * rank as f32])
    })?;
    let inner = members(stage, 2, &f, |rank, sim| {
        let probe = sim.probe(&sum, 1, 10)?;
        sim.call(args![vec![1f32 + rank as f32]])?;
        equal("w", &sim.get_value("w")?, vec![6f32])?;
        sim.read_probe(probe)?.to_vec::<f32>()
    })?;
    ensure(inner == [[6.0], [6.0]], || format!("{inner:?}"))
}
