"""The page's own scenario: JarJar registers a job, Artoo has it started, Rey starts it again."""

from __future__ import annotations

from itertools import product

import pytest

from catalog.nodes import Node
from tests.herd.test_authzen import FIELDS, REGISTRATION
from tests.herd.world import Caller, a_herd, give, namespaces
from tests.kept import kept

CODES = ("MARKET", "OPTIONS", "ETL", "CROSS_MARKET")
PERMISSIONS = ("READ", "WRITE", "EXECUTE", "GRANT")
RIGHTS = {
    "JarJar": {"READ": ("MARKET", "ETL"), "WRITE": ("ETL", "CROSS_MARKET"), "EXECUTE": ()},
    "Artoo": {"READ": ("MARKET",), "WRITE": (), "EXECUTE": ("ETL",)},
    "Rey": {"READ": ("MARKET", "ETL", "CROSS_MARKET"), "WRITE": (), "EXECUTE": ("ETL",)},
}
JOBS, DATA = ({"resource": {"field": field}} for field in FIELDS)


def make_herd() -> Node:
    """The namespaces of the page, and what everybody may do in each."""
    herd = a_herd()
    namespaces(herd, *CODES)
    for user, rights in RIGHTS.items():
        for code in CODES:
            held = [permission for permission, codes in rights.items() if code in codes]
            if held:
                give(user, code, *held)
    return herd


herd = kept(make_herd)


@pytest.fixture
def pdp(herd: Node) -> Caller:
    return Caller("pdp", kind="service")


@pytest.mark.seed(*(f"S3-{row:03}" for row in range(79, 88)))
@pytest.mark.parametrize("user", RIGHTS)
def test_everybody_has_what_is_listed_and_no_more(pdp: Caller, user: str) -> None:
    for permission, code in product(PERMISSIONS, CODES):
        assert pdp.may(user, permission, code) == (code in RIGHTS[user].get(permission, ())), (
            permission,
            code,
        )


@pytest.mark.seed("S3-056", "S3-089", "S3-090", "S3-054", "S3-055")
def test_jarjar_registers_the_job(pdp: Caller) -> None:
    creating = {"action": {"method": "POST"}}
    assert pdp.may("JarJar", "job_definition_crud", "ETL", **creating)
    assert pdp.may("JarJar", "JobDefinition.createJobDefinition", "ETL")
    give("JarJar", "CROSS_MARKET", "READ")
    assert pdp.may("JarJar", "job_definition_crud", "ETL", **creating), (
        "what the job will change is not asked"
    )
    give("JarJar", "ETL", "READ")
    assert not pdp.may("JarJar", "job_definition_crud", "ETL", **creating)
    assert not pdp.may("Rey", "job_definition_crud", "ETL", **creating)


@pytest.mark.seed("S3-091", "S3-092")
def test_artoo_has_it_started_once_all_its_sources_are_readable(pdp: Caller) -> None:
    """As listed Artoo has READ on MARKET alone, though the step's text takes READ on ETL for granted."""

    def registers() -> bool:
        needs = [("ETL", JOBS), ("MARKET", DATA), ("ETL", DATA)]
        return all(pdp.may("Artoo", REGISTRATION, code, **field) for code, field in needs)

    assert not registers()
    give("Artoo", "ETL", "EXECUTE", "READ")
    assert registers()
    give("Artoo", "ETL", "READ")
    assert not registers(), "the notification starts a job of ETL"
    give("Artoo", "ETL", "EXECUTE", "READ")
    give("Artoo", "MARKET", "WRITE")
    assert not registers()


@pytest.mark.seed("S3-094")
def test_the_job_can_do_all_it_does_as_jarjar(pdp: Caller) -> None:
    assert all(pdp.may("JarJar", "read", code) for code in ("MARKET", "ETL"))
    assert all(pdp.may("JarJar", "write", code) for code in ("CROSS_MARKET", "ETL"))
    assert not pdp.may("Rey", "write", "CROSS_MARKET")


@pytest.mark.seed("S3-057", "S3-059", "S3-095")
def test_rey_starts_it_again(pdp: Caller) -> None:
    for action in ("job_execute_post", "Job.createAndStartJob"):
        assert pdp.may("Rey", action, "ETL")
        assert pdp.may("Artoo", action, "ETL")
        assert not pdp.may("JarJar", action, "ETL"), "READ and WRITE start nothing"
    assert pdp.may("JarJar", "job_execute_status", "ETL")
    assert not pdp.may("Artoo", "job_execute_status", "ETL"), "EXECUTE alone sees no status"
