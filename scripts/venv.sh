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
echo "Installing packages of $1; the first time this takes a minute or two …"
.venv/bin/python -m pip install -qq --disable-pip-version-check --no-input --root-user-action=ignore -r "$1"
