"""Files that are almost those of another system are read or refused; an error of ours passes for neither."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from policies.errors import Internal, Invalid
from policies.policy_files import imports
from policies.policy_files.imports import Draft, Source
from tests.herd.world import Caller

WRONG: tuple[Any, ...] = (None, 5, True, "x", [], {}, [None], [5], ["x"], [[]], {"x": 5}, {"x": None})
RANGER = {
    "policies": [
        {
            "name": "p",
            "serviceType": "hive",
            "resources": {
                "database": {"values": ["sales"], "isExcludes": False},
                "table": {"values": ["orders"]},
                "column": {"values": ["*"]},
            },
            "policyItems": [
                {"accesses": [{"type": "select", "isAllowed": True}], "users": ["ana"], "groups": ["staff"]}
            ],
            "denyPolicyItems": [{"accesses": [{"type": "update"}], "roles": ["r"], "delegateAdmin": True}],
        }
    ]
}
UNITY = [
    {
        "securable_type": "TABLE",
        "full_name": "main.sales.orders",
        "owner": "olivia@x.org",
        "privilege_assignments": [
            {
                "principal": "ana@x.org",
                "privileges": ["SELECT", {"privilege": "MODIFY", "inherited_from_name": "a"}],
            }
        ],
    }
]
LAKE = {
    "PrincipalResourcePermissions": [
        {
            "Principal": {"DataLakePrincipalIdentifier": "arn:aws:iam::1:user/ana"},
            "Resource": {"Table": {"DatabaseName": "sales", "Name": "orders"}},
            "Permissions": ["SELECT"],
            "PermissionsWithGrantOption": ["SELECT"],
        },
        {
            "Principal": {"DataLakePrincipalIdentifier": "arn:aws:iam::1:user/ana"},
            "Resource": {"TableWithColumns": {"Name": "o", "ColumnWildcard": {"ExcludedColumnNames": []}}},
            "Permissions": ["ALL"],
        },
        {"Principal": {}, "Resource": {"Database": {"Name": "sales"}}, "Permissions": ["DESCRIBE"]},
    ]
}
GRAVITINO = [
    {
        "role": {
            "name": "readers",
            "securableObjects": [
                {
                    "fullName": "shop.sales.orders",
                    "type": "TABLE",
                    "privileges": [{"name": "select_table", "condition": "ALLOW"}],
                }
            ],
        }
    },
    {"users": [{"name": "ana", "roles": ["readers"]}, "bo"], "groups": []},
    {"owner": {"name": "olivia", "type": "USER"}, "type": "schema", "fullName": "shop.sales"},
]
SAMPLES = {"ranger": RANGER, "unity": UNITY, "lakeformation": LAKE, "gravitino": GRAVITINO}
SQL = {
    "postgresql": """CREATE VIEW sales.top AS SELECT 1; CREATE ROLE clerks NOLOGIN; GRANT clerks TO ana;
    ALTER TABLE sales.orders OWNER TO olivia; GRANT SELECT ( id ) , ALL ON TABLE sales.orders TO ana , PUBLIC
    WITH GRANT OPTION; REVOKE ALL ON SCHEMA sales FROM PUBLIC;""",
    "mariadb": """GRANT USAGE ON *.* TO `ana` @ `%` ;
    GRANT SELECT ( id ) , INSERT ON `sales` . * TO `ana` @ `%`
    WITH GRANT OPTION ; GRANT `clerks` , `b` TO `ana` @ `%` ; SET DEFAULT ROLE `clerks` FOR `ana` @ `%` ;""",
}


def broken(whole: Any) -> Iterator[Any]:
    """The sample with each of its parts replaced by each wrong value, or left out."""
    for path in _paths(whole):
        for wrong in (*WRONG, ...):
            copy = deepcopy(whole)
            inside = copy
            for step in path[:-1]:
                inside = inside[step]
            if wrong is ...:
                del inside[path[-1]]
            else:
                inside[path[-1]] = wrong
            yield copy


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inside in steps:
        yield (step,)
        yield from ((step, *rest) for rest in _paths(inside))


def read(source: str, text: str) -> bool:
    """Whether it is read; an error of ours goes on to the test."""
    try:
        imports.read(source, text, realm="demo", catalog="shop").text()
    except Invalid:
        return False
    return True


@pytest.mark.parametrize("source", SAMPLES)
def test_a_file_with_a_wrong_part_is_read_or_refused(source: str) -> None:
    assert read(source, json.dumps(SAMPLES[source]))
    answers = [read(source, json.dumps(value)) for value in broken(SAMPLES[source])]
    assert any(answers) and not all(answers)


@pytest.mark.parametrize("source", SQL)
def test_statements_that_lack_words_are_read_or_refused(source: str) -> None:
    assert read(source, SQL[source])
    terms = SQL[source].split()
    for length in (1, 2, 3):
        for at in range(len(terms)):
            read(source, " ".join([*terms[:at], *terms[at + length :]]))


def failing(text: str, draft: Draft) -> None:
    raise KeyError("a mistake of ours")


def test_an_error_of_ours_is_none_of_the_file_s(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(imports.SOURCES, "csv", Source("a table", failing))
    with caplog.at_level(logging.ERROR), pytest.raises(Internal, match="an error in the program"):
        imports.read("csv", "", realm="demo")
    [record] = [record for record in caplog.records if record.name == "policies.policy_files.imports"]
    assert record.exc_info and record.exc_info[0] is KeyError
    body = {"system": "csv", "text": "x", "realm": "demo", "catalog": ""}
    answer = Caller("ana").send("POST", "/authz/v1/policies/import", body)
    assert answer.status_code == 500, answer.content
    assert "error in the program" in answer.json()["detail"]
    assert "mistake" not in answer.json()["detail"]
