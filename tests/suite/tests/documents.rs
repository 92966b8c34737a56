//! Generated documents: they must agree with the code. `BLESS=1` rewrites them.

use std::path::Path;

#[test]
fn the_list_of_ops_agrees_with_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ops.md");
    let text = workalike_suite::ops::text().unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = old.lines().zip(text.lines()).find(|(a, b)| a != b);
    assert!(
        old == text,
        "docs/ops.md is stale; to regenerate it, run\n    BLESS=1 cargo test -p workalike-suite --test documents\nfirst difference: {differs:?}"
    );
}
