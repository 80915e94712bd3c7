"""Requests in realms whose law grants straight to people: a Herd's permissions, a CDAP's texts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts import people
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.dialects.cdap.authorizable import parse
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask as decisions_ask
from policies.errors import Invalid, NotFound, Refused
from policies.models import Grant
from policies.requests import decision_context, visibility
from policies.services import entities, entries, objects, patterns, realms, roles
from policies.services.entries import Turn
from policies.services.objects import NewObject
from tests.factories import AUTHORITY, BY, a_person, a_role
from tests.requests.world import approve, ask, told, who


@pytest.fixture
def herd(db: None) -> Node:
    """Adam administers herd; Dana is a data owner who may grant in namespace RISK."""
    for name in ("adam", "dana", "ana", "gus"):
        people.make_account(name)
    root = realms.create("herd", "herd", owner=who("adam"), by=BY, authority=AUTHORITY)
    [namespace] = objects.register(root, [NewObject("namespace", "RISK")], by=BY, authority=AUTHORITY)
    turns = [Turn(who(name), frozenset({"GRANT", "READ"})) for name in ("dana", "gus")]
    entries.turn(namespace, turns, by=BY, authority=AUTHORITY)
    office = find(ObjectRef("role", "herd", ("DATA_OWNER",)))
    assert office is not None
    roles.assign(office, who("dana"), by=BY, authority=AUTHORITY)
    return namespace


def test_in_a_herd_a_data_owner_of_the_namespace_decides(herd: Node) -> None:
    request = ask("ana", "read namespace RISK", "write namespace risk", realm="herd", lasts="P30D")
    assert told(request) == ["Read, Write on namespace herd/RISK: asked"]
    assert list(visibility.waiting_for(who("dana"))) == [request]
    assert not visibility.waiting_for(who("gus")).exists()
    with pytest.raises(NotFound):
        approve(request, "gus")
    assert approve(request, "dana", give={0: ["READ"]}).state == "approved_less"
    assert decisions_ask.ask(who("ana"), "read", herd)
    assert not decisions_ask.ask(who("ana"), "write", herd)
    end = request.wants.get(action="read").valid_until
    assert not decisions_ask.ask(who("ana"), "read", herd, now=end)
    [grant] = Grant.objects.filter(origin="request")
    assert (grant.holder, grant.valid_until) == (who("ana"), end)


def test_in_a_herd_the_same_name_in_other_letters_is_the_same_person(herd: Node) -> None:
    people.make_account("DANA")
    request = ask("DANA", "write namespace RISK", realm="herd")
    with pytest.raises(Refused, match="You cannot decide a request that you made"):
        approve(request, "dana")
    assert approve(request, "adam").state == "approved"


def test_in_a_herd_the_spelling_of_a_hidden_name_tells_nothing(herd: Node) -> None:
    a_role(next(iter(herd.above())), "Night_Shift")
    people.make_account("eve")
    answers = []
    for name in ("night_SHIFT", "day_SHIFT"):
        request = ask("eve", f"hold role {name}", realm="herd")
        answers.append([item.upper().replace(name.upper(), "NAME") for item in told(request)])
        assert "Night_Shift" not in f"{told(request)} {request.wants.get().name}"
        assert name.upper() in request.wants.get().name
    assert answers[0] == answers[1]
    hidden = request.__class__.objects.order_by("pk")[0].parts.get(kind="role")
    assert hidden.places != request.parts.get(kind="role").places  # it reaches who gives that very role


def test_in_a_herd_nothing_is_asked_for_a_group(herd: Node) -> None:
    a_person("ana", "quants")
    with pytest.raises(Invalid, match="nothing can be granted to a group"):
        ask("ana", "read namespace RISK", realm="herd", holder="group:quants")


@pytest.fixture(params=["4.3", "3.5", "3.4"])
def cdap(request: pytest.FixtureRequest, db: None) -> Node:
    """Adam administers cdap; Dana has ADMIN on namespace ns1."""
    for name in ("adam", "dana", "ana", "mia"):
        people.make_account(name)
    root = realms.create(
        "cdap", "cdap", owner=who("adam"), by=BY, authority=AUTHORITY, settings={"policy": request.param}
    )
    for text in ("namespace:ns1", "dataset:ns1.orders"):
        entities.create(root, parse(text), by=BY)
    for text in ("namespace:ns1", "dataset:ns1.orders"):
        patterns.grant(root, parse(text), who("dana"), ["ADMIN"], by=BY)
    return root


def may(root: Node, name: str, action: str = "READ", **more) -> bool:
    node = find(ObjectRef("dataset", "cdap", ("ns1", "orders")))
    return bool(decisions_ask.ask(who(name), action, node, **more))


def test_in_a_cdap_the_very_text_is_granted_for_the_time_asked(cdap: Node) -> None:
    request = ask("ana", "READ dataset ns1.orders", realm="cdap", lasts="P7D")
    assert told(request)[-1] == "Read on dataset cdap/ns1.orders: asked"
    nearest = "adam" if cdap.kind == "cdap43" else "dana"
    assert request in visibility.waiting_for(who(nearest))
    assert not may(cdap, "ana")
    if nearest == "adam":
        with pytest.raises(NotFound):
            approve(request, "dana")
    assert approve(request, nearest, parts=[part.number for part in request.parts.all()]).state == "approved"
    assert may(cdap, "ana")
    want = request.wants.get()
    assert want.valid_until - want.given_at == timedelta(days=7)
    assert may(cdap, "ana", now=want.valid_until - timedelta(microseconds=1))
    assert not may(cdap, "ana", now=want.valid_until)
    texts = set(Grant.objects.filter(origin="request").values_list("pattern", flat=True))
    assert "dataset:ns1.orders" in texts


def test_in_a_cdap_a_group_can_be_given_it_and_is_considered(cdap: Node) -> None:
    a_person("ana", "quants")
    a_person("mia", "quants")
    request = ask("ana", "READ dataset ns1.orders", realm="cdap", holder="group:quants")
    consideration = decision_context.consider(visibility.get(request.pk, who("adam")))
    assert consideration.present[0].want.name == "cdap/ns1.orders"
    with pytest.raises(Refused):
        approve(request, "mia")
    approve(request, "adam", parts=[part.number for part in request.parts.all()])
    assert may(cdap, "mia")


def test_what_is_not_there_yet_can_be_given_where_the_law_gives_ahead(cdap: Node) -> None:
    for name in ("ns1.later", "ns1.*"):
        request = ask("ana", f"READ dataset {name}", realm="cdap")
        everything = [part.number for part in request.parts.all()]
        if cdap.kind != "cdap43":
            with pytest.raises(Invalid, match="There is no dataset"):
                approve(request, "adam", parts=everything)
            continue
        assert approve(request, "adam", parts=everything).state == "approved"
        assert Grant.objects.filter(origin="request", pattern=f"dataset:{name}").exists()
    assert may(cdap, "ana") == (cdap.kind == "cdap43")
