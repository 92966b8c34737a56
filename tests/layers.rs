//! Dependencies within the library: the portable half names neither the engine nor a device.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::path::{Path, PathBuf};

/// Folders below `src`, and names that must not occur in their code outside comments.
const WALLS: &[(&str, &[&str])] = &[
    ("op", &["engine", "host", "selector", "function", "format", "grad", "rewrite", "ops"]),
    ("lower", &["engine", "host", "selector", "function", "format", "grad", "ops"]),
    ("graph", &["engine", "host", "selector", "function", "format", "grad", "rewrite", "ops"]),
    ("grad", &["engine", "host", "selector", "format"]),
    // `idx!` is in the root, which names everything.
    ("ops", &["engine", "host", "selector", "function", "format", "grad", "rewrite", "idx"]),
    ("rewrite", &["engine", "host", "selector", "function", "format"]),
    ("format", &["engine", "host", "selector"]),
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

/// Folders of `src/engine`, from above to below: a file names folders below its own.
const FLOORS: &[&str] = &["contexts", "simulator", "executor", "run", "plan", "record", "compile", "storage"];

/// Whether a line of a file of a floor names another floor; `door`: the file is the floor's `mod.rs`.
fn names_floor(line: &str, door: bool, floor: &str) -> bool {
    let line = line.replace(if door { "super::" } else { "super::super::" }, "engine::");
    let path = format!("engine::{floor}");
    line.match_indices(&path)
        .any(|(at, _)| !line[at + path.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[test]
fn the_engine_has_floors() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine");
    let mut broken = Vec::new();
    for (at, floor) in FLOORS.iter().enumerate() {
        let mut files = if engine.join(floor).is_dir() { rust_files(&engine.join(floor)) } else { vec![] };
        files.extend([engine.join(format!("{floor}.rs"))].into_iter().filter(|file| file.exists()));
        assert!(!files.is_empty(), "src/engine/{floor} has no files");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let door = file.ends_with("mod.rs");
            for (number, line) in code(&text) {
                let named = FLOORS[..at].iter().filter(|above| names_floor(line, door, above));
                broken.extend(named.map(|above| format!("{}:{number} names {above}", file.display())));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The names in the `use` declarations of a file that begin with `prefix`, by the module that they are in.
fn used<'t>(text: &'t str, prefix: &str) -> Vec<(&'t str, Vec<&'t str>)> {
    let starts = text.match_indices(prefix).map(|(at, _)| at + prefix.len());
    let trees = starts.filter_map(|at| text[at..].split_once(';').map(|(tree, _)| tree));
    let split = |tree: &'t str| {
        let (module, names) =
            tree.rsplit_once("::{").or_else(|| tree.rsplit_once("::")).unwrap_or(("", tree));
        (module, names.split(['{', '}', ',']).map(str::trim).filter(|name| !name.is_empty()).collect())
    };
    trees.map(split).collect()
}

/// Whether there is a module of this name beside a file.
fn is_module(file: &Path, name: &str) -> bool {
    let module = file.with_file_name(name);
    module.is_dir() || module.with_extension("rs").is_file()
}

/// A file that names its folder's front door depends on all files of the folder.
#[test]
fn files_name_the_owner_of_what_they_use() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut broken = Vec::new();
    for door in rust_files(&src).into_iter().filter(|file| file.ends_with("mod.rs")) {
        let text = fs::read_to_string(&door).unwrap();
        let doors = ["\npub use ", "\npub(crate) use ", "\npub(super) use "];
        let mut passed: Vec<&str> = Vec::new();
        for (module, names) in doors.iter().flat_map(|prefix| used(&text, prefix)) {
            if is_module(&door, module) {
                // A name may be that of a module too.
                passed.extend(names.into_iter().filter(|name| !is_module(&door, name)));
            }
        }
        let folder = fs::read_dir(door.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
        for file in folder.filter(|file| file.is_file() && *file != door) {
            let text = fs::read_to_string(&file).unwrap();
            let direct = used(&text, "\nuse super::").into_iter().filter(|(module, _)| module.is_empty());
            let named = direct.flat_map(|(_, names)| names).filter(|name| passed.contains(name));
            broken.extend(named.map(|name| format!("{} takes {name} from mod.rs", file.display())));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The tests above can fail.
#[test]
fn names_are_found() {
    assert!(names_floor("use crate::engine::run;", false, "run"));
    assert!(names_floor("    super::super::run::Engine::new()", false, "run"));
    assert!(names_floor("use super::run::Engine;", true, "run"));
    assert!(!names_floor("use super::run::Engine;", false, "run"));
    assert!(!names_floor("use crate::engine::running;", false, "run"));
    let text = "x\nuse super::{Engine, a};\nuse super::plan::{Plan,\n Cache};\nuse super::One;\n";
    let expected = [("", vec!["Engine", "a"]), ("plan", vec!["Plan", "Cache"]), ("", vec!["One"])];
    assert_eq!(used(text, "\nuse super::"), expected);

    assert!(names("use crate::engine::Options;", "engine"));
    assert!(names("    crate::host::Host::auto()", "host"));
    assert!(names("use crate::{graph::Node, engine::{self, Options}};", "engine"));
    assert!(names("use super::super::engine::Options;", "engine"));
    assert!(!names("use crate::{graph::engine};", "engine"));
    assert!(!names("use crate::hosting::X;", "host"));
    assert!(!names("use crate::function_graph::X;", "function"));
    assert!(!names("use crate::op::Op;", "ops") && !names("use crate::ops::Sort;", "op"));
    assert_eq!(code("a\n// b\n#[cfg(test)]\nc").collect::<Vec<_>>(), [(1, "a")]);
}
