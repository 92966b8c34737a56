//! A [`Profile`] for programs: JSON, and a trace that browsers show.
//!
//! Written by hand: a JSON crate would be a dependency of every build, and its impls make Rust's type
//! inference ambiguous in all crates above this one (`u8: PartialEq<_>`).

use super::{Profile, rate};
use crate::printable::is_printable;
use std::time::Duration;

impl Profile {
    /// One JSON object: `device`, `device_name`, `method`, `calls`, `seconds` (of all kernels),
    /// `wall_seconds`, and `kernels`, a list of objects with `name`, `kind`, `launches`, `seconds`, `share`,
    /// `bytes` and `flops` (of one launch), `gb_per_s`, `gflop_per_s`.
    pub fn to_json(&self) -> String {
        let kernels = self.kernels.iter().map(|k| {
            object(&[
                ("name", text(&k.name)),
                ("kind", text(k.kind)),
                ("launches", k.launches.to_string()),
                ("seconds", number(k.total.as_secs_f64())),
                ("share", number(self.share(k))),
                ("bytes", k.bytes.to_string()),
                ("flops", k.flops.to_string()),
                ("gb_per_s", number(k.gigabytes_per_second())),
                ("gflop_per_s", number(k.gigaflops_per_second())),
            ])
        });
        object(&[
            ("device", text(&self.device)),
            ("device_name", text(&self.device_name)),
            ("method", text(&self.method)),
            ("calls", self.calls.to_string()),
            ("seconds", number(self.total().as_secs_f64())),
            ("wall_seconds", number(self.elapsed.as_secs_f64())),
            ("kernels", list(kernels)),
        ])
    }

    /// A trace in Chrome's format, which Perfetto and `chrome://tracing` open: one slice for each launch, on
    /// one track for the device and one for the host. Durations are measured; within a call, slices follow
    /// each other without gaps. The trace has the first million launches; `dropped` counts the others.
    pub fn to_trace(&self) -> String {
        const PROCESS: &str = "1";
        let title = |what: &str, track: &str, name: &str| {
            let (pid, args) = (PROCESS.to_string(), object(&[("name", text(name))]));
            let fields = [("name", text(what)), ("ph", text("M")), ("pid", pid), ("tid", track.into())];
            object(&[&fields[..], &[("args", args)]].concat())
        };
        let device = format!("{} ({})", self.device, self.device_name);
        let titles = [
            title("process_name", "0", &format!("workalike: {}", self.method)),
            title("thread_name", "1", &device),
            title("thread_name", "2", "host nodes"),
        ];
        let microseconds = |time: Duration| number(time.as_nanos() as f64 / 1e3);
        let slices = self.slices.iter().map(|slice| {
            let kernel = &self.kernels[slice.kernel];
            object(&[
                ("name", text(&kernel.name)),
                ("cat", text(kernel.kind)),
                ("ph", text("X")),
                ("pid", PROCESS.into()),
                ("tid", if kernel.kind == "host" { "2" } else { "1" }.into()),
                ("ts", microseconds(slice.start)),
                ("dur", microseconds(slice.took)),
                (
                    "args",
                    object(&[
                        ("call", slice.call.to_string()),
                        ("bytes", kernel.bytes.to_string()),
                        ("flops", kernel.flops.to_string()),
                        ("gb_per_s", number(rate(kernel.bytes, 1, slice.took))),
                        ("gflop_per_s", number(rate(kernel.flops, 1, slice.took))),
                    ]),
                ),
            ])
        });
        object(&[
            ("traceEvents", list(titles.into_iter().chain(slices))),
            ("displayTimeUnit", text("ns")),
            ("otherData", object(&[("dropped", self.dropped.to_string())])),
        ])
    }
}

fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if !is_printable(c) => quoted += &format!("\\u{:04x}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A number as JSON; all numbers here are finite.
fn number(number: f64) -> String {
    format!("{number}")
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn object(fields: &[(&str, String)]) -> String {
    let fields = fields.iter().map(|(name, value)| format!("\"{name}\":{value}"));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_control_characters() {
        assert_eq!(text("a\"\\\n\u{e9}"), "\"a\\\"\\\\\\u000a\u{e9}\"");
    }
}
