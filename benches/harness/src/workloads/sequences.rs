//! Steps of recursions over sequences: Viterbi, a cell of a long short-term memory, Kalman filters.

use super::{CallMode, NONE, Workload, WorkloadSettings, counter, zeros};
use workalike::prelude::*;
use workalike_cli_common::random::{evaluated, normal, positions};

pub(super) const VITERBI: Workload = Workload {
    name: "viterbi",
    about: "a step of Viterbi's forward recursion with back pointers, for a batch of sequences",
    settings: &[("batch", "64", "32"), ("states", "512", "512"), ("symbols", "64", "64")],
    build: |s| {
        let (batch, states, symbols) = (s.n("batch"), s.n("states"), s.n("symbols"));
        let streams = RandomStreams::new(501);
        let log_probabilities =
            |columns: usize| evaluated(&log_softmax(streams.normal::<f32>([states, columns]), 1));
        let transition = shared("transition", log_probabilities(states)?);
        let emission = shared("emission", log_probabilities(symbols)?);
        let observed = shared("observed", positions(502, &[32, batch], symbols)?);
        let scores = shared("scores", zeros(&[batch, states])?);
        let back = shared("back", Value::zeros(DType::I32, &[batch, states])?);
        let t = counter()?;
        let now = observed.index(idx![t.index(idx![0]) % 32]);
        let paths = scores.expand_dims(2) + &transition;
        let next = paths.max(1) + emission.take(&now, 1).t();
        let step = function(NONE).update(&scores, &next - next.max(over(1).keepdims()));
        step.update(&back, paths.argmax(1).cast(DType::I32)).update(&t, &t + 1).compile()
    },
    least: |s| {
        let (batch, states) = (s.float("batch"), s.float("states"));
        let tables = states * (states + s.float("symbols"));
        (4.0 * (3.0 * batch * states + tables), 3.0 * batch * states * states)
    },
    lines: |large| {
        let checked = [("batch", "3"), ("states", "11"), ("symbols", "5")];
        vec![VITERBI.line(large, CallMode::Steps, &checked)]
    },
};

pub(super) const LSTM_STEP: Workload = Workload {
    name: "lstm_step",
    about: "one cell of a long short-term memory, on the input that a counter names",
    settings: &[
        ("batch", "64", "64"),
        ("inputs", "512", "512"),
        ("units", "512", "512"),
        ("form", "concatenate", "concatenate"),
    ],
    build: |s| {
        let (batch, inputs, units) = (s.n("batch"), s.n("inputs"), s.n("units"));
        let scale = ((inputs + units) as f64).powf(-0.5);
        let xs = shared("xs", normal(511, &[16, batch, inputs], 1.0)?);
        let w = shared("w", normal(512, &[inputs + units, 4 * units], scale)?);
        let b = shared("b", normal(513, &[4 * units], 0.1)?);
        let (h, c) = (shared("h", zeros(&[batch, units])?), shared("c", zeros(&[batch, units])?));
        let t = counter()?;
        let x = xs.index(idx![t.index(idx![0]) % 16]);
        let all = match s.get("form") {
            "two_products" => x.dot(w.index(idx![..inputs])) + h.dot(w.index(idx![inputs..])) + &b,
            _ => concatenate([&x, &*h], 1).dot(&w) + &b,
        };
        let part = |at: usize| all.index(idx![.., range(at * units, (at + 1) * units)]);
        let cell = (part(1) + 1.0).sigmoid() * &c + part(0).sigmoid() * part(2).tanh();
        let out = part(3).sigmoid() * cell.tanh();
        function(NONE).update(&h, out).update(&c, cell).update(&t, &t + 1).compile()
    },
    least: |s| {
        let (batch, inputs, units) = (s.float("batch"), s.float("inputs"), s.float("units"));
        let weights = 4.0 * (inputs + units) * units;
        (4.0 * (weights + batch * (inputs + 4.0 * units)), 2.0 * batch * weights)
    },
    lines: |large| {
        let checked = [("batch", "3"), ("inputs", "5"), ("units", "7")];
        LSTM_STEP.forms(large, CallMode::Steps, &checked, &["concatenate", "two_products"])
    },
};

/// The adjugates and the determinants of 3 x 3 matrices.
fn adjugate(s: &Variable, form: &str) -> (Variable, Variable) {
    if form == "cross_products" {
        let row = [0, 1, 2].map(|i| s.index(idx![.., i]));
        let columns = [1, 2, 0].map(|i| row[i].cross(&row[(i + 1) % 3], -1));
        let determinant = (&row[0] * &columns[0]).sum(-1);
        return (stack(columns, -1), determinant);
    }
    let e = |i: i64, j: i64| s.index(idx![.., i % 3, j % 3]);
    let minor = |i: i64, j: i64| e(i + 1, j + 1) * e(i + 2, j + 2) - e(i + 1, j + 2) * e(i + 2, j + 1);
    let rows = (0..3).map(|i| stack((0..3).map(|j| minor(j, i)), -1));
    let determinant = e(0, 0) * minor(0, 0) + e(0, 1) * minor(0, 1) + e(0, 2) * minor(0, 2);
    (stack(rows, -2), determinant)
}

fn kalman(s: &WorkloadSettings) -> workalike::Result<Function> {
    let batch = s.n("batch");
    let streams = RandomStreams::new(521);
    let identity = || eye(6, 6, 0, DType::F32);
    // Three positions that move at constant velocities.
    let f = shared("f", evaluated(&(identity() + 0.1 * eye(6, 6, 3, DType::F32)))?);
    let noise = streams.normal::<f32>([6, 6]);
    let q = shared("q", evaluated(&(0.01 * noise.dot(noise.t())))?);
    let observes = eye(3, 6, 0, DType::F32) + 0.1 * streams.normal::<f32>([3, 6]);
    let h = shared("h", evaluated(&observes)?);
    let variances = streams.uniform::<f32>([3]) + 0.3;
    let r = shared("r", evaluated(&(eye(3, 3, 0, DType::F32) * variances))?);
    let zs = shared("zs", normal(522, &[16, batch, 3], 1.0)?);
    let x0 = shared("x", normal(523, &[batch, 6], 1.0)?);
    let p0 = shared("p", evaluated(&(identity() + constant(zeros(&[batch, 1, 1])?)))?);
    let t = counter()?;

    let z = zs.index(idx![t.index(idx![0]) % 16]);
    let x = x0.dot(f.t());
    let p = f.matmul(&p0).matmul(f.t()) + &q;
    let ph = p.matmul(h.t());
    let (adjugate, determinant) = adjugate(&(h.matmul(&ph) + &r), s.get("form"));
    let gain = ph.matmul(adjugate / determinant.index(idx![.., NEWAXIS, NEWAXIS]));
    let x = &x + gain.matmul((z - x.dot(h.t())).expand_dims(2)).squeeze(2);
    let p = (identity() - gain.matmul(&h)).matmul(&p);
    let p = (&p + p.swapaxes(1, 2)) / 2.0;
    function(NONE).update(&x0, x).update(&p0, p).update(&t, &t + 1).compile()
}

pub(super) const KALMAN: Workload = Workload {
    name: "kalman",
    about: "a step of many Kalman filters with 6 states and 3 measurements each",
    settings: &[("batch", "4096", "4096"), ("form", "cross_products", "cross_products")],
    build: kalman,
    // 6 x 6 covariances and 6 states are read and written, 3 measurements are read.
    least: |s| (4.0 * 87.0 * s.float("batch"), 2000.0 * s.float("batch")),
    lines: |large| KALMAN.forms(large, CallMode::Steps, &[("batch", "13")], &["cross_products", "cofactors"]),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_adjugate_invert() {
        for form in ["cross_products", "cofactors"] {
            let s = Variable::constant(normal(7, &[4, 3, 3], 1.0).unwrap());
            let (adjugate, determinant) = adjugate(&s, form);
            let product = s.matmul(adjugate) / determinant.index(idx![.., NEWAXIS, NEWAXIS]);
            let product = evaluated(&product).unwrap().to_f64s();
            for (at, value) in product.iter().enumerate() {
                let identity = f64::from(at % 9 % 4 == 0);
                assert!((value - identity).abs() < 1e-3, "{form}: {product:?}");
            }
        }
    }
}
