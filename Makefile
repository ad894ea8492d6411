PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint bench format clean

# Setting up: one stamp per set of extras; torch goes first so that nothing pulls another build of it.
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

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint  ## all checks
	$(BIN)/pytest -n 2

bench: $(VENV)/.bench  ## measure against the yardsticks, in one run
	$(BIN)/python -m benchmarks

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist
