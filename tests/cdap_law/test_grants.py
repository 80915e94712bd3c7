"""Giving and taking privileges on texts: who may, to whom, and what counts from when."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command
from django.test import Client

from accounts import people, tokens
from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask, slices
from policies.errors import Invalid, NotFound, Refused
from policies.models import Event, Grant
from policies.services import cdap_bootstrap, entities, members, patterns, realms, roles
from policies.services.roles import Privilege
from tests.cdap_law.world import BY, OPERATOR, a_cdap, acting, give, held_by, make, text, user

pytestmark = pytest.mark.django_db
SERVICE_ADMIN = "root"
EVERYTHING = ("READ", "WRITE", "EXECUTE", "ADMIN")


def may(root: Node, who: str, action: str, entity: str) -> bool:
    return bool(ask.ask_entity(user(who), action, root, text(entity)))


def grant(root: Node, by: str, who: str, code: str, entity: str) -> None:
    patterns.grant(root, text(entity), user(who), [code], by=acting(by))


def a_role(root: Node, name: str, *privileges: str, held_by: tuple[str, ...] = ()) -> Node:
    role = roles.create(root, name, **BY)
    for privilege in privileges:
        codes, _, target = privilege.partition(" on ")
        patterns.grant(root, text(target), role, codes.split(","), by=OPERATOR)
    for holder in held_by:
        roles.assign(role, user(holder), **BY)
    return role


# who may


@pytest.mark.seed("S1-040", "S1-157", "S2-069")
def test_only_administrators_of_the_backend_grant_in_4_3(settings: object) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = (SERVICE_ADMIN,)  # type: ignore[attr-defined]
    root = a_cdap("c43", admin_group="sentry")
    members.join_group(people.ensure("group", "sentry"), user("carl"), **BY)
    give(root, "ana", "READ,WRITE,EXECUTE,ADMIN on dataset:ns1.*", "ADMIN on namespace:ns1")
    for who, right in (
        ("admin", True),
        (SERVICE_ADMIN, True),
        ("carl", True),
        ("ana", False),
        ("bob", False),
    ):
        if right:
            grant(root, who, "eve", "READ", "dataset:ns1.orders")
            patterns.revoke(root, text("dataset:ns1.orders"), user("eve"), by=acting(who))
            continue
        with pytest.raises(Refused):
            grant(root, who, "eve", "READ", "dataset:ns1.orders")
        with pytest.raises(Refused):
            patterns.revoke(root, text("dataset:ns1.*"), user("ana"), by=acting(who))
    assert held_by(root, "eve") == set()
    assert ("ADMIN", "namespace:ns1") in held_by(root, "ana")


@pytest.mark.seed("S1-157")
def test_who_leaves_the_admin_group_grants_no_more() -> None:
    root, group = a_cdap("c43", admin_group="sentry"), people.ensure("group", "sentry")
    members.join_group(group, user("carl"), **BY)
    grant(root, "carl", "eve", "READ", "dataset:ns1.orders")
    members.leave_group(group, user("carl"), **BY)
    with pytest.raises(Refused):
        grant(root, "carl", "eve", "WRITE", "dataset:ns1.orders")


def test_another_admin_group_counts_at_once() -> None:
    root = a_cdap("c43", admin_group="sentry")
    for group, who in (("sentry", "carl"), ("ranger", "rita")):
        members.join_group(people.ensure("group", group), user(who), **BY)
    assert may(root, "carl", "grant", "namespace:x")
    assert not may(root, "rita", "grant", "namespace:x")
    realm = Realm.objects.get(pk=root.realm_id)
    assert realms.configure(realm, {"admin_group": "ranger"}, **BY)
    assert not may(root, "carl", "grant", "namespace:x")
    assert may(root, "rita", "grant", "namespace:x")
    with pytest.raises(Invalid):
        realms.configure(realm, {"policy": "3.4"}, **BY)


@pytest.mark.seed("S2-070")
@pytest.mark.parametrize("policy", ["3.4", "3.5"])
def test_who_administers_an_entity_grants_on_it_in_3_x(policy: str) -> None:
    root = a_cdap("old", policy)
    make(root, "namespace:ns1", "dataset:ns1.orders", "dataset:ns1.other")
    give(root, "ana", "ADMIN on dataset:ns1.orders", "READ,WRITE on dataset:ns1.other")
    give(root, "bea", "ALL on dataset:ns1.orders")
    give(root, "cyd", "ADMIN on namespace:ns1")
    for who, entity, right in (
        ("ana", "dataset:ns1.orders", True),
        ("ana", "dataset:ns1.other", False),
        ("bea", "dataset:ns1.orders", True),
        ("cyd", "namespace:ns1", True),
        ("cyd", "dataset:ns1.orders", policy == "3.5"),
        ("admin", "dataset:ns1.other", True),
        ("bob", "dataset:ns1.orders", False),
    ):
        if right:
            grant(root, who, "eve", "READ", entity)
            patterns.revoke(root, text(entity), user("eve"), ["READ"], by=acting(who))
        else:
            with pytest.raises(Refused):
                grant(root, who, "eve", "READ", entity)
    with pytest.raises(NotFound):
        grant(root, "admin", "eve", "READ", "dataset:ns1.none")


# to whom, and on what


@pytest.mark.seed(
    "S1-147", "S1-148", "S1-149", "S1-150", "S1-151", "S1-152", "S1-153", "S1-154", "S1-155", "S1-156"
)
def test_the_worked_example() -> None:
    """Give alice, who is in group admin, ADMIN on namespace ns1 and on all entities in it."""
    root = a_cdap("c43")
    members.join_group(people.ensure("group", "admin"), user("alice"), **BY)
    kinds = ("application", "artifact", "dataset", "dataset_module", "dataset_type", "securekey", "stream")
    texts = ["namespace:ns1", "program:ns1.*.*", *(f"{kind}:ns1.*" for kind in kinds)]
    entities_of = {"namespace:ns1": "namespace:ns1", "program:ns1.*.*": "program:ns1.a.flow.f"}
    entities_of |= {f"{kind}:ns1.*": f"{kind}:ns1.x" for kind in kinds}
    for left_out in (None, *texts):
        given = [item for item in texts if item != left_out]
        role = a_role(
            root, f"r{len(left_out or '')}", *(f"ADMIN on {item}" for item in given), held_by=("group:admin",)
        )
        for holder, entity in entities_of.items():
            assert may(root, "alice", "ADMIN", entity) == (holder in given), entity
            assert not may(root, "alice", "ADMIN", entity.replace("ns1", "ns2")), entity
            assert not may(root, "alice", "READ", entity), entity
            assert not may(root, "bob", "ADMIN", entity), entity
        assert not may(root, "alice", "ADMIN", "kerberosprincipal:etl")
        roles.delete(role, **BY)


@pytest.mark.seed("S1-126", "S1-127")
def test_a_realm_can_be_set_as_sentry_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Privileges go to roles only, and roles to groups only, over each way in."""
    root = a_cdap("cdap", grants="roles")
    readers = a_role(root, "readers", "READ on dataset:ns1.a", held_by=("group:staff",))
    members.join_group(people.ensure("group", "staff"), user("ana"), **BY)
    assert may(root, "ana", "READ", "dataset:ns1.a")
    for holder in ("ana", "group:staff", "service:etl"):
        with pytest.raises(Invalid, match="to roles only"):
            give(root, holder, "READ on dataset:ns1.a")
    for holder in ("ana", "service:etl"):
        with pytest.raises(Invalid, match="to groups only"):
            roles.assign(readers, user(holder), **BY)
    client = Client(headers={"Authorization": f"Bearer {tokens.create(user('admin'))}"})
    base = "/v3/security/authorization"
    entity = {"entity": "DATASET", "namespace": "ns1", "dataset": "a"}
    for type_, status in (("USER", 400), ("GROUP", 400), ("ROLE", 200)):
        body = json.dumps(
            {"entity": entity, "actions": ["READ"], "principal": {"name": "readers", "type": type_}}
        )
        answer = client.post(f"{base}/privileges/grant", body, content_type="application/json")
        assert answer.status_code == status, answer.content
    assert client.put(f"{base}/user/bob/roles/readers").status_code == 400
    assert client.put(f"{base}/group/staff/roles/readers").status_code == 200
    with pytest.raises(SystemExit):
        call_command("cdap", "grant actions READ on entity dataset:ns1.a to user bob")
    assert "to roles only" in capsys.readouterr().err


@pytest.mark.seed("S1-126", "S1-127")
def test_it_is_set_so_only_where_it_already_holds() -> None:
    root = a_cdap("c43")
    realm, readers = Realm.objects.get(pk=root.realm_id), a_role(root, "readers")
    give(root, "ana", "READ on dataset:ns1.a")
    with pytest.raises(Invalid, match="of their own"):
        realms.configure(realm, {"grants": "roles"}, **BY)
    patterns.revoke(root, text("dataset:ns1.a"), by=OPERATOR)
    roles.assign(readers, user("ana"), **BY)
    with pytest.raises(Invalid, match="without a group"):
        realms.configure(realm, {"grants": "roles"}, **BY)
    roles.unassign(readers, user("ana"), **BY)
    assert realms.configure(realm, {"grants": "roles"}, **BY)
    with pytest.raises(Invalid):
        give(root, "ana", "READ on dataset:ns1.a")
    assert realms.configure(realm, {"grants": "anybody"}, **BY)
    give(root, "ana", "READ on dataset:ns1.a")
    with pytest.raises(Invalid, match=r"Up to 3\.5"):
        a_cdap("c35", "3.5", grants="roles")


@pytest.mark.seed("S1-121", "S1-122", "S1-123")
def test_what_somebody_has_is_listed_with_what_roles_give() -> None:
    root = a_cdap("c43")
    members.join_group(people.ensure("group", "staff"), user("ana"), **BY)
    role = a_role(root, "readers", "READ on dataset:ns1.*", held_by=("group:staff",))
    give(root, "ana", "WRITE on stream:ns1.clicks")
    give(root, "group:staff", "EXECUTE on program:ns1.app.*")
    staff = {("EXECUTE", "program:ns1.app.*"), ("READ", "dataset:ns1.*")}
    assert held_by(root, "ana") == {("WRITE", "stream:ns1.clicks"), *staff}
    assert held_by(root, "group:staff") == staff
    listed = patterns.privileges(root, role)
    assert [(str(target), code) for target, code in listed] == [("dataset:ns1.*", "READ")]
    roles.unassign(role, user("group:staff"), **BY)
    assert held_by(root, "ana") == {("WRITE", "stream:ns1.clicks"), ("EXECUTE", "program:ns1.app.*")}


def test_a_group_is_never_the_user_of_its_name() -> None:
    root = a_cdap("c43", admin_group="sentry", master_user="cdap")
    give(root, "group:ana", "READ on dataset:ns1.a")
    give(root, "bob", "READ on dataset:ns1.b")
    assert not may(root, "ana", "READ", "dataset:ns1.a")
    assert not may(root, "group:bob", "READ", "dataset:ns1.b")
    assert not may(root, "sentry", "grant", "namespace:ns1")
    for kind in ("group", "service"):
        assert not may(root, f"{kind}:cdap", "ADMIN", "dataset:system.logs")


@pytest.mark.seed("S1-112")
def test_a_revoke_takes_the_very_text_and_nothing_else() -> None:
    root = a_cdap("c43")
    texts = ("namespace:ns1", "dataset:ns1.*", "dataset:ns1.a", "dataset:ns1.a*")
    give(root, "ana", *(f"READ,WRITE on {item}" for item in texts))
    give(root, "bea", "READ on dataset:ns1.*")
    assert patterns.revoke(root, text("dataset:ns1.*"), user("ana"), ["READ"], by=OPERATOR) == 1
    expected = {(code, item) for item in texts for code in ("READ", "WRITE")} - {("READ", "dataset:ns1.*")}
    assert held_by(root, "ana") == expected
    assert may(root, "ana", "READ", "dataset:ns1.a")
    assert not may(root, "ana", "READ", "dataset:ns1.b")
    assert patterns.revoke(root, text("namespace:ns1"), by=OPERATOR) == 2
    assert ("READ", "dataset:ns1.a") in held_by(root, "ana")
    assert patterns.revoke(root, text("dataset:ns1.*"), by=OPERATOR) == 2
    assert held_by(root, "bea") == set()
    with pytest.raises(Invalid):
        patterns.revoke(root, text("dataset:ns1.a"), None, ["READ"], by=OPERATOR)


@pytest.mark.parametrize(("policy", "count"), [("3.4", 5), ("3.5", 5), ("4.3", 4)])
def test_no_actions_mean_all_of_the_generation(policy: str, count: int) -> None:
    root = a_cdap("c", policy)
    make(root, "namespace:ns1")
    assert patterns.grant(root, text("namespace:ns1"), user("ana"), by=OPERATOR) == count
    assert patterns.grant(root, text("namespace:ns1"), user("ana"), by=OPERATOR) == 0
    assert patterns.revoke(root, text("namespace:ns1"), user("ana"), by=OPERATOR) == count
    assert Grant.objects.open().filter(realm=root.realm_id).count() == 0


@pytest.mark.parametrize("code", ["ALL", "read", "TEAPOT", ""])
def test_what_is_no_action_of_the_generation_is_not_given(code: str) -> None:
    with pytest.raises(Invalid):
        patterns.grant(a_cdap("c43"), text("dataset:ns1.a"), user("ana"), [code], by=OPERATOR)


def test_a_text_of_any_length_is_told_before_the_database_chokes() -> None:
    with pytest.raises(Invalid):
        give(a_cdap("c43"), "ana", f"READ on dataset:ns1.{'a' * 5000}")


@pytest.mark.seed("S2-032", "S2-031")
def test_a_change_counts_on_the_very_next_question() -> None:
    root = a_cdap("c43")
    for who in ("alice", "bob"):
        give(root, who, "READ on dataset:ns1.dataset1")
        assert slices.current(user(who), root).texts is not None
    assert may(root, "alice", "READ", "dataset:ns1.dataset1")
    patterns.revoke(root, text("dataset:ns1.dataset1"), user("alice"), ["READ"], by=OPERATOR)
    assert not may(root, "alice", "READ", "dataset:ns1.dataset1")
    assert may(root, "bob", "READ", "dataset:ns1.dataset1")
    role = a_role(root, "readers", held_by=("alice",))
    assert not may(root, "alice", "READ", "dataset:ns1.dataset1")
    patterns.grant(root, text("dataset:ns1.*"), role, ["READ"], by=OPERATOR)
    assert may(root, "alice", "READ", "dataset:ns1.dataset1")
    roles.delete(role, **BY)
    assert not may(root, "alice", "READ", "dataset:ns1.dataset1")


@pytest.mark.seed("S2-023", "S2-024")
def test_new_actions_join_the_old_and_a_revoke_takes_only_those_named() -> None:
    root = a_cdap("c43")
    give(root, "ana", "READ on dataset:ns1.a")
    give(root, "ana", "WRITE,ADMIN on dataset:ns1.a")
    assert {code for code, _ in held_by(root, "ana")} == {"READ", "WRITE", "ADMIN"}
    patterns.revoke(root, text("dataset:ns1.a"), user("ana"), ["WRITE"], by=OPERATOR)
    assert {code for code, _ in held_by(root, "ana")} == {"READ", "ADMIN"}


def test_dropping_a_role_forgets_members_and_privileges() -> None:
    root = a_cdap("c43")
    role = a_role(root, "readers", "READ on dataset:ns1.*", held_by=("ana", "group:staff"))
    roles.delete(role, **BY)
    assert held_by(root, "ana") == set()
    again = a_role(root, "readers")
    assert patterns.privileges(root, again) == []
    assert held_by(root, "ana") == set()


def test_the_record_tells_texts() -> None:
    root = a_cdap("c43")
    give(root, "ana", "READ on dataset:ns1.*")
    patterns.revoke(root, text("dataset:ns1.*"), by=OPERATOR)
    kinds = ("grant.added", "grant.removed")
    rows = Event.objects.filter(kind__in=kinds).order_by("change", "number")
    assert [(row.kind, row.object_type, row.object_name) for row in rows] == [
        ("grant.added", "dataset", "c43/ns1.*"),
        ("grant.removed", "dataset", "c43/ns1.*"),
    ]
    assert [row.data["text"] for row in rows] == ["dataset:ns1.*"] * 2


# the master user, and what comes by itself


@pytest.mark.seed("S1-024", "S1-025", "S1-026")
def test_the_default_namespace_comes_once_the_master_user_may_administer_it() -> None:
    root = a_cdap("c43", master_user="cdap")
    user("cdap")
    assert Grant.objects.open().filter(realm=root.realm_id).count() == 0
    assert cdap_bootstrap.look_everywhere() == 0
    with pytest.raises(Refused):
        make(root, "namespace:default", by=acting("cdap"))
    give(root, "cdap", "ADMIN on namespace:other")
    give(root, "eve", "ADMIN on namespace:default")
    assert cdap_bootstrap.look_everywhere() == 0
    give(root, "cdap", "ADMIN on namespace:default")
    assert cdap_bootstrap.look_everywhere() == 1
    assert find(ObjectRef("namespace", "c43", ("default",))) is not None
    assert cdap_bootstrap.look_everywhere() == 0


@pytest.mark.parametrize("policy", ["3.4", "3.5", "4.3"])
def test_the_master_user_has_everything_in_namespace_system(policy: str) -> None:
    root = a_cdap("c", policy, master_user="cdap")
    inside = ("namespace:system", "dataset:system.logs.v3", "program:system.a.service.s", "artifact:system.j")
    for code in EVERYTHING:
        for entity in inside:
            assert may(root, "cdap", code, entity)
            assert not may(root, "eve", code, entity)
            assert not may(root, "cdap", code, entity.replace("system", "systems"))
    assert held_by(root, "cdap") == set(), "nobody gave it, so it is not listed"


def test_a_deleted_realm_leaves_nobody_anything() -> None:
    root = a_cdap("c43")
    give(root, "ana", "READ on dataset:ns1.*")
    a_role(root, "readers", "READ on dataset:ns1.*", held_by=("ana",))
    realms.drop(root, **BY)
    assert not Grant.objects.open().filter(realm=root.realm_id).exists()


def test_privileges_on_objects_are_no_business_of_a_cdap() -> None:
    root = a_cdap("c43")
    make(root, "namespace:ns1")
    namespace = find(ObjectRef("namespace", "c43", ("ns1",)))
    assert namespace is not None
    with pytest.raises(Invalid):
        roles.add_privileges(a_role(root, "r"), namespace, [Privilege("READ")], **BY)
    assert entities.entity_of(namespace) == text("namespace:ns1")


@pytest.mark.parametrize("policy", ["3.4", "3.5"])
def test_everything_of_the_master_user_is_all_where_that_is_an_action(policy: str) -> None:
    root = a_cdap("c", policy, master_user="cdap")
    for entity in ("namespace:system", "dataset:system.a.b", "program:system.app.flow.f"):
        assert may(root, "cdap", "ALL", entity)
        assert not may(root, "ana", "ALL", entity)
        assert not may(root, "cdap", "ALL", entity.replace("system", "ns1"))


@pytest.mark.parametrize(("policy", "allowed"), [("3.4", False), ("3.5", False), ("4.3", True)])
def test_being_the_kerberos_principal_of_a_name_counts_from_4_3_on(policy: str, allowed: bool) -> None:
    root = a_cdap("c", policy)
    for code in ("READ", "WRITE", "EXECUTE", "ADMIN"):
        assert may(root, "etl", code, "kerberosprincipal:etl") == allowed
        assert not may(root, "ana", code, "kerberosprincipal:etl")
