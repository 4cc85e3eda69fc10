# Two commands on a fresh machine: `make demo` and `make test`. Both make the virtual environment in .venv.
#
#   PYTHON=python3.12          the interpreter that makes the virtual environment
#   PIP_ARGS="--no-cache-dir"  further arguments of every `pip install`
#   TEST_WORKERS=2             processes that run tests
#   TORCH_INDEX_URL=https://download.pytorch.org/whl/cpu
#                              where the CPU build of torch is taken from, if not from pip's usual index

PYTHON ?= python3
VENV ?= .venv
PIP_ARGS ?=
TORCH_INDEX_URL ?=
TEST_WORKERS ?= 2
CPU_TORCH ?= torch==2.13.0

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install $(PIP_ARGS)
SOURCES := kagent_bench plugins tests

# A machine with a GPU takes the build of torch that pip chooses; without one the small CPU build will do.
HAS_GPU := $(shell (command -v nvidia-smi || ls /dev/nvidia0 /dev/kfd) 2>/dev/null | head -n 1)

.PHONY: help demo test lint mutants clean
.DEFAULT_GOAL := help

help:
	@echo "make demo   generate, judge and report Triton kernels for PyTorch operators (configs/demo.toml)"
	@echo "make test   linter, type checker and tests"
	@echo "make lint   linter and type checker"
	@echo "make mutants  drop the evaluator's checks one at a time; a test must notice each (ten minutes)"
	@echo "make clean  remove the virtual environment and caches"

$(VENV)/torch.stamp:
	$(PYTHON) -m venv $(VENV)
ifeq ($(HAS_GPU),)
	$(PIP) $(if $(TORCH_INDEX_URL),--index-url $(TORCH_INDEX_URL)) "$(CPU_TORCH)"
endif
	@touch $@

$(VENV)/demo.stamp: $(VENV)/torch.stamp pyproject.toml
	$(PIP) --editable .
	@touch $@

$(VENV)/test.stamp: $(VENV)/torch.stamp pyproject.toml
	$(PIP) --editable ".[test]"
	@touch $@ $(VENV)/demo.stamp

demo: $(VENV)/demo.stamp
	$(BIN)/kab run --config configs/demo.toml

lint: $(VENV)/test.stamp
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile -m "not exhaustive"

mutants: $(VENV)/test.stamp
	$(BIN)/python -m tests.adversarial.mutate_evaluator

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
