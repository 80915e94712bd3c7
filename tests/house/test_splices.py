"""No English is filled into a sentence that is translated, and no error of the console is English alone.

Read from the code: each value of a sentence is followed to where its text comes from, through names, branches
and functions of the same module.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import polib
import pytest

ROOT = Path(__file__).resolve().parents[2]
SPOKEN = ("accounts", "catalog", "policies", "authzsite")
MARKS = {
    *("_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy"),
    *("pgettext", "pgettext_lazy", "npgettext", "noop", "gettext_noop"),
}
ERRORS = {"Invalid", "Conflict", "Refused", "NotFound"}
WORD = re.compile(r"[A-Za-z]{2,}")
OF_PROGRAMS = (
    *("authzsite/api/", "authzsite/management/"),  # read by programs and by operators, in English
    "policies/record/exports/",  # files
    *("policies/record/lost_ends.py", "policies/services/seals.py"),  # commands of operators
    "policies/services/cdap_instances.py",  # commands that CDAP's own tools send
)
"""Errors here stay in English."""
NAMES = {"/inbox", " UTC"}
"""What is filled in and is no word."""
PART = re.compile(r"[\s,;:.]|.*\s$", re.DOTALL)
PARTS = {
    "; granted a day ago": "Spark jobs write its code, and hints keep it as a value of their ground",
    "; granted today": "as the one above",
    ", because {others} denies it too": "as the one above, of what denies the same",
}
"""The texts that begin or end within a sentence, and why."""


class Module:
    """One module's sentences, and the English that gets into them."""

    def __init__(self, source: str) -> None:
        self.tree = ast.parse(source)

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        return {node.name: node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)}

    @cached_property
    def _around(self) -> dict[ast.AST, ast.AST]:
        """The innermost function around each node, the module around all else."""
        around: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            inner = node if isinstance(node, ast.FunctionDef) else around.get(node, self.tree)
            around |= dict.fromkeys(ast.iter_child_nodes(node), inner)
        return around

    def spliced(self, *, errors: bool = True) -> Iterator[tuple[int, str]]:
        """English in sentences and, with `errors`, instead of them; each with its line."""
        for node in ast.walk(self.tree):
            for value in (*_values(node), *(_raised(node) if errors else ())):
                for text in self._texts(value, self._around.get(node, self.tree)):
                    if WORD.search(text) and text not in NAMES:
                        yield value.lineno, text

    def _texts(
        self, value: ast.AST | None, within: ast.AST, seen: frozenset[str] = frozenset()
    ) -> Iterator[str]:
        """The texts that a value can be, as far as they are written in this module."""
        more: list[tuple[ast.AST | None, ast.AST]] = []
        match value:
            case ast.Constant(value=str(text)):
                yield text
            case ast.JoinedStr(values=parts):
                more = [(part, within) for part in parts]
            case ast.FormattedValue(value=inner) | ast.Starred(value=inner) | ast.NamedExpr(value=inner):
                more = [(inner, within)]
            case ast.IfExp(body=first, orelse=second) | ast.BinOp(left=first, op=ast.Add(), right=second):
                more = [(first, within), (second, within)]
            case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                more = [(part, within) for part in parts]
            case ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner):
                more = [(inner, within)]
            case ast.Subscript(value=ast.Dict(values=parts)):
                more = [(part, within) for part in parts]
            case ast.Name(id=name) if name not in seen:
                seen |= {name}
                more = [(item, within) for item in _assigned(name, within)]
            case ast.Call(func=ast.Attribute(value=glue, attr="join"), args=parts):
                more = [(part, within) for part in (glue, *parts)]
            case ast.Call(func=ast.Name(id="str"), args=parts):
                more = [(part, within) for part in parts]
            case ast.Call(func=function) if (
                name := _own_name(function)
            ) in self.functions.keys() - seen - MARKS:
                seen, made = seen | {name}, self.functions[name]
                more = [(node.value, made) for node in ast.walk(made) if isinstance(node, ast.Return)]
        for item, place in more:
            yield from self._texts(item, place, seen)


def _values(node: ast.AST) -> list[ast.expr]:
    """What a sentence is filled with."""
    match node:
        case ast.BinOp(left=sentence, op=ast.Mod(), right=ast.Dict(values=values)) if _is_marked(sentence):
            return values
        case ast.Call(func=ast.Name(id="say"), keywords=keywords):
            return [keyword.value for keyword in keywords]
    return []


def _raised(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[text, *_])) if name in ERRORS:
            return [text]
    return []


def _is_marked(sentence: ast.AST) -> bool:
    match sentence:
        case ast.IfExp(body=first, orelse=second):
            return _is_marked(first) or _is_marked(second)
        case ast.Call(func=ast.Name(id=name)):
            return name in MARKS or name == "str"
    return isinstance(sentence, ast.Name)


def _own_name(function: ast.AST) -> str:
    """The name of a function of the module, or of a method of the same object."""
    match function:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
    return ""


def _assigned(name: str, within: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(within):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=target)], value=value)
                | ast.NamedExpr(target=ast.Name(id=target), value=value)
            ) if target == name:
                yield value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                for at, part in enumerate(targets):
                    if isinstance(part, ast.Name) and part.id == name:
                        yield from _parts(value, at)


def _parts(value: ast.AST, at: int) -> Iterator[ast.AST]:
    """What stands at a place of each tuple that a value can be."""
    match value:
        case ast.Tuple(elts=parts) if at < len(parts):
            yield parts[at]
        case ast.IfExp(body=first, orelse=second):
            yield from (*_parts(first, at), *_parts(second, at))


SPLICED = {
    "a branch": 'def f(x):\n what = "lose" if x else "gain"\n return _("You %(what)s") % {"what": what}',
    "a tail": 'def f(x):\n by = f" by role {x}" if x else ""\n return _("Denied%(by)s") % {"by": by}',
    "a glue": 'def f(x):\n return _("One of %(x)s") % {"x": " or ".join(x)}',
    "two at once": 'def f(x):\n a, b = (x, "nobody") if x else (x, x)\n return _("For %(b)s") % {"b": b}',
    "a function": 'def g():\n return "all of it"\ndef f():\n return say(CODE, what=g())',
    "an error": 'def f(x):\n raise Refused(f"You may not do {x}")',
    "a method": (
        'class C:\n def p(self):\n  return "No risk"\n def f(self):\n'
        "  if problem := self.p():\n   raise Invalid(problem)"
    ),
}
WHOLE = (
    'def f(x):\n raise Invalid(_("%(name)s is no %(kind)s") % {"name": x.get("name"), "kind": _("role")})',
    'def f(x):\n text = _("Yes") if x else _("No")\n raise Conflict(text % {"x": ", ".join(x)})',
)


@pytest.mark.parametrize("case", SPLICED)
def test_english_within_a_sentence_is_found(case: str) -> None:
    assert list(Module(SPLICED[case]).spliced())


@pytest.mark.parametrize("source", WHOLE)
def test_names_and_sentences_within_a_sentence_may_stay(source: str) -> None:
    assert not list(Module(source).spliced())


def test_sentences_are_whole() -> None:
    """Write the sentence once for each case, or fill in a text that is translated too."""
    listed = subprocess.run(
        ["git", "ls-files", *(f"{folder}/*.py" for folder in SPOKEN)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    splices = [
        f"{path}:{line}: {text!r}"
        for path in listed.stdout.split()
        if "/migrations/" not in path and (ROOT / path).exists()
        for line, text in Module((ROOT / path).read_text()).spliced(errors=not path.startswith(OF_PROGRAMS))
    ]
    assert not splices


@pytest.mark.parametrize(
    "text", [" until %(end)s", ", for %(people)s", "; first %(day)s", ". It only reports", "its owner, or "]
)
def test_a_part_of_a_sentence_is_found(text: str) -> None:
    assert PART.match(text)


@pytest.mark.parametrize("text", ["until %(end)s", "%(role)s, for %(people)s", "<b>Why</b>: who can do what"])
def test_a_text_that_stands_by_itself_is_none(text: str) -> None:
    assert not PART.match(text)


def test_no_text_is_a_part_of_another() -> None:
    """Another language orders its words in its own way: write the sentence with the part and once without.

    The catalogue has every text of the code and of the templates; another test holds it to that.
    """
    catalogue = polib.pofile(str(ROOT / "authzsite/locale/de/LC_MESSAGES/django.po"))
    assert {entry.msgid for entry in catalogue if PART.match(entry.msgid)} == set(PARTS)
