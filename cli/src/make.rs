//! `workalike make`: built-in Functions to files.

use crate::builtins;
use std::path::Path;
use workalike::prelude::*;
use workalike_cli_common::report::{ErrorContext, Failure, Result, say};
use workalike_harness::workloads::{self, WorkloadSettings};

/// The largest number of methods whose names are all printed.
const MANY: usize = 6;
const SOME: usize = 3;

/// Writes the built-in or workload of this name.
pub(crate) fn make(name: &str, sizes: &[(String, String)], out: Option<&Path>) -> Result<()> {
    let out = out.ok_or_else(|| Failure::new("--out FILE is missing"))?;
    let bundle = match workloads::named(name) {
        Some(workload) => {
            let changes = sizes.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            let settings = WorkloadSettings::of(workload, false, changes)?;
            Bundle::new().with("main", &(workload.build)(&settings).during(format_args!("make {name}"))?)
        }
        None if !sizes.is_empty() => {
            return Err(Failure::new(format!("{name} has no sizes; workloads have")));
        }
        None => builtins::named(name).during(format_args!("make {name}"))?,
    };
    bundle.save(out)?;
    let mut methods: Vec<&str> = bundle.iter().take(MANY + 1).map(|(name, _)| name).collect();
    let rest =
        if methods.len() > MANY { format!(" and {} more", bundle.len() - SOME) } else { String::new() };
    methods.truncate(if rest.is_empty() { MANY } else { SOME });
    say(&format!("{}: {name}, with {}{rest}", out.display(), methods.join(", ")))
}

/// Lists the built-ins.
pub(crate) fn list() -> Result<()> {
    for (name, what) in builtins::LIST {
        say(&format!("{name:<28} {what}"))?;
    }
    say("\nworkloads, with their sizes for --size KEY=N:")?;
    for workload in workloads::ALL {
        let sizes: Vec<String> =
            workload.settings.iter().map(|(key, _, cpu)| format!("{key}={cpu}")).collect();
        say(&format!("{:<28} {} [{}]", workload.name, workload.about, sizes.join(" ")))?;
    }
    say(
        "\nDTYPE is float32 or f32, int64 or i64, ...; of several inputs one for all, or one for each with commas between (f32,i64).\n\
         NDIM is the number of axes, likewise. Without it there are several methods, one for each number of axes (0 to 3, of\n\
         reductions up to 4), and `run` takes the one that the inputs given to it have.\n\
         Files of bfloat16 hold raw bytes, as ml_dtypes writes them.\n",
    )?;
    for (kind, names) in builtins::ops() {
        say(&format!("OP of {kind}: {names}"))?;
    }
    Ok(())
}
