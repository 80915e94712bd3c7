"""A catalog is connected in the console: tried first, its secret never shown again, then read on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.db import connection
from django.test import Client

from accounts import people
from authzsite.console.settings.realm import RealmAccess
from authzsite.console.sync.connections.form import TypedConnection, prefilled
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.backends import kinds
from lakewarden.law.objects import ObjectRef
from policies.models import Backend, Change, Ownership
from policies.secrets import decrypt
from policies.services import duties
from policies.sync import worker
from policies.sync.connections import registration
from policies.sync.discovery import discoveries
from tests.console.settings.test_owners_and_members import posted
from tests.console.sync.connection_form import filled, repairing
from tests.console.test_forms import hidden
from tests.factories import AUTHORITY, BY, a_metalake, admit, the
from tests.sync.conftest import Source, discover_now, source

__all__ = ["source"]
Enter = Callable[[str], Client]


@pytest.fixture
def lake(db: None) -> Node:
    root = a_metalake()
    admit(root, "mia")
    return root


def test_a_try_says_what_it_found_and_keeps_nothing(lake: Node, source: Source, signed_in: Enter) -> None:
    marek, page = signed_in("marek"), f"/realms/{lake.id}/connect?kind=postgresql"
    answer = posted(marek, page, **filled(source), step="try")
    body = answer.content.decode()
    assert "connected to database governed as olivia" in body
    assert "olivia may not create roles" in body
    assert "secret" not in body.replace('name="sealed"', "")
    assert not Backend.objects.exists()

    sealed = hidden(answer.content, "sealed")
    posted(marek, page, **filled(source, password="", sealed=sealed), step="connect")
    row = Backend.objects.get()
    assert ":secret@" in decrypt(row.sealed_url)
    assert row.policy == "report"
    assert find(ObjectRef("catalog", "demo", ("shop",))) is not None


def test_what_somebody_else_sealed_is_no_password(lake: Node, source: Source, signed_in: Enter) -> None:
    page = f"/realms/{lake.id}/connect?kind=postgresql"
    people.make_account("eve")
    admit(lake, "eve")
    duties.give(lake, "connect_backend", people.ensure("user", "eve"), by=BY, authority=AUTHORITY)
    tried = posted(signed_in("marek"), page, **filled(source), step="try")
    stolen = filled(source, password="", sealed=hidden(tried.content, "sealed"))
    answer = posted(signed_in("eve"), page, **stolen, step="connect")
    assert "The connection failed." in answer.content.decode()
    assert not Backend.objects.exists()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"password": "wrong"}, "The connection failed."),
        ({"host": "127.0.0.1", "port": "1"}, "<span>Connection failed: "),
        ({"host": "db.example.org"}, "<span>db.example.org is not among the hosts in"),
        ({"host": "127.0.0.1,10.0.0.1"}, "LAKEWARDEN_CONNECT_ALLOW"),
        ({"its-database": "governed?passfile=/etc/passwd"}, "The connection failed."),
        ({"its-database": ""}, "Enter the database."),
        ({"its-tls": "never"}, "Choose one of these."),
        ({"kind": "oracle"}, "Which system is behind it?"),
        ({"host": ""}, "Enter the server."),
        ({"catalog": "a.b"}, "A catalog&#x27;s name has no slash and no dot."),
        ({"port": "99999"}, "A port is a number up to 65535."),
        ({"user": ""}, "Enter the account it signs in with."),
    ],
)
def test_what_does_not_work_is_said_and_nothing_is_kept(
    changed: dict[str, str], words: str, lake: Node, source: Source, signed_in: Enter
) -> None:
    before = Change.objects.count()
    page = f"/realms/{lake.id}/connect?kind=postgresql"
    answer = posted(signed_in("marek"), page, **filled(source, **changed), step="connect")
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert (Change.objects.count(), Backend.objects.count()) == (before, 0)


def test_a_connection_is_renewed_without_showing_its_secret(
    lake: Node, source: Source, signed_in: Enter
) -> None:
    marek, page = signed_in("marek"), f"/realms/{lake.id}/connect?kind=postgresql"
    posted(marek, page, **filled(source), step="connect")
    again: Any = marek.get(f"{page}&catalog=shop").content.decode()
    assert "is connected already" in again
    assert 'value="olivia"' in again
    assert "secret" not in again
    posted(marek, page, **filled(source, password="", policy="repair"), step="connect")
    row = Backend.objects.get()
    assert (row.policy, ":secret@" in decrypt(row.sealed_url)) == ("repair", True)
    answer = posted(marek, page, **filled(source, password="", user="mia"), step="connect")
    assert answer.status_code == 422  # another account does not come in by this one's password


@pytest.mark.parametrize(
    ("changed", "keeps"),
    [({}, True), ({"its-groups": ""}, True), ({"host": "elsewhere.example.org"}, False)],
    ids=["as it was", "what the form asks is changed", "another server"],
)
def test_what_only_a_command_says_of_a_server_outlives_a_renewal(
    changed: dict[str, str], keeps: bool, lake: Node
) -> None:
    only = "ca=%2Fetc%2Fown.pem&oauth=https%3A%2F%2Fidp.example.org%2Ftoken&scope=lake&user=admin"
    url = f"gravitino+https://client:secret@lake.example.org:8090/prod?groups=native&{only}"
    registration.connect(lake, "", "gravitino", url, policy="report", by=BY, authority=AUTHORITY)
    ward = RealmAccess(people.ensure("user", "marek"), lake)
    first = prefilled({"kind": "gravitino"}, ward)
    assert first["user"] == "client"
    wanted = TypedConnection(ward, {**first, **changed, "password": "newer"})
    there = urlsplit(wanted.url(kinds.get("gravitino")))
    assert there.password == "newer"
    assert (dict(parse_qsl(there.query)).items() >= dict(parse_qsl(only)).items()) is keeps
    assert ("groups=native" in there.query) is ("its-groups" not in changed)


def test_a_connected_source_is_read_with_what_it_brought(
    lake: Node, source: Source, signed_in: Enter
) -> None:
    marek = signed_in("marek")
    posted(
        marek,
        f"/realms/{lake.id}/connect?kind=postgresql",
        **repairing(source, policy="report"),
        step="connect",
    )
    page = f"/sync/{Backend.objects.get().pk}/discover"
    assert "Not read yet" in marek.get(page).content.decode()
    assert marek.post(page).status_code == 302
    assert "Waiting for a worker" in marek.get(f"{page}/progress").content.decode()
    discoveries.run_waiting()
    content = marek.get(page).content.decode()
    assert "new, 0 renamed" in content
    assert the("table", "shop.sales.orders")
    assert "Schemas, tables and views, read from PostgreSQL" in content
    assert "Stop reading it each night" in content
    marek.post(page, {"nightly": "no"})
    assert not Backend.objects.get().read_nightly
    assert signed_in("zoe").get(page).status_code == 404


def test_whose_things_are_there_is_taken_over_on_a_page_that_says_what_it_does(
    lake: Node, source: Source, signed_in: Enter
) -> None:
    for what in ("SCHEMA stock", "TABLE stock.items"):
        source.run(f"ALTER {what} OWNER TO mia")
    url = source.url()
    row = registration.connect(lake, "shop", "postgresql", url, policy="report", by=BY, authority=AUTHORITY)
    discover_now(row)
    worker.look(row)
    marek, room = signed_in("marek"), f"/sync/{row.pk}/discover"
    page = f"{room}/owner?name=mia"
    content = marek.get(room).content.decode()
    assert f'href="{page}"' in content
    assert "No member here has that name" in content  # postgres
    assert "shop.stock</" in marek.get(page).content.decode()
    assert marek.get(f"{room}/owner?name=postgres").status_code == 404
    assert marek.get(f"{room}/owner?name=a%00b").status_code == 404
    people.make_account("eve")
    admit(lake, "eve")
    assert signed_in("eve").post(page, {}).status_code == 404
    assert not Ownership.objects.open().filter(owner__name="mia").exists()
    marek.post(page, {"reason": "theirs since the move"})
    [held] = Ownership.objects.open().filter(owner__name="mia")
    assert held.securable_id == the("schema", "shop.stock").id
    assert "owns the same here" in marek.get(room).content.decode()


def test_only_owners_and_who_has_the_duty_connect(lake: Node, source: Source, signed_in: Enter) -> None:
    page = f"/realms/{lake.id}/connect?kind=postgresql"
    mia = signed_in("mia")
    assert mia.post(page, filled(source)).status_code == 403
    assert "why-not-connect" in mia.get(f"/realms/{lake.id}").content.decode()
    duties.give(lake, "connect_backend", people.ensure("user", "mia"), by=BY, authority=AUTHORITY)
    assert mia.get(page).status_code == 200


def test_the_consoles_own_database_is_nobodys_catalog(lake: Node, source: Source, signed_in: Enter) -> None:
    own = connection.settings_dict
    there = {"host": f"{own['HOST']}/", "port": str(own["PORT"] or ""), "user": str(own["USER"])}
    form = filled(source, **there, password="", **{"its-database": str(own["NAME"])})
    answer = posted(signed_in("marek"), f"/realms/{lake.id}/connect?kind=postgresql", **form, step="connect")
    assert "own database" in answer.content.decode()
    assert not Backend.objects.exists()


def test_every_kind_that_is_installed_is_offered_with_what_it_asks(lake: Node, signed_in: Enter) -> None:
    marek, page = signed_in("marek"), f"/realms/{lake.id}/connect"
    offered = marek.get(page).content.decode()
    known = {code: kind for code, kind in kinds.built().items() if "gravitino" in kind.realm_kinds}
    assert {"postgresql", "mariadb"} <= known.keys()
    for code, kind in known.items():
        assert f"{page}?kind={code}" in offered, code
        form = marek.get(f"{page}?kind={code}").content.decode()
        for field in kind.fields:
            assert f'name="its-{field.name}"' in form, (code, field.name)
        assert ('name="catalog"' in form) is not kind.whole_realm, code
        assert ('name="host"' in form) is bool(urlsplit(kind.example).hostname), code
    assert "experimental" not in marek.get(f"{page}?kind=postgresql").content.decode()


def test_a_kept_password_goes_to_no_other_kind_or_port(lake: Node, source: Source, signed_in: Enter) -> None:
    marek, page = signed_in("marek"), f"/realms/{lake.id}/connect?kind=postgresql"
    posted(marek, page, **filled(source), step="connect")
    for changed in ({"port": "1"}, {"kind": "mariadb"}):
        answer = posted(marek, page, **filled(source, password="", **changed), step="try")
        assert 'name="sealed" value=""' in answer.content.decode(), changed


def test_a_kept_password_is_handed_to_nobody_who_could_send_it_elsewhere(
    lake: Node, source: Source, signed_in: Enter
) -> None:
    marek, page = signed_in("marek"), f"/realms/{lake.id}/connect?kind=postgresql"
    posted(marek, page, **filled(source), step="connect")
    again = posted(marek, page, **filled(source, password="", policy="repair"), step="try")
    assert "connected to database governed" in again.content.decode()  # the very same: it is used
    assert 'name="sealed" value=""' in again.content.decode()  # but not handed out, to come back with a host


@pytest.mark.parametrize(
    "changed", [{"its-database": "postgres"}, {"its-tls": "require"}, {"user": "ana"}, {"catalog": "other"}]
)
def test_a_kept_password_opens_nothing_but_what_it_was_given_for(
    changed: dict[str, str], lake: Node, source: Source, signed_in: Enter
) -> None:
    marek, page = signed_in("marek"), f"/realms/{lake.id}/connect?kind=postgresql"
    posted(marek, page, **filled(source), step="connect")
    answer = posted(marek, page, **filled(source, password="", **changed), step="try").content.decode()
    assert "no password supplied" in answer


def test_a_connection_without_a_password_comes_with_none_of_the_consoles_own(
    lake: Node, source: Source, signed_in: Enter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "pgpass"
    kept.write_text("*:*:*:*:secret\n")
    kept.chmod(0o600)
    page = f"/realms/{lake.id}/connect?kind=postgresql"
    for name, value in (("PGPASSFILE", str(kept)), ("PGPASSWORD", "secret")):
        with monkeypatch.context() as environment:
            environment.setenv(name, value)
            answer = posted(signed_in("marek"), page, **filled(source, password=""), step="try")
        assert "no password supplied" in answer.content.decode(), name
