//! Calls that do nothing, elementwise work, long chains of it, and reductions along rows and columns.

use super::{CallMode, Line, NONE, Workload, zeros};
use workalike::prelude::*;
use workalike_cli_common::random::{integers, normal, uniform};

pub(super) const TRIVIAL: Workload = Workload {
    name: "trivial",
    about: "x + 1 of a number: the overhead of a call",
    settings: &[],
    build: |_| {
        let x = tensor::<f32>("x", []);
        function([&x]).output(&x + 1.0).compile()
    },
    least: |_| (8.0, 1.0),
    lines: |_| vec![Line::new("call", &[], CallMode::Host)],
};

pub(super) const EXP_LADDER: Workload = Workload {
    name: "exp_ladder",
    about: "exp of a vector that stays on the device; the result is an output, or the update of a shared variable",
    settings: &[("n", "230400", "230400"), ("result", "output", "output")],
    build: |s| {
        let n = s.n("n");
        let x = shared("x", normal(22, &[n], 1.0)?);
        match s.get("result") {
            "update" => function(NONE).update(shared("y", zeros(&[n])?), x.exp()).compile(),
            _ => function(NONE).output_named("y", x.exp()).compile(),
        }
    },
    least: |s| (8.0 * s.float("n"), 8.0 * s.float("n")),
    lines: |_| {
        // A result in reused memory: an update.
        let copied = &[("result", "update")];
        vec![
            Line::new("host_result", &[], CallMode::Host),
            Line::new("device_result", &[], CallMode::Device),
            Line::new("copied", copied, CallMode::Host),
            Line::new("borrowed", &[], CallMode::Borrowed),
            Line::new("host_result n=123457", &[("n", "123457")], CallMode::Host).odd(),
            Line::new("device_result n=123457", &[("n", "123457")], CallMode::Device).odd(),
        ]
    },
};

pub(super) const FUSED_ELEMWISE: Workload = Workload {
    name: "fused_elemwise",
    about: "tanh(a * b + 1.5) * exp(-c) + a / (1 + b * b)",
    settings: &[("n", "67108864", "4194304")],
    build: |s| {
        let n = s.n("n");
        let of = |name, seed| Ok::<_, workalike::Error>(shared(name, normal(seed, &[n], 1.0)?));
        let (a, b, c) = (of("a", 1)?, of("b", 2)?, of("c", 3)?);
        let y = (&a * &b + 1.5).tanh() * (-&c).exp() + &a / (1.0 + &b * &b);
        function(NONE).update(shared("y", zeros(&[n])?), y).compile()
    },
    least: |s| (16.0 * s.float("n"), 40.0 * s.float("n")),
    lines: |large| {
        let (n, odd) = if large { ("67108864", "50000017") } else { ("4194304", "3000017") };
        let line =
            |n: &str| Line::new(format!("n={n}"), &[("n", n)], CallMode::Steps).checked(&[("n", "4099")]);
        vec![line(n), line(odd).odd()]
    },
};

pub(super) const SOFTMAX: Workload = Workload {
    name: "softmax",
    about: "softmax of each row of a matrix",
    settings: &[("rows", "8192", "2048"), ("columns", "8192", "2048")],
    build: |s| {
        let shape = [s.n("rows"), s.n("columns")];
        let x = shared("x", normal(4, &shape, 1.0)?);
        function(NONE).update(shared("y", zeros(&shape)?), softmax(&x, -1)).compile()
    },
    least: |s| (8.0 * s.float("rows") * s.float("columns"), 20.0 * s.float("rows") * s.float("columns")),
    lines: |large| {
        let sizes =
            if large { [("8192", "8192"), ("8191", "8190")] } else { [("2048", "2048"), ("2047", "2050")] };
        let line = |(rows, columns): (&str, &str)| {
            Line::new(format!("{rows}x{columns}"), &[("rows", rows), ("columns", columns)], CallMode::Steps)
                .checked(&[("rows", "67"), ("columns", "131")])
        };
        vec![line(sizes[0]), line(sizes[1]).odd()]
    },
};

pub(super) const REDUCE: Workload = Workload {
    name: "reduce",
    about: "the sum of a matrix over all of it, its rows or its columns",
    settings: &[("rows", "8192", "2048"), ("columns", "8192", "2048"), ("axis", "none", "none")],
    build: |s| {
        let shape = [s.n("rows"), s.n("columns")];
        let x = shared("x", normal(5, &shape, 1.0)?);
        let (sum, kept) = match s.get("axis") {
            "0" => (x.sum(0), vec![shape[1]]),
            "1" => (x.sum(1), vec![shape[0]]),
            _ => (x.sum(..), vec![]),
        };
        function(NONE).update(shared("y", zeros(&kept)?), sum).compile()
    },
    least: |s| (4.0 * s.float("rows") * s.float("columns"), s.float("rows") * s.float("columns")),
    lines: |large| {
        let sizes =
            if large { [("8192", "8192"), ("8191", "8190")] } else { [("2048", "2048"), ("2047", "2050")] };
        let mut lines = Vec::new();
        for (odd, (rows, columns)) in [false, true].into_iter().zip(sizes) {
            for axis in ["none", "0", "1"] {
                let variant = format!("sum axis={axis} {rows}x{columns}");
                let settings = [("rows", rows), ("columns", columns), ("axis", axis)];
                let line = Line::new(variant, &settings, CallMode::Steps);
                let line = line.checked(&[("rows", "67"), ("columns", "131"), ("axis", axis)]);
                lines.push(if odd { line.odd() } else { line });
            }
        }
        lines
    },
};

pub(super) const HASH_POPCOUNT: Workload = Workload {
    name: "hash_popcount",
    about: "hashes of 32-bit integers by shifts and a product, and the number of ones in rows of hashes",
    settings: &[("n", "16777216", "2097152")],
    build: |s| {
        let n = s.n("n");
        let row = (n / 8).clamp(1, 1024) as isize;
        let input = shared("x", integers(101, n, 1 << 32)?.cast(DType::U32)?);
        let mut x = (*input).clone();
        for _ in 0..3 {
            x = &x ^ (&x << 13);
            x = &x ^ (&x >> 17);
            x = &x ^ (&x << 5);
        }
        let x = x * 0x9e37_79b1u32;
        let h = &x ^ (&x >> 16);
        let p = &h - ((&h >> 1) & 0x5555_5555u32);
        let p = (&p & 0x3333_3333u32) + ((&p >> 2) & 0x3333_3333u32);
        let p = (&p + (&p >> 4)) & 0x0f0f_0f0fu32;
        let p = (p * 0x0101_0101u32) >> 24;
        let ones = p.reshape([-1, row]).sum(over(1).dtype(DType::I32));
        function(NONE).output_named("hash", h).output_named("ones", ones).compile()
    },
    least: |s| (8.0 * s.float("n"), 35.0 * s.float("n")),
    lines: |large| vec![HASH_POPCOUNT.line(large, CallMode::Device, &[("n", "64")])],
};

pub(super) const BLACK_SCHOLES: Workload = Workload {
    name: "black_scholes",
    about: "prices of call options by the formula of Black and Scholes",
    settings: &[("n", "16777216", "524288")],
    build: |s| {
        let n = s.n("n");
        let given = |name, seed| Ok::<_, workalike::Error>(shared(name, uniform(seed, &[n], 0.5, 1.5)?));
        let (price, strike, time) = (given("s", 111)?, given("k", 112)?, given("t", 113)?);
        let below = |x: &Variable| 0.5 * ((x / 2f64.sqrt()).erf() + 1.0);
        let d1 = ((&price / &strike).log() + (0.02 + 0.045) * &time) / (0.3 * time.sqrt());
        let d2 = &d1 - 0.3 * time.sqrt();
        let call = &price * below(&d1) - &strike * (-0.02 * &time).exp() * below(&d2);
        function(NONE).output_named("call", call).compile()
    },
    least: |s| (16.0 * s.float("n"), 80.0 * s.float("n")),
    lines: |large| vec![BLACK_SCHOLES.line(large, CallMode::Device, &[("n", "1003")])],
};

/// Iterations of `mandelbrot`.
const ITERATIONS: usize = 30;

pub(super) const MANDELBROT: Workload = Workload {
    name: "mandelbrot",
    about: "in how many of 30 iterations of z^2 + c a point is within the circle of radius 2",
    settings: &[("rows", "2048", "256"), ("columns", "2048", "256")],
    build: |s| {
        let c = shared("c", normal(121, &[2, s.n("rows"), s.n("columns")], 1.0)?);
        let (x, y) = (c.index(idx![0]), c.index(idx![1]));
        let [mut a, mut b, mut count] = [zeros_like(&x), zeros_like(&x), zeros_like(&x)];
        for _ in 0..ITERATIONS {
            (a, b) = (&a * &a - &b * &b + &x, 2.0 * &a * &b + &y);
            count = count + (&a * &a + &b * &b).less(4.0);
        }
        function(NONE).output_named("count", count).compile()
    },
    least: |s| {
        let points = s.float("rows") * s.float("columns");
        (12.0 * points, 12.0 * ITERATIONS as f64 * points)
    },
    lines: |large| vec![MANDELBROT.line(large, CallMode::Device, &[("rows", "67"), ("columns", "131")])],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::WorkloadSettings;

    #[test]
    fn both_results_of_the_ladder_are_the_same() {
        let build = |result| {
            let settings =
                WorkloadSettings::of(&EXP_LADDER, false, [("n", "7"), ("result", result)]).unwrap();
            (EXP_LADDER.build)(&settings).unwrap()
        };
        let y = build("output").call(args![]).unwrap()[0].clone();
        let update = build("update");
        update.call(args![]).unwrap();
        assert_eq!(update.shared("y").unwrap().get_value().unwrap(), y);
    }
}
