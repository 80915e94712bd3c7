#!/bin/sh
# Chromium for the browser tests, Java for the Spark tests with the driver for MariaDB, MariaDB and acl for those of the
# sync: installed when we are root on Debian and they are missing.  Elsewhere the tests that need them say what to install.
set -u

missing=""
if ! command -v chromium-headless-shell >/dev/null; then
    # a third lighter than the whole browser; a Debian of before has that alone
    if apt-cache show chromium-headless-shell >/dev/null 2>&1; then
        missing="$missing chromium-headless-shell"
    else
        command -v chromium >/dev/null || missing="$missing chromium"
    fi
fi
command -v java >/dev/null || missing="$missing default-jre-headless"
command -v mariadbd >/dev/null || missing="$missing mariadb-server"
[ -e /usr/share/java/mariadb-java-client.jar ] || missing="$missing libmariadb-java"
command -v setfacl >/dev/null || missing="$missing acl"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "Not installed:$missing (the tests that need them will say so)"
    exit 0
fi
echo "Installing$missing …"
export DEBIAN_FRONTEND=noninteractive
options="-qq -o Acquire::Retries=2 -o Acquire::http::Timeout=30 -o Dpkg::Use-Pty=0"
# shellcheck disable=SC2086
{
    apt-get $options update || true
    for package in $missing; do
        apt-get $options install -y --no-install-recommends "$package" || echo "could not install $package"
    done
} </dev/null >/tmp/lakewarden-apt.$$ 2>&1
grep "^could not" /tmp/lakewarden-apt.$$
rm -f /tmp/lakewarden-apt.$$
exit 0
