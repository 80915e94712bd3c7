"""What exists: the order of checks of each generation, and what becomes of privileges."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask
from policies.errors import AlreadyExists, Invalid, NotFound, PolicyError, Refused
from policies.record.change import change
from policies.services import entities, patterns, realm_of
from tests.cdap_law.tables import MAKERS
from tests.cdap_law.world import BY, OPERATOR, a_cdap, acting, give, held_by, make, text, user
from tests.kept import kept

pytestmark = pytest.mark.django_db

IN_NS1 = ("application:ns1.app", "program:ns1.app.worker.etl", "dataset:ns1.orders", "stream:ns1.clicks")


def there(root: Node, entity: str) -> bool:
    name = text(entity)
    return find(ObjectRef(name.type, root.name, name.parts)) is not None


def tried(act: Callable[..., object], root: Node, entity: str, who: str) -> str:
    try:
        act(root, text(entity), by=acting(who))
    except PolicyError as problem:
        words = ("not authorized", "not found", "already exists")
        return next(word for word in words if word in str(problem))
    return "done"


# 3.5


def make_old() -> Node:
    """ns1 with everything in it; ana may write in ns1, bea administers one dataset, cyd may nothing."""
    root = a_cdap("c35", "3.5")
    make(root, "namespace:ns1", *IN_NS1)
    give(root, "ana", "WRITE on namespace:ns1")
    give(root, "bea", "ADMIN on dataset:ns1.orders")
    return root


old = kept(make_old)

CREATING = [
    pytest.param("ana", "dataset:ns1.new", "done", marks=pytest.mark.seed("S2-075")),
    pytest.param("ana", "dataset:ns1.orders", "already exists", marks=pytest.mark.seed("S2-078")),
    # bea has access to it, without write in the namespace
    pytest.param("bea", "dataset:ns1.orders", "already exists", marks=pytest.mark.seed("S2-078", "S2-079")),
    pytest.param("bea", "dataset:ns1.new", "not authorized", marks=pytest.mark.seed("S2-075", "S2-077")),
    pytest.param("cyd", "dataset:ns1.orders", "not authorized", marks=pytest.mark.seed("S2-077", "S2-079")),
    pytest.param("cyd", "dataset:ns9.new", "not authorized", marks=pytest.mark.seed("S2-077")),
]


@pytest.mark.parametrize(("who", "entity", "answer"), CREATING)
def test_creating_answers_in_order(old: Node, who: str, entity: str, answer: str) -> None:
    assert tried(entities.create, old, entity, who) == answer


DELETING = [
    pytest.param("bea", "dataset:ns1.orders", "done", marks=pytest.mark.seed("S2-083", "S2-014")),
    pytest.param("ana", "dataset:ns1.orders", "not authorized", marks=pytest.mark.seed("S2-083", "S2-014")),
    pytest.param("cyd", "dataset:ns1.orders", "not authorized", marks=pytest.mark.seed("S2-084")),
    pytest.param("cyd", "dataset:ns1.none", "not authorized", marks=pytest.mark.seed("S2-084", "S2-086")),
    pytest.param("boss", "dataset:ns1.none", "not found", marks=pytest.mark.seed("S2-084", "S2-085")),
]


@pytest.mark.parametrize(("who", "entity", "answer"), DELETING)
def test_deleting_asks_for_the_right_first(old: Node, who: str, entity: str, answer: str) -> None:
    give(old, "boss", "ADMIN on namespace:ns1")
    assert tried(entities.delete, old, entity, who) == answer


UPDATING = [
    pytest.param("bea", "dataset:ns1.orders", "done", marks=pytest.mark.seed("S2-090")),
    pytest.param("ana", "dataset:ns1.orders", "not authorized", marks=pytest.mark.seed("S2-090")),
    pytest.param("cyd", "dataset:ns1.none", "not authorized", marks=pytest.mark.seed("S2-091")),
    pytest.param("boss", "dataset:ns1.none", "not found", marks=pytest.mark.seed("S2-091")),
]


@pytest.mark.parametrize(("who", "entity", "answer"), UPDATING)
def test_changing_asks_for_the_right_first(old: Node, who: str, entity: str, answer: str) -> None:
    give(old, "boss", "ADMIN on namespace:ns1")
    assert tried(entities.update, old, entity, who) == answer


@pytest.mark.seed("S2-087", "S2-076")
@pytest.mark.parametrize(
    ("who", "entity", "answer"),
    [
        ("cyd", "dataset:ns1.none", "not found"),
        ("boss", "dataset:ns1.none", "not found"),
        ("cyd", "dataset:ns1.orders", "not authorized"),
        pytest.param("bea", "dataset:ns1.orders", "done", marks=pytest.mark.seed("S2-006", "S2-074")),
        pytest.param("ana", "dataset:ns1.orders", "done", marks=pytest.mark.seed("S2-074")),
    ],
)
def test_getting_looks_whether_it_is_there_first(old: Node, who: str, entity: str, answer: str) -> None:
    assert tried(entities.get, old, entity, who) == answer


@pytest.mark.parametrize(
    ("policy", "operation"),
    [
        pytest.param(
            law.replace("cdap3", "3."), operation, marks=pytest.mark.seed(*rows), id=f"{law}-{operation}"
        )
        for law, makers in MAKERS.items()
        for operation, rows in makers
    ],
)
def test_the_maker_gets_all_and_nothing_else(policy: str, operation: str) -> None:
    root = a_cdap("old", policy)
    make(root, "namespace:ns1")
    entity = {
        "namespace": "namespace:ns2",
        "artifact": "artifact:ns1.jar",
        "application": "application:ns1.app",
        "stream": "stream:ns1.clicks",
        "dataset": "dataset:ns1.orders",
    }[operation.partition(".")[0]]
    above = "instance:old" if entity == "namespace:ns2" else "namespace:ns1"
    code = "ADMIN" if above.startswith("instance") and policy == "3.5" else "WRITE"
    give(root, "ana", f"{code} on {above}")
    make(root, entity, by=acting("ana"))
    assert held_by(root, "ana") == {(code, above), ("ALL", entity)}


@pytest.mark.seed("S2-080", "S2-089")
@pytest.mark.parametrize("policy", ["3.4", "3.5"])
def test_creation_clears_what_was_left_over_first(policy: str) -> None:
    root = a_cdap("old", policy)
    make(root, "namespace:ns1", "dataset:ns1.orders")
    give(root, "eve", "READ,ADMIN on dataset:ns1.orders")
    give(root, "ana", "WRITE on namespace:ns1")
    entities.delete(root, text("dataset:ns1.orders"), by=OPERATOR)
    leave_behind(root, "eve", "READ", "dataset:ns1.orders")
    make(root, "dataset:ns1.orders", by=acting("ana"))
    assert held_by(root, "eve") == set()
    assert ("ALL", "dataset:ns1.orders") in held_by(root, "ana")


def leave_behind(root: Node, who: str, code: str, entity: str) -> None:
    """Privileges on what does not exist, as only a failure of a backend leaves them."""
    with change("grant.added", realm=realm_of(root), by=OPERATOR) as current:
        patterns.give(current, root, text(entity), user(who), [code], by=OPERATOR, authority=BY["authority"])


@pytest.mark.seed("S2-081", "S2-082")
@pytest.mark.parametrize("policy", ["3.4", "3.5"])
def test_a_failed_creation_leaves_nothing(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    root = a_cdap("old", policy)
    make(root, "namespace:ns1")
    give(root, "ana", "WRITE on namespace:ns1")
    before = held_by(root, "ana")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("policies.services.objects.register", broken)
    with pytest.raises(RuntimeError):
        make(root, "dataset:ns1.orders", by=acting("ana"))
    monkeypatch.undo()
    assert held_by(root, "ana") == before
    assert not there(root, "dataset:ns1.orders")
    make(root, "dataset:ns1.orders", by=acting("ana"))


@pytest.mark.seed("S2-071", "S2-072")
@pytest.mark.parametrize("policy", ["3.4", "3.5"])
def test_deletion_takes_all_privileges_in_it(policy: str) -> None:
    root = a_cdap("old", policy)
    make(root, "namespace:ns1", "namespace:ns10", *IN_NS1, "dataset:ns10.orders")
    for entity in ("namespace:ns1", *IN_NS1, "dataset:ns10.orders"):
        give(root, "ana", f"READ on {entity}")
    give(root, "boss", "ADMIN on namespace:ns1")
    assert entities.delete(root, text("namespace:ns1"), by=acting("boss")) == 5
    assert held_by(root, "ana") == {("READ", "dataset:ns10.orders")}
    assert held_by(root, "boss") == set()


@pytest.mark.seed("S2-088", "S2-092")
def test_a_failed_deletion_leaves_all_as_it_was(old: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("policies.services.patterns.end", broken)
    with pytest.raises(RuntimeError):
        entities.delete(old, text("dataset:ns1.orders"), by=acting("bea"))
    monkeypatch.undo()
    assert there(old, "dataset:ns1.orders")
    assert tried(entities.delete, old, "dataset:ns1.orders", "bea") == "done"


@pytest.mark.seed("S2-071")
@pytest.mark.parametrize("policy", ["3.4", "3.5"])
@pytest.mark.parametrize("target", ["dataset:ns1.none", "dataset:ns1.*", "namespace:n*"])
def test_rights_are_given_on_what_exists_only(policy: str, target: str) -> None:
    root = a_cdap("old", policy)
    make(root, "namespace:ns1")
    for who in ("admin", "cyd"):
        with pytest.raises(NotFound):
            patterns.grant(root, text(target), acting("ana").principal, ["READ"], by=acting(who))  # type: ignore[arg-type]


# 3.4


@pytest.mark.seed("S0-003")
def test_deleting_all_takes_what_one_may_and_names_what_is_left() -> None:
    root = a_cdap("c34", "3.4")
    make(root, "namespace:ns1", "stream:ns1.a", "stream:ns1.b", "stream:ns1.c", "dataset:ns1.a")
    give(root, "ana", "ADMIN on stream:ns1.a", "READ on stream:ns1.b", "ALL on stream:ns1.c")
    cleared = entities.delete_all(root, text("stream:ns1.*"), by=acting("ana"))
    assert [str(item) for item in cleared.gone] == ["stream:ns1.a", "stream:ns1.c"]
    assert [(str(entity), "not authorized" in why) for entity, why in cleared.left] == [
        ("stream:ns1.b", True)
    ]
    assert [there(root, f"stream:ns1.{name}") for name in "abc"] == [False, True, False]
    assert there(root, "dataset:ns1.a")


# 4.3


@pytest.mark.seed("S1-032", "S1-041", "S1-042", "S1-044", "S1-214", "S1-215", "S1-216")
def test_rights_come_before_an_entity_and_outlive_it() -> None:
    root = a_cdap("c43")
    make(root, "namespace:ns1")
    assert tried(entities.create, root, "dataset:ns1.orders", "ana") == "not authorized"
    give(root, "ana", "ADMIN on dataset:ns1.orders")
    give(root, "bea", "READ on dataset:ns1.orders")
    before = held_by(root, "ana"), held_by(root, "bea")
    for act in (entities.create, entities.delete, entities.create):
        assert tried(act, root, "dataset:ns1.orders", "ana") == "done"
        assert (held_by(root, "ana"), held_by(root, "bea")) == before
    assert tried(entities.get, root, "dataset:ns1.orders", "bea") == "done"


@pytest.mark.seed("S1-036", "S1-048", "S1-110")
def test_a_namespace_goes_with_rights_on_all_that_is_in_it() -> None:
    root = a_cdap("c43")
    make(root, "namespace:ns1", *IN_NS1)
    give(root, "ana", "ADMIN on namespace:ns1", "ADMIN on dataset:ns1.*", "ADMIN on stream:ns1.*")
    with pytest.raises(Refused) as refused:
        entities.delete(root, text("namespace:ns1"), by=acting("ana"))
    assert "'ADMIN' on 'application:ns1.app'" in str(refused.value)
    assert "'ADMIN' on 'program:ns1.app.worker.etl'" in str(refused.value)
    assert "dataset" not in str(refused.value)
    assert all(there(root, entity) for entity in ("namespace:ns1", *IN_NS1))
    give(root, "ana", "ADMIN on application:ns1.*", "ADMIN on program:ns1.*.*")
    assert tried(entities.delete, root, "namespace:ns1", "ana") == "done"


@pytest.mark.parametrize(("policy", "question"), [("3.4", "stream.delete_all"), ("4.3", "stream.drop_all")])
def test_what_keeps_a_deletion_is_named_to_those_only_who_may_know_it(policy: str, question: str) -> None:
    root = a_cdap("cdap", policy)
    make(root, "namespace:ns1", "stream:ns1.open", "stream:ns1.secret")
    give(root, "ana", "READ on stream:ns1.open")
    for name, named in (("ana", ["stream:ns1.*", "stream:ns1.open"]), ("bea", ["stream:ns1.*"])):
        answer = ask.ask_entity(user(name), question, root, text("namespace:ns1"))
        assert sorted({lack.name for lack in answer.explained().missing}) == named, name
        with pytest.raises(Refused) as refused:
            entities.delete(root, text("namespace:ns1"), by=acting(name))
        assert "'ADMIN' on 'namespace:ns1'" in str(refused.value)
        assert "secret" not in str(refused.value)


def test_deleting_all_is_all_or_nothing_in_4_3() -> None:
    root = a_cdap("c43")
    make(root, "namespace:ns1", "stream:ns1.a", "stream:ns1.b")
    give(root, "ana", "ADMIN on stream:ns1.a")
    cleared = entities.delete_all(root, text("stream:ns1.*"), by=acting("ana"))
    assert (cleared.gone, [str(entity) for entity, _ in cleared.left]) == ((), ["stream:ns1.b"])
    assert there(root, "stream:ns1.a")


@pytest.mark.seed("S1-107", "S1-108", "S1-109", "S1-106")
@pytest.mark.parametrize(
    "entity", ["namespace:ns2", "dataset:ns1.new", "stream:ns1.new", "application:ns1.new"]
)
def test_an_owner_takes_the_right_to_their_principal(entity: str) -> None:
    root = a_cdap("c43")
    make(root, "namespace:ns1")
    give(root, "ana", f"ADMIN on {entity}")
    with pytest.raises(Refused):
        make(root, entity, by=acting("ana"), principal="etl")
    give(root, "ana", "ADMIN on kerberosprincipal:etl")
    make(root, entity, by=acting("ana"), principal="etl")


def test_ones_own_principal_is_ones_own() -> None:
    root = a_cdap("c43")
    make(root, "namespace:ns1")
    give(root, "ana", "ADMIN on dataset:ns1.*")
    make(root, "dataset:ns1.mine", by=acting("ana"), principal="ana")
    with pytest.raises(Refused):
        make(root, "dataset:ns1.theirs", by=acting("ana"), principal="bob")
    give(root, "*", "ADMIN on dataset:ns1.*")
    with pytest.raises(Refused):
        make(root, "dataset:ns1.star", by=acting("*"), principal="bob")


@pytest.mark.parametrize(
    "entity",
    ["dataset:ns1.*", "program:ns1.app.*", "program:ns1.app.teapot.x", "instance:c43", "dataset:ns1.a\tb"],
)
def test_what_names_no_single_entity_is_not_made(entity: str) -> None:
    root = a_cdap("c43")
    make(root, "namespace:ns1", "application:ns1.app")
    with pytest.raises(Invalid):
        make(root, entity)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.seed(row))
        for kind, row in zip(
            ("flow", "mapreduce", "service", "spark", "worker", "workflow"),
            ("S1-138", "S1-139", "S1-140", "S1-141", "S1-142", "S1-143"),
            strict=True,
        )
    ],
)
def test_a_program_has_one_of_six_types(kind: str) -> None:
    root = a_cdap("c43")
    make(root, "namespace:ns1", "application:ns1.app", f"program:ns1.app.{kind.upper()}.etl")
    assert there(root, f"program:ns1.app.{kind}.etl")
    with pytest.raises(AlreadyExists):
        make(root, f"program:ns1.app.{kind}.etl")
    with pytest.raises(NotFound):
        make(root, f"program:ns1.none.{kind}.etl")
