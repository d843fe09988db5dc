# `make demo` and `make test` set up everything they need in .venv by themselves.
PYTHON ?= python3
BIN := .venv/bin

# tests run side by side on two processes; one thread each keeps them out of each other's way
export OMP_NUM_THREADS ?= 1

.PHONY: demo toys test test-slow lint format reproduce evidence references benchmark quality quality-peers fresh campaign docs clean

demo: .venv/.demo
	$(BIN)/metricfit demo --jobs 2 --out build/demo

toys: .venv/.dev
	$(BIN)/python examples/toy.py --out build/toys

test: .venv/.dev
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow"

# clusters, packages, several processes, a browser, reproductions
test-slow: .venv/.dev
	$(BIN)/pytest -n 2 --dist loadfile -m slow

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

# half an hour at most: hostile numbers, damaged files, killed processes, full disks; make campaign SEED=1
campaign: .venv/.dev
	$(BIN)/python -m campaign --seed $(or $(SEED),0) $(ARGS)

# hours: models against what people use now, AutoGluon among them (`make quality-peers` first), then linear models
quality: .venv/.dev
	$(BIN)/python -m benchmarks.quality run
	$(BIN)/python -m benchmarks.quality autogluon --seeds 1
	$(BIN)/python -m benchmarks.quality_linear --splits 10 --out benchmarks/results
	$(BIN)/python -m benchmarks.quality_linear --time --out benchmarks/results

# half an hour: the frozen rules on tables that nobody looked at; `METRICFIT_FRESH=folder make fresh` without a network
fresh: .venv/.dev
	$(BIN)/python -m benchmarks.fresh run

# AutoGluon needs pandas 2, so it gets an environment of its own (2 GB). Without ray it trains in one process. fastai comes without
# its dependencies, because it asks for torchvision, which its networks for tables do not use; what they do use is named here.
quality-peers: .venv-peers/.done

# the site, into build/docs: runs the gallery and the commands that it shows; a warning is an error
docs: .venv/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going -b html -d build/doctrees docs build/docs

clean:
	rm -rf .venv .venv-peers build docs/_generated docs/gallery docs/api/generated

# the extras that `make demo` and everything else need
.venv/.demo: EXTRAS = cli,fast
.venv/.dev: EXTRAS = dev
.venv/.docs: EXTRAS = docs
.venv/.demo .venv/.dev .venv/.docs: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@

.venv-peers/.done: PEERS = .venv-peers/bin/python -m pip install --quiet --disable-pip-version-check \
	--constraint benchmarks/peers-constraints.txt
.venv-peers/.done: benchmarks/peers-constraints.txt
	$(PYTHON) -m venv .venv-peers
	$(PEERS) "autogluon.tabular[lightgbm,catboost,xgboost]" torch \
		cloudpickle fastcore fastdownload fastprogress fasttransform pillow plum-dispatch
	$(PEERS) --no-deps fastai
	touch $@
