# Everything a contributor or a CI runs; each target does its own set-up on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup test lint demo bench docs clean

setup: $(READY)

$(READY): pyproject.toml hooks/build_specs.py
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "make: $(PYTHON) has no venv module; on Debian: apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

demo: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh demo/main_job.sh

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY)
	$(BIN)/python -c "from pathlib import Path; from registry_tool.records import schema; schema.write(Path('schemas'))"
	$(BIN)/python -m registry_tool.rules.docs
	$(BIN)/python -m registry_tool.gates.scripts

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f registry_tool/kernels/compiled.json
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
