//! Particles and trajectories: an ensemble of Lorenz systems, a plasma in cells, bodies that attract each
//! other.

use super::{CallMode, NONE, Workload, zeros};
use workalike::ops::Bins;
use workalike::prelude::*;
use workalike_cli_common::random::{evaluated, normal, uniform};

pub(super) const LORENZ_RK4: Workload = Workload {
    name: "lorenz_rk4",
    about: "a step of many Lorenz systems by the Runge-Kutta method of order 4",
    settings: &[("n", "1048576", "1048576")],
    build: |s| {
        let n = [s.n("n")];
        let z = evaluated(&(RandomStreams::new(403).normal::<f32>(&n) + 25.0))?;
        let p = [shared("x", normal(401, &n, 1.0)?), shared("y", normal(402, &n, 1.0)?), shared("z", z)];
        let rho = shared("rho", uniform(404, &n, 20.0, 30.0)?);
        let dt = 0.01;
        let slope = |[x, y, z]: &[Variable; 3]| [10.0 * (y - x), x * (&rho - z) - y, x * y - 8.0 / 3.0 * z];
        let along = |h: f64, k: &[Variable; 3]| [0, 1, 2].map(|c| &p[c] + h * &k[c]);
        let k1 = slope(&[0, 1, 2].map(|c| (*p[c]).clone()));
        let k2 = slope(&along(dt / 2.0, &k1));
        let k3 = slope(&along(dt / 2.0, &k2));
        let k4 = slope(&along(dt, &k3));
        let mut step = function(NONE);
        for c in 0..3 {
            step = step.update(&p[c], &p[c] + dt / 6.0 * (&k1[c] + 2.0 * &k2[c] + 2.0 * &k3[c] + &k4[c]));
        }
        step.compile()
    },
    least: |s| (28.0 * s.float("n"), 80.0 * s.float("n")),
    lines: |large| vec![LORENZ_RK4.line(large, CallMode::Steps, &[("n", "101")])],
};

pub(super) const PIC1D: Workload = Workload {
    name: "pic1d",
    about: "a step of a plasma in one dimension, particles in cells: two streams of electrons, periodic",
    settings: &[
        ("particles", "1048576", "262144"),
        ("cells", "1024", "1024"),
        ("form", "bincount", "bincount"),
    ],
    build: |s| {
        let (particles, cells) = (s.n("particles"), s.n("cells"));
        let streams = (arange(particles as i64) % 2 * 6 - 3).cast(DType::F32);
        let v = evaluated(&(streams + 0.3 * RandomStreams::new(411).normal::<f32>([particles])))?;
        let v = shared("v", v);
        let x = shared("x", uniform(412, &[particles], 0.0, cells as f64)?);
        let below = x.floor();
        let w = &x - &below;
        let i = below.cast(DType::I32) % cells;
        let j = (&i + 1) % cells;
        let charge = match s.get("form") {
            "inc_index" => {
                let none = Variable::constant(zeros(&[cells])?);
                none.inc_index(idx![&i], 1.0 - &w).inc_index(idx![&j], &w)
            }
            _ => {
                let sums = |at: &Variable, of: &Variable| at.bincount(Some(of), Bins::Exactly(cells));
                sums(&i, &(1.0 - &w)) + sums(&j, &w)
            }
        };
        let field = (1.0 - charge * (cells as f64 / particles as f64)).cumsum(0);
        let field = &field - field.mean(..);
        let force = (1.0 - &w) * field.take(&i, 0) + &w * field.take(&j, 0);
        let speed = &v - 0.1 * force;
        function(NONE).update(&x, (&x + 0.1 * &speed) % cells).update(&v, speed).compile()
    },
    least: |s| (16.0 * s.float("particles"), 20.0 * s.float("particles")),
    lines: |large| {
        let checked = [("particles", "500"), ("cells", "16")];
        PIC1D.forms(large, CallMode::Steps, &checked, &["bincount", "inc_index"])
    },
};

pub(super) const NBODY: Workload = Workload {
    name: "nbody",
    about: "a leapfrog step of bodies that attract each other, all pairs",
    settings: &[("n", "4096", "1024"), ("form", "vectors", "vectors")],
    build: |s| {
        let n = s.n("n");
        let mass = shared("mass", uniform(421, &[n], 0.5 / n as f64, 1.5 / n as f64)?);
        let dt = 1e-3;
        let pull = |square: Variable| &mass / (&square * square.sqrt());
        if s.get("form") == "matrices" {
            let x = shared("x", normal(422, &[3, n], 1.0)?);
            let v = shared("v", normal(423, &[3, n], 0.1)?);
            let middle = &x + (dt / 2.0) * &v;
            let away = [0, 1, 2].map(|c| middle.index(idx![c, NEWAXIS]) - middle.index(idx![c, .., NEWAXIS]));
            let pull = pull(away[0].sqr() + away[1].sqr() + away[2].sqr() + 1e-2);
            let speed = &v + dt * stack(away.map(|d| (&pull * d).sum(1)), 0);
            return function(NONE).update(&x, middle + (dt / 2.0) * &speed).update(&v, speed).compile();
        }
        let of =
            |name: String, seed, scale| Ok::<_, workalike::Error>(shared(&name, normal(seed, &[n], scale)?));
        let (mut x, mut v) = (Vec::new(), Vec::new());
        for c in 0..3 {
            x.push(of(format!("x{c}"), 424 + c, 1.0)?);
            v.push(of(format!("v{c}"), 427 + c, 0.1)?);
        }
        let middle: Vec<Variable> = x.iter().zip(&v).map(|(x, v)| x + (dt / 2.0) * v).collect();
        let away: Vec<Variable> = middle.iter().map(|m| m.expand_dims(0) - m.expand_dims(1)).collect();
        let pull = pull(away[0].sqr() + away[1].sqr() + away[2].sqr() + 1e-2);
        let mut step = function(NONE);
        for c in 0..3 {
            let speed = &v[c] + dt * (&pull * &away[c]).sum(1);
            step = step.update(&x[c], &middle[c] + (dt / 2.0) * &speed).update(&v[c], speed);
        }
        step.compile()
    },
    least: |s| (52.0 * s.float("n"), 20.0 * s.float("n").powi(2)),
    lines: |large| NBODY.forms(large, CallMode::Steps, &[("n", "67")], &["vectors", "matrices"]),
};
