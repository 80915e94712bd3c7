"""A site like a real one: two realms of each kind, owners who must not know of each other, people who left.

Everything of the second metalake carries the word `zebra`, so that a test can look for it in every byte
that somebody gets who is not in it.
"""

from __future__ import annotations

import re
from typing import Any

from accounts.people import ensure, make_account
from policies.services import accounts, duties, grants, realms
from policies.services.grants import GrantRequest
from tests.console.site_pages import furnish
from tests.factories import (
    AUTHORITY,
    BY,
    a_metalake,
    a_person,
    a_role,
    acting,
    admit,
    an_account,
    owned,
    under,
)
from tests.herd import world as herds
from tests.policies.conftest import make_shop

HIDDEN = "zebra"
"""What stands in every name of the second metalake."""

_DRAWN = re.compile(r'name="(csrfmiddlewaretoken|nonce|seen|kept|sealed)" value="[^"]*"')
"""What is drawn by chance for each form: sixty letters have any word among them now and then."""

STRANGERS = ("olivia", "ana", "marek", "dora")
"""Signed in, at work in other realms, and nobody in the second metalake."""


def several_realms() -> dict[str, int]:
    """The furnished shop beside a second metalake, Herd and CDAP; the numbers of what is in each, by name."""
    shop = make_shop()
    numbers = furnish(shop)
    make_account("dora")
    admit(shop, "dora")
    duties.give(shop, "view_history", a_person("dora"), by=BY, authority=AUTHORITY)
    for name in ("erik", "disabled"):
        make_account(name)
        admit(shop, name)
    accounts.close(make_account("disabled"), by=BY, authority=AUTHORITY)
    hidden = _second_metalake()
    other_herd = herds.a_herd("second_herd", owner="hank")
    make_account("cora")
    other_cdap = realms.create(
        "cdap",
        "second_cdap",
        owner=ensure("user", "cora"),
        settings={"policy": "3.5"},
        by=BY,
        authority=AUTHORITY,
    )
    return {**numbers, **hidden, "second_herd": other_herd.id, "second_cdap": other_cdap.id}


def _second_metalake() -> dict[str, int]:
    """Metalake zebra_lake of Zelda's with a catalog, a schema, a table, a role, a service and a group."""
    an_account("zebra_owner", display_name="Zelda Zebra")
    root = a_metalake("zebra_lake", owner="zebra_owner")
    [catalog] = under(root, "catalog", "zebra_catalog")
    [schema] = under(catalog, "schema", "zebra_schema")
    [table] = under(schema, "table", "zebra_table")
    clerk = a_person("zebra_clerk", "zebra_team")
    make_account("zebra_clerk")
    admit(root, "zebra_clerk", "group:zebra_team")
    owned(table, "zebra_owner")
    accounts.make_service("zebra_service", ensure("user", "zebra_owner"), by=BY, authority=AUTHORITY)
    admit(root, "service:zebra_service")
    path = "zebra_catalog.zebra_schema"
    role = a_role(root, "zebra_role", f"allow SELECT_TABLE on schema {path}", held_by=("group:zebra_team",))
    grants.add(
        GrantRequest(table, (clerk,), ("MODIFY_TABLE",)), by=acting("zebra_owner"), reason="The zebra reason"
    )
    return {
        "zebra_root": root.id,
        "zebra_catalog": catalog.id,
        "zebra_schema": schema.id,
        "zebra_table": table.id,
        "zebra_role": role.id,
        "zebra_clerk": clerk.pk,
        "zebra_owner": ensure("user", "zebra_owner").pk,
        "zebra_team": ensure("group", "zebra_team").pk,
        "zebra_service": ensure("service", "zebra_service").pk,
    }


def text_of(answer: Any) -> str:
    """All that an answer holds and says something, in small letters."""
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return _DRAWN.sub("", content.decode(errors="replace")).lower()
