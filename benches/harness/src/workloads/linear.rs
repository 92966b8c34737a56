//! Matrix products, and models that are trained with them.

use super::{CallMode, Line, NONE, Workload, zeros};
use workalike::prelude::*;
use workalike_cli_common::random::{integers, normal};

pub(super) const GEMM: Workload = Workload {
    name: "gemm",
    about: "the product of two square matrices; float32 is not computed in TF32",
    settings: &[("n", "4096", "1024"), ("dtype", "float32", "float32")],
    build: |s| {
        let (n, dtype) = (s.n("n"), s.dtype());
        let of =
            |name, seed| Ok::<_, workalike::Error>(shared(name, normal(seed, &[n, n], 1.0)?.cast(dtype)?));
        let (a, b) = (of("a", 6)?, of("b", 7)?);
        function(NONE).update(shared("y", Value::zeros(dtype, &[n, n])?), a.dot(&b)).compile()
    },
    least: |s| (3.0 * s.dtype().size() as f64 * s.float("n").powi(2), 2.0 * s.float("n").powi(3)),
    lines: |large| {
        let line = |n: &str, dtype: &str| {
            Line::new(format!("n={n} {dtype}"), &[("n", n), ("dtype", dtype)], CallMode::Steps)
                .checked(&[("n", "70"), ("dtype", dtype)])
        };
        // GPUs have fast half-precision products; the host converts halves to float32.
        let (sizes, odd, dtypes): (&[&str], _, &[&str]) = match large {
            true => (&["1024", "4096", "8192"], "1237", &["float32", "float16", "bfloat16"]),
            false => (&["256", "1024"], "517", &["float32"]),
        };
        let all = |n: &&'static str| dtypes.iter().map(|d| line(n, d)).collect::<Vec<_>>();
        let mut lines: Vec<Line> = sizes.iter().flat_map(all).collect();
        lines.extend(dtypes.iter().map(|dtype| line(odd, dtype).odd()));
        lines
    },
};

pub(super) const LOGREG: Workload = Workload {
    name: "logreg",
    about: "a step of logistic regression, which gives the prediction and the cross-entropy of each row",
    settings: &[("rows", "400", "400"), ("columns", "784", "784")],
    build: |s| {
        let (n, d) = (s.n("rows"), s.n("columns"));
        let (x, y) =
            (shared("x", normal(8, &[n, d], 1.0)?), shared("y", integers(9, n, 2)?.cast(DType::F32)?));
        let (w, b) = (shared("w", normal(10, &[d], 0.05)?), shared("b", 0f32));
        let p = (x.dot(&w) + &b).sigmoid();
        let entropy = -&y * p.log() - (1.0 - &y) * (1.0 - &p).log();
        let cost = entropy.mean(..) + 0.01 * w.sqr().sum(..);
        let g = grad(&cost, [&w, &b])?;
        let f = function(NONE).output_named("prediction", p.greater(0.5)).output_named("xent", &entropy);
        f.update(&w, &w - 0.1 * &g[0]).update(&b, &b - 0.1 * &g[1]).compile()
    },
    least: |s| (4.0 * s.float("rows") * s.float("columns"), 4.0 * s.float("rows") * s.float("columns")),
    lines: |_| {
        let line =
            |n: &str, d: &str| Line::new(format!("{n}x{d}"), &[("rows", n), ("columns", d)], CallMode::Steps);
        vec![line("400", "784"), line("419", "777").odd()]
    },
};

pub(super) const MLP: Workload = Workload {
    name: "mlp",
    about: "a step of gradient descent of a tanh network with one hidden layer, cross-entropy and weight decay",
    settings: &[
        ("batch", "20", "20"),
        ("inputs", "784", "784"),
        ("hidden", "500", "500"),
        ("classes", "10", "10"),
    ],
    build: |s| {
        let [batch, inputs, hidden, classes] = ["batch", "inputs", "hidden", "classes"].map(|key| s.n(key));
        let x = shared("x", normal(11, &[batch, inputs], 1.0)?);
        let y = shared("y", integers(12, batch, classes as u64)?);
        let (w1, b1) = (shared("w1", normal(13, &[inputs, hidden], 0.05)?), shared("b1", zeros(&[hidden])?));
        let (w2, b2) =
            (shared("w2", normal(14, &[hidden, classes], 0.05)?), shared("b2", zeros(&[classes])?));
        let p = softmax((x.dot(&w1) + &b1).tanh().dot(&w2) + &b2, -1);
        let penalty = w1.sqr().sum(..) + w2.sqr().sum(..);
        let cost = categorical_crossentropy(&p, &y).mean(..) + 1e-4 * penalty;
        let parameters = [&w1, &b1, &w2, &b2];
        let g = grad(&cost, parameters)?;
        let updates = parameters.iter().zip(&g).map(|(p, g)| ((*p).clone(), *p - 0.01 * g));
        function(NONE).output_named("cost", &cost).updates(updates.collect::<Vec<_>>()).compile()
    },
    least: |s| {
        let [batch, inputs, hidden, classes] =
            ["batch", "inputs", "hidden", "classes"].map(|key| s.float(key));
        let flops = 2.0 * batch * (2.0 * inputs * hidden + 3.0 * hidden * classes);
        (4.0 * (2.0 * inputs * hidden + batch * inputs), flops)
    },
    lines: |_| {
        let line = |batch: &str| Line::new(format!("B={batch}"), &[("batch", batch)], CallMode::Steps);
        vec![line("20"), line("512"), line("19").odd(), line("509").odd()]
    },
};

pub(super) const BATCHED_SMALL_MATMUL: Workload = Workload {
    name: "batched_small_matmul",
    about: "products of many pairs of small square matrices",
    settings: &[("batch", "16384", "16384"), ("n", "16", "16")],
    build: |s| {
        let shape = [s.n("batch"), s.n("n"), s.n("n")];
        let (a, b) = (shared("a", normal(15, &shape, 1.0)?), shared("b", normal(16, &shape, 1.0)?));
        function(NONE).output_named("y", a.matmul(&b)).compile()
    },
    least: |s| {
        let elements = s.float("batch") * s.float("n").powi(2);
        (12.0 * elements, 2.0 * elements * s.float("n"))
    },
    lines: |large| vec![BATCHED_SMALL_MATMUL.line(large, CallMode::Device, &[("batch", "37")])],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::WorkloadSettings;

    #[test]
    fn they_learn() {
        let small = [("batch", "5"), ("inputs", "7"), ("hidden", "6"), ("classes", "3")];
        let mlp = (MLP.build)(&WorkloadSettings::of(&MLP, false, small).unwrap()).unwrap();
        let costs: Vec<f32> =
            (0..200).map(|_| mlp.call(args![]).unwrap()[0].item::<f32>().unwrap()).collect();
        assert!(costs[199] < 0.85 * costs[0], "{costs:?}");

        let settings = WorkloadSettings::of(&LOGREG, false, [("rows", "20"), ("columns", "30")]).unwrap();
        let logreg = (LOGREG.build)(&settings).unwrap();
        let xent = || logreg.call(args![]).unwrap()[1].to_vec::<f32>().unwrap().iter().sum::<f32>();
        let costs: Vec<f32> = (0..100).map(|_| xent()).collect();
        let (first, last) = (costs[0], costs[99]);
        assert!(last < 0.5 * first, "{first} to {last}");
    }
}
