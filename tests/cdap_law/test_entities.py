"""What exists: the order of checks of each generation, and what becomes of privileges."""

from __future__ import annotations

import pytest

from policies import decisions
from policies.errors import AlreadyExists, NotFound, Refused
from policies.services import entities, patterns
from tests.cdap_law.world import a_cdap, acting, give, make, text, user

pytestmark = pytest.mark.django_db(transaction=True)


def test_smoke() -> None:
    root = a_cdap()
    give(root, "ana", "ADMIN on namespace:ns1", "ADMIN on dataset:ns1.*", "READ on dataset:ns1.a.b")
    make(root, "namespace:ns1", "dataset:ns1.a.b", by=acting("ana"))
    with pytest.raises(Refused):
        make(root, "stream:ns1.x", by=acting("ana"))
    assert decisions.ask_entity(user("ana"), "dataset.truncate", root, text("dataset:ns1.zzz"))
    assert patterns.privileges(root, user("ana"))
    with pytest.raises(AlreadyExists):
        make(root, "dataset:ns1.a.b", by=acting("ana"))
    old = a_cdap("c35", "3.5")
    with pytest.raises(NotFound):
        give(old, "ana", "ADMIN on namespace:ns1")
    give(old, "ana", "ADMIN on instance:c35")
    make(old, "namespace:ns1", by=acting("ana"))
    assert [(str(target), code) for target, code in patterns.privileges(old, user("ana"))] == [
        ("instance:c35", "ADMIN"),
        ("namespace:ns1", "ALL"),
    ]
    make(old, "application:ns1.a", "program:ns1.a.worker.etl", "dataset:ns1.x.y", by=acting("ana"))
    assert entities.delete(old, text("namespace:ns1"), by=acting("ana")) == 4
    assert len(patterns.privileges(old, user("ana"))) == 1
