//! The list of examples agrees with the code; `BLESS=1` writes it again.

#![allow(clippy::unwrap_used)] // tests

use workalike_examples::ALL;

#[test]
fn the_list_of_examples_agrees_with_the_code() {
    let rows = ALL.iter().map(|e| format!("| [{0}](src/{0}.rs) | {1} |\n", e.name, e.about));
    let head = "# Examples\n\nComplete programs, each one file that checks its results. `cargo run --release -p \
                workalike-examples -- NAME [DEVICE]`\nruns one; the conformance suite runs all on every device.\n\n\
                | program | what it does |\n|---|---|\n";
    let text = head.to_string() + &rows.collect::<String>();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        text,
        "BLESS=1 writes examples/workloads/README.md again"
    );
    for example in ALL {
        let source = format!("{}/src/{}.rs", env!("CARGO_MANIFEST_DIR"), example.name);
        assert!(std::path::Path::new(&source).exists(), "{} is no file of its name", example.name);
    }
}
