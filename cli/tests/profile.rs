//! `workalike profile` and `workalike cache`.

mod common;

use common::{Bench, devices};
use serde_json::Value as Json;
use std::fs;
use std::process::Command;

#[test]
fn every_kernel_is_timed_in_table_json_and_trace() {
    for device in devices() {
        let bench = Bench::new();
        bench.ok(&["make", "unary:tanh:float32", "--out", "f.walk"]);
        bench.save_f32("x.npy", "(3, 4)", &[0.5; 12]);
        let words = |more: &[&'static str]| {
            [&["profile", "f.walk", "--device", device, "--steps", "3"], more].concat()
        };
        let json = bench.json(&words(&["--each", "x=x.npy", "--json", "--trace", "t.json"]));
        assert_eq!(json["calls"], 3);
        let kernels = json["kernels"].as_array().unwrap();
        assert_eq!(kernels.len(), 1, "{json}");
        assert_eq!((&kernels[0]["launches"], &kernels[0]["bytes"]), (&Json::from(3), &Json::from(32)));
        assert!(kernels[0]["seconds"].as_f64().unwrap() > 0.0, "{json}");
        let trace: Json = serde_json::from_slice(&fs::read(bench.path("t.json")).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!(events.iter().filter(|e| e["ph"] == "X").count(), 3);
        assert!(events.iter().all(|e| e["name"].is_string() && e["pid"].is_u64() && e["tid"].is_u64()));
        bench.save_f32("one.npy", "(4,)", &[0.5; 4]);
        let table = bench.ok(&words(&["--input", "x=one.npy"]));
        assert!(table.contains("3 calls") && table.contains(kernels[0]["name"].as_str().unwrap()), "{table}");
        bench.refused(&words(&[]), "input x");
    }
}

/// Runs `workalike` with a separate cache.
#[allow(clippy::unwrap_used)] // a helper that fails fails the test
fn with_cache(bench: &Bench, cache: &str, words: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_workalike"))
        .args(words)
        .current_dir(bench.path("."))
        .env("WORKALIKE_CACHE", cache)
        .env("POCL_KERNEL_CACHE", "0") // disables PoCL's own cache
        .output()
        .unwrap()
}

#[test]
fn kernels_of_one_process_are_there_for_the_next() {
    let bench = Bench::new();
    let cache = bench.path("cache").display().to_string();
    let show = |more: &[&str]| -> Json {
        let words = [&["cache", "--json"], more].concat();
        let output = with_cache(&bench, &cache, &words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(show(&[])["entries"], 0);
    if devices().contains(&"opencl") {
        bench.ok(&["make", "unary:tanh:float32", "--out", "f.walk"]);
        bench.save_f32("x.npy", "(4,)", &[0.5; 4]);
        let run = |cache: &str, out: &str| {
            let words = ["run", "f.walk", "--device", "opencl", "--input", "x=x.npy", "--out", out];
            let output = with_cache(&bench, cache, &words);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            (bench.load_f32(&format!("{out}/y.npy")), String::from_utf8(output.stderr).unwrap())
        };
        let (first, _) = run(&cache, "a");
        assert_eq!(show(&[])["entries"], 1);
        let entry = fs::read_dir(bench.path("cache/kernels"))
            .unwrap()
            .map(|e| e.unwrap().path())
            .find(|p| p.extension().is_some_and(|e| e == "kernels"))
            .unwrap();
        // Loaded, not stored again: the access time changes, the file does not.
        let stamp = || {
            let metadata = fs::metadata(&entry).unwrap();
            #[cfg(unix)]
            let file = std::os::unix::fs::MetadataExt::ino(&metadata);
            #[cfg(not(unix))]
            let file = 0;
            (file, metadata.modified().unwrap())
        };
        let (file, used) = stamp();
        assert_eq!(run(&cache, "b").0, first);
        let (again, later) = stamp();
        assert!(again == file && later > used && show(&[])["entries"] == 1);
        // A damaged entry is built again.
        let good = fs::read(&entry).unwrap();
        fs::write(&entry, &good[..good.len() / 2]).unwrap();
        assert_eq!(run(&cache, "c").0, first);
        assert!(fs::metadata(&entry).unwrap().len() > good.len() as u64 / 2);
        assert_eq!(run("off", "d").0, first);
        fs::write(bench.path("file"), "").unwrap();
        let (same, complaint) = run("file", "e");
        assert_eq!(same, first);
        assert_eq!(complaint.matches("warning: ").count(), 1, "{complaint}");
    }
    assert_eq!(show(&["--clear"])["entries"], 0);
    let off = with_cache(&bench, "off", &["cache", "--json"]);
    assert!(serde_json::from_slice::<Json>(&off.stdout).unwrap()["folder"].is_null());
    let broken = with_cache(&bench, "/dev/null", &["cache"]);
    assert!(!broken.status.success() && String::from_utf8_lossy(&broken.stderr).contains("WORKALIKE_CACHE"));
}
