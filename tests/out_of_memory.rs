//! Out of memory is an error everywhere: under a memory limit the library returns errors, and stays usable.
//!
//! The test runs itself under `ulimit -v`, with growing limits, so that each allocation in turn is the first
//! to fail.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use workalike::prelude::*;

/// Elements of the large arrays: 16 MiB of float32.
const LARGE: usize = 1 << 22;

/// Runs one ignored test of this program under a limit of its address space.
fn child(test: &str, limit_kib: Option<u64>) -> Output {
    let limit = limit_kib.map_or("unlimited".to_string(), |kib| kib.to_string());
    Command::new("sh")
        // On one processor the host device starts no threads: the standard library aborts if a thread cannot
        // be created.
        .args([
            "-c",
            "ulimit -v $0 && exec taskset -c \"$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')\" \"$@\"",
            &limit,
        ])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env("RUST_BACKTRACE", "0")
        // Large arrays are mapped separately, and do not fill the heap.
        .env("MALLOC_MMAP_THRESHOLD_", "131072")
        .output()
        .unwrap()
}

fn address_space_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmPeak:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

/// Uses of one large array, by name.
fn actions(count: usize) -> Vec<(&'static str, workalike::Result<()>)> {
    let x = vector::<f32>("x");
    let state = shared_dynamic("state", vec![0f32; 10], &[0]);
    let compile = |y: Variable| function([&x]).output(y).compile().unwrap();
    let resizing = function([&x]).update(&state, &x * 2.0f32).compile().unwrap();
    let references = [
        ("sort", compile(x.sort(0))),
        ("cumsum", compile(x.cumsum(0))),
        ("exp", compile(x.exp())),
        ("unique", compile(x.unique().values)),
        ("nonzero", compile(x.index(idx![x.greater(0.0)]))),
        ("searchsorted", compile(x.searchsorted(&x, workalike::ops::Side::Left).cast(DType::F32))),
        ("softmax", compile(softmax(&x, 0))),
        ("take", compile(x.take(x.cast(DType::I64), 0))),
    ];
    let mut done = Vec::new();
    let mut elements: Vec<f32> = Vec::new();
    if elements.try_reserve_exact(count).is_err() {
        return done;
    }
    elements.extend((0..count).map(|i| (i % 7) as f32));
    let value = Value::from(elements);
    done.push(("call", resizing.call(args![&value]).map(drop)));
    done.push(("bytes", Bundle::new().with("f", &resizing).to_bytes().map(drop)));
    done.push(("set_value", state.set_value(value.clone())));
    done.push(("fork", resizing.fork().map(drop)));
    done.push((
        "load",
        Bundle::new().with("f", &resizing).to_bytes().and_then(|b| Bundle::from_bytes(&b)).map(drop),
    ));
    for (name, f) in &references {
        done.push((name, f.call_reference(args![&value]).map(drop)));
        done.push((name, f.call(args![&value]).map(drop)));
    }
    done
}

/// On a separate thread, whose heap is reserved in advance, so that only large allocations fail.
fn on_own_thread(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn no_limit_aborts_the_process() {
    let free = child("unlimited", None);
    let text = String::from_utf8(free.stdout).unwrap();
    let least: u64 =
        text.lines().find_map(|l| l.split_once("address space ")).unwrap().1.trim().parse().unwrap();
    let mut failed = 0;
    for megabytes in (1..=41).step_by(5) {
        let run = child("limited", Some(least + megabytes * 1024));
        let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(run.status.signal().is_none(), "{megabytes} MiB: {:?}\n{out}\n{err}", run.status);
        assert!(run.status.success(), "{megabytes} MiB: {:?}\n{out}\n{err}", run.status);
        failed += out.matches("refused").count();
    }
    assert!(failed > 0, "no limit was ever reached");
}

#[test]
#[ignore = "a part of no_limit_aborts_the_process"]
fn unlimited() {
    on_own_thread(|| {
        // Small arrays first: this starts threads and records kernels.
        assert!(actions(10).iter().all(|(_, done)| done.is_ok()));
    });
    println!("\naddress space {}", address_space_kib());
}

#[test]
#[ignore = "a part of no_limit_aborts_the_process"]
fn limited() {
    on_own_thread(|| {
        assert!(actions(10).iter().all(|(_, done)| done.is_ok()));
        for (name, done) in actions(LARGE) {
            if let Err(error) = done {
                println!("{name} refused: {error}");
            }
        }
        for (name, done) in actions(10) {
            done.unwrap_or_else(|error| panic!("{name} does not work afterwards: {error}"));
        }
    });
}
