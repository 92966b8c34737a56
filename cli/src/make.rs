//! `workalike make`: built-in Functions to files.

use crate::builtins;
use crate::report::{Failure, Result, While, say};
use crate::workloads::{self, Settings};
use std::path::Path;
use workalike::prelude::*;

/// Writes the built-in or workload of this name.
pub(crate) fn make(name: &str, sizes: &[(String, String)], out: Option<&Path>) -> Result<()> {
    let out = out.ok_or_else(|| Failure::new("--out FILE is missing"))?;
    let bundle = match workloads::named(name) {
        Some(workload) => {
            let changes = sizes.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            let settings = Settings::of(workload, false, changes)?;
            Bundle::new().with("main", &(workload.build)(&settings).during(format_args!("make {name}"))?)
        }
        None if !sizes.is_empty() => {
            return Err(Failure::new(format!("{name} has no sizes; workloads have")));
        }
        None => builtins::named(name).during(format_args!("make {name}"))?,
    };
    bundle.save(out)?;
    let methods: Vec<&str> = bundle.iter().map(|(name, _)| name).collect();
    say(&format!("{}: {name}, with {}", out.display(), methods.join(", ")))
}

/// Lists the built-ins.
pub(crate) fn list() -> Result<()> {
    for (name, what) in builtins::LIST {
        say(&format!("{name:<22} {what}"))?;
    }
    say("\nworkloads, with their sizes for --size KEY=N:")?;
    for workload in workloads::ALL {
        let sizes: Vec<String> =
            workload.settings.iter().map(|(key, _, cpu)| format!("{key}={cpu}")).collect();
        say(&format!("{:<22} {} [{}]", workload.name, workload.about, sizes.join(" ")))?;
    }
    say(&format!("\nOP is one of: {}", builtins::unary_ops().join(", ")))
}
