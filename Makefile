# Everything that is done to this project, from one place. `make` alone lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help

BIN := .venv/bin
PACKAGES := $(wildcard libs/*/pyproject.toml services/*/pyproject.toml)
CODE := libs services deploy/local tests $(wildcard bench)
STACK := PYTHONPATH=deploy/local $(BIN)/python -m local_stack

.PHONY: help install run stop test check bench lock fmt lint types arch unit contract integration e2e chaos servers unit-and-contract

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9 ]+:.*## / {printf "  make %-24s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# .venv is made anew where its interpreter is gone, or PYTHON names another one.
WHICH := -c 'import sys; print(sys.base_prefix, sys.version)'
PRESENT := $(shell $(BIN)/python $(WHICH) 2>/dev/null)
WANTED := $(if $(PYTHON),$(shell $(PYTHON) $(WHICH)),$(PRESENT))
ifneq ($(PRESENT),$(or $(WANTED),some))
.PHONY: .venv/installed
endif

install: .venv/installed ## .venv with the pinned packages and ours; updated when a pin changes

.venv/installed: constraints.txt $(PACKAGES) deploy/local/install
	@deploy/local/install
	@touch $@

run: install ## servers, sample registers and services; Ctrl-C ends them
	@$(STACK) run

stop: install ## stop a `make run` in the background
	@$(STACK) stop

# A process for each core. Tests in files that share a running system stay in one process.
PYTEST := $(BIN)/pytest -n auto
WITH_SERVERS := $(STACK) with-servers $(PYTEST) --dist loadfile

test: unit-and-contract ## every test, on a real RabbitMQ and a real MongoDB
	@$(WITH_SERVERS) tests/integration tests/e2e tests/chaos

unit-and-contract: install
	@$(PYTEST) --dist worksteal tests/unit tests/contract

check: lint types arch test ## lint, types, arch and test: required before a change lands

bench: install servers ## benchmarks; BENCH=--quick only checks that they run
	@PYTHONPATH=deploy/local $(BIN)/python -m bench $(BENCH)

lock: ## resolve constraints.txt and services/*/requirements.txt again
	@deploy/local/lock

fmt: install ## format, and fix what ruff can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lint: install ## ruff: style and likely errors
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: install ## mypy --strict, tests included
	@$(BIN)/mypy $(CODE)

arch: install ## import-linter: the import rules
	@$(BIN)/lint-imports

unit contract: install ## the tests of one folder
	@$(PYTEST) --dist worksteal tests/$@

integration e2e chaos: install ## the tests of one folder that needs servers
	@$(WITH_SERVERS) tests/$@

servers: install
	@$(STACK) install
