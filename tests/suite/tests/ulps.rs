//! Errors of elementwise functions over all binades: within their bounds, on the host and on OpenCL.
//!
//! `make ulps` draws four million arguments for each op, and writes the worst errors to `golden/ulps.csv`,
//! from which docs/ops.md has them.

use std::fmt::Write;
use workalike::DType;
use workalike_suite::devices::{self, Kind};
use workalike_suite::ulps::measure;

/// The number of arguments of each op, if it is not the usual one; then the errors are written.
const VARIABLE: &str = "WORKALIKE_ULPS";

#[test]
fn errors_are_within_their_bounds() {
    let asked =
        std::env::var(VARIABLE).ok().map(|count| count.parse::<usize>().expect("a number of arguments"));
    let count = asked.unwrap_or(1 << 13);
    let (devices, _) = devices::all();
    let mut beyond = Vec::new();
    let mut list = String::from("device,dtype,op,ulp,arguments\n");
    for device in devices.iter().filter(|device| matches!(device.kind, Kind::Host | Kind::OpenCl(..))) {
        // OpenCL computes halves in float32, by the same functions.
        let halves = asked.is_some() || device.is_host();
        let dtypes = [DType::F32, DType::F64, DType::F16, DType::BF16];
        for dtype in dtypes.into_iter().filter(|d| halves || !d.is_half()) {
            for (op, worst) in measure(device, dtype, count).unwrap() {
                let at: Vec<String> = worst.at.iter().map(|x| format!("{x:e}")).collect();
                let kind = if device.is_host() { "host" } else { "opencl" };
                writeln!(list, "{kind},{dtype},{op},{:.2},{}", worst.ulps, at.join(";")).unwrap();
                beyond.extend(worst.beyond.map(|why| format!("{kind}, {op}: {why}")));
            }
        }
    }
    if asked.is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/ulps.csv"), list).unwrap();
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}
