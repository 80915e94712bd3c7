"""Entities in CDAP's two JSON forms: read by way of the text, written as each generation writes them."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.cdap.wire import read_authorizable, read_entity, write_authorizable, write_entity
from lakewarden.law.dialects.cdap.authorizable import BadEntity, parse

FORMS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "namespace:ns1",
        {"namespace": "ns1", "entity": "NAMESPACE"},
        {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "ns1"}},
    ),
    (
        "application:ns1.app1",
        {"namespace": "ns1", "application": "app1", "entity": "APPLICATION"},
        {"entityType": "APPLICATION", "entityParts": {"NAMESPACE": "ns1", "APPLICATION": "app1"}},
    ),
    (
        "program:ns1.app1.service.UploadService",
        {
            "namespace": "ns1",
            "application": "app1",
            "type": "Service",
            "program": "UploadService",
            "entity": "PROGRAM",
        },
        {
            "entityType": "PROGRAM",
            "entityParts": {"NAMESPACE": "ns1", "APPLICATION": "app1", "PROGRAM": "service.UploadService"},
        },
    ),
    (
        "program:ns1.app1.*",
        {"namespace": "ns1", "application": "app1", "program": "*", "entity": "PROGRAM"},
        {
            "entityType": "PROGRAM",
            "entityParts": {"NAMESPACE": "ns1", "APPLICATION": "app1", "PROGRAM": "*"},
        },
    ),
    (
        "artifact:ns1.tool",
        {"namespace": "ns1", "artifact": "tool", "entity": "ARTIFACT"},
        {"entityType": "ARTIFACT", "entityParts": {"NAMESPACE": "ns1", "ARTIFACT": "tool"}},
    ),
    (
        "dataset:default.dataset",
        {"namespace": "default", "dataset": "dataset", "entity": "DATASET"},
        {"entityType": "DATASET", "entityParts": {"NAMESPACE": "default", "DATASET": "dataset"}},
    ),
    (
        "dataset:ns1.a.b.*",
        {"namespace": "ns1", "dataset": "a.b.*", "entity": "DATASET"},
        {"entityType": "DATASET", "entityParts": {"NAMESPACE": "ns1", "DATASET": "a.b.*"}},
    ),
    (
        "dataset_type:ns1.co.Type",
        {"namespace": "ns1", "type": "co.Type", "entity": "DATASET_TYPE"},
        {"entityType": "DATASET_TYPE", "entityParts": {"NAMESPACE": "ns1", "DATASET_TYPE": "co.Type"}},
    ),
    (
        "dataset_module:ns1.co.Module",
        {"namespace": "ns1", "module": "co.Module", "entity": "DATASET_MODULE"},
        {"entityType": "DATASET_MODULE", "entityParts": {"NAMESPACE": "ns1", "DATASET_MODULE": "co.Module"}},
    ),
    (
        "stream:ns1.who",
        {"namespace": "ns1", "stream": "who", "entity": "STREAM"},
        {"entityType": "STREAM", "entityParts": {"NAMESPACE": "ns1", "STREAM": "who"}},
    ),
    (
        "securekey:ns1.key",
        {"namespace": "ns1", "name": "key", "entity": "SECUREKEY"},
        {"entityType": "SECUREKEY", "entityParts": {"NAMESPACE": "ns1", "SECUREKEY": "key"}},
    ),
    (
        "kerberosprincipal:alice/host@EXAMPLE.COM",
        {"principal": "alice/host@EXAMPLE.COM", "entity": "KERBEROSPRINCIPAL"},
        {
            "entityType": "KERBEROSPRINCIPAL",
            "entityParts": {"KERBEROSPRINCIPAL": "alice/host@EXAMPLE.COM"},
        },
    ),
    (
        "instance:cdap",
        {"instance": "cdap", "entity": "INSTANCE"},
        {"entityType": "INSTANCE", "entityParts": {"INSTANCE": "cdap"}},
    ),
]


@pytest.mark.parametrize(("text", "old", "new"), FORMS, ids=[text for text, *_ in FORMS])
def test_an_entity_is_the_same_in_all_forms(text: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    target = parse(text)
    assert read_entity(old) == read_authorizable(new) == target
    assert (write_entity(target), write_authorizable(target)) == (old, new)


@pytest.mark.parametrize("type", ["SERVICE", "service", "Service"])
def test_program_types_may_be_in_any_case(type: str) -> None:
    sent = {"namespace": "n", "application": "a", "type": type, "program": "P", "entity": "PROGRAM"}
    assert str(read_entity(sent)) == "program:n.a.service.P"


def test_versions_do_not_count() -> None:
    for type, field in (("ARTIFACT", "artifact"), ("APPLICATION", "application")):
        sent = {"namespace": "ns1", field: "tool", "version": "1.0.0", "entity": type}
        assert str(read_entity(sent)) == f"{field}:ns1.tool"


NO_ENTITY: list[tuple[object, str]] = [
    ([], "JSON object"),
    ("dataset:ns.a", "JSON object"),
    ({"namespace": "ns1"}, "Expected entity in EntityId JSON"),
    ({"namespace": "ns1", "entity": "VIEW"}, "Entity type VIEW does not support authorization."),
    ({"namespace": "ns1", "entity": 7}, "does not support authorization."),
    ({"entity": "NAMESPACE"}, "must be a text"),
    ({"namespace": "", "entity": "NAMESPACE"}, "must be a text"),
    ({"namespace": 1, "entity": "NAMESPACE"}, "must be a text"),
    ({"namespace": ["ns1"], "entity": "NAMESPACE"}, "must be a text"),
    ({"namespace": "a.b", "entity": "NAMESPACE"}, "more parts"),
    ({"namespace": "a.b", "dataset": "c", "entity": "DATASET"}, "another name"),
    ({"namespace": "a", "application": "b", "program": "c", "entity": "PROGRAM"}, "must be a text"),
]


@pytest.mark.parametrize(("sent", "told"), NO_ENTITY, ids=lambda value: repr(value))
def test_what_is_no_entity_is_told(sent: object, told: str) -> None:
    with pytest.raises(BadEntity, match=told):
        read_entity(sent)


NO_AUTHORIZABLE: list[tuple[object, str]] = [
    (None, "JSON object"),
    ({}, "does not support authorization."),
    ({"entityType": "DATASET"}, "needs its entityParts"),
    ({"entityType": "DATASET", "entityParts": ["a", "b"]}, "needs its entityParts"),
    ({"entityType": "DATASET", "entityParts": {"NAMESPACE": "a"}}, "NAMESPACE, DATASET"),
    (
        {"entityType": "DATASET", "entityParts": {"NAMESPACE": "a", "DATASET": "b", "STREAM": "c"}},
        "NAMESPACE, DATASET",
    ),
    (
        {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "a", "namespace": "b"}},
        "are NAMESPACE",
    ),
    ({"entityType": "DATASET", "entityParts": {"NAMESPACE": "a.b", "DATASET": "c"}}, "another name"),
    ({"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": None}}, "must be a text"),
    (
        {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "a"}, "childType": "DATASET"},
        "children of an entity",
    ),
    (
        {
            "entityType": "PROGRAM",
            "entityParts": {"NAMESPACE": "a", "APPLICATION": "b", "PROGRAM": "UploadService"},
        },
        "can only contain",
    ),
]


@pytest.mark.parametrize(("sent", "told"), NO_AUTHORIZABLE, ids=lambda value: repr(value))
def test_what_is_no_authorizable_is_told(sent: object, told: str) -> None:
    with pytest.raises(BadEntity, match=told):
        read_authorizable(sent)
