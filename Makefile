# Everything this project does on a machine. Needs Python 3.11 or newer and make; what it fetches and leaves behind
# stays in .venv/, .cache/ and .demo/ of this checkout.

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))
PY := .venv/bin/python
UV := .venv/bin/uv
# Spark gets JAVA_HOME: the java on the path may be too old.
WITH_JAVA = JAVA_HOME="$$(tools/java_home.sh)" && export JAVA_HOME &&
# Two files at a time; tests/conftest.py says which files run in one worker.
SIDE_BY_SIDE := -n 2 --dist loadfile --no-loadscope-reorder
CHECKED := $(wildcard airflow_refresh_provider dags spark_apps tests examples benchmarks)

export XDG_CACHE_HOME ?= $(CURDIR)/.cache
export AIRFLOW_HOME := $(CURDIR)/.cache/airflow
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo up down lint check affected test test-all bench lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/ready ## a refresh in Airflow killed half way and resumed, on TPC-H data (< 6 min)
	@$(WITH_JAVA) exec $(PY) -m examples.demo

up: .venv/ready ## an Airflow with the example DAGs, until Ctrl-C or make down
	@$(WITH_JAVA) exec $(PY) -m examples.stand_alone

down: .venv/ready ## end the `make up` of this checkout, from another terminal
	@$(WITH_JAVA) exec $(PY) -m examples.take_down

lint: .venv/ready
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy $(CHECKED)
	@.venv/bin/lint-imports --no-logo --cache-dir .cache/import-linter

check: lint ## style, types, contracts between modules, unit tests (seconds)
	@$(PY) -m pytest tests/unit tests/architecture

affected: .venv/ready ## the tests that your changes since origin/main can reach, without the slow ones
	@$(WITH_JAVA) tests="$$($(PY) -m tests.affected)" && test -z "$$tests" || \
		$(PY) -m pytest $(SIDE_BY_SIDE) -m "not slow" $$tests

test: lint ## every kind of test once, on real Spark, Delta and Airflow (20 minutes)
	@$(WITH_JAVA) $(PY) -m pytest $(SIDE_BY_SIDE) -m "not slow"

test-all: lint ## every test (more than an hour)
	@$(WITH_JAVA) $(PY) -m pytest $(SIDE_BY_SIDE)

bench: .venv/ready ## speed beside an overwrite and a stock MERGE
	@$(WITH_JAVA) $(PY) -m benchmarks

lock: .venv/ready ## resolve the dependencies again into constraints.txt
	@$(UV) pip compile --quiet --universal --python-version 3.11 --upgrade --extra dev \
		--custom-compile-command "make lock" --output-file constraints.txt setup.cfg

clean: ## remove what make made
	rm -rf .venv .cache .demo .ci/*.egg-info

# Compiled once: where the environment keeps Python from it, each command would start two seconds later.
# Made again when the lock or the metadata is younger; an interrupted set-up leaves no mark and is repeated. What another
# Python has begun is removed: the two would be mixed.
SAME_PYTHON := import sys; print(sys.base_prefix, sys.version)
.venv/ready: constraints.txt setup.cfg pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer found: install one, or name it: make PYTHON=..." >&2; exit 1; }
	@test "$$($(PY) -c '$(SAME_PYTHON)' 2>&1)" = "$$($(PYTHON) -c '$(SAME_PYTHON)')" || rm -rf .venv
	@$(PYTHON) -m venv .venv || { echo "Python's venv is missing (Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@$(PY) -m pip install --quiet --constraint constraints.txt uv
	@rm -rf *.egg-info
	@$(UV) pip install --quiet --python $(PY) --compile-bytecode --requirement constraints.txt
	@$(UV) pip install --quiet --python $(PY) --no-deps --editable .
	@$(PY) -m compileall -q airflow_refresh_provider
	@touch $@
