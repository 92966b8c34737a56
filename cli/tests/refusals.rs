//! Invalid arguments: the exit status is not 0, and one paragraph says what is wrong.

mod common;

use common::{Bench, devices};
use std::fs;
use std::process::Command;

#[test]
fn arguments() {
    let bench = Bench::new();
    bench.ok(&["make", "accumulator", "--out", "a.walk"]);
    bench.refused(&["frobnicate"], "frobnicate");
    bench.refused(&["run"], "<FILE>");
    bench.refused(&["run", "a.walk", "--steps", "-1"], "-1");
    bench.refused(&["run", "a.walk", "--steps", "many"], "many");
    bench.refused(&["run", "a.walk", "--input", "x.npy"], "NAME=FILE");
    bench.refused(&["run", "a.walk", "--device", "abacus"], "\"abacus\"");
    bench.refused(&["run", "a.walk"], "accumulate, decrement");
    bench.refused(&["run", "a.walk", "--method", "multiply"], "accumulate, decrement");
    bench.refused(&["make", "accumulator"], "--out");
    bench.refused(&["make", "abacus", "--out", "b.walk"], "accumulator");
    bench.refused(&["make", "unary:frobnicate:float32", "--out", "b.walk"], "tanh");
    bench.refused(&["make", "unary:exp:float33", "--out", "b.walk"], "float32");
    bench.refused(&["make", "unary:negative:bool", "--out", "b.walk"], "not defined for bool");
    bench.refused(&["make", "unary:add:f32", "--out", "b.walk"], "make binary:add:DTYPE");
    bench.refused(&["make", "binary:mutliply:f32", "--out", "b.walk"], "did you mean multiply?");
    bench.refused(&["make", "binary:bitwise_and:f32", "--out", "b.walk"], "not defined for float32");
    bench.refused(&["make", "binary:add:f32:1:1", "--out", "b.walk"], "there is no built-in");
    bench.refused(&["make", "reduce:sum:f32", "--out", "b.walk"], "reduce:OP:DTYPE:AXES");
    bench.refused(&["make", "reduce:smu:f32:0", "--out", "b.walk"], "did you mean sum?");
    bench.refused(&["make", "reduce:sum:f32:2:2", "--out", "b.walk"], "axis 2 is out of range for 2 axes");
    bench.refused(&["make", "reduce:cumsum:bool:0,1:3", "--out", "b.walk"], "one axis or all");
    bench.refused(&["make", "accumulator", "--out", "no/such/folder/b.walk"], "no/such/folder");
    assert!(!bench.path("b.walk").exists());
}

#[test]
fn inputs() {
    let bench = Bench::new();
    bench.ok(&["make", "unary:exp:float32:1", "--out", "f.walk"]);
    bench.save_f32("x.npy", "(2,)", &[1.0, 2.0]);
    bench.save("wide.npy", "<f8", "(2,)", &[0; 16]);
    bench.save_f32("matrix.npy", "(1, 2)", &[1.0, 2.0]);
    bench.save("complex.npy", "<c32", "(1,)", &[0; 32]);
    fs::write(bench.path("noise.npy"), "this is no array").unwrap();
    let whole = fs::read(bench.path("x.npy")).unwrap();
    fs::write(bench.path("cut.npy"), &whole[..whole.len() - 1]).unwrap();
    for device in devices() {
        let refused = |words: &[&str], word: &str| {
            bench.refused(&[&["run", "f.walk", "--device", device, "--out", "out"], words].concat(), word);
        };
        refused(&[], "input x (float32(?,)) is missing");
        refused(&["--input", "z=x.npy"], "no input z; its inputs are x");
        refused(&["--input", "x=x.npy", "--input", "x=x.npy"], "twice");
        refused(&["--input", "x=x.npy", "--each", "x=x.npy"], "twice");
        refused(&["--input", "x=missing.npy"], "missing.npy");
        refused(&["--input", "x=wide.npy"], "expected float32(?,), got float64(2,)");
        refused(&["--input", "x=matrix.npy"], "expected float32(?,), got float32(1, 2)");
        refused(&["--input", "x=complex.npy"], "'<c32'");
        refused(&["--input", "x=noise.npy"], "noise.npy: this is not a .npy file");
        refused(&["--input", "x=cut.npy"], "cut.npy: truncated");
        refused(&["--input", "x=."], "input x: .:");
    }
}

#[test]
fn files() {
    let bench = Bench::new();
    bench.ok(&["make", "accumulator", "--out", "a.walk"]);
    let whole = fs::read(bench.path("a.walk")).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(bench.path(name), bytes).unwrap();
    write("empty.walk", b"");
    write("foreign.walk", b"PK\x03\x04 something else altogether");
    write("cut.walk", &whole[..whole.len() * 2 / 3]);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x10;
    write("flipped.walk", &flipped);
    for file in ["missing.walk", "empty.walk", "foreign.walk", "cut.walk", "flipped.walk"] {
        bench.refused(&["info", file], file);
        bench.refused(&["info", file, "--json"], file);
        bench.refused(&["run", file, "--device", "host"], file);
    }
}

#[test]
fn devices_that_are_not_there() {
    let bench = Bench::new();
    bench.ok(&["make", "exp-ladder", "--out", "f.walk"]);
    bench.refused(&["run", "f.walk", "--device", "opencl:77:0"], "opencl:77:0 is not available");
    bench.refused(&["run", "f.walk", "--device", "cuda:77"], "cuda:77");
    bench.refused(&["run", "f.walk", "--device", "cuda:99999999999999999999999"], "cuda:N");
    // A named device is not replaced by another one; `auto` finds one.
    bench.ok(&["run", "f.walk", "--device", "auto"]);
    // The environment names one too; --device takes precedence.
    let with_variable = |device: &str, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workalike"));
        command.args(words).current_dir(bench.path(".")).env("WORKALIKE_DEVICE", device).output().unwrap()
    };
    let words = ["run", "f.walk", "--json"];
    for (device, words, id) in [
        ("host", &words[..], Some("\"device\":\"host\"")),
        ("cuda:77", &words, None),
        ("abacus", &words, None),
        ("cuda:77", &[&words[..], &["--device", "host"]].concat(), Some("\"device\":\"host\"")),
    ] {
        let output = with_variable(device, words);
        let (said, complaint) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match id {
            Some(id) => assert!(output.status.success() && said.contains(id), "{said}{complaint}"),
            None => assert!(!output.status.success() && complaint.contains(device), "{complaint}"),
        }
    }
}

#[test]
fn a_failed_run_leaves_no_file_behind() {
    let bench = Bench::new();
    bench.ok(&["make", "accumulator", "--out", "a.walk"]);
    bench.save_f32("half.npy", "()", &[0.5]);
    let words = [
        "run",
        "a.walk",
        "--method",
        "accumulate",
        "--device",
        "host",
        "--input",
        "inc=half.npy",
        "--save",
        "b.walk",
    ];
    bench.refused(&words, "expected int64()");
    assert!(!bench.path("b.walk").exists());
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let bench = Bench::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_workalike"));
    let output = command.args(["make", "--list"]).stdout(writer).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
    assert!(bench.ok(&["--version"]).starts_with("workalike "));
    assert!(bench.ok(&["run", "--help"]).contains("--each"));
    assert_eq!(bench.ok(&["help", "--help"]), bench.ok(&["help"]));
    assert!(bench.ok(&["help", "run", "--help"]).contains("--each"));
}
