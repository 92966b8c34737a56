//! Steps of the members of a group.

use workalike::Result;
use workalike::engine::{LocalGroup, StepPlan};
use workalike::ops::Bins;
use workalike::prelude::*;
use workalike_suite::data::random;
use workalike_suite::wide::Wide;

/// A data parallel step of training, of layers of so many units.
fn training(layers: &[usize]) -> Result<Function> {
    let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
    let (mut scores, mut parameters) = (x.clone(), vec![]);
    for (at, pair) in layers.windows(2).enumerate() {
        let w = shared(&format!("w{at}"), random(DType::F32, pair, at as u32)?);
        let b = shared(&format!("b{at}"), vec![0f32; pair[1]]);
        scores = scores.tanh().dot(&w) + &b;
        parameters.extend([w, b]);
    }
    let cost = categorical_crossentropy(softmax(&scores, 1), &y).mean(..);
    let updates = sgd(&parameters, grad(&cost, &parameters)?, 0.1)?;
    function([&x, &y]).output(&cost).updates(updates).compile()?.data_parallel("g", ["x", "y"])
}

/// The number of exchanges of a step of training, of layers of so many units, by two members. No new value is
/// copied.
fn exchanges(layers: &[usize]) -> Result<usize> {
    let mut sim = training(layers)?.optimize(group("g", [Wide, Wide]))?;
    let x = random(DType::F32, &[32, layers[0]], 9)?;
    let plans = sim.each_member(|_, member| member.plan(args![&x, vec![3i64; 32]]))?;
    for plan in &plans {
        let copies = |step: &&StepPlan| step.name == "commit" || step.kind == "copy";
        assert_eq!(plan.steps.iter().find(copies).map(|step| &step.name), None, "{plan}");
    }
    Ok(plans[0].steps.iter().filter(|step| step.name.contains("all_reduce")).count())
}

/// The sums of all gradients and of the cost, and what members tell each other of classes out of range.
#[test]
fn a_step_of_a_small_divided_network_has_one_exchange() -> Result<()> {
    assert_eq!(exchanges(&[64, 128, 10])?, 1);
    Ok(())
}

/// Each row has a class of its own, also where the rows are too many to look at their numbers.
#[test]
fn rows_of_a_divided_batch_are_chosen_from_at_once() -> Result<()> {
    let f = training(&[64, 128, 10])?;
    let plan =
        |member: &mut Simulator| member.plan(args![of_shape::<f32>(&[512, 64])?, of_shape::<i64>(&[512])?]);
    let mut sim = f.optimize(group("g", [Wide, Wide]))?;
    let mut plans = sim.each_member(|_, member| plan(member))?;
    plans.push(plan(&mut f.optimize(Wide)?)?);
    for plan in &plans {
        let in_order = |step: &&StepPlan| !step.axes.is_empty() && step.phases.iter().any(|p| p == "ordered");
        assert_eq!(plan.steps.iter().find(in_order).map(|step| &step.name), None, "{plan}");
    }
    Ok(())
}

/// The gradients of the last layer are added up before those of the others.
#[test]
fn updates_between_exchanges_are_in_place() -> Result<()> {
    assert!(exchanges(&[1200, 1200, 1200])? > 1);
    Ok(())
}

/// A step of training with gradient descent: `x` is divided, and so are `t` and the rows of an output.
fn linear() -> Result<Function> {
    let (x, t) = (matrix::<f32>("x"), vector::<f32>("t"));
    let (w, steps) = (shared("w", vec![0.5f32, -0.25, 1.0]), shared("steps", 0i64));
    let errors = x.dot(&w) - &t;
    let cost = errors.sqr().mean(..);
    let next = &*w - 0.1 * &grad(&cost, [&w])?[0];
    let f = function([&x, &t]).output_named("cost", &cost).output_named("errors", &errors);
    f.update(&w, next).update(&steps, &steps + 1i64).compile()
}

fn rows(count: usize) -> Result<Args> {
    Ok(args![random(DType::F32, &[count, 3], 1)?, random(DType::F32, &[count], 2)?])
}

#[test]
fn a_small_call_is_computed_by_each_member() -> Result<()> {
    let f = linear()?;
    let parallel = f.fork()?.data_parallel("g", ["x", "t"])?;
    // As from a file.
    let parallel = Function::from_bytes(&parallel.to_bytes()?)?;
    let mut sim = parallel.optimize(group("g", [Wide, Wide, Wide]))?;
    let mut one = f.optimize(Wide)?;
    assert!(!sim.divides(rows(6)?)?);
    for count in [6, 9, 6] {
        let (got, want) = (sim.call(rows(count)?)?, one.call(rows(count)?)?);
        assert_eq!(got["errors"].shape(), [count]);
        // What one device gives, to the bit.
        assert_eq!((&got["cost"], &got["errors"]), (&want["cost"], &want["errors"]));
    }
    let ts = random(DType::F32, &[4, 6], 3)?;
    let args = args![random(DType::F32, &[6, 3], 1)?, each(ts)];
    assert!(!sim.divides(&args)?);
    assert_eq!(sim.run_n(4, &args)?["cost"], one.run_n(4, &args)?["cost"]);
    for name in ["w", "steps"] {
        let all = sim.each_member(|_, member| member.get_value(name))?;
        assert!(
            all.iter().all(|value| *value == one.get_value(name).unwrap_or(0i64.into())),
            "{name}: {all:?}"
        );
    }
    sim.sync_to_parent()?;
    assert_eq!(parallel.shared("steps")?.get_value()?.item::<i64>()?, 7);
    Ok(())
}

#[test]
fn a_large_call_is_divided() -> Result<()> {
    let parallel = linear()?.data_parallel("g", ["x", "t"])?;
    let mut sim = parallel.optimize(group("g", [Wide, Wide]))?;
    assert!(!sim.divides(rows(64)?)?);
    sim.call(rows(64)?)?;
    // 48 MB of inputs take longer than an exchange.
    let large = args![of_shape::<f32>(&[3 << 20, 3])?, of_shape::<f32>(&[3 << 20])?];
    assert!(sim.divides(&large)?);
    let all = sim.each_member(|_, member| member.get_value("w"))?;
    assert_eq!(all[0], all[1]);
    Ok(())
}

/// What both ways store: they may take turns.
#[test]
fn both_ways_have_the_same_shared_variables() -> Result<()> {
    let parallel = linear()?.data_parallel("g", ["x", "t"])?;
    let mut divided = parallel.fork()?.optimize(group("g", [Wide, Wide]).always_divided())?;
    let mut sim = parallel.optimize(group("g", [Wide, Wide]))?;
    assert!(divided.divides(rows(8)?)? && !sim.divides(rows(8)?)?);
    for call in 0..6 {
        divided.call(rows(8)?)?;
        match call % 2 {
            0 => drop(sim.call(rows(8)?)?),
            _ => drop(sim.each_member(|rank, member| {
                let part = |shape: &[usize], seed, own: usize| {
                    let all = random(DType::F32, shape, seed)?.to_vec::<f32>()?;
                    Ok::<_, workalike::Error>(all[rank * own..][..own].to_vec())
                };
                let x = Value::from_vec(&[4, 3], part(&[8, 3], 1, 12)?)?;
                member.call(args![x, part(&[8], 2, 4)?])
            })?),
        }
    }
    for name in ["w", "steps"] {
        let all = sim.each_member(|_, member| member.get_value(name))?;
        assert_eq!(all[0], all[1], "{name}");
        let numbers = |value: &Value| value.cast(DType::F64)?.to_vec::<f64>();
        let (got, want) = (numbers(&all[0])?, numbers(&divided.get_value(name)?)?);
        assert!(got.iter().zip(&want).all(|(got, want)| (got - want).abs() < 1e-5), "{got:?}, {want:?}");
    }
    Ok(())
}

/// Members would store other bits.
#[test]
fn what_adds_in_any_order_is_divided() -> Result<()> {
    let parallel = linear()?.data_parallel("g", ["x", "t"])?;
    let members = [Wide, Wide].map(|device| device.deterministic(false));
    assert!(parallel.optimize(group("g", members))?.divides(rows(8)?)?);
    Ok(())
}

#[test]
fn what_the_user_exchanges_is_always_exchanged() -> Result<()> {
    let x = vector::<f32>("x");
    let own = function([&x]).output(x.all_reduce(Reduction::Sum, "g")).compile()?;
    let mut sim = own.optimize(group("g", [Wide, Wide]))?;
    assert!(sim.divides(args![vec![1f32]])?);
    assert_eq!(sim.call(args![vec![1f32]])?[0].to_vec::<f32>()?, [2.0]);
    // Beside what divides the work, too.
    let divided = function([&x]).output(x.sum(..)).compile()?.data_parallel("g", ["x"])?;
    let total = divided.apply([&x])?;
    let f = function([&x]).output(total[0].all_reduce(Reduction::Sum, "g")).compile()?;
    let mut sim = f.optimize(group("g", [Wide, Wide]))?;
    assert!(sim.divides(args![vec![1f32, 2.0]])?);
    assert_eq!(sim.call(args![vec![1f32, 2.0]])?[0].item::<f32>()?, 6.0);
    Ok(())
}

#[test]
fn rows_that_members_cannot_divide_are_refused_in_both_ways() -> Result<()> {
    let parallel = linear()?.data_parallel("g", ["x", "t"])?;
    let messages = [false, true].map(|always| {
        let backend = group("g", [Wide, Wide]);
        let mut sim = parallel.optimize(if always { backend.always_divided() } else { backend })?;
        let refused = sim.call(rows(7)?).unwrap_err().to_string();
        assert_eq!(sim.call(rows(8)?)?["errors"].shape(), [8]);
        Ok::<_, workalike::Error>(refused)
    });
    let [own, always] = messages;
    let (own, always) = (own?, always?);
    assert!(own.contains("a multiple of 2"), "{own}");
    assert_eq!(own, always);
    Ok(())
}

/// The members would have to find it out together.
#[test]
fn a_call_whose_shapes_follow_from_values_is_divided() -> Result<()> {
    let ids = vector::<i64>("ids");
    let f = function([&ids]).output(ids.bincount(None, Bins::AtLeast(2))).compile()?;
    let mut sim = f.data_parallel("g", ["ids"])?.optimize(group("g", [Wide, Wide]))?;
    assert!(sim.divides(args![vec![1i64, 3, 1, 0]])?);
    assert_eq!(sim.call(args![vec![1i64, 3, 1, 0]])?[0].to_vec::<i64>()?, [1, 2, 0, 1]);
    Ok(())
}

/// A member that fails alone keeps its values, and the others get them back.
#[test]
fn an_error_of_one_member_that_computes_all_changes_none() -> Result<()> {
    fails_alone(group("g", [Wide, Wide]))?;
    // Then the other member fails too, since it cannot compare its values with anybody's.
    fails_alone(group("g", [Wide, Wide]).compared_every(1))
}

fn fails_alone(members: LocalGroup<Wide>) -> Result<()> {
    let (x, total, at) = (vector::<f32>("x"), shared("total", 0f32), shared("at", 0i64));
    let chosen = x.index(idx![at.dimshuffle([None])]).sum(..);
    let f = function([&x]).output(x.sum(..)).update(&total, &total + chosen).compile()?;
    let mut sim = f.data_parallel("g", ["x"])?.optimize(members)?;
    let x = vec![1f32, 2.0, 3.0, 4.0];
    assert!(!sim.divides(args![&x])?);
    sim.call(args![&x])?;
    for (places, failing) in [([0i64, 9], "9"), ([-8, 0], "-8")] {
        sim.each_member(|rank, member| member.set_value("at", places[rank]))?;
        for steps in [1u64, 3] {
            let error = sim.run_n(steps, args![&x]).err().map(|error| error.to_string());
            assert!(error.is_some_and(|error| error.contains("out of range")), "{failing}");
            let all = sim.each_member(|_, member| member.get_value("total")?.item::<f32>())?;
            assert_eq!(all, [1.0; 2], "{failing}");
        }
    }
    sim.set_value("at", 3i64)?;
    sim.call(args![&x])?;
    let all = sim.each_member(|_, member| member.get_value("total")?.item::<f32>())?;
    assert_eq!(all, [5.0; 2]);
    Ok(())
}
