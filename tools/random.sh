#!/usr/bin/env bash
# Runs the tests that draw random cases, with PROPTEST_RNG_SEED and PROPTEST_CASES of the environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
echo "PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED PROPTEST_CASES=$PROPTEST_CASES"
# With --workspace nothing is built with other features than in `make test`.
cargo test --workspace --no-fail-fast --test properties --test hostile
cargo test --workspace --lib place::
