# Everything here starts from python3 (3.11 to 3.13), Java 17 or newer, and make. `make help` says what there is.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo bench-append bench-catalog bench-conflicts bench-expiry bench-intake bench-list bench-tick test test-services test-faults test-faults-maintenance test-parity check lint types imports feed dev lock docs-operations jar screenshots clean

PYTHON ?= python3
UV_VERSION := 0.13.9
UV := .make/uv-$(UV_VERSION)/bin/uv
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV_HOME := $(CURDIR)/.dagster_home
# Two processes with a JVM each: most of a test is waiting for one thread or another. A file stays together.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

DAYS ?= 14
demo: $(READY) ## real flights become a healthy Iceberg table, by sensors; some minutes, DAYS=366 for the whole year
	$(BIN)/python -m demo.run --days $(DAYS)

test: lint types imports ## everything that CI runs: lint, types, import rules, all tests, the demo
	$(PYTEST)
	$(BIN)/python -m demo.run

check: lint types imports ## the quick part of it, without a JVM: under two minutes
	$(PYTEST) -m "not jvm"

SEEDS ?= 0:50
RESULTS ?= docs/exactly-once-results.json
test-faults: $(READY) ## processes killed and run at once, SEEDS=a:b; see docs/exactly-once.md
	$(BIN)/python -m iceberg_assets_tests.faults.rounds $(SEEDS) --results $(RESULTS)

test-faults-maintenance: SEEDS = 0:45
test-faults-maintenance: $(READY) ## maintenance killed at its steps and in between, SEEDS=a:b; see docs/maintenance.md
	$(BIN)/python -m iceberg_assets_tests.faults.upkeep $(SEEDS)

# Their answers are what the tests without a JVM hold the rule to; they are written where all layouts were played.
test-parity: SEEDS = 0:200
test-parity: RESULTS = docs/parity-results.json
test-parity: $(READY) ## health's plan beside what the engine rewrites, SEEDS=a:b of 200 layouts; see docs/plan.md
	$(BIN)/python -m iceberg_assets_tests.parity.rounds $(SEEDS) --results $(RESULTS)

test-orphans: SEEDS = 0:1000
test-orphans: $(READY) ## the search for orphans beside what is reachable, SEEDS=a:b of 1,000 layouts; see docs/expiry-and-orphans.md
	$(BIN)/python -m iceberg_assets_tests.orphans.rounds $(SEEDS)

CATALOGS ?=
test-services: $(READY) ## the suite against real catalogs and stores, CATALOGS="glue hive" or all; see docs/catalogs.md
	$(BIN)/python -m iceberg_assets_tests.services.run $(CATALOGS) --write

bench-append: $(READY) ## our append beside a hand-written one: medians, ratios and limits
	$(BIN)/python -m benchmarks.bench_append

bench-catalog: $(READY) ## the whole-catalog job beside a loop of CALLs: ratio, memory and limits
	$(BIN)/python -m benchmarks.bench_catalog

bench-expiry: $(READY) ## the first expiry of a table of 3,000 snapshots, on a driver of 512 MB
	$(BIN)/python -m benchmarks.bench_expiry

bench-conflicts: $(READY) ## users' statements beside compactions and leases: how often who gives way
	$(BIN)/python -m benchmarks.bench_conflicts

bench-tick: $(READY) ## a sensor tick over many files, dates and tables: figures and limits
	$(BIN)/python -m benchmarks.bench_tick

bench-list: $(READY) ## names and metadata pointers of 1,000 tables of REST, Glue and SQL catalogs: figures and limits
	$(BIN)/python -m benchmarks.bench_list

bench-intake: $(READY) ## 10,000 footers, and a date against a ledger of a million files: figures and limits
	$(BIN)/python -m benchmarks.bench_intake

docs-operations: $(READY) ## the tables of docs/operations.md, from what is declared of Iceberg's procedures
	$(BIN)/python -m iceberg_assets_tests.operations_page

jar: $(READY) ## iceberg_assets/jvm compiled anew, which needs no JDK; see docs/flat-location.md
	$(BIN)/python -m iceberg_assets_tests.jar

screenshots: $(READY) ## pictures of the UI for the docs, of what the last `make demo` left
	$(BIN)/python -m iceberg_assets_tests.daemon.screenshots

lint: $(READY) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy, strict
	$(BIN)/mypy

imports: $(READY) ## import-linter: which package may know which
	$(BIN)/lint-imports

feed: $(READY) ## land two weeks of raw flights under data/raw
	$(BIN)/python -m demo.feed

dev: feed ## the Dagster UI with its daemon on http://127.0.0.1:3000
	mkdir -p $(DEV_HOME)
	cp dagster.yaml $(DEV_HOME)/
	DAGSTER_HOME=$(DEV_HOME) DAGSTER_GRPC_TIMEOUT_SECONDS=180 $(BIN)/dg dev --workspace workspace.yaml --host 127.0.0.1 --port 3000

setup: $(READY) ## the environment alone: .venv as requirements.lock says

# uv lives beside the environment, not in it: `uv pip sync` removes whatever the lock does not name.
$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
	  echo "Python 3.11 to 3.13 is needed, and $(PYTHON) is $$($(PYTHON) --version 2>&1): make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { \
	  echo "$(PYTHON) has no venv module: install it (Debian: apt install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv .make/uv-$(UV_VERSION)
	.make/uv-$(UV_VERSION)/bin/pip install --quiet uv==$(UV_VERSION)

$(READY): requirements.lock pyproject.toml | $(UV)
	test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) $(VENV)
	$(UV) pip sync --quiet --require-hashes --python $(BIN)/python requirements.lock
	$(UV) pip install --quiet --no-deps --python $(BIN)/python --editable .
	touch $@

lock: | $(UV) ## resolve pyproject.toml anew into requirements.lock
	$(UV) pip compile --quiet --universal --generate-hashes --all-extras pyproject.toml -o requirements.lock

clean: ## remove the environment and everything that was built; data/ stays
	rm -rf $(VENV) .make .dagster_home build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
