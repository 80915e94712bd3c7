"""What `manage.py doctor` looks at: each look says what it found in words, and what to do about it.

Nothing is changed, and no secret, no address with a password and no text of an error of a driver is told.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.core.mail import get_connection
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.utils import timezone

from accounts.entering import any_password
from accounts.models import User
from authzsite.api import health
from authzsite.environment import dangers
from policies import signing
from policies.decisions import replica
from policies.models import Backend
from policies.record import checkpoint_places
from policies.record.checkpoint_places import FilePlace, MailPlace
from policies.services.grants import revision_now

GOOD, WARNING, WRONG = "good", "warning", "wrong"
OLDEST_DATABASE = 140000
APART = 2.0
"""Seconds by which the clocks of this machine and of its database may differ."""
LEAST_FREE = 1_000_000_000
"""Bytes."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `advice` is empty where nothing is to be done."""

    name: str
    state: str
    text: str
    advice: str = ""

    def __str__(self) -> str:
        line = f"{self.state:<8} {self.name}: {self.text}"
        return f"{line}\n         -> {self.advice}" if self.advice else line

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def examine() -> list[Finding]:
    """Everything, the database first; where it is away, what rests on it is left out."""
    findings = [*_health()]
    reached = findings[0].state == GOOD
    for name, look in (*_IN_DATABASE.items(), *_BESIDE.items()) if reached else _BESIDE.items():
        try:
            findings += look()
        except Exception as problem:  # noqa: BLE001 -- one look that fails hides no other
            text = f"could not be checked ({type(problem).__name__})"
            findings.append(Finding(name, WRONG, text, "Fix the problems above first, then check again."))
    return findings


ADVICE = {
    "database": "Start PostgreSQL. Check that DATABASE_URL names it and that its user can sign in.",
    "migrations": "Run `manage.py migrate`. Where a newer version ran it, restart this one with its code.",
    "durability": "Set it to on in the server's configuration and restart it. Each session of the site sets "
    "synchronous_commit itself.",
    "outbox": "Check that a worker runs and that backends answer; the page Sync shows which do not.",
    "facts": "Run `manage.py facts`: it lists them and says how to correct each.",
    "record": "Run `manage.py verify_audit` and keep its output; the page History says what to do.",
    "sync": "Open the page Sync; after a restore run `manage.py restored`.",
    "workers": "Start a worker: celery -A authzsite worker. docs/operators.md has its queues.",
    "beat": "Start the beat: celery -A authzsite beat. A second on another machine takes over when it dies.",
    "redis": "Start Redis, and check that REDIS_URL names it. Until then nobody can sign in with a password.",
}


def _health() -> Iterator[Finding]:
    """What /health/ready says, with what to do."""
    for item in health.findings():
        state = {True: GOOD, False: WRONG, None: WARNING}[item.good]
        if item.name == "durability" and not item.good:
            state = WRONG  # decisions can be made, and what was acknowledged can be lost
        yield Finding(item.name, state, item.text, "" if item.good else ADVICE[item.name])


# In the database


def _version() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int")
        [version] = cursor.fetchone()
    shown = f"PostgreSQL {version // 10000}.{version % 10000}"
    if version < OLDEST_DATABASE:
        yield Finding("database version", WRONG, shown, "Upgrade PostgreSQL to 14 or newer.")
    else:
        yield Finding("database version", GOOD, shown)


def _rights() -> Iterator[Finding]:
    """The user of the site should write its tables and no more: on a public host not even own them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolsuper, rolcreaterole, pg_is_in_recovery(),"
            " has_schema_privilege(current_schema(), 'CREATE'),"
            " has_table_privilege('policies_change', 'INSERT'),"
            " pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'policies_change'::regclass), 'MEMBER')"
            " FROM pg_roles WHERE rolname = current_user"
        )
        superuser, roles, standby, makes, writes, owns = cursor.fetchone()
    if standby:
        yield Finding("database", WRONG, "it is a standby", "Name the primary in DATABASE_URL.")
    if not writes or (owns and not makes):
        lacks = "its user cannot create tables or write the audit log"
        advice = (
            "Make the user the owner of the database, or run `manage.py migrate` with DATABASE_OWNER_URL."
        )
        yield Finding("database rights", WRONG, lacks, advice)
    elif (superuser or roles) and settings.PUBLIC:
        more = "its user is a superuser or can create roles"
        advice = "Use a user that owns the database and is NOSUPERUSER NOCREATEROLE."
        yield Finding("database rights", WARNING, more, advice)
    elif owns and settings.PUBLIC:
        advice = "Let another user own the tables: DATABASE_OWNER_URL in docs/deploying.md."
        yield Finding("database rights", WARNING, "its user owns the tables, and can alter them", advice)
    elif makes and not owns:
        advice = "Run REVOKE CREATE ON SCHEMA public FROM PUBLIC in the site's database."
        yield Finding(
            "database rights", WARNING, "its user can create tables beside those of the site", advice
        )
    else:
        yield Finding("database rights", GOOD, "its user has the rights that the site needs")


def _replica() -> Iterator[Finding]:
    if replica.ALIAS not in settings.DATABASES:
        return
    try:
        with connections[replica.ALIAS].cursor() as cursor:
            cursor.execute("SELECT pg_is_in_recovery(), (SELECT revision FROM policies_counter)")
            standby, revision = cursor.fetchone()
    except DatabaseError as problem:
        text = f"it does not answer: {type(problem).__name__}"
        yield Finding("replica", WARNING, text, "Start it, or remove DATABASE_REPLICA_URL.")
        return
    behind = f"it has revision {revision} of {revision_now()}"
    if not standby:
        yield Finding("replica", WARNING, "it is not a standby", "Name a streaming replica of the database.")
    elif not replica.has_all():
        yield Finding(
            "replica", WARNING, f"{behind}, so it is not read", "Check whether it still follows the primary."
        )
    else:
        yield Finding("replica", GOOD, behind)


def _clock() -> Iterator[Finding]:
    before = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        [server_time] = cursor.fetchone()
    middle = before + (timezone.now() - before) / 2
    apart = abs((server_time - middle).total_seconds())
    text = f"this machine and the database are {apart:.1f} s apart"
    if apart > APART:
        yield Finding(
            "clocks", WRONG, text, "Synchronize both with a time server: access with a date depends on it."
        )
    else:
        yield Finding("clocks", GOOD, text)


def _people() -> Iterator[Finding]:
    names = settings.LAKEWARDEN_SERVICE_ADMINS
    closed = User.objects.filter(username__in=names, is_active=False).values_list("username", flat=True)
    for name in sorted(closed):
        advice = "Remove the name from LAKEWARDEN_SERVICE_ADMINS."
        yield Finding("site admins", WARNING, f"the account of {name} is disabled", advice)
    if not names:
        advice = "Name a person in LAKEWARDEN_SERVICE_ADMINS, then run `manage.py invite NAME`."
        text = (
            "there is none, so nobody can create a metalake over /api (gravitino.authorization.serviceAdmins)"
        )
        yield Finding("site admins", WARNING, text, advice)
    elif not any_password() and not {"oidc", "proxy"} & set(settings.LAKEWARDEN_AUTHENTICATORS):
        yield Finding("site admins", WARNING, "nobody can sign in yet", "Run `manage.py invite NAME`.")
    else:
        yield Finding("site admins", GOOD, f"{len(names)} named")


def _backends() -> Iterator[Finding]:
    rows = Backend.objects.order_by("pk")
    for row in rows.filter(state=Backend.State.SILENT):
        text = f"connection {row.pk} ({row.get_kind_display()}) does not answer"
        yield Finding("backends", WARNING, text, "Its page under Sync shows since when, and why.")
    yield Finding("backends", GOOD, f"{rows.count()} connected")


# Beside it


def _redis_memory() -> Iterator[Finding]:
    """What is kept in Redis must not be thrown away for room."""
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1) as client:
            policy = dict(client.config_get("maxmemory-policy")).get("maxmemory-policy", "")
    except redis.ResponseError:  # hosted ones do not tell
        return
    except (redis.RedisError, OSError):
        return  # told above
    if str(policy) not in ("noeviction", ""):
        advice = "Set maxmemory-policy to noeviction: tasks and counts of sign-ins live there."
        yield Finding("redis memory", WARNING, f"maxmemory-policy is {policy}", advice)


def _keys() -> Iterator[Finding]:
    made = [name for name in ("secret_key", "connection_key") if (settings.VAR / name).exists()]
    for name in made:
        mode = stat.S_IMODE((settings.VAR / name).stat().st_mode)
        if mode & 0o077:
            yield Finding("keys", WRONG, f"others can read var/{name}", f"Run chmod 600 on var/{name}.")
    if settings.PUBLIC and not os.environ.get("LAKEWARDEN_SECRET_KEYS"):
        advice = "Put LAKEWARDEN_SECRET_KEYS where you keep secrets, apart from the database and its backups."
        yield Finding("keys", WARNING, "the keys of connections and seals lie in var/", advice)
    yield Finding("keys", GOOD, f"{len(settings.LAKEWARDEN_SECRET_KEYS)} for connections and seals")
    signing.sign(b"manage.py doctor")
    yield Finding("signing keys", GOOD, f"{len(signing.public_keys())} known, the newest signs")


def _checkpoints() -> Iterator[Finding]:
    places = checkpoint_places.configured()
    if not any(not isinstance(place, FilePlace) for place in places):
        advice = "Add a place on another machine: owners of this one can change its files."
        yield Finding("checkpoints", WARNING, "they stay on this machine", advice)
    for place in places:
        if isinstance(place, FilePlace):
            folder = next(parent for parent in place.path.parents if parent.exists())
            exists = place.path.exists()
            if not (exists or folder.is_dir()) or not os.access(place.path if exists else folder, os.W_OK):
                advice = "Let the site's user write there."
                yield Finding("checkpoints", WRONG, f"{place.path} cannot be written", advice)
    kinds = [
        "file" if isinstance(p, FilePlace) else "mail" if isinstance(p, MailPlace) else "store"
        for p in places
    ]
    yield Finding("checkpoints", GOOD, f"places: {', '.join(kinds) or 'none'}")


def _mail() -> Iterator[Finding]:
    if not settings.EMAIL_BACKEND.endswith("smtp.EmailBackend"):
        state, advice = (WARNING, "Set EMAIL_URL to a mail server.") if settings.PUBLIC else (GOOD, "")
        yield Finding("mail", state, "mail goes to files or to the terminal", advice)
        return
    try:
        with get_connection(timeout=3):
            yield Finding("mail", GOOD, "the mail server accepts the sign-in")
    except OSError as problem:
        text = f"the mail server does not accept the sign-in ({type(problem).__name__})"
        yield Finding(
            "mail", WRONG, text, "Check host, port, user and password in EMAIL_URL, and the firewall."
        )


def _disk() -> Iterator[Finding]:
    folder = next(place for place in (settings.VAR, *Path(settings.VAR).parents) if place.exists())
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB free where var/ lies"
    if not os.access(folder, os.W_OK):
        yield Finding("disk", WRONG, "var/ cannot be written", "Let the site's user write there.")
    elif free < LEAST_FREE:
        yield Finding("disk", WARNING, text, "Make room, or move LAKEWARDEN_VAR.")
    else:
        yield Finding("disk", GOOD, text)


def _transport() -> Iterator[Finding]:
    """What goes to another machine must be encrypted, and its server known by its certificate."""
    open_lines = []
    for name, alias in (("DATABASE_URL", DEFAULT_DB_ALIAS), ("DATABASE_REPLICA_URL", replica.ALIAS)):
        given = settings.DATABASES.get(alias, {})
        hosts = str(given.get("HOST", "")).split(",")
        if any(map(_is_elsewhere, hosts)) and given["OPTIONS"].get("sslmode") != "verify-full":
            open_lines.append((name, "Add sslmode=verify-full and sslrootcert to it."))
    parts = urlsplit(settings.REDIS_URL)
    if parts.scheme == "redis" and _is_elsewhere(parts.hostname or ""):
        open_lines.append(("REDIS_URL", "Use rediss://, and a Redis that listens with TLS."))
    smtp = settings.EMAIL_BACKEND.endswith("smtp.EmailBackend")
    if smtp and _is_elsewhere(settings.EMAIL_HOST) and not (settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL):
        open_lines.append(("EMAIL_URL", "Use smtp+tls:// or smtps://."))
    if _is_elsewhere(urlsplit(settings.LAKEWARDEN_TRACES).hostname or "") and not str(
        settings.LAKEWARDEN_TRACES
    ).startswith("https://"):
        open_lines.append(("LAKEWARDEN_TRACES", "Use https://."))
    for name, advice in open_lines:
        yield Finding("transport", WARNING, f"{name} leads to another machine without verified TLS", advice)
    if not open_lines:
        yield Finding("transport", GOOD, "what leaves this machine is encrypted, as far as settings tell")


def _is_elsewhere(host: str) -> bool:
    """Whether a host is not this machine; "" and paths are sockets here."""
    if not host or host.startswith("/") or host == "localhost":
        return False
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return True


def _settings() -> Iterator[Finding]:
    troubles = dangers(settings.LAKEWARDEN_AUTHENTICATORS, settings.ALLOWED_HOSTS, debug=settings.DEBUG)
    for text in troubles:
        yield Finding("settings", WRONG, text.partition(";")[0], "Change the setting and restart.")
    if settings.PUBLIC and not settings.LAKEWARDEN_SIGN_INS_A_MINUTE:
        advice = "Set LAKEWARDEN_SIGN_INS_A_MINUTE."
        yield Finding("settings", WARNING, "there is no limit on passwords per minute", advice)
    if settings.PUBLIC and not str(settings.LAKEWARDEN_URL).startswith("https://"):
        advice = "Serve the site by HTTPS and set LAKEWARDEN_URL."
        yield Finding("settings", WARNING, "links in mail do not begin with https://", advice)
    if not troubles:
        yield Finding("settings", GOOD, "no setting lets strangers in")


Look = Callable[[], Iterator[Finding]]
_IN_DATABASE: dict[str, Look] = {
    "database version": _version,
    "database rights": _rights,
    "replica": _replica,
    "clocks": _clock,
    "site admins": _people,
    "backends": _backends,
}
_BESIDE: dict[str, Look] = {
    "redis memory": _redis_memory,
    "keys": _keys,
    "checkpoints": _checkpoints,
    "mail": _mail,
    "disk": _disk,
    "transport": _transport,
    "settings": _settings,
}
