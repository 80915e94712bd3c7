"""Policy files over REST, with the rights of a token."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from accounts import tokens
from policies.models import Change
from policies.services import members
from tests.api.world import BY, Caller, Shop, token, user
from tests.factories import a_use

EXPORT, PLAN, APPLY = "/authz/v1/policies", "/authz/v1/policies/plan", "/authz/v1/policies/apply"


@pytest.fixture
def marek(shop: Shop) -> Caller:
    """The owner of the realm."""
    return Caller(token("user", "marek"))


def exported(caller: Caller) -> str:
    response = caller.get(f"{EXPORT}?realm=demo")
    assert response.status_code == 200, response.content
    return str(response.json()["file"])


def sent(caller: Caller, path: str, status: int = 200, **body: Any) -> Any:
    response = caller.send(path, body)
    assert response.status_code == status, response.content
    return response.json()


def test_an_export_follows_the_schema_and_plans_to_nothing(shop: Shop, marek: Caller) -> None:
    text = exported(marek)
    schema = marek.get(f"{EXPORT}/schema").json()
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(yaml.safe_load(text))
    assert exported(marek) == text
    planned = sent(marek, PLAN, file=text)
    assert [planned[name]["count"] for name in ("adds", "changes", "removals")] == [0, 0, 0]


def test_a_plan_tells_its_removals_and_the_uses_that_they_would_refuse(shop: Shop, marek: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    a_use("ana", shop.tables["orders"])
    file = exported(marek).replace("    holders:\n      - user:ana\n", "")
    planned = sent(marek, PLAN, file=file, effects=True, replay={"days": 30})
    assert planned["removals"] == {"count": 1, "results": ["user:ana holds role readers"]}
    assert planned["totals"]["people_losing"] == 1
    assert planned["replay"]["refused"]["results"][0]["jobs"] == ["service:nightly"]
    before = Change.objects.count()
    done = sent(marek, APPLY, file=file, plan=planned["plan"], reason="merge 12")
    assert done["removals"]["count"] == 1
    assert Change.objects.count() == before + 1
    sent(marek, APPLY, 409, file=file, plan=planned["plan"])


def test_the_world_may_not_move_between_plan_and_apply(shop: Shop, marek: Caller) -> None:
    file = exported(marek)
    planned = sent(marek, PLAN, file=file)
    members.add(shop.realm, user("late"), **BY)
    sent(marek, APPLY, 409, file=file, plan=planned["plan"])


def test_who_does_not_see_all_access_sees_nothing(shop: Shop, ana: Caller) -> None:
    assert ana.get(f"{EXPORT}?realm=demo").status_code == 403
    assert ana.get(f"{EXPORT}?realm=none").status_code == 404
    sent(ana, PLAN, 403, file="format: 1\nrealm: demo\n")
    sent(ana, APPLY, 403, file="format: 1\nrealm: demo\n", plan="0")
    stranger = Caller(token("user", "stranger"))
    sent(stranger, PLAN, 404, file="format: 1\nrealm: demo\n")


def test_the_scopes_are_needed(shop: Shop) -> None:
    caller = Caller(tokens.create(user("marek"), scopes=("check",)))
    planned = sent(caller, PLAN, file="format: 1\nrealm: demo\n")
    sent(caller, APPLY, 403, file="format: 1\nrealm: demo\n", plan=planned["plan"])
    sent(Caller(tokens.create(user("marek"), scopes=("report",))), PLAN, 403, file="format: 1\nrealm: demo\n")


def test_a_file_that_makes_no_sense_is_refused(shop: Shop, marek: Caller) -> None:
    sent(marek, PLAN, 400, file="realm: demo")
    sent(marek, PLAN, 400, file="[")
    sent(marek, PLAN, 400, file=7)
    sent(marek, PLAN, 400)


def test_what_was_changed_beside_a_file_is_told_with_its_change(shop: Shop, marek: Caller) -> None:
    file = "format: 1\nrealm: demo\nowns: [members]\nmembers: [user:marek, user:ana, user:admin]\n"
    drift = "/authz/v1/policies/drift?realm=demo"
    assert marek.get(drift).json() == {"realm": "demo", "count": 0, "files": []}
    planned = sent(marek, PLAN, file=file)
    sent(marek, APPLY, file=file, plan=planned["plan"])
    assert marek.get(drift).json()["count"] == 0
    members.add(shop.realm, user("late"), **{**BY, "reason": "in the night"})
    answer = marek.get(drift).json()
    [kept] = answer["files"]
    [line] = kept["results"]
    assert (answer["count"], kept["owns"], kept["kept"]) == (1, ["members"], True)
    assert (line["action"], line["text"]) == ("added", "user:late is a member")
    assert (line["change"]["by"], line["change"]["reason"]) == ("operator", "in the night")
    assert "- user:late\n" in kept["sections"]
    planned = sent(marek, PLAN, file=kept["file"])
    assert planned["removals"]["results"] == ["user:late is a member"]
    taken_in = kept["file_with_drift"]
    sent(marek, APPLY, file=taken_in, plan=sent(marek, PLAN, file=taken_in)["plan"])
    assert marek.get(drift).json()["count"] == 0


def test_what_differs_is_for_people_who_see_all_access(shop: Shop, ana: Caller) -> None:
    assert ana.get("/authz/v1/policies/drift?realm=demo").status_code == 403
    assert Caller(token("user", "stranger")).get("/authz/v1/policies/drift?realm=demo").status_code == 404
