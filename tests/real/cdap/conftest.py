"""A site of several realms that runs behind gunicorn, and CDAP's clients of one release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts import people, tokens
from catalog.nodes import Node
from policies.services import entities, realms
from tests.cdap.world import BY, OPERATOR, a_cdap, give
from tests.cdap_law.world import text
from tests.client.test_process import Process
from tests.real.cdap.calls import RELEASES
from tests.real.cdap.client import JavaClient, Person

ALL_43 = ("READ", "WRITE", "EXECUTE", "ADMIN")
THERE = (
    "namespace:ns1",
    "artifact:ns1.etl",
    "application:ns1.app",
    "program:ns1.app.service.web",
    "dataset_type:ns1.grid",
)
PATTERNS = (
    *("namespace:*", "application:ns1.*", "program:ns1.app.*", "artifact:ns1.*", "dataset:ns1.*"),
    *("stream:ns1.*", "securekey:ns1.*", "dataset_type:ns1.*", "dataset_module:ns1.*"),
)
running: dict[str, JavaClient] = {}


@pytest.fixture(scope="session", autouse=True)
def _clients(figures: Any) -> Iterator[None]:
    """Counted and stopped at the end."""
    yield
    for release, java in running.items():
        figures.note(f"Asked by the clients of {release}", calls=java.calls, methods=len(java.called))
        java.stop()


@pytest.fixture(params=RELEASES)
def java(request: pytest.FixtureRequest) -> JavaClient:
    if request.param not in running:
        running[request.param] = JavaClient(request.param)
    return running[request.param]


@pytest.fixture
def switches() -> dict[str, str]:
    """What is set for the CDAP besides its release."""
    return {}


@pytest.fixture
def cdap(java: JavaClient, switches: dict[str, str], transactional_db: None) -> Node:
    """A CDAP of the release in which ana builds; beside it another one that nobody here may know of."""
    other = realms.create(
        "cdap", "plant", owner=people.ensure("user", "zoe"), settings={"policy": "4.3"}, mode="on", **BY
    )
    for name in ("namespace:ns1", "namespace:hidden", "dataset:ns1.hidden"):
        entities.create(other, text(name), by=OPERATOR)
    root = a_cdap(java.release, **switches)
    for name in THERE:
        entities.create(root, text(name), by=OPERATOR)
    if java.release == "4.3":
        for name in PATTERNS:
            give(root, name, "ana", *ALL_43)
    else:
        for name in ("instance:cdap", *THERE):
            give(root, name, "ana", "ALL")
    return root


@pytest.fixture
def site(cdap: Node) -> Iterator[str]:
    """The address of a gunicorn that serves it."""
    process = Process()
    process.start()
    yield f"http://127.0.0.1:{process.port}"
    process.kill()


@pytest.fixture
def person(java: JavaClient, site: str) -> Callable[[str], Person]:
    """Somebody at the client with a token of theirs."""

    def at(name: str) -> Person:
        return Person(java, {"url": site, "token": tokens.create(people.ensure("user", name))})

    return at
