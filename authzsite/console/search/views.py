"""Search: objects the viewer may see and people the viewer may look up, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext

from accounts.models import Principal
from accounts.text import holdable
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Action, Empty, Face, Who
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.inputs.object_selection import ticking
from authzsite.console.kit.inputs.visible_principals import circle_of, realm_words
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.search.palette import Sought, text_in
from authzsite.downloads import csv_file
from catalog.models import Detail
from catalog.nodes import Node
from policies.decisions.lookups.object_search import After
from policies.models import Ownership
from policies.services.grants import revision_now

SHOWN, CHUNK = 30, 1000


@dataclass(frozen=True)
class SearchResult:
    what: Who
    owner: str
    comment: str
    action: Action
    id: int
    may_grant: bool


@dataclass(frozen=True)
class Person:
    who: Who
    actions: tuple[Action, ...]


@reads
@login_required
def search_page(request: Request) -> HttpResponse:
    """What is called so, the likeliest first."""
    sought = Sought(circle_of(request), text_in(request))
    text, after = sought.text, after_in(request.GET.get("after", ""))
    hits = sought.objects(SHOWN + 1, after=after) if text else []
    places = [node for node, _ in hits]
    people = sought.people(SHOWN + 1) if text and after is None else []
    people_words = (
        gettext("More than %(shown)s people and groups") % {"shown": SHOWN}
        if len(people) > SHOWN
        else words.count(len(people), "person or group", "people and groups")
    )
    context = {
        "heading": words.quoted(text) if text else gettext("Find"),
        "lead": "" if text else gettext("Type a name, or a part of one, into the field above."),
        "asked": text,
        **ticking(found_rows(sought, places[:SHOWN]), "objects"),
        "objects_words": _object_words(places, after),
        "people": [_person(row) for row in people[:SHOWN]],
        "people_words": people_words,
        "others": [item for item in sought.rest(places, people) if item.options] if not after else [],
        "pager": _pager(text, hits, after),
        "csv": f"{reverse('console:search_csv')}?{urlencode({'q': text})}" if places else "",
        "empty": None if places or people or not text else _nothing(text),
    }
    realm = realm_words(sought.circle)
    return page(request, "console/search/search.html", context, realm=realm, revision=revision_now())


def after_in(text: str) -> After | None:
    """Where a page begins, as its address says it."""
    begins, _, rest = text.partition(":")
    key, colon, folded = rest.partition(":")
    number = number_in(key)
    if begins not in ("0", "1") or not colon or number is None or not holdable(folded):
        return None
    return After(begins == "1", folded, number)


def _pager(text: str, hits: Sequence[tuple[Node, After]], after: After | None) -> Pager | None:
    if len(hits) <= SHOWN and after is None:
        return None
    next_ = ""
    if len(hits) > SHOWN:
        last = hits[SHOWN - 1][1]
        place = f"{int(last.begins)}:{last.key}:{last.folded}"
        next_ = "?" + urlencode({"q": text, "after": place})
    start = "?" + urlencode({"q": text}) if after else ""
    caption = gettext("Names that begin with it come first")
    return Pager(caption if hits else gettext("No more objects"), start, next_)


def _object_words(rows: Sequence[object], after: After | None) -> str:
    more = len(rows) > SHOWN
    if after:
        return gettext("More objects") if more else gettext("The last objects")
    if more:
        return gettext("More than %(shown)s objects") % {"shown": SHOWN}
    return words.count(len(rows), "object")


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """Every object of that name, as a file."""
    sought = Sought(circle_of(request), text_in(request))
    head = ["object", "type", "name", "owner", "comment"]
    return csv_file.answer("found", head, _csv_lines(sought) if sought.text else ())


def _csv_lines(sought: Sought) -> Iterator[list[object]]:
    after = None
    while hits := sought.objects(CHUNK, after=after):
        for node, row in zip(hits, found_rows(sought, [node for node, _ in hits]), strict=True):
            yield [node[0].ref.id, node[0].type, node[0].name, row.owner, row.comment]
        if len(hits) < CHUNK:
            return
        after = hits[-1][1]


def _nothing(text: str) -> Empty:
    browse = Action(gettext("Browse the catalog"), reverse("console:catalog"))
    ask = Action(gettext("Request by full name"), reverse("console:request_new"))
    return Empty(
        gettext("No results for “%(text)s”") % {"text": text},
        gettext(
            "It may not exist, or you may not see it. Search looks at names of objects, people and groups."
        ),
        drawn=False,
        actions=(browse, ask),
        level=2,
    )


def found_rows(sought: Sought, places: Sequence[Node]) -> list[SearchResult]:
    keys = [node.id for node in places]
    along = {key for node in places for key in node.lineage}
    owned = Ownership.objects.open().filter(securable__in=along).select_related("owner")
    owners = {item.securable_id: item.owner for item in owned}
    comments = dict(Detail.objects.filter(securable__in=keys).values_list("securable", "comment"))
    return [
        _result_of(node, _nearest(node, owners), comments.get(node.id, ""), sought.may_grant(node))
        for node in places
    ]


def _nearest(node: Node, owners: Mapping[int, Principal]) -> Principal | None:
    """Its own owner, else that of the nearest object above that has one."""
    return next((owners[key] for key in reversed(node.lineage) if key in owners), None)


def _result_of(node: Node, owner: Principal | None, comment: str, may_grant: bool) -> SearchResult:
    above = " / ".join(node.names[:-1])
    who = Who(
        node.name,
        Face("thing", terms.icon_of(node.type)),
        gettext("%(type)s in %(above)s") % {"type": terms.kind_of(node.type), "above": above},
        terms.page_of(node.id, node.type),
    )
    access = Action(
        gettext("Who has access"),
        reverse("console:object", args=[node.id]),
        "mini",
        more=gettext("to %(name)s") % {"name": node.name},
    )
    return SearchResult(who, owner.label if owner else "", comment[:200], access, node.id, may_grant)


def _person(row: Principal) -> Person:
    why_url = reverse("console:why") + "?" + urlencode({"who": str(row)})
    past = reverse("console:history") + "?" + urlencode({"person": str(row)})
    actions: Iterable[Action] = (
        Action(gettext("Ask why"), why_url, "mini", more=gettext("about %(label)s") % {"label": row.label}),
        Action(gettext("History"), past, "mini plain", more=gettext("of %(label)s") % {"label": row.label}),
    )
    url = reverse("console:person", args=[row.pk])
    return Person(terms.who(row, f"{row.get_kind_display()} {row.name}", url), tuple(actions))
