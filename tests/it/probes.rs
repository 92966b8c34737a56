//! Probes record the values of separate calls, for any size of the ring, and change no other result.

#![allow(clippy::unwrap_used, missing_docs)]

use workalike::prelude::*;

const NONE: [&Variable; 0] = [];

fn numbers(value: &Value) -> Vec<f32> {
    value.to_vec::<f32>().unwrap()
}

/// `v` decays towards an input, which is neither output nor state.
fn driven() -> (Function, SharedVariable, Variable) {
    let (x, v) = (scalar::<f32>("x"), shared("v", 1f32));
    let drive = (&x * 2.0 + &v * 0.25).named("drive");
    let f = function([&x]).output_named("old", &v * 1.0).update(&v, &v * 0.5 + &drive).compile().unwrap();
    (f, v, drive)
}

/// `v` after each iteration, and `drive` in it.
fn expected(xs: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let mut v = 1f32;
    let steps = xs.iter().map(|x| {
        let drive = x * 2.0 + v * 0.25;
        v = v * 0.5 + drive;
        (v, drive)
    });
    steps.unzip()
}

fn every(all: &[f32], steps: usize) -> Vec<f32> {
    all.iter().skip(steps - 1).step_by(steps).copied().collect()
}

#[test]
fn samples_equal_the_values_of_calls() {
    let xs: Vec<f32> = (0..1700).map(|i| (i % 5) as f32).collect();
    let (vs, drives) = expected(&xs);
    for (steps, capacity) in
        [(1u64, 1u64), (1, 7), (1, 5000), (3, 10), (16, 3), (40, 2), (1699, 1), (1700, 9), (4000, 4)]
    {
        let (f, v, drive) = driven();
        let mut sim = f.optimize(Host::threads(1)).unwrap();
        let (state, inner) =
            (sim.probe(&v, steps, capacity).unwrap(), sim.probe(&drive, steps, capacity).unwrap());
        let old = sim.probe("old", 1, 100).unwrap();
        // Some iterations by calls, the others by runs of several lengths.
        for x in &xs[..3] {
            sim.call(args![*x]).unwrap();
        }
        for part in [3..20, 20..21, 21..1100, 1100..1700] {
            sim.run_n(part.len() as u64, args![each(Value::from(xs[part].to_vec()))]).unwrap();
        }
        let what = format!("each {steps} steps, {capacity} at a time");
        assert_eq!(numbers(&sim.read_probe(state).unwrap()), every(&vs, steps as usize), "{what}");
        assert_eq!(numbers(&sim.take_probe(inner).unwrap()), every(&drives, steps as usize), "{what}");
        assert_eq!(sim.read_probe(inner).unwrap().shape(), [0]);
        assert_eq!(numbers(&sim.read_probe(old).unwrap())[1..], vs[..1699]);
        assert_eq!(sim.get_value("v").unwrap().item::<f32>().unwrap(), vs[1699]);
        assert_eq!(sim.shared_names().collect::<Vec<_>>(), ["v"]);
        assert_eq!(sim.methods().count(), 1);
        assert_eq!(sim.sync_to_parent().unwrap(), ["v"]);
    }
}

#[test]
fn probes_of_several_periods() {
    let (f, v, drive) = driven();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let (vs, drives) = expected(&[1.0; 1000]);
    let a = sim.probe(&drive, 2, 50).unwrap();
    sim.run_n(1, args![1f32]).unwrap();
    let b = sim.probe(&v, 3, 50).unwrap();
    sim.run_n(499, args![1f32]).unwrap();
    let c = sim.probe("drive", 100, 50).unwrap();
    sim.run_n(500, args![1f32]).unwrap();
    assert_eq!(numbers(&sim.read_probe(a).unwrap()), every(&drives, 2));
    assert_eq!(numbers(&sim.read_probe(b).unwrap()), every(&vs[1..], 3));
    assert_eq!(numbers(&sim.read_probe(c).unwrap()), every(&drives[500..], 100));
    sim.remove_probe(a).unwrap();
    sim.run_n(100, args![1f32]).unwrap();
    assert_eq!(sim.read_probe(c).unwrap().shape(), [6]);
    sim.remove_probe(c).unwrap();
    sim.run_n(100, args![1f32]).unwrap();
    assert_eq!(sim.read_probe(b).unwrap().shape(), [1199 / 3]);
    assert!(sim.read_probe(a).unwrap_err().to_string().contains("removed"));
}

#[test]
fn rewritten_variables_can_be_probed_by_handle() {
    let (x, w) = (vector::<f32>("x"), shared("w", vec![1f32, 2.0, 3.0]));
    // Constant-folded, merged or fused in the Function's own graph.
    let three = constant(1f32) + constant(2f32);
    let (first, again) = (x.exp() * &w, x.exp() * &w);
    let logged = (&first * &three).log();
    let f = function([&x]).output((&logged + &again).sum(..)).update(&w, &w * 1.5).compile().unwrap();
    for f in [f.clone(), f.fork().unwrap(), f.renamed("g")] {
        let mut sim = f.optimize(Host::threads(1)).unwrap();
        let probes = [&again, &logged, &three, &x].map(|v| sim.probe(v, 1, 2).unwrap());
        let plain = f.fork().unwrap();
        let input = vec![0.5f32, -1.0, 0.25];
        for _ in 0..3 {
            let (want, got) =
                (plain.call(args![input.clone()]).unwrap(), sim.call(args![input.clone()]).unwrap());
            assert!((want[0].item::<f32>().unwrap() - got[0].item::<f32>().unwrap()).abs() < 1e-5);
            assert_eq!(got.len(), 1);
        }
        let shapes = probes.map(|p| sim.read_probe(p).unwrap().shape().to_vec());
        assert_eq!(shapes, [vec![3, 3], vec![3, 3], vec![3], vec![3, 3]]);
        let seen = probes.map(|p| numbers(&sim.read_probe(p).unwrap()));
        let mut wanted = vec![];
        for step in 0..3 {
            let w = |i: usize| [1f32, 2.0, 3.0][i] * 1.5f32.powi(step);
            wanted.extend((0..3).map(|i| input[i].exp() * w(i)));
        }
        for i in 0..9 {
            assert!((seen[0][i] - wanted[i]).abs() < 1e-4, "{seen:?}");
            assert!((seen[1][i] - (wanted[i] * 3.0).ln()).abs() < 1e-4, "{seen:?}");
            assert_eq!(seen[3][i], input[i % 3]);
        }
        assert_eq!(seen[2], [3.0; 3]);
    }
}

#[test]
fn a_loaded_function_is_probed_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (f, _, drive) = driven();
    f.save(folder.path().join("f.walk")).unwrap();
    let loaded = Function::load(folder.path().join("f.walk")).unwrap();
    let mut sim = loaded.optimize(Host::threads(1)).unwrap();
    let probes =
        [sim.probe("v", 1, 3).unwrap(), sim.probe("drive", 1, 3).unwrap(), sim.probe(&drive, 2, 3).unwrap()];
    let (vs, drives) = expected(&[1.0; 100]);
    sim.run_n(100, args![1f32]).unwrap();
    let seen = probes.map(|p| numbers(&sim.read_probe(p).unwrap()));
    assert_eq!(seen, [vs, drives.clone(), every(&drives, 2)]);
    let unknown = sim.probe("nothing", 1, 1).unwrap_err().to_string();
    assert!(
        unknown.contains("nothing") && unknown.contains("drive") && unknown.contains("output"),
        "{unknown}"
    );
    let unnamed = sim.probe(&(&drive + 1.0), 1, 1).unwrap_err().to_string();
    assert!(unnamed.contains("file") && unnamed.contains("output"), "{unnamed}");
}

#[test]
fn variables_of_another_method_are_refused() {
    let (f, ..) = driven();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let (other, y) = (shared("other", 0f32), scalar::<f32>("y"));
    let refused = |e: workalike::Error, word: &str| assert!(e.to_string().contains(word), "{e}");
    refused(sim.probe(&other, 1, 1).unwrap_err(), "other");
    refused(sim.probe(&(&other + 1.0), 1, 1).unwrap_err(), "other");
    refused(sim.probe(&y.exp(), 1, 1).unwrap_err(), "y");
    refused(sim.probe("v", 0, 1).unwrap_err(), "above 0");
    refused(sim.method("h").unwrap_err(), "h");
    refused(
        sim.probe(&matrix::<f32>("a").dot(matrix::<f64>("b")).index(workalike::idx![0, 0, 0]), 1, 1)
            .unwrap_err(),
        "",
    );
    sim.run_n(10, args![1f32]).unwrap();
    assert_eq!(sim.get_value("v").unwrap().item::<f32>().unwrap(), expected(&[1.0; 10]).0[9]);
}

#[test]
fn a_probe_of_a_shape_that_the_call_decides() {
    let (x, v) = (vector::<f32>("x"), shared("v", 0f32));
    let scaled = &x * (&v + 1.0);
    let f = function([&x]).update(&v, &v + scaled.sum(..)).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let probe = sim.probe(&scaled, 1, 10).unwrap();
    assert_eq!(sim.read_probe(probe).unwrap().shape(), [0, 0]);
    sim.run_n(40, args![vec![0.5f32, -0.5]]).unwrap();
    let seen = sim.take_probe(probe).unwrap();
    assert_eq!((seen.shape(), &numbers(&seen)[..4]), (&[40usize, 2][..], &[0.5f32, -0.5, 0.5, -0.5][..]));
    sim.run_n(3, args![vec![1f32, 2.0, -3.0]]).unwrap();
    assert_eq!(sim.read_probe(probe).unwrap().shape(), [3, 3]);
    let differs = sim.call(args![vec![1f32]]).unwrap_err().to_string();
    assert!(differs.contains("samples"), "{differs}");
}

#[test]
fn givens_apply_to_probed_variables() {
    let (x, v) = (scalar::<f32>("x"), shared("v", 1f32));
    let squared = x.sqr();
    let f = function(NONE).update(&v, &squared + 1.0).givens([(&x, &(&v * 2.0))]).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let probe = sim.probe(&squared, 1, 8).unwrap();
    sim.run_n(2, args![]).unwrap();
    assert_eq!(numbers(&sim.read_probe(probe).unwrap()), [4.0, 100.0]);
}

#[test]
fn probes_of_a_loop_that_ends_itself() {
    let count = shared("count", 0f32);
    let half = &count * 0.5;
    let f = function(NONE)
        .output_named("more", count.less(700.0))
        .update(&count, &count + 1.0)
        .compile()
        .unwrap();
    for steps in [1, 2, 7, 50] {
        let mut sim = f.optimize(Host::threads(1)).unwrap();
        let (state, inner) = (sim.probe(&count, steps, 64).unwrap(), sim.probe(&half, steps, 64).unwrap());
        assert_eq!(sim.run_while("more", 10_000, args![]).unwrap().0, 701);
        let all: Vec<f32> = (1..=701).map(|i| i as f32).collect();
        assert_eq!(numbers(&sim.read_probe(state).unwrap()), every(&all, steps as usize));
        let halves: Vec<f32> = (0..701).map(|i| i as f32 * 0.5).collect();
        assert_eq!(numbers(&sim.read_probe(inner).unwrap()), every(&halves, steps as usize));
    }
}
