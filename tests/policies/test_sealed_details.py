"""What is said of objects and decided by: where their data lies, and whom programs run as.

Written past the console it counts for nothing, and `verify_audit` names it.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts import editions, people
from catalog.models import Detail, Realm
from catalog.nodes import Node
from catalog.queries import root as root_of
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.authority import OPERATOR
from policies.decisions import snapshots
from policies.decisions.seals import opened_again
from policies.errors import Conflict, Unsealed
from policies.events import DETAILS_CONFIRMED
from policies.models import Event
from policies.record import rows_put_back
from policies.services import entities, jobs, object_details, objects
from policies.services.objects import NewObject
from tests.cdap.world import Caller, a_cdap, give
from tests.factories import AUTHORITY, BY, a_metalake, a_role, acting, admit, the, under
from tests.policies.superuser import former, past_triggers
from tests.policies.verdicts import is_reported, whole

pytestmark = pytest.mark.django_db
PROGRAM = "program:ns1.app.workflow.load"


@pytest.fixture
def program() -> int:
    """The number of an application that runs as etl, with a program that bob may start."""
    root = a_cdap("4.3", owner="hedda")
    for entity in ("namespace:ns1", "application:ns1.app", PROGRAM):
        named = "etl" if entity.startswith("application") else ""
        entities.create(root, parse(entity), by=OPERATOR, principal=named)
    give(root, PROGRAM, "bob", "EXECUTE")
    node = entities.found(root, parse("application:ns1.app"))
    assert node is not None
    return node.id


def runs_as() -> str:
    """Whom a run of the program is decided as that Bob starts."""
    root = root_of(Realm.objects.get())
    assert root is not None
    return jobs.start(program_of(root), by=acting("bob"), lasting=timedelta(hours=1)).runs_as.name


def program_of(root: Node) -> Node:
    node = entities.found(root, parse(PROGRAM))
    assert node is not None
    return node


def test_a_run_is_whose_the_console_was_told(program: int) -> None:
    assert runs_as() == "etl"
    assert whole()


SET = 'UPDATE catalog_detail SET content = content || \'{"principal": "hedda"}\' WHERE securable_id = %d'
TAKEN = "UPDATE catalog_detail SET content = content - 'principal' WHERE securable_id = %d"


@pytest.mark.parametrize("deed", [SET, TAKEN], ids=["another", "nobody"])
def test_nobody_runs_as_whom_somebody_named_past_the_console(program: int, deed: str) -> None:
    past_triggers(deed % program)
    with pytest.raises(Unsealed, match="outside the console"):
        runs_as()
    assert is_reported(f"detail {program}")
    call_command("facts", confirm_detail=program)
    assert runs_as() == ("hedda" if deed == SET else "cdap")
    assert Event.objects.get(kind=DETAILS_CONFIRMED).data["many"] == "1 rows"
    assert whole()


def test_whom_it_ran_as_before_is_not_put_back(program: int) -> None:
    put_back = former(Detail, pk=program)
    root = root_of(Realm.objects.get())
    assert root is not None
    entities.update(root, parse("application:ns1.app"), by=OPERATOR, principal="nobody")
    assert runs_as() == "nobody"
    put_back()
    with pytest.raises(Unsealed):
        runs_as()
    assert is_reported(f"detail {program}")


def a_lake() -> tuple[Node, Node]:
    """A catalog of filesets, and the one that ana may read, which lies in /lake/open."""
    root = a_metalake()
    [catalog] = under(root, "catalog", "lake")
    [schema] = under(catalog, "schema", "crm")
    new = NewObject("fileset", "open", content={"storageLocations": {"unknown": "file:/lake/open"}})
    [fileset] = objects.register(schema, [new], by=BY, authority=AUTHORITY)
    admit(root, "ana")
    rules = (
        "allow USE_CATALOG on metalake",
        "allow USE_SCHEMA on metalake",
        "allow READ_FILESET on metalake",
    )
    a_role(root, "readers", *rules, held_by=("ana",))
    return catalog, fileset


def places() -> set[str]:
    """Where Ana's guard knows data to be."""
    root, now = the("metalake"), timezone.now()
    held = snapshots.hold(people.ensure("user", "ana"), root, now=now)
    return {*snapshots.document(held, root, (), now=now)["locations"]}


def test_no_snapshot_is_given_where_somebody_moved_data_past_the_console() -> None:
    _, fileset = a_lake()
    assert places() == {"file:///lake/open"}
    past_triggers(
        'UPDATE catalog_detail SET content = \'{"storageLocations": {"unknown": "file:/lake/secret"}}\''
        f" WHERE securable_id = {fileset.id}"
    )
    with pytest.raises(Unsealed):
        places()
    assert is_reported(f"detail {fileset.id}")
    answer = Caller("ana").get("/authz/v1/snapshot?realm=demo")
    assert answer.status_code == 409 and "outside the console" in answer.content.decode()


def test_within_a_minute_no_snapshot_is_given_where_data_lies_as_it_did_before() -> None:
    _, fileset = a_lake()
    since, put_back = opened_again.first_running(), former(Detail, pk=fileset.id)
    content = {"storageLocations": {"unknown": "file:/lake/elsewhere"}}
    object_details.describe(fileset, by=BY, authority=AUTHORITY, what="the settings", content=content)
    assert rows_put_back.take_seals(since=since) == 0
    assert places() == {"file:///lake/elsewhere"}
    put_back()
    assert places() == {"file:///lake/open"}
    assert rows_put_back.take_seals(since=since) == 1
    with pytest.raises(Unsealed):
        places()
    assert is_reported(f"detail {fileset.id}")
    call_command("facts", confirm_detail=fileset.id)
    assert places() == {"file:///lake/open"} and whole()


def test_what_decides_nothing_may_be_written_by_hand() -> None:
    """Comments and columns bear no seal, so that operators may mend them."""
    _, fileset = a_lake()
    past_triggers(f"UPDATE catalog_detail SET comment = 'x' WHERE securable_id = {fileset.id}")
    assert places() == {"file:///lake/open"} and whole()


def test_nothing_gets_a_place_in_a_catalog_that_was_connected_meanwhile() -> None:
    catalog, fileset = a_lake()
    detail = Detail.objects.get(securable_id=catalog.id)
    detail.properties = {**detail.properties, "connected": True}
    with editions.gathered():
        detail.save()
    schema, content = [*fileset.above()][-1], {"storageLocations": {"unknown": "file:/lake/secret"}}
    with pytest.raises(Conflict, match="connected meanwhile"):
        new = NewObject("fileset", "mine", content=content)
        objects.register(schema, [new], by=BY, authority=AUTHORITY)
    with pytest.raises(Conflict, match="connected meanwhile"):
        object_details.describe(fileset, by=BY, authority=AUTHORITY, what="the settings", content=content)
    under(schema, "fileset", "read")


def test_what_was_said_past_the_console_is_told_by_its_number() -> None:
    _, fileset = a_lake()
    rows = list(Detail.objects.filter(pk=fileset.id))
    object_details.check_written_here(rows)
    rows[0].content = {}
    with pytest.raises(Unsealed, match=f"detail:{fileset.id}"):
        object_details.check_written_here(rows)
