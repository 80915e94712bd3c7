"""The environment of a start, read once and judged: a wrong value stops the start with one line."""

from __future__ import annotations

import os
import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

from cryptography.fernet import Fernet
from environs import Env, EnvError

from authzsite.runtime.configuration import authorizers, databases, outgoing, single_sign_on
from authzsite.runtime.keys import kept_secret
from authzsite.runtime.telemetry import logs
from lakewarden.authorizers import Configured

CHECKOUT = Path(__file__).resolve().parent.parent
LOOPBACK = ("localhost", "127.0.0.0/8", "::1/128")
AUTHENTICATORS = ("session", "token", "simple", "anonymous", "proxy", "oidc")
LANGUAGES = {"en": "English", "de": "Deutsch"}
"""Languages there are words for, each by its own name."""
_HOST = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")
_ALLOWED_HOST = re.compile(r"^(\*|\[[0-9A-Fa-f:.]+\]|\.?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)$")
_NAME = re.compile(r"^[^\s,\x00/]{1,150}$")
_REALM = re.compile(r"^[\w.-]{1,128}$")
_MASTER = re.compile(r"^(local(\[(\d+|\*)(,\s*\d+)?\])?|yarn|spark://\S+|k8s://\S+)$")
_CHECKPOINT_PLACE = re.compile(
    r"^(file:/[^\x00]+|mailto:[^@\s]+@[^@\s]+|https://\S+|http://(localhost|127\.0\.0\.1)[:/]\S*)$"
)
_FEED = re.compile(
    r"^(file:/[^?\x00]+|https://[^?\s]+|http://(localhost|127\.0\.0\.1)[:/][^?\s]*)"
    r"(\?(format=(json|ocsf-1\.8|ocsf-1\.9))?)?$"
)
_LOG_FORMAT = re.compile(f"^({'|'.join(logs.FORMATS)})$")
_CONTACT = re.compile(r"^(mailto:[^@\s]+@[^@\s]+|https://\S+|tel:\+[0-9().-]+|)$")
_COLLECTOR = re.compile(r"^(https?://[^\s/?#@]+/[^\s?#@]*)?$")
SHORTEST_KEY = 32
_KNOWN_KEY = re.compile("django-insecure|change.?me|secret.?key|example|password", re.I)

A = TypeVar("A")
T = TypeVar("T")


class WrongSetting(Exception):
    """The message names the variable and what it must look like; it never repeats a secret."""


@dataclass(frozen=True)
class Environment:
    """Every variable of a start, typed; `database` and `redis_url` are empty for the embedded servers."""

    var: Path
    debug: bool
    secret_key: str = field(repr=False)
    allowed_hosts: tuple[str, ...]
    public: bool
    database: Mapping[str, str] = field(repr=False)
    redis_url: str = field(repr=False)
    authenticators: frozenset[str]
    service_admins: frozenset[str]
    herd_realm: str
    cdap_realm: str
    connect_allow: tuple[str, ...]
    secret_keys: tuple[str, ...] = field(repr=False)
    spark_master: str
    signing_keys: tuple[str, ...] = field(repr=False)
    checkpoints: tuple[str, ...]
    checkpoint_every: int
    audit_feeds: tuple[str, ...] = field(repr=False)
    audit_feed_secret: str = field(repr=False)
    emergency_hours: int
    languages: Sequence[tuple[str, str]]
    runs_kept: int
    unused_after: int
    mail: Mapping[str, Any] = field(repr=False)
    mail_from: str
    site: str
    chat_hooks: tuple[str, ...] = field(repr=False)
    chat_secret: str = field(repr=False)
    insecure: bool = False
    proxies: tuple[str, ...] = ()
    monitors: tuple[str, ...] = ()
    proxy_headers: Mapping[str, str] = field(default_factory=dict)
    proxy_sign_out: str = ""
    oidc: tuple[single_sign_on.Provider, ...] = ()
    second_factor: str = ""
    step_up: int = 15
    session_idle: int = 120
    session_hours: int = 12
    calls_a_minute: int = 60_000
    authorizers: Mapping[str, Configured] = field(default_factory=dict)
    directories: frozenset[str] = frozenset()
    sign_ins_a_minute: int = 600
    log_format: str = "plain"
    traces: str = ""
    traces_share: int = 100
    replica: Mapping[str, str] = field(default_factory=dict, repr=False)
    database_owner: Mapping[str, str] = field(default_factory=dict, repr=False)
    security_contact: str = ""


def dangers(authenticators: Collection[str], hosts: Collection[str], *, debug: bool) -> list[str]:
    """What of these settings lets strangers in; nothing where only this machine is served."""
    if all(map(_is_loopback, hosts)):
        return []
    dangers_ = {
        "LAKEWARDEN_AUTHENTICATORS has simple: any caller is let in by sending a name": "simple"
        in authenticators,
        "DEBUG=1 shows strangers the inside of every error": debug,
        "ALLOWED_HOSTS=* answers under any name that a stranger makes up": "*" in hosts,
    }
    return [
        f"{text}; a public host refuses to start with it unless LAKEWARDEN_INSECURE=1 says that it is meant"
        for text, so in dangers_.items()
        if so
    ]


def _refuse_dangers(env: Environment) -> Environment:
    problems = dangers(env.authenticators, env.allowed_hosts, debug=env.debug)
    if problems and not env.insecure:
        raise WrongSetting(problems[0])
    return env


def read() -> Environment:
    """Raises WrongSetting."""
    env = Env()
    var = Path(env.str("LAKEWARDEN_VAR", "") or CHECKOUT / "var").absolute()
    debug = _read("DEBUG", lambda: env.bool("DEBUG", False))
    hosts = _listed(env, "ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", _ALLOWED_HOST)
    public = not all(map(_is_loopback, hosts))
    environment = Environment(
        var=var,
        debug=debug,
        secret_key=_secret_key(env.str("SECRET_KEY", ""), var, may_make=debug or not public),
        allowed_hosts=hosts,
        public=public,
        database=_parts("DATABASE_URL", env.str("DATABASE_URL", "")),
        redis_url=_redis(env.str("REDIS_URL", "")),
        authenticators=_authenticators(env),
        service_admins=frozenset(_listed(env, "LAKEWARDEN_SERVICE_ADMINS", "", _NAME)),
        directories=frozenset(_listed(env, "LAKEWARDEN_DIRECTORIES", "", _NAME)),
        herd_realm=_matching(env, "LAKEWARDEN_HERD_REALM", "herd", _REALM, "the name of a realm"),
        cdap_realm=_matching(env, "LAKEWARDEN_CDAP_REALM", "cdap", _REALM, "the name of a realm"),
        connect_allow=_networks(env),
        secret_keys=_secret_keys(env, var),
        spark_master=_matching(
            env, "SPARK_MASTER", "local[*]", _MASTER, "local[*], spark://host:port, yarn or k8s://…"
        ),
        signing_keys=_signing_keys(env, var),
        checkpoints=_checkpoints(env, var),
        checkpoint_every=_seconds(env, "LAKEWARDEN_CHECKPOINT_EVERY", 3600),
        audit_feeds=_audit_feeds(env),
        audit_feed_secret=env.str("LAKEWARDEN_AUDIT_FEED_SECRET", "").strip(),
        emergency_hours=_hours(env, "LAKEWARDEN_EMERGENCY_HOURS", 4),
        languages=_languages(env),
        runs_kept=_days(env, "LAKEWARDEN_RUNS_KEPT", 180),
        unused_after=_days(env, "LAKEWARDEN_UNUSED_AFTER", 30, least=0),
        mail=_mail(env, var),
        mail_from=_mail_from(env),
        site=outgoing.site_of(_site(env), hosts, os.environ, public=public),
        chat_hooks=_chat_hooks(env),
        chat_secret=env.str("LAKEWARDEN_CHAT_SECRET", "").strip(),
        insecure=_read("LAKEWARDEN_INSECURE", lambda: env.bool("LAKEWARDEN_INSECURE", False)),
        proxies=_addresses(env, "LAKEWARDEN_PROXY_ADDRESSES"),
        monitors=_addresses(env, "LAKEWARDEN_MONITOR_ADDRESSES"),
        proxy_headers=_read_value(single_sign_on.proxy_headers, env.str),
        proxy_sign_out=_read_value(single_sign_on.sign_out_path, env.str),
        oidc=_read_value(single_sign_on.oidc_providers, os.environ),
        step_up=_minutes(env, "LAKEWARDEN_STEP_UP", 15),
        session_idle=_minutes(env, "LAKEWARDEN_SESSION_IDLE", 120),
        session_hours=_hours(env, "LAKEWARDEN_SESSION_HOURS", 12),
        calls_a_minute=_calls(env, "LAKEWARDEN_CALLS_A_MINUTE", 60_000),
        authorizers=_read_value(authorizers.read, env.str("LAKEWARDEN_AUTHORIZERS", "")),
        sign_ins_a_minute=_calls(env, "LAKEWARDEN_SIGN_INS_A_MINUTE", 600),
        log_format=_matching(env, "LAKEWARDEN_LOG_FORMAT", "plain", _LOG_FORMAT, "plain or json"),
        traces=_matching(env, "LAKEWARDEN_TRACES", "", _COLLECTOR, "http://collector:4318/v1/traces"),
        traces_share=_per_cent(env, "LAKEWARDEN_TRACES_SHARE", 100),
        replica=_parts("DATABASE_REPLICA_URL", env.str("DATABASE_REPLICA_URL", "")),
        database_owner=_parts("DATABASE_OWNER_URL", env.str("DATABASE_OWNER_URL", "")),
        security_contact=_matching(
            env, "LAKEWARDEN_SECURITY_CONTACT", "", _CONTACT, "mailto:…, https://… or tel:+…"
        ),
        second_factor=_matching(
            env, "LAKEWARDEN_SECOND_FACTOR", "", re.compile("^(|duties|everybody)$"), "duties or everybody"
        ),
    )
    _check_together(environment)
    return _refuse_dangers(environment)


def _check_together(settings: Environment) -> None:
    """What no variable says by itself.  Raises WrongSetting."""
    try:
        databases.check(settings.database, settings.replica, settings.database_owner)
    except ValueError as wrong:
        raise WrongSetting(str(wrong)) from None
    if "proxy" in settings.authenticators:
        _read_value(single_sign_on.check_proxies, settings.proxies)
    if "oidc" in settings.authenticators:
        _read_value(single_sign_on.check_oidc, settings.oidc)


def is_master(text: str) -> bool:
    """Whether a text names a place where Spark can run."""
    return bool(_MASTER.match(text))


def read_or_exit() -> Environment:
    """A start with a wrong value ends here: one line on stderr, exit 2."""
    try:
        return read()
    except WrongSetting as wrong:
        refuse(str(wrong))
    except OSError as failed:
        refuse(f"cannot use {failed.filename}: {failed.strerror}")


def refuse(text: str) -> NoReturn:
    sys.stderr.write(f"lakewarden: {text}\n")
    raise SystemExit(2)


def _parts(name: str, url: str) -> dict[str, str]:
    return _read_value(lambda given: databases.parts_of(name, given), url)


def _read(name: str, value: Callable[[], T]) -> T:
    try:
        return value()
    except EnvError:
        raise WrongSetting(f"{name}={os.environ.get(name, '')!r} is not understood; use 0 or 1") from None


def _read_value(value: Callable[[A], T], given: A) -> T:
    try:
        return value(given)
    except ValueError as wrong:
        raise WrongSetting(str(wrong)) from None


def _listed(env: Env, name: str, default: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
    parts = [part.strip() for part in env.str(name, default).split(",")]
    values = tuple(part for part in parts if part)
    for value in values:
        if not pattern.match(value):
            raise WrongSetting(f"{name}: {value!r} is not a value it can have (comma-separated names)")
    return values


def _matching(env: Env, name: str, default: str, pattern: re.Pattern[str], wanted: str) -> str:
    value = env.str(name, default).strip() or default
    if not pattern.match(value):
        raise WrongSetting(f"{name}={value!r} is not {wanted}")
    return value


def _is_loopback(host: str) -> bool:
    if host in ("localhost", ".localhost") or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _secret_key(given: str, var: Path, *, may_make: bool) -> str:
    if given:
        keys = given.split(",")
        weak = any(len(key) < SHORTEST_KEY or len(set(key)) < 8 or _KNOWN_KEY.search(key) for key in keys)
        if weak and not may_make:
            raise WrongSetting(f"SECRET_KEY is too easily guessed for a public host: {SHORTEST_KEY} letters")
        return given
    if not may_make:
        raise WrongSetting("SECRET_KEY must be set when DEBUG=0 and ALLOWED_HOSTS names a public host")
    return kept_secret(var / "secret_key")


def _redis(url: str) -> str:
    wrong = WrongSetting(
        "REDIS_URL must look like redis://host:6379/0, rediss://… or unix:///path/redis.sock"
    )
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        is_known = parts.scheme in ("redis", "rediss") and parts.hostname and (parts.port or True)
    except ValueError:
        raise wrong from None
    if not is_known and not (parts.scheme == "unix" and parts.path.startswith("/")):
        raise wrong
    return url


def _authenticators(env: Env) -> frozenset[str]:
    names = frozenset(_listed(env, "LAKEWARDEN_AUTHENTICATORS", "session,token", _NAME))
    for name in sorted(names - set(AUTHENTICATORS)):
        raise WrongSetting(f"LAKEWARDEN_AUTHENTICATORS: {name!r} is not one of {', '.join(AUTHENTICATORS)}")
    if "anonymous" in names and "simple" not in names:
        raise WrongSetting("LAKEWARDEN_AUTHENTICATORS: 'anonymous' works only together with 'simple'")
    return names


def _languages(env: Env) -> list[tuple[str, str]]:
    """English, and those named besides."""
    codes = _listed(env, "LAKEWARDEN_LANGUAGES", "en,de", _NAME)
    for code in codes:
        if code not in LANGUAGES:
            raise WrongSetting(f"LAKEWARDEN_LANGUAGES: {code!r} is not one of {', '.join(LANGUAGES)}")
    return [(code, name) for code, name in LANGUAGES.items() if code in ("en", *codes)]


def _networks(env: Env) -> tuple[str, ...]:
    names = [part.strip() for part in env.str("LAKEWARDEN_CONNECT_ALLOW", "").split(",")]
    for name in filter(None, names):
        if not _HOST.match(name) and not _is_network(name) and not _is_folder(name):
            raise WrongSetting(
                f"LAKEWARDEN_CONNECT_ALLOW: {name!r} is neither a host nor a network nor a folder by its path"
            )
    return tuple(filter(None, names)) or LOOPBACK


def _addresses(env: Env, name: str) -> tuple[str, ...]:
    addresses = [part.strip() for part in env.str(name, "").split(",") if part.strip()]
    for item in addresses:
        if not _is_network(item):
            raise WrongSetting(f"{name}: {item!r} is neither an address nor a network")
    return tuple(addresses)


def _is_folder(text: str) -> bool:
    # the root would let whoever may connect a realm write the rights of the console's own files
    return text.startswith("/") and Path(text).resolve() != Path("/")


def _is_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _secret_keys(env: Env, var: Path) -> tuple[str, ...]:
    given = [part.strip() for part in env.str("LAKEWARDEN_SECRET_KEYS", "").split(",") if part.strip()]
    keys = tuple(given) or (kept_secret(var / "connection_key", lambda: Fernet.generate_key().decode()),)
    for place, key in enumerate(keys, 1):
        try:
            Fernet(key)
        except ValueError:
            raise WrongSetting(
                f"LAKEWARDEN_SECRET_KEYS: key {place} is no Fernet key (32 url-safe base64 bytes)"
            ) from None
    return keys


def _signing_keys(env: Env, var: Path) -> tuple[str, ...]:
    given = [part.strip() for part in env.str("LAKEWARDEN_SIGNING_KEYS", "").split(",") if part.strip()]
    keys = tuple(given) or (kept_secret(var / "signing_key", lambda: b64encode(os.urandom(32)).decode()),)
    for place, key in enumerate(keys, 1):
        if not _is_seed(key):
            raise WrongSetting(
                f"LAKEWARDEN_SIGNING_KEYS: key {place} is no Ed25519 key (32 bytes in base64; `manage.py "
                "audit_key --new` makes one)"
            )
    return keys


def _is_seed(text: str) -> bool:
    try:
        return len(b64decode(text, validate=True)) == 32
    except ValueError:
        return False


def _checkpoints(env: Env, var: Path) -> tuple[str, ...]:
    given = env.str("LAKEWARDEN_CHECKPOINTS", "").strip() or f"file:{var}/checkpoints.txt"
    places = tuple(part.strip() for part in given.split(",") if part.strip())
    for place in places:
        if not _CHECKPOINT_PLACE.match(place):
            raise WrongSetting(
                f"LAKEWARDEN_CHECKPOINTS: {place.partition('?')[0]!r} is none of file:/path, mailto:address, https://…"
            )
    return places


def _seconds(env: Env, name: str, default: int) -> int:
    text = env.str(name, str(default)).strip()
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise WrongSetting(f"{name}={text!r} is not a number of seconds")
    return int(text)


def _hours(env: Env, name: str, default: int) -> int:
    text = env.str(name, str(default)).strip()
    if not re.fullmatch(r"[1-9]|1[0-9]|2[0-4]", text):
        raise WrongSetting(f"{name}={text!r} is not a number of hours from 1 to 24")
    return int(text)


def _days(env: Env, name: str, default: int, *, least: int = 1) -> int:
    text = env.str(name, str(default)).strip()
    if not re.fullmatch(r"0|[1-9][0-9]{0,4}", text) or int(text) < least:
        raise WrongSetting(f"{name}={text!r} is not a number of days")
    return int(text)


def _minutes(env: Env, name: str, default: int) -> int:
    text = env.str(name, str(default)).strip()
    if not re.fullmatch(r"0|[1-9][0-9]{0,3}", text):
        raise WrongSetting(f"{name}={text!r} is not a number of minutes, 0 for never")
    return int(text)


def _calls(env: Env, name: str, default: int) -> int:
    text = env.str(name, str(default)).strip()
    if not re.fullmatch(r"0|[1-9][0-9]{0,7}", text):
        raise WrongSetting(f"{name}={text!r} is not a number of calls, 0 for any")
    return int(text)


def _per_cent(env: Env, name: str, default: int) -> int:
    text = env.str(name, str(default)).strip()
    if not re.fullmatch(r"100|[1-9]?[0-9]", text):
        raise WrongSetting(f"{name}={text!r} is not a whole number from 0 to 100")
    return int(text)


def _audit_feeds(env: Env) -> tuple[str, ...]:
    feeds = tuple(filter(None, map(str.strip, env.str("LAKEWARDEN_AUDIT_FEEDS", "").split(","))))
    for feed in feeds:
        if not _FEED.match(feed):
            raise WrongSetting(
                f"LAKEWARDEN_AUDIT_FEEDS: {feed.partition('?')[0]!r} is none of file:/path, https://…, each "
                "with ?format=json, ocsf-1.8 or ocsf-1.9"
            )
    if any(not feed.startswith("file:") for feed in feeds):
        _need_webhook_secret(env, "LAKEWARDEN_AUDIT_FEED_SECRET")
    return feeds


def _need_webhook_secret(env: Env, name: str) -> None:
    if not _is_webhook_secret(env.str(name, "").strip()):
        raise WrongSetting(f"{name} must be set for a webhook: whsec_ and at least 24 bytes in base64")


def _mail(env: Env, var: Path) -> dict[str, Any]:
    try:
        return outgoing.mail_of(env.str("EMAIL_URL", "").strip(), var)
    except ValueError:
        raise WrongSetting(
            "EMAIL_URL must look like smtp://user:password@host:25, smtp+tls://…, smtps://…, file:/path "
            "or console:"
        ) from None


def _mail_from(env: Env) -> str:
    text = env.str("EMAIL_FROM", "").strip() or "Lakewarden <lakewarden@localhost>"
    if not outgoing.is_sender(text):
        raise WrongSetting(f"EMAIL_FROM={text!r} is not an address that mail can come from")
    return text


def _site(env: Env) -> str:
    text = env.str("LAKEWARDEN_URL", "").strip().rstrip("/")
    if text and not outgoing.is_site(text):
        raise WrongSetting(f"LAKEWARDEN_URL={text!r} is not like https://lake.example.org")
    return text


def _chat_hooks(env: Env) -> tuple[str, ...]:
    hooks = tuple(env.str("LAKEWARDEN_CHAT_HOOKS", "").split())
    for place, hook in enumerate(hooks, 1):
        if not outgoing.is_hook(hook):
            raise WrongSetting(
                f"LAKEWARDEN_CHAT_HOOKS: address {place} is not like https://chat.example.org/…"
            )
    if hooks:
        _need_webhook_secret(env, "LAKEWARDEN_CHAT_SECRET")
    return hooks


def _is_webhook_secret(text: str) -> bool:
    try:
        return text.startswith("whsec_") and len(b64decode(text[6:], validate=True)) >= 24
    except ValueError:
        return False
