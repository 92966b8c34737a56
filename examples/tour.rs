//! Train on a device, predict with the Function it came from.

use workalike::prelude::*;

/// Trains a softmax classifier on a device, and predicts with the portable Function it came from.
pub fn main() -> workalike::Result<()> {
    // An expression, its gradients, and two Functions over the same shared variables.
    let x = matrix::<f32>("x");
    let y = vector::<i64>("y");
    let w = shared("w", Array2::<f32>::zeros((4, 3)));
    let b = shared("b", Array1::<f32>::zeros(3));
    let p = softmax(x.dot(&w) + &b, -1);
    let cost = categorical_crossentropy(&p, &y).mean(..);
    let g = grad(&cost, [&w, &b])?;

    let train = function([&x, &y])
        .output_named("cost", &cost)
        .update(&w, &w - 0.5 * &g[0])
        .update(&b, &b - 0.5 * &g[1])
        .compile()?; // portable, runs here and now on the CPU
    let predict = function([&x]).output_named("label", p.argmax(-1)).compile()?;

    // One file. It holds no device and no compiled code, and loads on every host.
    let file = std::env::temp_dir().join(format!("tour-{}.walk", std::process::id()));
    Bundle::new().with("train", &train).with("predict", &predict).save(&file)?;
    let bundle = Bundle::load(&file)?;

    // Re-hosted on a device: `OpenCl::auto()` or `Cuda::device(0)` in place of `Host::auto()`.
    let mut sim = bundle["train"].optimize(Host::auto())?;
    sim.add_method("predict", &bundle["predict"])?; // the same w and b, on the device

    let flowers = array![[5.1f32, 3.5, 1.4, 0.2], [7.0, 3.2, 4.7, 1.4], [6.3, 3.3, 6.0, 2.5]];
    let species = array![0i64, 1, 2];
    let first = sim.call(args![&flowers, &species])?[0].item::<f32>()?;
    let last = sim.run_n(1_000, args![&flowers, &species])?[0].item::<f32>()?; // 1,000 steps on the device
    assert!(last < 0.1 * first, "the cost went from {first} to {last}");
    assert_eq!(sim.method("predict")?.call(args![&flowers])?[0].to_vec::<i64>()?, [0, 1, 2]);

    // The parents know nothing of it until they are told.
    assert_eq!(bundle["predict"].call(args![&flowers])?[0].to_vec::<i64>()?, [0, 0, 0]);
    assert_eq!(sim.sync_to_parent()?, ["w", "b"]);
    assert_eq!(bundle["predict"].call(args![&flowers])?[0].to_vec::<i64>()?, [0, 1, 2]);
    std::fs::remove_file(&file).ok();
    Ok(())
}
