//! Losses and steps of training: cross-entropy, contrastive divergence, Adam, k-means.

use super::{CallMode, NONE, Workload, WorkloadSettings, counter, zeros};
use workalike::ops::Bins;
use workalike::prelude::*;
use workalike_cli_common::random::{evaluated, integers, normal, positions, uniform};

pub(super) const XENT_SMOOTH: Workload = Workload {
    name: "xent_smooth",
    about: "cross-entropy over many classes with smoothed labels, and its gradient",
    settings: &[
        ("batch", "2048", "128"),
        ("classes", "32768", "16384"),
        ("form", "log_softmax", "log_softmax"),
    ],
    build: |s| {
        let (batch, classes) = (s.n("batch"), s.n("classes"));
        let z = shared("z", normal(601, &[batch, classes], 2.0)?);
        let y = shared("y", positions(602, &[batch], classes)?);
        let loss = match s.get("form") {
            "categorical_crossentropy" => {
                let p = softmax(&z, 1);
                0.9 * categorical_crossentropy(&p, &y) - 0.1 * p.log().mean(1)
            }
            _ => {
                let l = log_softmax(&z, 1);
                -0.9 * l.index(idx![arange(y.extent(0)), &y]) - 0.1 * l.mean(1)
            }
        };
        let loss = loss.mean(..);
        let slopes = grad(&loss, [&z])?;
        function(NONE).output_named("loss", &loss).output_named("gradient", &slopes[0]).compile()
    },
    least: |s| {
        let elements = s.float("batch") * s.float("classes");
        (8.0 * elements, 20.0 * elements)
    },
    lines: |large| {
        let checked = [("batch", "9"), ("classes", "50")];
        XENT_SMOOTH.forms(large, CallMode::Device, &checked, &["log_softmax", "categorical_crossentropy"])
    },
};

pub(super) const RBM_CD1: Workload = Workload {
    name: "rbm_cd1",
    about: "a step of contrastive divergence of a restricted Boltzmann machine, with given uniform draws",
    settings: &[("batch", "128", "128"), ("visible", "784", "784"), ("hidden", "512", "512")],
    build: |s| {
        let (batch, visible, hidden) = (s.n("batch"), s.n("visible"), s.n("hidden"));
        let ones = RandomStreams::new(611).uniform::<f32>([batch, visible]).less(0.3);
        let x = shared("x", evaluated(&ones.cast(DType::F32))?);
        let for_hidden = shared("for_hidden", uniform(612, &[8, batch, hidden], 0.0, 1.0)?);
        let for_visible = shared("for_visible", uniform(613, &[8, batch, visible], 0.0, 1.0)?);
        let w = shared("w", normal(614, &[visible, hidden], 0.05)?);
        let (a, b) = (shared("a", zeros(&[visible])?), shared("b", zeros(&[hidden])?));
        let t = counter()?;
        let now = t.index(idx![0]) % 8;
        let p = (x.dot(&w) + &b).sigmoid();
        let h = for_hidden.index(idx![&now]).less(&p).cast(DType::F32);
        let v = for_visible.index(idx![&now]).less((h.dot(w.t()) + &a).sigmoid()).cast(DType::F32);
        let r = (v.dot(&w) + &b).sigmoid();
        function(NONE)
            .update(&w, &w + 0.05 / batch as f64 * (x.t().dot(&p) - v.t().dot(&r)))
            .update(&a, &a + 0.05 * (&x - &v).mean(0))
            .update(&b, &b + 0.05 * (&p - &r).mean(0))
            .update(&t, &t + 1)
            .compile()
    },
    least: |s| {
        let (batch, visible, hidden) = (s.float("batch"), s.float("visible"), s.float("hidden"));
        let bytes = 4.0 * (2.0 * visible * hidden + batch * (2.0 * visible + hidden));
        (bytes, 10.0 * batch * visible * hidden)
    },
    lines: |large| {
        let checked = [("batch", "6"), ("visible", "9"), ("hidden", "7")];
        vec![RBM_CD1.line(large, CallMode::Steps, &checked)]
    },
};

/// The extents of the layers of `adam_mlp`.
fn layers(s: &WorkloadSettings) -> [usize; 4] {
    ["inputs", "hidden", "hidden", "classes"].map(|key| s.n(key))
}

pub(super) const ADAM_MLP: Workload = Workload {
    name: "adam_mlp",
    about: "a step of Adam of a network with two hidden layers of rectified linear units",
    settings: &[
        ("batch", "128", "32"),
        ("inputs", "784", "784"),
        ("hidden", "1024", "512"),
        ("classes", "10", "10"),
    ],
    build: |s| {
        let batch = s.n("batch");
        let x = shared("x", normal(621, &[batch, s.n("inputs")], 1.0)?);
        let y = shared("y", integers(622, batch, s.n("classes") as u64)?);
        let (mut h, mut parameters) = ((*x).clone(), Vec::new());
        for (layer, extents) in layers(s).windows(2).enumerate() {
            let scale = (2.0 / extents[0] as f64).sqrt();
            let w = shared(&format!("w{layer}"), normal(623 + layer as u64, extents, scale)?);
            let b = shared(&format!("b{layer}"), zeros(&extents[1..])?);
            let input = if layer == 0 { h } else { h.maximum(0.0) };
            h = input.dot(&w) + &b;
            parameters.extend([(w, extents.to_vec()), (b, extents[1..].to_vec())]);
        }
        let cost = categorical_crossentropy(softmax(&h, -1), &y).mean(..);
        let slopes = grad(&cost, parameters.iter().map(|p| &p.0))?;
        let t = shared("t", 0f32);
        let now = &t + 1.0;
        let [c1, c2] = [0.9f32, 0.999].map(|decay| 1.0 - constant(decay).pow(&now));
        let mut step = function(NONE).output_named("cost", &cost).update(&t, &now);
        for (at, ((p, extents), slope)) in parameters.iter().zip(&slopes).enumerate() {
            let m = shared(&format!("mean{at}"), zeros(extents)?);
            let v = shared(&format!("square{at}"), zeros(extents)?);
            let (mean, square) = (0.9 * &m + 0.1 * slope, 0.999 * &v + 0.001 * slope.sqr());
            let change = 1e-3 * (&mean / &c1) / ((&square / &c2).sqrt() + 1e-8);
            step = step.update(p, p - change).update(&m, mean).update(&v, square);
        }
        step.compile()
    },
    least: |s| {
        let weights: f64 = layers(s).windows(2).map(|e| (e[0] * e[1]) as f64).sum();
        let batch = s.float("batch");
        (4.0 * (6.0 * weights + batch * s.float("inputs")), 6.0 * batch * weights)
    },
    lines: |large| {
        let checked = [("batch", "20"), ("inputs", "7"), ("hidden", "9"), ("classes", "6")];
        vec![ADAM_MLP.line(large, CallMode::Steps, &checked)]
    },
};

pub(super) const KMEANS: Workload = Workload {
    name: "kmeans",
    about: "an iteration of k-means: the nearest centre of each point, and the means of these",
    settings: &[
        ("points", "100000", "10000"),
        ("features", "16", "16"),
        ("centres", "64", "64"),
        ("form", "segment_sum", "segment_sum"),
    ],
    build: |s| {
        let (points, features, count) = (s.n("points"), s.n("features"), s.n("centres"));
        let x = shared("x", normal(631, &[points, features], 1.0)?);
        let centres = shared("centres", normal(632, &[count, features], 1.0)?);
        let nearest = (centres.sqr().sum(1) - 2.0 * x.dot(centres.t())).argmin(1);
        let (members, sums) = if s.get("form") == "one_hot" {
            let member = nearest.one_hot(count, DType::F32);
            (member.sum(0), member.t().dot(&x))
        } else {
            let members = nearest.bincount(None, Bins::Exactly(count)).cast(DType::F32);
            (members, x.segment_sum(&nearest, count))
        };
        let members = members.expand_dims(1);
        let next = where_(members.greater(0.0), sums / &members, &centres);
        function(NONE).update(&centres, next).compile()
    },
    least: |s| {
        let elements = s.float("points") * s.float("features");
        (4.0 * elements, 2.0 * elements * s.float("centres"))
    },
    lines: |large| {
        let checked = [("points", "501"), ("features", "4"), ("centres", "7")];
        KMEANS.forms(large, CallMode::Steps, &checked, &["segment_sum", "one_hot"])
    },
};
