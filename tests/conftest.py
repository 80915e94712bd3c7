"""Servers for the tests: real ones, in a folder of their own, started when a test first asks for them."""

from __future__ import annotations

import fcntl
import gc
import ipaddress
import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import another_day, kept, scheduling
from tests.seeds import rows
from tests.waiting import PATIENCE

# what a failed test compared is to be seen
pytest.register_assert_rewrite("lakewarden.backends.testing.contract")
IN_CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")
VAR = Path(os.environ.get("LAKEWARDEN_VAR", "var"))
_may_leave = False
_NEXT = pytest.StashKey["pytest.Item | None"]()


def missing(what: str, package: str) -> None:
    """A test cannot run here: skipped with what to install, or failed where everything should be there."""
    reason = f"{what} is missing; on Debian: apt-get install {package}"
    if IN_CI:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


# another day, another order


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("chance", "what no test may depend on")
    group.addoption("--weekday", choices=another_day.DAYS, help="run as if today were the next such day")
    group.addoption("--at", type=another_day.moment, metavar="MOMENT", help="begin as if it were then (UTC)")
    group.addoption(
        "--order-seed", type=int, metavar="N", help="shuffle the files, and the tests of each, by this seed"
    )


# what a session holds as long as it lives


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Half a million objects of modules and tests are kept anyway: the collector need not look at them.

    Nor often at what the tests make, nearly all of which goes as they end.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        gc.enable()


# requirements


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    known = rows()
    for item in items:
        for mark in item.iter_markers("seed"):
            unknown = [row for row in mark.args if row not in known]
            if unknown or not mark.args:
                raise pytest.UsageError(f"{item.nodeid}: no such requirement: {', '.join(map(str, unknown))}")
    if config.option.order_seed is not None:
        scheduling.shuffle(items, config.option.order_seed)
    elif hasattr(config, "workerinput"):
        scheduling.longest_first(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return scheduling.Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def _folders_of_runs_within(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A pytest that a test starts has its temporary folders below ours.

    Each run closes the folder of all runs to other accounts, and so to the embedded PostgreSQL of a test that
    is running.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DEBUG_TEMPROOT", str(tmp_path_factory.mktemp("within")))
        yield


# network


def _is_near(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a unix socket
    try:
        return ipaddress.ip_address(address[0]).is_loopback
    except ValueError:
        return address[0] in ("localhost", "")


def _stay_here(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and not _may_leave and not _is_near(arguments[1]):
        raise PermissionError(f"a test wanted to connect to {arguments[1]}; mark it `network` if it must")


def pytest_configure(config: pytest.Config) -> None:
    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.test.testcases import LiveServerThread

    from tests.servers import TestServer

    LiveServerThread.server_class = TestServer
    StaticFilesHandler._should_handle = lambda *_: False  # the site serves its files itself
    if config.option.weekday or config.option.at:
        another_day.choose(config.option.weekday, config.option.at)
    sys.addaudithook(_stay_here)


@pytest.fixture(autouse=True)
def _network(request: pytest.FixtureRequest) -> Iterator[None]:
    global _may_leave
    _may_leave = request.node.get_closest_marker("network") is not None
    yield
    _may_leave = False


# the console's own servers


@pytest.fixture(scope="session")
def console_database() -> Iterator[None]:
    """Where Django connects: DATABASE_URL, or an embedded PostgreSQL 18 that does not wait for the disk."""
    import psycopg
    from django.conf import settings

    from authzsite import embedded
    from authzsite.embedded.postgresql import CONSOLE

    if settings.ENVIRONMENT.database:
        yield
        return
    server = embedded.PostgreSQL(VAR / "postgresql", durable=False)
    server.start()
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(1)")  # the server is that of all workers
        connection.execute(f"GRANT SET ON PARAMETER session_replication_role TO {CONSOLE}")  # for `EMPTY`
    yield
    server.release()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, console_database: None
) -> None:
    """pytest-django asks for this before it makes the test database."""


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A running Redis: REDIS_URL, or an embedded one of this process."""
    from django.conf import settings

    if settings.BROKER.url != settings.REDIS_URL:
        yield settings.REDIS_URL
        return
    settings.BROKER.start()
    yield settings.REDIS_URL
    settings.BROKER.stop()


# what the console governs


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Callable[[int], Any]]:
    """A function from a version (16 or 18) to a running `embedded.PostgreSQL` (`.url()`: the superuser)."""
    from authzsite import embedded

    running: dict[int, embedded.PostgreSQL] = {}

    def start(version: int) -> embedded.PostgreSQL:
        if version not in running:
            home = VAR / f"governed-{version}-{os.environ.get('PYTEST_XDIST_WORKER', '')}"
            running[version] = embedded.PostgreSQL(home, version=version, passwords=True, durable=False)
            running[version].start()
        return running[version]

    yield start
    for server in running.values():
        server.stop()


@pytest.fixture(params=[18, 16], ids=lambda version: f"postgresql-{version}")
def shop_server(request: pytest.FixtureRequest, postgres_server: Callable[[int], Any]) -> Any:
    """An empty server of each version that people enter with passwords only; the test cleans up."""
    return postgres_server(request.param)


@pytest.fixture(scope="session")
def demo_shop() -> Iterator[Any]:
    """The shop database of the demo as `make run` makes it: a `ShopInfo`.

    It has a server of its own, because its logins are called as those that other tests make and drop.
    """
    from authzsite import embedded
    from authzsite.demo import shop

    home = VAR / f"demo-shop-{os.environ.get('PYTEST_XDIST_WORKER', '')}"
    server = embedded.PostgreSQL(home, version=shop.VERSION, passwords=True, durable=False)
    server.start()
    yield shop.ensure(home, on=server)
    server.stop()


@pytest.fixture(scope="session", autouse=True)
def _contexts_of_pages() -> Iterator[None]:
    """A client keeps what a page was rendered with, not each of its parts: a fifth of a page's time."""
    from django.test import client

    keep = client.store_rendered_templates

    def keep_first(store: dict[str, Any], *given: Any, **named: Any) -> None:
        if "context" not in store:
            keep(store, *given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "store_rendered_templates", keep_first)
        yield


@pytest.fixture(scope="session", autouse=True)
def _patient() -> Iterator[None]:
    """A machine busy with other things answers late; whoever tests a time limit sets one.

    So clients, the probes of the console and its own connections wait longer here than elsewhere.
    """
    from accounts import sign_in_rate
    from authzsite.api import call_limits, health
    from lakewarden.client import Client
    from policies.sync.backends.shared.bounded_connection import WatchedConnection

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(Client.__init__.__kwdefaults__, "timeout", PATIENCE)
        for name in ("WITHIN", "EACH"):
            patch.setattr(health, name, PATIENCE)
        for module in (sign_in_rate, call_limits):
            patch.setattr(module, "REDIS_WITHIN", PATIENCE)
        for name in ("looks_after", "asks_for", "hears_within"):
            patch.setattr(WatchedConnection, name, PATIENCE)
        yield


# browser and Spark


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium of the system; `chromium.new_context(…)` for each person that looks."""
    # the first has no window to draw and takes a third less of the processor
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        missing("Chromium", "chromium")
    from playwright.sync_api import sync_playwright

    # playwright keeps an event loop in this thread, which Django would take for asynchronous code
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    arguments = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def java() -> str:
    """The Java that Spark needs."""
    program = shutil.which("java")
    if program is None:
        missing("Java", "default-jre-headless")
    return str(program)


# the console within a test


@pytest.fixture(scope="session", autouse=True)
def _list_static_files_once() -> Iterator[None]:
    """Each of Django's test clients makes the middleware anew, which then looks at every static file."""
    from whitenoise.middleware import WhiteNoiseMiddleware

    real = WhiteNoiseMiddleware.add_files_from_finders
    listed: dict[str, dict[str, Any]] = {}

    def add(self: Any) -> None:
        if self.static_prefix not in listed:
            real(self)
            listed[self.static_prefix] = dict(self.files)
        self.files.update(listed[self.static_prefix])

    WhiteNoiseMiddleware.add_files_from_finders = add
    yield
    WhiteNoiseMiddleware.add_files_from_finders = real


# the database between tests


EMPTY = """
DO $$
DECLARE
    name text;
    tables text[] := ARRAY[{names}];
BEGIN
    PERFORM set_config('lakewarden.maintenance', 'on', true);
    EXECUTE 'LOCK TABLE ' || array_to_string(tables, ', ') || ' IN ACCESS EXCLUSIVE MODE';
    BEGIN
        PERFORM set_config('session_replication_role', 'replica', true);
    EXCEPTION WHEN insufficient_privilege THEN
        EXECUTE 'TRUNCATE ' || array_to_string(tables, ', ');
        RETURN;
    END;
    FOREACH name IN ARRAY tables LOOP
        IF pg_relation_size(name::regclass) > 0 THEN EXECUTE 'DELETE FROM ' || name; END IF;
    END LOOP;
END $$
"""
"""Nearly all tables are empty anyway, and truncating makes new files for each of them and for each index."""
OF_THE_CODE = {"auth_permission", "django_content_type"}
"""Tables of what the code has, written when it is migrated; no test writes there."""


@pytest.fixture(scope="session", autouse=True)
def _flush_past_the_triggers() -> Iterator[None]:
    """Only the emptying between tests may pass the append-only triggers; it leaves the counters at zero.

    What a migration tells other apps afterwards, they know already.
    """
    from django.core.management.commands import flush as command
    from django.db.backends.postgresql.operations import DatabaseOperations

    def flush(self: Any, style: Any, tables: list[str], **_: Any) -> list[str]:
        names = ", ".join(f"'{self.quote_name(table)}'" for table in sorted({*tables} - OF_THE_CODE))
        return [
            EMPTY.format(names=names),
            "INSERT INTO policies_counter (revision, digest) VALUES (0, '')",
            "INSERT INTO policies_accesscounter (size, digest) VALUES (0, '')",
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", flush)
        patch.setattr(command, "emit_post_migrate_signal", lambda *_, **__: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _migrate_once_for_all_workers() -> Iterator[None]:
    """The first worker migrates its test database and keeps a copy, with which the others begin."""
    from django.conf import settings
    from django.db.backends.postgresql.creation import DatabaseCreation

    real = DatabaseCreation.create_test_db
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")

    def create(self: Any, *args: Any, **options: Any) -> str:
        with (VAR / "migrated").open("a+") as marker:
            fcntl.flock(marker, fcntl.LOCK_EX)
            marker.seek(0)
            if marker.read() != run:
                made = real(self, *args, **options)
                self.connection.close()
                with self._nodb_cursor() as cursor:
                    cursor.execute("DROP DATABASE IF EXISTS migrated")
                    cursor.execute(f"CREATE DATABASE migrated TEMPLATE {self._quote_name(made)}")
                marker.truncate(0)
                marker.write(str(run))
                return str(made)
        self.connection.settings_dict["TEST"]["TEMPLATE"] = "migrated"
        return str(real(self, *args, **options))

    if run and not settings.ENVIRONMENT.database:
        DatabaseCreation.create_test_db = create
    yield
    DatabaseCreation.create_test_db = real


@pytest.fixture(scope="session", autouse=True)
def _end_sessions_left_behind() -> Iterator[None]:
    """The test database goes though the server has not yet noticed that a killed worker is gone."""
    from django.db.backends.postgresql.creation import DatabaseCreation

    real = DatabaseCreation._destroy_test_db

    def destroy(self: Any, name: str, verbosity: int) -> None:
        with self._nodb_cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = %s AND backend_type = 'client backend'",
                [name],
            )
        real(self, name, verbosity)

    DatabaseCreation._destroy_test_db = destroy
    yield
    DatabaseCreation._destroy_test_db = real


# worlds


@pytest.fixture
def _kept_world(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any
) -> Iterator[None]:
    with django_db_blocker.unblock():
        kept.enter(request.node)
    yield
    # before the session's own servers and browser go, with which Django would lose sight of its connection
    with django_db_blocker.unblock():
        kept.leave(unless=request.node.stash[_NEXT])


@pytest.fixture
def _django_db_helper(_kept_world: None, _django_db_helper: None) -> None:
    """A test's own transaction lies inside that of the world which it shares."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    item.stash[_NEXT] = nextitem


@pytest.fixture(autouse=True)
def _hang_up(request: pytest.FixtureRequest) -> Iterator[None]:
    """Connections to the test's own site end with it; those that a client keeps would be waited for."""
    if "live_server" not in request.fixturenames:
        yield
        return
    from django.urls import get_resolver

    # a first call would wait until all routes are imported, longer than a program outside has patience
    _ = get_resolver().url_patterns
    request.getfixturevalue("transactional_db")  # what answers ends before the database is emptied
    server = request.getfixturevalue("live_server")
    yield
    server.thread.httpd.hang_up()


@pytest.fixture(autouse=True)
def _forget_slices() -> Iterator[None]:
    yield
    if "policies.decisions.slices" in sys.modules:
        sys.modules["policies.decisions.slices"].forget_all()
    if "policies.decisions.switches" in sys.modules:
        sys.modules["policies.decisions.switches"].off.forget()
    if "policies.record.inquiries" in sys.modules:
        sys.modules["policies.record.inquiries"].tally.forget()
    if "policies.record.repeats" in sys.modules:
        sys.modules["policies.record.repeats"].repeats.forget()
    if "authzsite.console.settings.modes" in sys.modules:
        sys.modules["authzsite.console.settings.modes"].modes.forget()
    if "authzsite.console.kit.navigation" in sys.modules:
        sys.modules["authzsite.console.kit.navigation"].known.forget()
