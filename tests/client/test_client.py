"""The client asks once, names every lack, and takes nothing but a clear yes for a yes."""

from __future__ import annotations

import ast
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import lakewarden
from lakewarden.__main__ import main
from lakewarden.client import (
    AccessDenied,
    BadCredentials,
    BadName,
    BadPrincipal,
    BadQuestion,
    Client,
    ConsoleError,
    MayNotAsk,
    NotConfigured,
    Unavailable,
    parse_resource,
)
from lakewarden.law.objects import ObjectRef
from lakewarden.law.principals import Principal
from tests.ports import free_port

from .conftest import TOKEN, Peer, answer, raw

ORDERS = ("user:ana", "read", "table:demo/shop.sales.orders")
ITEMS = ("user:ana", "read", "table:demo/shop.sales.items")
NO = {
    "decision": False,
    "context": {
        "reason_user": "ana may not read table demo/shop.sales.orders.",
        "missing": [
            {
                "kind": "privilege",
                "privilege": "SELECT_TABLE",
                "object": {"type": "table", "id": "demo/shop.sales.orders"},
                "owner": "user:olivia",
            }
        ],
        "revision": 7,
        "request_url": "http://127.0.0.1:8000/why/?x=1",
    },
}
YES = {"decision": True, "context": {"revision": 7}}


def test_one_question_goes_out_whole_and_comes_back_as_a_decision(console: Peer) -> None:
    console.scripts = [answer(NO)]
    decision = console.client().check(*ORDERS)
    path, body, headers = console.asked[0]
    assert path == "/access/v1/evaluation"
    assert body == {
        "subject": {"type": "user", "id": "ana"},
        "action": {"name": "read"},
        "resource": {"type": "table", "id": "demo/shop.sales.orders"},
    }
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert headers["Content-Type"] == "application/json"
    assert not decision
    assert decision.allowed is False
    assert decision.revision == 7
    assert (
        str(decision.missing[0]) == "lacks SELECT_TABLE on table demo/shop.sales.orders (owner: user:olivia)"
    )
    assert decision.request_url == "http://127.0.0.1:8000/why/?x=1"


def test_a_yes_is_a_yes(console: Peer) -> None:
    console.scripts = [answer(YES)]
    assert console.client().check(*ORDERS)


def test_values_and_texts_ask_the_same(console: Peer) -> None:
    console.scripts = [answer(YES)]
    odd = ObjectRef("table", "demo", ("shop", "a.b", "c"))
    console.client().check(Principal("user", "ana"), "read", odd)
    console.client().check("user:ana", "read", 'table:demo/shop."a.b".c')
    assert console.asked[0][1] == console.asked[1][1]


def test_many_questions_are_one_call(console: Peer) -> None:
    console.scripts = [answer({"evaluations": [YES, NO]})]
    decisions = console.client().check_many([ITEMS, ORDERS])
    assert [bool(each) for each in decisions] == [True, False]
    assert [path for path, *_ in console.asked] == ["/access/v1/evaluations"]
    assert [str(each.question.resource) for each in decisions] == [
        "table demo/shop.sales.items",
        "table demo/shop.sales.orders",
    ]


def test_more_than_a_batch_is_asked_in_parts(console: Peer) -> None:
    console.scripts = [answer({"evaluations": [YES] * 500}), answer({"evaluations": [YES]})]
    assert len(console.client().check_many([ORDERS] * 501)) == 501


def test_no_question_needs_no_console() -> None:
    assert Client("http://127.0.0.1:9", TOKEN).check_many([]) == []


def test_require_many_names_every_lack_at_once(console: Peer) -> None:
    console.scripts = [answer({"evaluations": [NO, YES, NO]})]
    with pytest.raises(AccessDenied) as raised:
        console.client().require_many([ORDERS, ITEMS, ORDERS])
    text = str(raised.value)
    assert isinstance(raised.value, PermissionError)
    assert len(raised.value.refusals) == 2
    assert text.count("lacks SELECT_TABLE on table demo/shop.sales.orders (owner: user:olivia)") == 2
    assert text.count("request access: http://127.0.0.1:8000/why/?x=1") == 2
    assert str(pickle.loads(pickle.dumps(raised.value))) == text  # noqa: S301  our own bytes


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("privilege", "lacks SELECT_TABLE on table demo/a"),
        ("denied", "is denied SELECT_TABLE on table demo/a"),
        ("ownership", "does not own table demo/a"),
        ("membership", "is not a member of table demo/a"),
        ("object", "no such object"),
        ("something new", "no such object"),
    ],
)
def test_each_kind_of_lack_has_its_words(console: Peer, kind: str, told: str) -> None:
    lack = {"kind": kind, "privilege": "SELECT_TABLE", "object": {"type": "table", "id": "demo/a"}}
    no = {"decision": False, "context": {"reason_user": "no such object", "missing": [lack]}}
    console.scripts = [answer({"evaluations": [no]})]
    with pytest.raises(AccessDenied) as raised:
        console.client().require_many([ORDERS])
    assert str(raised.value).splitlines()[2:] == [f"    {told}"]


def test_require_many_hands_back_the_decisions(console: Peer) -> None:
    console.scripts = [answer({"evaluations": [YES]})]
    assert [bool(each) for each in console.client().require_many([ORDERS])] == [True]


def test_an_item_that_could_not_be_decided_is_a_refusal(console: Peer) -> None:
    broken = {"decision": False, "context": {"error": {"status": 400, "message": "action.name is missing"}}}
    console.scripts = [answer({"evaluations": [broken]})]
    with pytest.raises(AccessDenied, match=r"action\.name is missing"):
        console.client().require_many([ORDERS])


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"decision": None},
        {"decision": "true"},
        {"decision": 1},
        {"evaluations": [YES]},
    ],
    ids=str,
)
def test_what_is_no_decision_is_never_a_yes(console: Peer, body: object) -> None:
    console.scripts = [answer(body)]
    with pytest.raises(Unavailable):
        console.client().check(*ORDERS)


@pytest.mark.parametrize(
    "items", [[], [YES], [YES, YES, YES], "no list", None, [YES, "yes"], [YES, {"decision": 1}]], ids=str
)
def test_a_batch_that_is_not_answered_whole_is_not_answered(console: Peer, items: object) -> None:
    console.scripts = [answer({"evaluations": items})]
    with pytest.raises(Unavailable):
        console.client().check_many([ORDERS, ITEMS])


@pytest.mark.parametrize(
    "context",
    [None, [], "x", {"missing": [3, None, {"object": 5}], "revision": "7", "request_url": 9}],
    ids=str,
)
def test_a_strange_explanation_of_a_no_is_still_a_no(console: Peer, context: object) -> None:
    console.scripts = [answer({"decision": False, "context": context})]
    decision = console.client().check(*ORDERS)
    assert decision.allowed is False
    assert decision.revision is None
    assert decision.request_url is None


@pytest.mark.parametrize(
    "script",
    [
        raw(b"<html>welcome</html>", kind="text/html"),
        raw(b'{"decision": true}', kind="text/plain"),
        raw(b"not json"),
        raw(b"[true]"),
        raw(b"\xff\xfe{}"),
        raw(b"[" * 200_000),
        raw(b""),
    ],
    ids=["html", "json as text", "no json", "a list", "no utf-8", "deep", "empty"],
)
def test_garbage_is_no_answer(console: Peer, script: object) -> None:
    console.scripts = [script]
    with pytest.raises(Unavailable):
        console.client().check(*ORDERS)
    assert len(console.asked) == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, BadQuestion), (401, BadCredentials), (403, MayNotAsk), (404, Unavailable), (500, Unavailable)],
)
def test_a_refused_question_is_told_and_not_repeated(
    console: Peer, status: int, error: type[ConsoleError]
) -> None:
    console.scripts = [answer("the reason", status)]
    with pytest.raises(error, match="the reason"):
        console.client().check(*ORDERS)
    assert len(console.asked) == 1


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_passing_failure_is_tried_again(console: Peer, status: int) -> None:
    console.scripts = [answer("later", status), answer("later", status), answer(YES)]
    assert console.client().check(*ORDERS)
    assert len(console.asked) == 3
    assert len({headers["X-Request-ID"] for *_, headers in console.asked}) == 1


def test_retry_after_is_kept(console: Peer) -> None:
    console.scripts = [answer("later", 503, Retry_After="1"), answer(YES)]
    started = time.monotonic()
    assert console.client().check(*ORDERS)
    assert time.monotonic() - started >= 1


def test_it_gives_up_with_an_error_and_never_with_a_yes(console: Peer) -> None:
    console.scripts = [answer("later", 503)]
    with pytest.raises(Unavailable, match="status 503"):
        console.client().check(*ORDERS)
    assert len(console.asked) == 3


def test_an_answer_that_breaks_off_is_tried_again(console: Peer) -> None:
    console.scripts = [raw(b'{"decision": tr', Content_Length="18"), answer(YES)]
    assert console.client().check(*ORDERS)
    assert len(console.asked) == 2


def test_nobody_there() -> None:
    with pytest.raises(Unavailable, match=r"gave no answer"):
        Client(f"http://127.0.0.1:{free_port()}", TOKEN, attempts=2).check(*ORDERS)


def silent(handler: object, given_up: threading.Event) -> None:
    given_up.wait(600)


def dripping(handler: object, given_up: threading.Event) -> None:
    raw(b"", Content_Length="1000000")(handler)  # type: ignore[arg-type]
    while not given_up.wait(0.1):
        handler.wfile.write(b" ")  # type: ignore[attr-defined]


@pytest.mark.parametrize("script", [silent, dripping])
def test_slow_is_bounded(console: Peer, script: Callable[..., None]) -> None:
    given_up = threading.Event()
    console.scripts = [lambda handler: script(handler, given_up)]
    with pytest.raises(Unavailable):
        console.client(timeout=0.5, attempts=1).check(*ORDERS)  # the peer never ends by itself
    given_up.set()


def test_a_huge_answer_is_not_read_to_its_end(console: Peer) -> None:
    sent = []

    def endless(handler: object) -> None:
        raw(b"", Content_Length=str(10**12))(handler)  # type: ignore[arg-type]
        for _ in range(1000):
            handler.wfile.write(b" " * 100_000)  # type: ignore[attr-defined]
            sent.append(100_000)

    console.scripts = [endless]
    with pytest.raises(Unavailable, match="larger than"):
        console.client().check(*ORDERS)
    assert sum(sent) < 50_000_000


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_the_token_stays_home(console: Peer, status: int) -> None:
    with Peer() as elsewhere:
        console.scripts = [answer("moved", status, Location=f"{elsewhere.url}/access/v1/evaluation")]
        elsewhere.timeout = 0.2
        with pytest.raises(Unavailable, match="redirects"):
            console.client().check(*ORDERS)
        elsewhere.handle_request()
        assert elsewhere.asked == []


def test_a_proxy_from_the_environment_is_used(console: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", console.url)
    monkeypatch.setenv("NO_PROXY", "")
    console.scripts = [answer(YES)]
    assert Client("http://console.invalid", TOKEN).check(*ORDERS)
    assert console.asked[0][0] == "http://console.invalid/access/v1/evaluation"


def test_the_token_is_in_no_text(console: Peer) -> None:
    console.scripts = [
        answer(f"your token {TOKEN} is bad", 401),
        answer({"decision": False, "context": {"reason_user": f"no, {TOKEN}"}}),
    ]
    client = console.client()
    with pytest.raises(BadCredentials) as raised:
        client.check(*ORDERS)
    assert "your token ****** is bad" in str(raised.value)
    assert client.check(*ORDERS).reason == "no, ******"
    assert TOKEN not in repr(client) + repr(client._transport) + repr(raised.value)


def test_texts_from_outside_stay_on_their_line(console: Peer) -> None:
    console.scripts = [answer({"decision": False, "context": {"reason_user": "no\n\x1b[2Jgranted"}})]
    assert console.client().check(*ORDERS).reason == "no  [2Jgranted"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "console",
        "ftp://x",
        "file:///etc/passwd",
        "http://",
        "http://a:b@x",
        "http://x:0",
        "http://x:abc",
        "http://x/?q=1",
        "http://x y",
        "http://x\n.org",
    ],
)
def test_a_wrong_address_is_told_at_once(url: str) -> None:
    with pytest.raises(NotConfigured):
        Client(url, TOKEN)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "schlüssel", "nul\0"])
def test_a_wrong_token_is_told_without_showing_it(token: str) -> None:
    with pytest.raises(NotConfigured) as raised:
        Client("http://127.0.0.1", token)
    assert not token or token not in str(raised.value)


def test_address_and_token_come_from_the_environment(console: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotConfigured, match="LAKEWARDEN_URL"):
        Client()
    monkeypatch.setenv("LAKEWARDEN_URL", console.url + "/")
    with pytest.raises(NotConfigured, match="LAKEWARDEN_TOKEN"):
        Client()
    monkeypatch.setenv("LAKEWARDEN_TOKEN", TOKEN)
    console.scripts = [answer(YES)]
    assert Client().check(*ORDERS)
    assert console.asked[0][0] == "/access/v1/evaluation"


def test_a_missing_authority_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="certificate file"):
        Client("https://127.0.0.1", TOKEN, ca=str(tmp_path / "none.pem"))


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (("ana", "read", "table:demo/a"), BadPrincipal),
        (("user:ana", "read", "demo/a"), BadName),
        (("user:ana", "read", "table:"), BadName),
    ],
)
def test_a_question_that_names_nothing_is_not_sent(
    console: Peer, asked: tuple[str, str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        console.client().check(*asked)
    assert console.asked == []


def test_names_of_any_script_arrive(console: Peer) -> None:
    console.scripts = [answer(YES)]
    resource = ObjectRef("table", "démo", ("店", "о\0", "😀" * 300))
    console.client().check(Principal("user", "Ünï 😀"), "read", resource)
    assert console.asked[0][1]["resource"]["id"] == resource.id
    assert parse_resource(f"table:{resource.id}") == resource


@pytest.mark.parametrize(
    ("answered", "code", "told"),
    [
        ({"evaluations": [YES, YES]}, 0, "user:ana may read all 2"),
        ({"evaluations": [YES, NO]}, 1, "lacks SELECT_TABLE on table demo/shop.sales.orders"),
        ({}, 2, "did not answer every question"),
    ],
)
def test_the_command_line_asks_for_all_at_once(
    console: Peer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answered: object,
    code: int,
    told: str,
) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", console.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", TOKEN)
    console.scripts = [answer(answered)]
    assert (
        main(["check", "user:ana", "read", "table:demo/shop.sales.items", "table:demo/shop.sales.orders"])
        == code
    )
    assert told in "".join(capsys.readouterr())


def test_the_command_line_says_what_is_no_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("LAKEWARDEN_TOKEN", TOKEN)
    assert main(["check", "ana", "read", "table:demo/a"]) == 2
    assert "`ana` names no principal" in capsys.readouterr().err


def test_it_imports_the_standard_library_alone() -> None:
    code = "import sys, lakewarden.client; print(sorted({m.split('.')[0] for m in sys.modules}))"
    root = Path(lakewarden.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(root)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    assert set(ast.literal_eval(done.stdout)) - set(sys.stdlib_module_names) <= {"lakewarden", "__main__"}
