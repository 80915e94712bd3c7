"""Which kinds of backend there are: those of the console and those that packages beside it bring along.

A package names its own in the entry-point group `lakewarden.backends`; an entry's name is the kind's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Optional
from urllib.parse import quote, unquote, urlsplit

from lakewarden.backends.errors import Misconfigured

GROUP = "lakewarden.backends"

RELATIONAL: Mapping[str, str] = {type_: type_ for type_ in ("catalog", "schema", "table", "view")}
CARRIED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "catalog": (("Catalog.loadCatalog", "USE_CATALOG"), ("Schema.createSchema", "CREATE_SCHEMA")),
    "schema": (
        ("Schema.loadSchema", "USE_SCHEMA"),
        ("Table.createTable", "CREATE_TABLE"),
        ("View.createView", "CREATE_VIEW"),
    ),
    "table": (("Table.loadTable", "SELECT_TABLE"), ("Table.alterTable", "MODIFY_TABLE")),
    "view": (("View.loadView", "SELECT_VIEW"),),
}
"""Which operation of the law each right of a database stands for, and the privilege that names it there."""


NEEDS: Mapping[str, str] = {
    "network": "where connections may lead: a `lakewarden.backends.network.Network`",
    "places": "the storage location of each object that has one of its own, by its path",
    "people": "the names of all who may have an account, where not all accounts can be listed",
    "record": "what is ours where nothing in the backend says so: a `lakewarden.backends.console.Record`",
    "peers": "which consoles this one carries into: a `lakewarden.backends.console.Peers`",
    "directory": "who has to do with the realm: a `lakewarden.backends.console.Directory`",
}
"""What `open` can be handed besides the URL, the realm's name and the mark."""


@dataclass(frozen=True)
class Field:
    """What the form of a connection asks beside server, port, account and password."""

    name: str
    label: str
    help: str = ""
    required: bool = True
    choices: tuple[tuple[str, str], ...] = ()
    """The values that it may have, each with what people read for it, the usual one first; () is any text."""


def plain_parts(url: str) -> dict[str, str]:
    """What a URL says: host, port, user, password, dbname; `folder` when it names no host.

    Raises Misconfigured, without the URL in its words: the password stands in it.
    """
    if "\\" in url or not url.isprintable() or any(letter.isspace() for letter in url):
        raise Misconfigured("the URL holds a letter that no URL has")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", str(parts.port or "")
    except ValueError:
        raise Misconfigured("the URL names no host or no port") from None
    place = unquote(parts.path)
    if not host:
        return {"folder": place}
    who = {"user": unquote(parts.username or ""), "password": unquote(parts.password or "")}
    return {"host": host, "port": port, "dbname": place.strip("/"), **who}


def plain_url(scheme: str, values: Mapping[str, str]) -> str:
    """`scheme://user:password@host:port/database`, each part written as a URL wants it."""
    host = values.get("host", "")
    host = f"[{host}]" if ":" in host and not host.startswith("[") else quote(host, safe="[]:.-_,")
    port = f":{values['port']}" if values.get("port") else ""
    secret = f":{quote(values['password'], safe='')}" if values.get("password") else ""
    who = f"{quote(values['user'], safe='')}{secret}@" if values.get("user") else ""
    return f"{scheme}{who}{host}{port}/{quote(values.get('database', ''), safe='')}"


@dataclass(frozen=True)
class Kind:
    """One kind of system that decisions can be mirrored into.

    `open` is called `open(url, realm=…, mark=…)`, and with what the kind `needs` of the console besides, each
    by its name: see `NEEDS`.  `schemes` are
    how its URLs begin, with `://`.  `objects` says which type of securable is what there, `carried` which
    operation of the law is which privilege there, by what the object is there.  `by_person`: there are
    no roles, so each person's rights are asked for under the key `person:<name>`.  `whole_realm`: it is
    connected to a realm, not to a catalog of it.  `wanted(backend, decisions, observation)` says, for a kind
    with roles and denials of its own, what should be there, and names what is not; `decisions` is a
    `lakewarden.backends.decisions.Decisions`.  `discovers` says which type of
    securable each kind of found object becomes.  `parts` reads a URL as the driver will, `url` makes one from
    the form's values.  `realm_kinds` are the codes of the laws whose realms it can mirror.
    """

    code: str
    label: str
    open: Callable[..., Any]
    schemes: tuple[str, ...]
    example: str
    provider: str = ""
    catalog_type: str = "relational"
    whole_realm: bool = False
    realm_kinds: tuple[str, ...] = ("gravitino",)
    by_person: bool = False
    needs: tuple[str, ...] = ()
    experimental: str = ""
    objects: Mapping[str, str] = field(default_factory=lambda: RELATIONAL)
    carried: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=lambda: CARRIED)
    wanted: Optional[Callable[..., Any]] = None
    fields: tuple[Field, ...] = ()
    url: Optional[Callable[[Mapping[str, str]], str]] = None
    parts: Callable[[str], Mapping[str, str]] = plain_parts
    discovers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if unknown := set(self.needs) - set(NEEDS):
            raise ValueError(f"no kind is handed {', '.join(sorted(unknown))}")
        if not self.discovers:
            by_type = {out_there: type for type, out_there in self.objects.items()}
            object.__setattr__(self, "discovers", by_type)

    @property
    def bound_types(self) -> frozenset[str]:
        """The types of objects that bear the names of real ones there."""
        return frozenset((*self.objects, *self.discovers.values()))

    def address(self, values: Mapping[str, str]) -> str:
        """The URL for what a form says: host, port, user, password, database and the kind's own fields."""
        return self.url(values) if self.url else plain_url(self.schemes[0], values)

    def takes(self, url: str) -> bool:
        """Whether a URL begins as this kind's do."""
        return url.startswith(self.schemes)


_built_in: dict[str, str] = {}


def register(code: str, where: str) -> None:
    """Name a kind that comes with the program: `package.module:NAME`, imported when first asked for."""
    _built_in[code] = where


def codes() -> tuple[str, ...]:
    """The codes of all kinds, those that come with the program first."""
    return (*_built_in, *sorted(_plugged().keys() - _built_in.keys()))


@cache
def get(code: str) -> Kind:
    """The kind with this code.  Raises Misconfigured when there is none, or when it cannot be loaded."""
    if code not in codes():
        names = ", ".join(codes())
        raise Misconfigured(f"no backend of kind `{code}` is installed here; known are {names}")
    try:
        if code not in _built_in:
            kind = _plugged()[code].load()
        else:
            module, _, name = _built_in[code].partition(":")
            kind = getattr(import_module(module), name)
    except Exception as error:  # a package of others may fail in any way; only its own kind is lost by it
        raise Misconfigured(f"the backend `{code}` cannot be loaded: {error}") from error
    if not isinstance(kind, Kind) or kind.code != code:
        raise Misconfigured(f"the backend `{code}` is not the kind that it is named as")
    return kind


def built() -> dict[str, Kind]:
    """Every kind that can be loaded, by its code."""
    return dict(_loadable())


def label(code: str) -> str:
    """A kind's name for people; its code when no kind of that code is installed."""
    try:
        return get(code).label
    except Misconfigured:
        return code


def forget() -> None:
    """Look again at what is installed."""
    _plugged.cache_clear()
    get.cache_clear()


def _loadable() -> Iterator[tuple[str, Kind]]:
    for code in codes():
        try:
            yield code, get(code)
        except Misconfigured:
            continue


@cache
def _plugged() -> dict[str, EntryPoint]:
    points: Any = entry_points()  # before Python 3.10 a dictionary of groups
    entries = points.select(group=GROUP) if hasattr(points, "select") else points.get(GROUP, ())
    return {entry.name: entry for entry in entries}
