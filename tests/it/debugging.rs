//! Errors of a device that appear late, and the environment variables for debugging.

use std::process::Command as Process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use workalike::engine::device::{
    Command, Device, DeviceModule, DeviceResult, LibraryOp, Memory, Numerics, Properties, Recording, Region,
};
use workalike::error::DeviceError;
use workalike::kernels::verify::Verified;
use workalike::prelude::*;

/// The host device, as a GPU fails: a kernel that sorts reports its error when the stream is waited for.
#[derive(Debug)]
struct Late {
    host: Arc<dyn Device>,
    failed: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Replays {
    recording: Box<dyn Recording>,
    fails: bool,
    failed: Arc<AtomicBool>,
}

impl Recording for Replays {
    fn replay(&mut self) -> DeviceResult<()> {
        self.failed.fetch_or(self.fails, Ordering::SeqCst);
        self.recording.replay()
    }
    fn timed(&mut self) -> DeviceResult<Vec<Duration>> {
        self.recording.timed()
    }
}

impl Device for Late {
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
        self.synchronize()?;
        self.host.download(source, target)
    }
    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        self.host.copy(source, target)
    }
    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        self.host.compile(nests, numerics)
    }
    fn record(
        &self,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>> {
        let sorts = |c: &Command| matches!(c, Command::Library { op, .. } if op.name() == "sort");
        let fails = commands.iter().any(sorts);
        let recording = self.host.record(module, commands)?;
        Ok(Box::new(Replays { recording, fails, failed: self.failed.clone() }))
    }
    fn synchronize(&self) -> DeviceResult<()> {
        match self.failed.swap(false, Ordering::SeqCst) {
            true => Err(DeviceError::driver("late", "synchronize", "an illegal memory access")),
            false => Ok(()),
        }
    }
    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        self.host.library(op, epilogue)
    }
}

fn late() -> Arc<dyn Device> {
    Arc::new(Late { host: Host::threads(1).open().unwrap(), failed: Arc::default() })
}

#[test]
fn a_late_error_names_its_node_when_launches_block() {
    let x = vector::<f32>("x");
    let line = line!() + 1;
    let sorted = (&x + 1.0).sort(0);
    let f = function([&x]).output((sorted.exp() * 2.0).sum(..)).compile().unwrap();
    let call = |mut sim: Simulator| sim.call(args![vec![3f32, 1.0, 2.0]]).unwrap_err().to_string();
    let plain = call(f.optimize(late()).unwrap());
    assert!(plain.contains("illegal memory access") && !plain.contains("sort"), "{plain}");
    let blocking = call(f.optimize(late().launch_blocking(true)).unwrap());
    for words in ["sort", "illegal memory access", "#", &format!("debugging.rs:{line}")] {
        assert!(blocking.contains(words), "{words}: {blocking}");
    }
}

/// Runs in a process of its own: see below.
#[test]
#[ignore = "the test below runs it with the environment variables"]
fn in_an_environment() {
    let x = vector::<f32>("x");
    let f = function([&x]).output(x.sort(0).log()).compile().unwrap();
    let late = f.optimize(late()).unwrap().call(args![vec![1f32, 2.0]]).unwrap_err().to_string();
    println!("late: {late}");
    let nan = f.optimize(Host::auto()).unwrap().call(args![vec![-1f32, 2.0]]);
    println!("nan: {}", nan.map_or_else(|error| error.to_string(), |_| "nothing".into()));
    let nan = f.call(args![vec![-1f32, 2.0]]);
    println!("function: {}", nan.map_or_else(|error| error.to_string(), |_| "nothing".into()));
}

#[test]
fn environment_variables_set_the_options() {
    let run = |variables: &[(&str, &str)]| {
        let mut process = Process::new(std::env::current_exe().unwrap());
        process.args(["--ignored", "--exact", "--nocapture", "debugging::in_an_environment"]);
        for name in ["WORKALIKE_LAUNCH_BLOCKING", "WORKALIKE_NAN_GUARD"] {
            process.env_remove(name);
        }
        let output = process.envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let line = |name: &str| text.lines().find_map(|line| line.split_once(name)).unwrap().1.to_string();
        [line("late: "), line("nan: "), line("function: ")]
    };
    let [late, nan, function] = run(&[("WORKALIKE_NAN_GUARD", "0")]);
    assert!(!late.contains("sort") && nan == "nothing" && function == "nothing", "{late} {nan} {function}");
    let [late, nan, _] = run(&[("WORKALIKE_LAUNCH_BLOCKING", "1")]);
    assert!(late.contains("sort") && nan == "nothing", "{late} {nan}");
    let [_, nan, function] = run(&[("WORKALIKE_NAN_GUARD", "1")]);
    assert!(nan.contains("log") && nan.contains("a NaN, first at [0]"), "{nan}");
    assert!(function.contains("a NaN, first at [0]"), "{function}");
}
