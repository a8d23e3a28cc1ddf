# Every target sets up what it needs by itself in .venv. `make demo`, `make serve` and `make test` are those to know.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SHARED_DATA := $(wildcard ../shared/data)
ifneq ($(SHARED_DATA),)
export EVERYPAIR_DATA ?= $(abspath $(SHARED_DATA))
endif

.PHONY: campaign demo serve test test-blas test-oldest test-newest sbom slow lint format bench reproduce docs wheel release clean

demo: $(VENV)/.core
	$(BIN)/everypair demo

serve: $(VENV)/.serve
	$(BIN)/everypair demo --serve

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal

test-blas: $(VENV)/.dev
	$(BIN)/python tools/blas.py test $(CORES)

# the lowest declared versions (Python 3.11 has wheels of all) and the newest, in environments of their own
PARTS := plot,neural,tune,cluster,serve
TOOLS := "pytest>=8" "pytest-xdist>=3.6" "hypothesis>=6.100" "packaging" "httpx>=0.27" "optax>=0.2.2" pandas polars
FILES := tests/models/test_files.py tests/models/test_kept_files.py tests/models/test_codec.py
SOME ?= tests/store tests/data tests/metrics tests/retrieve $(FILES)
test-oldest: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet packaging
	$(BIN)/python tools/versions.py floors > build-floors.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet -e ".[$(PARTS)]" $(TOOLS) -c build-floors.txt
	.venv-oldest/bin/python -m pytest -n logical --maxprocesses 4 --dist worksteal --junitxml=.venv-oldest/tests.xml $(SOME)
	.venv-oldest/bin/python tools/versions.py ran oldest .venv-oldest/tests.xml

test-newest:
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager -e ".[$(PARTS)]" $(TOOLS)
	.venv-newest/bin/python -m pytest -n logical --maxprocesses 4 --dist worksteal --junitxml=.venv-newest/tests.xml $(SOME)
	.venv-newest/bin/python tools/versions.py ran newest .venv-newest/tests.xml

sbom: $(VENV)/.core
	$(BIN)/python -m pip install --quiet packaging
	mkdir -p dist && $(BIN)/python tools/versions.py sbom dist/sbom.json

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
	rm -rf $(VENV) .venv-oldest .venv-newest build-floors.txt build dist site .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
