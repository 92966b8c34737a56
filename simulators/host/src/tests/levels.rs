//! `WORKALIKE_CPU_LEVEL`: this test binary runs itself again, since the variable is read once.

use super::*;
use std::process::Command as Program;
use workalike_kernels::level::{Level, VARIABLE, level};

/// Set in the child.
const CHILD: &str = "WORKALIKE_HOST_TEST_CHILD";

/// Runs a test again with this level, and asserts that it passes.
fn again(test: &str, name: &str) {
    let mut program = Program::new(std::env::current_exe().unwrap());
    program.args(["--exact", test, "--nocapture"]).env(CHILD, "1").env(VARIABLE, name);
    let output = program.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && text.contains("1 passed");
    assert!(passed, "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_unknown_level_is_an_error_when_the_device_is_opened() {
    if std::env::var_os(CHILD).is_none() {
        return again("tests::levels::an_unknown_level_is_an_error_when_the_device_is_opened", "avx1024");
    }
    let text = Host::threads(1).open().map(drop).unwrap_err().to_string();
    for part in ["host", VARIABLE, "baseline", "avx1024"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn the_lowest_level_is_on_every_processor() {
    if std::env::var_os(CHILD).is_none() {
        return again("tests::levels::the_lowest_level_is_on_every_processor", "baseline");
    }
    let device = Host::threads(1).open().unwrap();
    assert_eq!(level(), Level::Baseline);
    assert!(device.properties().driver.contains("baseline"));
}
