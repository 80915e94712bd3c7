#!/bin/sh
# Makes .venv when absent and installs what the given requirements file pins.
set -eu

usable() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    for name in ${PYTHON:-} python3.11 python3.12 python3.13 python3 python3.14; do
        if command -v "$name" >/dev/null && usable "$name"; then
            echo "$name"
            return
        fi
    done
    echo "lakewarden: Python 3.11 or newer is needed (PYTHON=/path/to/python make …)" >&2
    exit 1
}

make_venv() {
    found=$(find_python)
    echo "Making .venv with $("$found" --version) …"
    rm -rf .venv
    if "$found" -m venv .venv 2>/dev/null; then
        return
    fi
    rm -rf .venv
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "Installing python3-venv …"
        apt-get update -qq >/dev/null 2>&1 || true
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null 2>&1 || true
        if "$found" -m venv .venv; then
            return
        fi
    fi
    rm -rf .venv
    echo "lakewarden: '$found -m venv .venv' fails; on Debian install python3-venv" >&2
    exit 1
}

if ! usable .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    make_venv
fi
# uv installs in a third of the time, but knows nothing of an index that pip is told to use
with_uv() {
    ! .venv/bin/python -m pip config list | grep -q index &&
        .venv/bin/python -m pip install -qq $quiet "uv==0.13.9" 2>/dev/null &&
        .venv/bin/uv pip install --quiet --python .venv/bin/python -r "$1" 2>/dev/null
}

quiet="--disable-pip-version-check --no-input --root-user-action=ignore"
echo "Installing packages of $1; the first time this takes a minute or two …"
# shellcheck disable=SC2086
with_uv "$1" || .venv/bin/python -m pip install -qq $quiet -r "$1"
