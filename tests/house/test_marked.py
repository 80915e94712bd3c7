"""No text stands in a template, a script, a mail or the code of a page unmarked, also where no test looks.

`tests/console/test_translated.py` opens the pages; this reads their sources, so that a branch that no test
takes is read as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
IN_ENGLISH = {"evidence/": "files of evidence are in English, as the record that they are made of"}
"""Folders of templates."""


class Texts(HTMLParser):
    """What a template itself says, with the line of it."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[tuple[int, str]] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        tag, given = tag.strip(FILLED_IN), dict(attrs)
        values = [given.get(name) for name in ATTRIBUTES]
        values += [value for name, value in attrs if name.startswith("data-") and PROSE.search(value or "")]
        if tag == "input" and given.get("type") in ("submit", "button", "reset"):
            values.append(given.get("value"))
        self.texts += [(self.getpos()[0], text) for text in values if text]
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
PAGES = ("authzsite/console", "authzsite/runtime/middleware.py", "policies/notices")
COLLECTED = {"authzsite/console/help/glossary.py": "a table that scripts/messages.py collects as a whole"}
IN_CODE: dict[str, tuple[str, ...]] = {
    # why texts of this code stand unmarked
    "names of products": (
        *("Android", "Chrome", "Chrome/", "Edg/", "Edge", "Firefox", "Firefox/", "Lakewarden", "Linux"),
        *("Opera", "Safari", "Safari/", "Windows", "Metalake", "Herd"),
    ),
    "names of headers of HTTP and of mails": (
        *("Accept-Language", "Auto-Submitted", "Content-Language", "Cookie", "Message-ID"),
        *("Cache-Control", "Permissions-Policy"),
        'Session realm="lakewarden"',
    ),
    "operations of a law": (
        *("Group.addGroup", "Group.removeGroup", "Namespace.createNamespace", "Namespace.deleteNamespace"),
        *("Role.assignRole", "User.addUser", "User.removeUser"),
    ),
    "written into the access log, from which a page reads it in the reader's language": (
        *("((?:access|groups) of |the catalog as )(\\w+)", "access in review ", "access in the past"),
        *("all access as a policy file", "conflicts with rules of separation", "evidence of review "),
        *("export of the history as ", "file of review ", "review access of a user on ", "the catalog as "),
        "what is gone as a file",
    ),
    "heads of columns in files, which programs read": (
        *("answers for it", "grants on it", "matched when given", "objects in it", "the one by"),
        *("the other by", "wait for you", "what goes with it"),
    ),
    "examples of how each language writes times and numbers": (
        *("Fri 27 Nov, 18:00 · 100,214", "Fri, Nov 27, 6:00 PM · 100,214", "Fri 27. Nov, 18:00 · 100.214"),
        "Fri 27 Nov, 18:00 · 100\u202f214",
    ),
    "words of PostgreSQL, which are looked for": (
        *('permission denied to set role "(?P<who>[^"]*)"', "dependent privileges exist"),
        "is no role there any more",
    ),
    "a code that is kept of a run, and not its words": ("a role no longer needed",),
    "classes of a table": ("mini plain roomy",),
    "a zone of the table of zones": ("Etc/",),
    "for the log of the server, to which alone refusals by a provider go": ("its configuration is that of ",),
    "for operators, beside a letter that was not sent": (
        "the worker died on the way; it is not sent a second time",
        "the mail server answered ",
        "the mail server broke off (",
        "the mail server cannot be reached (",
    ),
    "a call of a hook has one receiver for all, and is in English as every answer to a program": (
        *(" Until ", "Urgent: "),
    ),
}


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


def found_in(paths: list[Path], read: Callable[[str], Iterable[tuple[int, str]]]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted(paths)
        for line, text in read(path.read_text())
    ]


def excused() -> set[str]:
    return {text for texts in IN_CODE.values() for text in texts}


def of_pages() -> list[Path]:
    files = [
        path
        for page in PAGES
        for path in ((ROOT / page).rglob("*.py") if (ROOT / page).is_dir() else [ROOT / page])
    ]
    return [path for path in files if str(path.relative_to(ROOT)) not in COLLECTED]


def test_no_template_has_an_unmarked_text() -> None:
    folder = ROOT / "templates"
    some = [
        path
        for path in folder.rglob("*.html")
        if not str(path.relative_to(folder)).startswith(tuple(IN_ENGLISH))
    ]
    assert found_in(some, in_template) == [], "mark it: {% translate %} or {% blocktranslate trimmed %}"


def test_no_page_and_no_mail_has_an_unmarked_text_in_its_code() -> None:
    allowed = excused()
    unmarked = found_in(
        of_pages(), lambda source: [item for item in Code(source).texts if item[1] not in allowed]
    )
    assert unmarked == [], "mark it with gettext, or give it a cause above"


def test_no_script_has_a_text_of_its_own() -> None:
    assert found_in(list((ROOT / "static" / "js").glob("*.js")), in_script) == [], "hand it over as data-…"


def test_each_exception_is_still_there() -> None:
    texts = {text for path in of_pages() for _, text in Code(path.read_text()).texts}
    assert excused() - texts == set()
    templates = "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    assert [text for text in SPOKEN_IN_TEMPLATES if text not in templates] == []


PLANTED_IN_A_TEMPLATE = {
    "a text": "{% if never %}<p>Ask an owner</p>{% endif %}",
    "one word": "<b>Owner</b>",
    "beside a marked text": '<p>{% translate "Owner" %} of this object</p>',
    "behind a marked block": "{% blocktranslate %}Owner{% endblocktranslate %} of this object",
    "behind code": "<code>olivia</code> owns it",
    "an attribute": '<input placeholder="Find a person">',
    "a part of an attribute": '<a aria-label="Owner of {{ name }}">{{ name }}</a>',
    "a button": '<input type="submit" value="Save">',
    "an attribute that a script shows": '<form data-leaving="Leave without saving?"></form>',
    "an argument": '{% include "parts/empty.html" with heading="Nothing found" %}',
    "a default": '{{ owner|default:"Nobody owns it" }}',
    "in a conditional element": '<{% if url %}a href="{{ url }}"{% else %}p{% endif %} class="q">Owner</p>',
    "behind a conditional attribute": "<li{% if last %} class=x{% endif %}>Owner</li>",
}


@pytest.mark.parametrize("case", PLANTED_IN_A_TEMPLATE)
def test_a_text_planted_in_a_template_is_found(case: str) -> None:
    assert list(in_template(PLANTED_IN_A_TEMPLATE[case]))


@pytest.mark.parametrize(
    "source",
    [
        '<p class="Big Thing" href="/objects/1">{% translate "Owner" %} {{ name }}</p>',
        "{% blocktranslate trimmed with name=row.name %}Remove <b>{{ name }}</b> now{% endblocktranslate %}",
        '{% include "parts/list.html" with caption=_("Reviews that are over") %}',
        "{% comment %}Nobody reads this{% endcomment %}{# nor this #}<script>let Name = 1</script>",
    ],
)
def test_what_is_marked_or_no_text_may_stay(source: str) -> None:
    assert not list(in_template(source))


@pytest.mark.parametrize(
    "line",
    [
        'not_saved = "Nothing was saved."',
        'NAMES = {APP: "Authenticator app"}',
        'def f(x):\n return Note("bad", f"{x} owns this now")',
        'def f(x):\n return {"heading": "Owner"}',
        'forms.TextInput(attrs={"placeholder": "everybody"})',
        'def subject(row):\n return "Urgent: " + row.sentence',
    ],
)
def test_a_text_planted_in_code_is_found(line: str) -> None:
    assert Code(line).texts


@pytest.mark.parametrize(
    "line",
    [
        'def f(x) -> "Row":\n """Says so."""\n return _("Nothing was saved.")',
        'def f(x):\n raise ValueError("Nobody registers it twice")',
        'def f(x):\n log.warning("The server says %s", x)\n return x["Content-Type"]',
    ],
)
def test_what_no_reader_sees_may_stay(line: str) -> None:
    assert not Code(line).texts


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("show(list, `${many} people found here`)", True),
        ("const text = 'Close without saving?';", True),
        ("// Close without saving?", False),
        ('row.querySelector("tbody input:not([type=hidden])")', False),
    ],
)
def test_a_text_planted_in_a_script_is_found(line: str, seen: bool) -> None:
    assert bool(list(in_script(line))) == seen
