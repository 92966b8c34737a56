//! Steps of the members of a group.

use workalike::Result;
use workalike::engine::StepPlan;
use workalike::prelude::*;
use workalike_suite::data::random;
use workalike_suite::wide::Wide;

/// The number of exchanges of a step of training, of layers of so many units, by two members. No new value is
/// copied.
fn exchanges(layers: &[usize]) -> Result<usize> {
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
    let f = function([&x, &y]).output(&cost).updates(updates).compile()?.data_parallel("g", ["x", "y"])?;
    let mut sim = f.optimize(group("g", [Wide, Wide]))?;
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

/// The gradients of the last layer are added up before those of the others.
#[test]
fn updates_between_exchanges_are_in_place() -> Result<()> {
    assert!(exchanges(&[1200, 1200, 1200])? > 1);
    Ok(())
}
