"""Lists over several namespaces, as searches: what is filtered out is simply not there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.herd.world import Caller, give, namespaces, the_herd


def resources(caller: Caller, user: str, action: str, **properties: str) -> list[str]:
    kind, _, name = user.rpartition(":")
    body: dict[str, Any] = {
        "subject": {"type": kind or "user", "id": name},
        "action": {"name": action, "properties": properties},
        "resource": {"type": "namespace"},
    }
    answer = caller.send("POST", "/access/v1/search/resource", body)
    assert answer.status_code == 200, answer.content
    return [item["id"] for item in answer.json()["results"]]


def subjects(caller: Caller, kind: str, action: str, code: str) -> set[str]:
    resource = {"type": "namespace", "id": f"herd/{code}"}
    body = {"subject": {"type": kind}, "action": {"name": action}, "resource": resource}
    answer = caller.send("POST", "/access/v1/search/subject", body)
    assert answer.status_code == 200, answer.content
    return {item["id"] for item in answer.json()["results"]}


FILTERED = [
    pytest.param("job_status", marks=pytest.mark.seed("S3-073")),
    pytest.param("get_business_object_definitions", marks=pytest.mark.seed("S3-074")),
    "read",
]


@pytest.mark.parametrize("action", FILTERED)
def test_a_list_keeps_the_namespaces_one_may_read(pdp: Caller, action: str) -> None:
    namespaces(the_herd(), "PARTS")
    give("ana", "STOCK", "READ", "WRITE")
    give("ana", "PARTS", "WRITE", "EXECUTE")
    assert resources(pdp, "ana", action) == ["herd/STOCK"]
    assert resources(Caller("ana"), "ana", action) == ["herd/STOCK"]


@pytest.mark.seed("S3-072")
@pytest.mark.parametrize("action", ["job_status", "get_business_object_definitions"])
def test_nothing_left_is_an_empty_list_and_no_error(pdp: Caller, action: str) -> None:
    assert resources(pdp, "ana", action) == []
    assert resources(Caller("ana"), "ana", action) == []


def test_names_in_another_case_and_patterns_count(pdp: Caller) -> None:
    give("LOADER", "SALES", "READ")
    give("*.batch", "STOCK", "READ")
    assert resources(pdp, "loader", "read") == resources(pdp, "service:Loader", "read") == ["herd/SALES"]
    assert resources(pdp, "nobody.BATCH", "read") == ["herd/STOCK"], "nobody has heard of that user"
    Caller("night.batch")
    Caller("loader")
    assert subjects(pdp, "user", "read", "STOCK") == {"admin", "night.batch"}
    assert subjects(pdp, "user", "read", "SALES") == {"admin", "olivia", "LOADER", "loader"}
    assert subjects(pdp, "service", "read", "SALES") == set()


def test_the_part_that_properties_pick_is_what_is_searched_for(pdp: Caller) -> None:
    give("ana", "SALES", "READ")
    give("ana", "STOCK", "READ", "WRITE")
    assert resources(pdp, "ana", "definition_crud", method="GET") == ["herd/SALES", "herd/STOCK"]
    assert resources(pdp, "ana", "definition_crud", method="PUT") == ["herd/STOCK"]
    assert resources(pdp, "ana", "definition_crud") == ["herd/STOCK"]


def test_what_everybody_may_is_found_for_everybody(pdp: Caller) -> None:
    assert resources(pdp, "nobody", "use") == ["herd/SALES", "herd/STOCK"] or not pdp.may(
        "nobody", "use", "SALES"
    )
    assert subjects(pdp, "user", "use", "SALES") == {"admin", "olivia"}
    assert resources(pdp, "admin", "read") == ["herd/SALES", "herd/STOCK"]
