"""`manage.py createrealm`"""

from __future__ import annotations

import getpass
from typing import Any

from accounts import people
from authzsite.management.base import OperatorCommand
from catalog.models import Mode, Realm
from lakewarden.law.objects import BadName
from policies.errors import Invalid
from policies.services import realms
from policies.services.object_names import checked
from policies.simulation.generations import GENERATIONS

OF_CDAP = ("policy", "authentication", "master_user", "admin_group", "grants")


class Command(OperatorCommand):
    help = "Create a realm: a metalake, a Herd or a CDAP instance."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("kind", choices=Realm.Kind.values)
        parser.add_argument("name")
        parser.add_argument("--owner", help="user name of its owner; default: the user of this shell")
        parser.add_argument("--authorization", choices=Mode.Choice.values, default=Mode.Choice.ON)
        parser.add_argument("--comment", default="")
        parser.add_argument(
            "--switching",
            choices=("owner", "release"),
            help="for a metalake: who can switch catalogs on and off; release: all who may use them",
        )
        cdap = parser.add_argument_group("for a CDAP instance")
        cdap.add_argument(
            "--policy", choices=GENERATIONS, help=f"its generation of rules; default: {GENERATIONS[-1]}"
        )
        cdap.add_argument("--authentication", choices=("on", "off"), help="off: its rules are not applied")
        cdap.add_argument("--master-user", metavar="USER", help="the user for programs without impersonation")
        cdap.add_argument("--admin-group", metavar="GROUP", help="its members may grant and revoke")
        cdap.add_argument(
            "--grants",
            choices=("anybody", "roles"),
            help="roles: privileges go to roles only and roles to groups only, as with Apache Sentry",
        )

    def run(
        self, *, kind: str, name: str, owner: str | None, authorization: str, comment: str, **options: Any
    ) -> None:
        try:
            checked(name)
        except Invalid as problem:
            raise BadName(f"`{name[:40]}` cannot be a realm: {problem}") from None
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
            settings=self._settings(kind, options),
            comment=comment,
        )
        self.stdout.write(f"created {kind} realm {name}, owned by {owning}")

    def _settings(self, kind: str, options: dict[str, Any]) -> dict[str, Any]:
        given = {name: options[name] for name in OF_CDAP if options.get(name) is not None}
        if kind != Realm.Kind.CDAP:
            if given:
                self.fail(f"--{min(given).replace('_', '-')} is for CDAP realms only", code=2)
            switching = options.get("switching")
            if switching and kind != Realm.Kind.GRAVITINO:
                self.fail("--switching is for metalakes only", code=2)
            return {"switching": switching} if switching else {}
        return {"policy": GENERATIONS[-1], "authentication": "on", **given}
