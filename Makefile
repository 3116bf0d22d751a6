# Common tasks in a clone of Paceline; `make help` lists them. release, bench, test, lint and speed install missing tools first.

.DEFAULT_GOAL := help
.PHONY: help install release image bench test lint msrv speed cluster-demo fmt clean

PLAN ?= plans/quick.toml
PREFIX ?= $(HOME)/.local

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Paths reach the shell as variables: they may contain a quote.
install: export INSTALL_PREFIX = $(PREFIX)
install: ## Build and install to PREFIX (~/.local): binary, servers, documents, manual pages
	@scripts/package install "$$INSTALL_PREFIX"

release: ## Build and try dist/: archives and Debian packages for x86_64 and aarch64, formula, SBOM, checksums
	@scripts/setup release
	@scripts/package release

image: ## Build the container image paceline:VERSION from the archive of make release
	@scripts/package image

bench: export BENCH_PLAN = $(PLAN)
bench: ## Set up, build, run PLAN (plans/quick.toml) over real servers, print and store the ranked result
	@scripts/setup bench
	@scripts/bench "$$BENCH_PLAN"

test: ## Set up and run every test; the last line is the total
	@scripts/setup test
	@scripts/test

lint: ## Check format, clippy's warnings, and dependencies (vulnerabilities, licences)
	@scripts/setup lint
	@scripts/lint

msrv: VERSION = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv: ## Check that the product compiles with the oldest Rust that Cargo.toml declares (installs it by rustup)
	rustup toolchain install $(VERSION) --profile minimal --no-self-update
	CARGO_TARGET_DIR=target/msrv cargo +$(VERSION) check --locked

speed: ## Compare the generator with other load generators and with tiny C programs
	@scripts/setup
	@speed/run

cluster-demo: ## Try runs over several machines in a cluster of network namespaces (root)
	@scripts/cluster-demo

fmt: ## Format all code
	cargo fmt --all

clean: ## Remove build output of Paceline and of the servers; results are kept
	cargo clean
	rm -rf fuzz/libfuzzer/target .paceline/build .paceline/scratch
