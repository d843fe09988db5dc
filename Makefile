# `make demo` and `make test` set up everything they need in .venv by themselves.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

# tests run side by side on two processes; one thread each keeps them out of each other's way
export OMP_NUM_THREADS ?= 1

.PHONY: demo test lint format appendix-c references clean

demo: $(READY)
	$(BIN)/python examples/toy.py --out build/demo

test: $(READY)
	$(BIN)/pytest -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

appendix-c: $(READY)
	$(BIN)/python reproductions/exact_2022/integral_error.py

references: $(READY)
	$(BIN)/python -m tests.numerics.reference.make

clean:
	rm -rf .venv build

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@
