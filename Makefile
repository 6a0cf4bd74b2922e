# Everything a person types: `make help` lists it.
#
# PYTHON  the Python (3.11 or later) that .venv is made with, the first time
# ARGS    what is handed on to the command, as in: make run ARGS='--port 8080'

PYTHON ?= python3
ARGS ?=

PY := .venv/bin/python
MANAGE := $(PY) manage.py
# Commands for people at this checkout do without a SECRET_KEY of their own.
LOCAL := SOAT_STANDALONE=true
UV := .venv/bin/uv
LOCK := $(UV) pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-annotate --no-header pyproject.toml
SCHEMA := $(LOCAL) $(MANAGE) spectacular --format openapi-json --validate --fail-on-warn
PERMISSIONS := $(LOCAL) $(MANAGE) permissions docs/permissions.md

.DEFAULT_GOAL := help
.PHONY: help demo run test bench eval fuzz check format openapi permissions lock locks clean standalone-packages dev-packages

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: standalone-packages ## set everything up, show the main job, stop everything
	@$(LOCAL) $(MANAGE) demo $(ARGS)

run: standalone-packages ## run a server on this machine until Ctrl-C (state in var/)
	@$(MANAGE) standalone $(ARGS)

test: dev-packages check ## check, then run the tests
	$(PY) -m pytest $(ARGS)

bench: standalone-packages ## measure what the door costs, and a search over 100,000 chunks (several minutes)
	$(PY) -m benchmarks.door
	$(PY) -m benchmarks.search $(ARGS)

eval: standalone-packages ## measure search on all sets to be had (docs/evaluation.md)
	@$(PY) -m benchmarks.retrieval $(ARGS)

fuzz: dev-packages ## throw 10,000 generated requests at a live stack
	$(PY) -m tests.fuzz $(ARGS)

check: dev-packages ## lint, types, import order, migrations, OpenAPI document, permissions
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(LOCAL) $(PY) -m mypy
	.venv/bin/lint-imports
	$(LOCAL) DJANGO_SETTINGS_MODULE=tests.docs.without_database $(MANAGE) makemigrations --check --dry-run
	$(SCHEMA) --file .venv/openapi.json
	@diff -u docs/openapi.json .venv/openapi.json || { echo 'docs/openapi.json is not what the code says: make openapi'; exit 1; }
	$(PERMISSIONS) --output .venv/permissions.md
	@diff -u docs/permissions.md .venv/permissions.md || { echo 'docs/permissions.md is not what the code says: make permissions'; exit 1; }

format: dev-packages ## let ruff put the code in order
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

openapi: dev-packages ## write docs/openapi.json anew
	$(SCHEMA) --file docs/openapi.json

permissions: dev-packages ## write the table of docs/permissions.md anew
	$(PERMISSIONS)

lock: dev-packages ## resolve requirements/*.txt again (newer versions: make lock ARGS=--upgrade)
	$(LOCK) $(ARGS) -o requirements/base.txt
	$(LOCK) $(ARGS) --extra multilingual -c requirements/base.txt -o requirements/multilingual.txt
	$(LOCK) $(ARGS) --extra multilingual --extra standalone -c requirements/multilingual.txt -o requirements/standalone.txt
	$(LOCK) $(ARGS) --extra multilingual --extra standalone --group dev -c requirements/standalone.txt -o requirements/dev.txt

locks: dev-packages ## check that every locked package has a wheel for each platform (slow, uses the network)
	@$(PY) requirements/wheels.py

clean: ## remove .venv, caches and the demo's data; var/ itself stays
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis staticfiles var/demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

standalone-packages:
	@requirements/install.sh '$(PYTHON)' requirements/standalone.txt

dev-packages:
	@requirements/install.sh '$(PYTHON)' requirements/dev.txt
