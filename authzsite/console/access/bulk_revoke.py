"""Taking direct grants on many objects back as one change, with who really loses before it is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Q
from django.http import HttpResponse, QueryDict

from accounts.models import Principal
from accounts.record import Origin
from authzsite.console.access.merged_preview import Together
from authzsite.console.kit.conflicts import changed_meanwhile, done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Empty, Note
from authzsite.console.kit.forms import MANY
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.inputs.object_selection import Chosen, back_of, leave, on_context, show_page
from authzsite.console.kit.page import say
from authzsite.console.objects.access import ObjectAccess
from authzsite.console.roles.views import nonce_in
from catalog.nodes import Node, any_of
from policies.authority import Actor
from policies.errors import Conflict, PolicyError
from policies.models import Assignment, Grant
from policies.models.grants import Effect
from policies.previews import grants as previews
from policies.services import grants
from policies.services.grants import revision_now


@dataclass
class Removal:
    """Whose direct grants on the chosen objects are to end."""

    places: Sequence[ObjectAccess]
    data: QueryDict
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def nodes(self) -> list[Node]:
        return [place.node for place in self.places]

    @cached_property
    def held(self) -> list[tuple[Principal, Grant]]:
        """Every direct grant on them, with its holder.  Three queries."""
        rows = Grant.objects.open().filter(
            any_of("securable_id", [node.id for node in self.nodes]), effect=Effect.ALLOW
        )
        system = Q(role__in=rows.values("role"), origin=Origin.SYSTEM)
        personal = Assignment.objects.open().filter(system).values("holder")
        wanted = Q(pk__in=personal) | Q(pk__in=rows.filter(holder__isnull=False).values("holder"))
        holders = list(Principal.objects.filter(wanted))
        return grants.direct_of(self.nodes, holders) if holders else []

    @cached_property
    def holders(self) -> list[Principal]:
        return sorted({one.pk: one for one, _ in self.held}.values(), key=lambda one: one.label.casefold())

    @cached_property
    def chosen(self) -> list[Principal]:
        asked = set(self.data.getlist("who"))
        return [holder for holder in self.holders if str(holder) in asked]

    @cached_property
    def codes(self) -> tuple[str, ...]:
        return tuple(sorted({row.privilege for one, row in self.held if one in self.chosen}))

    @cached_property
    def plan(self) -> Together:
        return Together(previews.of_removals(self.nodes, self.chosen, self.codes), removal=True)

    @property
    def word(self) -> str:
        """What is typed where many lose something: the name of what holds the objects."""
        return self.nodes[0].names[-2] if len(self.nodes[0].names) > 1 else self.nodes[0].name

    @property
    def losing(self) -> int:
        return self.plan.count("lose") if self.chosen else 0

    def check(self) -> bool:
        if not self.chosen:
            self.problems["who"] = "Choose at least one of them."
        elif self.losing > MANY and self.data.get("name", "") != self.word:
            self.problems["name"] = f"Type {self.word} as it is written above."
        return not self.problems

    def lines(self) -> Iterable[dict[str, Any]]:
        many = Counter((one.pk, row.securable_id) for one, row in self.held)
        objects = Counter(holder for holder, _ in many)
        for item in self.holders:
            note = f"{terms.principal_name(item)}, directly on {words.count(objects[item.pk], 'object')}"
            yield {"code": str(item), "name": item.label, "note": note, "checked": item in self.chosen}


def answer(request: Request, chosen: Chosen) -> HttpResponse:
    """From whom, with what it takes; then it is done."""
    data = chosen.data
    removal = Removal(chosen.mine, data)
    if request.method == "POST" and data.get("step") == "save" and removal.check():
        return _take(request, chosen, removal)
    return _show(request, chosen, removal, [])


def _show(request: Request, chosen: Chosen, removal: Removal, notes: list[Note]) -> HttpResponse:
    first, many = removal.places[0], words.count(len(removal.places), "object")
    seen = removal.data.get("seen", "")
    context: dict[str, Any] = {
        **on_context(chosen, removal.places),
        "notes": [*notes, *chosen.notes()],
        "heading": f"Revoke on {many}",
        "holders": list(removal.lines()),
        "tally": removal.plan.tally() if removal.chosen else None,
        "diff": removal.plan.diff() if removal.chosen else None,
        "scope": "Only direct grants are revoked. Roles, groups and owners stay.",
        "problems": removal.problems,
        "reason": removal.data.get("reason", "")[:2000],
        "type_name": removal.word if removal.losing > MANY else "",
        "button": f"Revoke from {words.count(removal.losing, 'person', 'people')}",
        "nonce": nonce_in(request),
        "seen": (not notes and number_in(seen)) or revision_now(),
        "back": back_of(first.node),
        "empty": Empty(
            "Nobody has direct access to these",
            "All access comes through roles, groups or parent objects.",
            drawn=False,
            level=2,
        ),
    }
    status = 422 if removal.problems else 200
    return show_page(request, "console/access/bulk_revoke.html", first, context, status=status)


def _take(request: Request, chosen: Chosen, removal: Removal) -> HttpResponse:
    actor = Actor(chosen.asker, "console", request_id=nonce_in(request))
    seen = number_in(removal.data.get("seen", ""))
    if done_before(actor) is None:
        try:
            grants.remove_all(
                removal.nodes,
                removal.chosen,
                removal.codes,
                by=actor,
                reason=removal.data.get("reason", "").strip()[:2000].replace("\0", ""),
                seen=seen,
            )
        except Conflict:
            note = changed_meanwhile(removal.nodes[0], seen or 0)
            return _show(request, chosen, removal, [note])
        except PolicyError as problem:
            note = Note("bad", "Not revoked, on none of them.", str(problem))
            return _show(request, chosen, removal, [note])
    names = words.listed([item.label for item in removal.chosen], 3)
    many = words.count(len(removal.places), "object")
    say(request, f"Revoked on {many} from {names}", undo=done_before(actor))
    return leave(request, removal.nodes[0])
