#!/usr/bin/env bash
# Installs the Python package into a virtual environment under the target directory, and runs its tests. The library is
# the dev profile's, so that after `cargo test --workspace` little is built. Arguments go to pytest.
#
#   tools/python.sh                    all tests
#   tools/python.sh -k pickle          some
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PATH="$PATH:$HOME/.cargo/bin"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
venv=$CARGO_TARGET_DIR/python/package

# Makes a virtual environment, unless it is there.
environment() {
    if ! "$1/bin/python" -m pip --version >/dev/null 2>&1 && ! python3 -m venv "$1"; then
        echo "python3 has no venv; install it (Debian: apt-get install python3-venv) to test the Python package" >&2
        exit 1
    fi
}

environment "$venv"
# pip's build finds maturin there.
export PATH="$venv/bin:$PATH"
pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check)
# Tests compare with SciPy; tqdm and ml_dtypes are optional for users.
"${pip[@]}" 'maturin>=1.10,<2' numpy scipy matplotlib pytest ml_dtypes tqdm mypy ruff ray \
    'dask[distributed]' 'pytensor>=2.38'
wheels=$CARGO_TARGET_DIR/python/wheels
rm -rf "$wheels"
MATURIN_PEP517_ARGS="--profile dev" "$venv/bin/python" -m pip wheel --quiet --disable-pip-version-check \
    --no-build-isolation --no-deps --wheel-dir "$wheels" ./python
"${pip[@]}" --no-deps --force-reinstall "$wheels"/*.whl
# From elsewhere, so that the installed package is imported.
tests=$PWD/python/tests
cd "$CARGO_TARGET_DIR"
"$venv/bin/python" -m pytest -q -p no:cacheprovider "$tests" "$@"
if [ $# -eq 0 ]; then
    "$venv/bin/ruff" check --quiet "$tests/.."
    "$venv/bin/ruff" format --quiet --check "$tests/.."
    "$venv/bin/python" -m mypy.stubtest workalike --ignore-disjoint-bases --allowlist "$tests/stubtest.txt" \
        --mypy-config-file "$tests/mypy.ini"
    # PyMC pins a PyTensor of its own.
    pymc=$CARGO_TARGET_DIR/python/pymc
    environment "$pymc"
    "$pymc/bin/python" -m pip install --quiet --disable-pip-version-check pymc pytest "$wheels"/*.whl
    "$pymc/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheels"/*.whl
    "$pymc/bin/python" -m pytest -q -p no:cacheprovider "$tests"/test_pymc.py "$tests"/test_pytensor*.py
fi
