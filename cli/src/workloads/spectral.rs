//! Fourier transforms in a simulation.

use super::{Line, NONE, Way, Workload};
use crate::inputs::normal;
use workalike::prelude::*;

pub(super) const HEAT: Workload = Workload {
    name: "heat",
    about: "a step of the heat equation on a torus, in Fourier space",
    settings: &[("n", "4096", "1024")],
    build: |s| {
        let n = s.n("n");
        let u = shared("u", normal(61, &[n, n], 1.0)?);
        let (x, y) = (fft::fftfreq(n, 1.0).cast(DType::F32), fft::rfftfreq(n, 1.0).cast(DType::F32));
        let decay = ((x.sqr().expand_dims(1) + y.sqr()) * -4.0).exp().expand_dims(2);
        let next = fft::over([0, 1]).lengths([n, n]).irfft(fft::rfftn(&u) * decay);
        function(NONE).update(&u, next).compile()
    },
    least: |s| {
        let points = s.float("n") * s.float("n");
        (8.0 * points, 5.0 * points * points.log2())
    },
    lines: |large| {
        let line = |n: &str| Line::new(format!("n={n}"), &[("n", n)], Way::Steps).checked(&[("n", "36")]);
        let sizes = if large { ["256", "4096", "4000"] } else { ["64", "1024", "1000"] };
        vec![line(sizes[0]), line(sizes[1]), line(sizes[2]).odd()]
    },
};
