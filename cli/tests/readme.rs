//! The README shows the examples as they are tested.

use std::fs;
use std::path::Path;

#[test]
fn the_readme_holds_the_examples_verbatim() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    for file in ["examples/first.rs", "examples/tour.rs"] {
        let example = format!("```rust\n{}```\n", fs::read_to_string(root.join(file)).unwrap());
        assert!(readme.contains(&example), "copy {file} into the README");
    }
}
