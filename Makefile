# `make demo` and `make test` set up everything they need in .venv by themselves.
PYTHON ?= python3
BIN := .venv/bin

# tests run side by side on two processes; one thread each keeps them out of each other's way
export OMP_NUM_THREADS ?= 1

.PHONY: demo toys test lint format reproduce evidence references benchmark quality clean

demo: .venv/.demo
	$(BIN)/metricfit compare --report build/demo/report.html --overwrite

toys: .venv/.dev
	$(BIN)/python examples/toy.py --out build/toys

test: .venv/.dev
	$(BIN)/pytest -n 2

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# make reproduce NAME=exact-tabular ARGS="--quick"; without a name it lists the experiments
reproduce: .venv/.dev
	$(BIN)/python -m reproductions $(or $(NAME),list) $(ARGS)

evidence: .venv/.dev
	$(BIN)/python -m reproductions.evidence

references: .venv/.dev
	$(BIN)/python -m tests.numerics.reference.make

benchmark: .venv/.dev
	OMP_NUM_THREADS=2 $(BIN)/python -m benchmarks.loss_speed --batches 64 256 1024 --seconds 2 --out benchmarks/results

quality: .venv/.dev
	$(BIN)/python -m benchmarks.quality --splits 10 --out benchmarks/results
	$(BIN)/python -m benchmarks.quality --time --out benchmarks/results

clean:
	rm -rf .venv build

# the extras that `make demo` and everything else need
.venv/.demo: EXTRAS = cli,fast
.venv/.dev: EXTRAS = dev
.venv/.demo .venv/.dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@
