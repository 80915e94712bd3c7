.DEFAULT_GOAL := help
.PHONY: help setup run test test-slow torture real pyspark35 quick check format drawing words messages settings sbom licenses audit bench seeds mutants wheel system clean

PYTHON := .venv/bin/python
TEST_ARGS ?=
# many tests wait for a server, a browser or Java: four workers keep two cores busy
WORKERS ?= 4
ROUNDS ?= 25
SEED ?= 1
MINUTES ?= 30
# what a test starts is compiled once, also where the environment says that nothing is to be kept
export PYTHONDONTWRITEBYTECODE :=

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/ready-dev ## the virtual environment with everything that tests need

.venv/ready: requirements.txt scripts/venv.sh
	@scripts/venv.sh requirements.txt && touch $@

.venv/ready-dev: requirements.txt requirements-dev.txt scripts/venv.sh
	@scripts/venv.sh requirements-dev.txt && touch .venv/ready $@

.venv/ready-build: requirements-build.txt scripts/venv.sh
	@scripts/venv.sh requirements-build.txt && touch $@

run: .venv/ready ## everything on a fresh machine, then the console; PORT=8001 make run for another port
	@exec $(PYTHON) -m authzsite.runtime.processes

system: ## Chromium and Java for the tests, when root on Debian and missing
	@scripts/system.sh

test: .venv/ready-dev system ## the tests that must pass on each change; TEST_ARGS="-k grants" picks
	@exec $(PYTHON) -m pytest -n $(WORKERS) --dist loadfile --durations=10 $(TEST_ARGS)

test-slow: .venv/ready-dev system ## crash rounds, large worlds, an older Spark, a Connect server
	@-scripts/pyspark35.sh
	@exec $(PYTHON) -m pytest -m slow $(TEST_ARGS)

torture: .venv/ready-dev ## docs/reliability.md: rounds of faults while rights change; ROUNDS=25 SEED=1 MINUTES=30
	@exec $(PYTHON) -m tests.torture.run --rounds $(ROUNDS) --seed $(SEED) --minutes $(MINUTES) --report docs/reliability.md

# the servers one after another, so that memory stays bounded
real: .venv/ready-dev system ## docs/real.md: the tests against real servers of others; ONLY=hdfs for one
	@exec $(PYTHON) -m tests.real.run $(ONLY)

pyspark35: .venv/ready-dev ## an environment with PySpark 3.5 for `make test-slow`
	@scripts/pyspark35.sh

quick: .venv/ready-dev ## format, lint, Django's own checks: seconds
	@exec scripts/check.sh format lint django

check: .venv/ready-dev ## format, lint, types, migrations, layers, documents
	@exec scripts/check.sh

format: .venv/ready-dev ## write the code in its one format
	@$(PYTHON) -m ruff check --quiet --fix . && $(PYTHON) -m ruff format .

drawing: .venv/ready-dev ## ARCHITECTURE.md: the floors and packages, drawn from the code
	@exec $(PYTHON) scripts/drawing.py

words: .venv/ready-dev ## docs/development/words.md: the table of words, from the console's glossary
	@exec $(PYTHON) scripts/words.py

settings: .venv/ready-dev ## docs/settings.md: every variable with its default, from the code
	@exec $(PYTHON) scripts/settings_reference.py

sbom: .venv/ready-dev ## dist/lakewarden.cdx.json: the packages that the console runs on, in CycloneDX
	@exec $(PYTHON) scripts/packages.py sbom

licenses: .venv/ready-dev ## docs/licenses.md: the packages and their licenses
	@exec $(PYTHON) scripts/packages.py licenses

audit: .venv/ready-dev ## ask osv.dev what is known against the pinned packages
	@exec $(PYTHON) scripts/packages.py audit --strict

messages: .venv/ready-dev ## authzsite/locale/: the texts to translate, collected from the code, and compiled
	@exec $(PYTHON) scripts/messages.py

bench: .venv/ready-dev ## ratios that must hold
	@exec scripts/bench.sh

screenshots: .venv/ready-dev system ## var/screenshots/index.html: every room, light and dark, narrow and wide; LOCALE=de for German
	@exec $(PYTHON) -m pytest -q -m slow tests/console/test_screenshots.py

seeds: .venv/ready-dev system ## docs/seeds.md: which requirement is shown by which passing test; JUNIT=file reads a run
	@exec $(PYTHON) -m tests.seeds.report $(JUNIT:%=--junit %)

mutants: .venv/ready-dev system ## weaker and stronger laws in each row's place: does a test named for the row notice?
	@exec $(PYTHON) -m tests.seeds.mutants

wheel: .venv/ready-build ## the client as a wheel, and as a zip for spark-submit --py-files, in dist/
	@exec $(PYTHON) scripts/package.py

clean: ## remove .venv and everything that is made again; var/ with the data stays
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache build dist *.egg-info
