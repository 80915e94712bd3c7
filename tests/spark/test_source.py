"""`spark.read.format("lakewarden")` at the real console: whole, pinned, by narrow tokens; or a clear no."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django", reason="the console is not in this environment")
pytest.importorskip("pyspark.sql.datasource", reason="PySpark 4.0 brought formats in Python")

from django.utils import timezone

from accounts.models import Token
from lakewarden.spark import data_source_reader, data_views
from lakewarden.spark.data_source_reader import ReadingFailed, ReadOptions
from policies.analytics import uses
from policies.data_views.registry import VIEWS
from policies.decisions import slices
from policies.services import objects
from policies.services.objects import NewObject
from tests.api.world import BY, Shop, make_shop, token, user
from tests.client.site import Site

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "dataframes.md").read_text()
PUSHED = "spark.sql.python.filterPushdown.enabled"
Load = Callable[..., Any]


@pytest.fixture
def site(transactional_db: None) -> Iterator[Site]:
    slices.forget_all()
    site = Site()
    site.start()
    yield site
    site.stop()


@pytest.fixture
def shop(site: Site) -> Shop:
    shop = make_shop()
    shop.allow(shop.tables["orders"], "SELECT_TABLE")
    shop.allow(shop.tables["items"], "SELECT_TABLE", effect="deny")
    reports = [
        uses.ReportedUse(user("ana"), shop.tables[table], "read", True, timezone.now())
        for table in ("orders", "items")
    ]
    uses.take(shop.realm.realm_id, user("ana"), "run", reports)
    return shop


@pytest.fixture
def load(plain: Any, site: Site, shop: Shop) -> Load:
    """`load("grants", splits=3)` as Marek, in a session that found the format by itself."""
    session, secret = plain.newSession(), token("user", "marek")

    def load(view: str, schema: str | None = None, **options: Any) -> Any:
        asked = {"url": site.url, "token": secret, "realm": "demo", "view": view, **options}
        reader = session.read.format("lakewarden").options(**asked)
        return (reader.schema(schema) if schema else reader).load()

    load.session = session  # type: ignore[attr-defined]
    return load


def test_the_columns_are_those_of_the_console() -> None:
    assert {name: view.filters for name, view in VIEWS.items()} == dict(data_views.FILTERS)
    assert all(data_views.FILTERS[name] <= set(columns) for name, columns in data_views.VIEWS.items())


def test_every_view_is_read_whole(load: Load, shop: Shop) -> None:
    for view, columns in data_views.VIEWS.items():
        once, parts = load(view, splits=1), load(view, splits=3, page=2)
        assert dict(once.dtypes) == columns, view
        rows = once.collect()
        assert rows and parts.rdd.getNumPartitions() > 1, view
        assert sorted(map(str, parts.collect())) == sorted(map(str, rows)), view
    access = {(row.object, row.principal): row for row in load("access").collect()}
    ana = access["demo/shop.sales.orders", "user:ana"]
    assert (ana.actions, ana.owner, ana.via) == (["read"], False, ["role:readers"])
    assert ("demo/shop.sales.items", "user:ana") not in access
    [used] = load("uses").where("object = 'demo/shop.sales.orders'").collect()
    assert (used.principal, used.executed) == ("user:ana", True)
    assert abs(used.at.timestamp() - timezone.now().timestamp()) < 300


def test_the_page_says_which_columns_there_are() -> None:
    documented_columns = re.findall(r"^\| `(\w+)` \| ([\w, ]+) \| .*`(?:check|audit)` \|$", DOCUMENT, re.M)
    assert {name: columns.split(", ") for name, columns in documented_columns} == {
        name: list(columns) for name, columns in data_views.VIEWS.items()
    }


def test_the_page_says_what_works(
    plain: Any, site: Site, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    [code] = re.findall(r"^```python\n(grants = .*?)^```$", DOCUMENT, re.M | re.S)
    given = f'.option("url", "{site.url}").option("token", "{token("user", "marek")}")'
    left: dict[str, Any] = {"spark": plain.newSession()}
    exec(code.replace(".load()", given + ".load()"), left)  # noqa: S102 - our own page
    assert [tuple(row) for row in left["denied"].collect()] == [("demo/shop.sales.items", "readers", None)]


def test_a_data_frame_stays_as_it_was_loaded(load: Load, shop: Shop) -> None:
    frame = load("objects", splits=2)
    before = sorted(row.object for row in frame.collect())
    objects.drop(shop.tables["plans"], **BY)
    objects.register(shop.sales, [NewObject("table", "newest")], **BY)
    assert sorted(row.object for row in frame.collect()) == before
    after = {row.object for row in load("objects").collect()}
    assert after ^ set(before) == {"demo/shop.secret.plans", "demo/shop.sales.newest"}


def test_columns_are_left_out(load: Load) -> None:
    assert load("grants", columns="object, privilege").columns == ["object", "privilege"]
    rows = load("grants", columns="object, privilege").where("privilege = 'USE_SCHEMA'").collect()
    assert [tuple(row) for row in rows] == [("demo/shop.sales", "USE_SCHEMA")]
    frame = load("grants", schema="privilege string")
    assert frame.columns == ["privilege"] and frame.count() == load("grants").count()
    with pytest.raises(Exception, match="LAKEWARDEN_OPTION: column since is of type bigint"):
        load("grants", schema="since int").count()


def test_filters_are_asked_of_the_console(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are the same with the setting and without it; with it the console leaves them out."""
    asked: list[dict[str, Any]] = []
    real = VIEWS["grants"].rows

    def rows(pin: Any, seen: Any, within: Any, where: Any, limit: int) -> Any:
        asked.append({name: sorted(values) for name, values in where.items()})
        return real(pin, seen, within, where, limit)

    monkeypatch.setitem(VIEWS, "grants", replace(VIEWS["grants"], rows=rows))
    wanted = "privilege IN ('USE_SCHEMA', 'SELECT_TABLE') AND effect = 'allow' AND object LIKE '%sales%'"
    filters = {}
    for setting in ("true", "false"):
        load.session.conf.set(PUSHED, setting)  # type: ignore[attr-defined]
        asked.clear()
        frame = load("grants", splits=1).where(wanted)
        filters[setting] = sorted(map(str, frame.collect()))
        pushed = {"effect": ["allow"], "privilege": ["SELECT_TABLE", "USE_SCHEMA"]}
        assert asked == [pushed if setting == "true" else {}]
    assert filters["true"] == filters["false"] and len(filters["true"]) == 2


WRONG = [
    ({"view": "nothing"}, "LAKEWARDEN_OPTION: view must be one of access, grants, audit, uses, objects"),
    ({"realm": ""}, "LAKEWARDEN_OPTION: option realm is missing"),
    ({"relm": "demo"}, "LAKEWARDEN_OPTION: there is no option relm"),
    ({"splits": "many"}, "LAKEWARDEN_OPTION: option splits must be a number from 1 to 256"),
    ({"columns": "object,color"}, "LAKEWARDEN_OPTION: grants has no column color"),
    ({"token": "lw_wrong"}, "LAKEWARDEN_CREDENTIALS: "),
    ({"realm": "none"}, "LAKEWARDEN_REFUSED: "),
    ({"as_of": "100000"}, "LAKEWARDEN_GONE: "),
    ({"as_of": "soon"}, "LAKEWARDEN_QUESTION: "),
    ({"url": "http://127.0.0.1:9", "attempts": "1"}, "LAKEWARDEN_UNAVAILABLE: "),
    ({"url": "ftp://console"}, "LAKEWARDEN_OPTION: "),
]


def test_what_cannot_be_read_is_told_with_a_code(load: Load, site: Site) -> None:
    good = {"url": site.url, "token": token("user", "marek"), "realm": "demo", "view": "grants"}
    for options, code in WRONG:
        with pytest.raises(ReadingFailed) as failed:
            data_source_reader.planned(ReadOptions.read({**good, **options}))
        assert str(failed.value).startswith(code), options
    for options, code in WRONG[:1] + WRONG[6:7]:
        with pytest.raises(Exception, match=code):
            load(**{"view": "grants", **options})


def test_executors_get_a_token_for_the_reading_alone(shop: Shop, site: Site) -> None:
    from pyspark import cloudpickle
    from pyspark.sql.types import StructType

    from pyspark_lakewarden import DefaultSource

    secret = token("user", "marek")
    options = {"url": site.url, "TOKEN": secret, "realm": "demo", "view": "grants", "splits": "2"}
    source = DefaultSource(options)
    reader = source.reader(StructType.fromDDL(source.schema()))
    parts = reader.partitions()
    sent = cloudpickle.dumps((source, reader, parts))
    assert len(parts) == 2 and secret.encode() not in sent and secret not in repr(parts[0].value)
    narrow = {part.value.token for part in parts}
    assert len(narrow) == 1 and narrow.pop().encode() in sent
    row = Token.objects.get(view="grants")
    assert (row.scopes, row.realm, row.view) == (["reading"], shop.realm.realm_id, "grants")


class TestRestarts:
    def part(self, site: Site, **options: str) -> data_source_reader.Part:
        wanted = ReadOptions.read(
            {"url": site.url, "token": token("user", "marek"), "realm": "demo", "view": "grants", "page": "1",
             "splits": "1", **options}
        )  # fmt: skip
        plan = data_source_reader.planned(wanted)
        return data_source_reader.Part(
            wanted, data_source_reader.narrowed(wanted, plan), plan.revision, plan.at, *plan.parts[0]
        )

    def test_a_console_that_comes_back_is_read_to_the_end(self, shop: Shop, site: Site) -> None:
        whole = [row for page in data_source_reader.pages(self.part(site)) for row in page]
        pages = data_source_reader.pages(self.part(site))
        rows = list(next(pages))
        site.stop()
        back = threading.Timer(1.0, site.start)
        back.start()
        rows += [row for page in pages for row in page]
        back.join()
        assert rows == whole and len(rows) > 2

    def test_one_that_does_not_is_no_short_result(self, shop: Shop, site: Site) -> None:
        pages = data_source_reader.pages(self.part(site, attempts="2"))
        next(pages)
        site.stop()
        with pytest.raises(ReadingFailed, match=r"^LAKEWARDEN_UNAVAILABLE: "):
            list(pages)

    def test_a_token_that_ended_is_told(self, shop: Shop, site: Site) -> None:
        pages = data_source_reader.pages(self.part(site))
        next(pages)
        Token.objects.exclude(view="").update(expires=timezone.now())
        with pytest.raises(ReadingFailed, match=r"^LAKEWARDEN_CREDENTIALS: "):
            list(pages)

    def test_spark_reads_over_a_restart(
        self, load: Load, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The console goes with the first page that is asked for, and comes back while Spark still asks."""
        frame, whole = load("grants", splits=2, page=1), load("grants", splits=1).count()
        real, gone = VIEWS["grants"].rows, threading.Event()
        threads = []

        def rows(*asked: Any) -> Any:
            if not gone.is_set():
                gone.set()
                threads.append(threading.Thread(target=restart))
                threads[0].start()
            return real(*asked)

        def restart() -> None:
            site.stop()
            site.start()

        monkeypatch.setitem(VIEWS, "grants", replace(VIEWS["grants"], rows=rows))
        assert frame.count() == whole
        threads[0].join()

    def test_spark_says_why_not(self, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
        frame = load("grants", splits=1, page=1, attempts=2)
        real = VIEWS["grants"].rows

        def rows(*asked: Any) -> Any:
            Token.objects.exclude(view="").update(expires=timezone.now())
            return real(*asked)

        monkeypatch.setitem(VIEWS, "grants", replace(VIEWS["grants"], rows=rows))
        with pytest.raises(Exception, match="LAKEWARDEN_CREDENTIALS: "):
            frame.count()


def test_a_guard_lets_the_console_decide_on_its_own_tables(plain: Any, site: Site, shop: Shop) -> None:
    from pyspark.sql import SparkSession

    from lakewarden.spark import AccessDenied
    from lakewarden.spark.object_names import Catalogs
    from lakewarden.spark.session_guard import Guard
    from lakewarden.spark.uses import Uses
    from lakewarden.testing import FreshSnapshot, snapshot

    session = SparkSession(plain.sparkContext, plain._jsparkSession)
    asked = {"token": token("user", "marek"), "realm": "demo", "view": "objects"}
    held = FreshSnapshot.fixed(snapshot(""))
    with Guard(session, held, Catalogs("demo", {}), Uses(), console=site.url):

        def read(**options: str) -> Any:
            return session.read.format("lakewarden").options(**asked, **options).load()

        assert read(url=site.url, splits="2").count() > 0
        other = site.url.replace("127.0.0.1", "localhost")
        with pytest.raises(AccessDenied, match="option url of format lakewarden"):
            read(url=other).collect()
        with pytest.raises(AccessDenied, match="option url of format lakewarden"):
            read(Url=other).collect()


def test_the_token_of_the_environment_goes_to_its_console_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", "http://console.example")
    monkeypatch.setenv("LAKEWARDEN_TOKEN", "secret")
    asked = {"realm": "demo", "view": "grants"}
    assert ReadOptions.read(asked).token == "secret"
    assert ReadOptions.read({**asked, "url": "http://console.example/"}).token == "secret"
    assert ReadOptions.read({**asked, "url": "http://elsewhere", "token": "other"}).token == "other"
    with pytest.raises(ReadingFailed, match="give option token with option url"):
        ReadOptions.read({**asked, "url": "http://elsewhere"})
