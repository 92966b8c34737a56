//! Work on grids where each point reads its neighbours: a filter of an image, Ising spins, a lattice
//! Boltzmann flow, heat.

// Negative ends count from the end.
#![allow(clippy::reversed_empty_ranges)]

use super::{CallMode, NONE, Workload, WorkloadSettings};
use workalike::prelude::*;
use workalike_cli_common::random::{evaluated, integers, uniform};

pub(super) const BILATERAL7: Workload = Workload {
    name: "bilateral7",
    about: "a bilateral filter of 7 x 7 pixels of an image whose edges are replicated",
    settings: &[("height", "1024", "256"), ("width", "1024", "256"), ("form", "slices", "slices")],
    build: |s| {
        let (height, width) = (s.n("height"), s.n("width"));
        let image = shared("image", uniform(201, &[height, width], 0.0, 1.0)?);
        let padded = image.pad([[3, 3], [3, 3]], Pad::Edge);
        let near = |y: usize, x: usize| -((y as f64 - 3.0).powi(2) + (x as f64 - 3.0).powi(2)) / 8.0;
        let filtered = if s.get("form") == "sliding_windows" {
            let window = padded.sliding_windows([7, 7], [1, 1], [1, 1]);
            let near = constant(Array2::from_shape_fn((7, 7), |(y, x)| near(y, x) as f32));
            let centre = image.index(idx![.., .., NEWAXIS, NEWAXIS]);
            let weight = (near - (&window - centre).sqr() * 12.5).exp();
            (&weight * &window).sum([-2, -1]) / weight.sum([-2, -1])
        } else {
            let (mut weighted, mut total) = (zeros_like(&image), zeros_like(&image));
            for (y, x) in (0..7).flat_map(|y| (0..7).map(move |x| (y, x))) {
                let shifted = padded.index(idx![y..y + height, x..x + width]);
                let weight = (near(y, x) - (&shifted - &image).sqr() * 12.5).exp();
                weighted = weighted + &weight * shifted;
                total = total + weight;
            }
            weighted / total
        };
        function(NONE).output_named("filtered", filtered).compile()
    },
    least: |s| {
        let pixels = s.float("height") * s.float("width");
        (8.0 * pixels, 49.0 * 15.0 * pixels)
    },
    lines: |large| {
        let checked = [("height", "19"), ("width", "23")];
        BILATERAL7.forms(large, CallMode::Device, &checked, &["slices", "sliding_windows"])
    },
};

/// The sum of the four neighbours of each point of a torus.
fn neighbours(x: &Variable, form: &str) -> Variable {
    if form == "pad" {
        let w = x.pad([[1, 1], [1, 1]], Pad::Wrap);
        let rows = w.index(idx![..-2, 1..-1]) + w.index(idx![2.., 1..-1]);
        rows + w.index(idx![1..-1, ..-2]) + w.index(idx![1..-1, 2..])
    } else {
        x.roll(1, 0) + x.roll(-1, 0) + x.roll(1, 1) + x.roll(-1, 1)
    }
}

pub(super) const ISING: Workload = Workload {
    name: "ising",
    about: "a Metropolis sweep of Ising spins on a torus, in the order of a checkerboard",
    settings: &[("n", "2048", "1024"), ("form", "roll", "roll")],
    build: |s| {
        let n = s.n("n");
        let signs = integers(211, n * n, 2)?.to_vec::<i64>()?.iter().map(|up| (2 * up - 1) as i8).collect();
        let bits = integers(212, n * n, (1 << 32) - 1)?.to_vec::<i64>()?;
        // A xorshift generator never leaves 0.
        let bits = bits.iter().map(|bits| *bits as u32 + 1).collect();
        let spins = shared("spins", Value::from_vec(&[n, n], signs)?);
        let bits = shared("bits", Value::from_vec(&[n, n], bits)?);
        let x = &bits ^ (&bits << 13);
        let x = &x ^ (&x >> 17);
        let x = &x ^ (&x << 5);
        let u = (&x >> 8).cast(DType::F32) * 2f64.powi(-24);
        let colours = (arange(n as i64).expand_dims(1) + arange(n as i64)) % 2;
        let mut next = (*spins).clone();
        for colour in 0..2 {
            let energy = (&next * neighbours(&next, s.get("form"))).cast(DType::F32);
            let flips = u.less((-0.88 * energy).exp());
            next = where_(colours.equal(colour).and(flips), -&next, &next);
        }
        function(NONE).update(&spins, next).update(&bits, x).compile()
    },
    least: |s| (10.0 * s.float("n").powi(2), 40.0 * s.float("n").powi(2)),
    lines: |large| ISING.forms(large, CallMode::Steps, &[("n", "24")], &["roll", "pad"]),
};

/// The velocities of a D2Q9 lattice: along axes 0 and 1.
const VELOCITIES: [(isize, isize); 9] =
    [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)];
/// The position of the opposite of each velocity.
const OPPOSITE: [usize; 9] = [0, 3, 4, 1, 2, 7, 8, 5, 6];

/// The equilibrium distribution of a density that moves at `(u, v)`.
fn equilibrium(density: &Variable, u: &Variable, v: &Variable) -> [Variable; 9] {
    let square = u.sqr() + v.sqr();
    VELOCITIES.map(|(x, y)| {
        let weight = [4.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0][(x.abs() + y.abs()) as usize];
        let along = x as f64 * u + y as f64 * v;
        weight * density * (1.0 + 3.0 * &along + 4.5 * along.sqr() - 1.5 * &square)
    })
}

/// The distribution of each velocity, moved along it on a torus.
fn streamed(f: &Variable, n: usize, form: &str) -> [Variable; 9] {
    let each = std::array::from_fn::<usize, 9, _>(|k| k);
    if form == "pad" {
        let (padded, n) = (f.pad([[0, 0], [1, 1], [1, 1]], Pad::Wrap), n as isize);
        each.map(|k| {
            let (x, y) = (1 - VELOCITIES[k].0, 1 - VELOCITIES[k].1);
            padded.index(idx![k as i64, range(x, x + n), range(y, y + n)])
        })
    } else {
        each.map(|k| {
            let (x, y) = VELOCITIES[k];
            f.index(idx![k as i64]).roll(x as i64, 0).roll(y as i64, 1)
        })
    }
}

fn flow(s: &WorkloadSettings) -> workalike::Result<Function> {
    let n = s.n("n");
    let streams = RandomStreams::new(221);
    let [u, v] = [0.08, 0.0].map(|mean| mean + 0.01 * streams.normal::<f32>([n, n]));
    let f = shared("f", evaluated(&stack(equilibrium(&constant(1f32), &u, &v), 0))?);
    let centre = (n as f64 / 4.0, n as f64 / 2.0);
    let is_solid = |at: usize| {
        let (x, y) = ((at / n) as f64 - centre.0, (at % n) as f64 - centre.1);
        x * x + y * y < (n as f64 / 10.0).powi(2)
    };
    let solid = shared("solid", Value::from_vec(&[n, n], (0..n * n).map(is_solid).collect::<Vec<bool>>())?);

    let g = streamed(&f, n, s.get("form"));
    let density = g[1..].iter().fold(g[0].clone(), |sum, g| sum + g);
    let u = (&g[1] - &g[3] + &g[5] - &g[6] - &g[7] + &g[8]) / &density;
    let v = (&g[2] - &g[4] + &g[5] + &g[6] - &g[7] - &g[8]) / &density;
    let rest = equilibrium(&density, &u, &v);
    let next = (0..9).map(|k| where_(&solid, &g[OPPOSITE[k]], &g[k] - 1.7 * (&g[k] - &rest[k])));
    function(NONE).update(&f, stack(next, 0)).compile()
}

pub(super) const LBM_D2Q9: Workload = Workload {
    name: "lbm_d2q9",
    about: "a step of a lattice Boltzmann flow around a disc on a torus, with nine velocities",
    settings: &[("n", "512", "512"), ("form", "roll", "roll")],
    build: flow,
    least: |s| (73.0 * s.float("n").powi(2), 180.0 * s.float("n").powi(2)),
    lines: |large| LBM_D2Q9.forms(large, CallMode::Steps, &[("n", "21")], &["roll", "pad"]),
};

pub(super) const HEAT2D: Workload = Workload {
    name: "heat2d",
    about: "an explicit step of the heat equation: on a torus, or with fixed edges in the form of slices",
    settings: &[("rows", "1024", "1024"), ("columns", "1024", "1024"), ("form", "roll", "roll")],
    build: |s| {
        let shape = [s.n("rows"), s.n("columns")];
        let u = shared("u", uniform(231, &shape, 0.0, 1.0)?);
        let next = match s.get("form") {
            "slices" => {
                let rows = u.index(idx![..-2, 1..-1]) + u.index(idx![2.., 1..-1]);
                let around = rows + u.index(idx![1..-1, ..-2]) + u.index(idx![1..-1, 2..]);
                let change = 0.1 * (around - 4.0 * u.index(idx![1..-1, 1..-1]));
                u.inc_index(idx![1..-1, 1..-1], change)
            }
            "index_arrays" => {
                let at = |n: usize, by: usize| (0..n).map(|i| ((i + by) % n) as i64).collect::<Vec<_>>();
                let along = |axis: usize, by: usize| u.take(constant(at(shape[axis], by)), axis as isize);
                let around = along(0, 1) + along(0, shape[0] - 1) + along(1, 1) + along(1, shape[1] - 1);
                &u + 0.1 * (around - 4.0 * &u)
            }
            _ => &u + 0.1 * (neighbours(&u, "roll") - 4.0 * &u),
        };
        function(NONE).update(&u, next).compile()
    },
    least: |s| {
        let points = s.float("rows") * s.float("columns");
        (8.0 * points, 7.0 * points)
    },
    lines: |large| {
        let checked = [("rows", "37"), ("columns", "53")];
        HEAT2D.forms(large, CallMode::Steps, &checked, &["roll", "index_arrays", "slices"])
    },
};
