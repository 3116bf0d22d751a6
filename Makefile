# What a person does with a clone of Paceline. Everything sets itself up first: `make help` tells.

.DEFAULT_GOAL := help
.PHONY: help install release bench test speed cluster-demo fmt clean

PLAN ?= plans/quick.toml
PREFIX ?= $(HOME)/.local

help: ## Show this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: ## Build and install to PREFIX (~/.local): binary, servers, manual pages, completions
	@scripts/package install '$(PREFIX)'

release: ## Make dist/paceline-VERSION-TARGET.tar.gz, which runs where it is unpacked, and try it
	@scripts/package archive

bench: ## Set up, build, run PLAN (plans/quick.toml) over real servers, print the ranked result, keep it
	@scripts/setup bench
	@scripts/bench '$(PLAN)'

test: ## Set up and run every check and test; the last line is the sum
	@scripts/setup test
	@scripts/test

speed: ## Compare the generator with its peers and with the floor, side by side
	@scripts/setup
	@speed/run

cluster-demo: ## Try runs over several machines in a cluster of network namespaces (root)
	@scripts/cluster-demo

fmt: ## Format all code
	cargo fmt --all

clean: ## Remove what was compiled, of Paceline and of the servers; results are kept
	cargo clean
	rm -rf fuzz/target .paceline/build .paceline/scratch
