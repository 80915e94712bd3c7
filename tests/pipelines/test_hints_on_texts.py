"""In a CDAP realm privileges stand on texts: which of them nobody needs, and taking them back safely."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.analytics import hint_words, hints
from policies.analytics.pipelines import control, running
from policies.authority import OPERATOR
from policies.errors import Conflict
from policies.models import Grant, PipelineRun
from policies.services import patterns
from tests.cdap.world import a_cdap, give
from tests.factories import a_use, acting, the, under
from tests.pipelines.test_hints import all_of

READS = "dataset:sales.orders ana READ"


@pytest.fixture
def world(db: None) -> Callable[..., Node]:
    """`world("dataset:sales.* ana READ", …, used="bo read sales.orders")`: jobs told of one use."""

    def build(*given: str, used: str = "cem read sales.orders") -> Node:
        root = a_cdap("4.3")
        for namespace in under(root, "namespace", "sales", "hr"):
            under(namespace, "dataset", "orders", "items")
        for text, holder, privilege in map(str.split, given):
            give(root, text, holder, privilege)
        who, action, name = used.split()
        a_use(who, the("dataset", name, realm="cdap"), days=40, action=action, by="etl")
        return root

    return build


def look(root: Node) -> list[hints.HintView]:
    PipelineRun.objects.filter(state="done").update(ended=timezone.now() - timedelta(days=1))
    row = control.ask("unused_grants", root, by=OPERATOR)
    running.run(row)
    assert (row.state, row.trouble) == ("done", "")
    return [item for item in all_of(root, OPERATOR) if item.row.pattern]


@pytest.mark.parametrize(
    ("case", "given", "used", "expected"),
    [
        ("another reads it, who holds it does not", [READS], "cem read sales.orders", {READS}),
        ("who holds it reads it", [READS], "ana read sales.orders", set()),
        ("the holder does what it does not serve", [READS], "ana write sales.orders", {READS}),
        ("a pattern that names what is read", ["dataset:sales.* ana READ"], "ana read sales.items", set()),
        ("jobs tell of another namespace alone", [READS], "cem read hr.orders", set()),
        ("nothing is called so", ["dataset:sales.gone ana READ"], "cem read sales.orders", set()),
        ("who manages does it here", ["dataset:sales.orders ana ADMIN"], "cem read sales.orders", set()),
    ],
)  # fmt: skip
def test_a_privilege_on_a_text_that_nobody_uses(
    case: str,
    given: list[str],
    used: str,
    expected: set[str],
    world: Callable[..., Node],
) -> None:
    hints_ = [item for item in look(world(*given, used=used)) if item.row.kind == "unused_grant"]
    texts = {
        f"{item.row.pattern} {item.holder.name if item.holder else 0} {item.row.privilege}" for item in hints_
    }
    assert texts == expected, case
    for item in hints_:
        assert item.ground.startswith("Not used in "), case
        assert "Usage data covers 1 of 1 object here; granted today." in item.ground


@pytest.mark.parametrize(
    ("case", "given", "expected"),
    [
        ("a wider text", [READS, "dataset:sales.* ana READ"], [("dataset:sales.orders", "dataset:sales.*")]),
        ("by a group", [READS, "dataset:*.orders group:all READ"], []),
        ("another privilege", [READS, "dataset:sales.* ana WRITE"], []),
        ("a text that names less", ["dataset:sales.* ana READ", "dataset:sales.o* bo READ"], []),
        ("somebody else", [READS, "dataset:sales.* bo READ"], []),
    ],
)  # fmt: skip
def test_a_privilege_that_a_wider_text_gives_too(
    case: str,
    given: list[str],
    expected: list[tuple[str, str]],
    world: Callable[..., Node],
) -> None:
    hints_ = [item for item in look(world(*given)) if item.row.kind == "redundant_grant"]
    assert [
        (item.row.pattern, hint_words.in_readers_language("others", item.row.data["others"]).split()[-1])
        for item in hints_
    ] == expected, case


def test_it_is_taken_back_only_while_nobody_loses_anything(world: Callable[..., Node]) -> None:
    root = world(READS, "dataset:sales.* ana READ")
    [hint] = [item for item in look(root) if item.row.kind == "redundant_grant"]
    assert hint.node == root
    wider = Grant.objects.open().filter(pattern="dataset:sales.*")
    patterns.revoke(root, parse("dataset:sales.*"), people.ensure("user", "ana"), by=OPERATOR)
    with pytest.raises(Conflict, match="1 person would lose access now"):
        hints.mend(hint.row.pk, by=acting("admin"))
    give(root, "dataset:sales.*", "ana", "READ")
    hints.mend(hint.row.pk, by=acting("admin"))
    assert not Grant.objects.open().filter(pattern="dataset:sales.orders").exists()
    assert wider.exists()


def test_it_stands_on_the_page_of_the_very_entity(world: Callable[..., Node]) -> None:
    look(world(READS))
    orders, items = (the("dataset", name, realm="cdap") for name in ("sales.orders", "sales.items"))
    texts = [
        [item.row.pattern for item in hints.about_object(place, acting("admin"))] for place in (orders, items)
    ]
    assert texts == [["dataset:sales.orders"], []]
    assert hints.about_object(orders, acting("ana")) == []
