"""Users, groups, roles, permissions and owners, as the real client says them."""

from __future__ import annotations

import pytest
from gravitino.api.authorization.securable_objects import SecurableObjects
from gravitino.exceptions import base as errors

from tests.api_gravitino.world import ADMIN, Lake, Site, may, service_admin


def test_one(site: Site, lake: Lake) -> None:
    admin = service_admin(site)
    assert lake.name in [one.name() for one in admin.list_metalakes()]
    ana = lake.join("ana")
    assert lake.owner.list_user_names() == ["ana", ADMIN]
    assert ana.list_user_names() == ["ana"]
    role = lake.owner.create_role(
        "reader", {"k": "v"}, [SecurableObjects.of_metalake(lake.name, [may("USE_CATALOG")])]
    )
    assert role.name() == "reader"
    user = lake.owner.grant_roles_to_user(["reader"], "ana")
    assert user.roles() == ["reader"]
    with pytest.raises(errors.ForbiddenException):
        ana.add_user("bob")
