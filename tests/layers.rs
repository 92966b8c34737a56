//! Dependencies within the library: the portable half names neither the engine nor a device.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::path::{Path, PathBuf};

/// Folders below `src`, and names that must not occur in their code outside comments.
const WALLS: &[(&str, &[&str])] = &[
    ("op", &["rehost", "host", "selector", "function", "format", "grad", "rewrite", "ops"]),
    ("lower", &["rehost", "host", "selector", "function", "format", "grad", "ops"]),
    ("graph", &["rehost", "host", "selector", "function", "format", "grad", "rewrite", "ops"]),
    ("grad", &["rehost", "host", "selector", "format"]),
    // `idx!` is in the root, which names everything.
    ("ops", &["rehost", "host", "selector", "function", "format", "grad", "rewrite", "idx"]),
    ("rewrite", &["rehost", "host", "selector", "function", "format"]),
    ("format", &["rehost", "host", "selector"]),
];

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let rust = files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    rust.chain(folders.iter().flat_map(|folder| rust_files(folder))).collect()
}

/// The lines of code: without comments, and without the tests, which are last in a file.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).enumerate();
    lines.filter(|(_, line)| !line.trim_start().starts_with("//")).map(|(at, line)| (at + 1, line))
}

/// Whether a line names a module of the crate's root: by a path from `crate` or `super`, or in a group after
/// one of them.
fn names(line: &str, module: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(module).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + module.len()..]);
        let whole = !after.starts_with(in_word);
        let by_path = before.ends_with("crate::") || before.ends_with("super::");
        whole
            && (by_path
                || (before.contains("crate::{") && !before.ends_with(in_word) && !before.ends_with("::")))
    })
}

#[test]
fn the_portable_half_knows_no_device() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut broken = Vec::new();
    for (folder, walls) in WALLS {
        let files = rust_files(&src.join(folder));
        assert!(!files.is_empty(), "src/{folder} has no files");
        for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
            let text = fs::read_to_string(file).unwrap();
            for (number, line) in code(&text) {
                let named = walls.iter().filter(|module| names(line, module));
                broken.extend(named.map(|module| format!("{}:{number} names {module}", file.display())));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Ops find out about each other by methods of `Op`, so that an op of another crate is treated alike.
#[test]
fn batching_and_lowering_name_no_op_types() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders: Vec<PathBuf> = fs::read_dir(src.join("ops")).unwrap().map(|e| e.unwrap().path()).collect();
    let families = folders.iter().filter(|path| path.is_dir());
    let all = [src.join("lower"), src.join("grad")];
    let mut broken = Vec::new();
    for file in families.chain(&all).flat_map(|folder| rust_files(folder)) {
        let text = fs::read_to_string(&file).unwrap();
        let casts = code(&text).filter(|(_, line)| line.contains("downcast"));
        broken.extend(casts.map(|(number, _)| format!("{}:{number} downcasts an op", file.display())));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The test above can fail.
#[test]
fn names_are_found() {
    assert!(names("use crate::rehost::Options;", "rehost"));
    assert!(names("    crate::host::Host::auto()", "host"));
    assert!(names("use crate::{graph::Node, rehost::{self, Options}};", "rehost"));
    assert!(names("use super::super::rehost::Options;", "rehost"));
    assert!(!names("use crate::{graph::rehost};", "rehost"));
    assert!(!names("use crate::hosting::X;", "host"));
    assert!(!names("use crate::function_graph::X;", "function"));
    assert!(!names("use crate::op::Op;", "ops") && !names("use crate::ops::Sort;", "op"));
    assert_eq!(code("a\n// b\n#[cfg(test)]\nc").collect::<Vec<_>>(), [(1, "a")]);
}
