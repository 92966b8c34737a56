//! Tests that need an NVIDIA GPU. Without one they are reported as ignored; with `WORKALIKE_REQUIRE_CUDA` set
//! they fail, but for those of groups, which need two.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod convolutions;
mod device;
mod epilogues;
mod foreign;
mod groups;
mod products;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::process::ExitCode;
use std::sync::Arc;
use workalike::DType;
use workalike::engine::Open;
use workalike::engine::device::{Device, Matmul};
use workalike::kernels::library::LibraryOp;
use workalike_cuda::{Cuda, list, why_not};

/// The variable that makes a missing GPU a failure.
const REQUIRE: &str = "WORKALIKE_REQUIRE_CUDA";

/// Name and body of a test.
type Test = (&'static str, fn());

/// A table of test functions by their names.
macro_rules! tests {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name as fn())),*] };
}
use tests;

/// A new device object.
fn open() -> Arc<dyn Device> {
    Cuda::device(0).open().unwrap()
}

/// Why the tests of the device, of products and of convolutions cannot run.
fn missing() -> [Option<String>; 3] {
    let none = why_not().or_else(|| list().is_empty().then(|| "no CUDA device".into()));
    if none.is_some() {
        return [none.clone(), none.clone(), none];
    }
    let (dtype, fast) = (DType::F32, false);
    let plain = Matmul { dtype, batch: 1, m: 2, n: 2, k: 2, a: [0, 2, 1], b: [0, 2, 1], fast };
    // If the device cannot be opened, the tests run and fail.
    let device = Cuda::device(0).open().ok();
    let lacks = |op: &dyn LibraryOp| device.as_ref().is_some_and(|device| device.library(op, None).is_none());
    let products = lacks(&plain).then(|| "neither cuBLASLt nor cuBLAS".into());
    let convolutions =
        lacks(&convolutions::smallest()).then(|| "no cuDNN that computes a convolution".into());
    [None, products, convolutions]
}

fn trial(group: &str, (name, run): Test, missing: Option<&String>) -> Trial {
    let name = format!("{group}::{name}");
    match missing.map(|why| why.split_whitespace().collect::<Vec<_>>().join(" ")) {
        None => Trial::test(name, move || {
            run();
            Ok(())
        }),
        Some(why) if group != "groups" && std::env::var_os(REQUIRE).is_some() => {
            Trial::test(name, move || Err(Failed::from(why)))
        }
        Some(why) => Trial::ignorable_test(name, move || Ok(Completion::ignored_with(why))),
    }
}

fn main() -> ExitCode {
    let [no_device, no_products, no_convolutions] = missing();
    // One GPU is all that the others need.
    let no_group = no_device.clone().or_else(groups::missing);
    let groups = [
        ("convolutions", convolutions::TESTS, &no_convolutions),
        ("device", device::TESTS, &no_device),
        ("device", device::transfers::TESTS, &no_device),
        ("device", device::matmul::TESTS, &no_products),
        ("epilogues", epilogues::TESTS, &no_products),
        ("foreign", foreign::TESTS, &no_device),
        ("groups", groups::TESTS, &no_group),
        ("products", products::TESTS, &no_products),
    ];
    let trials = groups
        .iter()
        .flat_map(|(group, tests, missing)| tests.iter().map(|test| trial(group, *test, missing.as_ref())));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
