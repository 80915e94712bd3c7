#!/bin/sh
# The database of the site and the account it enters with, which owns that database and nothing else.
# The image of PostgreSQL runs it once, as `postgres`, when its volume is empty.
set -eu
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=password="$DATABASE_PASSWORD" \
    --username="${POSTGRES_USER:-postgres}" --dbname=postgres <<'SQL'
CREATE ROLE lakewarden LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB PASSWORD :'password';
CREATE DATABASE lakewarden OWNER lakewarden;
REVOKE CONNECT, TEMPORARY ON DATABASE lakewarden FROM PUBLIC;
SQL
