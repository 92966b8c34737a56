//! Loops in a graph: recurrent networks by `scan`, their gradient, a step of training, leapfrog steps, and a
//! loop with a condition.

use super::{CallMode, Line, NONE, Workload, WorkloadSettings, zeros};
use workalike::prelude::*;
use workalike_cli_common::random::normal;

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
    fn of(s: &WorkloadSettings, gates: usize) -> workalike::Result<Network> {
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

fn sizes(s: &WorkloadSettings) -> [usize; 3] {
    ["steps", "batch", "width"].map(|key| s.n(key))
}

/// All hidden states, kept in a shared variable.
fn kept(s: &WorkloadSettings, states: &Variable) -> workalike::Result<Function> {
    let states_before = shared("states", zeros(&sizes(s))?);
    function(NONE).update(&states_before, states).compile()
}

fn least(s: &WorkloadSettings, gates: f64) -> (f64, f64) {
    let (rows, width) = (s.float("steps") * s.float("batch"), s.float("width"));
    let bytes = 4.0 * (2.0 * rows * width + 2.0 * gates * width * width);
    (bytes, 4.0 * gates * rows * width * width)
}

fn lines(_: bool) -> Vec<Line> {
    let line = |steps: &str, batch: &str, width: &str| {
        let settings = [("steps", steps), ("batch", batch), ("width", width)];
        let small = [("steps", "5"), ("batch", "7"), ("width", "33")];
        Line::new(format!("T={steps} B={batch} H={width}"), &settings, CallMode::Steps).checked(&small)
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
        let slope = grad(states.sqr().sum(..), [&net.u])?;
        let kept = shared("slope", zeros(&[width, width])?);
        function(NONE).update(&kept, &slope[0]).compile()
    },
    least: |s| {
        let (bytes, flops) = least(s, 1.0);
        (2.0 * bytes, 3.0 * flops)
    },
    lines,
};

pub(super) const LSTM_TRAINING: Workload = Workload {
    name: "lstm_training",
    about: "a step of gradient descent on a long short-term memory, written as in its definition: x W + h U + b within",
    settings: SETTINGS,
    build: |s| {
        let [steps, batch, width] = sizes(s);
        let net = Network::of(s, 4)?;
        let xs = shared("xs", normal(44, &[steps, batch, width], 1.0)?);
        let w = shared("w", normal(45, &[width, 4 * width], 0.05)?);
        let b = shared("b", zeros(&[4 * width])?);
        let [states, _] = scan(&xs, [&net.h, &net.h], |x, [h, c]| {
            let all = x.dot(&w) + h.dot(&net.u) + &b;
            let [input, forget, output] = [0, 1, 2].map(|at| net.gate(&all, at).sigmoid());
            let c = forget * c + input * net.gate(&all, 3).tanh();
            [output * c.tanh(), c]
        });
        let cost = (states.index(idx![-1]) - 0.5).sqr().mean(..);
        let weights = [&w, &net.u, &b];
        function(NONE).updates(sgd(weights, grad(&cost, weights)?, 0.01)?).compile()
    },
    least: |s| {
        let (bytes, flops) = least(s, 4.0);
        (2.0 * bytes, 3.0 * flops)
    },
    lines,
};

pub(super) const HMC: Workload = Workload {
    name: "hmc",
    about: "a step of Hybrid Monte Carlo from a normal density: leapfrog steps by a loop, gradients within, rejection",
    settings: &[("chains", "1024", "1024"), ("size", "64", "64"), ("leaps", "20", "20")],
    build: |s| {
        let (chains, size) = (s.n("chains"), s.n("size"));
        let streams = RandomStreams::new(51);
        let precision = shared("precision", normal(52, &[size, size], 0.05)?);
        let precision = precision.dot(precision.t()) + eye(size as i64, size as i64, 0, DType::F32);
        let energy = |x: &Variable| (x.dot(&precision) * x).sum(over(1)) * 0.5;
        let slope = |x: &Variable| {
            grad(energy(x).sum(..), [x]).map_or_else(Variable::poison, |mut slopes| slopes.remove(0))
        };
        let x = shared("x", normal(53, &[chains, size], 1.0)?);
        let step = 0.1f32;
        let velocity = streams.normal::<f32>([chains, size]);
        let half = &velocity - slope(&x) * (0.5 * step);
        let (moved, v) = fori(s.n("leaps") as i64, (&x, &half), |_, (x, v)| {
            let x = &x + &v * step;
            let v = v - slope(&x) * step;
            (x, v)
        });
        let v = v + slope(&moved) * (0.5 * step);
        let whole = |x: &Variable, v: &Variable| energy(x) + v.sqr().sum(over(1)) * 0.5;
        let change = whole(&x, &velocity) - whole(&moved, &v);
        let accepted = streams.uniform::<f32>([chains]).less(change.exp());
        function(NONE).update(&x, where_(accepted.expand_dims(1), &moved, &x)).compile()
    },
    least: |s| {
        let (rows, size) = (s.float("chains"), s.float("size"));
        (4.0 * (2.0 * rows * size + size * size), 2.0 * rows * size * size * (s.float("leaps") + 4.0))
    },
    lines: |_| {
        let line = |chains: &str, size: &str| {
            let settings = [("chains", chains), ("size", size)];
            let small = [("chains", "6"), ("size", "5"), ("leaps", "3")];
            Line::new(format!("chains={chains} size={size} leaps=20"), &settings, CallMode::Steps)
                .checked(&small)
        };
        vec![line("1024", "64"), line("1000", "50").odd()]
    },
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
        let line = |n: &str| Line::new(format!("n={n} iterations=100"), &[("n", n)], CallMode::Steps);
        vec![line("1024"), line("1000").odd()]
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_is_near_the_reference() {
        let network: &[(&str, &str)] = &[("steps", "4"), ("batch", "2"), ("width", "5")];
        let chains: &[(&str, &str)] = &[("chains", "6"), ("size", "5"), ("leaps", "3")];
        let networks = [(SCAN_RNN, "states"), (GRU, "states"), (LSTM, "states"), (SCAN_GRADIENT, "slope")];
        let networks = networks.into_iter().chain([(LSTM_TRAINING, "w")]);
        let all = networks.map(|(work, kept)| (work, kept, network)).chain([(HMC, "x", chains)]);
        for (work, kept, small) in all {
            let small = small.iter().copied();
            let f = (work.build)(&WorkloadSettings::of(&work, false, small).unwrap()).unwrap();
            let g = f.fork().unwrap();
            f.call(args![]).unwrap();
            g.call_reference(args![]).unwrap();
            let value = |f: &Function| f.shared(kept).unwrap().get_value().unwrap().to_f64s();
            for (a, b) in value(&f).iter().zip(value(&g)) {
                assert!((a - b).abs() < 1e-5, "{}: {a} {b}", work.name);
            }
        }
    }
}
