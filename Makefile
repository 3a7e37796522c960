# `make demo` and `make test` do all their own set-up. They need Python 3.11 or newer and make;
# the demo installs into .venv, the tests into .venv-test, and neither touches the other.

ifndef PYTHON
PYTHON := $(shell for name in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo $$name; break; }; done)
endif

DEMO := .venv
TEST := .venv-test
# Folders are among them because they, and nothing else, show that a file has gone.
PACKAGE := pyproject.toml CMakeLists.txt $(shell find src ! -name '*.pyc' ! -name __pycache__)

.PHONY: help
help: ## list these commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile

.PHONY: demo
demo: $(DEMO)/.installed ## install regard and show what "it" attends to in one sentence
	@$(DEMO)/bin/regard show "A dog ate the food because it was hungry" --word it

.PHONY: test
test: lint types ## check style, types and imports, then run the tests
	$(TEST)/bin/python -m pytest

.PHONY: lint
lint: $(TEST)/.installed ## check style, format and which part imports which
	$(TEST)/bin/ruff check .
	$(TEST)/bin/ruff format --check .
	$(TEST)/bin/lint-imports --no-logo

.PHONY: types
types: $(TEST)/.installed $(TEST)/.tools ## check the types of the package and of the page's JavaScript
	$(TEST)/bin/mypy
	$(TEST)/bin/node $(TEST)/node_modules/typescript/bin/tsc --project jsconfig.json

.PHONY: format
format: $(TEST)/.installed ## rewrite the files in the project's style
	$(TEST)/bin/ruff check --fix .
	$(TEST)/bin/ruff format .

# An OpenBLAS held to an older processor by its environment would be measured, not this one.
.PHONY: bench
bench: $(TEST)/.installed ## run the benchmarks (minutes)
	@for file in benchmarks/[a-z]*.py; do \
		env -u OPENBLAS_CORETYPE $(TEST)/bin/python $$file || exit 1; done

.PHONY: kernels
kernels: $(TEST)/.installed ## build the kernel with sanitizers and run it without Python (minutes)
	$(TEST)/bin/python -m pytest tests/kernels

.PHONY: mutants
mutants: $(TEST)/.installed ## break the core on purpose and see that the tests notice (minutes)
	$(TEST)/bin/python scripts/mutants.py

.PHONY: clean
clean: ## remove both environments and everything generated
	rm -rf $(DEMO) $(TEST) build dist .hypothesis .import_linter_cache .mypy_cache \
		.pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: python
python:
	@test -n "$(PYTHON)" || { echo "regard needs Python 3.11 or newer, and none was found." \
		"Name one: make PYTHON=/path/to/python3" >&2; exit 1; }

# pip installs a folder anew each time it is asked, so one stamp serves for both the dependencies
# and the package.
$(DEMO)/.installed: $(PACKAGE) | python
	@echo "Installing regard into $(DEMO)"
	@$(PYTHON) -m venv $(DEMO)
	@$(DEMO)/bin/python -m pip install -qq --disable-pip-version-check .
	@touch $@

$(TEST)/.installed: $(PACKAGE) constraints.txt | python
	@echo "Installing regard and its tests' needs into $(TEST)"
	@$(PYTHON) -m venv $(TEST)
	@$(TEST)/bin/python -m pip install -qq --disable-pip-version-check \
		-c constraints.txt ".[test]"
	@touch $@

# Apart from the package's stamp, and after it: node comes with the tests' needs, but a changed
# source file is no reason to ask for its tools again.
$(TEST)/.tools: package.json package-lock.json | $(TEST)/.installed
	@echo "Installing what checks the page's JavaScript into $(TEST)"
	@cp package.json package-lock.json $(TEST)
	@$(TEST)/bin/npm --prefix $(TEST) ci --ignore-scripts --no-audit --no-fund --loglevel=error \
		>/dev/null
	@touch $@
