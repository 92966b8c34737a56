# For a Debian or Ubuntu machine with Rust:
#
#   make demo    trains on real handwritten digits on the best device present (CUDA, else OpenCL, else the CPU);
#                options follow in ARGS: make demo ARGS='--device host'
#   make test    every test
#
# Both first install PoCL (OpenCL on the CPU) if OpenCL is missing and they may; else they say what they would install.

# rustup's folder comes last, for shells that have not read its profile.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: demo test pocl check

demo: pocl
	cargo run --release -p workalike-cli -- demo $(ARGS)

# The conformance suite (tests/suite) is one of the test binaries; doc tests come last.
test: pocl
	cargo test --workspace --no-fail-fast

pocl:
	@tools/opencl.sh

# What .ci/run asks of a change besides its tests.
check:
	@.ci/run format clippy rustdoc dependencies
