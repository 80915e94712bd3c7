"""Generation 3.4: the ten core policies answer for whatever the table does not list."""

from __future__ import annotations

import pytest

from lakewarden.law import engine
from tests.cdap_law.asking import decided, holding, law_of, lineage
from tests.cdap_law.tables import ENTITIES, PRIVILEGES, ROWS

LAW = "cdap34"
LISTED = {row.operation for row in ROWS[LAW]}
OTHERS = {
    "metrics": "metrics:ns1.requests",
    "logs": "logs:ns1.worker",
    "search": "search:ns1.index",
    "monitor": "monitor:appfabric",
    "system_service": "system_service:metrics",
    "teapot": "teapot:ns1.brown",
}
ABOVE = {"namespace": "instance:cdap", "kerberosprincipal": "instance:cdap", "program": "application:ns1.app"}
UNLISTED = ("artifact", "program", "dataset_type", "dataset_module", "securekey", "kerberosprincipal")


def entity(type: str) -> str:
    return OTHERS.get(type) or ENTITIES[type]


def parent(type: str) -> str:
    inside = "." in entity(type).partition(":")[2]
    return ABOVE.get(type) or ("namespace:ns1" if inside and type != "kerberosprincipal" else "instance:cdap")


CORE = [
    # the operation, what is needed on the entity, what is needed on its parent
    pytest.param("create", "", "WRITE", marks=pytest.mark.seed("S0-001", "S0-011")),
    pytest.param("delete", "ADMIN", "", marks=pytest.mark.seed("S0-002", "S0-011")),
    pytest.param("get", "READ", "READ", marks=pytest.mark.seed("S0-005", "S0-011")),
    pytest.param("set_preference", "WRITE", "", marks=pytest.mark.seed("S0-006", "S0-011")),
    pytest.param("get_preference", "READ", "", marks=pytest.mark.seed("S0-007", "S0-011")),
    pytest.param("update", "ADMIN", "", marks=pytest.mark.seed("S0-008", "S0-011")),
    pytest.param("add_metadata", "ADMIN", "", marks=pytest.mark.seed("S0-009", "S0-011")),
    pytest.param("get_metadata", "READ", "", marks=pytest.mark.seed("S0-010", "S0-011")),
]


@pytest.mark.seed("S0-098")
@pytest.mark.parametrize("type", [*UNLISTED, *OTHERS])
@pytest.mark.parametrize(("operation", "own", "above"), CORE)
def test_a_core_policy_needs_what_it_says(type: str, operation: str, own: str, above: str) -> None:
    if f"{type}.{operation}" in LISTED:
        pytest.skip("the table lists it")
    needed = {(own, entity(type)), (above, parent(type))} - {("", entity(type)), ("", parent(type))}
    name = f"{type}.{operation}"
    assert decided(holding(LAW, needed), name, entity(type))
    for item in needed:
        assert not decided(holding(LAW, needed - {item}), name, entity(type))
        wrong = {(code, item[1]) for code in PRIVILEGES[LAW] if code not in (item[0], "ALL")}
        assert not decided(holding(LAW, (needed - {item}) | wrong), name, entity(type))
        assert decided(holding(LAW, (needed - {item}) | {("ALL", item[1])}), name, entity(type))
        beside = {entity(type), parent(type)} - {item[1]}
        elsewhere = {(code, on) for code in PRIVILEGES[LAW] for on in beside}
        assert not decided(holding(LAW, elsewhere), name, entity(type))


@pytest.mark.seed("S0-004", "S0-097", "S0-099")
@pytest.mark.parametrize("type", [*UNLISTED, *OTHERS])
def test_a_list_shows_what_one_may_read_write_or_administer(type: str) -> None:
    levels = lineage(LAW, entity(type))
    for code in PRIVILEGES[LAW]:
        assert engine.shows(holding(LAW, [(code, entity(type))]), levels, now=0.0) == (code != "EXECUTE")
        assert not engine.shows(holding(LAW, [(code, parent(type))]), levels, now=0.0)
        assert decided(holding(LAW, [(code, entity(type))]), f"{type}.list", entity(type)) == (
            code != "EXECUTE"
        )


@pytest.mark.seed("S0-012")
@pytest.mark.parametrize(
    ("operation", "by_the_table", "by_the_core"),
    [
        ("namespace.get", [("READ", "namespace:ns1")], [("READ", "instance:cdap")]),
        ("application.get", [("READ", "application:ns1.app")], [("READ", "namespace:ns1")]),
        ("artifact.get", [("READ", "artifact:ns1.jar")], [("READ", "namespace:ns1")]),
    ],
)
def test_a_row_of_the_table_goes_before_the_core_policy(
    operation: str, by_the_table: list[tuple[str, str]], by_the_core: list[tuple[str, str]]
) -> None:
    text = ENTITIES[operation.partition(".")[0]]
    assert decided(holding(LAW, by_the_table), operation, text)
    assert not decided(holding(LAW, by_the_core), operation, text)


@pytest.mark.parametrize("name", ["metrics.explode", "logs.get", "dataset.explode", "metrics", "teapot.GET"])
def test_anything_else_stays_no(name: str) -> None:
    everything = [("ALL", text) for text in (*ENTITIES.values(), *OTHERS.values())]
    assert not decided(holding(LAW, everything), name, OTHERS["metrics"])
    assert not decided(holding(LAW, everything), name, ENTITIES["dataset"])


@pytest.mark.parametrize("law", ["cdap35", "cdap43"])
def test_later_generations_know_no_core_policies(law: str) -> None:
    assert "metrics.get" not in law_of(law).operations
    assert lineage(law, OTHERS["metrics"]) == ()


@pytest.mark.seed("S0-093", "S0-094")
@pytest.mark.parametrize("law", ["cdap34", "cdap35"])
def test_all_satisfies_every_action(law: str) -> None:
    assert tuple(law_of(law).privileges) == ("READ", "WRITE", "EXECUTE", "ADMIN", "ALL")
    for type, text in ENTITIES.items():
        for code in PRIVILEGES[law]:
            assert decided(holding(law, [("ALL", text)]), code, text), type
            assert decided(holding(law, [(code, text)]), "ALL", text) == (code == "ALL")


@pytest.mark.seed("S1-027", "S1-028", "S1-029", "S1-030", "S1-031")
def test_all_is_no_action_of_the_latest_generation() -> None:
    assert tuple(law_of("cdap43").privileges) == ("READ", "WRITE", "EXECUTE", "ADMIN")
    for text in ENTITIES.values():
        assert not decided(holding("cdap43", [("ALL", text)]), "READ", text)
        for code in PRIVILEGES["cdap43"]:
            assert not decided(holding("cdap43", [(code, text)]), "ALL", text)
            asked = [
                decided(holding("cdap43", [(code, text)]), privilege, text)
                for privilege in PRIVILEGES["cdap43"]
            ]
            assert asked == [privilege == code for privilege in PRIVILEGES["cdap43"]]


@pytest.mark.seed("S0-100")
def test_who_may_only_write_sees_but_does_not_read() -> None:
    for code in ("WRITE", "ADMIN"):
        mine = holding(LAW, [(code, "dataset:ns1.orders"), ("READ", "namespace:ns1")])
        assert engine.shows(mine, lineage(LAW, "dataset:ns1.orders"), now=0.0)
        assert not decided(mine, "dataset.get", "dataset:ns1.orders")
        assert not decided(mine, "read", "dataset:ns1.orders")


@pytest.mark.seed("S0-096")
def test_rights_on_the_parent_list_no_children() -> None:
    for code in PRIVILEGES[LAW]:
        mine = holding(LAW, [(code, "namespace:ns1"), (code, "instance:cdap")])
        assert not engine.shows(mine, lineage(LAW, "dataset:ns1.orders"), now=0.0)


@pytest.mark.seed("S0-092")
def test_deploying_from_an_artifact_needs_to_read_it() -> None:
    app, writing = "application:ns1.app", [("WRITE", "namespace:ns1")]
    sent = {"condition": "deployed from an artifact", "artifact": "jar"}
    assert decided(holding(LAW, writing), "application.deploy", app)
    assert not decided(holding(LAW, writing), "application.deploy", app, **sent)
    assert decided(holding(LAW, [*writing, ("READ", "artifact:ns1.jar")]), "application.deploy", app, **sent)
    assert not decided(
        holding(LAW, [*writing, ("READ", "artifact:ns2.jar")]), "application.deploy", app, **sent
    )


@pytest.mark.seed("S0-091")
def test_every_namespace_is_listed() -> None:
    assert engine.shows(holding(LAW, []), lineage(LAW, "namespace:ns1"), now=0.0)
    assert not decided(holding(LAW, []), "namespace.get", "namespace:ns1")
