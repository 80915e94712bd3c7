#!/bin/sh
# Runs each measurement in bench/; each prints its ratios and fails when one is over its limit.
set -u
code=0
for file in bench/*.py; do
    [ -e "$file" ] || continue
    echo "== $file"
    PYTHONPATH=. .venv/bin/python "$file" || code=1
done
exit $code
