//! Verification finds errors of a device and names the first wrong node: devices with injected faults.

use std::sync::Arc;
use workalike::engine::device::{
    Command, Device, DeviceModule, DeviceResult, LibraryOp, Memory, Numerics, Properties, Recording, Region,
};
use workalike::engine::verify::{Check, Origin, verify};
use workalike::kernels::nest::{Inst, Nest};
use workalike::kernels::ops::{COS, SIN, ScalarOp, TANH};
use workalike::kernels::verify::Verified;
use workalike::prelude::*;

/// A fault of a device.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// It replaces one op by another.
    Op(ScalarOp, ScalarOp),
    /// It replaces one op by another, but only in Nests into which this op was fused.
    Fused(ScalarOp, ScalarOp, ScalarOp),
    /// It omits the copies at the end of a Segment.
    Copies,
}

/// The host device with a fault.
#[derive(Debug)]
struct Broken {
    host: Arc<dyn Device>,
    fault: Fault,
}

impl Broken {
    fn with(fault: Fault) -> Arc<dyn Device> {
        Arc::new(Broken { host: Host::auto().open().unwrap(), fault })
    }

    fn spoiled(&self, nest: &Nest) -> Nest {
        let mut nest = nest.clone();
        let has = |op: ScalarOp| {
            let mut insts = nest.phases.iter().flat_map(|p| &p.block.insts);
            insts.any(|i| matches!(i, Inst::Op { op: o, .. } if *o == op))
        };
        let (from, to) = match self.fault {
            Fault::Op(from, to) => (from, to),
            Fault::Fused(from, to, beside) if has(beside) => (from, to),
            _ => return nest,
        };
        for inst in nest.phases.iter_mut().flat_map(|p| &mut p.block.insts) {
            if let Inst::Op { op, .. } = inst
                && *op == from
            {
                *op = to;
            }
        }
        nest
    }
}

impl Device for Broken {
    fn properties(&self) -> &Properties {
        self.host.properties()
    }
    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        self.host.allocate(bytes)
    }
    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()> {
        self.host.upload(source, target)
    }
    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()> {
        self.host.download(source, target)
    }
    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        self.host.copy(source, target)
    }
    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        let spoiled = nests.iter().map(|nest| Verified::new(self.spoiled(nest)));
        self.host.compile(&spoiled.collect::<Result<Vec<_>, _>>().unwrap(), numerics)
    }
    fn record(
        &self,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>> {
        let kept = |c: &&Command| !matches!((c, self.fault), (Command::Copy { .. }, Fault::Copies));
        let commands: Vec<Command> = commands.iter().filter(kept).cloned().collect();
        self.host.record(module, &commands)
    }
    fn synchronize(&self) -> DeviceResult<()> {
        self.host.synchronize()
    }
    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        // The fault would not affect epilogues.
        if epilogue.is_some() { None } else { self.host.library(op, None) }
    }
}

/// A training step of a small network with random input noise.
fn train() -> Function {
    let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
    let draw = |seed, shape: &[usize]| {
        let f =
            function([] as [&Variable; 0]).output(RandomStreams::new(seed).normal::<f32>(shape)).compile();
        f.unwrap().call(args![]).unwrap()[0].clone()
    };
    let (w1, w2) = (shared("w1", draw(1, &[6, 5])), shared("w2", draw(2, &[5, 3])));
    let hidden = x.dot(&w1).tanh().named("hidden");
    let p = softmax(hidden.dot(&w2), -1);
    let cost = categorical_crossentropy(&p, &y).mean(..) + 0.01 * w1.sqr().sum(..).cos();
    let g = grad(&cost, [&w1, &w2]).unwrap();
    let f = function([&x, &y]).output_named("cost", &cost);
    f.update(&w1, &w1 - 0.1 * &g[0]).update(&w2, &w2 - 0.1 * &g[1]).compile().unwrap()
}

fn batch() -> (Array2<f32>, Vec<i64>) {
    (Array2::from_shape_fn((4, 6), |(i, j)| (i as f32 - 1.5) * (j as f32 * 0.3 - 0.7)), vec![0, 2, 1, 0])
}

#[test]
fn a_correct_device_passes_over_many_steps() {
    let f = train();
    let before: Vec<Value> = f.cells().iter().map(|c| c.get_value().unwrap()).collect();
    let (x, y) = batch();
    let mut sim = f.optimize(Host::auto()).unwrap();
    sim.call(args![&x, y.clone()]).unwrap();
    let found = sim.verify(args![&x, y], 20).unwrap();
    assert!(found.passed(), "{found}");
    // One cost and two weights per step.
    assert_eq!((found.steps, found.compared), (20, 60));
    let after: Vec<Value> = f.cells().iter().map(|c| c.get_value().unwrap()).collect();
    assert_eq!(before, after);
}

#[test]
fn a_wrong_op_is_found_by_its_node() {
    let f = train();
    let (x, y) = batch();
    for (from, to, label) in [(TANH, SIN, "tanh"), (COS, SIN, "cos")] {
        let device = Broken::with(Fault::Op(from, to));
        let found = verify(&f, &device, args![&x, y.clone()], Check::default()).unwrap();
        let mismatch = found.mismatch.as_ref().unwrap_or_else(|| panic!("{label} was not noticed"));
        let Origin::Node { op, node, name, inputs, output, difference } = &mismatch.origin else {
            panic!("{label}: {found}")
        };
        assert_eq!((op.as_str(), f.graph().nodes[*node].op.label()), (label, label.to_string()), "{found}");
        if label == "tanh" {
            assert_eq!(name.as_deref(), Some("hidden"));
            assert_eq!((inputs[0].as_str(), output.as_str()), ("float32(4, 5)", "float32(4, 5)"));
            assert_eq!((difference.index.len(), difference.of), (2, 20));
            assert_ne!(difference.expected, difference.got);
        }
        assert!(found.to_string().contains(&format!("node #{node}, {label}(")), "{found}");
    }
}

#[test]
fn an_error_of_fusion_is_found_in_fused_form() {
    let x = vector::<f32>("x");
    let mut y = x.clone();
    for _ in 0..10 {
        y = (&y + 0.5).sin();
    }
    let z = y.tanh();
    let f = function([&x]).output(z.cos()).compile().unwrap();
    // The tanh is wrong only in a Nest that also has a sine.
    let device = Broken::with(Fault::Fused(TANH, COS, SIN));
    let found = verify(&f, &device, args![vec![0.1f32, 0.2, 0.9]], Check::default()).unwrap();
    let Some(Origin::Node { op, .. }) = found.mismatch.as_ref().map(|m| &m.origin) else { panic!("{found}") };
    assert_eq!(op, "tanh", "{found}");
}

#[test]
fn an_update_that_does_not_arrive_is_no_nodes_fault() {
    let (a, b) = (shared("a", vec![1f32, 2.0]), shared("b", vec![3f32, 4.0]));
    let swap = function([] as [&Variable; 0]).update(&a, &b).update(&b, &a * 2.0).compile().unwrap();
    let found = verify(&swap, &Broken::with(Fault::Copies), args![], Check::default()).unwrap();
    let mismatch = found.mismatch.as_ref().unwrap();
    assert!(mismatch.what.starts_with("shared variable"), "{found}");
    assert!(matches!(mismatch.origin, Origin::Updates), "{found}");
}

#[test]
fn each_step_takes_its_slice() {
    let (x, s) = (vector::<f32>("x"), shared("s", 0f32));
    let f = function([&x]).output(x.exp()).update(&s, &s + x.sum(..)).compile().unwrap();
    let device = Host::auto().open().unwrap();
    let xs = Array2::from_shape_fn((3, 4), |(i, j)| (i * 4 + j) as f32 * 0.1);
    let check = Check { steps: 3, ..Check::default() };
    let found = verify(&f, &device, args![each(&xs)], check).unwrap();
    assert!(found.passed() && found.steps == 3, "{found}");
    let error = verify(&f, &device, args![each(&xs)], Check { steps: 4, ..check }).unwrap_err().to_string();
    assert!(error.contains("3 slices"), "{error}");
}
