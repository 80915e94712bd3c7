"""A plan that waits for another person, by programs: whom it waits for, what it is, how it is decided."""

from __future__ import annotations

import json
from typing import Any

import pytest

from catalog.nodes import Node
from policies.requests import rules
from tests.factories import a_use, acting, the
from tests.kept import kept
from tests.policy_files.world import GATED, WHY, a_gated_world, holders
from tests.requests.test_api import caller

world = kept(a_gated_world)
BASE = "/authz/v1/policies"
RULES = "/authz/v1/request-rules?resource=demo&type=metalake"


def planned(name: str = "marek", text: str = GATED) -> dict[str, Any]:
    answer = caller(name).send(f"{BASE}/plan", {"file": text})
    assert answer.status_code == 200, answer.content
    return answer.json()


def applied(name: str = "marek", text: str = GATED) -> Any:
    body = {"file": text, "plan": planned(name, text)["plan"], "reason": WHY}
    return caller(name).send(f"{BASE}/apply", body)


def put(client: Any, path: str, body: dict[str, Any]) -> Any:
    return client.put(path, json.dumps(body), content_type="application/json")


def test_from_the_plan_to_its_application_by_programs_alone(world: Node) -> None:
    a_use("ana", the("catalog", "shop"), action="use")
    assert planned()["needs_approval"] is True
    answer = applied()
    body = answer.json()
    assert (answer.status_code, body["adds"], body["removals"]) == (202, None, None)
    waits = body["waits_for"]
    assert sorted(waits["deciders"]) == ["user:gil", "user:hana"]
    number = waits["request"]
    assert waits["page"] == f"/requests/{number}"
    [waiting] = caller("gil").get("/authz/v1/requests?list=waiting").json()["results"]
    assert (waiting["id"], waiting["items"][0]["action"]["name"]) == (number, "apply_policy_file")
    plan = caller("gil").get(f"/authz/v1/requests/{number}/plan").json()
    assert (plan["plan"], plan["current"], plan["file"]) == (body["plan"], True, GATED)
    assert plan["removals"] == {"count": 1, "results": ["user:ana holds role reader"]}
    assert plan["totals"]["people_losing"] == 1
    assert [use["principal"] for use in plan["replay"]["refused"]["results"]] == ["user:ana"]
    assert caller("gil").get(f"/authz/v1/requests/{number}").json()["parts"][0]["kind"] == "plan"
    assert caller("gil").get(f"/authz/v1/requests/{number}/consideration").status_code == 200
    assert caller("gil").send(f"/authz/v1/requests/{number}/approve", {"note": "fine"}).status_code == 200
    answer = applied()
    assert (answer.status_code, answer.json()["waits_for"], holders()) == (200, None, {"bo"})
    assert caller("gil").get(f"/authz/v1/requests/{number}/plan").json()["current"] is False


def test_the_reason_of_a_refusal_is_told_to_who_applies(world: Node) -> None:
    number = applied().json()["waits_for"]["request"]
    refused = caller("hana").send(f"/authz/v1/requests/{number}/refuse", {"reason": "ana needs it"})
    assert refused.status_code == 200
    answer = applied()
    assert (answer.status_code, "ana needs it" in answer.content.decode()) == (403, True)


@pytest.mark.parametrize(("name", "status"), [("gil", 200), ("marek", 200), ("ana", 404), ("bo", 404)])
def test_the_plan_is_shown_to_who_may_see_all_access(world: Node, name: str, status: int) -> None:
    number = applied().json()["waits_for"]["request"]
    assert caller(name).get(f"/authz/v1/requests/{number}/plan").status_code == status


def test_callers_who_do_not_know_of_approvals_do_not_switch_them_off(world: Node) -> None:
    marek = caller("marek")
    assert marek.get(RULES).json()["counts"]["plan_approval"] == "removals"
    older = {
        "min_reason": 5,
        "ticket": None,
        "escalate_hours": None,
        "lapse_hours": None,
        "longest_days": None,
    }
    assert put(marek, RULES, older).json()["here"]["plan_approval"] == "removals"
    assert put(marek, RULES, {"plan_approval": "always"}).status_code == 200
    assert rules.rules_along([world]).plan_approval == "always"
    assert put(marek, RULES, {"plan_approval": "often"}).status_code == 400
    assert put(caller("ana"), RULES, {"plan_approval": "never"}).status_code == 404
    rules.set_rule(world, by=acting("marek"))
    assert planned()["needs_approval"] is False
