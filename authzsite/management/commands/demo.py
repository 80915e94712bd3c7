"""`manage.py demo`"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from django.conf import settings
from django.utils import timezone

from authzsite.demo import happened, lake, passwords, shop, six_months, world
from authzsite.demo.six_months import SixMonths
from authzsite.management.base import OperatorCommand
from catalog.nodes import node
from catalog.queries import realm_named, root
from policies.analytics.pipelines import control, running
from policies.models import Change
from policies.sync import worker
from policies.sync.connections.sources import opened
from policies.sync.discovery.objects import discover


class Command(OperatorCommand):
    help = (
        "Prepare the demo: the shop's database, connected as catalog shop of metalake demo, with six months "
        "of history where there is none. Safe to repeat."
    )

    def run(self, **_: Any) -> None:
        ensured, now = shop.ensure(), timezone.now()
        is_new = realm_named(world.REALM) is None and not Change.objects.exists()
        with six_months.beginning(now) if is_new else nullcontext():
            world.accounts({item.user: item.password for item in passwords.load(settings.VAR).console})
            place = world.realm()
            row = world.connection(place, ensured.url_for())
            catalog = node(row.catalog_id)
            if catalog is None:
                self.fail("catalog shop could not be created")
            with opened(row, catalog) as source:
                seen = source.observe()
            result = discover(catalog, seen, by=self.by, authority=self.authority)
            world.access(place)
            lake.ensure(place, settings.VAR, ensured.superuser_url)
        if is_new:
            SixMonths(place, row, ensured.superuser_url, now).live(happened.STEPS)
        world.questions(place)
        world.report_uses(place)
        report = worker.now(row)
        if is_new:
            self._find_hints()
        self.stdout.write(
            f"demo: {result.added} objects read from the shop, {report.applied} steps applied, "
            f"{report.foreign} grants made outside Lakewarden left as they are"
        )

    def _find_hints(self) -> None:
        """What the pipelines of a night would have found by now: figures and hints of each realm."""
        for realm in control.open_realms():
            for name in ("effective_access", "unused_grants"):
                running.run(control.ask(name, root(realm), by=self.by))
