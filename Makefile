# Everything sets itself up from a bare clone; PYTHON may name another interpreter (>= 3.11).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test lint types layers unit audit theorems accuracy coverage speed pins clean

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,plots,spark]'
	touch $@

demo: $(READY)  ## the main job: a private mean of the example file, explained
	$(BIN)/python examples/demo.py

test: lint types layers unit  ## everything that decides whether a change may land

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/pytest -n auto

audit: $(READY)  ## long privacy audits (tens of minutes)
	$(BIN)/python benchmarks/audit.py

theorems: $(READY)  ## the paper's theorems, checked at the n that they ask for
	$(BIN)/python benchmarks/theorems.py

accuracy: $(READY)  ## error over an oracle's; DATA=folder adds its one-column files
	$(BIN)/python benchmarks/accuracy.py $(if $(DATA),--data $(DATA))

coverage: $(READY)  ## how often the intervals cover, and how wide they are
	$(BIN)/python benchmarks/coverage.py

speed: $(READY)  ## CPU time over numpy.mean, memory, import time
	$(BIN)/python benchmarks/speed.py

pins: $(READY)  ## pin the proofs to the code: only after reading them again
	$(BIN)/python tools/pin_proofs.py --write

clean:  ## remove what the targets above made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
