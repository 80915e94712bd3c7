"""Authorizers: a realm whose privileges another system manages, by the extension that the page writes."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from accounts import people
from authzsite.runtime.configuration import authorizers as setting
from catalog.nodes import Node
from lakewarden import authorizers
from lakewarden.authorizers import BadConfiguration, Configured
from lakewarden.client.transport import Unavailable
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask
from policies.decisions import authorizers as fetching
from policies.errors import Invalid
from policies.services import members, patterns
from tests.cdap_law.world import BY, OPERATOR, Caller, a_cdap, held_by, make, text, user
from tests.waiting import PATIENCE, until

PAGE = (Path(__file__).parents[2] / "docs/cdap.md").read_text()
pytestmark = pytest.mark.django_db


@pytest.fixture
def roster(tmp_path: Path) -> Iterator[Path]:
    """The page's extension in a folder of its own, as pip leaves it; its file, with what ana has."""
    [(name, code)] = re.findall(r"```python\n# (roster.py)\n(.*?)```", PAGE, re.S)
    [points] = re.findall(r"```ini\n(.*?)```", PAGE, re.S)
    (tmp_path / name).write_text(code)
    about = tmp_path / "roster-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: roster\nVersion: 1\n")
    (about / "entry_points.txt").write_text(points)
    file = tmp_path / "roster.json"
    file.write_text(
        json.dumps({"user:ana": {"dataset:ns1.a": ["READ"]}, "group:staff": {"stream:ns1.*": ["WRITE"]}})
    )
    before = list(sys.path)
    yield file
    sys.path[:] = before
    sys.modules.pop("roster", None)
    authorizers.forget()


def configuration(file: Path, **more: object) -> Path:
    """The file of the operator that names the extension for the realm `cdap`."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in {"extension": "roster", **more}.items()]
    config = ["[cdap]", *lines, f'path = ["{file.parent}"]', "[cdap.config]", f'file = "{file}"']
    place = file.parent / "authorizers.toml"
    place.write_text("\n".join(config))
    return place


@pytest.fixture
def cdap(roster: Path, settings: Any) -> Node:
    settings.LAKEWARDEN_AUTHORIZERS = setting.read(str(configuration(roster)))
    top: Node = a_cdap("cdap", master_user="master", admin_group="keepers")
    return top


def may(root: Node, who: str, action: str, entity: str) -> bool:
    return bool(ask.ask_entity(user(who), action, root, text(entity)))


def forget(root: Node) -> None:
    """As if the time had come to ask again."""
    known = fetching.of(root.name)
    assert known is not None
    for who, kept in list(known._kept.items()):
        known._kept[who] = kept._replace(again=0.0)


@pytest.mark.seed("S1-015", "S1-016", "S1-021", "S1-023", "S2-009")
def test_the_extension_of_the_page_decides_what_is_had_and_the_law_what_that_allows(cdap: Node) -> None:
    assert may(cdap, "ana", "READ", "dataset:ns1.a")
    assert may(cdap, "ana", "dataset.get", "dataset:ns1.a")
    assert not may(cdap, "ana", "WRITE", "dataset:ns1.a")
    assert not may(cdap, "bob", "READ", "dataset:ns1.a")
    members.join_group(people.ensure("group", "staff"), user("bob"), **BY)
    assert may(cdap, "bob", "WRITE", "stream:ns1.clicks")
    assert held_by(cdap, "bob") == {("WRITE", "stream:ns1.*")}
    assert Caller().may("ana", "READ", "cdap", "dataset:ns1.a")
    make(cdap, "namespace:ns1", "dataset:ns1.a", "dataset:ns1.b")
    listed = ask.visible_entities(user("ana"), cdap, [text("dataset:ns1.a"), text("dataset:ns1.b")])
    assert listed == [text("dataset:ns1.a")]


@pytest.mark.seed("S2-009")
def test_what_is_given_here_counts_for_nothing_and_is_refused(cdap: Node, settings: Any) -> None:
    with pytest.raises(Invalid, match="managed by its authorizer `roster`"):
        patterns.grant(cdap, text("dataset:ns1.a"), user("bob"), ["READ"], by=OPERATOR)
    settings.LAKEWARDEN_AUTHORIZERS = {}
    patterns.grant(cdap, text("dataset:ns1.a"), user("bob"), ["READ"], by=OPERATOR)
    settings.LAKEWARDEN_AUTHORIZERS = {
        "cdap": Configured("authzen", {"url": "http://127.0.0.1:1", "token": "t"})
    }
    assert not may(cdap, "bob", "READ", "dataset:ns1.a")
    assert may(cdap, "master", "READ", "dataset:system.logs"), "what the realm's settings give stays"


@pytest.mark.seed("S2-009", "S2-047", "S1-020")
def test_answers_are_kept_until_they_are_due(cdap: Node, roster: Path) -> None:
    assert may(cdap, "ana", "READ", "dataset:ns1.a")
    roster.write_text("{}")
    assert may(cdap, "ana", "READ", "dataset:ns1.a")
    forget(cdap)
    assert not may(cdap, "ana", "READ", "dataset:ns1.a")


@pytest.mark.seed("S1-023", "S2-009")
@pytest.mark.parametrize("told", ["no JSON", '{"user:ana": {"dataset:ns1.a": 3}}', '{"user:ana": []}'])
def test_whatever_it_raises_is_a_no_once_what_is_kept_is_too_old(
    cdap: Node, roster: Path, settings: Any, told: str
) -> None:
    assert may(cdap, "ana", "READ", "dataset:ns1.a")
    roster.write_text(told)
    forget(cdap)
    assert may(cdap, "ana", "READ", "dataset:ns1.a"), "what was told a moment ago"
    known = fetching.of("cdap")
    assert known is not None
    for who, kept in list(known._kept.items()):
        known._kept[who] = kept._replace(at=kept.at - known.configured.ttl, again=0.0)
    assert not may(cdap, "ana", "READ", "dataset:ns1.a")


@pytest.mark.seed("S1-160")
def test_what_was_told_counts_for_ten_minutes_unless_the_file_says_otherwise(roster: Path) -> None:
    place = configuration(roster)
    assert setting.read(str(place))["cdap"].ttl == 600
    place = configuration(roster, ttl=30)
    assert setting.read(str(place))["cdap"].ttl == 30


def test_what_is_no_privilege_is_left_out(cdap: Node, roster: Path, caplog: pytest.LogCaptureFixture) -> None:
    roster.write_text(json.dumps({"user:ana": {"table:x": ["READ"], "dataset:ns1.a": ["FLY", "READ"]}}))
    assert may(cdap, "ana", "READ", "dataset:ns1.a")
    assert "`READ on table:x`, which is nothing" in caplog.text
    assert "`FLY on dataset:ns1.a`, which is nothing" in caplog.text


class Hanging:
    """An extension that answers no sooner than it is let; the names of those it was asked about."""

    def __init__(self) -> None:
        self.let, self.asked = threading.Event(), list[str]()

    def privileges(self, principal: Any, groups: Any) -> list[tuple[str, str]]:
        self.asked.append(principal.name)
        self.let.wait(PATIENCE)
        return [("dataset:ns1.a", "READ")]


def test_one_that_hangs_keeps_one_waiting_and_for_so_long_alone(
    cdap: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, hanging = fetching.of("cdap"), Hanging()
    assert known is not None
    known._extension = hanging
    for name, seconds in {"LONGEST": 0.2, "SLOW": 0.1, "AGAIN": 3600.0}.items():
        monkeypatch.setattr(fetching, name, seconds)
    began = time.monotonic()
    assert not any(may(cdap, who, "READ", "dataset:ns1.a") for who in ("ana", "bob", "mia"))
    assert time.monotonic() - began < PATIENCE / 2
    until(lambda: hanging.asked == ["ana"])  # nobody else waits for the same
    known._away_until = 1.0
    assert not may(cdap, "nora", "READ", "dataset:ns1.a")
    until(lambda: hanging.asked == ["ana", "nora"])
    hanging.let.set()
    monkeypatch.setattr(fetching, "LONGEST", PATIENCE)
    known._away_until = 1.0
    assert may(cdap, "olga", "READ", "dataset:ns1.a")
    assert may(cdap, "bert", "READ", "dataset:ns1.a"), "it answers, so everybody may ask"
    assert hanging.asked == ["ana", "nora", "olga", "bert"]


def test_what_is_no_privilege_fills_neither_log_nor_memory(
    cdap: Node, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fetching, "TOLD", 3)
    known = fetching.of("cdap")
    assert known is not None
    known._extension = type(
        "Nonsense", (), {"privileges": lambda *_: [(f"x{n}", "READ") for n in range(9)]}
    )()
    assert not may(cdap, "ana", "READ", "dataset:ns1.a")
    assert caplog.text.count("which is nothing") == len(known._nothing) == 3


WRONG: dict[str, tuple[str, str]] = {
    "a relative path": ("authorizers.toml", "absolute path"),
    "no file": ("/nowhere/authorizers.toml", "cannot be read"),
    "no TOML": ("[cdap", "is no TOML"),
    "no extension": ("[cdap]\nrefresh = 5", "must name its extension"),
    "one that is not installed": ('[cdap]\nextension = "magic"', "no authorizer 'magic'; installed are"),
    "a property that it has not": ('[cdap]\nextension = "authzen"\nfile = "x"', "has no file"),
    "a time that is none": ('[cdap]\nextension = "authzen"\nttl = 0', "seconds above zero"),
    "a folder that is not there": ('[cdap]\nextension = "authzen"\npath = ["/no"]', "folders that are there"),
    "a property it does not know": (
        '[cdap]\nextension = "authzen"\n[cdap.config]\nfile = "x"', "authzen knows no file",
    ),
    "no address": ('[cdap]\nextension = "authzen"', "authzen:"),
}  # fmt: skip


@pytest.mark.seed("S1-015", "S1-021")
@pytest.mark.django_db(transaction=False)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_is_one_line_at_the_start(name: str, tmp_path: Path) -> None:
    content, message = WRONG[name]
    place = tmp_path / "authorizers.toml"
    place.write_text(content)
    wrong = content if content.endswith(".toml") else str(place)
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        setting.read(wrong)
    assert "\n" not in str(raised.value)


@pytest.mark.seed("S1-021")
def test_what_an_extension_refuses_ends_the_start(roster: Path) -> None:
    place = configuration(roster)
    place.write_text(place.read_text().replace("file =", "files ="))
    with pytest.raises(ValueError, match="roster takes file and nothing else"):
        setting.read(str(place))


@pytest.mark.seed("S1-023", "S2-009")
def test_an_authzen_authority_is_asked_by_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTHORITY_TOKEN", "secret")
    config: dict[str, Any] = {"url": "http://127.0.0.1:1", "token": "$AUTHORITY_TOKEN", "realm": "policies"}
    made = authorizers.make("authzen", {**config, "types": ["dataset"], "actions": ["READ", "WRITE"]})
    has = {"READ": ["policies/ns1.a", "other/ns1.b"], "WRITE": []}

    def where_may(who: object, action: str, type_: str) -> list[ObjectRef]:
        assert (str(who), type_) == ("user:ana", "dataset")
        return [ObjectRef.parse(type_, id_) for id_ in has[action]]

    monkeypatch.setattr(made._client, "where_may", where_may)  # type: ignore[attr-defined]
    assert list(made.privileges(user("ana").ref, ())) == [("dataset:ns1.a", "READ")]
    with pytest.raises(BadConfiguration, match="types must be a list"):
        authorizers.make("authzen", {**config, "types": "dataset"})


@pytest.mark.django_db(transaction=False)
@pytest.mark.parametrize(
    "found",
    [
        (ObjectRef.parse("dataset", f"policies/ns1.a{n}") for n in count()),
        [ObjectRef.parse("table", "policies/a")],
    ],
    ids=["without end", "of another type"],
)
def test_an_authority_that_goes_on_or_answers_something_else_gives_nothing(
    monkeypatch: pytest.MonkeyPatch, found: Any
) -> None:
    config: dict[str, Any] = {"url": "http://127.0.0.1:1", "token": "t", "realm": "policies", "timeout": 0.2}
    made = authorizers.make("authzen", config)
    monkeypatch.setattr(made._client, "where_may", lambda *_: found)  # type: ignore[attr-defined]
    with pytest.raises(Unavailable):
        list(made.privileges(user("ana").ref, ()))
