"""Each privilege of gravitino.toml: where it may be given, what it opens, how far it reaches."""

import tomllib
from pathlib import Path

import pytest

from lakewarden.law.engine import decide
from lakewarden.law.facts import Rule

from .worlds import LAW, TREE, may, of_rules

ROWS = tomllib.loads((Path(__file__).parent / "gravitino.toml").read_text())["privilege"]
USES = ("USE_CATALOG", "USE_SCHEMA", "USE_MODEL", "RUN_JOB", "USE_JOB_TEMPLATE")
ABOVE = {"metalake": "lake", "catalog": "shop", "schema": "shop.sales"}
ELSEWHERE = {"catalog": "lab", "schema": "shop.hr"}


def marked(row, key):
    return [pytest.mark.seed(row["rows"][key])] if "rows" in row else []


def by(key):
    return [pytest.param(row, marks=marked(row, key), id=row["code"]) for row in ROWS]


def usage(row):
    """What else must be held, everywhere, for the privilege to be of use."""
    code = LAW.privilege(row["code"]).code
    extra = () if code in ("RUN_JOB", "USE_JOB_TEMPLATE", "USE_MODEL") else USES[:3]
    needed = {"RUN_JOB": ("USE_JOB_TEMPLATE",), "USE_MODEL": USES[:2]}.get(code, extra)
    return [Rule("lake", other) for other in needed if other != code]


def test_every_privilege_is_in_the_table_under_each_of_its_names():
    assert {row["code"] for row in ROWS} == {*LAW.privileges, *LAW.aliases}


@pytest.mark.parametrize("row", by("binds"))
def test_it_binds_where_the_table_says_and_nowhere_else(row):
    accepted = {type for type in LAW.types if LAW.bindable(row["code"], type) is None}
    assert accepted == {*row["binds"], *row.get("wider", ())}
    assert all(row["code"] in LAW.bindable(row["code"], type) for type in set(LAW.types) - accepted)


@pytest.mark.parametrize("row", by("opens"))
def test_it_opens_what_the_table_says_and_without_it_that_is_refused(row):
    for question in row["opens"]:
        operation, _, name = question.partition(" on ")
        nearest = next(
            level for level in reversed(TREE[name]) if LAW.bindable(row["code"], level.type) is None
        )
        assert may(of_rules([*usage(row), Rule(nearest.key, row["code"])]), operation, name), question
        refusal = may(of_rules(usage(row)), operation, name)
        assert not refusal and refusal.reason == "missing", question


def reaching():
    return [
        pytest.param(row, level, marks=pytest.mark.seed(seed), id=f"{row['code']} from a {level}")
        for row in ROWS
        for level, seed in row.get("reach", {}).items()
    ]


@pytest.mark.parametrize(("row", "level"), reaching())
def test_it_reaches_all_below_now_and_later_and_nothing_beside(row, level):
    operation, _, name = row["opens"][-1].partition(" on ")
    above = TREE[ABOVE[level]]
    slice = of_rules([*usage(row), Rule(above[-1].key, row["code"])])
    rest = [f"{part.type} made later" for part in TREE[name][len(above) :]]
    later = (
        *above,
        *(part._replace(key=key) for part, key in zip(TREE[name][len(above) :], rest, strict=True)),
    )
    assert may(slice, operation, name)
    assert decide(slice, operation, later, now=0)
    if level in ELSEWHERE:
        beside = Rule(ELSEWHERE[level], row["code"])
        assert not may(of_rules([*usage(row), beside]), operation, name)


KINDS = {
    "relational": ("CREATE_TABLE", "SELECT_TABLE", "MODIFY_TABLE"),
    "fileset": ("CREATE_FILESET", "READ_FILESET", "WRITE_FILESET"),
    "messaging": ("CREATE_TOPIC", "CONSUME_TOPIC", "PRODUCE_TOPIC"),
    "model": ("REGISTER_MODEL", "LINK_MODEL_VERSION", "USE_MODEL", "CREATE_MODEL"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("type", ["catalog", "schema"])
def test_a_privilege_fits_its_own_kind_of_catalog(kind, type):
    for owner, codes in KINDS.items():
        for code in codes:
            why_not = LAW.bindable(code, type, kind)
            assert (why_not is None) == (owner == kind)
            assert why_not is None or (owner in why_not and kind in why_not and "%" not in why_not)
    for code in ("USE_SCHEMA", "CREATE_VIEW", "REGISTER_FUNCTION", "MANAGE_GRANTS"):
        assert LAW.bindable(code, type, kind) is None


def test_the_kind_of_catalog_does_not_matter_on_the_metalake():
    assert LAW.bindable("SELECT_TABLE", "metalake") is None


def test_what_is_no_privilege_binds_nowhere():
    assert LAW.bindable("DROP_TABLE", "table") == "DROP_TABLE is no privilege"


@pytest.mark.seed("S4-022")
def test_management_is_no_privilege():
    assert not [code for code in LAW.privileges if "DROP" in code or "DELETE" in code or "OWNER" in code]


@pytest.mark.seed("S4-041")
def test_a_column_is_no_place_for_a_privilege():
    assert all(LAW.bindable(code, "column") for code in LAW.privileges)
    assert "column" in LAW.types


def test_every_privilege_has_its_own_bit_and_a_word_for_the_screen():
    bits = [privilege.bit for privilege in LAW.privileges.values()]
    assert sorted(bits) == [1 << place for place in range(len(bits))]
    assert LAW.privileges["SELECT_TABLE"].label == "Read"
    assert LAW.privileges["MODIFY_TABLE"].label == "Write"
    assert all(privilege.label and privilege.description for privilege in LAW.privileges.values())
