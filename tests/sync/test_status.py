"""How many of those who were given something have it in the backend, by what was read back last."""

from __future__ import annotations

from accounts import people
from policies.models import Backend
from policies.services import grants, members
from policies.services.grants import GrantRequest
from policies.sync import worker
from policies.sync.status import status_on
from tests.factories import AUTHORITY, BY, a_person, acting, admit, rewritten, the
from tests.sync.conftest import Source

ORDERS = "shop.sales.orders"


def of(backend: Backend, *names: str) -> tuple[int, int, tuple[str, ...], tuple[str, ...]]:
    status = status_on(backend, the("table", ORDERS), names)
    return status.applied, status.of, status.waiting, status.without_login


def test_all_who_have_it_out_there_are_counted(governed: Backend) -> None:
    worker.deliver(governed)
    assert of(governed, "olivia", "mia") == (2, 2, (), ())


def test_who_cannot_sign_in_there_is_told_by_name(governed: Backend) -> None:
    a_person("nina", "analysts")
    admit(the("metalake"), "nina")
    worker.deliver(governed)
    assert of(governed, "mia", "nina") == (1, 2, (), ("nina",))


def test_who_joined_while_the_backend_only_reports_waits(governed: Backend) -> None:
    worker.deliver(governed)
    rewritten(Backend.objects.all(), policy="report")
    members.join_group(
        people.ensure("group", "analysts"), people.ensure("user", "ana"), by=BY, authority=AUTHORITY
    )
    worker.look(Backend.objects.get())
    assert of(governed, "mia", "ana") == (1, 2, ("ana",), ())


def test_a_right_that_somebody_took_from_a_role_is_missing_for_all_in_it(
    governed: Backend, source: Source
) -> None:
    worker.deliver(governed)
    rewritten(Backend.objects.all(), policy="report")
    for (role,) in source.run("SELECT rolname FROM pg_roles WHERE rolname LIKE 'lw%'"):
        source.run(f'REVOKE SELECT ON sales.orders FROM "{role}"')
    worker.look(Backend.objects.get())
    assert of(governed, "olivia", "mia") == (0, 2, ("mia", "olivia"), ())


def test_what_is_given_on_one_table_says_nothing_of_another(governed: Backend) -> None:
    worker.deliver(governed)
    rewritten(Backend.objects.all(), policy="report")
    wish = GrantRequest(
        the("table", "shop.sales.customers"), (people.ensure("user", "mia"),), ("MODIFY_TABLE",)
    )
    grants.add(wish, by=acting("olivia"))
    worker.look(Backend.objects.get())
    status = status_on(governed, the("table", "shop.sales.customers"), ["mia"])
    assert status.waiting == ("mia",)
