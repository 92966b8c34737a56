//! `workalike info`: the contents of a file.

use crate::{Info, numbers};
use serde_json::{Value as Json, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use workalike::graph::{Cell, debugprint, dot};
use workalike::prelude::*;
use workalike_cli_common::method;
use workalike_cli_common::report::{ErrorContext, Result, printable, say, say_json};

/// Shows a file.
pub(crate) fn info(command: &Info) -> Result<()> {
    let file = command.file.as_path();
    let bundle = Bundle::load(file)?;
    if command.debugprint || command.dot {
        return graphs(&bundle, command);
    }
    let version = format_version(file)?;
    if command.json {
        say_json(&to_json(file, &bundle, version)?.to_string())
    } else {
        say(&to_text(file, &bundle, version)?)
    }
}

/// Shows the graphs of methods.
fn graphs(bundle: &Bundle, command: &Info) -> Result<()> {
    let chosen = match &command.method {
        Some(_) => {
            vec![method::choose(bundle, command.method.as_deref(), &[]).during(command.file.display())?]
        }
        None => bundle.iter().collect(),
    };
    for (name, function) in chosen {
        let text = if command.dot { dot(function.graph()) } else { debugprint(function.graph()) };
        if !command.dot {
            say(&format!("method {}", printable(name)))?;
        }
        say(text.trim_end())?;
    }
    Ok(())
}

/// The version of the file format: the four bytes after the magic number. Loading has checked them.
fn format_version(file: &Path) -> Result<u32> {
    let mut head = [0; 12];
    File::open(file).and_then(|mut f| f.read_exact(&mut head)).during(file.display())?;
    Ok(u32::from_le_bytes([head[8], head[9], head[10], head[11]]))
}

fn updated_by<'a>(bundle: &'a Bundle, cell: &Arc<Cell>) -> Vec<&'a str> {
    bundle.iter().filter(|(_, f)| f.updated().any(|c| Arc::ptr_eq(c, cell))).map(|(name, _)| name).collect()
}

/// Name and type of each output.
fn outputs(function: &Function) -> impl Iterator<Item = (Option<&str>, &TensorType)> {
    let graph = function.graph();
    function
        .output_names()
        .iter()
        .map(Option::as_deref)
        .zip(graph.outputs.iter().map(|&id| &graph.var(id).ty))
}

fn type_json(name: Option<&str>, ty: &TensorType) -> Json {
    json!({ "name": name, "dtype": ty.dtype.name(), "shape": ty.shape })
}

fn to_json(file: &Path, bundle: &Bundle, version: u32) -> Result<Json> {
    let mut methods = Vec::new();
    for (name, function) in bundle.iter() {
        let mut inputs = Vec::new();
        for spec in function.inputs() {
            let mut input = type_json(spec.name.as_deref(), &spec.ty);
            input["default"] = match &spec.default {
                None => Json::Null,
                Some(value) => json!({
                    "dtype": value.dtype().name(),
                    "shape": numbers::shape(value.shape()),
                    "values": numbers::first(value, numbers::FEW)?.into_iter().map(numbers::json).collect::<Vec<_>>(),
                }),
            };
            inputs.push(input);
        }
        let names = |cells: Vec<&Arc<Cell>>| cells.iter().map(|c| Json::from(c.name())).collect::<Vec<_>>();
        methods.push(json!({
            "name": name,
            "inputs": inputs,
            "outputs": outputs(function).map(|(name, ty)| type_json(name, ty)).collect::<Vec<_>>(),
            "shared": names(function.cells().iter().collect()),
            "updates": names(function.updated().collect()),
            "nodes": function.graph().nodes.len(),
        }));
    }
    let mut shared = Vec::new();
    for cell in bundle.cells() {
        let mut entry = type_json(Some(cell.name()), cell.ty());
        entry["id"] = format!("{:032x}", cell.id()).into();
        entry["updated_by"] = updated_by(bundle, cell).into();
        shared.push(entry);
    }
    let unreadable = bundle.unreadable().map(|(name, why)| json!({ "name": name, "why": why.to_string() }));
    Ok(json!({
        "file": file.display().to_string(),
        "format_version": version,
        "methods": methods,
        "unreadable": unreadable.collect::<Vec<_>>(),
        "shared": shared,
    }))
}

fn to_text(file: &Path, bundle: &Bundle, version: u32) -> Result<String> {
    let mut lines = vec![format!("{}: format version {version}", file.display())];
    let line = |kind: &str, name: Option<&str>, ty: &TensorType, more: String| {
        format!("  {kind:<8} {:<12} {ty}{more}", printable(name.unwrap_or("(no name)")))
    };
    for (name, function) in bundle.iter() {
        lines.push(format!("method {} ({} nodes)", printable(name), function.graph().nodes.len()));
        for spec in function.inputs() {
            let default = match &spec.default {
                None => String::new(),
                Some(value) => format!(" = {}", numbers::text(value)?),
            };
            lines.push(line("input", spec.name.as_deref(), &spec.ty, default));
        }
        lines.extend(outputs(function).map(|(name, ty)| line("output", name, ty, String::new())));
        lines.extend(
            function.updated().map(|cell| line("update", Some(cell.name()), cell.ty(), String::new())),
        );
    }
    for (name, why) in bundle.unreadable() {
        lines.push(format!("method {} cannot be read: {}", printable(name), printable(&why.to_string())));
    }
    for cell in bundle.cells() {
        let by = updated_by(bundle, cell);
        let by = if by.is_empty() {
            ", never updated".into()
        } else {
            format!(", updated by {}", printable(&by.join(", ")))
        };
        lines.push(line("shared", Some(cell.name()), cell.ty(), by));
    }
    Ok(lines.join("\n"))
}
