#!/bin/sh
# Every check, even after one has failed; the last line says which did.  `check.sh types layers` runs these two.
set -u
python=.venv/bin/python
checks="format lint django migrations layers types house"

run() {
    case $1 in
    format) $python -m ruff format --check --quiet . ;;
    lint) $python -m ruff check --quiet . ;;
    django) $python manage.py check --fail-level WARNING ;;
    migrations) $python manage.py makemigrations --check --dry-run ;;
    layers) .venv/bin/lint-imports --no-logo --no-cache ;;
    types) $python -m mypy ;;
    house) $python -m pytest -q tests/house ;;
    *) echo "there is no check $1; there are: $checks" && false ;;
    esac
}

failed=""
for name in ${*:-$checks}; do
    echo "== $name"
    run "$name" || failed="$failed $name"
done

if [ -n "$failed" ]; then
    echo "failed:$failed"
    exit 1
fi
echo "all checks pass"
