//! State that is kept, from file to device to file.

mod common;

use common::{Bench, devices};
use serde_json::json;

#[test]
fn state_comes_back_from_every_device() {
    for device in devices() {
        let bench = Bench::new();
        bench.save_i64("one.npy", "()", &[1]);
        bench.save_i64("300.npy", "()", &[300]);
        bench.ok(&["make", "accumulator", "--out", "a.walk"]);

        let run = ["run", "a.walk", "--device", device, "--method"];
        let with = |more: &[&'static str]| -> Vec<&str> { run.iter().chain(more).copied().collect() };
        bench.ok(&with(&["accumulate", "--input", "inc=one.npy", "--out", "out", "--save", "a.walk"]));
        assert_eq!(bench.load_i64("out/state.npy"), [0]);

        let said = bench.json(&with(&["accumulate", "--input", "inc=300.npy", "--save", "b.walk", "--json"]));
        assert_eq!(said["outputs"][0]["values"], json!([1]));
        assert_eq!(
            (&said["synced"], &said["saved"], &said["steps"]),
            (&json!(["state"]), &json!("b.walk"), &json!(1))
        );
        assert!(said["device"].as_str().unwrap().starts_with(device), "{said}");

        // The state is 301 in b.walk, and still 1 in a.walk.
        let from = |file: &str, method: &str| {
            let words =
                ["run", file, "--device", device, "--method", method, "--input", "inc=one.npy", "--json"];
            bench.json(&words)["outputs"][0]["values"][0].as_i64().unwrap()
        };
        assert_eq!((from("b.walk", "decrement"), from("a.walk", "accumulate")), (301, 1));
    }
}

#[test]
fn many_steps_on_the_device() {
    for device in devices() {
        let bench = Bench::new();
        bench.save_i64("one.npy", "()", &[1]);
        bench.save_i64("each.npy", "(4,)", &[10, 20, 30, 40]);
        bench.ok(&["make", "accumulator", "--out", "a.walk"]);
        let run = |words: &[&str]| {
            let first =
                ["run", "a.walk", "--device", device, "--method", "accumulate", "--save", "a.walk", "--json"];
            bench.json(&[&first[..], words].concat())
        };
        // Outputs are those of the last iteration: the state before it.
        let said = run(&["--input", "inc=one.npy", "--steps", "300"]);
        assert_eq!((&said["steps"], &said["outputs"][0]["values"]), (&json!(300), &json!([299])));
        let said = run(&["--each", "inc=each.npy", "--steps", "4"]);
        assert_eq!(said["outputs"][0]["values"], json!([360]));
        let said = run(&["--each", "inc=each.npy"]);
        assert_eq!((&said["steps"], &said["outputs"][0]["values"]), (&json!(4), &json!([460])));
        let said = run(&["--input", "inc=one.npy", "--steps", "0"]);
        assert_eq!((&said["outputs"], &said["synced"]), (&json!([]), &json!([])));
        assert_eq!(run(&["--input", "inc=one.npy"])["outputs"][0]["values"], json!([500]));

        bench.refused(
            &[
                "run",
                "a.walk",
                "--device",
                device,
                "--method",
                "accumulate",
                "--each",
                "inc=each.npy",
                "--steps",
                "3",
            ],
            "3 slices",
        );
        bench.refused(
            &["run", "a.walk", "--device", device, "--method", "accumulate", "--each", "inc=one.npy"],
            "no axes",
        );
    }
}

#[test]
fn info_shows_the_contents_of_a_file() {
    let bench = Bench::new();
    bench.ok(&["make", "accumulator", "--out", "a.walk"]);
    let info = bench.json(&["info", "a.walk", "--json"]);
    assert_eq!(info["format_version"], json!(1));
    for (position, name) in ["accumulate", "decrement"].into_iter().enumerate() {
        let method = &info["methods"][position];
        assert_eq!(method["name"], json!(name));
        assert_eq!(
            method["inputs"],
            json!([{ "name": "inc", "dtype": "int64", "shape": [], "default": null }])
        );
        assert_eq!(method["outputs"], json!([{ "name": "state", "dtype": "int64", "shape": [] }]));
        assert_eq!((&method["updates"], &method["nodes"]), (&json!(["state"]), &json!(1)));
    }
    let shared = info["shared"].as_array().unwrap();
    assert_eq!(shared.len(), 1);
    assert_eq!(shared[0]["name"], json!("state"));
    assert_eq!(shared[0]["updated_by"], json!(["accumulate", "decrement"]));
    let text = bench.ok(&["info", "a.walk"]);
    for word in [
        "format version 1",
        "method accumulate",
        "method decrement",
        "inc",
        "updated by accumulate, decrement",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}
