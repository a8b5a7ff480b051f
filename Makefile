# Everything happens in .venv, which `make` sets up by itself from any Python 3.11, 3.12 or 3.13.
#   make demo    set up, compile and run a real model
#   make test    set up, run all tests
#   make help    the other targets

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
JOBS ?= 2
MODELS ?= .models

# Real models the tests run by default; all others with `make models` and `pytest -m full`.
SMALL := swift_f0,basic_pitch_nmp,magika_v1,magika_v3_3,dtln_1,dtln_2,pyfrspell_derive_int8,chars2vec_en300
SMALL := $(SMALL),silero_vad_v6,silero_vad_half,oww_embedding,oww_melspectrogram,oww_hey_jarvis
SMALL := $(SMALL),onnx_light_squeezenet,onnx_light_resnet50,ortds_mul_1,ortds_sigmoid,ortds_logreg_iris

# PYTHON=/path/to/python3.12 chooses the interpreter; otherwise the first of these that fits.
CANDIDATES := $(PYTHON) python3 python3.13 python3.12 python3.11 python
SUITABLE := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))

.PHONY: help setup demo test conformance ops check checked lint format models bench lit
.PHONY: fuzz-passes fuzz-compiled peer mutate clean

help:
	@sed -n 's/^#   make/make/p' Makefile
	@echo 'make check   tests, then ruff and pyright (what CI runs)'
	@echo 'make lint    ruff and pyright'
	@echo "make conformance  all cases of the ONNX standard's own test suite (a sample of them is in make test)"
	@echo 'make checked tests, conformance, models and random graphs with kernels that check every access to memory'
	@echo 'make ops     write docs/ops.md: how each op runs (runs the conformance suite)'
	@echo 'make peer    com.microsoft, ai.onnx.ml and string ops against onnxruntime, at random (ONLY=part COUNT=200)'
	@echo 'make fuzz-passes    20,000 random graphs through each pass alone (SEED=0 COUNT=20000)'
	@echo 'make fuzz-compiled  1,000 random graphs through the compiled pipeline (SEED=0 COUNT=1000)'
	@echo 'make mutate  take every guard of passes, patterns and kinds away once; tests must notice (ONLY="path ...")'
	@echo 'make format  let ruff format the code'
	@echo 'make models  fetch all real models into $(MODELS)'
	@echo 'make bench   all figures against onnxruntime and their goals (GROUPS="gemm fetched", THREADS=2)'
	@echo "make lit     run the .mlir tests with lit's own runner"
	@echo 'make setup   only make the environment'
	@echo 'make clean   remove it'

setup: $(READY)

$(READY): pyproject.toml
	@set -e; found=; \
	for candidate in $(CANDIDATES); do \
	  if "$$candidate" -c '$(SUITABLE)' >/dev/null 2>&1; then found=$$candidate; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "error: no Python 3.11, 3.12 or 3.13 with venv found (name one: make PYTHON=/path/to/python3.12)" >&2; \
	  exit 1; \
	fi; \
	if ! [ -x $(BIN)/python ] || ! $(BIN)/python -c '$(SUITABLE)' >/dev/null 2>&1; then \
	  rm -rf $(VENV); "$$found" -m venv $(VENV); \
	fi; \
	echo "setting up $(VENV) with $$($(BIN)/python --version) (a minute or two)"; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(READY)

demo: $(READY)
	@$(BIN)/python -m onnxloom.tools.demo

# A model that cannot be fetched is reported; its tests are skipped.
test: $(READY)
	-@$(BIN)/python -m onnxloom.tools.fetch_models --out $(MODELS) --only $(SMALL) >/dev/null
	$(BIN)/python -m pytest -n $(JOBS) -q

check: test lint

conformance: $(READY)
	$(BIN)/python test/conformance/report.py

ops: $(READY)
	$(BIN)/python test/conformance/report.py --write
	$(BIN)/python -m onnxloom.tools.coverage.page

# See docs/checked.md. Models that were not fetched (`make models`) are left out.
checked: $(READY)
	@echo 'all tests but those marked `unchecked`; outputs of the fetched models; all conformance cases; random graphs'
	ONNXLOOM_CHECKED=1 $(BIN)/python -m pytest -n $(JOBS) -q
	ONNXLOOM_CHECKED=1 $(BIN)/python -m pytest -n $(JOBS) -q -m full test/models/test_reference.py
	ONNXLOOM_CHECKED=1 $(BIN)/python test/conformance/report.py
	ONNXLOOM_CHECKED=1 $(BIN)/python test/random/hunt.py compiled --seed $(SEED) --count $(or $(COUNT),300) --jobs $(JOBS)

# Graph number i is that of seed SEED + i; failures are reduced and kept in test/random/cases/Inputs.
SEED ?= 0

peer: $(READY)
	$(BIN)/python test/peer/report.py --seed $(SEED) --count $(or $(COUNT),200) --jobs $(JOBS) --only "$(ONLY)"

fuzz-passes: $(READY)
	$(BIN)/python test/random/hunt.py passes --seed $(SEED) --count $(or $(COUNT),20000) --jobs $(JOBS)

fuzz-compiled: $(READY)
	$(BIN)/python test/random/hunt.py compiled --seed $(SEED) --count $(or $(COUNT),1000) --jobs $(JOBS)

# Goes on where it was stopped; what is known is in build/mutation.jsonl.
mutate: $(READY)
	$(BIN)/python -m onnxloom.tools.testing.mutation --jobs $(JOBS) $(ONLY)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

models: $(READY)
	$(BIN)/python -m onnxloom.tools.fetch_models --out $(MODELS)

# An hour for all of it; fetched models that are not there are left out.
THREADS ?= 1

bench: $(READY)
	@mkdir -p build
	$(BIN)/python -m benchmarks.run $(GROUPS) --threads $(THREADS) --models $(MODELS) \
	  --json build/bench.json --picture build/bench.svg
	$(BIN)/python -m benchmarks.float64
	$(BIN)/python -m benchmarks.process_costs $(MODELS)

lit: $(READY)
	$(BIN)/lit -q test

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
