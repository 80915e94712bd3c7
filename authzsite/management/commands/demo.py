"""`manage.py demo`"""

from __future__ import annotations

from typing import Any

from django.conf import settings

from authzsite.demo import lake, passwords, shop, world
from authzsite.management.base import OperatorCommand
from catalog.nodes import node
from policies.sync.connections.sources import opened
from policies.sync.discovery.objects import discover
from policies.sync.reconcile import reconcile


class Command(OperatorCommand):
    help = "Prepare the demo: the shop's database, connected as catalog shop of metalake demo.  Idempotent."

    def run(self, **_: Any) -> None:
        there = shop.ensure()
        world.accounts({item.user: item.password for item in passwords.load(settings.VAR).console})
        place = world.realm()
        row = world.connection(place, there.url_for())
        catalog = node(row.catalog_id)
        if catalog is None:
            self.fail("catalog shop could not be made")
        with opened(row, catalog) as source:
            seen = source.observe()
        found = discover(catalog, seen, by=self.by, authority=self.authority)
        world.access(place)
        lake.ensure(place, settings.VAR, there.superuser_url)
        world.questions(place)
        world.report_uses(place)
        report = reconcile(row)
        self.stdout.write(
            f"demo: {found.added} objects read from the shop, {report.applied} steps applied, "
            f"{report.foreign} grants made by others left as they are"
        )
