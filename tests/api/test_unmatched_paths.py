"""A path that no call matches, as one with an end of line in a name, is answered in its surface's form."""

from __future__ import annotations

import pytest
from django.test import Client

UNMATCHED = {
    "/authz/v1/requests%0A": "application/problem+json",
    "/access/v1/requests/a%0Ab/x": "application/json",
    "/scim/v2/Users/a%0Ab": "application/scim+json",
    "/api/metalakes/a%0Ab": "application/json",
    "/herd-app/rest/businessObjectData/namespaces/a%0Ab": "application/json",
    "/v3/namespaces/ns1/apps/a%0Ab/x/y": "text/plain; charset=utf-8",
    "/v1/data/trino/allow%0A": "application/json",
    "/objects/a%0Ab": "text/html; charset=utf-8",
}


@pytest.mark.parametrize(("path", "form"), UNMATCHED.items())
@pytest.mark.django_db
def test_what_no_call_matches_is_answered_in_the_form_of_its_surface(path: str, form: str) -> None:
    answer = Client().get(path)
    assert answer.status_code in (401, 404)
    assert answer["Content-Type"] == form
