//! The README shows the tour as it is tested.

use std::fs;
use std::path::Path;

#[test]
fn the_readme_holds_the_tour_verbatim() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let tour = fs::read_to_string(root.join("examples/tour.rs")).unwrap();
    let example = format!("```rust\n{tour}```\n");
    assert!(readme.contains(&example), "copy examples/tour.rs into the README's example");
}
