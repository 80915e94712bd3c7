"""Herd's own client for Python, unchanged, against a running server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import herdsdk
import pytest
from herdsdk.rest import ApiException

from accounts import people, tokens
from tests.herd.world import a_herd, role

pytestmark = pytest.mark.django_db(transaction=True)
Connect = Callable[[str], Any]


@pytest.fixture
def connect(live_server: Any) -> Iterator[Connect]:
    a_herd()
    clients = []

    def as_user(name: str) -> Any:
        configuration = herdsdk.Configuration()
        configuration.host = f"{live_server.url}/herd-app/rest"
        configuration.access_token = tokens.create(people.ensure("user", name)) if name else ""
        clients.append(herdsdk.ApiClient(configuration))
        return clients[-1]

    yield as_user
    for client in clients:
        _hang_up(client)


def _hang_up(client: Any) -> None:
    pools = client.rest_client.pool_manager.pools
    for key in tuple(pools.keys()):
        pools[key].close()


def create(client: Any, user: str, namespace: str, *permissions: str) -> Any:
    key = herdsdk.UserNamespaceAuthorizationKey(user_id=user, namespace=namespace)
    request = herdsdk.UserNamespaceAuthorizationCreateRequest(
        user_namespace_authorization_key=key, namespace_permissions=list(permissions)
    )
    return entries(client).user_namespace_authorization_create_user_namespace_authorization(request)


def entries(client: Any) -> Any:
    return herdsdk.UserNamespaceAuthorizationApi(client)


def test_the_seven_calls(connect: Connect) -> None:
    admin = connect("admin")
    make(admin, "My NS")
    made = create(admin, "*@corp.com", "my ns", "WRITE", "READ")
    assert made.user_namespace_authorization_key.user_id == "*@corp.com"
    assert made.user_namespace_authorization_key.namespace == "My NS"
    assert made.namespace_permissions == ["READ", "WRITE"]
    api = entries(admin)
    response = api.user_namespace_authorization_get_user_namespace_authorization("*@corp.com", "My NS")
    assert response == made
    request = herdsdk.UserNamespaceAuthorizationUpdateRequest(namespace_permissions=["EXECUTE"])
    changed = api.user_namespace_authorization_update_user_namespace_authorization(
        "*@CORP.com", "my ns", request
    )
    assert (changed.id, changed.namespace_permissions) == (made.id, ["EXECUTE"])
    by_user = api.user_namespace_authorization_get_user_namespace_authorizations_by_user_id("*@corp.com")
    by_namespace = api.user_namespace_authorization_get_user_namespace_authorizations_by_namespace("My NS")
    assert by_user.user_namespace_authorizations == by_namespace.user_namespace_authorizations == [changed]
    gone = api.user_namespace_authorization_delete_user_namespace_authorization("*@corp.com", "My NS")
    assert gone == changed
    create(admin, "ana", "My NS", "READ")
    gone = api.user_namespace_authorization_delete_user_namespace_authorizations_by_user_id("ANA")
    assert [authorization.namespace_permissions for authorization in gone.user_namespace_authorizations] == [
        ["READ"]
    ]


def make(client: Any, code: str, charge_code: str | None = None) -> Any:
    request = herdsdk.NamespaceCreateRequest(namespace_code=code, charge_code=charge_code)
    return herdsdk.NamespaceApi(client).namespace_create_namespace(request)


def test_the_six_calls_on_namespaces(connect: Connect) -> None:
    admin = connect("admin")
    api = herdsdk.NamespaceApi(admin)
    made = make(admin, "My_App", "c1")
    assert (made.namespace_code, made.charge_code, made.s3_key_prefix) == ("My_App", "c1", "my-app")
    assert api.namespace_get_namespace("MY_APP") == made
    assert [key.namespace_code for key in api.namespace_get_namespaces().namespace_keys] == ["My_App"]
    changed = api.namespace_update_namespaces("my_app", herdsdk.NamespaceUpdateRequest(charge_code="c2"))
    assert changed.charge_code == "c2"
    key = herdsdk.NamespaceSearchKey(charge_code="c2")
    search = herdsdk.NamespaceSearchRequest([herdsdk.NamespaceSearchFilter([key])])
    response = api.namespace_search_namespaces(search, fields="chargeCode,s3KeyPrefix")
    assert response.namespaces == [changed]
    assert api.namespace_delete_namespace("MY_APP") == changed
    assert api.namespace_get_namespaces().namespace_keys == []


def test_people_see_themselves(connect: Connect) -> None:
    admin = connect("admin")
    make(admin, "SALES")
    create(admin, "*@corp", "SALES", "READ")
    create(admin, "ana@corp", "SALES", "EXECUTE")
    role("ana@corp")
    me = herdsdk.CurrentUserApi(connect("ana@corp")).current_user_get_current_user()
    assert (me.user_id, me.security_roles) == ("ana@corp", ["DATA_OWNER"])
    assert [authorization.namespace_permissions for authorization in me.namespace_authorizations] == [
        ["EXECUTE"],
        ["READ"],
    ]


def test_refusals_reach_the_client(connect: Connect) -> None:
    make(connect("admin"), "SALES")
    role("ana")
    with pytest.raises(ApiException) as refused:
        create(connect("ana"), "bo", "SALES", "READ")
    assert refused.value.status == 403
    error = herdsdk.ApiClient().deserialize(_Body(refused.value.body), "ErrorInformation")
    assert error.message == 'User "ana" does not have "[GRANT]" permission(s) to the namespace "SALES"'
    with pytest.raises(ApiException) as unknown:
        herdsdk.CurrentUserApi(connect("")).current_user_get_current_user()
    assert unknown.value.status == 401


class _Body:
    """What the client's reader takes for a response."""

    def __init__(self, data: str) -> None:
        self.data = data


@pytest.mark.seed("S3-078", "S3-093")
def test_a_status_change_starts_a_job(connect: Connect) -> None:
    """A registration, data, their status and the job that starts, all by the client."""
    admin, bo = connect("admin"), connect("bo")
    make(admin, "ETL")
    create(admin, "bo", "ETL", "READ", "WRITE", "EXECUTE")
    job = herdsdk.JobDefinitionCreateRequest(namespace="ETL", job_name="load", activiti_job_xml="<x/>")
    herdsdk.JobDefinitionApi(bo).job_definition_create_job_definition(job)
    listened = herdsdk.BusinessObjectDataNotificationFilter(
        namespace="ETL",
        business_object_definition_name="CLOSES",
        new_business_object_data_status="INVALID",
    )
    request = herdsdk.BusinessObjectDataNotificationRegistrationCreateRequest(
        business_object_data_notification_registration_key=herdsdk.NotificationRegistrationKey("ETL", "n"),
        business_object_data_event_type="BUS_OBJCT_DATA_STTS_CHG",
        business_object_data_notification_filter=listened,
        job_actions=[herdsdk.JobAction(namespace="ETL", job_name="load")],
    )
    notes = herdsdk.BusinessObjectDataNotificationRegistrationApi(bo)
    prefix = "business_object_data_notification_registration"
    made = getattr(notes, f"{prefix}_create_{prefix}")(request)
    assert made.notification_registration_status == "ENABLED"
    assert getattr(notes, f"{prefix}_get_{prefix}")("ETL", "n") == made
    data = herdsdk.BusinessObjectDataCreateRequest(
        namespace="ETL",
        business_object_definition_name="CLOSES",
        business_object_format_usage="PRC",
        business_object_format_file_type="ORC",
        business_object_format_version=0,
        partition_key="DATE",
        partition_value="2026-11-23",
    )
    known = herdsdk.BusinessObjectDataApi(bo).business_object_data_create_business_object_data(data)
    assert (known.version, known.status) == (0, "VALID")
    changed = herdsdk.BusinessObjectDataStatusApi(
        bo
    ).business_object_data_status_update_business_object_data_status(
        "ETL",
        "CLOSES",
        "PRC",
        "ORC",
        0,
        "2026-11-23",
        0,
        herdsdk.BusinessObjectDataStatusUpdateRequest(status="INVALID"),
    )
    assert (changed.previous_status, changed.status) == ("VALID", "INVALID")
    [started] = herdsdk.JobApi(bo).job_get_jobs().job_summaries
    assert (started.job_name, started.status) == ("load", "RUNNING")
    assert herdsdk.JobApi(bo).job_get_job(started.id).namespace == "ETL"
