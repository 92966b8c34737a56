//! `workalike make`: built-in Functions to files.

use crate::builtins;
use crate::report::{Failure, Result, While, say};
use std::path::Path;

/// Writes the built-in of this name.
pub(crate) fn make(name: &str, out: Option<&Path>) -> Result<()> {
    let out = out.ok_or_else(|| Failure::new("--out FILE is missing"))?;
    let bundle = builtins::named(name).during(format_args!("make {name}"))?;
    bundle.save(out)?;
    let methods: Vec<&str> = bundle.iter().map(|(name, _)| name).collect();
    say(&format!("{}: {name}, with {}", out.display(), methods.join(", ")))
}

/// Lists the built-ins.
pub(crate) fn list() -> Result<()> {
    for (name, what) in builtins::LIST {
        say(&format!("{name:<22} {what}"))?;
    }
    say(&format!("\nOP is one of: {}", builtins::unary_ops().join(", ")))
}
