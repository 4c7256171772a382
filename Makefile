# Everything sets itself up from a bare clone; PYTHON may name another interpreter (>= 3.11).
# `make demo` installs the core only. Other targets add what they need to the same environment, and
# say so; a second run installs nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
READY := $(VENV)/.ready
PAGE_READY := $(VENV)/.page-ready
SITE_READY := $(VENV)/.site-ready
WHEELS_READY := $(VENV)/.wheels-ready
ZIG_READY := $(VENV)/.zig-ready
NOX := .venvs/nox/bin/nox
AXE := $(VENV)/axe/.ready
EXTRAS := page,plots,spark,postgres,duckdb,clickhouse,excel
# Only errors: where an index is slow or absent, pip has much to say.
INSTALL := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt

# Every target with a plain name is a command, not a file.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

$(CORE): pyproject.toml constraints.txt hatch_build.py src/tametail/data/kernels/_native.c
	@echo "Making an environment of its own in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "Installing tametail and what it needs: NumPy, SciPy, OpenDP, pyarrow"
	@echo "(about 700 MB on disk, half a minute with a fast network; only the first time)"
	@$(INSTALL) --editable .
	@touch $@

# pip reads dependency groups from 25.1 on, and Python brings an older one.
$(READY): $(CORE)
	@echo "Adding to $(VENV) what the tests need: Spark, a PostgreSQL server, a browser's driver, linters"
	@echo "(about 2 GB on disk in all, one to five minutes; only the first time)"
	@$(INSTALL) --upgrade pip
	@$(INSTALL) --group dev --editable '.[$(EXTRAS)]'
	@touch $@

$(PAGE_READY): $(CORE)
	@echo "Adding to $(VENV) what the page needs: Starlette, Jinja2, uvicorn (20 MB)"
	@$(INSTALL) --editable '.[page]'
	@touch $@

$(SITE_READY): $(READY)
	@echo "Adding to $(VENV) what the documentation site needs: Sphinx and a theme (100 MB)"
	@$(INSTALL) --group docs
	@touch $@

$(WHEELS_READY): $(CORE)
	@echo "Adding to $(VENV) what builds and checks wheels: build, twine, auditwheel (40 MB)"
	@$(INSTALL) --upgrade pip
	@$(INSTALL) --group wheels
	@touch $@

$(ZIG_READY): $(CORE)
	@echo "Adding to $(VENV) a compiler for other systems: zig (400 MB)"
	@$(INSTALL) --upgrade pip
	@$(INSTALL) --group compilers
	@touch $@

$(NOX):
	@echo "Making an environment for nox in .venvs/nox (17 MB)"
	@$(PYTHON) -m venv .venvs/nox
	@.venvs/nox/bin/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt nox

demo: $(CORE)  ## the main job in a minute: a private mean of the example file, explained
	@$(BIN)/python examples/demo.py

check: lint types layers fast  ## before each commit: lint, types, layers, the fast tests (a minute)

fast: $(READY)
	$(BIN)/pytest -n auto --durations=5 $(shell cat tests/fast.txt)

test: lint types layers unit  ## everything that decides whether a change may land

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

unit: $(READY) $(AXE)
	$(BIN)/pytest -n auto --durations=10

test-oldest: $(NOX)  ## all tests with the lowest versions of all dependencies (tens of minutes)
	$(NOX) --session oldest

test-all: $(NOX)  ## the tests without Spark and browser on every Python from 3.11 on that is here (an hour)
	$(NOX) --session suite

# What looks for barriers on the page, in tests only; without npm these tests are skipped.
$(AXE): $(READY)
	mkdir -p $(VENV)/axe
	npm install --silent --no-save --no-package-lock --prefix $(VENV)/axe axe-core@4.14.0 || echo "no axe-core: its tests are skipped"
	touch $@

audit: $(READY)  ## privacy audits of all there is, written to docs/evidence/audit.md (tens of minutes)
	TAMETAIL_METER_PAIRS=80 $(BIN)/pytest -q -n auto tests/privacy/test_loss_meter.py
	TAMETAIL_NEIGHBOR_CASES=1000 $(BIN)/pytest -q -n auto tests/backends/test_neighbors.py \
		tests/privacy/test_same_questions.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/audit.py --resume $(VENV)/audit.json --write docs/evidence/audit.md

timing: $(READY)  ## what running time says about the records
	$(BIN)/python benchmarks/timing.py

sanitize: $(READY)  ## the compiled loops with the compiler's sanitizers
	$(BIN)/python tools/sanitize.py

compilers: $(ZIG_READY)  ## the compiled loops without a warning, by every compiler that is here
	$(BIN)/python tools/try_compilers.py

wheel: $(WHEELS_READY)  ## sdist and wheels, tried on every Python that is here (minutes); KEEP=folder
	$(BIN)/python tools/try_wheels.py $(if $(KEEP),--keep $(KEEP))

integers: $(READY)  ## one request on memory, DuckDB, PostgreSQL, ClickHouse, Spark, Spark Connect: equal (two minutes)
	$(BIN)/python -m tests.backends.same_integers

mutants: $(READY)  ## deliberate bugs, and the test that notices each (minutes)
	$(BIN)/python -m tests.mutants.run

chance: $(READY)  ## all tests three times with fresh seeds; prints what hangs on luck (half an hour)
	$(BIN)/python -m tests.chance

faults: $(READY)  ## kills, broken files, full disks, threads, long, into docs/evidence/faults.md (minutes)
	$(BIN)/python -m tests.faults.table --write docs/evidence/faults.md

ledger-evidence: $(READY)  ## kills, power losses and races, long, into docs/evidence/ledger-evidence.md (minutes)
	$(BIN)/python -m tests.ledger.evidence --write docs/evidence/ledger-evidence.md

# What privacy rests on, line by line and branch by branch.
PRIVACY := */mechanisms/*,*/queries/column.py,*/queries/paper.py,*/queries/rows.py,*/tametail/ask.py,*/privacy/budget.py,*/privacy/definitions.py,*/privacy/accounting.py
PRIVACY_TESTS := tests/mechanisms tests/vectors/test_kernel.py tests/vectors/test_mechanisms.py \
	tests/data/test_vector_kernel.py tests/privacy/test_mutants_ask.py tests/test_accounting.py \
	tests/test_ask.py tests/test_budget.py tests/test_guarantee.py tests/test_queries.py \
	tests/test_guards.py tests/test_groups.py tests/persons

coverage-privacy: $(READY)  ## lines and branches of what privacy rests on: all, or it fails
	COVERAGE_FILE=$(VENV)/.coverage $(BIN)/pytest -n auto --cov --cov-branch --cov-report= $(PRIVACY_TESTS)
	COVERAGE_FILE=$(VENV)/.coverage $(BIN)/coverage report --include='$(PRIVACY)' --show-missing --fail-under=100

theorems: $(READY)  ## the paper's theorems at the n that they ask for (20 CPU minutes): docs/explanation/theorems.md
	$(BIN)/python benchmarks/theorems.py --keep docs/explanation/theorems.md

reproduce: $(READY)  ## the paper as an experiment (45 CPU minutes): docs/evidence/reproduction.md; QUICK=1 only looks
	$(BIN)/tametail reproduce $(if $(QUICK),--quick) --output reproduction; failed=$$?; \
	$(if $(QUICK),,$(BIN)/python tools/keep_reproduction.py reproduction;) exit $$failed

accuracy: $(READY)  ## error over an oracle's; DATA=folder adds its one-column files
	$(BIN)/python benchmarks/accuracy.py $(if $(DATA),--data $(DATA))

coverage: $(READY)  ## how often the intervals cover, and how wide they are
	$(BIN)/python benchmarks/coverage.py

guide: $(READY)  ## what the guide says of plans, quantiles, doubts and the part of privacy; DATA=folder
	$(BIN)/python benchmarks/guide.py $(if $(DATA),--data $(DATA))

odd: $(READY)  ## 20,000 releases of odd data: how many mislead without a word
	$(BIN)/python benchmarks/odd.py --jobs 2

speed: $(READY)  ## CPU time over the plain mean: memory, files, Spark, imports; the page; LARGE=1 adds 1e8 records
	$(BIN)/python benchmarks/speed.py $(if $(LARGE),--large)
	$(BIN)/python benchmarks/page_speed.py

scale: $(READY)  ## how the cost grows with rows, columns and groups
	$(BIN)/python benchmarks/scale.py --rows 100000 1000000 10000000

aggregation: $(READY)  ## totals of persons: equal on all backends on 1e6 rows, speed, little memory (ten minutes)
	$(BIN)/python benchmarks/aggregation.py

peers: $(READY)  ## beside other libraries and papers (ten minutes); DATA=folder as above
	$(BIN)/python benchmarks/peers.py --jobs 2 $(if $(DATA),--data $(DATA))

pictures: $(READY)  ## draw the pictures of README and site again
	$(BIN)/python benchmarks/bounds_picture.py
	$(BIN)/python benchmarks/site_pictures.py

screenshots: $(READY)  ## every view of the page, light, dark and phone, into docs (needs Chromium)
	$(BIN)/python tools/screenshots.py

newcomer:  ## what a newcomer does, from a bare clone: README, wheel, page (minutes)
	$(PYTHON) tools/newcomer.py

notebook: $(READY)  ## execute the example notebook of the docs again
	$(BIN)/python tools/make_notebook.py --write

page: $(PAGE_READY)  ## open the local page over the examples
	$(BIN)/tametail page examples

site: $(SITE_READY)  ## the documentation as pages, in docs/_build/html
	$(BIN)/sphinx-build --fail-on-warning --nitpicky --fresh-env --quiet \
		--doctree-dir docs/_build/doctrees docs docs/_build/html

pins: $(READY)  ## pin the proofs to the code: only after reading them again
	$(BIN)/python tools/pin_proofs.py --write

clean:  ## remove what the targets above made
	rm -rf $(VENV) .venvs .nox .peers .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache docs/_build reports reproduction
