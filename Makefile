.DEFAULT_GOAL := help
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -eu -o pipefail -c

export PATH := $(CURDIR)/.venv/bin:$(PATH)

# images set it at times: then each of some thousand processes compiles all of its modules anew
unexport PYTHONDONTWRITEBYTECODE

python := .venv/bin/python
heddle := .venv/bin/heddle
logs := .heddle/logs
code := shim adapters fairness altruism tests scripts
lock_flags := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet

parts := lint types layers unit integration containers lab-tests
# they wait for each other, for servers and for clusters: figures compute in that time, and take none from them
beside := figures
idle := $(shell chrt --idle 0 true 2>/dev/null && echo chrt --idle 0 || echo nice -n 19)

without_clusters := not lab and not containers and not versions
pages := test_house test_architecture_page test_contributing_page test_documented_attacks
# the machines of properties take longest: they go first, so that no process ends with one alone
units := tests/property tests/unit $(pages:%=tests/packaging/%.py)

# each of these uses one core
side_by_side := $(MAKE) --no-print-directory --jobs 2 --output-sync=target

# of properties: "heddle" draws as many examples as each test says, "quick" a fifth of them
# (tests/conftest.py)
profile := heddle

# failed tests are kept by name, so that `make test` can end with all of them
define pytest
$(python) -m pytest --color=yes -p tests.support.failure_log --failure-log $(logs)/$(1).failures -m '$(2)' $(3)
endef

.PHONY: help setup up down test check fmt lint types pyright mypy tsc layers unit integration figures lab-tests containers test-versions bench man docs vulnerabilities lock

help: ## Show this help
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r verb text; do printf '  %-14s %s\n' "$$verb" "$$text"; done

setup: ## Install what all tests need: system packages (Debian, as root) and .venv from the lock file
	@scripts/setup.sh slice all

up: ## Start two YARN clusters and Heddle, run real work through them, and leave them running
	@scripts/setup.sh up
	$(heddle) demo up

down: ## End what `make up` left running
	@$(heddle) demo down

test: setup ## Everything: check, real clusters, containers; ends with each part and each failed test
	@rm -rf $(logs)
	mkdir -p $(logs)
	$(python) -m scripts.machine_waits note $(logs)/begun
	failed=
	run() { $(MAKE) --no-print-directory $$1 2>&1 | tee $(logs)/$$1.log; }
	run $(beside) >/dev/null & begun=$$!
	for part in $(parts); do run $$part || failed="$$failed $$part"; done
	echo "waiting for what $(beside) has left; it prints to $(logs)/$(beside).log"
	wait $$begun || failed="$$failed $(beside)"
	$(python) -m scripts.machine_waits told $(logs)/begun
	$(python) -m scripts.run_summary --logs $(logs) --failed "$$failed" $(parts) $(beside)

check: ## What needs no server: lint, types, layers, unit tests, and properties on fewer examples
	@$(side_by_side) lint pyright mypy tsc layers
	$(MAKE) --no-print-directory unit profile=quick

fmt: ## Format the code and sort its imports
	@.venv/bin/ruff format $(code)
	.venv/bin/ruff check --fix $(code)
	$(python) -m scripts.console_checks format

lint: ## Style, spelling, formatting
	@.venv/bin/ruff check $(code)
	.venv/bin/ruff format --check $(code)
	.venv/bin/codespell $(code) docs docker README.md
	$(python) -m scripts.house_style
	$(python) -m scripts.console_checks lint

types: ## mypy --strict and pyright; tsc over the console's modules
	@$(side_by_side) pyright mypy tsc

pyright mypy:
	@.venv/bin/$@

tsc:
	@$(python) -m scripts.console_checks types

layers: ## Which part may import which
	@.venv/bin/lint-imports

unit: ## Tests of code alone: tables, properties (profile=quick: on fewer examples), whether pages and code agree
	@$(call pytest,unit,$(without_clusters),-n auto --dist loadfile --no-loadscope-reorder --hypothesis-profile $(profile) $(units))

integration: ## Tests on servers and databases of this machine, and of what is shipped
	@$(call pytest,integration,$(without_clusters),-n auto --dist loadfile $(units:%=--ignore %) --ignore tests/simulation tests)

figures: ## Small versions of the figures in docs/evaluation.md and docs/fairness.md, and policies over modelled YARN
	@$(idle) $(call pytest,figures,not lab,-n auto --dist load --timeout 3600 tests/simulation)

lab-tests: ## Tests on real YARN clusters; two files of them at a time
	@$(python) -m scripts.class_archive
	$(call pytest,lab-tests,lab and (not versions or each_version),-v -n 2 --dist loadfile --no-loadscope-reorder --durations 15 $(units:%=--ignore %) tests)

containers: ## Tests of the images; starts a Docker daemon if none runs and it may
	@trap 'scripts/docker-daemon.sh stop' EXIT
	scripts/docker-daemon.sh start || true
	$(call pytest,containers,containers,tests/containers)

test-versions: setup ## Tests on each supported Hadoop version: before a release
	@$(call pytest,versions,versions,tests)

bench: setup ## Measure Heddle beside a ResourceManager and Hadoop's Router: all, or ONLY=rpc,relay
	@$(python) -m scripts.bench $(if $(ONLY),--only $(ONLY))

man: setup ## Write the manual page, .heddle/man/heddle.1
	@$(python) -m scripts.man_page

docs: setup ## Build the pages of docs/ as a site, .heddle/site; a link that leads nowhere is an error
	@NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs build # --quiet would swallow what strict counts
	echo "docs: .heddle/site/index.html"

vulnerabilities: setup ## Look for known vulnerabilities of the locked packages, where an index can be reached
	@$(python) -m scripts.known_vulnerabilities

lock: ## Renew the lock files
	@uv pip compile pyproject.toml $(lock_flags) --extra postgres --extra plots --extra kerberos --extra oidc --extra ldap --group dev -o requirements.lock
	uv pip compile pyproject.toml $(lock_flags) --extra postgres -c requirements.lock -o docker/heddle/requirements.lock
