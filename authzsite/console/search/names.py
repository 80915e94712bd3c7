"""Names while one types them: people, groups, services, roles and objects, for all comboboxes."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.visible_principals import circle_of
from authzsite.console.kit.methods import reads
from authzsite.console.search.palette import Sought, text_in
from catalog.nodes import Node
from policies.decisions.personal_role_names import is_personal

PEOPLE, OBJECTS = 8, 8


@reads
@login_required
def names(request: Request) -> HttpResponse:
    """What may be meant by a text, each with what the field is to hold: `of` says of which kinds.

    `plain` asks for names as tables show them, for fields that filter.
    """
    kinds = request.GET.get("of", "").split(",")
    plain = "plain" in request.GET
    sought = Sought(circle_of(request), text_in(request).rpartition("/")[2])
    options = [*_people(sought, kinds, plain), *_roles(sought, kinds), *_objects(sought, kinds, plain)]
    context = {"options": options, "nobody": _("No object of that name is visible to you.")}
    return render(request, "console/kit/options.html", context)


def _people(sought: Sought, kinds: list[str], plain: bool) -> Iterable[dict[str, object]]:
    for row in sought.people(PEOPLE) if "people" in kinds else ():
        note = row.name if row.kind == Principal.Kind.USER else f"{row.get_kind_display()} {row.name}"
        bare = plain or row.kind == Principal.Kind.USER
        code = row.name if bare else str(row)
        yield {"code": code, "name": row.label, "note": note, "face": terms.avatar_of(row)}


def _roles(sought: Sought, kinds: list[str]) -> Iterable[dict[str, object]]:
    for node in sought.roles() if "roles" in kinds and sought.text else ():
        if not is_personal(node.name):
            yield {"code": node.name, "name": node.name, "note": node.realm, "icon": "role"}


def _objects(sought: Sought, kinds: list[str], plain: bool) -> Iterable[dict[str, object]]:
    objects = sought.objects(OBJECTS) if "objects" in kinds and sought.text else ()
    for node in (node for node, _after in objects):
        code = _full_name(node) if plain else node.ref.id
        note = f"{terms.kind_of(node.type)}, {node.realm}"
        yield {"code": code, "name": _full_name(node), "note": note, "icon": terms.icon_of(node.type)}


def _full_name(node: Node) -> str:
    return node.ref.full_name or node.name
