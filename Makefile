# make lab: work through the notebooks.  make test: run every test.  make help: the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Say for example PIP_ARGS=--index-url=… to choose a build of PyTorch.
PIP_ARGS ?=
# Handed on to JupyterLab, pytest or the benchmark: make lab ARGS=--no-browser
ARGS ?=
# JupyterLab's plugin that asks about news and looks for updates: the course works without a network, and without questions.
NEWS := @jupyterlab/apputils-extension:announcements
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] && echo --allow-root)
# The file that `course fetch --bundle` packed, in a room without wifi.
OFFLINE ?=
FETCH = $(BIN)/python -P utils/assets.py $(if $(OFFLINE),--install "$(OFFLINE)")
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
# nbgrader calls its tools by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)
CPUS := $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)

.PHONY: help install lab test fetch browser postgres bench build bundle lock clean

help:
	@echo "make lab     set up and open JupyterLab on notebooks/   (ARGS=--no-browser on servers)"
	@echo "make test    set up and run every test"
	@echo "make fetch   fetch pretrained weights and data  (without wifi: OFFLINE=FILE)"
	@echo "make build   make all notebooks from their sources"
	@echo "make bundle  pack the learners' zip"
	@echo "make bench   measure grading beside stock nbgrader and otter-grader"
	@echo "make lock    write down the versions that are installed now"

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 …"; exit 1; }
	@test -x $(BIN)/python || { echo "Making $(VENV)"; $(PYTHON) -m venv $(VENV) || { echo "On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }; }
	@echo "Installing the course and what it needs into $(VENV)"
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar on -c requirements.lock $(PIP_ARGS) -e ".[test]"
	@$(BIN)/jupyter labextension disable --level=sys_prefix $(NEWS) >/dev/null 2>&1 || true
	@touch $@

lab: install
	@$(FETCH) --brief || echo "Opening JupyterLab all the same: only the last chapter needs what is missing. Later: make fetch"
	cd notebooks && ../$(BIN)/jupyter lab --ip=127.0.0.1 $(AS_ROOT) $(ARGS)

test: install browser postgres
	@$(FETCH) --quiet
	$(BIN)/python -m pytest -n $$(( $(CPUS) + 1 )) --dist loadfile --nbval-lax tests solutions $(ARGS)

fetch: install
	@$(FETCH)

postgres:
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { echo "The gradebook's tests need PostgreSQL: installing it"; \
	  $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q postgresql; }

browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || { echo "The browser tests need Chromium: installing it"; \
	  $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q chromium; }

bench: install
	$(BIN)/python -m benchmarks.grading $(ARGS)

build: install
	$(BIN)/course build

bundle: install
	$(BIN)/course bundle

# Local build tags of PyTorch (+cpu) are left out, so that everyone can choose a build.
lock:
	$(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' > requirements.lock

clean:
	rm -rf $(VENV) build dist grades *.egg-info
