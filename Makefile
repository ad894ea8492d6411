PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
# The molecule editor of the page of ccn serve: OpenChemLib, under the licence that is fetched with it.
EDITOR := src/ccn/serving/editor
EDITOR_VERSION := 9.25.0

.PHONY: help demo editor lint check test test-browser test-wheel test-pythons docs pictures faults fuzz bench format clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 14

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

demo: $(VENV)/.base  ## train on MUTAG, save the model, predict for three new molecules, write a report
	@$(BIN)/ccn demo

editor:  ## fetch the molecule editor of ccn serve with npm (its page works without it)
	@rm -rf $(EDITOR) && mkdir -p $(EDITOR)
	@cd $(EDITOR) && npm pack --silent openchemlib@$(EDITOR_VERSION) > /dev/null
	@cd $(EDITOR) && tar xzf openchemlib-*.tgz --strip-components=1 package/LICENSE package/dist/openchemlib.js
	@cd $(EDITOR) && mv dist/openchemlib.js . && rm -r dist openchemlib-*.tgz

lint: $(VENV)/.dev  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint  ## lint and the fast tests, for daily work
	$(BIN)/pytest -n 2 -m "not slow"

test: $(VENV)/.dev  ## lint and all tests
	@$(MAKE) --no-print-directory -j 2 lint test-engine
	$(BIN)/pytest -n 2 --ignore tests/engine

test-engine: $(VENV)/.dev  ## the tests of the engine, which compile its kernels for all others
	$(BIN)/pytest -n 2 tests/engine

test-browser: $(VENV)/.dev  ## reports and the page of ccn serve in Debian's chromium, which it installs
	@$(PIP) -e ".[browser]"
	@command -v chromium > /dev/null || apt-get install -y -qq chromium
	CCN_TEST_BROWSER=1 $(BIN)/pytest tests/reports/test_browser.py tests/serving/test_browser.py

test-wheel:  ## build wheel and sdist, install each in a new environment of PYTHON, try it outside the tree
	.ci/try-release $(PYTHON)

test-pythons:  ## the same with every supported Python that is installed
	@for v in 3.11 3.12 3.13; do \
	  if python$$v --version > /dev/null 2>&1; then .ci/try-release python$$v || exit 1; \
	  else echo "Python $$v is not installed"; fi; done

docs: $(VENV)/.dev  ## build the site in build/docs/html, offline; warnings are errors, links are checked
	@$(PIP) -e ".[docs]"
	@rm -rf build/docs/html
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs build/docs/html
	$(BIN)/python docs/site/links.py build/docs/html

pictures: $(VENV)/.dev  ## make the pictures of the README and the site again, in Debian's chromium
	@$(PIP) -e ".[browser]"
	@command -v chromium > /dev/null || apt-get install -y -qq chromium
	$(BIN)/python -W ignore docs/site/pictures.py

fuzz: $(VENV)/.dev  ## 10,000 damaged inputs and forged models through the real readers, some minutes
	$(BIN)/python -m tests.fuzz --processes 2 --report results/reliability/fuzz.json
	$(BIN)/python -m tests.fuzz.page

faults: $(VENV)/.dev  ## let every change on disk of small runs fail, and count what holds (about half an hour)
	$(BIN)/python tests/faults --report results/reliability/faults.json --page docs/reliability.md

bench: $(VENV)/.bench  ## measure against the yardsticks, in one run
	$(BIN)/python -m benchmarks

format: $(VENV)/.dev  ## fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment and builds
	rm -rf $(VENV) build dist
