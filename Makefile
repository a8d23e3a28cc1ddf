# Every target sets up what it needs by itself in .venv. `make demo`, `make serve` and `make test` are those to know.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SHARED_DATA := $(wildcard ../shared/data)
ifneq ($(SHARED_DATA),)
export EVERYPAIR_DATA ?= $(abspath $(SHARED_DATA))
endif

.PHONY: campaign demo serve test test-blas slow lint format bench reproduce docs wheel release clean

demo: $(VENV)/.core
	$(BIN)/everypair demo

serve: $(VENV)/.serve
	$(BIN)/everypair demo --serve

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal

test-blas: $(VENV)/.dev
	$(BIN)/python tools/blas.py test $(CORES)

slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/top_k.py
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/everybody.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/serve.py
	$(BIN)/python benchmarks/multilabel.py cost
	$(BIN)/python benchmarks/nights.py
	$(BIN)/python benchmarks/footprint.py
	$(BIN)/python benchmarks/labels.py missing
	$(BIN)/python benchmarks/labels.py wiki
	$(BIN)/python benchmarks/race_page.py

reproduce: $(VENV)/.dev
	$(BIN)/python experiments/reproduce.py --quick

MINUTES ?= 10
campaign: $(VENV)/.dev
	$(BIN)/python tools/campaign/run.py $(if $(HOURS),--hours $(HOURS),--minutes $(MINUTES))

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

wheel: $(VENV)/.core
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --wheel

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.core: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/.%: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[$*]"
	touch $@

release: $(VENV)/.core
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python tools/release.py

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
