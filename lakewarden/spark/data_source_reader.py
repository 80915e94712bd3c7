"""One reading of a view: where it is cut, the narrow token for the executors, and the rows of a part.

Every failure is a `ReadingFailed` whose text begins with a code, because of an exception on an executor Spark
shows the text alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from lakewarden.client import transport
from lakewarden.client.transport import ConsoleError, Transport
from lakewarden.spark.data_views import VIEWS

BASE = "/authz/v1"
OPTIONS = frozenset(
    {
        "url",
        "token",
        "realm",
        "view",
        "as_of",
        "splits",
        "columns",
        "page",
        "ttl",
        "ca",
        "timeout",
        "attempts",
    }
)
_CODES = (
    (transport.NotConfigured, "OPTION"),
    (transport.BadCredentials, "CREDENTIALS"),
    (transport.MayNotAsk, "REFUSED"),
    (transport.Gone, "GONE"),
    (transport.BadQuestion, "QUESTION"),
)


class ReadingFailed(Exception):
    """A view could not be read, or not to its end; nothing that was read of it stands for the whole."""

    def __init__(self, code: str, text: str) -> None:
        self.code = f"LAKEWARDEN_{code}"
        super().__init__(f"{self.code}: {text}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code[len("LAKEWARDEN_") :], str(self)[len(self.code) + 2 :])


@dataclass(frozen=True)
class ReadOptions:
    """What was requested by options, checked; `token` is empty on executors."""

    url: str
    token: str = field(repr=False)
    realm: str
    view: str
    as_of: str = ""
    splits: int = 4
    columns: tuple[str, ...] = ()
    page: int = 5000
    ttl: int = 1800
    ca: Optional[str] = None
    timeout: int = 60
    attempts: int = 10

    @classmethod
    def read(cls, options: Mapping[str, str]) -> ReadOptions:
        """Read options whose names are in lower case.  Raises ReadingFailed."""
        unknown = sorted(set(options) - OPTIONS)
        if unknown:
            raise ReadingFailed(
                "OPTION", f"there is no option {unknown[0]}; the options are {', '.join(sorted(OPTIONS))}"
            )
        view = _needed(options, "view")
        if view not in VIEWS:
            raise ReadingFailed("OPTION", f"view must be one of {', '.join(VIEWS)}")
        # the token given; that of the environment goes to the console of the environment alone
        url = options.get("url", "").rstrip("/")
        if url and not options.get("token") and url != os.environ.get("LAKEWARDEN_URL", "").rstrip("/"):
            raise ReadingFailed(
                "OPTION", "give option token with option url: LAKEWARDEN_TOKEN is for another address"
            )
        token = _setting(options, "token", "LAKEWARDEN_TOKEN")
        return cls(
            url=_setting(options, "url", "LAKEWARDEN_URL"),
            token=token,
            realm=_needed(options, "realm"),
            view=view,
            as_of=options.get("as_of", ""),
            columns=_columns(options, view),
            ca=options.get("ca") or os.environ.get("LAKEWARDEN_CA") or None,
            **{
                name: _whole(options, name, getattr(cls, name), least, most) for name, least, most in _NUMBERS
            },
        )

    def transport(self, token: str) -> Transport:
        try:
            return Transport(self.url, token, timeout=self.timeout, attempts=self.attempts, ca=self.ca)
        except ConsoleError as error:
            raise failed(error) from None


_NUMBERS = (
    ("splits", 1, 256),
    ("page", 1, 5000),
    ("ttl", 60, 12 * 3600),
    ("timeout", 1, 600),
    ("attempts", 1, 100),
)


def _needed(options: Mapping[str, str], name: str) -> str:
    value = options.get(name, "").strip()
    if not value:
        raise ReadingFailed("OPTION", f"option {name} is missing")
    return value


def _setting(options: Mapping[str, str], name: str, variable: str) -> str:
    value = options.get(name) or os.environ.get(variable, "")
    if not value:
        raise ReadingFailed("OPTION", f"give option {name}, or set {variable} before Spark starts")
    return value


def _whole(options: Mapping[str, str], name: str, usual: int, least: int, most: int) -> int:
    text = options.get(name, str(usual)).strip()
    if not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
        raise ReadingFailed("OPTION", f"option {name} must be a number from {least} to {most}")
    return int(text)


def _columns(options: Mapping[str, str], view: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in options.get("columns", "").split(",") if part.strip())
    return chosen(view, names or tuple(VIEWS[view]))


def chosen(view: str, names: Sequence[str]) -> tuple[str, ...]:
    """These columns, once it is clear that the view has them.  Raises ReadingFailed."""
    unknown = [name for name in names if name not in VIEWS[view]]
    if unknown or len(set(names)) != len(names):
        wrong = f"no column {unknown[0]}" if unknown else "each column once"
        raise ReadingFailed("OPTION", f"{view} has {wrong}; it has {', '.join(VIEWS[view])}")
    return tuple(names)


@dataclass(frozen=True)
class Plan:
    """The revision that a reading is pinned to, the moment for windows, and its parts."""

    revision: int
    at: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Part:
    """All that an executor needs for one part; its token reads one view at one revision, for a while."""

    wanted: ReadOptions
    token: str = field(repr=False)
    revision: int
    at: str
    after: str
    upto: str
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()


def planned(wanted: ReadOptions) -> Plan:
    """Ask where to cut.  Raises ReadingFailed."""
    query = {"view": wanted.view, "realm": wanted.realm, "n": str(wanted.splits)}
    if wanted.as_of:
        query["as_of"] = wanted.as_of
    answer = _answered(wanted.transport(wanted.token), f"{BASE}/splits", query)
    try:
        parts = tuple((str(item["after"]), str(item["upto"])) for item in answer["splits"])
        return Plan(int(answer["revision"]), str(answer["at"]), parts)
    except (KeyError, TypeError, ValueError):
        raise ReadingFailed("UNAVAILABLE", f"{wanted.url} did not say how to split the data") from None


def narrowed(wanted: ReadOptions, plan: Plan) -> str:
    """A token for executors: for this view at this revision.  Raises ReadingFailed."""
    body = {"view": wanted.view, "realm": wanted.realm, "revision": plan.revision, "ttl": wanted.ttl}
    try:
        token = wanted.transport(wanted.token).post(f"{BASE}/readings", body).get("token")
    except ConsoleError as error:
        raise failed(error) from None
    if not isinstance(token, str):
        raise ReadingFailed("UNAVAILABLE", f"{wanted.url} gave no token for reading")
    return token


def parts(wanted: ReadOptions, plan: Plan, where: Mapping[str, tuple[str, ...]]) -> list[Part]:
    """What executors are to read, with a token for that.  Raises ReadingFailed."""
    if not plan.parts:
        return []
    token, bare, query = narrowed(wanted, plan), replace(wanted, token=""), tuple(sorted(where.items()))
    return [Part(bare, token, plan.revision, plan.at, *edges, query) for edges in plan.parts]


def pages(part: Part) -> Iterator[list[dict[str, Any]]]:
    """The rows of a part, page by page, to its very end.  Raises ReadingFailed."""
    line, wanted, after = part.wanted.transport(part.token), part.wanted, part.after
    pinned = {"realm": wanted.realm, "revision": str(part.revision), "at": part.at, "upto": part.upto}
    query: dict[str, Any] = {**pinned, "limit": str(wanted.page), **dict(part.where)}
    while True:
        answer = _answered(line, f"{BASE}/{wanted.view}", {**query, "after": after})
        rows, following = answer.get("results"), answer.get("next", "")
        if not isinstance(rows, list) or not (following is None or _beyond(following, after)):
            raise ReadingFailed("UNAVAILABLE", f"{wanted.url} sent an answer that is not a page")
        yield rows
        if following is None:
            return
        after = following


def _beyond(following: object, after: str) -> bool:
    """Whether a place lies behind another; a page that leads back would never end."""
    try:
        return _place(str(following)) > _place(after)
    except ValueError:
        return False


def _place(text: str) -> tuple[float, ...]:
    first, dot, second = text.partition(".")
    return int(first), int(second) if dot else float(
        "inf"
    )  # a number alone is behind all that begins with it


def _answered(line: Transport, path: str, query: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return line.get(path, query).value or {}
    except ConsoleError as error:
        raise failed(error) from None


def failed(error: ConsoleError) -> ReadingFailed:
    """The same trouble with its code."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "UNAVAILABLE")
    return ReadingFailed(code, str(error))
