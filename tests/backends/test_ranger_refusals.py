"""What Ranger refuses, what that means, and what is in force there."""

from __future__ import annotations

import re

import pytest

from lakewarden.backends import kinds
from lakewarden.backends.base import Desired
from lakewarden.backends.errors import Gone, Misconfigured, Rejected, Transient
from lakewarden.backends.testing.contract import assert_settled
from lakewarden.backends.testing.kit import look, opened, plan_of, settle, wanted
from policies.sync.backends.ranger import kind as ranger
from policies.sync.backends.ranger.client import Session
from policies.sync.backends.ranger.types import HIVE
from policies.sync.connections.destinations import network
from tests.backends.ranger_world import PUSHER, READ, SECRET, SETTLED, WRITE, errors_of, item, table
from tests.backends.tries import findings
from tests.standins.ranger.process import Plugin


@pytest.fixture
def site(ranger):
    return ranger


# what Ranger refuses, and what it means


def test_a_user_that_went_is_no_reason_to_stop(site):
    plan = plan_of(site, wanted({"r": READ}, r={"ana", "bo"}))
    site.server.by_hand("forget", name="bo")
    with opened(site) as backend:
        failed = {
            outcome.step.person: type(outcome.error) for outcome in backend.apply(plan) if outcome.error
        }
    assert failed == {"bo": Gone}
    assert site.may("ana", "SELECT", "sales", "orders")


def test_a_role_that_others_use_stays_and_is_told_with_where(settled):
    role = settled.identity.role_name("r")
    settled.policy("theirs", table("stock", "items"), item("select", roles=[role]))
    [error] = errors_of(settled, Desired({}, {}))
    assert type(error) is Rejected
    assert "theirs" in str(error)
    assert not settled.may("ana", "SELECT", "sales", "orders")


PAGES = [1, 2, 3, 7]


@pytest.mark.parametrize("page", PAGES)
def test_lists_are_read_to_their_end_however_short_the_pages(settled, page):
    for number in range(6):
        settled.policy(f"p{number}", table("stock", f"t{number}"), item("select", users=["bo"]))
    settled.server.by_hand("page", size=page)
    seen = look(settled)
    assert (len(seen.foreign), len(seen.people), seen.complete) == (6, 4, True)
    assert seen.roles == {"r": READ}


def test_a_look_while_others_change_is_not_taken_for_whole(settled, monkeypatch):
    real = Session.policies

    def disturbed(session):
        result = real(session)
        made = settled.policy("new", table("stock", "items"), item("select", users=["bo"]))
        settled.server.call("DELETE", f"/service/public/v2/api/policy/{made['id']}")
        return result

    monkeypatch.setattr(Session, "policies", disturbed)
    assert not look(settled).complete


TROUBLES = [
    # how it answers, and what that means
    ("503", Transient, "503"),
    ("502", Transient, "502"),
    ("cut before", Transient, "does not answer"),
    ("403", Misconfigured, "403"),
    ("page", Misconfigured, "no JSON"),
]


@pytest.mark.parametrize(("how", "error", "words"), TROUBLES)
def test_trouble_is_told_apart_by_what_to_do_next(settled, how, error, words):
    settled.fail(how, times=9)
    with opened(settled) as backend, pytest.raises(error) as raised:
        backend.observe()
    assert words in str(raised.value)
    settled.close()
    assert_settled(settled, SETTLED)


URLS = [
    # the URL, and what is wrong with it
    ("ranger+http://lakewarden:wrong@{place}/{service}", "401"),
    ("ranger+http://{who}@{place}/nothing", "Ranger has no service nothing"),
    ("ranger+http://{who}@{place}/tags", "is of type trino, not hive"),
    ("ranger+http://{who}@{place}/{service}?catalog=x", "must have nothing behind a ?"),
    ("ranger+http://{place}/{service}", "names no account"),
    ("ranger+http://{who}@{place}/", "must look like"),
    ("http://{who}@{place}/{service}", "must look like"),
    ("ranger+http://{who}@{place}/{service}?beside=perhaps", "beside is yes or no"),
]


@pytest.mark.parametrize(("url", "words"), URLS)
def test_an_address_that_leads_nowhere_is_told_without_the_password(site, url, words):
    site.server.by_hand("service", name="tags", type="trino")
    who, place = f"{PUSHER}:{SECRET.replace('/', '%2F').replace('@', '%40')}", f"127.0.0.1:{site.server.port}"
    url = url.format(who=who, place=place, service=site.service)
    site.backend = lambda: ranger.open(url, realm="r", mark="m", type_=HIVE, network=network())
    with pytest.raises(Misconfigured, match=re.escape(words)) as raised:
        look(site)
    assert SECRET not in str(raised.value)


def test_a_server_that_is_away_is_tried_again():
    backend = ranger.open(
        "ranger+http://u:p@127.0.0.1:1/s", realm="r", mark="m", type_=HIVE, network=network()
    )
    with pytest.raises(Transient):
        backend.observe()


def test_an_account_that_sees_a_part_blocks_the_connection(site):
    with site.blinded():
        assert [finding.text for finding in findings(site) if finding.blocks] == [
            f"{PUSHER} is no administrator of Ranger and sees only a part; nothing can be written"
        ]


# proof


def test_what_is_in_force_is_told_for_each_plugin(settled):
    assert "nothing enforces them" in next(finding.text for finding in findings(settled) if not finding.ok)
    first, second = (Plugin(settled.server, settled.service, f"h{n}@hiveServer2").load() for n in (1, 2))
    settle(settled, wanted({"r": WRITE}, r={"ana"}))
    first.load()
    version = first.version
    results = [(finding.ok, finding.text) for finding in findings(settled) if "on h" in finding.text]
    assert results == [
        (True, "hiveServer2 on h1: in force"),
        (False, f"hiveServer2 on h2: not yet in force, it has version {second.version}"),
    ]
    assert look(settled).in_force == (
        f"hiveServer2 on h1: yes, hiveServer2 on h2: not yet, version {second.version} of {version}"
    )


FORMS = [
    # what the form says, and the URL that comes of it
    ("ranger-hive", {}, "ranger+https://us%2Fer:p%40ss@ranger.example.org:6182/cl1_hive"),
    ("ranger-hive", {"tls": "no"}, "ranger+http://us%2Fer:p%40ss@ranger.example.org:6182/cl1_hive"),
    (
        "ranger-trino",
        {"catalog": "la ke", "beside": "yes"},
        "ranger+https://us%2Fer:p%40ss@ranger.example.org:6182/cl1_hive?catalog=la+ke&beside=yes",
    ),
]


@pytest.mark.parametrize(("code", "more", "url"), FORMS)
def test_a_form_becomes_a_url(code, more, url):
    asked = {"host": "ranger.example.org", "port": "6182", "user": "us/er", "password": "p@ss"}
    assert kinds.get(code).address({**asked, "service": "cl1_hive", **more}) == url
    kinds.get(code).open(url, realm="r", mark="m", network=network()).close()
