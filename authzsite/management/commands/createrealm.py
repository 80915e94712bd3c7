"""`manage.py createrealm`"""

from __future__ import annotations

import getpass
from typing import Any

from accounts import people
from authzsite.management.base import OperatorCommand
from catalog.models import Mode
from lakewarden import dialects
from lakewarden.objects import BadName
from policies.services import realms


class Command(OperatorCommand):
    help = "Make a realm: a metalake, a Herd or a CDAP instance."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("kind", choices=dialects.CODES)
        parser.add_argument("name")
        parser.add_argument("--owner", help="user name of its owner; default: the user of this shell")
        parser.add_argument("--authorization", choices=Mode.Choice.values, default=Mode.Choice.ON)
        parser.add_argument("--comment", default="")

    def run(
        self, *, kind: str, name: str, owner: str | None, authorization: str, comment: str, **_: Any
    ) -> None:
        if "/" in name:
            raise BadName(f"`{name}` cannot be a realm: a slash ends a realm's name in REALM/full.name")
        owning = people.ensure("user", getpass.getuser() if owner is None else owner)
        realms.create(
            kind,
            name,
            owner=owning,
            by=self.by,
            authority=self.authority,
            mode=authorization,
            comment=comment,
        )
        self.stdout.write(f"made {kind} realm {name}, owned by {owning}")
