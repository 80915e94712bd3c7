"""Definitions, formats and storage policies: by Herd's own client, and who may do what on which namespace."""

from __future__ import annotations

from typing import Any

import herdsdk
import pytest
from herdsdk.rest import ApiException

from policies.models import AccessRecord, Change
from tests.herd.test_sdk import Connect, connect, create, make
from tests.herd.world import REST, Caller, a_herd, give, namespaces, role

__all__ = ["connect"]
pytestmark = pytest.mark.django_db
OVER_HTTP = pytest.mark.django_db(transaction=True)
DEFINITIONS, FORMATS = f"{REST}/businessObjectDefinitions", f"{REST}/businessObjectFormats"
POLICIES = f"{REST}/storagePolicies"
ONE = f"{DEFINITIONS}/namespaces/MARKET/businessObjectDefinitionNames/CLOSES"
FORMAT = (
    f"{FORMATS}/namespaces/MARKET/businessObjectDefinitionNames/CLOSES/businessObjectFormatUsages/PRC"
    "/businessObjectFormatFileTypes/ORC"
)
POLICY = f"{POLICIES}/namespaces/MARKET/storagePolicyNames/old"
OF_CLOSES = {"namespace": "MARKET", "businessObjectDefinitionName": "CLOSES"}
NEW_FORMAT = {
    **OF_CLOSES, "businessObjectFormatUsage": "PRC", "businessObjectFormatFileType": "ORC",
    "partitionKey": "DATE",
}  # fmt: skip


def policy(data: str = "MARKET", **more: object) -> dict[str, Any]:
    return {
        "storagePolicyKey": {"namespace": "MARKET", "storagePolicyName": "old"},
        "storagePolicyRule": {"ruleType": "DAYS_SINCE_BDATA_REGISTERED", "ruleValue": 90},
        "storagePolicyFilter": {"namespace": data, "storageName": "S3_MANAGED"},
        "storagePolicyTransition": {"transitionType": "GLACIER"},
        "status": "ENABLED",
        **more,
    }


# by the client


@OVER_HTTP
@pytest.mark.seed("S3-029", "S3-030", "S3-031", "S3-032")
def test_a_definition_and_its_formats_by_the_client(connect: Connect) -> None:
    admin, bo = connect("admin"), connect("bo")
    make(admin, "MARKET")
    create(admin, "bo", "MARKET", "READ", "WRITE")
    api, formats = herdsdk.BusinessObjectDefinitionApi(bo), herdsdk.BusinessObjectFormatApi(bo)
    wanted = herdsdk.BusinessObjectDefinitionCreateRequest(
        namespace="MARKET", business_object_definition_name="CLOSES", data_provider_name="EXCHANGE",
        attributes=[herdsdk.Attribute("tier", "1")],
    )  # fmt: skip
    made = api.business_object_definition_create_business_object_definition(wanted)
    assert (made.namespace, made.data_provider_name, made.created_by_user_id) == ("MARKET", "EXCHANGE", "bo")
    assert api.business_object_definition_get_business_object_definition("market", "closes") == made
    update = herdsdk.BusinessObjectDefinitionUpdateRequest(description="Closing prices")
    changed = api.business_object_definition_update_business_object_definition("MARKET", "CLOSES", update)
    assert (changed.description, changed.data_provider_name) == ("Closing prices", "EXCHANGE")
    keys = api.business_object_definition_get_business_object_definitions().business_object_definition_keys
    assert [(key.namespace, key.business_object_definition_name) for key in keys] == [("MARKET", "CLOSES")]

    columns = [herdsdk.SchemaColumn(name="price", type="DECIMAL", size="10,2", required=True)]
    first = herdsdk.BusinessObjectFormatCreateRequest(
        namespace="MARKET", business_object_definition_name="CLOSES", business_object_format_usage="PRC",
        business_object_format_file_type="ORC", partition_key="DATE",
        schema=herdsdk.Schema(columns=columns, null_value="\\N"),
    )  # fmt: skip
    assert [
        formats.business_object_format_create_business_object_format(first).business_object_format_version
        for _ in range(2)
    ] == [0, 1]
    latest = formats.business_object_format_get_business_object_format("MARKET", "CLOSES", "PRC", "ORC")
    assert (latest.business_object_format_version, latest.latest_version) == (1, True)
    assert latest.schema.columns == columns
    text = herdsdk.BusinessObjectFormatUpdateRequest(description="as ORC", schema=latest.schema)
    response = formats.business_object_format_update_business_object_format(
        "MARKET", "CLOSES", "PRC", "ORC", 0, text
    )
    assert (response.description, response.latest_version, response.partition_key) == (
        "as ORC",
        False,
        "DATE",
    )
    with pytest.raises(ApiException) as refused:
        api.business_object_definition_delete_business_object_definition("MARKET", "CLOSES")
    assert refused.value.status == 400 and "has business object formats" in refused.value.body
    for version in (0, 1):
        gone = formats.business_object_format_delete_business_object_format(
            "MARKET", "CLOSES", "PRC", "ORC", version
        )
        assert gone.business_object_format_version == version
    api.business_object_definition_delete_business_object_definition("MARKET", "CLOSES")
    left = api.business_object_definition_get_business_object_definitions1("MARKET")
    assert left.business_object_definition_keys == []


@OVER_HTTP
@pytest.mark.seed("S3-045", "S3-046")
def test_a_storage_policy_by_the_client(connect: Connect) -> None:
    admin, bo = connect("admin"), connect("bo")
    make(admin, "MARKET")
    create(admin, "bo", "MARKET", "READ", "WRITE")
    api = herdsdk.StoragePolicyApi(bo)
    parts: dict[str, Any] = {
        "storage_policy_rule": herdsdk.StoragePolicyRule("DAYS_SINCE_BDATA_REGISTERED", 90),
        "storage_policy_filter": herdsdk.StoragePolicyFilter(namespace="MARKET", storage_name="S3_MANAGED"),
        "storage_policy_transition": herdsdk.StoragePolicyTransition("GLACIER"),
        "status": "ENABLED",
    }
    key = herdsdk.StoragePolicyKey("MARKET", "old")
    made = api.storage_policy_create_storage_policy(
        herdsdk.StoragePolicyCreateRequest(storage_policy_key=key, **parts)
    )
    assert made.storage_policy_rule.rule_value == 90
    assert api.storage_policy_get_storage_policy("MARKET", "old") == made
    [known] = api.storage_policy_get_storage_policy_keys("MARKET").storage_policy_keies
    assert known.storage_policy_name == "old"
    off = herdsdk.StoragePolicyUpdateRequest(**{**parts, "status": "DISABLED"})
    assert api.storage_policy_update_storage_policy("MARKET", "old", off).status == "DISABLED"
    api.storage_policy_delete_storage_policy("MARKET", "old")
    with pytest.raises(ApiException) as gone:
        api.storage_policy_get_storage_policy("MARKET", "old")
    assert gone.value.status == 404


# who may


@pytest.fixture
def market() -> Caller:
    """Namespaces MARKET and ETL; the keeper has all there, and made a definition, a format and a policy."""
    namespaces(a_herd(), "MARKET", "ETL")
    for code in ("MARKET", "ETL"):
        give("keeper", code, "READ", "WRITE")
    keeper = Caller("keeper")
    for path, body in (
        (DEFINITIONS, {**OF_CLOSES, "dataProviderName": "X"}),
        (FORMATS, NEW_FORMAT),
        (POLICIES, policy()),
    ):
        assert keeper.send("POST", path, body).status_code == 200
    return keeper


CALLS: list[Any] = [
    pytest.param("GET", ONE, None, "READ", marks=pytest.mark.seed("S3-031")),
    pytest.param("GET", f"{DEFINITIONS}/namespaces/MARKET", None, "READ", marks=pytest.mark.seed("S3-031")),
    pytest.param("PUT", ONE, {"description": "x"}, "WRITE", marks=pytest.mark.seed("S3-032")),
    pytest.param(
        "POST",
        DEFINITIONS,
        {"namespace": "MARKET", "businessObjectDefinitionName": "OPENS", "dataProviderName": "X"},
        "WRITE",
        marks=pytest.mark.seed("S3-032"),
    ),
    pytest.param("GET", FORMAT, None, "READ", marks=pytest.mark.seed("S3-029")),
    pytest.param("GET", FORMAT.partition("/businessObjectFormatUsages")[0], None, "READ"),
    pytest.param("POST", FORMATS, NEW_FORMAT, "WRITE", marks=pytest.mark.seed("S3-030")),
    pytest.param(
        "PUT",
        f"{FORMAT}/businessObjectFormatVersions/0",
        {"description": "x"},
        "WRITE",
        marks=pytest.mark.seed("S3-030"),
    ),
    pytest.param(
        "DELETE", f"{FORMAT}/businessObjectFormatVersions/0", None, "WRITE", marks=pytest.mark.seed("S3-030")
    ),
    pytest.param("GET", POLICY, None, "READ", marks=pytest.mark.seed("S3-045")),
    pytest.param("PUT", POLICY, policy(), "WRITE", marks=pytest.mark.seed("S3-046")),
    pytest.param("DELETE", POLICY, None, "WRITE", marks=pytest.mark.seed("S3-046")),
]


@pytest.mark.parametrize(("verb", "path", "body", "permission"), CALLS)
def test_a_call_takes_its_permission_and_no_other_helps(
    market: Caller, verb: str, path: str, body: Any, permission: str
) -> None:
    others = {"READ", "WRITE", "EXECUTE", "GRANT"} - {permission}
    give("bo", "MARKET", *others)
    give("bo", "ETL", permission)
    changes = Change.objects.count()
    refused = Caller("bo").send(verb, path, body)
    assert refused.status_code == 403
    assert f'"[{permission}]" permission(s) to the namespace "MARKET"' in refused.json()["message"]
    assert AccessRecord.objects.latest("pk").object_name == "herd/MARKET"
    assert Change.objects.count() == changes
    give("ann", "MARKET", permission)
    assert Caller("ann").send(verb, path, body).status_code == 200


@pytest.mark.seed("S3-072")
def test_a_list_holds_what_may_be_read_and_may_be_empty(market: Caller) -> None:
    def listed(who: str) -> list[str]:
        answer = Caller(who).send("GET", DEFINITIONS)
        assert answer.status_code == 200
        return [key["namespace"] for key in answer.json()["businessObjectDefinitionKeys"]]

    body = {"namespace": "ETL", "businessObjectDefinitionName": "LOADS", "dataProviderName": "X"}
    assert market.send("POST", DEFINITIONS, body).status_code == 200
    give("bo", "ETL", "READ")
    give("ann", "MARKET", "WRITE")
    assert [listed(who) for who in ("keeper", "bo", "ann", "stranger")] == [
        ["ETL", "MARKET"],
        ["ETL"],
        [],
        [],
    ]


@pytest.mark.seed("S3-045", "S3-046")
def test_a_policy_takes_rights_where_its_data_are(market: Caller) -> None:
    give("bo", "MARKET", "READ", "WRITE")
    bo = Caller("bo")
    assert bo.send("PUT", POLICY, policy("ETL")).status_code == 403, "to other data"
    assert market.send("PUT", POLICY, policy("ETL")).status_code == 200
    assert [bo.send(verb, POLICY, body).status_code for verb, body in MOVES] == [403, 403, 403], "from others"
    give("bo", "ETL", "READ")
    assert [bo.send(verb, POLICY, body).status_code for verb, body in MOVES] == [200, 403, 403]
    give("bo", "ETL", "WRITE", "READ")
    assert [bo.send(verb, POLICY, body).status_code for verb, body in MOVES] == [200, 200, 200]


MOVES = (("GET", None), ("PUT", policy()), ("DELETE", None))


@pytest.mark.seed("S3-047")
def test_a_policy_without_a_namespace_takes_the_role_besides(market: Caller) -> None:
    everywhere = policy(storagePolicyFilter={"storageName": "S3_MANAGED"})
    named = {"namespace": "MARKET", "storagePolicyName": "all"}
    assert market.send("POST", POLICIES, {**everywhere, "storagePolicyKey": named}).status_code == 403
    assert market.send("PUT", POLICY, everywhere).status_code == 403
    role("ops", "OPS")
    ops = Caller("ops")
    assert ops.send("PUT", POLICY, everywhere).status_code == 403, "the role alone"
    role("keeper", "OPS")
    assert market.send("PUT", POLICY, everywhere).status_code == 200
    role("keeper", "OPS", remove=True)
    assert [market.send(verb, POLICY, body).status_code for verb, body in MOVES] == [403] * 3


BAD: list[tuple[str, str, Any, int]] = [
    ("POST", DEFINITIONS, {**OF_CLOSES, "dataProviderName": "X"}, 409),
    ("POST", DEFINITIONS, {"namespace": "MARKET", "businessObjectDefinitionName": "A"}, 400),
    ("POST", DEFINITIONS, {"namespace": "MARKET", "dataProviderName": "X"}, 400),
    ("GET", ONE.replace("CLOSES", "NONE"), None, 404),
    ("POST", FORMATS, {**NEW_FORMAT, "businessObjectDefinitionName": "NONE"}, 404),
    ("POST", FORMATS, {**NEW_FORMAT, "businessObjectFormatUsage": "a/b"}, 400),
    ("POST", FORMATS, {**NEW_FORMAT, "partitionKey": " "}, 400),
    ("POST", FORMATS, {**NEW_FORMAT, "schema": {"columns": [{"type": "INT"}]}}, 400),
    ("POST", FORMATS, {**NEW_FORMAT, "description": "a\0b"}, 400),
    ("GET", f"{FORMAT}?businessObjectFormatVersion=9", None, 404),
    ("GET", f"{FORMAT}?businessObjectFormatVersion=x", None, 400),
    ("DELETE", f"{FORMAT}/businessObjectFormatVersions/-1", None, 400),
    ("POST", POLICIES, policy(), 409),
    ("PUT", POLICY, policy(status="ASLEEP"), 404),
    ("PUT", POLICY, policy(storagePolicyRule={"ruleType": "WHIM", "ruleValue": 1}), 404),
    ("PUT", POLICY, policy(storagePolicyRule={"ruleType": "DAYS_SINCE_BDATA_REGISTERED"}), 400),
    ("PUT", POLICY, policy(storagePolicyFilter={"namespace": "MARKET"}), 400),
    ("PUT", POLICY, {"status": "ENABLED"}, 403),
    ("GET", POLICY.replace("old", "none"), None, 404),
]


@pytest.mark.parametrize(("verb", "path", "body", "status"), BAD)
def test_what_cannot_be_is_told_and_changes_nothing(
    market: Caller, verb: str, path: str, body: Any, status: int
) -> None:
    changes = Change.objects.count()
    answer = market.send(verb, path, body)
    assert (answer.status_code, answer.json()["statusCode"]) == (status, status), answer.content
    assert Change.objects.count() == changes


def test_a_format_with_data_stays(market: Caller) -> None:
    data = {**NEW_FORMAT, "businessObjectFormatVersion": 0, "partitionValue": "2026-11-23"}
    assert market.send("POST", f"{REST}/businessObjectData", data).status_code == 200
    refused = market.send("DELETE", f"{FORMAT}/businessObjectFormatVersions/0")
    assert refused.status_code == 400 and "has business object data" in refused.json()["message"]


@pytest.mark.parametrize("text", ["half \ud800", "nul\0"])
def test_what_no_database_can_hold_is_refused_wherever_it_stands(market: Caller, text: str) -> None:
    column = {"columns": [{"name": "price", "type": text}]}
    fields = [{"documentSchema": text}, {"attributes": [{"name": "tier", "value": text}]}, {"schema": column}]
    for more in fields:
        assert market.send("POST", FORMATS, {**NEW_FORMAT, **more}).status_code == 400
    described = {"dataProviderName": "X", "description": text}
    for name in ("OPENS", "CLOSES"):
        body = {**OF_CLOSES, "businessObjectDefinitionName": name, **described}
        assert market.send("POST", DEFINITIONS, body).status_code == 400
    data = {"namespace": "MARKET", "storageName": text}
    assert market.send("PUT", POLICY, policy(storagePolicyFilter=data)).status_code == 400
    job = {"namespace": "MARKET", "jobName": "load", "activitiJobXml": "<x/>"}
    parameter = {"parameters": [{"name": "day", "value": text}]}
    for more in ({"description": text}, parameter):
        assert market.send("POST", f"{REST}/jobDefinitions", {**job, **more}).status_code == 400
