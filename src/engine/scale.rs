//! The time of each phase on graphs of 100,000 nodes: `cargo test --release -p workalike --lib scale --
//! --ignored --nocapture`.
//!
//! No phase may take time that grows faster than the graph, so each graph is also measured at a quarter of
//! its size. Fusion, and the printing of fused kernels, are measured on smaller graphs.

use super::fuse::fuse;
use super::inplace::update_in_place;
use super::memory::plan;
use crate::graph::FunctionGraph;
use crate::graph::shapes::{Demand, ShapeInputs, infer};
use crate::lower::index_bounds::Trusted;
use crate::lower::program::Step;
use crate::lower::{Abilities, Promised, lower};
use crate::prelude::*;
use crate::rewrite::Rewrites;
use std::time::{Duration, Instant};
use workalike_kernels::print::{Dialect, Target, print};
use workalike_kernels::verify::Verified;

/// Nodes of a graph, its gradient included: about three for each op of the expression.
const NODES: usize = 100_000;
/// Nodes of the graphs that are fused.
const FUSED: usize = 8_000;

/// A cost, the variables to differentiate by, and the inputs with their shapes.
struct Case {
    cost: Variable,
    wrt: Vec<SharedVariable>,
    inputs: Vec<(Variable, Vec<usize>)>,
}

/// A chain of elementwise ops.
fn chain(nodes: usize) -> Case {
    let (x, w) = (vector::<f32>("x"), shared("w", Array1::<f32>::ones(8)));
    let mut y = &x * &w;
    for i in 1..nodes {
        y = match i % 3 {
            0 => y.tanh(),
            1 => &y + &x,
            _ => &y * &w,
        };
    }
    Case { cost: y.sum(..), wrt: vec![w], inputs: vec![(x, vec![8])] }
}

/// Many short chains, each with a shared variable of its own, added up pair by pair.
fn wide(nodes: usize) -> Case {
    let x = vector::<f32>("x");
    let wrt: Vec<SharedVariable> =
        (0..nodes / 100).map(|i| shared(&format!("w{i}"), Array1::<f32>::ones(8))).collect();
    let branch = |w: &SharedVariable| (0..49).fold(&x * w, |y, _| (&y + w).tanh());
    let mut level: Vec<Variable> = wrt.iter().map(branch).collect();
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| pair.iter().skip(1).fold(pair[0].clone(), |a, b| a + b)).collect();
    }
    Case { cost: level[0].sum(..), wrt, inputs: vec![(x, vec![8])] }
}

/// Layers of many ops: products, softmax, sums, slices, transposes, reshapes.
fn layers(nodes: usize) -> Case {
    let x = matrix::<f32>("x");
    let w = shared("w", Array2::<f32>::ones((8, 8)));
    let b = shared("b", Array1::<f32>::ones(8));
    let mut y = x.clone();
    for _ in 0..nodes / 16 {
        let h = (y.dot(&w) + &b).tanh();
        let centred = &h - (h.sum(1) / 8.0f32).expand_dims(1);
        let p = softmax(&centred, -1);
        let mixed = p.t().reshape([8, 4]).t() * &h;
        y = mixed.index(idx![.., ..]) + &y;
    }
    Case { cost: y.sum(..), wrt: vec![w, b], inputs: vec![(x, vec![4, 8])] }
}

/// Measures the time of a phase.
struct Clock {
    rows: Vec<(&'static str, Duration)>,
}

impl Clock {
    fn time<T>(&mut self, phase: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = work();
        self.rows.push((phase, start.elapsed()));
        made
    }
}

fn measure(case: &str, build: fn(usize) -> Case, nodes: usize) -> Vec<(&'static str, Duration)> {
    let mut clock = Clock { rows: vec![] };
    let Case { cost, wrt, inputs } = clock.time("build", || build(nodes / 3));
    let grads = clock.time("grad", || grad(&cost, &wrt).unwrap());
    let mut f = function(inputs.iter().map(|i| &i.0)).output(&cost);
    for (w, g) in wrt.iter().zip(&grads) {
        f = f.update(w, w - 0.1 * g);
    }
    let f = clock.time("compile", || f.compile().unwrap());
    let mut graph = FunctionGraph::clone(f.graph());
    let rewrites = Rewrites::default();
    for pass in rewrites.passes() {
        graph = clock.time(pass.name(), || rewrites.run_pass(pass, &graph).unwrap());
    }
    drop(graph);
    let bytes = clock.time("save", || Bundle::new().with("main", &f).to_bytes().unwrap());
    let loaded = clock.time("load", || Bundle::from_bytes(&bytes).unwrap());
    let graph = loaded["main"].graph();
    let (given, own): (Vec<_>, Vec<_>) = (
        inputs.iter().map(|i| i.1.clone()).collect(),
        loaded["main"].cells().iter().map(|c| c.get_value().unwrap().shape().to_vec()).collect(),
    );
    let demand = clock.time("demand", || Demand::of(graph));
    let given =
        ShapeInputs { inputs: &given, shared: &own, input_values: &|_| None, shared_values: &|_| None };
    let shapes = clock.time("shapes", || infer(graph, &demand, &given).unwrap());
    let device = Host::threads(1).open().unwrap();
    let device = device.as_ref();
    let abilities = Abilities { device, fast: false, deterministic: true, promised: Promised::Marked };
    let program = clock.time("lower", || lower(graph, &shapes, &abilities, &Trusted::default(), 0).unwrap());
    let steps = program.steps.len();
    let state = vec![32; wrt.len()];
    let program = clock.time("inplace", || update_in_place(program, &state));
    clock.time("memory", || plan(&program, device));
    println!("{case:<8} {} Nodes, {} bytes, {steps} steps", graph.nodes.len(), bytes.len());
    if nodes <= FUSED {
        let program = clock.time("fuse", || fuse(program, device.properties(), &abilities, &[]));
        let nest = |step| if let Step::Nest { nest, .. } = step { Some(nest) } else { None };
        let nests = program.steps.into_iter().filter_map(nest);
        let nests: Vec<Verified> =
            clock.time("verify Nests", || nests.map(|nest| Verified::new(nest).unwrap()).collect());
        println!("         {} kernels", nests.len());
        for (phase, dialect) in [("print OpenCL C", Dialect::OpenClC), ("print CUDA C++", Dialect::CudaCpp)] {
            let target = Target {
                dialect,
                max_group: 256,
                local_memory: 32 << 10,
                lanes: 1 << 16,
                cpu: false,
                fast: false,
                sizes: Default::default(),
            };
            clock.time(phase, || print(&nests, &target));
        }
    }
    clock.time("drop", move || drop((cost, grads, f, loaded, shapes)));
    clock.rows
}

#[test]
#[ignore = "a measurement, of a release build"]
fn every_phase_of_a_large_graph() {
    type Make = fn(usize) -> Case;
    let cases: [(&str, Make); 3] = [("chain", chain), ("wide", wide), ("layers", layers)];
    let mut late = Vec::new();
    for (nodes, limit) in [(NODES, 1.0), (FUSED, FUSED as f64 / NODES as f64)] {
        for (case, build) in cases {
            let quarter = measure(case, build, nodes / 4);
            let whole = measure(case, build, nodes);
            for ((phase, small), (_, large)) in quarter.iter().zip(&whole) {
                let (small, large) = (small.as_secs_f64(), large.as_secs_f64());
                let growth = large / small.max(1e-6);
                println!("  {phase:<14} {:>9.1} ms, {growth:>5.1} times that of a quarter", large * 1e3);
                if large > limit {
                    late.push(format!("{case}: {phase} took {large:.2} s of {limit:.2}"));
                }
            }
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}
