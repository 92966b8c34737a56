//! Inspecting and measuring: plan, verify, bench, and graphs as text.

mod common;

use common::{Bench, devices};
use serde_json::{Value as Json, json};

#[test]
fn a_plan_predicts_a_call() {
    for device in devices() {
        let bench = Bench::new();
        bench.ok(&["make", "digits", "--out", "d.walk"]);
        let plan = ["plan", "d.walk", "--method", "predict", "--device", device, "--input", "x=20x64"];
        let said = bench.json(&[&plan[..], &["--json"]].concat());
        assert_eq!((&said["method"], said["segments"].as_u64()), (&json!("predict"), Some(1)), "{said}");
        let steps = said["steps"].as_array().unwrap();
        let sum = |what: &str| steps.iter().map(|s| s["work"][what].as_f64().unwrap()).sum::<f64>();
        for what in ["launches", "flops", "bytes_read", "bytes_written"] {
            assert_eq!(said["total"][what].as_f64(), Some(sum(what)), "{what}");
        }
        // Two products and elementwise kernels.
        let products = 2.0 * 20.0 * (64.0 * 128.0 + 128.0 * 10.0);
        assert!((products..3.0 * products).contains(&sum("flops")), "{said}");
        let buffers = said["buffers"].as_array().unwrap();
        let w1 = buffers.iter().find(|b| b["name"] == "w1").unwrap();
        assert_eq!(
            (&w1["role"], &w1["bytes"], &w1["offset"]),
            (&json!("shared"), &json!(4 * 64 * 128), &Json::Null)
        );
        let x = buffers.iter().find(|b| b["name"] == "x").unwrap();
        assert!(x["offset"].is_u64() && x["shape"] == json!([20, 64]), "{x}");
        for step in steps {
            for operand in step["operands"].as_array().unwrap() {
                assert!(buffers.iter().any(|b| b["id"] == operand["buffer"]), "{operand}");
            }
        }
        assert!(said["arena_bytes"].as_u64() >= said["arena_lower_bound"].as_u64(), "{said}");
        assert!(said["source"].is_null());
        let text = bench.ok(&plan);
        assert!(text.contains("segment 0\n") && text.contains("writes") && text.contains("in all"), "{text}");
        // Fusion saves launches and traffic.
        let unfused = bench.json(&[&plan[..], &["--json", "--unfused"]].concat());
        let launches = |said: &Json| said["total"]["launches"].as_u64().unwrap();
        assert!(launches(&said) < launches(&unfused));
        assert_eq!(said["compulsory_bytes"], unfused["compulsory_bytes"]);
        if device != "host" {
            let source = bench.json(&[&plan[..], &["--json", "--source"]].concat());
            assert!(source["source"].as_str().unwrap().contains("k0_"), "{source}");
        }
        bench.refused(&["plan", "d.walk", "--method", "predict", "--device", device], "--input x=SHAPE");
        bench.refused(&[&plan[..6], &["--input", "x=20x63"]].concat(), "float32(20, 63)");
    }
}

#[test]
fn verification_passes_where_nothing_is_wrong() {
    for device in devices() {
        let bench = Bench::new();
        bench.ok(&["make", "digits", "--out", "d.walk"]);
        let verify = ["verify", "d.walk", "--method", "train", "--device", device, "--steps", "4"];
        let inputs = ["--input", "x=9x64", "--input", "y=9", "--json"];
        let said = bench.json(&[&verify[..], &inputs].concat());
        // One cost and four weights per step.
        assert_eq!((&said["passed"], &said["compared"]), (&json!(true), &json!(20)), "{said}");
        assert!(said["worst"].as_f64().is_some_and(|worst| worst < 1.0), "{said}");
        bench.refused(&[&verify[..], &["--input", "x=9x64", "--input", "y=8"]].concat(), "8");
    }
    // No float op passes with a tolerance of zero.
    let bench = Bench::new();
    bench.ok(&["make", "softmax", "--size", "rows=40", "--size", "columns=1000", "--out", "s.walk"]);
    let output = bench.run(&["verify", "s.walk", "--device", "host", "--slack", "1e-9", "--json"]);
    let said: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!output.status.success() && said["passed"] == false, "{said}");
    assert!(said["mismatch"]["origin"]["op"].as_str().is_some_and(|op| op.starts_with("softmax")), "{said}");
}

#[test]
fn graphs_as_text() {
    let bench = Bench::new();
    bench.ok(&["make", "digits", "--out", "d.walk"]);
    let text = bench.ok(&["info", "d.walk", "--debugprint", "--method", "predict"]);
    assert!(text.starts_with("method predict\noutput 0\n") && text.contains("[id A]"), "{text}");
    assert!(text.contains("w1 [id") && text.contains("x [id") && !text.contains("method train"), "{text}");
    let text = bench.ok(&["info", "d.walk", "--dot"]);
    assert_eq!(text.matches("digraph").count(), 4);
    assert!(text.contains("update") && text.contains("shared w1"), "{text}");
    bench.refused(&["info", "d.walk", "--dot", "--method", "sleep"], "predict");
    bench.refused(&["info", "d.walk", "--dot", "--json"], "--json");
}

#[test]
fn workloads_are_made_and_benchmarked() {
    for device in devices() {
        let bench = Bench::new();
        let small = ["--size", "batch=5", "--size", "inputs=9", "--size", "hidden=8"];
        bench.ok(&[&["make", "mlp", "--out", "mlp.walk"], &small[..]].concat());
        let lines = |words: &[&str]| -> Vec<Json> {
            let text = bench.ok(words);
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        let file = lines(&["bench", "mlp.walk", "--device", device, "--json", "--only", "run_n"]);
        assert_eq!((&file[0]["work"], &file[0]["variant"], file.len()), (&json!("mlp"), &json!("run_n"), 1));
        let built = lines(&[&["bench", "mlp", "--device", device, "--json"], &small[..]].concat());
        assert_eq!(built[0]["variant"], "steps batch=5 inputs=9 hidden=8");
        // The same Function and the same data, from two sources.
        assert_eq!(file[0]["checksum"], built[0]["checksum"]);
        for row in file.iter().chain(&built) {
            for what in ["us", "bytes", "flops", "launches"] {
                assert!(row[what].as_f64().is_some_and(|n| n > 0.0), "{what} in {row}");
            }
        }
    }
    let bench = Bench::new();
    assert!(bench.ok(&["bench", "--list", "--device", "host"]).contains("device_result"));
    assert!(bench.ok(&["make", "--list"]).contains("fused_elemwise"));
    // The device is printed before the error.
    for (words, word) in [(["nothing.walk", "n=3"], "nothing.walk"), (["gemm", "k=3"], "dtype")] {
        let output = bench.run(&["bench", words[0], "--device", "host", "--size", words[1]]);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{complaint}");
        assert!(complaint.contains(word) && !complaint.contains("panicked"), "{complaint}");
    }
    bench.refused(&["make", "gemm", "--size", "n=0", "--out", "g.walk"], "'0' is no n");
    bench.refused(&["make", "digits", "--size", "n=1", "--out", "g.walk"], "no sizes");
}

#[test]
fn convolutions_agree_with_the_reference() {
    for device in devices() {
        let bench = Bench::new();
        let verified = |name: &str, sizes: &[&str]| {
            let sizes: Vec<&str> = sizes.iter().flat_map(|size| ["--size", *size]).collect();
            bench.ok(&[&["make", name, "--out", "f.walk"], &sizes[..]].concat());
            bench.ok(&["verify", "f.walk", "--device", device, "--steps", "3"]);
        };
        verified("lenet", &["batch=3", "batches=2", "filters1=4", "filters2=6", "hidden=11"]);
        let sizes = ["batch=2", "channels=5", "height=9", "width=11", "filters=7", "pad_width=0"];
        for role in ["forward", "forward_bias_relu", "input_gradient", "filter_gradient"] {
            let role = format!("role={role}");
            verified("conv", &[&sizes[..], &[role.as_str()]].concat());
        }
    }
    Bench::new()
        .refused(&["make", "conv", "--size", "role=backward", "--out", "c.walk"], "'backward' is no role");
}

#[test]
fn the_first_result_of_a_new_process() {
    let bench = Bench::new();
    let text = bench.ok(&["bench", "first_result", "--device", "host", "--json"]);
    let rows: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = rows.iter().map(|row| row["variant"].as_str().unwrap()).collect();
    assert_eq!(
        names[..4],
        ["cold: open device", "cold: library handles", "cold: load file", "cold: first call"]
    );
    assert_eq!(names.len(), 8);
    assert!(rows.iter().all(|row| row["us"].as_f64().is_some_and(|us| us > 0.0)), "{text}");
}

#[test]
fn a_line_that_cannot_be_measured_is_a_row_that_says_so() {
    let bench = Bench::new();
    bench.ok(&["make", "digits", "--out", "d.walk"]);
    let output = bench.run(&["bench", "d.walk", "--method", "predict", "--device", "host", "--json"]);
    assert!(!output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert!(
        rows.iter().all(|row| row["error"].as_str().is_some_and(|e| e.contains("--input x=SHAPE"))),
        "{text}"
    );
}
