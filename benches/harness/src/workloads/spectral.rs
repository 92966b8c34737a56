//! Fourier transforms: in a simulation, and written as stages.

use super::{CallMode, Line, NONE, Workload};
use workalike::prelude::*;
use workalike_cli_common::random::normal;

pub(super) const HEAT: Workload = Workload {
    name: "heat",
    about: "a step of the heat equation on a torus, in Fourier space",
    settings: &[("n", "4096", "1024")],
    build: |s| {
        let n = s.n("n");
        let u = shared("u", normal(61, &[n, n], 1.0)?);
        let (x, y) = (fft::fftfreq(n, 1.0).cast(DType::F32), fft::rfftfreq(n, 1.0).cast(DType::F32));
        let decay = ((x.sqr().expand_dims(1) + y.sqr()) * -4.0).exp();
        let next = fft::over([0, 1]).lengths([n, n]).irfft(fft::rfftn(&u) * decay);
        function(NONE).update(&u, next).compile()
    },
    least: |s| {
        let points = s.float("n") * s.float("n");
        (8.0 * points, 5.0 * points * points.log2())
    },
    lines: |large| {
        let line =
            |n: &str| Line::new(format!("n={n}"), &[("n", n)], CallMode::Steps).checked(&[("n", "36")]);
        let sizes = if large { ["256", "4096", "4000"] } else { ["64", "1024", "1000"] };
        vec![line(sizes[0]), line(sizes[1]), line(sizes[2]).odd()]
    },
};

/// Real and imaginary parts of `w^k`, the n-th root of unity to the powers below n / 2.
fn roots_of_unity(n: usize) -> (Vec<f32>, Vec<f32>) {
    let angle = |k: usize| -std::f64::consts::TAU * k as f64 / n as f64;
    (0..n / 2).map(|k| (angle(k).cos() as f32, angle(k).sin() as f32)).unzip()
}

pub(super) const FFT_RADIX2: Workload = Workload {
    name: "fft_radix2",
    about: "a Fourier transform by Stockham's stages of radix 2, without complex numbers",
    settings: &[("n", "1048576", "65536")],
    build: |s| {
        let n = s.n("n");
        let (cos, sin) = roots_of_unity(n);
        let (c, d) = (shared("c", cos), shared("s", sin));
        let [mut re, mut im] = [
            (*shared("re", normal(131, &[n], 1.0)?)).clone(),
            (*shared("im", normal(132, &[n], 1.0)?)).clone(),
        ];
        let mut length = n;
        while length > 1 {
            let stride = n / length;
            let view = [2, length / 2, stride].map(|e| e as isize);
            let (r, i) = (re.reshape(view), im.reshape(view));
            let [(ar, br), (ai, bi)] = [r, i].map(|v| (v.index(idx![0]), v.index(idx![1])));
            let every = range(0, n / 2).step(stride as i64);
            let [wr, wi] = [&c, &d].map(|table| table.index([every.clone()]).expand_dims(1));
            let (dr, di) = (&ar - &br, &ai - &bi);
            re = stack([ar + br, &dr * &wr - &di * &wi], 1).reshape([n as isize]);
            im = stack([ai + bi, dr * wi + di * wr], 1).reshape([n as isize]);
            length /= 2;
        }
        function(NONE).output_named("re", re).output_named("im", im).compile()
    },
    // Each stage has one complex product and two complex sums for a pair of points.
    least: |s| (20.0 * s.float("n"), 5.0 * s.float("n") * s.float("n").log2()),
    lines: |large| vec![FFT_RADIX2.line(large, CallMode::Device, &[("n", "64")])],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::WorkloadSettings;

    #[test]
    fn the_stages_are_the_transform() {
        let f =
            (FFT_RADIX2.build)(&WorkloadSettings::of(&FFT_RADIX2, false, [("n", "16")]).unwrap()).unwrap();
        let get = |name: &str| f.shared(name).unwrap().get_value().unwrap().to_f64s();
        let (re, im, out) = (get("re"), get("im"), f.call(args![]).unwrap());
        let (out_re, out_im) = (out[0].to_f64s(), out[1].to_f64s());
        for k in 0..16 {
            let angle = |j: usize| -std::f64::consts::TAU * (j * k) as f64 / 16.0;
            let real: f64 = (0..16).map(|j| re[j] * angle(j).cos() - im[j] * angle(j).sin()).sum();
            let imaginary: f64 = (0..16).map(|j| re[j] * angle(j).sin() + im[j] * angle(j).cos()).sum();
            assert!((out_re[k] - real).abs() < 1e-4 && (out_im[k] - imaginary).abs() < 1e-4, "{k}");
        }
    }
}
