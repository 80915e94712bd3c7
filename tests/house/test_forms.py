"""What somebody sends to the console is read by a form: nothing is taken out of `request.POST` by hand."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

CONSOLE = Path(__file__).resolve().parents[2] / "authzsite" / "console"
BUTTONS = {"do", "step", "go", "nonce", "kept", "next"}
"""Which button was pressed, whether a form comes twice, and where it leads: no form has a field for these."""
EXCUSED = {
    # file: what it reads by hand, and why
    "accounts/again.py": ({"password"}, "a secret, which no page draws again"),
    "accounts/factor_forms.py": ({"credential", "name", "code"}, "what a browser made of a passkey, once"),
    "accounts/second_step.py": ({"code"}, "a secret, which no page draws again"),
    "accounts/welcome.py": ({"password", "again"}, "a secret, which no page draws again"),
    "accounts/oidc.py": ({"again"}, "a button"),
    "accounts/sign_in.py": ({"theme", "keys"}, "buttons that every page has"),
    "accounts/profile.py": ({"place", "way"}, "the row whose button was pressed"),
    "accounts/second_factor.py": ({"factor"}, "the row whose button was pressed"),
    "insights/pipelines.py": ({"realm", "name"}, "the row whose button was pressed"),
    "requests/substitutes.py": ({"number"}, "the row whose button was pressed"),
    "reviews/item.py": ({"version"}, "the row whose button was pressed"),
    "reviews/worklist.py": ({"reason"}, "read with the draft decisions of many rows"),
    "sync/connections/discoveries.py": ({"nightly"}, "a switch of one button"),
}


def read_by_hand(tree: ast.AST) -> Iterator[str]:
    """What is taken out of `request.POST` by its name; `?` for a name that is not written out."""
    for node in ast.walk(tree):
        taken: ast.expr | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr in ("get", "getlist", "pop") and sent(node.func.value):
                taken = node.args[0]
        elif isinstance(node, ast.Subscript) and sent(node.value):
            taken = node.slice
        elif isinstance(node, ast.Compare) and any(sent(item) for item in node.comparators):
            taken = node.left
        if taken is not None:
            yield taken.value if isinstance(taken, ast.Constant) and isinstance(taken.value, str) else "?"


def sent(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "POST"


def test_nothing_that_is_sent_is_read_by_hand() -> None:
    here: dict[str, set[str]] = defaultdict(set)
    for path in CONSOLE.rglob("*.py"):
        if not path.is_relative_to(CONSOLE / "kit"):
            here[str(path.relative_to(CONSOLE))] |= set(read_by_hand(ast.parse(path.read_text()))) - BUTTONS
    assert {name: names for name, names in here.items() if names} == {
        name: names for name, (names, _) in EXCUSED.items()
    }, "read it with a ConsoleForm: docs/development/forms.md"


def test_every_way_to_read_by_hand_is_seen() -> None:
    code = """
request.POST.get("a", "").strip()
self.request.POST.getlist("b")
request.POST["c"]
"d" in request.POST
request.POST.get(name)
form.cleaned_data["none"], request.GET.get("none"), Form(request.POST)
"""
    assert sorted(read_by_hand(ast.parse(code))) == ["?", "a", "b", "c", "d"]
