"""Consoles that lead back to themselves, or to each other, are refused in words."""

from __future__ import annotations

import pytest
from django.utils import timezone

from lakewarden.backends.errors import Misconfigured
from policies.models import Backend
from policies.services import roles
from policies.sync import worker
from policies.sync.backends.shared import peering
from policies.sync.connections import peers, registration
from policies.sync.connections.opening import open_backend
from policies.sync.connections.trial import tried
from tests.factories import AUTHORITY, BY, a_metalake, admit, the
from tests.peers.worlds import Lake


@pytest.fixture
def lake(peer) -> Lake:
    return Lake(peer, realm="demo")


def connected(lake: Lake) -> Backend:
    root = a_metalake()
    return registration.connect(root, "", "gravitino", lake.url, policy="repair", by=BY, authority=AUTHORITY)


@pytest.mark.django_db(transaction=True)
def test_a_realm_is_not_connected_to_itself(live_server) -> None:
    a_metalake()
    url = f"gravitino+{live_server.url.replace('http://', 'http://somebody:x@')}/demo"
    trial = tried("gravitino", url, realm="demo")
    assert not trial.reached
    assert "connected to itself" in trial.findings[0].text
    # another realm of the same site is none of its business
    assert not any("itself" in finding.text for finding in tried("gravitino", url, realm="other").findings)


@pytest.mark.django_db
def test_two_consoles_do_not_carry_into_each_other(lake: Lake) -> None:
    row = connected(lake)
    worker.now(row)
    lake.peer.run(
        "INSERT INTO policies_peer (mark, site, source, target, asked) VALUES"
        f" ('back', '{peers.own_site()}', 'gravitino:{lake.name}', 'gravitino:demo', now())"
    )
    try:
        trial = tried("gravitino", lake.url, realm="demo")
        assert not trial.reached
        assert "carries its decisions into this realm already" in trial.findings[0].text
        assert tried("gravitino", lake.url, realm="other").reached
        # who was first notices too, on the next day
        from policies.models import Peer

        Peer.objects.update(asked=timezone.now() - peers.ASKED_AGAIN)
        with pytest.raises(Misconfigured, match="carry into each other"):
            worker.now(row)
    finally:
        lake.peer.run("DELETE FROM policies_peer")


@pytest.mark.django_db
def test_a_site_tells_each_pair_only_to_who_knows_both(lake: Lake) -> None:
    worker.now(connected(lake))
    pairs = peers.description()
    assert pairs[peering.SITE] == peers.own_site()
    [pair] = pairs[peering.INTO]
    there = lake.peer.send("GET", "/configs").body[peering.SITE]
    assert there != peers.own_site()
    assert there not in pair
    assert lake.name not in pair


@pytest.mark.django_db
def test_what_another_console_carried_here_is_not_carried_on(lake: Lake) -> None:
    row = connected(lake)
    admit(the("metalake"), "ana")
    from accounts import people

    for name, properties in (("own", {}), ("carried", {"lakewarden": "{}"})):
        role = roles.create(the("metalake"), name, properties=properties, by=BY, authority=AUTHORITY)
        roles.assign(role, people.ensure("user", "ana"), by=BY, authority=AUTHORITY)
    worker.now(row)
    backend = open_backend(row, the("metalake"))
    assert len(backend.observe().roles) == 1
    backend.close()
