//! Documents: excerpts agree with the source, and links lead to files.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::path::{Path, PathBuf};

/// The documents that show lines of the source, in blocks marked `rs`.
const WITH_EXCERPTS: [&str; 2] = ["CONTRIBUTING.md", "docs/first-op.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// The Markdown files of the repository's root and of `docs`, including the ADRs.
fn documents() -> Vec<PathBuf> {
    let folders = [root(), root().join("docs"), root().join("docs/adr")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = files.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
}

/// The targets of Markdown links on a line that are neither addresses nor headings.
fn links(line: &str) -> Vec<&str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    targets.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

/// Fenced blocks marked `rs`, each with the path on the line before it, which reads `` `path`: ``.
fn excerpts(text: &str) -> Vec<(String, Vec<&str>)> {
    let (mut found, mut before, mut lines) = (Vec::new(), "", text.lines());
    while let Some(line) = lines.next() {
        if line == "```rs" {
            let path = before.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:"));
            let path = path.unwrap_or_else(|| panic!("expected a path before an excerpt, found {before:?}"));
            found.push((path.to_string(), lines.by_ref().take_while(|line| *line != "```").collect()));
        } else if !line.is_empty() {
            before = line;
        }
    }
    found
}

/// Whether the lines of an excerpt follow each other in a file. `// ...` stands for any lines; indentation
/// does not count.
fn stands_in(excerpt: &[&str], file: &str) -> bool {
    let excerpt: Vec<&str> = excerpt.iter().map(|line| line.trim()).collect();
    let lines: Vec<&str> = file.lines().map(str::trim).collect();
    let mut rest = lines.as_slice();
    excerpt.split(|line| *line == "// ...").filter(|part| !part.is_empty()).all(|part| {
        let Some(at) = rest.windows(part.len()).position(|window| window == part) else { return false };
        rest = &rest[at + part.len()..];
        true
    })
}

#[test]
fn excerpts_agree_with_the_source() {
    for document in WITH_EXCERPTS {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let excerpts = excerpts(&text);
        assert!(!excerpts.is_empty(), "{document} has no excerpts");
        for (path, excerpt) in excerpts {
            let source = fs::read_to_string(root().join(&path)).unwrap_or_else(|e| panic!("{path}: {e}"));
            let lines = excerpt.join("\n");
            assert!(stands_in(&excerpt, &source), "{document}: {path} no longer has the lines\n{lines}");
        }
    }
}

#[test]
fn links_lead_to_files() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let folder = document.parent().unwrap();
        let mut code = false;
        // What looks like a link in a sample of code is none.
        let prose = text.lines().filter(|line| {
            let fence = line.trim_start().starts_with("```");
            code ^= fence;
            !code && !fence
        });
        let missing = prose.flat_map(links).filter(|target| !folder.join(target).exists());
        broken.extend(missing.map(|target| format!("{}: {target}", document.display())));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The chapters of the book: the first link of each numbered line of `docs/README.md`.
fn chapters() -> Vec<String> {
    let text = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let numbered = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    numbered.map(|line| links(line)[0].to_string()).collect()
}

#[test]
fn chapters_link_to_their_neighbours() {
    let chapters = chapters();
    assert!(chapters.len() > 2, "expected chapters, found {chapters:?}");
    // The links of the last line of a chapter, but of the README, which is the first and ends otherwise.
    let foot = |chapter: &String| {
        let text = fs::read_to_string(root().join("docs").join(chapter)).unwrap();
        text.lines().next_back().map(|line| links(line).join(" ")).unwrap_or_default()
    };
    for (at, chapter) in chapters.iter().enumerate().skip(1) {
        let mut expected = vec![chapters[at - 1].as_str(), "README.md"];
        expected.extend(chapters.get(at + 1).map(String::as_str));
        assert_eq!(foot(chapter), expected.join(" "), "the last line of {chapter}");
    }
}

/// Every example has a line on the page that says what it shows.
#[test]
fn the_page_of_examples_has_them_all() {
    let page = fs::read_to_string(root().join("docs/examples.md")).unwrap();
    let list = fs::read_to_string(root().join("examples/workloads/README.md")).unwrap();
    let names = list.lines().filter(|line| line.starts_with("| [")).flat_map(links);
    let missing: Vec<&str> = names.filter(|name| !page.contains(&format!("/workloads/{name})"))).collect();
    assert!(missing.is_empty(), "docs/examples.md has no line for {missing:?}");
}

/// The tests above can fail.
#[test]
fn excerpts_and_links_are_found() {
    let text = "`a.rs`:\n\n```rs\nlet a = 1;\n// ...\nlet c = 3;\n```\n";
    let found = excerpts(text);
    assert_eq!(found, [("a.rs".to_string(), vec!["let a = 1;", "// ...", "let c = 3;"])]);
    assert!(stands_in(&found[0].1, "    let a = 1;\n    let b = 2;\n    let c = 3;\n"));
    assert!(!stands_in(&found[0].1, "let c = 3;\nlet a = 1;\n"));
    assert!(!stands_in(&["let a = 1;", "let c = 3;"], "let a = 1;\nlet b = 2;\nlet c = 3;\n"));
    assert_eq!(links("[a](b.md#c), [d](https://e.f), [g](#h) and [i](j/k.md)"), ["b.md", "j/k.md"]);
}
