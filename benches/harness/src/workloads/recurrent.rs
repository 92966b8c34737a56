//! Recurrent state: neurons, and a recurrent network unrolled in time.

use super::{CallMode, Line, NONE, Workload, zeros};
use workalike::prelude::*;
use workalike_cli_common::random::{normal, uniform};

pub(super) const LIF: Workload = Workload {
    name: "lif",
    about: "a step of leaky integrate-and-fire neurons with encoders, decoders and a synapse, all of it recurrent",
    settings: &[("n", "1000", "1000")],
    build: |s| {
        let n = s.n("n");
        let (dt, tau_rc, tau_ref, tau_syn) = (1e-3, 0.02, 0.002, 0.1);
        let encoders = shared("encoders", normal(31, &[n, 2], 1.0)?);
        let decoders = shared("decoders", normal(32, &[2, n], 1.0 / n as f64)?);
        let (bias, input) = (shared("bias", normal(33, &[n], 1.0)?), shared("input", normal(34, &[2], 1.0)?));
        let (v, refractory) = (shared("v", zeros(&[n])?), shared("refractory", zeros(&[n])?));
        let x = shared("x", zeros(&[2])?);

        let current = encoders.dot(&x + &input) + &bias;
        let delta = (dt - &refractory).maximum(0.0).minimum(dt);
        let next = &v - (&current - &v) * ((-delta / tau_rc).exp() - 1.0);
        let spiked = next.greater(1.0);
        let spikes = spiked.cast(DType::F32) / dt;
        // The fraction of the step at which the threshold was crossed.
        let time =
            dt + tau_rc * (-(&next - 1.0) / (&current - 1.0)).elementwise(workalike::kernels::ops::LOG1P);
        function(NONE)
            .update(&refractory, where_(&spiked, time + tau_ref, &refractory - dt))
            .update(&v, where_(&spiked, 0.0, next.maximum(0.0)))
            .update(&x, &x + (decoders.dot(&spikes) - &x) * (dt / tau_syn))
            .compile()
    },
    least: |s| (36.0 * s.float("n"), 60.0 * s.float("n")),
    lines: |large| {
        let line =
            |n: &str| Line::new(format!("n={n}"), &[("n", n)], CallMode::Steps).checked(&[("n", "1013")]);
        let (many, odd) = if large { ("1000000", "999983") } else { ("100000", "99991") };
        vec![line("1000"), line(many), line("1237").odd(), line(odd).odd()]
    },
};

pub(super) const RNN: Workload = Workload {
    name: "rnn",
    about: "tanh(x_t + h W), unrolled in time, all hidden states kept",
    settings: &[("steps", "100", "100"), ("batch", "32", "32"), ("width", "256", "256")],
    build: |s| {
        let [steps, batch, width] = ["steps", "batch", "width"].map(|key| s.n(key));
        let (wx, wh) = (
            shared("wx", normal(41, &[width, width], 0.05)?),
            shared("wh", normal(42, &[width, width], 0.05)?),
        );
        let x = shared("x", normal(43, &[steps * batch, width], 1.0)?);
        let rows = x.dot(&wx).reshape([steps as isize, batch as isize, width as isize]);
        let mut h = Variable::constant(zeros(&[batch, width])?);
        let mut f = function(NONE);
        for t in 0..steps {
            h = (rows.index(idx![t as i64]) + h.dot(&wh)).tanh();
            f = f.update(shared(&format!("h{t}"), zeros(&[batch, width])?), &h);
        }
        f.compile()
    },
    least: |s| {
        let (rows, width) = (s.float("steps") * s.float("batch"), s.float("width"));
        (4.0 * (2.0 * rows * width + 2.0 * width * width), 4.0 * rows * width * width)
    },
    lines: |_| {
        let line = |steps: &str, batch: &str, width: &str| {
            let settings = [("steps", steps), ("batch", batch), ("width", width)];
            let small = [("steps", "5"), ("batch", "7"), ("width", "33")];
            Line::new(format!("T={steps} B={batch} H={width}"), &settings, CallMode::Steps).checked(&small)
        };
        vec![line("100", "32", "256"), line("97", "31", "250").odd()]
    },
};

pub(super) const LIF_NETWORK: Workload = Workload {
    name: "lif_network",
    about: "a step of leaky integrate-and-fire neurons, all connected to all, with a filter at the synapses",
    settings: &[("n", "4096", "1024")],
    build: |s| {
        let n = s.n("n");
        let (dt, tau_rc, tau_ref, tau_syn) = (1e-3, 0.02, 0.002, 0.005);
        let w = shared("w", normal(81, &[n, n], 0.01 / (n as f64).sqrt())?);
        let bias = shared("bias", uniform(82, &[n], 0.8, 1.6)?);
        let v = shared("v", uniform(83, &[n], 0.0, 1.0)?);
        let (refractory, filtered) = (shared("refractory", zeros(&[n])?), shared("filtered", zeros(&[n])?));
        let decay = f64::exp(-dt / tau_syn);
        let current = w.dot(&filtered) + &bias;
        let delta = (dt - &refractory).clip(0.0, dt);
        let next = &v - (&current - &v) * (-delta / tau_rc).expm1();
        let spiked = next.greater(1.0);
        function(NONE)
            .update(&refractory, where_(&spiked, tau_ref, &refractory - dt))
            .update(&v, where_(&spiked, 0.0, next.maximum(0.0)))
            .update(&filtered, decay * &filtered + (1.0 - decay) / dt * spiked.cast(DType::F32))
            .compile()
    },
    least: |s| (4.0 * s.float("n").powi(2), 2.0 * s.float("n").powi(2)),
    lines: |large| vec![LIF_NETWORK.line(large, CallMode::Steps, &[("n", "67")])],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::WorkloadSettings;

    #[test]
    fn neurons_spike_and_rest() {
        let lif = (LIF.build)(&WorkloadSettings::of(&LIF, false, [("n", "50")]).unwrap()).unwrap();
        let get = |name: &str| lif.shared(name).unwrap().get_value().unwrap().to_f64s();
        let mut spikes = 0;
        for _ in 0..200 {
            lif.call(args![]).unwrap();
            spikes += get("refractory").iter().filter(|r| **r > 1e-3).count();
            assert!(get("v").iter().all(|v| (0.0..=1.0).contains(v)), "{:?}", get("v"));
        }
        assert!(spikes > 100, "{spikes}");
    }

    #[test]
    fn the_last_state_depends_on_the_first() {
        let settings =
            WorkloadSettings::of(&RNN, false, [("steps", "3"), ("batch", "2"), ("width", "4")]).unwrap();
        let rnn = (RNN.build)(&settings).unwrap();
        let run = || {
            rnn.call(args![]).unwrap();
            ["h0", "h2"].map(|h| rnn.shared(h).unwrap().get_value().unwrap().to_f64s())
        };
        let [h0, h2] = run();
        assert!(h2.iter().all(|h| h.abs() < 1.0 && *h != 0.0));
        let x = rnn.shared("x").unwrap();
        x.set_value(x.get_value().unwrap().cast(DType::F32).unwrap()).unwrap();
        assert_eq!(run(), [h0.clone(), h2.clone()]);
        x.set_value(normal(99, &[6, 4], 1.0).unwrap()).unwrap();
        assert_ne!(run(), [h0, h2]);
    }
}
