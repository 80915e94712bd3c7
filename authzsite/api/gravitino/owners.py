"""Who owns an object."""

from __future__ import annotations

from authzsite.api.gravitino import path_objects
from authzsite.api.gravitino.bodies import filled, one_of, required, shape
from authzsite.api.gravitino.call import Call, Route
from authzsite.api.gravitino.errors import illegal, not_found
from authzsite.api.gravitino.wire import Wire
from policies.models import Ownership
from policies.services import owners

SET = shape({"name": required(filled), "type": required(one_of("user", "group"))})


def load(call: Call) -> Wire:
    """Without an owner the answer has no owner at all, not even null."""
    _refuse_column(call)
    row = Ownership.objects.open().filter(securable=call.node.id).select_related("owner").first()
    if row is None:
        return {}
    return {"owner": {"name": row.owner.name, "type": "group" if row.owner.kind == "group" else "user"}}


def set_(call: Call) -> Wire:
    _refuse_column(call)
    owner = path_objects.of_person(call.root, call.body["type"], call.body["name"]).person
    if owner is None:
        kind = call.body["type"].capitalize()
        raise not_found(f"{kind} {call.body['name']} does not exist in the metalake {call.root.name}")
    owners.set_owner(call.node, owner, **call.by)
    return {"set": True}


def _refuse_column(call: Call) -> None:
    if call.place.column:
        raise illegal("A column has no owner")


ONE = "metalakes/{metalake}/owners/{type}/{full_name}"
ROUTES = (
    Route("GET", ONE, "Owner.getOwnerForObject", load, noun="metadata_object", idle=("catalog",)),
    Route("PUT", ONE, "Owner.setOwnerForObject", set_, SET, noun="metadata_object", idle=("catalog",)),
)
