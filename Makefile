PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo lint check test faults fuzz bench format clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 9

# Setup: one stamp per set of extras; torch goes first so that nothing pulls another build of it.
$(VENV)/.base: pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "Setting up $(VENV) (once, a few minutes)"; $(PYTHON) -m venv $(VENV); }
	@$(PIP) torch
	@$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@$(PIP) -e ".[dev]"
	@touch $@

$(VENV)/.bench: $(VENV)/.base
	@$(PIP) -e ".[bench]"
	@touch $@

demo: $(VENV)/.base  ## train on MUTAG, save the model, predict for three new molecules
	@$(BIN)/ccn demo

lint: $(VENV)/.dev  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint  ## lint and the fast tests, for daily work
	$(BIN)/pytest -n 2 -m "not slow"

test: lint  ## lint and all tests
	$(BIN)/pytest -n 2

fuzz: $(VENV)/.dev  ## 10,000 damaged inputs and forged models through the real readers, some minutes
	$(BIN)/python -m tests.fuzz --processes 2 --report results/reliability/fuzz.json
	$(BIN)/python -m tests.fuzz.page

faults: $(VENV)/.dev  ## let every change on disk of small runs fail, and count what holds (half an hour or less)
	$(BIN)/python tests/faults --report results/reliability/faults.json --page docs/reliability.md

bench: $(VENV)/.bench  ## measure against the yardsticks, in one run
	$(BIN)/python -m benchmarks

format: $(VENV)/.dev  ## fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment and builds
	rm -rf $(VENV) build dist
