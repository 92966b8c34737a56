//! Calls that do nothing, elementwise work, and reductions along rows and columns.

use super::{Line, NONE, Way, Workload, zeros};
use crate::inputs::normal;
use workalike::prelude::*;

pub(super) const TRIVIAL: Workload = Workload {
    name: "trivial",
    about: "x + 1 of a number: the overhead of a call",
    settings: &[],
    build: |_| {
        let x = tensor::<f32>("x", []);
        function([&x]).output(&x + 1.0).compile()
    },
    least: |_| (8.0, 1.0),
    lines: |_| vec![Line::new("call", &[], Way::Host)],
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
            Line::new("host_result", &[], Way::Host),
            Line::new("device_result", &[], Way::Device),
            Line::new("copied", copied, Way::Host),
            Line::new("borrowed", &[], Way::Borrowed),
            Line::new("host_result n=123457", &[("n", "123457")], Way::Host).odd(),
            Line::new("device_result n=123457", &[("n", "123457")], Way::Device).odd(),
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
        let line = |n: &str| Line::new(format!("n={n}"), &[("n", n)], Way::Steps).checked(&[("n", "4099")]);
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
            Line::new(format!("{rows}x{columns}"), &[("rows", rows), ("columns", columns)], Way::Steps)
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
                let line = Line::new(variant, &settings, Way::Steps);
                let line = line.checked(&[("rows", "67"), ("columns", "131"), ("axis", axis)]);
                lines.push(if odd { line.odd() } else { line });
            }
        }
        lines
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::Settings;

    #[test]
    fn both_results_of_the_ladder_are_the_same() {
        let build = |result| {
            let settings = Settings::of(&EXP_LADDER, false, [("n", "7"), ("result", result)]).unwrap();
            (EXP_LADDER.build)(&settings).unwrap()
        };
        let y = build("output").call(args![]).unwrap()[0].clone();
        let update = build("update");
        update.call(args![]).unwrap();
        assert_eq!(update.shared("y").unwrap().get_value().unwrap(), y);
    }
}
