#!/bin/sh
# Makes .venv-pyspark35, in which `make test-slow` runs the guard's tests under PySpark 3.5.
set -eu
[ -e .venv-pyspark35/ready ] && exit 0
.venv/bin/python -m venv .venv-pyspark35
.venv-pyspark35/bin/python -m pip install -qq --disable-pip-version-check --no-input --root-user-action=ignore \
    pyspark==3.5.6 pytest==9.2.0 pytest-timeout==2.4.0 setuptools==65.5.0
touch .venv-pyspark35/ready
