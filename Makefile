# Every target makes the virtual environment it needs; a stamp keeps it from being made twice.

PYTHON ?= python3
VENV   ?= .venv
MODEL  ?=
LAYER  ?=
PROMPT ?=
CONFIG ?=
DEVICE ?=
BOARD  ?=
# Processes for pytest.
WORKERS ?= 2
# Further arguments for pytest.
ARGS   ?=

BIN  := $(VENV)/bin
TYPES := build/types

export AMARANTH_USE_YOSYS := builtin
# Tests run side by side; threads of their own would only get in the way.
test test-slow: export OPENBLAS_NUM_THREADS ?= 1
# Made available to the recipe as they are, whatever characters they hold: dollars and quotes too.
override PROMPT := $(value PROMPT)
export MODEL LAYER PROMPT CONFIG DEVICE

.PHONY: help sim bitstream flash test test-slow lint docs results clean
.DEFAULT_GOAL := help

help:
	@echo "make sim         run an attention layer and a whole small model on the RTL"
	@echo "                 MODEL= LAYER= PROMPT= CONFIG= DEVICE=functional|rtl change what runs"
	@echo "make bitstream   build the bitstream of BOARD= (see systolith boards)"
	@echo "make flash       write it to the board"
	@echo "make test        style, types and the regression (WORKERS=2, ARGS= for pytest)"
	@echo "make test-slow   the slow tests alone"
	@echo "make docs        generate docs/isa.md and constraints"
	@echo "make results     renew the tables of docs/results.md from runs on the RTL"
	@echo "make clean       remove the virtual environment and what was built here"
	@echo "PYTHON=python3.12 chooses the interpreter of the virtual environment (3.11 or newer)."

sim: $(VENV)/installed
	@$(BIN)/systolith run $${MODEL:+"$$MODEL"} $${LAYER:+--layer "$$LAYER"} \
	    $${PROMPT:+--prompt "$$PROMPT"} $${CONFIG:+--config "$$CONFIG"} \
	    $${DEVICE:+--device "$$DEVICE"}
	@test -n "$$MODEL$$LAYER$$PROMPT" || $(BIN)/systolith run mathformer '7*8=' \
	    $${CONFIG:+--config "$$CONFIG"} $${DEVICE:+--device "$$DEVICE"}

bitstream flash: $(VENV)/installed-board
	@test -n "$(BOARD)" || { $(BIN)/systolith boards; echo "choose one: make $@ BOARD=" >&2; exit 2; }
	@$(BIN)/systolith $@ $(BOARD) $(ARGS)

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-slow: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(WORKERS) -m slow $(ARGS)

lint: $(VENV)/installed-test $(TYPES)/systolith
	$(BIN)/ruff check .
	$(BIN)/mypy -p systolith.sw

docs: $(VENV)/installed
	$(BIN)/python -m systolith.hw.document > docs/isa.md
	$(BIN)/python -m systolith.hw.boards.constraints

results: $(VENV)/installed-test
	$(BIN)/python -m systolith.sim.results

clean:
	rm -rf $(VENV) build systolith.egg-info .hypothesis .pytest_cache .mypy_cache .ruff_cache

# The type checker does not follow the import hook of an editable installation, so it gets the
# namespace package as a folder.
$(TYPES)/systolith:
	mkdir -p $(TYPES)
	ln -sfn ../.. $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "$(PYTHON) must be Python 3.11 or newer: set PYTHON=" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	    { echo "cannot make a virtual environment: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	@echo "Installing Systolith and what it needs into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/installed-test: pyproject.toml | $(VENV)/bin/python
	@echo "Installing Systolith and what its tests need into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/installed

$(VENV)/installed-board: pyproject.toml | $(VENV)/bin/python
	@echo "Installing Systolith and the tools for boards into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[board]'
	@touch $@ $(VENV)/installed
