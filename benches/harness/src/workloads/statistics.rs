//! Statistics: a Gaussian process, a Monte Carlo price, quantiles, optimal transport, distances.

use super::{CallMode, NONE, Workload, zeros};
use workalike::prelude::*;
use workalike_cli_common::random::{evaluated, normal, uniform};

pub(super) const GP_KERNEL_GRAD: Workload = Workload {
    name: "gp_kernel_grad",
    about: "the covariance of a Gaussian process, and a gradient by its length scales",
    settings: &[("n", "4096", "512"), ("features", "8", "8")],
    build: |s| {
        let (n, features) = (s.n("n"), s.n("features"));
        let x = shared("x", normal(801, &[n, features], 1.0)?);
        let scales = shared("scales", uniform(802, &[features], 1.5, 2.5)?);
        let a = shared("a", normal(803, &[n], 1.0)?);
        let u = &x / &scales;
        let s = u.sqr().sum(1);
        let q = (s.expand_dims(1) + &s - 2.0 * u.dot(u.t())).maximum(0.0);
        let r = (&q + 1e-6).sqrt();
        let root5 = 5f64.sqrt();
        let matern = (1.0 + root5 * &r + 5.0 / 3.0 * r.sqr()) * (-root5 * &r).exp();
        let k = 0.7 * (-&q / 2.0).exp() + 0.3 * matern;
        let slopes = grad(a.dot(k.dot(&a)), [&scales])?;
        function(NONE).output_named("covariance", &k).output_named("gradient", &slopes[0]).compile()
    },
    least: |s| {
        let pairs = s.float("n").powi(2);
        (4.0 * pairs, (4.0 * s.float("features") + 60.0) * pairs)
    },
    lines: |large| vec![GP_KERNEL_GRAD.line(large, CallMode::Device, &[("n", "60"), ("features", "3")])],
};

/// Time steps of `mc_asian_grad`.
const STEPS: usize = 64;

pub(super) const MC_ASIAN_GRAD: Workload = Workload {
    name: "mc_asian_grad",
    about: "the price of an Asian option with a barrier by Monte Carlo over 64 time steps, and its gradient",
    settings: &[("paths", "262144", "32768"), ("form", "unrolled", "unrolled")],
    build: |s| {
        let theta = shared("theta", vec![100f32, 0.2, 0.03]);
        let z = shared("z", normal(811, &[STEPS, s.n("paths")], 1.0)?);
        let [start, sigma, r] = [0, 1, 2].map(|i| theta.index(idx![i]));
        let dt = 1.0 / STEPS as f64;
        let (drift, volatility) = ((&r - sigma.sqr() / 2.0) * dt, &sigma * dt.sqrt());
        let (mean, alive) = if s.get("form") == "cumsum" {
            let price = start * (drift + volatility * &z).cumsum(0).exp();
            (price.mean(0), price.less(140.0).all(0))
        } else {
            let (mut price, mut total, mut alive) = (start, constant(0f32), constant(true));
            for t in 0..STEPS as i64 {
                price = price * (&drift + &volatility * z.index(idx![t])).exp();
                total = total + &price;
                alive = alive.and(price.less(140.0));
            }
            (total * dt, alive)
        };
        let payoff = where_(alive, (mean - 100.0).maximum(0.0), 0.0);
        let price = (-&r).exp() * payoff.mean(..);
        let slopes = grad(&price, [&theta])?;
        function(NONE).output_named("price", &price).output_named("gradient", &slopes[0]).compile()
    },
    least: |s| {
        let draws = STEPS as f64 * s.float("paths");
        (4.0 * draws, 30.0 * draws)
    },
    lines: |large| MC_ASIAN_GRAD.forms(large, CallMode::Device, &[("paths", "200")], &["unrolled", "cumsum"]),
};

pub(super) const QUANTILE_NORM: Workload = Workload {
    name: "quantile_norm",
    about: "quantile normalization: each value becomes the mean over rows of the values of its rank",
    settings: &[
        ("rows", "256", "64"),
        ("columns", "16384", "8192"),
        ("form", "put_along_axis", "put_along_axis"),
    ],
    build: |s| {
        let x = shared("x", normal(821, &[s.n("rows"), s.n("columns")], 1.0)?);
        let order = x.argsort(1);
        let normalized = match s.get("form") {
            "argsort_twice" => x.sort(1).mean(0).take(order.argsort(1), 0),
            _ => {
                let mean = x.take_along_axis(&order, 1).mean(0);
                zeros_like(&x).put_along_axis(&order, mean, 1)
            }
        };
        function(NONE).output_named("normalized", normalized).compile()
    },
    least: |s| (8.0 * s.float("rows") * s.float("columns"), 0.0),
    lines: |large| {
        let checked = [("rows", "5"), ("columns", "37")];
        QUANTILE_NORM.forms(large, CallMode::Device, &checked, &["put_along_axis", "argsort_twice"])
    },
};

pub(super) const SINKHORN_LOG: Workload = Workload {
    name: "sinkhorn_log",
    about: "an iteration of Sinkhorn's algorithm for optimal transport, with logarithms",
    settings: &[("rows", "1024", "1024"), ("columns", "1024", "1024")],
    build: |s| {
        let (rows, columns) = (s.n("rows"), s.n("columns"));
        let streams = RandomStreams::new(831);
        let points = |n: usize| streams.uniform::<f32>([n, 2]);
        let distances = (points(rows).expand_dims(1) - points(columns)).sqr().sum(2);
        let log_masses = |n: usize| evaluated(&log_softmax((streams.uniform::<f32>([n]) + 0.1).log(), 0));
        let c = shared("c", evaluated(&distances)?);
        let (la, lb) = (shared("la", log_masses(rows)?), shared("lb", log_masses(columns)?));
        let (f, g) = (shared("f", zeros(&[rows])?), shared("g", zeros(&[columns])?));
        let e = 0.05;
        let new_f = e * (&la - ((&g - &c) / e).logsumexp(1));
        let new_g = e * (&lb - ((new_f.expand_dims(1) - &c) / e).logsumexp(0));
        function(NONE).update(&f, new_f).update(&g, new_g).compile()
    },
    least: |s| {
        let pairs = s.float("rows") * s.float("columns");
        (4.0 * pairs, 24.0 * pairs)
    },
    lines: |large| vec![SINKHORN_LOG.line(large, CallMode::Steps, &[("rows", "14"), ("columns", "17")])],
};

pub(super) const ROW_NORMALIZE_BCAST: Workload = Workload {
    name: "row_normalize_bcast",
    about: "a matrix less the maximum of each row, scaled by column, plus the deviation of each column",
    settings: &[("rows", "4096", "1024"), ("columns", "4096", "1024")],
    build: |s| {
        let (rows, columns) = (s.n("rows"), s.n("columns"));
        let x = shared("x", normal(841, &[rows, columns], 1.0)?);
        let v = shared("v", normal(842, &[columns], 1.0)?);
        let y = (&x - x.max(over(1).keepdims())) * &v + x.std(over(0).ddof(1).keepdims());
        function(NONE).output_named("y", y).compile()
    },
    least: |s| (8.0 * s.float("rows") * s.float("columns"), 7.0 * s.float("rows") * s.float("columns")),
    lines: |large| {
        let checked = [("rows", "67"), ("columns", "131")];
        vec![ROW_NORMALIZE_BCAST.line(large, CallMode::Device, &checked)]
    },
};

pub(super) const PAIRWISE_DIST: Workload = Workload {
    name: "pairwise_dist",
    about: "squared distances between all points of two sets, by broadcasting",
    settings: &[("rows", "2048", "512"), ("columns", "2048", "512"), ("features", "64", "16")],
    build: |s| {
        let (rows, columns, features) = (s.n("rows"), s.n("columns"), s.n("features"));
        let x = shared("x", normal(851, &[rows, features], 1.0)?);
        let y = shared("y", normal(852, &[columns, features], 1.0)?);
        let distances = (x.expand_dims(1) - y.expand_dims(0)).sqr().sum(-1);
        function(NONE).output_named("distances", distances).compile()
    },
    least: |s| {
        let pairs = s.float("rows") * s.float("columns");
        (4.0 * pairs, 3.0 * pairs * s.float("features"))
    },
    lines: |large| {
        let checked = [("rows", "67"), ("columns", "41"), ("features", "13")];
        vec![PAIRWISE_DIST.line(large, CallMode::Device, &checked)]
    },
};
