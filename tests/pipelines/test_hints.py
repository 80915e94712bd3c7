"""A hint is seen by those who may act on it, dismissed with a reason, mended by the change that it names."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from catalog.queries import all_below, find
from lakewarden.law.objects import ObjectRef
from policies.analytics import hints
from policies.analytics.hint_kinds import KINDS
from policies.authority import OPERATOR, Actor
from policies.decisions import slices
from policies.errors import Conflict, Invalid, NotFound
from policies.models import Event, Grant, Hint, PipelineRun
from policies.services import grants, members, roles
from policies.services.grants import GrantRequest
from policies.services.roles import Privilege
from tests.bulk import put
from tests.factories import AUTHORITY, a_role, acting, the
from tests.factories import BY as OPERATED
from tests.kept import kept
from tests.pipelines.worlds import a_lake
from tests.policies.conftest import shop
from tests.policies.superuser import past_triggers

__all__ = ["shop"]
BY: Any = {"by": OPERATED, "authority": AUTHORITY}


def a_run(root: Node) -> PipelineRun:
    made, _ = PipelineRun.objects.get_or_create(
        name="unused_grants", realm_id=root.realm_id, revision=1, defaults={"asked": timezone.now()}
    )
    return made


def a_hint(root: Node, grant: Grant | None = None, **more: Any) -> Hint:
    now = timezone.now()
    about = {"kind": "unused_grant", "people": 2, "data": {"days": 90, "reported": 3, "objects": 3}, **more}
    if grant is not None:
        about |= {
            "grant": grant.pk,
            "securable": grant.securable,
            "role": grant.role,
            "privilege": grant.privilege,
        }
    return Hint.objects.create(
        realm_id=root.realm_id,
        run=a_run(root),
        key=f"{Hint.objects.count()}",
        revision=1,
        found=now,
        seen=now,
        **about,
    )


def all_of(root: Node, by: Actor, *, kind: str = "", dismissed: bool = False) -> list[hints.HintView]:
    """Those of a realm that somebody sees in the room of hints."""
    return hints.HintList((root,), by, dismissed).page(1_000, kind=kind)


def make_unused(shop: Node) -> Hint:
    """Nobody uses what role sales_read gives on schema sales, which Olivia owns."""
    grant = Grant.objects.open().get(role__placements__name="sales_read", privilege="SELECT_TABLE")
    return a_hint(shop, grant)


unused = kept(make_unused, on="shop")


def test_it_says_its_ground_and_what_mends_it(unused: Hint) -> None:
    [hint] = hints.about_object(the("schema", "shop.sales"), acting("olivia"))
    assert hint.ground == (
        "Not used in 90 days; it gives Read to 2 people. Usage data covers 3 of 3 objects here."
    )
    assert (hint.mends, hint.at_once, hint.label) == ("Revoke Read", True, "Nobody uses it")
    assert hint.role is not None
    assert hint.role.name == "sales_read"


@pytest.mark.parametrize(
    ("name", "sees"), [("marek", True), ("olivia", True), ("mia", False), ("ana", False), ("nobody", False)]
)
def test_those_see_it_who_may_act_on_it(shop: Node, unused: Hint, name: str, *, sees: bool) -> None:
    by, expected = acting(name), [unused.pk] if sees else []
    role = find(ObjectRef("role", "demo", ("sales_read",)))
    assert role is not None
    assert [item.row.pk for item in hints.about_object(the("schema", "shop.sales"), by)] == expected
    assert [item.row.pk for item in hints.about_role(role, by)] == expected
    assert [item.row.pk for item in all_of(shop, by)] == expected
    if not sees:
        with pytest.raises(NotFound):
            hints.hint(unused.pk, by)
        with pytest.raises(NotFound):
            hints.mend(unused.pk, by=by)
        with pytest.raises(NotFound):
            hints.dismiss(unused.pk, by=by, reason="mine")
    assert Grant.objects.open().filter(pk=unused.grant).exists()


def test_mending_it_ends_the_grant_by_the_usual_way(unused: Hint) -> None:
    hints.mend(unused.pk, by=acting("olivia"))
    assert not Grant.objects.open().filter(pk=unused.grant).exists()
    assert not Hint.objects.exists()
    event = Event.objects.filter(kind="grant.removed").latest("pk")
    assert event.data["by"] == "Permission.grantPrivilegeToRole"
    assert "it gives Read to 2 people" in event.change.reason


def test_a_direct_grant_is_mended_too(shop: Node) -> None:
    orders, mia = the("table", "shop.sales.orders"), people.ensure("user", "mia")
    grants.add(GrantRequest(orders, (mia,), ("MODIFY_TABLE",), way=False), by=acting("olivia"))
    row = Grant.objects.open().get(privilege="MODIFY_TABLE")
    made = a_hint(shop, row, holder=mia)
    [hint] = hints.about_person(mia, shop, acting("olivia"))
    assert hint.row == made
    hints.mend(made.pk, by=acting("olivia"))
    assert not Grant.objects.open().filter(privilege="MODIFY_TABLE").exists()


def test_a_grant_that_ended_meanwhile_is_said(shop: Node, unused: Hint) -> None:
    past_triggers(f"UPDATE policies_grant SET closed = 99 WHERE id = {unused.grant}")
    with pytest.raises(Conflict, match="ended meanwhile"):
        hints.mend(unused.pk, by=acting("olivia"))
    assert not Hint.objects.exists()


def the_grant(role: str, privilege: str) -> Grant:
    return Grant.objects.open().get(role__placements__name=role, privilege=privilege)


def test_what_is_given_twice_is_proved_again_before_it_is_ended(shop: Node) -> None:
    a_role(shop, "all_sales", "allow SELECT_TABLE on schema shop.sales")
    row, olivia = the_grant("sales_read", "SELECT_TABLE"), acting("olivia")
    made = a_hint(shop, row, kind="redundant_grant", data={"others": "another grant here"})
    with pytest.raises(Conflict, match="1 person would lose access now"):
        hints.mend(made.pk, by=olivia)  # Mia; to Carl, who is an analyst too, it is denied anyway
    assert Grant.objects.open().filter(pk=row.pk).exists()
    roles.assign(the_role("all_sales"), people.ensure("group", "analysts"), **BY)
    hints.mend(made.pk, by=olivia)
    assert not Grant.objects.open().filter(pk=row.pk).exists()


def test_a_denial_is_ended_only_while_it_denies_nothing(shop: Node) -> None:
    row, olivia = the_grant("no_contractors", "SELECT_TABLE"), acting("olivia")
    made = a_hint(shop, row, kind="idle_deny", data={"others": ""})
    with pytest.raises(Conflict, match="1 person would gain access now"):
        hints.mend(made.pk, by=olivia)
    members.leave_group(people.ensure("group", "analysts"), people.ensure("user", "carl"), **BY)
    orders = Privilege("SELECT_TABLE", "allow")
    roles.add_privileges(the_role("browse"), the("table", "shop.sales.orders"), [orders], **BY)
    with pytest.raises(Conflict, match="1 person would gain access"):
        hints.mend(made.pk, by=olivia)  # by something below
    roles.remove_privileges(the_role("browse"), the("table", "shop.sales.orders"), [orders], **BY)
    hints.mend(made.pk, by=olivia)
    assert not Grant.objects.open().filter(pk=row.pk).exists()


def the_role(name: str) -> Node:
    role = find(ObjectRef("role", "demo", (name,)))
    assert role is not None
    return role


def test_what_takes_a_choice_is_not_done_at_once(shop: Node) -> None:
    made = a_hint(shop, kind="ownerless", securable_id=shop.id, data={"why": "Nobody owns it", "objects": 3})
    [hint] = hints.about_object(shop, acting("marek"))
    assert (hint.ground, hint.mends, hint.at_once) == (
        "Nobody owns it; this concerns 3 objects.",
        "Set an owner",
        False,
    )
    with pytest.raises(Invalid, match="choice"):
        hints.mend(made.pk, by=acting("marek"))


def test_it_is_dismissed_with_a_reason_and_brought_back(shop: Node, unused: Hint) -> None:
    olivia = acting("olivia")
    with pytest.raises(Invalid, match="Give a reason"):
        hints.dismiss(unused.pk, by=olivia, reason="  ")
    hints.dismiss(unused.pk, by=olivia, reason="For the yearly report")
    assert all_of(shop, olivia) == []
    [gone] = all_of(shop, olivia, dismissed=True)
    assert (gone.row.reason, gone.row.dismissed_by) == ("For the yearly report", olivia.principal)
    with pytest.raises(Conflict, match="already dismissed"):
        hints.dismiss(unused.pk, by=acting("marek"), reason="Me too")
    hints.bring_back(unused.pk, by=acting("marek"))
    assert hints.HintList((shop,), olivia).counts() == {"unused_grant": 1}
    kinds = Event.objects.filter(kind__startswith="hint.").order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["hint.dismissed", "hint.brought_back"]


def test_every_kind_can_be_told(shop: Node) -> None:
    data = {
        "days": 1,
        "reported": 1,
        "objects": 2,
        "used": 1,
        "others": "role x",
        "why": "Nobody came",
        "holds": "2 roles",
        "shared": 9,
        "rules": 10,
        "only": 1,
    }
    for kind in KINDS:
        a_hint(shop, kind=kind, data=data, privilege="SELECT_TABLE")
    hints_ = all_of(shop, OPERATOR)
    assert {item.row.kind for item in hints_} == set(KINDS)
    assert all(item.ground.endswith(".") and item.mends for item in hints_)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 9))])
def test_the_room_holds_what_each_may_act_on_page_by_page(db: None, seed: int) -> None:
    """The database leaves out what the law, asked hint by hint, leaves out; also what is denied below."""
    root = a_lake(seed, mode="on")
    places = all_below(root.id).exclude(type="role").order_by("securable")
    for number, key in enumerate(places.values_list("securable", flat=True)):
        a_hint(root, kind=("ownerless", "wide_grant")[number % 2], securable_id=key, people=number % 4)
    a_hint(root, kind="near_roles", people=9)
    sales, role = the("schema", "shop.sales").id, Grant.objects.filter(role__isnull=False).earliest("pk").role
    denied = {"securable_id": sales, "privilege": "MANAGE_GRANTS", "effect": "deny"}
    put([Grant(role=role, **denied)], opened=1)
    slices.forget_all()
    sizes = set()
    for person in Principal.objects.filter(kind="user"):
        by = Actor(person, "console")
        expected = [hint.pk for hint in Hint.objects.order_by("-people", "id") if may_see(hint, by)]
        room, views, after = hints.HintList((root,), by), list[int](), None
        while page := room.page(4, after=after):
            views += [item.row.pk for item in page]
            after = (page[-1].row.people, page[-1].row.pk)
        assert views == expected, person
        assert sum(room.counts().values()) == len(expected)
        sizes.add(len(expected))
    assert len(sizes) > 1


def may_see(hint: Hint, by: Actor) -> bool:
    try:
        return bool(hints.hint(hint.pk, by))
    except NotFound:
        return False
