#!/bin/sh
# Every check, even after one has failed; the last line says which did.  `check.sh types layers` runs these two.
set -u
python=.venv/bin/python
checks="format lint django migrations layers types audit house"

run() {
    case $1 in
    format) $python -m ruff format --check --quiet . ;;
    lint) $python -m ruff check --quiet . ;;
    django) $python manage.py check --fail-level WARNING ;;
    migrations) $python manage.py makemigrations --check --dry-run ;;
    layers) .venv/bin/lint-imports --no-logo --no-cache ;;
    types) $python -m mypy ;;
    audit) $python scripts/packages.py audit ;;
    house) $python -m pytest -q tests/house ;;
    *) echo "there is no check $1; there are: $checks" && false ;;
    esac
}

names=${*:-$checks}
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT

# the types take as long as all the others: a core for each
case " $names " in *" types "*) { run types >"$said/types" 2>&1 || touch "$said/failed"; } & ;; esac

failed=""
for name in $names; do
    echo "== $name"
    if [ "$name" = types ]; then
        wait
        cat "$said/types"
        [ ! -e "$said/failed" ] || failed="$failed types"
    else
        run "$name" || failed="$failed $name"
    fi
done

if [ -n "$failed" ]; then
    echo "failed:$failed"
    exit 1
fi
echo "all checks pass"
