//! Simulated hosts without OpenCL: this test binary runs itself again with the library, or the platforms,
//! hidden.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // nothing here but tests

use std::process::{Command, Output};
use workalike::engine::Open;
use workalike::error::DeviceError;
use workalike_opencl::{OpenCl, list};

/// Set in the child.
const CHILD: &str = "WORKALIKE_OPENCL_TEST_CHILD";

fn again(test: &str, variable: &str, value: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .env(variable, value)
        .env_remove("LD_PRELOAD");
    command.output().unwrap()
}

/// In the child: all entry points say what is missing.
fn says_missing(why: &str) {
    for error in [list().map(drop), OpenCl::auto().open().map(drop), OpenCl::device(0, 0).open().map(drop)] {
        let error = error.unwrap_err();
        assert!(matches!(error, DeviceError::Missing { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(why) && text.contains("pocl-opencl-icd"), "{text}");
    }
}

fn passed(output: Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn without_the_library() {
    if std::env::var_os(CHILD).is_some() {
        // The program started without it: it is not linked.
        assert!(!std::fs::read_to_string("/proc/self/maps").unwrap().contains("libOpenCL"));
        return says_missing("no OpenCL library");
    }
    passed(again("without_the_library", "WORKALIKE_OPENCL_LIB", "/nonexistent/libOpenCL.so"));
}

#[test]
fn with_a_library_that_is_another() {
    if std::env::var_os(CHILD).is_some() {
        return says_missing("no OpenCL library");
    }
    passed(again("with_a_library_that_is_another", "WORKALIKE_OPENCL_LIB", "libm.so.6"));
}

#[test]
fn without_a_platform() {
    if std::env::var_os(CHILD).is_some() {
        return says_missing(""); // or without the library, on a host that has none
    }
    passed(again("without_a_platform", "OCL_ICD_VENDORS", "/nonexistent/"));
}
