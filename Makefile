.DEFAULT_GOAL := help
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -eu -o pipefail -c

export PATH := $(CURDIR)/.venv/bin:$(PATH)

# images set it at times: then each of some thousand processes compiles all of its modules anew
unexport PYTHONDONTWRITEBYTECODE

python := .venv/bin/python
heddle := .venv/bin/heddle
code := heddle shim adapters fairness altruism tests scripts docs/examples
lock_flags := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet

# each of these uses one core
side_by_side := $(MAKE) --no-print-directory --jobs 2 --output-sync=target

# of properties: "quick" draws a fifth of the examples that each test says, "heddle" all (tests/conftest.py)
profile := quick
parts = $(python) -m scripts.run_parts --profile $(profile)

.PHONY: help setup up down test test-all test-slice submission check fmt lint types pyright mypy console layers unit contest bench man docs release vulnerabilities lock

help: ## Show this help
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r verb text; do printf '  %-14s %s\n' "$$verb" "$$text"; done

setup: ## Install what all tests need: system packages (Debian, as root) and .venv from the lock file
	@scripts/setup.sh slice all

up: ## Start two YARN clusters and Heddle, run real work through them, and leave them running
	@scripts/setup.sh up
	$(heddle) demo up

down: ## End what `make up` left running
	@$(heddle) demo down

test: ## check, servers of this process, the main promises on two real clusters: at most 12 minutes; ends with a table
	@scripts/setup.sh test
	$(parts) test

test-all: ## Every test but those of a release: `make test` with all examples, and every slice
	@scripts/setup.sh slice all
	$(parts) --profile heddle all

test-slice: ## SLICE=faults, or more names: slices of `python -m scripts.slices`, each at most 20 minutes
	@scripts/setup.sh test
	needs=$$($(python) -m scripts.slices needs $(SLICE))
	[ -z "$$needs" ] || scripts/setup.sh slice $$needs
	$(parts) $(SLICE)

submission: ## Note that a submission follows: CI runs other slices each time
	@echo $$(($$(cat .ci/submission) + 1)) >.ci/submission
	git commit --quiet --only .ci/submission --message 'Raise the number of submissions'

check: ## What needs no server: lint, types, layers, unit tests, and properties on fewer examples
	@$(parts) static unit

fmt: ## Format the code and sort its imports
	@.venv/bin/ruff format $(code)
	.venv/bin/ruff check --fix $(code)
	$(python) -m scripts.console_checks format

lint: ## Style, spelling, formatting
	@.venv/bin/ruff check $(code)
	.venv/bin/ruff format --check $(code)
	.venv/bin/codespell $(code) docs docker README.md
	$(python) -m scripts.house_style

types: ## mypy --strict and pyright
	@$(side_by_side) pyright mypy

pyright mypy:
	@.venv/bin/$@

console: ## Rules, format and types of the console's modules, where Node is; the slice `console` tries them, too
	@$(python) -m scripts.console_checks lint
	$(python) -m scripts.console_checks types

layers: ## Which part may import which
	@.venv/bin/lint-imports

unit: ## Tests of code alone: tables, properties on all their examples, whether pages and code agree
	@$(parts) --profile heddle unit

contest: setup ## Each published system on a workload that it is for, against its rivals; SEEDS=3
	@$(python) -m scripts.paper_contests $(or $(SEEDS),3)

bench: setup ## Measure Heddle beside a ResourceManager and Hadoop's Router: all, or ONLY=rpc,relay
	@$(python) -m scripts.bench $(if $(ONLY),--only $(ONLY))

man: setup ## Write the manual page, .heddle/man/heddle.1
	@$(python) -m scripts.man_page

docs: setup ## Build the pages of docs/ as a site, .heddle/site; a link that leads nowhere is an error
	@NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs build # --quiet would swallow what strict counts
	echo "docs: .heddle/site/index.html"

release: ## Make wheel, sdist, image, chart, bill of materials and checksums in .heddle/release; each is installed once
	@scripts/setup.sh slice containers shipped
	scripts/docker-daemon.sh start
	trap 'scripts/docker-daemon.sh stop' EXIT
	scripts/release.sh

vulnerabilities: setup ## Look for known vulnerabilities of the locked packages, where an index can be reached
	@$(python) -m scripts.known_vulnerabilities

lock: ## Renew the lock files
	@uv pip compile pyproject.toml $(lock_flags) --extra postgres --extra plots --extra kerberos --extra oidc --extra ldap --group dev -o requirements.lock
	uv pip compile pyproject.toml $(lock_flags) --extra postgres -c requirements.lock -o docker/heddle/requirements.lock
