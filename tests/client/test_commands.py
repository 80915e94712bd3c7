"""`lakewarden check | why | snapshot`: what they print, and with what code they leave."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.utils import timezone

from accounts import tokens
from lakewarden.__main__ import main
from policies.analytics import uses
from policies.analytics.uses import ReportedUse
from policies.services import objects
from tests.api.world import Shop, make_shop, user
from tests.factories import AUTHORITY, BY, the

from .conftest import TOKEN, Peer, answer
from .site import Site

Typed = Callable[..., tuple[int, str]]
ORDERS, PLANS = "table:demo/shop.sales.orders", "table:demo/shop.secret.plans"


@pytest.fixture
def typed(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Typed]:
    """The shell of ana, who may use schema shop.sales, before a real console."""
    site = Site()
    shop: Shop = make_shop()
    shop.allow(shop.tables["orders"], "SELECT_TABLE")
    site.start()
    monkeypatch.setenv("LAKEWARDEN_URL", site.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", tokens.create(user("ana")))

    def run(*arguments: str) -> tuple[int, str]:
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = int(end.code or 0)
        return code, "".join(capsys.readouterr())

    yield run
    site.stop()


@pytest.mark.django_db(transaction=True)
def test_why_says_what_a_yes_rests_on_and_what_a_no_lacks(typed: Typed) -> None:
    code, output = typed("why", "user:ana", "read", ORDERS)
    assert (code, output.splitlines()[0]) == (0, "user:ana may read table demo/shop.sales.orders")
    assert "on table demo/shop.sales.orders (role readers)" in output
    code, output = typed("why", "user:ana", "write", ORDERS)
    assert (code, output.splitlines()[0]) == (1, "user:ana may not write table demo/shop.sales.orders")
    assert "  lacks MODIFY_TABLE on table demo/shop.sales.orders (owner: user:olivia)" in output
    assert "  request access: http" in output
    assert typed("why", "user:olivia", "read", ORDERS)[0] == 2
    assert typed("why", "nobody", "read", ORDERS)[0] == 2
    assert typed("why", "user:ana", "read", "nothing")[0] == 2


@pytest.mark.django_db(transaction=True)
def test_a_snapshot_is_kept_and_decides_without_the_console(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "ana.json")
    code, output = typed("snapshot", "demo", "--out", file)
    assert code == 0
    assert output.startswith("user:ana in demo, revision ")
    monkeypatch.setenv("LAKEWARDEN_URL", "http://127.0.0.1:9")
    assert typed("check", "--snapshot", file, "user:ana", "read", ORDERS) == (0, "user:ana may read all 1\n")
    code, output = typed("check", "--snapshot", file, "user:ana", "read", ORDERS, PLANS)
    assert (code, output) == (1, f"user:ana may not read {PLANS}\n")
    assert typed("check", "--snapshot", file, "user:olivia", "read", ORDERS)[0] == 2
    Path(file).write_text(Path(file).read_text().replace("SELECT_TABLE", "MODIFY_TABLE"))
    code, output = typed("check", "--snapshot", file, "user:ana", "write", ORDERS)
    assert (code, output) == (2, "the snapshot was changed on its way: its digest does not match\n")
    assert typed("check", "--snapshot", file + "x", "user:ana", "read", ORDERS)[0] == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "arguments",
    [
        ("snapshot", "absent"),
        ("snapshot", "demo", "--for", "user:olivia"),
        ("snapshot", "demo", "--for", "table:x"),
        ("snapshot", "demo", "--out", "/nowhere/x.json"),
        ("snapshot",),
        ("fly",),
        (),
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_told_in_a_line(typed: Typed, arguments: tuple[str, ...]) -> None:
    code, output = typed(*arguments)
    assert code == 2
    assert "Traceback" not in output


LIES = [
    {},
    {"decision": "true"},
    {"decision": True, "tree": {"children": 3}},
    {"decision": True, "tree": {"rules": [{"via": [3]}]}},
    {"decision": True, "missing": [3]},
    {"decision": False, "resource": "x"},
]


@pytest.mark.parametrize("lie", LIES, ids=json.dumps)
def test_an_explanation_that_is_none_is_no_yes(
    console: Peer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lie: object
) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", console.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", TOKEN)
    console.scripts = [answer(lie)]
    code = main(["why", "user:ana", "read", ORDERS])
    capsys.readouterr()
    assert code in (1, 2)


def test_what_the_console_says_does_not_steer_the_terminal(
    console: Peer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", console.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", TOKEN)
    console.scripts = [answer({"decision": False, "principal": "\x1b[2Jana\n", "tree": {"label": "\x07"}})]
    assert main(["why", "user:ana", "read", ORDERS]) == 1
    assert "\x1b" not in "".join(capsys.readouterr())


@pytest.mark.django_db(transaction=True)
def test_simulate_says_who_loses_what_and_leaves_with_1_where_a_use_would_be_refused(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAKEWARDEN_TOKEN", tokens.create(user("marek")))
    words = ("simulate", "demo", "unassign_role", "role=readers", "principal=user:ana")
    code, out = typed(*words)
    assert (code, "1 person loses access" in out) == (0, True), out
    assert "user:ana loses" in out and "table demo/shop.sales.orders" in out
    code, out = typed(*words, "--replay", "30")
    assert code == 0 and "the reports cover 0 of" in out
    use = ReportedUse(user("ana"), the("table", "shop.sales.orders"), "read", True, timezone.now())
    uses.take(use.node.realm_id, user("ana"), "nightly", [use])
    code, out = typed(*words, "--replay", "30")
    assert code == 1 and "1 use would be refused" in out and "user:ana read table" in out
    (tmp_path / "changes.json").write_text(json.dumps([{"change": "delete_role", "role": "readers"}]))
    code, out = typed("simulate", "demo", "--file", str(tmp_path / "changes.json"), "--json")
    assert code == 0 and json.loads(out)["difference"]["totals"]["people_losing"] == 2
    (tmp_path / "changes.json").write_text("no JSON")
    assert typed("simulate", "demo", "--file", str(tmp_path / "changes.json"))[0] == 2
    assert typed("simulate", "demo")[0] == 2
    assert typed("simulate", "demo", "burn")[0] == 2
    moves = ("simulate", "demo", "move", f"resource={ORDERS}", "to=schema:demo/shop.secret")
    code, out = typed(*moves, "--replay", "30")
    assert code == 1 and "user:ana loses" in out and "1 use would be refused" in out
    objects.drop(use.node, by=BY, authority=AUTHORITY)
    code, out = typed(*words, "--replay", "30")
    assert code == 0 and "1 use of deleted objects" in out


STEPS = {name: {"count": 1, "results": []} for name in ("adds", "changes", "removals")}
WAITS = {"request": 7, "page": "/requests/7", "deciders": ["user:gil"], "lapses_at": "2030-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("body", "code", "told"),
    [
        ({**STEPS, "realm": "demo", "waits_for": None}, 0, "3 steps applied to demo"),
        ({"realm": "demo", "waits_for": WAITS}, 5, "waits for approval by user:gil (request 7"),
        ({"realm": "demo", "waits_for": {**WAITS, "deciders": []}}, 5, "there is none yet"),
        ({"realm": "demo"}, 2, "does not say what was applied"),
        ({"realm": "demo", "waits_for": 7}, 2, "does not say what was applied"),
    ],
)
def test_apply_leaves_with_5_where_the_plan_waits_for_approval(
    console: Peer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    body: object,
    code: int,
    told: str,
) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", console.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", TOKEN)
    (tmp_path / "access.yaml").write_text("format: 1")
    console.scripts = [answer(body)]
    assert main(["apply", str(tmp_path / "access.yaml"), "--plan", "d1ge57"]) == code
    assert told in "".join(capsys.readouterr())


MADE = {
    "revision": 12,
    "at": "2030-01-01T00:00:00+00:00",
    "by": "user:marek",
    "on_behalf_of": "",
    "via": "console",
    "reason": "on call",
}
DRIFTED = {"action": "added", "text": "user:ana holds role reader", "change": MADE}
KEPT_FILE = {
    "owns": ["role:reader"],
    "revision": 9,
    "at": "2030-01-01T00:00:00+00:00",
    "kept": True,
    "count": 0,
    "results": [],
    "sections": "roles:\n  reader: {}\n",
    "gone": ["old"],
}


@pytest.mark.parametrize(
    ("files", "count", "code", "words"),
    [
        ([], 0, 0, "no applied policy file owns a part of demo"),
        ([KEPT_FILE], 0, 0, "0 differ"),
        ([{**KEPT_FILE, "count": 1, "results": [DRIFTED]}], 1, 3, "user:marek by console: on call"),
        ([{**KEPT_FILE, "count": 1, "results": [DRIFTED]}], 1, 3, "remove from the file: old"),
        ([{**KEPT_FILE, "count": 2, "results": [{**DRIFTED, "change": None}]}], 2, 3, "1 more"),
        ([{**KEPT_FILE, "kept": False}], 0, 3, "its content is lost"),
        ([7], 0, 2, "does not say what differs"),
        (None, 0, 2, "does not say what differs"),
    ],
)
def test_drift_leaves_with_3_where_something_was_changed_beside_a_file(
    console: Peer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    files: object,
    count: int,
    code: int,
    words: str,
) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", console.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", TOKEN)
    console.scripts = [answer({"realm": "demo", "count": count, "files": files})] * 2
    assert main(["drift", "demo", "--sections"]) == code
    assert words in "".join(capsys.readouterr())
    if code != 2:
        assert main(["drift", "demo", "--json"]) == code
        assert json.loads(capsys.readouterr().out)["count"] == count
