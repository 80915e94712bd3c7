"""Files by somebody who means harm: each is refused in a sentence, and none takes long to read."""

from __future__ import annotations

import json
import time

import pytest

from policies.errors import Invalid
from policies.policy_files import document, imports

SHORT = 20_000
"""Long enough that work which grows with the square of a text would take many seconds."""
GIVEN = "GRANT SELECT ON TABLE sales.orders TO ana;"


@pytest.mark.parametrize(
    "text",
    [
        "? [a, b]\n: c\n",
        "realm: !!timestamp soon",
        "realm: !!int many",
        "realm: !!bool perhaps",
        "realm: !!float x",
        "format: " + "1" * 5000,
        "format: 0x_",
        "format: 089",
        "format: 01",
        "format: 1" + ":00" * 200_000,
        "realm: \ud800",
        'format: 1\nrealm: "a\\0b"',
        "format: 1\nrealm: a\n<<: {members: ['user:ana']}",
        "{" + ", ".join(f"a{number}: 1" for number in range(SHORT)) + f", a{SHORT - 1}: 1}}",
        "format: 1\nrealm: a\nroles: {r: {holders: [" + "1," * SHORT * 3 + "]}}",
    ],
)
def test_a_policy_file_of_harmful_parts_is_refused(text: str) -> None:
    began = time.process_time()
    with pytest.raises(Invalid):
        document.read(text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("source", "text", "why"),
    [
        (
            "postgresql",
            GIVEN + " ".join(f"$a{number}$" for number in range(SHORT)),
            "has no end in this file",
        ),
        ("postgresql", GIVEN + "'" + "\\'" * SHORT, "has no end in this file"),
        ("postgresql", GIVEN + "/* " * SHORT, "has no end in this file"),
        ("mariadb", "\n" * SHORT + "x", "There is no GRANT"),
        ("postgresql", f"GRANT {'a,' * 4000}b ON TABLE x.y TO {'c,' * 4000}d", "more than 200000 times"),
        ("postgresql", f"GRANT {'a,' * 4000}b TO {'c,' * 4000}d", "more than 200000 times"),
        (
            "ranger",
            json.dumps(
                {
                    "resources": {
                        "database": {"values": [*map(str, range(4000))]},
                        "table": {"values": [*map(str, range(4000))]},
                    }
                }
            ),
            "more than 200000 times",
        ),
        (
            "ranger",
            json.dumps(
                {
                    "resources": {
                        "database": {"values": [*map(str, range(300))]},
                        "table": {"values": [*map(str, range(300))]},
                    },
                    "policyItems": [
                        {"users": ["ana"], "accesses": [{"type": f"a{number}"} for number in range(SHORT)]}
                    ],
                }
            ),
            "more than 200000 times",
        ),
        ("unity", "[" * SHORT, "not valid JSON of Unity Catalog"),
        (
            "unity",
            '[{"privilege_assignments": ["x"], "securable_type": "catalog", "full_name": "a"}]',
            "not have the structure of permissions of Unity",
        ),
        ("gravitino", '[{"users": 5}]', "not have the structure of roles, users and groups"),
        ("lakeformation", '{"PrincipalResourcePermissions": [1]}', "not have the structure of what `aws"),
        ("ranger", '{"policies": [{"resources": 5}]}', "not have the structure of policies of Apache Ranger"),
    ],
)
def test_a_harmful_file_of_another_system_is_refused_at_once(source: str, text: str, why: str) -> None:
    began = time.process_time()
    with pytest.raises(Invalid, match=why):
        imports.read(source, text, realm="demo", catalog="shop")
    assert time.process_time() - began < 5


def test_a_long_file_that_gives_nothing_known_is_read_at_once() -> None:
    began = time.process_time()
    text = f"GRANT {'a(b),' * SHORT}c ON TABLE x.y TO d"
    draft = imports.read("postgresql", text, realm="demo", catalog="shop")
    assert "members" not in draft.text()
    assert time.process_time() - began < 5


def test_a_dump_of_very_many_owned_tables_is_read_in_time_that_grows_with_it() -> None:
    many = 10_000
    owned = (f"ALTER TABLE sales.t{number} OWNER TO p{number % 50};" for number in range(many))
    began = time.process_time()
    draft = imports.read("postgresql", GIVEN + "\n".join(owned), realm="demo", catalog="shop")
    assert sum(item.kind == "owner" for item in draft.statements) == many
    assert time.process_time() - began < 5
