//! A network trained through ops with kernels, by the program that wrote them and by one that loads them.

use super::{dialect, ramp2};
use crate::stage::{Stage, ensure, near, relative};
use workalike::Result;
use workalike::custom::{Grid, KernelOp};
use workalike::prelude::*;

/// `x / (1 + |x|)` for each element, with a kernel of its own for the gradient.
fn soft_sign() -> Result<KernelOp> {
    let (x, g) = (matrix::<f32>("x"), matrix::<f32>("g"));
    let n = x.extent(0) * x.extent(1);
    let (y, dx) = (&x / (1.0 + x.abs()), &g / (1.0 + x.abs()).sqr());
    let source = dialect(
        "KERNEL void forward(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *y, u64 n)
         { u64 i = GID_0 * LDIM_0 + LID_0; if (i < n) y[i] = x[i] / (1 + fabs(x[i])); }

         KERNEL void backward(GLOBAL_MEM const f32 *x, GLOBAL_MEM const f32 *g, GLOBAL_MEM f32 *dx, u64 n)
         {
             u64 i = GID_0 * LDIM_0 + LID_0;
             if (i >= n) return;
             f32 t = 1 + fabs(x[i]);
             dx[i] = g[i] / (t * t);
         }",
    )?;
    let backward = KernelOp::new("soft_sign_backward", source.clone(), [&x, &g], [&dx])?.launch(
        "backward",
        Grid::items([&n]),
        (&x, &g, &dx, &n),
    )?;
    KernelOp::new("soft_sign", source, [&x], [&y])?
        .launch("forward", Grid::items([&n]), (&x, &y, &n))?
        .grad(|inputs, _, output_grads| vec![Some(backward.apply([&inputs[0], &output_grads[0]])[0].clone())])
}

fn train() -> Result<Function> {
    let (x, t) = (matrix::<f32>("x"), matrix::<f32>("t"));
    let (w, b) = (shared("w", ramp2(4, 6) * 0.05), shared("b", vec![0.1f32; 6]));
    let v = shared("v", ramp2(6, 2) * -0.04);
    let h = &soft_sign()?.apply([&(x.dot(&w) + &*b)])[0];
    let cost = (h.dot(&v) - &t).sqr().mean(..);
    let grads = grad(&cost, [&w, &b, &v])?;
    let states = [&w, &b, &v];
    let updates = states.iter().zip(&grads).map(|(&state, g)| (state.clone(), &**state - 0.1 * g));
    function([&x, &t]).name("train").output(&cost).updates(updates.collect::<Vec<_>>()).compile()
}

pub(super) fn training(stage: &Stage) -> Result<()> {
    let original = train()?;
    let bytes = Bundle::new().with("train", &original).to_bytes()?;
    let steps: Vec<Vec<Value>> = (0..5)
        .map(|step| {
            let x = ramp2(16, 4).mapv(|x| (x + step as f32) * 0.2);
            let t = ramp2(16, 2).mapv(|t| t * 0.1);
            vec![Value::from(x), Value::from(t)]
        })
        .collect();
    stage.steps(&original, &steps, |want| relative(want, 1e-4))?;
    // A second program has the file alone. It trains, and differentiates what it loaded.
    let mut costs = Vec::new();
    for allowed in [true, false] {
        let bundle = Bundle::from_bytes_with(&bytes, LoadOptions::new().allow_kernels(allowed))?;
        let mut sim = stage.simulator(&bundle["train"])?;
        let mut last = Value::from(0f32);
        for step in &steps {
            last = sim.call(args![&step[0], &step[1]])?[0].clone();
        }
        costs.push(last);
        let (x, t) = (matrix::<f32>("x"), matrix::<f32>("t"));
        let cost = &bundle["train"].apply([&x, &t])?[0];
        let g = function([&x, &t]).output(&grad(cost, [&x])?[0]).compile()?;
        let given = || args![&steps[0][0], &steps[0][1]];
        let want = g.call_reference(given())?[0].clone();
        ensure(want.to_f64s().iter().any(|g| *g != 0.0), || "a gradient".into())?;
        near("the gradient", &stage.simulator(&g)?.call(given())?[0], &want, &relative(&want, 1e-4))?;
        sim.sync_to_parent()?;
        // What was trained on the device is saved and goes on.
        let again = Bundle::from_bytes(&bundle.to_bytes()?)?;
        let next = again["train"].call(args![&steps[0][0], &steps[0][1]])?;
        ensure(next[0].item::<f32>()? < 1.0, || format!("{:?}", next[0]))?;
    }
    near("kernels or references", &costs[0], &costs[1], &relative(&costs[1], 1e-4))
}
