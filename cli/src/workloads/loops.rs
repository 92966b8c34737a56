//! Loops in a graph: recurrent networks by `scan`, their gradient, and a loop with a condition.

use super::{Line, NONE, Settings, Way, Workload, zeros};
use crate::inputs::normal;
use workalike::prelude::*;

const SETTINGS: &[(&str, &str, &str)] =
    &[("steps", "100", "100"), ("batch", "32", "32"), ("width", "256", "256")];

/// A network of cells with so many gates, over a sequence.
struct Network {
    /// `x_t W` of all steps.
    rows: Variable,
    u: SharedVariable,
    h: Variable,
    width: i64,
}

impl Network {
    fn of(s: &Settings, gates: usize) -> workalike::Result<Network> {
        let [steps, batch, width] = sizes(s);
        let w = shared("wx", normal(41, &[width, gates * width], 0.05)?);
        let u = shared("wh", normal(42, &[width, gates * width], 0.05)?);
        let x = shared("x", normal(43, &[steps, batch, width], 1.0)?);
        let h = Variable::constant(zeros(&[batch, width])?);
        Ok(Network { rows: x.dot(&w), u, h, width: width as i64 })
    }

    fn gate(&self, of: &Variable, gate: i64) -> Variable {
        of.index(idx![.., gate * self.width..(gate + 1) * self.width])
    }
}

fn sizes(s: &Settings) -> [usize; 3] {
    ["steps", "batch", "width"].map(|key| s.n(key))
}

/// All hidden states, kept in a shared variable.
fn kept(s: &Settings, states: &Variable) -> workalike::Result<Function> {
    let states_before = shared("states", zeros(&sizes(s))?);
    function(NONE).update(&states_before, states).compile()
}

fn least(s: &Settings, gates: f64) -> (f64, f64) {
    let (rows, width) = (s.float("steps") * s.float("batch"), s.float("width"));
    let bytes = 4.0 * (2.0 * rows * width + 2.0 * gates * width * width);
    (bytes, 4.0 * gates * rows * width * width)
}

fn lines(_: bool) -> Vec<Line> {
    let line = |steps: &str, batch: &str, width: &str| {
        let settings = [("steps", steps), ("batch", batch), ("width", width)];
        let small = [("steps", "5"), ("batch", "7"), ("width", "33")];
        Line::new(format!("T={steps} B={batch} H={width}"), &settings, Way::Steps).checked(&small)
    };
    vec![line("100", "32", "256"), line("97", "31", "250").odd()]
}

pub(super) const SCAN_RNN: Workload = Workload {
    name: "scan_rnn",
    about: "tanh(x_t + h W) by scan, all hidden states kept",
    settings: SETTINGS,
    build: |s| {
        let net = Network::of(s, 1)?;
        kept(s, &scan(&net.rows, &net.h, |x, h| (x + h.dot(&net.u)).tanh()))
    },
    least: |s| least(s, 1.0),
    lines,
};

pub(super) const GRU: Workload = Workload {
    name: "gru",
    about: "a gated recurrent unit by scan, all hidden states kept",
    settings: SETTINGS,
    build: |s| {
        let net = Network::of(s, 3)?;
        let states = scan(&net.rows, &net.h, |x, h| {
            let past = h.dot(&net.u);
            let gate = |at| (net.gate(&x, at) + net.gate(&past, at)).sigmoid();
            let new = (net.gate(&x, 2) + gate(1) * net.gate(&past, 2)).tanh();
            let keep = gate(0);
            &new + keep * (h - &new)
        });
        kept(s, &states)
    },
    least: |s| least(s, 3.0),
    lines,
};

pub(super) const LSTM: Workload = Workload {
    name: "lstm",
    about: "a long short-term memory by scan, all hidden states kept",
    settings: SETTINGS,
    build: |s| {
        let net = Network::of(s, 4)?;
        let [states, _] = scan(&net.rows, [&net.h, &net.h], |x, [h, c]| {
            let all = x + h.dot(&net.u);
            let [input, forget, output] = [0, 1, 2].map(|at| net.gate(&all, at).sigmoid());
            let c = forget * c + input * net.gate(&all, 3).tanh();
            [output * c.tanh(), c]
        });
        kept(s, &states)
    },
    least: |s| least(s, 4.0),
    lines,
};

pub(super) const SCAN_GRADIENT: Workload = Workload {
    name: "scan_gradient",
    about: "the gradient of the squared hidden states of scan_rnn by its recurrent weights",
    settings: SETTINGS,
    build: |s| {
        let [_, _, width] = sizes(s);
        let net = Network::of(s, 1)?;
        let states = scan(&net.rows, &net.h, |x, h| (x + h.dot(&net.u)).tanh());
        let slope = grad(&states.sqr().sum(..), [&net.u])?;
        let kept = shared("slope", zeros(&[width, width])?);
        function(NONE).update(&kept, &slope[0]).compile()
    },
    least: |s| {
        let (bytes, flops) = least(s, 1.0);
        (2.0 * bytes, 3.0 * flops)
    },
    lines,
};

pub(super) const WHILE: Workload = Workload {
    name: "while",
    about: "a loop with a condition: a vector is halved as long as its largest element is above 1",
    settings: &[("n", "1024", "1024"), ("iterations", "100", "100")],
    build: |s| {
        let (n, iterations) = (s.n("n"), s.n("iterations"));
        let x = shared("x", zeros(&[n])?);
        let start = full_like(&x, 1.5 * (iterations as f32 - 1.0).exp2());
        let halved = while_loop(start, |x| x.max(..).greater(1.0), |x| x * 0.5);
        function(NONE).update(&x, &halved).compile()
    },
    least: |s| (8.0 * s.float("n"), s.float("n") * s.float("iterations")),
    lines: |_| {
        let line = |n: &str| Line::new(format!("n={n} iterations=100"), &[("n", n)], Way::Steps);
        vec![line("1024"), line("1000").odd()]
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_is_near_the_reference() {
        for work in [SCAN_RNN, GRU, LSTM, SCAN_GRADIENT] {
            let small = [("steps", "4"), ("batch", "2"), ("width", "5")];
            let f = (work.build)(&Settings::of(&work, false, small).unwrap()).unwrap();
            let g = f.fork().unwrap();
            f.call(args![]).unwrap();
            g.call_reference(args![]).unwrap();
            let value = |f: &Function| {
                let name = if work.name == "scan_gradient" { "slope" } else { "states" };
                f.shared(name).unwrap().get_value().unwrap().to_f64s()
            };
            for (a, b) in value(&f).iter().zip(value(&g)) {
                assert!((a - b).abs() < 1e-5, "{}: {a} {b}", work.name);
            }
        }
    }
}
