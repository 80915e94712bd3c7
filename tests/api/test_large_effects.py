"""Effects that are too large to wait for: worked out by a worker, followed by a link, exact."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from policies.calculations import working
from policies.models import Calculation
from policies.policy_files import effects
from policies.services import roles
from policies.simulation import difference
from policies.sync.runs import heartbeat
from tests.api.world import BY, Caller, Shop, token, user
from tests.factories import a_use
from tests.simulation.databases import contents

LEAVES = {"change": "unassign_role", "role": "readers", "principal": "user:ana"}
SIMULATE, PLAN = "/authz/v1/simulate", "/authz/v1/policies/plan"
BODY = {"realm": "demo", "changes": [LEAVES], "replay": {"days": 30}}


@pytest.fixture
def marek(shop: Shop) -> Caller:
    """The owner of the realm, in which ana reads orders by a role."""
    shop.allow(shop.sales, "SELECT_TABLE")
    a_use("ana", shop.tables["orders"])
    return Caller(token("user", "marek"))


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is too large to wait for."""
    monkeypatch.setattr(difference, "MOST", 0)
    monkeypatch.setattr(effects, "MOST", 0)
    monkeypatch.setattr(working, "EVERY", 0.0)


def sent(caller: Caller, body: dict[str, Any] = BODY, status: int = 202, path: str = SIMULATE) -> Any:
    response = caller.send(path, body)
    assert response.status_code == status, response.content
    if status == 202:
        assert response["Location"] == response.json()["calculation"]["url"]
    return response.json()


def followed(caller: Caller, answer: Any, status: int = 200) -> Any:
    response = caller.get(answer["calculation"]["url"])
    assert response.status_code == status, response.content
    return response.json()


def test_a_worker_finds_exactly_what_an_answer_at_once_says(
    marek: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = sent(marek, status=200)
    monkeypatch.setattr(difference, "MOST", 0)
    answer = sent(marek)
    assert (answer["difference"], answer["replay"]) == (None, None)
    assert followed(marek, answer)["state"] == "waiting"
    working.run_waiting()
    done = followed(marek, answer)
    assert (done["state"], done["percent"], done["more"]) == ("done", 100, False)
    assert done["totals"] == at_once["difference"]["totals"] and done["totals"]["people_losing"] == 1
    assert done["results"] == at_once["difference"]["results"]
    for part in ("refused", "allowed", "gone"):
        assert done["replay"][part] == at_once["replay"][part]
    assert done["replay"]["refused"]["count"] == 1


def test_the_plan_of_a_policy_file_is_worked_out_once_for_all_who_see_the_realm(
    marek: Caller, shop: Shop, large: None
) -> None:
    file = marek.get("/authz/v1/policies?realm=demo").json()["file"]
    wanted = {"file": file.replace("    holders:\n      - user:ana\n", ""), "effects": True}
    answer = sent(marek, wanted, path=PLAN)
    assert answer["removals"]["count"] == 1 and answer["totals"] is None
    assert sent(marek, wanted, path=PLAN)["calculation"] == answer["calculation"]
    working.run_waiting()
    done = followed(marek, answer)
    assert done["totals"]["people_losing"] == 1 and done["replay"]["refused"]["count"] == 1


def test_people_whom_a_file_brings_are_counted_and_listed_by_name(
    marek: Caller, shop: Shop, large: None
) -> None:
    file = marek.get("/authz/v1/policies?realm=demo").json()["file"]
    assert "members:\n" in file
    brings = file.replace("    holders:\n", "    holders:\n      - user:unheard.of\n", 1)
    brings = brings.replace("members:\n", "members:\n  - user:unheard.of\n", 1)
    answer = sent(marek, {"file": brings, "effects": True}, path=PLAN)
    working.run_waiting()
    done = followed(marek, answer)
    assert (done["totals"]["people_gaining"], done["totals"]["people_losing"]) == (1, 0)
    assert {line["principal"] for line in done["results"]} == {"user:unheard.of"}


def test_nothing_is_written_but_the_calculation_itself(marek: Caller, large: None) -> None:
    sent(marek, {**BODY, "replay": None})  # that a token is in use is noted, now and then
    before = contents()
    answer = sent(marek)
    working.run_waiting()
    followed(marek, answer)
    after = contents()
    changed = {name for name in after if before[name] != after[name]}
    assert changed == {"policies_calculation", "policies_calculation_id_seq"}


def test_it_is_dropped_when_the_realm_moves(marek: Caller, shop: Shop, large: None) -> None:
    answer = sent(marek)
    working.run_waiting()
    roles.create(shop.realm, "another", **BY)
    assert "Ask again" in followed(marek, answer, 410)["detail"]
    working.run_waiting()
    assert not Calculation.objects.exists()
    assert sent(marek)["calculation"]["url"] != answer["calculation"]["url"]


def test_a_realm_that_moves_meanwhile_ends_it(
    marek: Caller, shop: Shop, large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = sent(marek)
    read = working.from_json

    def moves(*about: Any) -> Any:
        roles.create(shop.realm, "meanwhile", **BY)
        return read(*about)

    monkeypatch.setattr(working, "from_json", moves)
    working.run_waiting()
    followed(marek, answer, 404)


def test_it_is_kept_for_a_bounded_time(marek: Caller, large: None) -> None:
    answer = sent(marek)
    working.run_waiting()
    Calculation.objects.update(asked=timezone.now() - timedelta(days=1, minutes=1))
    working.run_waiting()
    followed(marek, answer, 404)


def test_nobody_else_reads_what_somebody_asked(marek: Caller, shop: Shop, large: None) -> None:
    answer = sent(marek)
    for name in ("olivia", "ana", "bob"):
        followed(Caller(token("user", name)), answer, 404)


def test_an_owner_of_a_part_learns_of_that_part_alone(marek: Caller, shop: Shop, large: None) -> None:
    roles.assign(roles.create(shop.realm, "others", **BY), user("olivia"), **BY)
    grant = {
        "change": "grant",
        "principal": "user:ana",
        "resource": {"type": "table", "id": "demo/shop.sales.orders"},
        "privileges": ["MODIFY_TABLE"],
    }
    shop.allow(shop.catalog, "USE_CATALOG")
    roles.assign(shop.readers, user("olivia"), **BY)
    olivia = Caller(token("user", "olivia"))
    answer = sent(olivia, {**BODY, "changes": [grant]})
    working.run_waiting()
    assert followed(olivia, answer)["totals"]["objects_gaining"] == 1
    followed(marek, answer, 404)


def test_a_killed_worker_is_made_up_for_and_what_kills_again_and_again_is_given_up(
    marek: Caller, large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def dies(*about: Any) -> None:
        raise Killed

    answer = sent(marek)
    with monkeypatch.context() as patched:
        patched.setattr(working, "stored", dies)
        with pytest.raises(Killed):
            working.run_waiting()
    assert followed(marek, answer)["state"] == "running"
    working.run_waiting()
    assert followed(marek, answer)["state"] == "done"
    Calculation.objects.update(finished=None, attempts=working.MOST_ATTEMPTS)
    working.run_waiting()
    assert "worker ended" in followed(marek, answer)["trouble"]


@pytest.fixture
def elsewhere() -> Iterator[psycopg.Connection]:
    """Another worker's session."""
    values = connection.settings_dict
    info = {"host": values["HOST"], "user": values["USER"], "dbname": values["NAME"]}
    with psycopg.connect(**info, autocommit=True) as session:
        yield session


def test_one_worker_is_at_it_and_it_says_whether_there_is_one(
    marek: Caller, large: None, elsewhere: psycopg.Connection
) -> None:
    answer = sent(marek)
    second = sent(marek, {**BODY, "replay": {"days": 7}})
    assert (second["calculation"]["waits_behind"], second["calculation"]["worker"]) == (1, False)
    elsewhere.execute("SELECT pg_advisory_lock(%s, %s)", [working.LOCKS, working.ONE_AT_A_TIME])
    working.run_waiting()
    heartbeat.heard("looks")
    seen = followed(marek, answer)
    assert (seen["state"], seen["worker"]) == ("waiting", True)


def test_how_far_it_is_stands_with_its_moment(
    marek: Caller, large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = sent(marek)
    seen = []
    original = working._Progress.__call__

    def looks(progress: Any, done: int, total: int) -> None:
        original(progress, done, total)
        seen.append(followed(marek, answer))

    monkeypatch.setattr(working._Progress, "__call__", looks)
    working.run_waiting()
    percents = [each["percent"] for each in seen]
    assert percents == sorted(percents) and 0 < percents[-1] < 100
    assert all(each["progress_at"] for each in seen)


def test_nobody_has_more_than_a_few_waiting(marek: Caller, large: None) -> None:
    for days in (1, 2, 3):
        sent(marek, {**BODY, "replay": {"days": days}})
    assert "3 large effects" in sent(marek, {**BODY, "replay": {"days": 4}}, 400)["detail"]


def test_what_takes_too_long_or_fails_says_so(
    marek: Caller, large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = sent(marek)
    with monkeypatch.context() as patched:
        patched.setattr(working, "LONGEST", timedelta(seconds=-1))
        working.run_waiting()
    assert "half an hour" in followed(marek, answer)["trouble"]
    other = sent(marek, {**BODY, "replay": None})
    monkeypatch.setattr(working, "stored", lambda *about: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        working.run_waiting()
    assert followed(marek, other)["state"] == "failed"
