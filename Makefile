# For a Debian or Ubuntu machine with Rust:
#
#   make demo    trains on real handwritten digits on the fastest device present (CUDA, else an OpenCL GPU, else the
#                CPU), and runs the trained file on every other; options follow in ARGS: make demo ARGS='--device host'
#   make test    every test; those that need an NVIDIA GPU are ignored where there is none
#   make quick   what most changes need, in two minutes after a small change
#   make python  the Python package: builds and installs it in target/, and runs its tests
#   make random  random tests with other cases than those of `make test`, which are the same each time
#   make ulps    measures the errors of elementwise functions, and writes them to docs/ops.md
#   make test-cuda  the tests that need an NVIDIA GPU; they fail where there is none
#
# Both first install PoCL (OpenCL on the CPU) if OpenCL is missing and they have the permission; else they print what to
# install.

# rustup's folder comes last, for shells that have not read its profile.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: demo test quick python test-cuda random ulps pocl check

demo: pocl
	cargo run --release -p workalike-cli -- demo $(ARGS)

# The conformance suite (tests/suite) is one of the test binaries; doc tests come last.
test: pocl
	cargo test --workspace --no-fail-fast
	tools/python.sh

# Unit tests, the tests of the library's public interface, and the conformance suite on the host.
quick: pocl
	cargo test --workspace --lib --test it --test laws --test conformance --no-run
	cargo test --workspace --lib -- --skip products_of_matrices --skip sizes_as_arguments --skip columns_agree_with_rows
	cargo test --workspace --test it --test laws
	WORKALIKE_SUITE_DEVICES=host cargo test --workspace --test conformance -- --quiet

python: pocl
	tools/python.sh

# All ignored tests of this package are those that need a GPU or NVRTC.
test-cuda:
	WORKALIKE_REQUIRE_CUDA=1 cargo test -p workalike-cuda --no-fail-fast -- --include-ignored
	WORKALIKE_REQUIRE_CUDA=1 cargo test -p workalike-suite --test conformance -- cuda

# A failure is found again with the seed that is printed. On two cores it takes about half an hour.
random: pocl
	PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-$$(date +%s)} PROPTEST_CASES=$${PROPTEST_CASES:-10000} tools/random.sh

# The errors of elementwise functions over all binades, for docs/ops.md. It takes some ten minutes.
ulps: pocl
	WORKALIKE_ULPS=4194304 cargo test --workspace --test ulps
	BLESS=1 cargo test --workspace --test documents

pocl:
	@tools/opencl.sh

# The checks of .ci/run other than the tests.
check:
	@.ci/run format clippy rustdoc dependencies
