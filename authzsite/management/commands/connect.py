"""`manage.py connect`"""

from __future__ import annotations

from typing import Any

from authzsite.management.base import OperatorCommand, realm_root
from catalog.queries import find
from lakewarden.backends import kinds
from lakewarden.law.objects import BadName, ObjectRef
from policies.models import Backend
from policies.sync.connections import by_hand, registration
from policies.sync.connections.opening import check_allowed, filled_in
from policies.sync.connections.trial import tried


class Command(OperatorCommand):
    help = "Connect a catalog to the system behind it. A missing catalog is created."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "place", metavar="REALM[/CATALOG]", help="a realm without a catalog: the whole realm"
        )
        parser.add_argument("kind", metavar="KIND", help=f"one of {', '.join(kinds.codes())}")
        parser.add_argument("--url", required=True, help="$NAME in it is replaced by the variable")
        parser.add_argument("--mode", choices=Backend.Policy.values, default=Backend.Policy.REPAIR)
        parser.add_argument(
            "--share",
            metavar="REASON",
            default="",
            help="allow a source that another connection governs too, or that lies beside the console's "
            "own database; the reason is recorded",
        )

        parser.add_argument(
            "--keep-places",
            action="store_true",
            help="let filesets and tables of a tree of files lie where those said who registered them; "
            "each is told",
        )
        parser.add_argument(
            "--registered",
            choices=by_hand.CHOICES,
            default="",
            help="what becomes of objects that someone registered by hand before: they keep their owners and "
            "grants, or go to the owner of the catalog; each is told",
        )

    def run(
        self,
        *,
        place: str,
        kind: str,
        url: str,
        mode: str,
        share: str,
        keep_places: bool,
        registered: str,
        **_: Any,
    ) -> None:
        kind_ = kinds.get(kind)
        realm, slash, catalog = place.partition("/")
        is_catalog, whole = bool(realm and slash and catalog), bool(realm and not slash)
        if not (whole if kind_.whole_realm else is_catalog):
            raise BadName(f"`{place}` is not a {'REALM' if kind_.whole_realm else 'REALM/CATALOG'}")
        real_url = filled_in(url)
        check_allowed(kind_, real_url)
        root = realm_root(realm)
        trial = tried(kind, real_url, realm=realm, beside_us=bool(share))
        if not trial.reached:
            problems = "; ".join(finding.text for finding in trial.findings)
            self.fail(f"not connected: {problems}", code=1)
        for finding in trial.findings:
            self.stdout.write(f"{'ok' if finding.ok else 'check'}: {finding.text}")
        here = find(ObjectRef("catalog", root.name, (catalog,))) if catalog else root
        for name, location in registration.placed(here, kind_, real_url) if here and keep_places else ():
            self.stdout.write(f"check: {name} lies in {location}, as was said when it was registered")
        for item in by_hand.registered(here, kind_) if here else ():
            self.stdout.write(f"check: registered by hand: {item.text}")
        row = registration.connect(
            root,
            catalog,
            kind,
            real_url,
            policy=mode,
            by=self.by,
            authority=self.authority,
            source=trial.source,
            shared=bool(share),
            keeps_places=keep_places,
            registered=by_hand.Decision(registered),
            reason=share,
        )
        self.stdout.write(f"connected {place} to {row} in {mode} mode")
