"""Search: objects one may see and people one may look up, by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse

from accounts.models import Principal
from authzsite.console import naming, words
from authzsite.console.door import signed_in
from authzsite.console.lists import Pager
from authzsite.console.methods import reads
from authzsite.console.parts import Action, Empty, Face, Who
from authzsite.console.requests import Request, asker_of
from authzsite.console.shell import page
from catalog.models import Detail, Placement
from catalog.nodes import Node
from catalog.queries import nodes
from policies import history, slices
from policies.models import Ownership
from policies.queries import admitted, realms_of, search
from policies.services.grants import revision_now

SHOWN = 30
TYPES = ("catalog", "schema", "table", "view", "topic", "fileset", "model", "function")


@dataclass(frozen=True)
class Found:
    what: Who
    owner: str
    comment: str
    action: Action


@dataclass(frozen=True)
class Person:
    who: Who
    actions: tuple[Action, ...]


@reads
@signed_in
def room(request: Request) -> HttpResponse:
    """What is called so, best matches first."""
    text = request.GET.get("q", "").strip()[:300]
    asker = asker_of(request)
    realms = realms_of(asker)
    places = _objects(asker, realms, text) if text else []
    people = _people(asker, realms, text) if text else []
    if len(places) == 1 and not people and request.GET.get("go"):
        return _go(places[0])
    context = {
        "heading": f"“{text}”" if text else "Find",
        "lead": "" if text else "Type a name, or a part of one, into the field above.",
        "asked": text,
        "objects": found_rows(places[:SHOWN]),
        "objects_words": _words(places, "object", "objects"),
        "people": [_person(row) for row in people[:SHOWN]],
        "people_words": _words(people, "person or group", "people and groups"),
        "pager": Pager(f"The first {SHOWN}; type more of the name to narrow it")
        if len(places) > SHOWN
        else None,
        "empty": None if places or people or not text else _nothing(text),
    }
    realm = realms[0].name if len(realms) == 1 else ""
    return page(request, "console/search.html", context, realm=realm, revision=revision_now())


def _people(asker: Principal, realms: Sequence[Node], text: str) -> list[Principal]:
    """Those whom the asker may look up: all members for who gives access somewhere, else himself."""
    found = {row.pk: row for realm in realms for row in admitted(realm, text)[: SHOWN + 1]}
    everybody = bool(history.sight(asker, realms).objects)
    return [row for row in found.values() if everybody or row == asker]


def _words(rows: Sequence[object], one: str, many: str) -> str:
    more = len(rows) > SHOWN
    return f"More than {SHOWN} {many}" if more else words.count(len(rows), one, many)


def _go(node: Node) -> HttpResponse:
    from django.shortcuts import redirect

    return redirect(naming.page_of(node.id, node.type))


def _nothing(text: str) -> Empty:
    browse = Action("Browse the catalog", reverse("console:catalog"))
    return Empty(
        f"Nothing is called “{text}”",
        "It may not exist, or not be for you to see. Names of objects, people and groups are searched.",
        drawn=False,
        actions=(browse,),
        level=2,
    )


def _objects(asker: Principal, realms: Sequence[Node], text: str) -> list[Node]:
    """The objects found, those whose name is or begins with the text first."""
    last = text.rsplit(".", 1)[-1] or text
    found: list[Placement] = []
    for realm in realms:
        found += search(slices.current(asker, realm), realm, last, types=TYPES)[: SHOWN * 4]
    placed = nodes({row.securable_id for row in found})
    fitting = [node for node in placed.values() if text.casefold() in node.ref.full_name.casefold()]
    return sorted(fitting, key=lambda node: _rank(node, last.casefold()))


def _rank(node: Node, text: str) -> tuple[int, int, tuple[str, ...]]:
    name = node.name.casefold()
    exact = 0 if name == text else 1 if name.startswith(text) else 2
    return exact, len(node.names), node.names


def found_rows(places: Sequence[Node]) -> list[Found]:
    keys = [node.id for node in places]
    owners = {
        one.securable_id: one.owner
        for one in Ownership.objects.open().filter(securable__in=keys).select_related("owner")
    }
    comments = dict(Detail.objects.filter(securable__in=keys).values_list("securable", "comment"))
    return [_found(node, owners.get(node.id), comments.get(node.id, "")) for node in places]


def _found(node: Node, owner: Principal | None, comment: str) -> Found:
    above = " / ".join(node.names[:-1])
    who = Who(
        node.name,
        Face("thing", naming.icon_of(node.type)),
        f"{naming.kind_of(node.type)} in {above}",
        naming.page_of(node.id, node.type),
    )
    access = Action(
        "Who has access", reverse("console:object", args=[node.id]), "mini", more=f"to {node.name}"
    )
    return Found(who, owner.label if owner else "", comment[:200], access)


def _person(row: Principal) -> Person:
    asked = reverse("console:why") + "?" + urlencode({"who": str(row)})
    past = reverse("console:history") + "?" + urlencode({"person": str(row)})
    actions: Iterable[Action] = (
        Action("Ask why", asked, "mini", more=f"about {row.label}"),
        Action("History", past, "mini plain", more=f"of {row.label}"),
    )
    url = reverse("console:person", args=[row.pk])
    return Person(naming.who(row, f"{row.get_kind_display()} {row.name}", url), tuple(actions))
