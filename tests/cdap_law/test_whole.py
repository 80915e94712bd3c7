"""Whole operations: deploying, executing and enabling DataPrep as one question with every part it has."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.nodes import Node
from lakewarden.law.dialects.cdap.subjects43 import TABLES
from lakewarden.law.dialects.cdap.whole import WHOLE, conditions
from tests.cdap_law.world import Caller, a_cdap, give, make, question

pytestmark = pytest.mark.django_db
REALM = "c43"


def named(condition: str, entity: str) -> dict[str, Any]:
    type, _, name = entity.partition(":")
    return {"condition": condition, "resource": {"type": type, "id": f"{REALM}/{name}"}}


def ask(who: str, operation: str, entity: str, *parts: dict[str, Any], **more: Any) -> Any:
    return Caller().send(
        "/access/v1/evaluation", question(who, operation, REALM, entity, {"parts": parts, **more})
    )


def lacking(answer: Any) -> list[tuple[str, str]]:
    return [(part["user"], part["entity"]) for part in answer["context"]["parts"] if not part["decision"]]


@pytest.fixture
def root() -> Node:
    root = a_cdap(REALM, master_user="cdap")
    make(root, "namespace:ns1")
    return root


@pytest.mark.seed("S1-163")
def test_deploying_lists_each_part_that_lacks(root: Node) -> None:
    parts = [
        named("deploying the app using an existing artifact", "artifact:ns1.jar"),
        named("creating a dataset", "dataset:ns1.orders"),
        named("creating a custom dataset during deployment", "dataset_type:ns1.com.acme.Ledger"),
    ]
    app = "application:ns1.app"
    answer = ask("ana", "deploy_application", app, *parts, executing_user="etl")
    assert answer["decision"] is False
    assert lacking(answer) == [
        ("requesting_user", "application:ns1.app"),
        ("requesting_user", "artifact:ns1.jar"),
        ("requesting_user", "kerberosprincipal:etl"),
        ("impersonated_user", "dataset:ns1.orders"),
        ("impersonated_user", "dataset_module:ns1.com.acme.Ledger"),
        ("impersonated_user", "dataset_type:ns1.com.acme.Ledger"),
    ]
    give(root, "ana", f"ADMIN on {app}", "READ on artifact:ns1.jar", "ADMIN on kerberosprincipal:etl")
    give(root, "etl", "ADMIN on dataset:ns1.*", "ADMIN on dataset_module:ns1.*")
    answer = ask("ana", "deploy_application", app, *parts, executing_user="etl")
    assert lacking(answer) == [("impersonated_user", "dataset_type:ns1.com.acme.Ledger")]
    assert "1 of 6" in answer["context"]["reason_user"]
    give(root, "etl", "ADMIN on dataset_type:ns1.*")
    assert ask("ana", "deploy_application", app, *parts, executing_user="etl")["decision"] is True
    # without impersonation whoever deploys creates
    alone = ask("ana", "deploy_application", app, *parts)
    assert ("requesting_user", "dataset:ns1.orders") in lacking(alone)


@pytest.mark.seed("S1-184", "S1-185")
def test_executing_asks_who_requests_and_who_runs(root: Node) -> None:
    program = "program:ns1.app.service.web"
    parts = [
        named("READ from existing streams and datasets", "stream:ns1.clicks"),
        named("WRITE to existing streams and datasets", "dataset:ns1.orders"),
    ]
    give(root, "ana", f"EXECUTE on {program}")
    give(root, "etl", "READ on stream:ns1.clicks", "WRITE on dataset:ns1.orders")
    assert ask("ana", "execute_program", program, *parts, executing_user="etl")["decision"] is True
    as_master = ask("ana", "execute_program", program, *parts)
    assert lacking(as_master) == [
        ("executing_user", "stream:ns1.clicks"),
        ("executing_user", "dataset:ns1.orders"),
    ]
    give(root, "cdap", "READ on stream:ns1.clicks", "WRITE on dataset:ns1.orders")
    assert ask("ana", "execute_program", program, *parts)["decision"] is True
    assert lacking(ask("bob", "execute_program", program, *parts)) == [("requesting_user", program)]


@pytest.mark.seed("S1-211")
@pytest.mark.parametrize("executing", ["", "etl"])
def test_dataprep_asks_others_with_impersonation_than_without(root: Node, executing: str) -> None:
    def answer() -> Any:
        return ask("ana", "enable_dataprep", "namespace:ns1", executing_user=executing)

    assert len(lacking(answer())) == (6 if executing else 9)
    give(root, "ana", "EXECUTE on program:ns1.dataprep.service.service")
    spaces = [f"dataset:ns1.{name}" for name in ("workspace", "dataprep", "dataprepfs")]
    types = ["dataset_type:ns1.*WorkspaceDataset", "dataset_module:ns1.*WorkspaceDataset"]
    making, using = (executing, executing) if executing else ("ana", "cdap")
    for entity in (*spaces, *types):
        give(root, making, f"ADMIN on {entity}")
    assert len(lacking(answer())) == 3
    for entity in spaces:
        give(root, using, f"READ,WRITE on {entity}")
    assert answer()["decision"] is True


def test_what_fits_no_row_is_a_400(root: Node) -> None:
    def status(*parts: Any, entity: str = "application:ns1.app", **more: Any) -> int:
        import json

        from django.test import Client

        body = question("ana", "deploy_application", REALM, entity, {"parts": parts, **more})
        sender: Client = Caller()
        answer = sender.generic(
            "POST", "/access/v1/evaluation", json.dumps(body), content_type="application/json"
        )
        return int(answer.status_code)

    assert status(named("creating a teapot", "dataset:ns1.a")) == 400
    assert status(named("creating a dataset", "stream:ns1.a")) == 400
    assert status({"condition": "creating a dataset"}) == 400
    assert status("x") == 400
    assert status(executing_user=7) == 400


def test_every_table_can_be_asked_whole_and_is_described() -> None:
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "cdap-operations.md").read_text()
    assert {whole.table for whole in WHOLE.values()} == set(TABLES)
    for name in WHOLE:
        assert all(f"`{condition}`" in page for condition in conditions(name))


def test_the_page_of_operations_is_as_the_tables_are() -> None:
    from scripts.cdap_operations import DOCUMENT, page

    assert DOCUMENT.read_text() == page(), "run python scripts/cdap_operations.py"


@pytest.mark.seed("S2-164")
def test_the_operations_can_be_looked_up(root: Node) -> None:
    give(root, "ana", "ADMIN on dataset:ns1.orders")
    response = Caller().send("/access/v1/search/action", question("ana", "", REALM, "dataset:ns1.orders"))
    names = [item["name"] for item in response["results"]]
    assert {"drop", "dataset.truncate", "dataset.upgrade", "ADMIN"} <= set(names)
    assert "dataset.read" not in names and len(names) == len(set(names))
