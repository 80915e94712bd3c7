"""No text stands in a template, a script, a mail or the code of a page unmarked, also where no test looks.

`tests/console/test_translated.py` opens the pages; this reads their sources, so that a branch that no test
takes is read as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.unmarked import SPOKEN_IN_TEMPLATES, Code, in_script, in_template

ROOT = Path(__file__).resolve().parents[2]
IN_ENGLISH = {"evidence/": "files of evidence are in English, as the record that they are made of"}
"""Folders of templates."""


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


READ = {".html": in_template, ".js": in_script, ".py": lambda source: Code(source).texts}
PLANTED = {
    # a file of each kind, a line of it, and what is planted in a copy behind that
    "a branch of a template": ("templates/console/home/home.html", "{% if own %}", "<b>Owner</b>"),
    "the title of a template": ("templates/console/home/home.html", "{% block title %}", "Owner "),
    "what a view shows": (
        "authzsite/console/home/views.py",
        '"actions": [waits.step()],',
        '"a": "All yours",',
    ),
    "the label of a field": ("authzsite/console/insights/hint.py", "required=True,", 'label="owner",'),
    "the help of a field": ("authzsite/console/insights/hint.py", "required=True,", 'help_text="a ticket",'),
    "a script": ("static/js/ticks.js", "let last = null;", 'count.title = "Choose all";'),
    "a mail": ("policies/notices/mail.py", "LONGEST_SUBJECT = 150", '\nSUBJECT = "News for you"'),
}


@pytest.mark.parametrize("case", PLANTED)
def test_a_text_planted_in_a_file_of_the_site_is_found(case: str) -> None:
    name, line, text = PLANTED[case]
    source, read = (ROOT / name).read_text(), READ[Path(name).suffix]
    assert line in source
    planted = source.replace(line, line + text, 1)
    assert len(list(read(planted))) == len(list(read(source))) + 1


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
        '{% include "parts/list.html" with caption=_("Completed reviews") %}',
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
