#!/bin/sh
# Every check, even after one has failed; the last line says which did.  `check.sh quick` leaves out the slow ones.
set -u
python=.venv/bin/python
failed=""

check() {
    name=$1
    shift
    echo "== $name"
    "$@" || failed="$failed $name"
}

check format $python -m ruff format --check --quiet .
check lint $python -m ruff check --quiet .
check django $python manage.py check --fail-level WARNING
[ "${1:-}" = quick ] || check migrations $python manage.py makemigrations --check --dry-run
[ "${1:-}" = quick ] || check types $python -m mypy
[ "${1:-}" = quick ] || check house $python -m pytest -q tests/house

if [ -n "$failed" ]; then
    echo "failed:$failed"
    exit 1
fi
echo "all checks pass"
