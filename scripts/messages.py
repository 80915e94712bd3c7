"""Collects the texts to translate into authzsite/locale/*/LC_MESSAGES/django.po, and compiles them.

python scripts/messages.py             write the catalogues and what is compiled of them
python scripts/messages.py --check     only say whether they are as the code has it
python scripts/messages.py --count     how many texts are marked, by folder, and translated
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")

import django  # noqa: E402
import polib  # noqa: E402

LOCALE = ROOT / "authzsite" / "locale"
FLOORS = ("accounts", "authzsite", "catalog", "policies")
PLAIN = {"_", "gettext", "gettext_lazy", "gettext_noop", "noop"}
PLURAL = {"ngettext", "ngettext_lazy"}
CONTEXT = {"pgettext", "pgettext_lazy"}
COUNTED = {"count", "waits"}
ARGUMENT = re.compile(r'_\("([^"]+)"\)')


class Text(NamedTuple):
    """What is looked up in a catalogue; `plural` and `context` are empty where there is none."""

    msgid: str
    plural: str = ""
    context: str = ""


Uses = dict[Text, set[str]]
"""Each text, and the files that have it."""


def texts() -> Uses:
    """Every text of the templates and of the code."""
    uses: Uses = defaultdict(set)
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for text in of_template(path):
            uses[text].add(path.relative_to(ROOT).as_posix())
    for path in sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py")):
        for text in of_module(path.read_text()):
            uses[text].add(path.relative_to(ROOT).as_posix())
    for text, file in of_tables():
        uses[text].add(file)
    return uses


def of_tables() -> Iterator[tuple[Text, str]]:
    """Texts that stand in tables of the law and of the services; a page looks them up when it draws them."""
    import authzsite.urls  # noqa: F401 (with it every module that fills a table)
    from authzsite.console.help import glossary
    from authzsite.console.kit.display.terms import CONTAINERS, plural_of
    from catalog.models import Securable
    from lakewarden.backends import kinds
    from lakewarden.law import dialects
    from policies import events, notices, sentences
    from policies.analytics import hint_kinds
    from policies.analytics.pipelines import known
    from policies.models import emergencies, pipelines, requests, review_states
    from policies.sync.backends.kinds import BUILT_IN

    for law in dialects.every():
        for right in law.privileges.values():
            leaves = sorted(bind for bind in right.binds if bind not in CONTAINERS)
            yield Text(right.label), "lakewarden/law/dialects"
            yield Text(right.description), "lakewarden/law/dialects"
            if len(leaves) == 1 and right.category not in ("create", "use", "manage"):
                leaf = leaves[0]
                yield Text(f"{right.label} {leaf}s"), "lakewarden/law/dialects"
                every = right.description.replace(f"the {leaf}", f"every {leaf}")
                yield Text(every), "lakewarden/law/dialects"
        for type_ in law.types:
            name = type_.replace("_", " ")
            yield Text(name, "", "kind of object"), "lakewarden/law/dialects"
            yield Text(name, plural_of(name)), "lakewarden/law/dialects"
    for operation in dialects.get("gravitino").operations.values():
        yield Text(operation.label), "lakewarden/law/dialects"
    for code in BUILT_IN:
        backend = kinds.get(code)
        some = [backend.label, backend.experimental]
        for item in backend.fields:
            some += [item.label, item.help, *(word for _, word in item.choices)]
        yield from ((Text(text), "policies/sync/backends") for text in some if text)
    for heading, items in glossary.GROUPS:
        yield Text(heading), "authzsite/console/help/glossary.py"
        for item in items:
            yield from ((Text(text), "authzsite/console/help/glossary.py") for text in (item.word, item.text))
    for sentence in events.SENTENCES.values():
        yield Text(f"{{actor}} {sentence}"), "policies/events.py"
    for wording in sentences.WORDINGS.values():
        yield Text(wording.one, wording.many), "policies/sentences.py"
    for kind in notices.KINDS.values():
        yield Text(kind.heading), "policies/notices/kinds.py"
    for kind in hint_kinds.KINDS.values():
        for text in (kind.label, kind.ground, kind.mends):
            yield Text(text), "policies/analytics/hint_kinds.py"
    for states in (
        *(emergencies.EMERGENCY, pipelines.RUNS, requests.PART, requests.REQUEST),
        *(review_states.REVIEW, review_states.ROW),
    ):
        yield from (
            (Text(text), "policies/models/states.py") for text in (states.name, *states.words.values())
        )
    for pipeline in known.every():
        yield from ((Text(text), "policies/analytics/pipelines") for text in (pipeline.label, pipeline.about))
    for _, text in Securable._meta.permissions:
        yield Text(text), "catalog/models/securables.py"


def of_template(path: Path) -> Iterator[Text]:
    """As Django itself reads them, so that the keys are those that it looks up."""
    from django.template import Template, engines
    from django.templatetags.i18n import BlockTranslateNode, TranslateNode

    source = path.read_text()
    nodes = Template(source, engine=engines["django"].engine).nodelist  # type: ignore[union-attr, attr-defined]
    for node in nodes.get_nodes_by_type(TranslateNode):
        context = node.message_context.var if node.message_context else ""
        yield Text(str(node.filter_expression.var.literal).replace("%", "%%"), "", str(context))
    for block in nodes.get_nodes_by_type(BlockTranslateNode):
        singular, many = (block.render_token_list(part)[0] for part in (block.singular, block.plural or []))
        yield Text(singular, many)
    yield from (Text(text) for text in ARGUMENT.findall(source))


def of_module(source: str) -> Iterator[Text]:
    """Calls with plain texts; `count(many, "person", "people")` and `waits(10, "request")` are plurals."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        given = [
            arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
        ]
        if name in PLAIN and given:
            yield Text(given[0])
        elif name in PLURAL and len(given) == 2:
            yield Text(*given)
        elif name in CONTEXT and len(given) == 2:
            yield Text(given[1], "", given[0])
        elif name in COUNTED and given and len(node.args) > 1 and given[0] == _constant(node.args[1]):
            yield Text(given[0], given[1] if len(given) > 1 else f"{given[0]}s")


def _constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def catalogue(path: Path, uses: Uses) -> polib.POFile:
    """What is translated already, and the rest without words; what is no more looked up is gone."""
    before = polib.pofile(str(path)) if path.exists() else polib.POFile()
    known = {(entry.msgid, entry.msgctxt or ""): entry for entry in before}
    made = polib.POFile(wrapwidth=110)
    made.metadata = before.metadata or {
        "Language": path.parents[1].name,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": "nplurals=2; plural=(n != 1);",
    }
    # a text that also stands in a plural is one entry with it: gettext looks both up by the same key
    plural = {(text.msgid, text.context) for text in uses if text.plural}
    for text in sorted(uses, key=lambda text: (text.msgid.casefold(), text)):
        if text.plural or (text.msgid, text.context) not in plural:
            made.append(_entry(text, known.get((text.msgid, text.context)), uses[text]))
    return made


def _entry(text: Text, before: polib.POEntry | None, files: set[str]) -> polib.POEntry:
    entry = polib.POEntry(msgid=text.msgid, msgctxt=text.context or None)
    entry.occurrences = [(file, "") for file in sorted(files)]
    if "%(" in text.msgid or "%%" in text.msgid:
        entry.flags = ["python-format"]
    if text.plural:
        entry.msgid_plural = text.plural
        forms = before.msgstr_plural if before and before.msgstr_plural else {}
        entry.msgstr_plural = {0: forms.get(0, ""), 1: forms.get(1, "")}
    elif before:
        entry.msgstr = before.msgstr or before.msgstr_plural.get(0, "")
    entry.tcomment = before.tcomment if before else ""
    return entry


def main(arguments: list[str]) -> int:
    django.setup()
    uses, wrong = texts(), 0
    if "--count" in arguments:
        folders = Counter("/".join(file.split("/")[:3]) for files in uses.values() for file in files)
        for folder, number in sorted(folders.items()):
            print(f"{number:5} {folder}")
        print(f"{len(uses):5} texts")
    for path in sorted(LOCALE.glob("*/LC_MESSAGES/django.po")):
        made, compiled = catalogue(path, uses), path.with_suffix(".mo")
        if "--count" in arguments:
            print(f"{len(made.translated_entries()):5} of {len(made)} in {path.parents[1].name}")
        elif "--check" in arguments:
            wrong |= str(made) + "\n" != path.read_text() or made.to_binary() != compiled.read_bytes()
        else:
            path.write_text(str(made) + "\n")
            compiled.write_bytes(made.to_binary())
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
