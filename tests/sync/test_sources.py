"""A source is known by what it says itself, and belongs to one connection of one realm."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from pytest_django import Settings

from accounts import editions, people
from accounts.models import Principal
from lakewarden.backends import kinds
from lakewarden.backends.base import Source as Identity
from lakewarden.backends.errors import Misconfigured
from policies.authority import Actor
from policies.errors import Conflict, Invalid, Refused
from policies.models import Backend, Event, Notice
from policies.secrets import encrypt
from policies.services import objects
from policies.sync import worker
from policies.sync.actions import operations
from policies.sync.backends.postgresql.source import database
from policies.sync.connections import registration, sources
from policies.sync.connections.destinations import network
from policies.sync.connections.trial import tried
from policies.sync.safeguards.report_only import only_reports
from tests.factories import AUTHORITY, BY, a_metalake, a_person, acting, admit, rewritten, the
from tests.sync.conftest import Source

SHARED: dict[str, Any] = {"shared": True, "reason": "a second law for a while"}


def connected(root: Any, name: str, source: Source, by: Actor = BY, **more: Any) -> Backend:
    trial = tried("postgresql", source.url(), realm=root.name)
    more = {"policy": "repair", "source": trial.source, **more}
    return registration.connect(root, name, "postgresql", source.url(), by=by, authority=AUTHORITY, **more)


def run(*command: str) -> str:
    out = StringIO()
    call_command(*command, stdout=out)
    return out.getvalue()


# the console's own


def own_urls(folder: Path) -> list[str]:
    own = connection.settings_dict
    name, here = own["NAME"], str(own["HOST"])
    (folder / "link").symlink_to(here)
    ways = [here, f"{here}/", f"{here}//", f"{here}/.", f"{here}/../{Path(here).name}", f"{folder}/link"]
    return [
        *(f"postgresql:///{name}?host={quote(way, safe='')}&user={own['USER']}" for way in ways),
        *(f"postgresql://{own['USER']}@{quote(way, safe='')}/{name}" for way in ways),
        f"postgresql://{own['USER']}@{quote(here, safe='')}/?dbname={name}",
    ]


def test_the_consoles_own_database_is_known_by_its_numbers(db: None, tmp_path: Path) -> None:
    for url in own_urls(tmp_path):
        with pytest.raises(Misconfigured, match="the console's own database"):
            tried("postgresql", url, realm="demo")


def test_its_whole_cluster_is_refused(db: None) -> None:
    own = connection.settings_dict
    url = f"postgresql:///postgres?host={quote(str(own['HOST']))}&user={own['USER']}"
    with pytest.raises(Misconfigured, match="same cluster"):
        tried("postgresql", url, realm="demo")


def test_a_site_that_runs_its_own_server_may_say_otherwise(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    own = sources._own()
    beside = database(int(own.within[0].split()[1]), 1)
    with pytest.raises(Misconfigured, match="same cluster"):
        sources.refuse_own(beside, cluster_too=False)  # an embedded one is the console's alone
    monkeypatch.setitem(connection.settings_dict, "ENGINE", "django.db.backends.postgresql")
    sources.refuse_own(beside, cluster_too=False)
    with pytest.raises(Misconfigured, match="own database"):
        sources.refuse_own(own, cluster_too=False)


def test_a_kept_connection_that_leads_to_the_console_does_nothing(governed: Backend, source: Source) -> None:
    own = connection.settings_dict
    url = f"postgresql:///{own['NAME']}?host={quote(str(own['HOST']))}&user={own['USER']}"
    rewritten(Backend.objects.filter(pk=governed.pk), sealed_url=encrypt(url))
    with pytest.raises(Misconfigured, match="own database"):
        worker.now(Backend.objects.get(pk=governed.pk))


# one connection


def test_a_second_connection_is_refused_in_the_realm_and_in_another(db: None, source: Source) -> None:
    demo, other = a_metalake(), a_metalake("zebra")
    connected(demo, "shop", source)
    a_person("zoe")
    for root in (demo, other):
        with pytest.raises(Conflict, match="another connection already"):
            connected(root, "stolen", source)
        with pytest.raises(Conflict):
            connected(root, "stolen", source, by=acting("zoe"))
    assert Backend.objects.count() == 1


def test_another_spelling_is_the_same_source(db: None, source: Source, tmp_path: Path) -> None:
    connected(a_metalake(), "shop", source)
    (tmp_path / "link").symlink_to(source.server.socket_dir)
    url = source.url().replace(
        quote(str(source.server.socket_dir), safe=""), quote(f"{tmp_path}/link", safe="")
    )
    assert url != source.url()
    trial = tried("postgresql", url, realm="zebra")
    assert trial.source and sources.others(trial.source, None)


def test_a_second_one_takes_a_word_with_a_reason_of_who_runs_the_site(
    db: None, source: Source, settings: Settings
) -> None:
    demo, zebra = a_metalake(), a_metalake("zebra")
    connected(demo, "shop", source)
    with pytest.raises(Invalid, match="Give a reason"):
        connected(zebra, "shop", source, shared=True)
    zoe = a_person("zoe")
    with pytest.raises(Conflict):
        connected(zebra, "shop", source, by=acting("zoe"), **SHARED)
    settings.LAKEWARDEN_SERVICE_ADMINS = (zoe.name,)
    row = connected(zebra, "shop", source, by=acting("zoe"), **SHARED)
    assert (row.sole, row.awaits) == (False, "")
    made = Event.objects.filter(kind="backend.connected").order_by("-pk").first()
    assert made and made.change.reason == SHARED["reason"]


def test_the_database_keeps_two_from_one_source(db: None, source: Source) -> None:
    first = connected(a_metalake(), "shop", source)
    second = connected(a_metalake("zebra"), "shop", source, **SHARED)
    with pytest.raises(IntegrityError), transaction.atomic():
        rewritten(Backend.objects.filter(pk=second.pk), sole=True)
    assert first.source == second.source


def test_what_was_connected_to_a_dropped_catalog_is_free_again(db: None, source: Source) -> None:
    root = a_metalake()
    connected(root, "shop", source)
    objects.drop(the("catalog", "shop"), by=BY, authority=AUTHORITY)
    assert connected(root, "again", source).sole


def test_connecting_again_is_no_second_connection(db: None, source: Source) -> None:
    root = a_metalake()
    first = connected(root, "shop", source)
    assert connected(root, "shop", source, policy="report").pk == first.pk


# who agrees


def test_what_somebody_connects_who_does_not_run_the_site_only_reports(
    db: None, source: Source, settings: Settings
) -> None:
    root = a_metalake()
    olivia = a_person("olivia")
    admit(root, "olivia")
    row = connected(root, "shop", source, by=acting("olivia"))
    assert (row.policy, row.awaits) == ("repair", "new")
    operations.set_policy(row, "repair", by=BY)
    row.refresh_from_db()
    assert only_reports(row)
    assert connected(root, "shop", source, by=acting("olivia"), policy="report").awaits == "new"
    row = connected(root, "shop", source, by=acting("olivia"))
    with pytest.raises(Refused):
        operations.agree(row, by=acting("olivia"), reason="mine", digest=operations.likeness(row))
    with pytest.raises(Invalid):
        operations.agree(row, by=BY, reason=" ", digest=operations.likeness(row))
    settings.LAKEWARDEN_SERVICE_ADMINS = ("sam",)
    a_person("sam")
    operations.agree(
        row, by=acting("sam"), reason="the shop's own people asked", digest=operations.likeness(row)
    )
    row.refresh_from_db()
    assert not row.awaits and not only_reports(row)
    event = Event.objects.get(kind="backend.agreed")
    assert event.change.reason == "the shop's own people asked"
    with pytest.raises(Conflict):
        operations.agree(row, by=acting("sam"), reason="again", digest=operations.likeness(row))
    # the same system, agreed to before: a new password is no new connection
    assert connected(root, "shop", source, by=acting("olivia"), policy="report").awaits == ""
    assert Principal.objects.filter(pk=olivia.pk).exists()


def test_the_commands_of_who_runs_the_site(db: None, source: Source) -> None:
    for name in ("demo", "zebra"):
        a_metalake(name)
    run("connect", "demo/shop", "postgresql", "--url", source.url())
    with pytest.raises(SystemExit) as ended:
        run("connect", "zebra/shop", "postgresql", "--url", source.url())
    assert ended.value.code == 1
    run("connect", "zebra/shop", "postgresql", "--url", source.url(), "--share", "for a while")
    row = Backend.objects.order_by("-pk")[0]
    assert not row.sole
    rewritten(Backend.objects.filter(pk=row.pk), awaits="moved")
    assert run("agree", "zebra/shop", "--reason", "looked at it").startswith(
        "zebra/shop repairs: PostgreSQL "
    )


# looked at again at each run


def test_the_first_run_learns_what_it_leads_to(governed: Backend) -> None:
    rewritten(Backend.objects.filter(pk=governed.pk), source="", within=[])
    worker.now(Backend.objects.get(pk=governed.pk))
    governed.refresh_from_db()
    assert governed.source.startswith("postgresql ") and not governed.awaits


def test_a_connection_that_leads_elsewhere_stops_and_is_told(
    governed: Backend, source: Source, settings: Settings
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = ("sam",)
    people.make_account("sam")  # who cannot sign in is told nothing
    worker.now(governed)
    server = source.server
    other = Source(server, "postgres")
    other.run("DROP DATABASE IF EXISTS elsewhere")
    other.run("CREATE DATABASE elsewhere")
    try:
        rewritten(
            Backend.objects.filter(pk=governed.pk), sealed_url=encrypt(Source(server, "elsewhere").url())
        )
        worker.look(Backend.objects.get(pk=governed.pk), whole=True)
        governed.refresh_from_db()
        assert governed.awaits == "moved" and only_reports(governed)
        assert Event.objects.filter(kind="backend.moved").count() == 1
        given = Source(server, "elsewhere").run("SELECT datacl FROM pg_database WHERE datname = 'elsewhere'")
        assert given == [(None,)]
        notice = Notice.objects.filter(kind="sync.awaits", recipient__name="sam").get()
        assert notice.link == f"/sync/{governed.pk}/agree"
        operations.agree(
            governed, by=BY, reason="it was moved on purpose", digest=operations.likeness(governed)
        )
        worker.look(Backend.objects.get(pk=governed.pk), whole=True)
        assert not Notice.objects.filter(kind="sync.awaits", done__isnull=True).exists()
    finally:
        other.run("DROP DATABASE elsewhere WITH (FORCE)")


def test_two_that_were_connected_before_are_told_apart_at_their_next_run(
    governed: Backend, source: Source
) -> None:
    worker.now(governed)
    zebra = a_metalake("zebra")
    second = registration.connect(
        zebra, "shop", "postgresql", source.url(), policy="repair", by=BY, authority=AUTHORITY
    )
    worker.now(second)
    second.refresh_from_db()
    assert (second.awaits, second.sole) == ("shared", False)
    assert only_reports(second)
    assert Event.objects.filter(kind="backend.shared").count() == 1


# folders, and every kind


def test_a_folder_is_one_source_with_all_that_lies_in_it(tmp_path: Path) -> None:
    from policies.sync.backends.posix.tree import folder_source

    for name in ("lake/sales/deep", "beside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "lake" / "sales")
    lake, deep = folder_source(f"{tmp_path}/lake"), folder_source(f"{tmp_path}/lake/sales/deep")
    assert folder_source(f"{tmp_path}/link") == folder_source(f"{tmp_path}/beside/../lake//sales/")
    assert lake.overlaps(deep) and deep.overlaps(lake)
    assert lake.overlaps(folder_source(f"{tmp_path}/link"))
    assert not folder_source(f"{tmp_path}/beside").overlaps(lake)
    (tmp_path / "lake").rename(tmp_path / "moved")
    assert folder_source(f"{tmp_path}/moved") == lake


@pytest.mark.parametrize("code", ["mariadb", "posix", "webhdfs", "ranger-hive"])
def test_one_source_of_every_kind_is_connected_once(
    db: None, settings: Settings, tmp_path: Path, code: str
) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback", str(tmp_path)]
    kind = kinds.get(code)
    url = kind.address(
        {"folder": str(tmp_path), "host": "127.0.0.1", "user": "u", "service": "s", "path": "/x"}
    )
    first, second = a_metalake(), a_metalake("zebra")
    known = Identity(f"{code} 1", ("above",))
    more: dict[str, Any] = {"policy": "report", "by": BY, "authority": AUTHORITY}
    registration.connect(first, "c", code, url, source=known, **more)
    for near in (known, Identity(f"{code} 2", (f"{code} 1",)), Identity("above")):
        with pytest.raises(Conflict):
            registration.connect(second, "c", code, url, source=near, **more)
    registration.connect(second, "c", code, url, source=Identity("beside", ("above",)), **more)


def test_a_kind_of_others_is_known_by_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = kinds.get("mariadb")
    urls = ["mariadb://u@127.0.0.1:99/", "mariadb://v:w@127.0.0.2:99/", "mariadb://u@[::1]:99/"]
    assert len({sources.source_of(kind, url, object()).key for url in urls}) == 1
    assert sources.source_of(kind, "mariadb://u@127.0.0.1:98/", object()).key.endswith("port 98")


def test_a_root_that_was_swapped_for_a_link_stops(db: None, settings: Settings, tmp_path: Path) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = [str(tmp_path)]
    for name in ("lake/sales", "others/hr"):
        (tmp_path / name).mkdir(parents=True)
    url = f"posix://{tmp_path}/lake"
    row = registration.connect(
        a_metalake(), "lake", "posix", url, policy="repair", by=BY, authority=AUTHORITY,
        source=tried("posix", url, realm="demo").source,
    )  # fmt: skip
    (tmp_path / "lake").rename(tmp_path / "aside")
    (tmp_path / "lake").symlink_to(tmp_path / "others")
    with sources.opened(row, the("catalog", "lake")):
        pass
    row.refresh_from_db()
    assert row.awaits == "moved" and only_reports(row)
    # one that leads out of what the site allows is not looked at at all
    (tmp_path / "lake").unlink()
    (tmp_path / "lake").symlink_to("/etc")
    with (
        pytest.raises(Misconfigured, match="LAKEWARDEN_CONNECT_ALLOW"),
        sources.opened(row, the("catalog", "lake")),
    ):
        pass


def test_a_line_that_is_lost_may_not_lead_elsewhere_when_it_is_opened_again(source: Source) -> None:
    kind = kinds.get("postgresql")
    there = kind.open(source.url(), realm="demo", mark="m", network=network())
    there.source()
    there.close()
    there.source()
    there.close()
    there._session._url = Source(source.server, "postgres").url()
    with pytest.raises(Misconfigured, match="another system"):
        there.observe()


def test_what_may_be_shared_may_not_move_into_the_consoles_cluster(
    governed: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = database(int(sources._own().within[0].split()[1]), 1)
    monkeypatch.setitem(connection.settings_dict, "ENGINE", "django.db.backends.postgresql")
    governed.sole = False  # as where it moved onto what another connection governs
    with editions.gathered():
        governed.save(update_fields=["sole"])
    with pytest.raises(Misconfigured, match="same cluster"):
        sources.look_again(governed, beside)
    governed.source = beside.key  # as where the operator said so of this very database
    sources.look_again(governed, beside)
