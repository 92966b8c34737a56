//! The choice of a method in a file.

use crate::report::{Failure, Result, printable};
use workalike::prelude::*;

/// The requested method; else the only one, or `main`, or, if the inputs do not fit `main`, the method whose
/// inputs have the ranks of the given ones.
///
/// # Errors
/// If there is no method of this name, or several and none is named.
pub fn choose<'a>(
    bundle: &'a Bundle,
    wanted: Option<&str>,
    ranks: &[(&str, usize)],
) -> Result<(&'a str, &'a Function)> {
    let fits = |function: &Function| {
        let has = |&(name, rank): &(&str, usize)| {
            function.inputs().iter().any(|i| i.name.as_deref() == Some(name) && i.ty.ndim() == rank)
        };
        ranks.iter().all(has)
    };
    let main = || bundle.iter().find(|m| m.0 == "main");
    let mut fitting = bundle.iter().filter(|m| fits(m.1));
    let found = match wanted {
        Some(name) => bundle.iter().find(|m| m.0 == name),
        None if bundle.len() == 1 => bundle.iter().next(),
        None => match (main().filter(|m| fits(m.1)), fitting.next(), fitting.next()) {
            (Some(main), ..) | (None, Some(main), None) if !ranks.is_empty() => Some(main),
            _ => main(),
        },
    };
    found.ok_or_else(|| {
        let known: Vec<String> = bundle.iter().map(|(name, _)| printable(name)).collect();
        let what = match wanted {
            Some(name) => format!("there is no method {name}"),
            None => "it has several methods: say which with --method".into(),
        };
        Failure::new(format!("{what}; there are {}", known.join(", ")))
    })
}
