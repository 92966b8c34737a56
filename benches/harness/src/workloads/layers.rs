//! Layers of networks without their training: a mixture of experts, layer normalization, attention.

use super::{CallMode, NONE, Workload};
use workalike::prelude::*;
use workalike_cli_common::random::normal;

pub(super) const MOE_TOP2: Workload = Workload {
    name: "moe_top2",
    about: "a mixture of experts where each token has two, computed densely: other experts have a gate of 0",
    settings: &[
        ("tokens", "2048", "64"),
        ("width", "512", "512"),
        ("experts", "8", "8"),
        ("hidden", "1024", "1024"),
        ("form", "put_along_axis", "put_along_axis"),
    ],
    build: |s| {
        let [tokens, width, experts, hidden] = ["tokens", "width", "experts", "hidden"].map(|key| s.n(key));
        let narrow = (width as f64).powf(-0.5);
        let x = shared("x", normal(701, &[tokens, width], 1.0)?);
        let g = shared("g", normal(702, &[width, experts], narrow)?);
        let a = shared("a", normal(703, &[experts, width, hidden], narrow)?);
        let b = shared("b", normal(704, &[experts, hidden, width], (hidden as f64).powf(-0.5))?);
        let scores = x.dot(&g);
        let [values, chosen] = scores.topk_both(2, 1);
        let (out, gate) = if s.get("form") == "einsum" {
            let shares = softmax(&values, 1).expand_dims(2);
            let gate = (chosen.one_hot(experts, DType::F32) * shares).sum(1);
            let h = einsum("td,edh->eth", [&*x, &*a]);
            (einsum("te,eth,ehd->td", [&gate, &(&h * h.sigmoid()), &*b]), gate)
        } else {
            let gate = zeros_like(&scores).put_along_axis(&chosen, softmax(&values, 1), 1);
            let h = x.matmul(&a);
            let h = &h * h.sigmoid();
            ((h * gate.t().expand_dims(2)).matmul(&b).sum(0), gate)
        };
        function(NONE).output_named("out", out).output_named("gate", gate).compile()
    },
    least: |s| {
        let [tokens, width, experts, hidden] =
            ["tokens", "width", "experts", "hidden"].map(|key| s.float(key));
        let bytes = 4.0 * (2.0 * experts * width * hidden + 2.0 * tokens * width);
        (bytes, 4.0 * tokens * width * experts * hidden)
    },
    lines: |large| {
        let checked = [("tokens", "11"), ("width", "6"), ("experts", "5"), ("hidden", "7")];
        MOE_TOP2.forms(large, CallMode::Device, &checked, &["put_along_axis", "einsum"])
    },
};

pub(super) const LAYERNORM: Workload = Workload {
    name: "layernorm",
    about: "layer normalization: rows with mean 0 and variance 1, scaled and moved by column",
    settings: &[("rows", "32768", "2048"), ("columns", "1024", "1024")],
    build: |s| {
        let (rows, columns) = (s.n("rows"), s.n("columns"));
        let x = shared("x", normal(711, &[rows, columns], 1.0)?);
        let (g, b) = (shared("g", normal(712, &[columns], 1.0)?), shared("b", normal(713, &[columns], 1.0)?));
        let centred = &x - x.mean(over(-1).keepdims());
        let y = centred / (x.var(over(-1).keepdims()) + 1e-5).sqrt() * &g + &b;
        function(NONE).output_named("y", y).compile()
    },
    least: |s| (8.0 * s.float("rows") * s.float("columns"), 8.0 * s.float("rows") * s.float("columns")),
    lines: |large| vec![LAYERNORM.line(large, CallMode::Device, &[("rows", "37"), ("columns", "101")])],
};

pub(super) const ATTENTION: Workload = Workload {
    name: "attention",
    about: "scaled dot-product attention of several heads",
    settings: &[("heads", "32", "4"), ("length", "512", "256"), ("width", "64", "64")],
    build: |s| {
        let shape = ["heads", "length", "width"].map(|key| s.n(key));
        let of = |name, seed| Ok::<_, workalike::Error>(shared(name, normal(seed, &shape, 1.0)?));
        let (q, k, v) = (of("q", 721)?, of("k", 722)?, of("v", 723)?);
        let weights = softmax(q.matmul(k.swapaxes(-1, -2)) * 0.125, -1);
        function(NONE).output_named("y", weights.matmul(&v)).compile()
    },
    least: |s| {
        let (heads, length, width) = (s.float("heads"), s.float("length"), s.float("width"));
        (16.0 * heads * length * width, 4.0 * heads * length * length * width)
    },
    lines: |large| {
        let checked = [("heads", "3"), ("length", "37"), ("width", "16")];
        vec![ATTENTION.line(large, CallMode::Device, &checked)]
    },
};
