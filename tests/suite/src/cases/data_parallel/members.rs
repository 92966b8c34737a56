//! The members of data parallel Functions: checkpoints, parts of weights, comparisons, misuse.

use super::ramp;
use crate::cases::{Story, family};
use crate::stage::{Scenario, Stage, equal, fails, near, relative};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 4] = [
        ("members_of_a_checkpoint", checkpoint),
        ("weights_in_parts", weights_in_parts),
        ("compared_members", compared),
        ("misuse", misuse),
    ];
    family("data_parallel", &stories)
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
        let devices = stage.open_members(members)?;
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
    let mut sim = f.optimize(group("g", stage.open_members(3)?))?;
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
    let devices = stage.open_members(2)?;
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
    let row = tensor::<f32>("row", [Some(1), None]);
    let of_row = function([&row]).output(row.sum(0)).compile()?;
    fails("one row", of_row.data_parallel("g", ["row"]), &["input row", "one row"])?;
    let parallel = stage.function(&f.data_parallel("g", ["x"])?)?;
    let mut sim = parallel.optimize(group("g", stage.open_members(2)?))?;
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
