//! Simulators that are saved, restored and forked.

use workalike::Result;
use workalike::engine::device::{Device, DeviceResult};
use workalike::error::DeviceError;
use workalike::prelude::*;

const NONE: [&Variable; 0] = [];

/// Noisy gradient descent with momentum on a vector; every step draws from a random stream.
fn training() -> (SharedVariable, Bundle) {
    let streams = RandomStreams::new(7);
    let (w, velocity) = (shared("w", vec![1f32; 64]), shared("velocity", vec![0f32; 64]));
    let noise = streams.normal::<f32>([64]);
    let loss = (&w + &noise * 0.1).sqr().sum(..);
    let slope = grad(&loss, [&*w]).unwrap().swap_remove(0);
    let next = 0.9 * &*velocity - 0.01 * slope;
    let train = function(NONE).output_named("loss", &loss).update(&velocity, &next).update(&w, &w + &next);
    let norm = function(NONE).output_named("norm", w.sqr().sum(..)).compile().unwrap();
    (w, Bundle::new().with("train", &train.compile().unwrap()).with("norm", &norm))
}

fn simulator(bundle: &Bundle, backend: impl Backend<Simulator = Simulator>) -> Simulator {
    let mut sim = bundle["train"].optimize(backend).unwrap();
    sim.add_method("norm", &bundle["norm"]).unwrap();
    sim
}

fn states(sim: &Simulator) -> Vec<Value> {
    sim.shared_names().map(|name| sim.get_value(name).unwrap()).collect()
}

fn says<T>(outcome: Result<T>, parts: &[&str]) {
    let Err(error) = outcome else { panic!("no error with {parts:?}") };
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} are not all in: {text}");
}

#[test]
fn a_training_run_resumes_bit_equal() {
    let (w, bundle) = training();
    let mut sim = simulator(&bundle, Host::threads(1));
    sim.run_n(50, args![]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.walk");
    sim.save(&path).unwrap();
    assert_eq!(w.get_value().unwrap().to_vec::<f32>().unwrap(), [1.0; 64], "the parents are as they were");
    let mut resumed = Simulator::load(&path, Host::threads(1)).unwrap();
    assert_eq!(resumed.methods().collect::<Vec<_>>(), ["train", "norm"]);
    assert_eq!(states(&resumed), states(&sim));
    assert!(resumed.sync_to_parent().unwrap().is_empty(), "its parents have the values of the file");
    let losses =
        [&mut sim, &mut resumed].map(|sim| sim.method("train").unwrap().run_n_collect(50, args![]).unwrap());
    assert_eq!(losses[0][0], losses[1][0]);
    assert_eq!(states(&resumed), states(&sim));
    let norms = [&mut sim, &mut resumed].map(|sim| sim.method("norm").unwrap().call(args![]).unwrap());
    assert_eq!(norms[0][0], norms[1][0]);
    resumed.sync_to_parent().unwrap();
    let parent = resumed.function("norm").unwrap().shared("w").unwrap();
    assert_eq!(parent.get_value().unwrap(), sim.get(&w).unwrap());
    assert_eq!(resumed.bundle().shared("w").unwrap().get_value().unwrap(), parent.get_value().unwrap());
}

#[test]
fn a_simulators_file_is_a_bundles_file() {
    let (w, bundle) = training();
    let mut sim = simulator(&bundle, Host::threads(1));
    sim.run_n(3, args![]).unwrap();
    let bytes = sim.to_bytes().unwrap();
    let loaded = Bundle::from_bytes(&bytes).unwrap();
    assert_eq!(loaded.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["train", "norm"]);
    assert_eq!(loaded.shared("w").unwrap().get_value().unwrap(), sim.get(&w).unwrap());
    let norm = loaded["norm"].call(args![]).unwrap()[0].clone();
    assert_eq!(norm, sim.method("norm").unwrap().call(args![]).unwrap()[0]);
    says(
        Simulator::from_bytes(&bundle.to_bytes().unwrap(), Host::threads(1)),
        &["Functions and no Simulator", "Bundle::load"],
    );
    says(Simulator::from_bytes(&bytes[..bytes.len() - 1], Host::threads(1)), &["bytes"]);
}

#[test]
fn options_are_restored() {
    let x = vector::<f32>("x");
    let f = function([&x]).output(&x + 1.0).compile().unwrap();
    let sim = f.optimize(Host::threads(1).fixed_size()).unwrap();
    let mut restored = Simulator::from_bytes(&sim.to_bytes().unwrap(), Host::threads(1)).unwrap();
    restored.call(args![vec![0f32; 2]]).unwrap();
    says(restored.call(args![vec![0f32; 3]]), &["fixed_size"]);
}

/// A device that cannot be opened.
struct Absent;

impl Open for Absent {
    fn open(&self) -> DeviceResult<std::sync::Arc<dyn Device>> {
        let (device, why, help) = ("absent:0".into(), "there is none".into(), "Plug it in".into());
        Err(DeviceError::Missing { device, why, help })
    }
}

#[test]
fn a_missing_device_is_reported_and_the_functions_still_load() {
    let (_, bundle) = training();
    let bytes = simulator(&bundle, Host::threads(1)).to_bytes().unwrap();
    says(Simulator::from_bytes(&bytes, Absent), &["absent:0 is not available", "Plug it in", "Bundle::load"]);
}

#[test]
fn a_fork_has_separate_state() {
    let (w, bundle) = training();
    let mut sim = simulator(&bundle, Host::threads(1));
    sim.probe("w", 1, 10).unwrap();
    sim.run_n(5, args![]).unwrap();
    let mut fork = sim.fork().unwrap();
    assert_eq!(states(&fork), states(&sim));
    let losses =
        [&mut sim, &mut fork].map(|sim| sim.method("train").unwrap().run_n_collect(7, args![]).unwrap());
    assert_eq!(losses[0][0], losses[1][0]);
    assert_eq!(states(&fork), states(&sim));
    fork.call(args![]).unwrap();
    assert_ne!(fork.get(&w).unwrap(), sim.get(&w).unwrap());
    let names = sim.sync_to_parent().unwrap();
    assert!(names.iter().any(|n| n == "w") && names.iter().any(|n| n == "velocity"), "{names:?}");
    says(fork.sync_to_parent(), &["changed in the parent"]);
    fork.sync_to_parent_keeping(Keep::Simulator).unwrap();
    assert_eq!(fork.get(&w).unwrap(), w.get_value().unwrap());
}

#[test]
fn an_ambiguous_name_is_an_error() {
    let layers = [shared("w", 1i64), shared("w", 2i64)];
    let f = function(NONE).output(&layers[0] + &layers[1]).compile().unwrap();
    says(f.shared("w"), &["several shared variables w"]);
    says(f.shared("v"), &["no shared variable v", "it has w"]);
    says(Bundle::new().with("f", &f).shared("w"), &["several shared variables w"]);
    let g = function(NONE).output(&layers[0]).compile().unwrap();
    let bundle = Bundle::new().with("f", &g).with("g", &g);
    assert_eq!(bundle.shared("w").unwrap().get_value().unwrap(), Value::from(1i64));
}

#[test]
fn an_unrelated_variable_of_the_same_name_is_warned_of() {
    let f = |w: &SharedVariable| function(NONE).update(w, &**w + 1i64).compile().unwrap();
    let w = shared("w", 1i64);
    let mut sim = f(&w).renamed("train").optimize(Host::threads(1)).unwrap();
    sim.add_method("again", &f(&w)).unwrap();
    assert!(sim.warnings().is_empty(), "{:?}", sim.warnings());
    sim.add_method("predict", &f(&shared("w", 1i64))).unwrap();
    let warnings = sim.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(["train", "predict", "w"].iter().all(|word| warnings[0].contains(word)), "{warnings:?}");
}

#[test]
fn parents_that_changed_are_warned_of() {
    let rate = shared("rate", 1f32);
    let f = function(NONE).output(&rate).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    rate.set_value(0.5f32).unwrap();
    let warnings = sim.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("sync_from_parent"), "{warnings:?}");
    sim.sync_from_parent().unwrap();
    assert!(sim.warnings().is_empty());
}

#[test]
fn saving_older_values_than_a_simulators_is_a_warning() {
    let w = shared("w", 1i64);
    let f = function(NONE).update(&w, &w + 1i64).compile().unwrap();
    let bundle = Bundle::new().with("f", &f);
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    assert!(bundle.warnings().is_empty());
    sim.call(args![]).unwrap();
    let warnings = bundle.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("shared variable w"), "{warnings:?}");
    assert!(sim.warnings().is_empty(), "nothing was saved yet");
    bundle.to_bytes().unwrap();
    assert!(sim.warnings()[0].contains("sync_to_parent"), "{:?}", sim.warnings());
    sim.sync_to_parent().unwrap();
    bundle.to_bytes().unwrap();
    assert!(bundle.warnings().is_empty() && sim.warnings().is_empty());
    sim.call(args![]).unwrap();
    drop(sim);
    assert!(bundle.warnings().is_empty(), "a dropped Simulator has no newer values");
}

#[test]
fn shapes_that_thrash_are_warned_of() {
    let x = vector::<f32>("x");
    let f = function([&x]).output(&x + 1.0).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let sizes = |sim: &mut Simulator, n: usize| {
        (0..3).for_each(|_| (1..=n).for_each(|n| drop(sim.call(args![vec![0f32; n]]).unwrap())));
    };
    sizes(&mut sim, 16);
    assert!(sim.warnings().is_empty());
    sizes(&mut sim, 20);
    let warnings = sim.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains(".dynamic()"), "{warnings:?}");
}

/// A file holds everything but the value of a transient variable, which is set before the first call.
#[test]
fn transient_variables_are_not_saved() {
    let data = shared("data", (0..10_000).map(|i| i as f32).collect::<Vec<_>>()).transient();
    let (seen, streams) = (shared("seen", 0f32), RandomStreams::new(1));
    let batch = data.take(streams.choice(data.extent(0), 8), 0);
    let train = function(()).output(batch.mean(..)).update(&seen, &seen + batch.sum(..)).compile().unwrap();
    let mut sim = train.optimize(Host::threads(1)).unwrap();
    sim.run_n(3, args![]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.walk");
    sim.save(&path).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 10_000);
    sim.run_n(3, args![]).unwrap();

    let refused = Simulator::load(&path, Host::threads(1)).unwrap_err().to_string();
    assert!(
        refused.contains("data has no value: it is transient") && refused.contains("set_value"),
        "{refused}"
    );
    let bundle = Bundle::load(&path).unwrap();
    let loaded = bundle.iter().next().unwrap().1;
    for failing in [loaded.call(args![]), loaded.call_reference(args![])] {
        assert!(failing.unwrap_err().to_string().contains("data has no value"));
    }
    assert!(loaded.shared("data").unwrap().get_value().is_err());
    assert!(loaded.shared("data").unwrap().set_value(vec![1f32; 3]).is_err());
    // What was loaded is saved again without it, and stays without it.
    let again = Function::from_bytes(&loaded.to_bytes().unwrap()).unwrap();
    assert!(again.shared("data").unwrap().get_value().is_err());
    loaded.shared("data").unwrap().set_value(data.get_value().unwrap()).unwrap();
    let mut resumed = bundle.optimize(Host::threads(1)).unwrap();
    resumed.run_n(3, args![]).unwrap();
    assert_eq!(resumed.get_value("seen").unwrap(), sim.get_value("seen").unwrap());
    // Of no elements, and beside others of one file.
    let none = shared("none", vec![0f32; 0]).transient();
    let f = function(()).output(&none).output(&seen).compile().unwrap();
    let loaded = Function::from_bytes(&f.to_bytes().unwrap()).unwrap();
    assert!(loaded.call(args![]).is_err());
    loaded.shared("none").unwrap().set_value(vec![0f32; 0]).unwrap();
    assert_eq!(loaded.call(args![]).unwrap()[0].len(), 0);
}
