# Everything runs in its own environment, made on first use from the pins of requirements.txt.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN     = $(VENV)/bin
READY   = $(VENV)/.ready
JAX_VERSION = $(shell sed -n 's/^jax==//p' requirements.txt)

PROFILE ?= quick
SEEDS   ?= 1
WORKERS ?= 2

# ONLY, METHODS and SETTINGS are lists. Their words are quoted, because the shell must not read the brackets of a method.
quoted  = $(foreach word,$(1),'$(word)')
CHOICE  = --profile $(PROFILE) --seeds $(SEEDS) $(if $(ONLY),--only $(call quoted,$(ONLY))) \
          $(if $(METHODS),--methods $(call quoted,$(METHODS))) $(if $(SETTINGS),--settings $(call quoted,$(SETTINGS))) \
          $(if $(AT_ONCE),--at-once $(AT_ONCE))

.DEFAULT_GOAL := help
.PHONY: help setup test test-fast lint format reproduce-tables reproduce-figures report bench bench-scaling bench-compile bench-models bench-tpu bench-peers notebooks docs address check-tfds-builtin clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-20s %s\n", $$1, $$2}'

setup: $(READY) ## create the environment in .venv

$(READY): requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(READY)

test: $(READY) ## run all tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test-fast: $(READY) ## run the tests that take little, for work in progress
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

lint: $(READY) ## check style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY) ## rewrite the code in the project's style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

reproduce-tables: $(READY) ## run the paper's tables; PROFILE=quick|short|paper, SEEDS=3, ONLY="table1 table4", METHODS, SETTINGS
	$(BIN)/python -m experiments.reproduce tables $(CHOICE)

reproduce-figures: $(READY) ## run the paper's figures; options as for the tables
	$(BIN)/python -m experiments.reproduce figures $(CHOICE)

report: $(READY) ## write pages, figures and results/PROFILE/report.html again, from the stored runs
	$(BIN)/python -m experiments.reproduce report --profile $(PROFILE)

bench: $(READY) ## measure what FedCos and augmentation cost, and compare a round with this machine's own limit, part by part
	$(BIN)/python -m benchmarks.penalty_cost
	$(BIN)/python -m benchmarks.augmentation
	$(BIN)/python -m benchmarks.round_costs

bench-scaling: $(READY) ## measure time and memory for 10 to 10,000 clients per round, equal and unequal, out of 100,000
	$(BIN)/python -m benchmarks.scaling

bench-compile: $(READY) ## measure how long each table of the paper compiles, in the paper's shapes
	$(BIN)/python -m benchmarks.compile_time

bench-models: $(VENV)-torch/.ready ## compare every model with a plain PyTorch loop; installs PyTorch in its own environment
	$(VENV)-torch/bin/python -m benchmarks.models

$(VENV)-torch/.ready: requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)-torch
	$(VENV)-torch/bin/pip install --quiet --disable-pip-version-check -r requirements.txt torch==2.13.0
	$(VENV)-torch/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

bench-tpu: ## compile every model's round for a TPU v5e, without one, in minutes per model; installs libtpu in its own environment
	$(PYTHON) -m venv $(VENV)-tpu
	$(VENV)-tpu/bin/pip install --quiet --disable-pip-version-check -r requirements.txt "jax[tpu]==$(JAX_VERSION)"
	$(VENV)-tpu/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(VENV)-tpu/bin/python -m benchmarks.accelerators

PEER_torch  = torch==2.13.0 numpy==2.4.6
PEER_fedjax = fedjax==0.0.17 dm-haiku==0.0.17 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
PEER_pfl    = pfl[pytorch]==0.6.0 torch==2.13.0 numpy==2.4.6
PEER_flower = flwr[simulation]==1.41.0 ray==2.55.1 torch==2.13.0 numpy==2.4.6
PEERS       = torch fedjax pfl flower

bench-peers: $(READY) $(PEERS:%=$(VENV)-peer-%/.ready) ## compare rounds/s with PyTorch, FedJAX, pfl and Flower, each in its own environment
	$(BIN)/python -m benchmarks.peers --environments $(VENV)-peer-

$(VENV)-peer-%/.ready:
	$(PYTHON) -m venv $(VENV)-peer-$*
	$(VENV)-peer-$*/bin/pip install --quiet --disable-pip-version-check $(PEER_$*)
	touch $@

notebooks: $(READY) $(VENV)-torch/.ready ## run the notebooks, store their outputs and test them; installs PyTorch in its own environment
	$(VENV)-torch/bin/python -m notebooks.outputs
	$(BIN)/python -m pytest tests/test_notebooks.py

docs: $(READY) ## build the documentation in site/, strict about links
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

address: $(READY) ## write the address of pyproject.toml into badges and install cells, or remove them if it has none
	$(BIN)/python notebooks/address.py

check-tfds-builtin: ## compare our Fashion-MNIST with TFDS's own builder; needs FEDCOS_DATA_DIR, installs TensorFlow in its own environment
	$(PYTHON) -m venv $(VENV)-tensorflow
	$(VENV)-tensorflow/bin/pip install --quiet --disable-pip-version-check -r requirements.txt tensorflow-cpu
	$(VENV)-tensorflow/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(VENV)-tensorflow/bin/python -m pytest tests/data/formats/test_tfds.py -k built_in

clean: ## remove the environment and caches
	rm -rf $(VENV) $(VENV)-tensorflow $(VENV)-torch $(VENV)-tpu $(VENV)-peer-* .pytest_cache .ruff_cache .hypothesis build dist site *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
