"""What the package of the SCIM community checks of a server."""

from __future__ import annotations

from typing import Any

from django.test.client import ClientHandler

from tests.scim.world import a_directory

MEANT = {"check_remove_attribute: Attribute 'active' was not removed"}
"""Everybody is active or is not; who removes the attribute gets what it is without a word."""


def application(environ: Any, start_response: Any) -> list[bytes]:
    """The site as WSGI, which keeps the test's connection."""
    response = ClientHandler()(environ)
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [response.content]


def test_the_checks_of_scim2_tester_hold(db: None, settings: Any) -> None:
    # each worker collects this file, and importing these takes longer than collecting all the others' tests
    from scim2_client.engines.wsgi import WSGISCIMClient
    from scim2_models import ScimProvider
    from scim2_tester import Status, check_server

    directory = a_directory(settings)
    client = WSGISCIMClient(
        application,
        base_url="http://testserver/scim/v2",
        headers={"Authorization": f"Bearer {directory.token}"},
        provider=ScimProvider(),
    )
    results = check_server(client)
    wrong = [item for item in results if item.status in (Status.ERROR, Status.CRITICAL)]
    assert {f"{item.title}: {item.reason}" for item in wrong} == MEANT
    assert len([item for item in results if item.status == Status.SUCCESS]) >= 60
