# `make` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help setup test one slow lint types docs stages fuzz figures ci
PYTHON := .venv/bin/python

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

setup: .venv/bin/pyright ## make .venv with what development needs

.venv/bin/pyright:
	python3 -m venv .venv
	.venv/bin/pip install -e '.[dev]'

test: setup ## the quick tests: under four minutes on two cores
	$(PYTHON) -m pytest -n auto

one: setup ## one test: make one T=tests/passes/test_coalesce.py
	$(PYTHON) -m pytest -n 0 -m '' $(T)

slow: setup ## the other tests: half an hour on two cores
	$(PYTHON) -m pytest -n auto --dist worksteal -m slow

lint: setup ## style, formatting, layers of imports
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports

types: setup ## pyright
	.venv/bin/pyright --pythonpath $(PYTHON)

docs: setup ## the site in build/site
	.venv/bin/pip install -q -e '.[docs]'
	.venv/bin/mkdocs build --strict -f docs/website/mkdocs.yml

stages: setup ## a program after every pass: make stages F=examples/matmul.mlir T=sim
	$(PYTHON) -m gpucodegen emit $(F) --target $(or $(T),cpu) --print-ir-after=all

fuzz: setup ## random programs on all engines: make fuzz N=200
	$(PYTHON) -m tests.made $(or $(N),200)

figures: setup ## lines, files, folders, duplicates
	$(PYTHON) .ci/figures.py

ci: ## all that a change must pass
	.ci/run
