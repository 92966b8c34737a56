//! Modules, recordings and timing on hand-written source, which does not depend on the printer.

mod corpus;
mod routines;
mod scatters;
mod selections;

use crate::device::OpenClDevice;
use crate::platform;
use crate::program::{BuildOptions, OpenClModule};
use std::sync::Arc;
use workalike_device::{Command, Device, DeviceError, DeviceModule, Region};
use workalike_kernels::print::{KernelEntry, TranslationUnit};

const TWICE: &str = "kernel void twice(global float* a, ulong from) {
    int i = from / 4 + get_global_id(0);
    a[i] = 2 * a[i];
}";

/// Two kernels: one that may write where it reads, and one whose groups cooperate.
const PAIR: &str = "
kernel void add(global const float* a, ulong a0, global const float* b, ulong b0, global float* c, ulong c0) {
    int i = get_global_id(0);
    c[c0 / 4 + i] = a[a0 / 4 + i] + b[b0 / 4 + i];
}
kernel void row_sum(global const float* a, ulong a0, global float* b, ulong b0) {
    local float part[8];
    int i = get_local_id(0);
    part[i] = a[a0 / 4 + get_global_id(0)];
    for (int width = 4; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < width) part[i] += part[i + width];
    }
    if (i == 0) b[b0 / 4 + get_group_id(0)] = part[0];
}";

/// A device; `None` if the host has no OpenCL, which is a failure in continuous integration.
pub(crate) fn device() -> Option<OpenClDevice> {
    match platform::best() {
        Ok(found) => Some(OpenClDevice::open(found).unwrap()),
        Err(error @ DeviceError::Missing { .. }) => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI needs an OpenCL platform: {error}");
            println!("ignored: no OpenCL platform");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Set where a test runs in a process of its own.
const APART: &str = "WORKALIKE_TEST_APART";

/// Does the work of a test in a process of its own: PoCL compiles one kernel at a time in a process, and
/// takes most of the time of tests with many kernels.
pub(crate) fn apart(work: impl FnOnce()) {
    let thread = std::thread::current();
    // With one thread for all tests, it has no test's name.
    let test = thread.name().filter(|name| name.contains("::") && std::env::var_os(APART).is_none());
    let Some(test) = test else { return work() };
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", test, "--nocapture"]).env(APART, "1").output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{}", said.concat());
    assert!(said[0].contains("1 passed"), "{test} is no name of a test: {}", said[0]);
}

fn entry(name: &str, groups: u64, group: u32) -> KernelEntry {
    KernelEntry { name: name.into(), groups, group, sizes: vec![] }
}

fn build(device: &OpenClDevice, text: &str, entries: Vec<KernelEntry>) -> Result<OpenClModule, DeviceError> {
    OpenClModule::build(
        device.context(),
        BuildOptions::default(),
        TranslationUnit { text: text.into(), entries },
    )
}

fn upload(device: &OpenClDevice, values: &[f32], target: &Region) {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    device.upload(&bytes, target).unwrap();
}

fn download(device: &OpenClDevice, source: &Region) -> Vec<f32> {
    let mut bytes = vec![0; source.bytes as usize];
    device.download(source, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn the_same_text_is_built_once() {
    let Some(device) = device() else { return };
    let built = || build(&device, TWICE, vec![entry("twice", 2, 4)]).unwrap().program.unwrap();
    assert!(Arc::ptr_eq(&built(), &built()));
    assert!(build(&device, "", vec![]).unwrap().program.is_none());
}

#[test]
fn cooperating_groups_and_results_in_place_replayed() {
    let Some(device) = device() else { return };
    let at = device.properties().alignment;
    let memory = device.allocate(3 * at).unwrap();
    let part = |i, bytes| Region { memory: memory.clone(), offset: i * at, bytes };
    let (a, b, sums) = (part(0, 64), part(1, 64), part(2, 8));
    let mut values: Vec<f32> = (0..16).map(|i| i as f32).collect();
    upload(&device, &values, &a);
    upload(&device, &[1.0; 16], &b);
    let entries = vec![entry("row_sum", 2, 8), entry("add", 4, 4)];
    let module: Arc<dyn DeviceModule> = Arc::new(build(&device, PAIR, entries).unwrap());
    let add = Command::Launch { nest: 1, args: vec![a.clone(), b, a.clone()] };
    let sum = Command::Launch { nest: 0, args: vec![a, sums.clone()] };
    let mut recording = device.record_unchecked(&module, &[add.clone(), add, sum]).unwrap();
    drop(module);
    for _ in 0..3 {
        recording.replay().unwrap();
        values.iter_mut().for_each(|v| *v += 2.0);
        let expected: Vec<f32> = values.chunks(8).map(|row| row.iter().sum()).collect();
        assert_eq!(download(&device, &sums), expected);
    }
    recording.replay().unwrap();
    drop((recording, memory));
    device.synchronize().unwrap();
}

#[test]
fn a_kernel_that_does_not_compile_is_written_out() {
    let Some(device) = device() else { return };
    let text = "kernel void bad(global float* a) { a[0] = no_such_thing; }";
    let error = build(&device, text, vec![entry("bad", 1, 1)]).unwrap_err();
    let DeviceError::KernelCompile { source_path, log, .. } = error else { panic!("{error}") };
    assert!(log.contains("no_such_thing"), "{log}");
    assert_eq!(std::fs::read_to_string(&source_path).unwrap(), text);
    std::fs::remove_file(source_path).unwrap();
}

#[test]
fn launches_that_cannot_work_are_errors_when_recorded() {
    let Some(device) = device() else { return };
    let launch = [Command::Launch { nest: 0, args: vec![Region::whole(device.allocate(32).unwrap())] }];
    let record = |name, groups, group| {
        let module: Arc<dyn DeviceModule> =
            Arc::new(build(&device, TWICE, vec![entry(name, groups, group)]).unwrap());
        device.record_unchecked(&module, &launch)
    };
    for (name, groups, group) in
        [("other", 1, 1), ("twice", 1, 0), ("twice", 1, u32::MAX), ("twice", u64::MAX, 4), ("tw\0ice", 1, 1)]
    {
        let error = record(name, groups, group).unwrap_err();
        assert!(matches!(error, DeviceError::Driver { .. }), "{name} {groups} {group}: {error}");
    }
    // Without groups there is no launch, and the kernel is not looked up.
    record("other", 0, 1).unwrap().replay().unwrap();
}

#[test]
fn timed_replays_do_the_work_and_say_what_each_command_took() {
    let Some(device) = device() else { return };
    let (memory, empty) = (device.allocate(1 << 22).unwrap(), device.allocate(1).unwrap());
    let all = Region::whole(memory.clone());
    let nothing = Region { memory: empty, offset: 0, bytes: 0 };
    let some = Region { memory, offset: 0, bytes: 32 };
    upload(&device, &vec![1.0; 1 << 20], &all);
    let module: Arc<dyn DeviceModule> =
        Arc::new(build(&device, TWICE, vec![entry("twice", 1 << 14, 64)]).unwrap());
    let launch = Command::Launch { nest: 0, args: vec![all.clone()] };
    let commands =
        [launch.clone(), Command::Clear { target: nothing }, launch, Command::Clear { target: some }];
    let mut recording = device.record_unchecked(&module, &commands).unwrap();
    recording.replay().unwrap();
    for factor in [16.0, 64.0] {
        let took = recording.timed().unwrap();
        assert_eq!(took.len(), 4);
        assert!(took[0].as_nanos() > 1000 && took[2].as_nanos() > 1000, "4 MiB in {took:?}");
        assert!(took[1].is_zero(), "nothing to do: {took:?}");
        let values = download(&device, &all);
        assert_eq!((values[0], values[7], values[8], values[(1 << 20) - 1]), (0.0, 0.0, factor, factor));
    }
}
