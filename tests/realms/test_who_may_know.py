"""What the record tells, and to whom: no name of a realm one is not in, and no event of the site."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test import Client
from django.utils import timezone

from accounts import tokens
from accounts.models import User
from accounts.people import ensure
from policies.models import AccessRecord, Notice
from policies.notices import delivery, mail
from policies.requests import submission
from policies.requests.needs import WantedAction
from policies.requests.submission import Asking
from policies.services import members
from tests.console.site_pages import ADMIN
from tests.factories import AUTHORITY, BY, a_person, acting
from tests.kept import kept
from tests.policies.test_posting import office
from tests.post_office import PostOffice
from tests.realms.world import HIDDEN, STRANGERS, several_realms, text_of

Enter = Callable[[str], Client]
__all__ = ["office"]  # a fixture

site = kept(several_realms)
ROOMS = ("objects", "roles", "realms", "sync", "people", "groups", "services")
LOGS = ("/history/looks", "/history/looks?kind=refused", "/history/looks.csv", "/history", "/history.csv")


@pytest.fixture(autouse=True)
def _an_admin(settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})


def knock(client: Client, site: dict[str, int]) -> None:
    """Ask in every room for everything of the hidden realm, by number."""
    for number in sorted({number for name, number in site.items() if name.startswith(HIDDEN)}):
        for room in ROOMS:
            client.get(f"/{room}/{number}")


@pytest.mark.parametrize("name", [*STRANGERS, "erik", "hank", "cora"])
def test_what_one_was_refused_names_nothing_hidden(site: dict[str, int], signed_in: Enter, name: str) -> None:
    client = signed_in(name)
    knock(client, site)
    assert AccessRecord.objects.filter(kind="refused", object_name__contains=HIDDEN).exists()
    for address in LOGS:
        assert HIDDEN not in text_of(client.get(address)), address


def plain(answer: Any) -> str:
    return re.sub(r"<[^>]+>|\s+", " ", text_of(answer))


def test_the_owner_sees_all_of_it(site: dict[str, int], signed_in: Enter) -> None:
    knock(signed_in("olivia"), site)
    page_text = plain(signed_in("zebra_owner").get("/history/looks?kind=refused"))
    assert "olivia" in page_text
    assert "zebra_lake/zebra_catalog.zebra_schema.zebra_table" in page_text


def test_hidden_and_absent_leave_the_same_in_ones_own_log(site: dict[str, int], signed_in: Enter) -> None:
    caller = Client(headers={"Authorization": f"Bearer {tokens.create(ensure('user', 'olivia'))}"})
    olivia = signed_in("olivia")
    before = plain(olivia.get("/history/looks"))
    for catalog in ("zebra_catalog", "nonesuch"):
        assert caller.get(f"/api/metalakes/zebra_lake/catalogs/{catalog}").status_code == 403
        assert plain(olivia.get("/history/looks")) == before


def test_asking_about_somebody_elsewhere_leaves_no_name_in_ones_own_log(
    site: dict[str, int], signed_in: Enter
) -> None:
    caller = Client(headers={"Authorization": f"Bearer {tokens.create(ensure('user', 'olivia'))}"})
    olivia = signed_in("olivia")
    for who in ("user:zebra_owner", "group:zebra_team", "service:zebra_service"):
        caller.get(f"/authz/v1/access?realm=demo&principal={who}")
        olivia.get(f"/why?who={who}&what=shop.sales.orders&type=table&action=read")
    assert HIDDEN not in text_of(olivia.get("/history/looks"))
    assert "zelda" not in text_of(olivia.get("/history/looks"))


def test_events_of_the_site_are_for_its_admins(site: dict[str, int], signed_in: Enter) -> None:
    secret = ensure("group", "falcon_merger")
    members.join_group(secret, a_person("erik"), by=BY, authority=AUTHORITY)
    for name, sees in ((ADMIN, True), ("dora", False), ("zebra_owner", False)):
        page = text_of(signed_in(name).get("/history"))
        assert ("falcon_merger" in page) is sees, name
    assert "falcon_merger" in text_of(signed_in("erik").get("/history")), "it concerns erik"


def test_no_mail_and_no_notice_names_it_to_others(
    site: dict[str, int], office: PostOffice, caplog: pytest.LogCaptureFixture
) -> None:
    User.objects.update(email=Concat(F("username"), Value("@lake.example")))
    wanted = WantedAction("table", "zebra_lake/zebra_catalog.zebra_schema.zebra_table", "grant")
    with caplog.at_level(logging.DEBUG, "policies"), caplog.at_level(logging.DEBUG, "authzsite"):
        clerk = ensure("user", "zebra_clerk")
        asked = Asking((wanted,), clerk, reason="A reason that is long", lasts="P30D")
        submission.ask(asked, by=acting("zebra_clerk"))
        delivery.post()
        mail.gather(timezone.now() + timedelta(days=1))
        delivery.post(timezone.now() + timedelta(days=1))
    theirs = [item for item in office.taken if not item["To"].startswith(HIDDEN)]
    assert len(theirs) < len(office.taken), "the owner of it is told"
    assert [item["To"] for item in theirs if HIDDEN in item.as_string().lower()] == []
    others = Notice.objects.exclude(recipient__name__startswith=HIDDEN)
    assert [str(item) for item in others if HIDDEN in item.sentence.lower()] == []
    assert HIDDEN not in caplog.text.lower()


def test_an_auditor_still_reads_what_was_asked_for_in_vain_in_their_realm(
    site: dict[str, int], signed_in: Enter
) -> None:
    caller = Client(headers={"Authorization": f"Bearer {tokens.create(ensure('user', 'ana'))}"})
    caller.get("/api/metalakes/demo/catalogs/no_such_catalog")
    assert "no_such_catalog" in text_of(signed_in("dora").get("/history/looks"))
    assert "no_such_catalog" not in text_of(signed_in("zebra_owner").get("/history/looks"))


def test_no_picture_names_the_group_of_a_realm_one_is_not_in(site: dict[str, int], signed_in: Enter) -> None:
    """Erik reads in demo, and is in a group of the other realm, which its pictures of ways could name."""
    members.join_group(ensure("group", "zebra_team"), ensure("user", "erik"), by=BY, authority=AUTHORITY)
    erik, olivia = ensure("user", "erik").pk, signed_in("olivia")
    asked = "/why?who=user:erik&what=shop.sales.orders&type=table&action=read"
    for address in (asked, f"/people/{erik}", f"/people/{erik}/then", f"/people/{erik}/history"):
        page = text_of(olivia.get(address))
        assert HIDDEN not in page and "zelda" not in page, address
    assert "<svg" in text_of(olivia.get(asked))
