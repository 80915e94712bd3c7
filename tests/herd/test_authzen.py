"""Every row of both tables again, asked as a pipeline asks; names, patterns, and what is not there."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from accounts.models import Principal
from tests.drawn import seeds
from tests.herd.tables import CODE, FREE, PERMISSIONS, SCOPE, Case
from tests.herd.world import Caller, a_herd, give, namespaces, question, role, take, the_herd

HOLDERS = {code.lower(): (code,) for code in PERMISSIONS} | {"both": ("READ", "WRITE"), "nobody": ()}


@pytest.fixture
def holders(pdp: Caller) -> Caller:
    for name, codes in HOLDERS.items():
        if codes:
            give(name, "SALES", *codes)
    for name in ("read", "grant", "nobody"):
        give(f"owner_{name}", "SALES", *(HOLDERS[name] or ("WRITE",)))
        role(f"owner_{name}")
    give("all", "STOCK", *PERMISSIONS)
    return pdp


def decide(caller: Caller, questions: list[dict[str, Any]]) -> list[bool]:
    answer = caller.send("POST", "/access/v1/evaluations", {"evaluations": questions})
    assert answer.status_code == 200, answer.content
    return [item["decision"] for item in answer.json()["evaluations"]]


def _about(case: Case, name: str) -> dict[str, Any]:
    return question("user", name, case.operation, "sales", dict(case.properties))


@pytest.mark.seed("S3-004", "S3-005")
def test_every_row_is_asked_as_it_stands(holders: Caller) -> None:
    cases: list[Case] = [item.values[0] for item in (*SCOPE, *CODE)]
    asked = [(case, name) for case in cases for name in (*HOLDERS, "all", "admin")]
    wanted = [name == "admin" or case.allows(HOLDERS.get(name, ())) for case, name in asked]
    answers = [
        item
        for start in range(0, len(asked), 500)
        for item in decide(holders, [_about(*pair) for pair in asked[start : start + 500]])
    ]
    wrong = [pair for pair, want, got in zip(asked, wanted, answers, strict=True) if want != got]
    assert wrong == []


@pytest.mark.seed("S3-053", "S3-021")
def test_mappings_need_the_role_too(holders: Caller) -> None:
    reading, changing = "account_permissions_mapping.get", "account_permissions_mapping.post_put_delete"
    assert holders.may("owner_read", reading, "SALES")
    assert holders.may("owner_grant", changing, "SALES")
    assert not holders.may("owner_grant", reading, "SALES")
    assert not holders.may("owner_read", changing, "SALES")
    assert not holders.may("owner_nobody", changing, "SALES"), "WRITE is no help"
    for action in (reading, changing):
        assert not holders.may("both", action, "SALES")
        assert not holders.may("grant", action, "SALES")


@pytest.mark.parametrize(
    "words", [pytest.param(words, marks=pytest.mark.seed(row)) for words, row in FREE.items()]
)
def test_what_is_not_under_it_is_for_everybody(pdp: Caller, words: str) -> None:
    spelled = words.lower().replace(" ", "_").replace("partitionkeygroups", "partition_key_groups")
    spelled = spelled.replace("expectedpartitionvalues", "expected_partition_values")
    spelled = spelled.replace("storageplatforms", "storage_platforms")
    for action, place in product((words, spelled), ("SALES", "")):
        assert pdp.may("somebody", action, place), (action, place)
    assert not pdp.may("somebody", "definition_crud", "SALES"), "the rest stays under it"


@pytest.mark.seed("S3-003", "S3-009", "S3-010", "S3-011", "S3-012", "S3-013")
def test_smith_may_what_is_smiths_and_nothing_else(pdp: Caller) -> None:
    herd_wide = ("MARKET", "OPTIONS", "ETL", "ANALYTICS")
    held = {"MARKET": ("READ",), "OPTIONS": ("READ",), "ETL": ("READ",), "ANALYTICS": ("WRITE", "EXECUTE")}
    namespaces(the_herd(), *herd_wide)
    for code, permissions in held.items():
        give("SmithJ", code, *permissions)
    pairs = list(product(herd_wide, PERMISSIONS))
    decisions = decide(pdp, [question("user", "SmithJ", permission, code, {}) for code, permission in pairs])
    assert decisions == [permission in held[code] for code, permission in pairs]


@pytest.mark.seed("S3-014", "S3-002", "S3-038")
def test_several_namespaces_are_several_questions(pdp: Caller) -> None:
    give("SmithJ", "SALES", "READ")
    asked = [
        question("user", "SmithJ", "availability_and_ddl_collection", code, {}) for code in ("SALES", "STOCK")
    ]
    assert decide(pdp, asked) == [True, False]
    give("SmithJ", "STOCK", "READ", "WRITE")
    assert decide(pdp, asked) == [True, True]
    job = [question("user", "SmithJ", "read", code, {}) for code in ("SALES", "STOCK")]
    assert decide(pdp, [*job, question("user", "SmithJ", "write", "STOCK", {})]) == [True] * 3
    assert decide(pdp, [*job, question("user", "SmithJ", "write", "SALES", {})]) == [True, True, False]


@pytest.mark.seed("S3-039")
def test_uploading_takes_both_ends(pdp: Caller) -> None:
    asked = [question("user", "bo", "upload_single_initiation", code, {}) for code in ("SALES", "STOCK")]
    for first, second in (("SALES", "STOCK"), ("STOCK", "SALES")):
        take("bo", first)
        give("bo", second, "WRITE")
        assert sorted(decide(pdp, asked)) == [False, True]
    give("bo", "SALES", "WRITE")
    give("bo", "STOCK", "WRITE")
    assert decide(pdp, asked) == [True, True]


REGISTRATION = "notification_registration.post_put_statusput"
FIELDS = ("every Job Definition that is triggered", "every BData in the Notification Filter")


@pytest.mark.seed("S3-062", "S3-063", "S3-064", "S3-065", "S3-066", "S3-067")
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_registration_needs_its_jobs_and_its_data(pdp: Caller, method: str) -> None:
    def asked(code: str, field: str) -> dict[str, Any]:
        properties = {"resource": {"field": field}, "action": {"method": method}}
        return question("user", "artoo", REGISTRATION, code, properties)

    jobs, data = FIELDS
    whole = [asked("SALES", jobs), asked("STOCK", jobs), asked("SALES", data), asked("STOCK", data)]
    give("artoo", "SALES", "EXECUTE", "READ")
    assert decide(pdp, whole) == [True, False, True, False]
    give("artoo", "STOCK", "EXECUTE")
    assert decide(pdp, whole) == [True, True, True, False]
    give("artoo", "STOCK", "READ")
    assert decide(pdp, whole) == [True, False, True, True]
    assert not pdp.may("artoo", REGISTRATION, "STOCK")
    assert pdp.may("artoo", REGISTRATION, "SALES")


@pytest.mark.seed("S3-015", "S3-043")
def test_a_user_id_is_a_name_of_the_directory(pdp: Caller) -> None:
    give("loader", "SALES", "WRITE")
    account = Principal.objects.get(kind="user", name="loader")
    assert not hasattr(account, "account"), "nobody signs in here under that name"
    assert pdp.may("loader", "upload_download_credential", "SALES", action={"method": "POST"})
    assert pdp.may("service:loader", "upload_download_credential", "SALES", action={"method": "POST"})
    assert not pdp.may("service:loader", "upload_download_credential", "SALES", action={"method": "GET"})
    assert not pdp.may("group:loader", "write", "SALES")


def test_names_are_the_same_in_any_case(pdp: Caller) -> None:
    give("JarJar", "SALES", "READ")
    for user, code in product(("JarJar", "JARJAR", "jarjar"), ("SALES", "sales", " Sales ")):
        assert pdp.may(user, "read", code)
    assert not pdp.may("jarja", "read", "SALES")
    Caller("jarjar").get("/herd-app/rest/currentUser")
    give("JARJAR", "STOCK", "READ")
    assert pdp.may("jarjar", "read", "STOCK"), "a spelling that came later counts at once"
    take("JARJAR", "STOCK")
    assert not pdp.may("jarjar", "read", "STOCK")


def test_a_spelling_that_comes_later_is_not_overlooked(transactional_db: None) -> None:
    namespaces(a_herd(), "SALES", "STOCK")
    pdp = Caller("pdp", kind="service")
    Caller("ana")
    assert not pdp.may("ana", "read", "SALES")
    give("ANA", "SALES", "READ")
    assert pdp.may("ana", "read", "SALES")
    give("*A", "STOCK", "READ")
    assert pdp.may("ana", "read", "STOCK")
    take("ANA", "SALES")
    take("*A", "STOCK")
    assert not pdp.may("ana", "read", "SALES")
    assert not pdp.may("ana", "read", "STOCK")


@pytest.mark.parametrize("code", ["NOPE", "SAL", "SALES/x", "SALES.x", "", "\0", "SALES\0"])
def test_nothing_may_be_done_where_nothing_is(pdp: Caller, code: str) -> None:
    body = question("user", "admin", "read", "x", {})
    body["resource"]["id"] = f"herd/{code}"
    answer = pdp.send("POST", "/access/v1/evaluation", body)
    assert answer.status_code == 200
    assert answer.json()["decision"] is False


def test_a_code_may_hold_dots(pdp: Caller) -> None:
    namespaces(the_herd(), "my.own.space")
    give("ana", "my.own.space", "READ")
    assert pdp.may("ana", "read", "my.own.space")
    assert pdp.may("ana", "read", '"MY.own.space"')
    assert not pdp.may("ana", "read", "my.own")


def test_a_refusal_names_the_permission_and_who_could_give_it(pdp: Caller) -> None:
    give("ana", "SALES", "READ")
    answer = pdp.send("POST", "/access/v1/evaluation", question("user", "ana", "write", "sales", {})).json()
    [lack] = answer["context"]["missing"]
    assert (lack["kind"], lack["privilege"], lack["object"]["id"]) == ("privilege", "WRITE", "herd/SALES")
    assert lack["owner"] == "user:admin"


LETTERS = "aAbBäÄ.@*_ "


def folded(text: str) -> str:
    return "".join(letter.upper() if len(letter.upper()) == 1 else letter for letter in text)


def matches(pattern: str, name: str) -> bool:
    """The original's rule: a star in front stands for any beginning, and letters are the same in any case."""
    if pattern.startswith("*"):
        return folded(name).endswith(folded(pattern[1:]))
    return folded(name) == folded(pattern)


@seeds(4)
def test_a_wildcard_is_suffix_matching(pdp: Caller, seed: int) -> None:
    dice = random.Random(seed)

    def text(most: int) -> str:
        return "".join(dice.choice(LETTERS) for _ in range(dice.randint(1, most))).strip() or "a"

    patterns = {dice.choice(("*", "*", "")) + text(3) for _ in range(6)} | {"*"}
    names = [text(5) for _ in range(40)] + [dice.choice("aB") + item.strip("*") for item in patterns]
    names = [name.strip() or "b" for name in names]
    for name in names[::2]:
        Caller(name)
    for pattern in sorted(patterns):
        give(pattern, "SALES", "READ")
        asked = [question("user", name, "read", "SALES", {}) for name in names]
        assert decide(pdp, asked) == [matches(pattern, name) for name in names], pattern
        take(pattern, "SALES")
    assert not any(decide(pdp, asked))
