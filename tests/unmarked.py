"""Reads what a template, a module or a script says to people without a mark for translation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser

WORD = re.compile(r"[^\W\d_]{2,}")
PROSE = re.compile(r"^[^a-zA-Z]*[A-Z][a-z]+\b|[a-z]{2,} [a-z]{2,} [a-z]{2,}|[a-z]{3,} .*[a-z]\.$")
"""What people read: it begins with a capital letter, has three words, or ends as a sentence does."""

TAG = re.compile(r"({%.*?%}|{{.*?}}|{#.*?#})", re.DOTALL)
ATTRIBUTES = ("alt", "aria-label", "aria-description", "data-label", "label", "placeholder", "title")
ARGUMENT = re.compile(r'(?<!_\()(?<![\w-])"([^"]*)"')
FILLED_IN = "\ue000"
"""Stands for a tag of the template; no letter, and nothing that ends the name of an element."""
NO_TEXT = {"code", "kbd", "pre", "script", "style"}
SPOKEN_IN_TEMPLATES = {
    # what stands unmarked, and why
    "Lakewarden": "the name of the product",
    "demo": "a name in the picture beside the sign-in",
    "shop": "as the one above",
    "sales": "as the one above",
    "orders": "as the one above",
    "shop.sales.orders": "the full name of an object, as an example",
}


def spoken(tag: str, attrs: list[tuple[str, str | None]]) -> list[str]:
    """What people read or hear of an element itself: its name, its hint, what a button or a script says."""
    given = dict(attrs)
    values = [given.get(name) for name in ATTRIBUTES]
    values += [value for name, value in attrs if name.startswith("data-") and PROSE.search(value or "")]
    if tag == "input" and given.get("type") in ("submit", "button", "reset"):
        values.append(given.get("value"))
    return [value for value in values if value]


class Texts(HTMLParser):
    """What a template itself says, with the line of it."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[tuple[int, str]] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        tag = tag.strip(FILLED_IN)
        self.texts += [(self.getpos()[0], text) for text in spoken(tag, attrs)]
        if tag in NO_TEXT:
            self._inside.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.texts.append((self.getpos()[0], data))


def without_tags(source: str) -> str:
    """The HTML of a template, without what is marked and what is filled in; each line stays where it is."""
    left, until = [], ""
    for part in TAG.split(source):
        lines = "\n" * part.count("\n")
        match = re.match(r"{%\s*(\w+)", part)
        if until:
            until = "" if match and match[1] == until else until
            left.append(lines)
        elif match and match[1] in ("blocktranslate", "comment"):
            until = f"end{match[1]}"
            left.append(FILLED_IN + lines)
        else:
            left.append(FILLED_IN + lines if part.startswith(("{%", "{{", "{#")) else part)
    return "".join(left)


def in_template(source: str) -> Iterator[tuple[int, str]]:
    """Each unmarked text of a template, with its line."""
    reader = Texts()
    reader.feed(without_tags(source).replace(f"<{FILLED_IN}", "<x"))  # the name of an element, filled in
    reader.close()
    for line, text in reader.texts:
        for piece in text.split(FILLED_IN):
            words = " ".join(piece.split()).strip(" .,:;·–")
            if WORD.search(words) and words not in SPOKEN_IN_TEMPLATES:
                yield line, words
    for part in TAG.finditer(source):
        if not re.match(r"{%\s*(translate|blocktranslate|extends|load|url|static|comment)\b", part[0]):
            line = source.count("\n", 0, part.start()) + 1
            yield from ((line, text) for text in ARGUMENT.findall(part[0]) if PROSE.search(text))


MARKS = {
    *("_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy", "noop"),
    *("gettext_noop", "count", "waits", "sentence"),
}
SILENT = {
    "ValueError",
    "TypeError",
    "AssertionError",
    "debug",
    "info",
    "warning",
    "error",
    "cast",
    "TypeVar",
    "namedtuple",
    "NamedTuple",
}
"""What a reader of a page never sees: errors of programmers, the log of the server, names of types."""


SHOWN = {"help_text", "label", "heading", "lead", "placeholder"}
"""The arguments that a form or a page shows."""


class Code(ast.NodeVisitor):
    """The texts of a module that nobody marked."""

    def __init__(self, source: str) -> None:
        self.texts: list[tuple[int, str]] = []
        self.visit(ast.parse(source))

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and PROSE.search(node.value):
            self.texts.append((node.lineno, node.value))

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                self.visit(key)
            text = value.value if isinstance(value, ast.Constant) else ""
            if getattr(key, "value", "") in ATTRIBUTES and WORD.search(str(text)):
                self.texts.append((value.lineno, str(text)))  # also a single word in small letters
            else:
                self.visit(value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # else it is a docstring
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if getattr(node.func, "id", getattr(node.func, "attr", "")) not in MARKS | SILENT:
            self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        text = getattr(node.value, "value", "")
        if node.arg in SHOWN and isinstance(text, str) and WORD.search(text):
            self.texts.append((node.value.lineno, text))  # of a form; also a single word in small letters
        else:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if getattr(node.targets[0], "id", "") != "__all__":
            self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)  # a key is no text, nor is the name of a type

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arguments(self, node: ast.arguments) -> None:
        for value in (*node.defaults, *filter(None, node.kw_defaults)):
            self.visit(value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (*node.decorator_list, node.args, *node.body):
            self.visit(part)


LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`""", re.DOTALL
)
IN_SCRIPTS = {"Escape": "a key", "Enter": "a key", "Home": "a key", "End": "a key"}


def in_script(source: str) -> Iterator[tuple[int, str]]:
    """What a script says itself; a template has to hand it over, translated, as `data-…`."""
    for literal in LITERAL.finditer(source):
        text = re.sub(r"\$\{.*?\}", "", literal[0][1:-1])
        if not literal[0].startswith(("//", "/*")) and PROSE.search(text) and text not in IN_SCRIPTS:
            yield source.count("\n", 0, literal.start()) + 1, text
