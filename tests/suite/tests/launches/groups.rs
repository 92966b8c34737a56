//! Steps of the members of a group.

use workalike::Result;
use workalike::prelude::*;
use workalike_suite::data::random;
use workalike_suite::wide::Wide;

/// The sums of all gradients and of the cost, and what members tell each other of classes out of range.
#[test]
fn a_step_of_a_small_divided_network_has_one_exchange() -> Result<()> {
    let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
    let [w0, w1] = [("w0", [64, 128]), ("w1", [128, 10])]
        .map(|(name, shape)| random(DType::F32, &shape, 1).map(|w| shared(name, w)));
    let (w0, b0, w1, b1) = (w0?, shared("b0", vec![0f32; 128]), w1?, shared("b1", vec![0f32; 10]));
    let scores = (x.dot(&w0) + &b0).tanh().dot(&w1) + &b1;
    let cost = categorical_crossentropy(softmax(&scores, 1), &y).mean(..);
    let parameters = [w0, b0, w1, b1];
    let updates = sgd(&parameters, grad(&cost, &parameters)?, 0.1)?;
    let f = function([&x, &y]).output(&cost).updates(updates).compile()?.data_parallel("g", ["x", "y"])?;
    let mut sim = f.optimize(group("g", [Wide, Wide]))?;
    let x = random(DType::F32, &[32, 64], 9)?;
    let plans = sim.each_member(|_, member| member.plan(args![&x, vec![3i64; 32]]))?;
    for plan in plans {
        let exchanges = plan.steps.iter().filter(|step| step.name.contains("all_reduce")).count();
        assert_eq!(exchanges, 1, "{plan}");
        assert!(!plan.to_string().contains("copy to shared variable"), "{plan}");
    }
    Ok(())
}
