//! Cases of random tests.

use proptest::test_runner::{Config, RngSeed};

/// This many cases, the same in each run. The variables `PROPTEST_RNG_SEED` and `PROPTEST_CASES` give others:
/// see `make random`.
pub(crate) fn config(cases: u32) -> Config {
    let given = Config::default();
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let cases = if is_set("PROPTEST_CASES") { given.cases } else { cases };
    let rng_seed = if is_set("PROPTEST_RNG_SEED") { given.rng_seed } else { RngSeed::Fixed(1) };
    Config { cases, rng_seed, failure_persistence: None, ..given }
}
