"""The cost of a check over HTTP: its median beside an empty authenticated DRF view with one indexed query.

python bench/check_http.py
Real gunicorn, real PostgreSQL, questions of the two kinds in turn on kept connections, in one run.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

LIMIT = 1.5
ROUNDS = 600
WARM = 100
EMPTY, CHECK, CHECK_ALL = "/bench/empty", "/access/v1/evaluation", "/access/v1/evaluations"
ORDERS = {"type": "table", "id": "demo/shop.sales.orders"}
QUESTION = {"subject": {"type": "user", "id": "ana"}, "action": {"name": "read"}, "resource": ORDERS}


def urls() -> list[Any]:
    """The API's own, and the view to compare with."""
    from django.urls import include, path
    from rest_framework.response import Response
    from rest_framework.views import APIView

    from authzsite.api.authentication import TokenAuthentication
    from authzsite.api.surface import SignedIn
    from catalog.models import Securable

    class Empty(APIView):
        authentication_classes = [TokenAuthentication]
        permission_classes = [SignedIn]

        def post(self, request: Any) -> Response:
            pk = request.data.get("pk")
            return Response({"type": Securable.objects.get(pk=pk).type if pk else ""})

    return [path(EMPTY.lstrip("/"), Empty.as_view()), path("", include("authzsite.api.urls"))]


def serve(port: str) -> None:
    """One gunicorn worker, as the site runs it."""
    import django
    from django.conf import settings

    django.setup()
    globals()["urlpatterns"] = urls()
    settings.ROOT_URLCONF = __name__
    settings.ALLOWED_HOSTS = ["127.0.0.1"]

    from django.core.wsgi import get_wsgi_application
    from gunicorn.app.base import BaseApplication

    class Site(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            options = {"bind": f"127.0.0.1:{port}", "worker_class": "gthread", "threads": 4, "workers": 1}
            for name, value in {**options, "keepalive": 60, "loglevel": "warning"}.items():
                self.cfg.set(name, value)

        def load(self) -> Any:
            return get_wsgi_application()

    Site().run()


def world() -> tuple[str, int]:
    """A shop in which ana may read orders: ana's token, and a number to look up."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from tests.api.world import make_shop, token

    shop = make_shop()
    shop.allow(shop.sales, "SELECT_TABLE")
    return token("user", "ana"), shop.catalog.id


@contextmanager
def site() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    server = subprocess.Popen([sys.executable, str(HERE), "serve", str(port)])
    try:
        while server.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait(20)


def poster(port: int, token: str, path: str, body: object) -> Callable[[], float]:
    """A function that asks once and says how many milliseconds it took."""
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    content = json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask() -> float:
        started = time.perf_counter()
        kept.request("POST", path, content, headers)
        answer = kept.getresponse()
        text = answer.read()
        took = (time.perf_counter() - started) * 1000
        assert answer.status == 200, (path, answer.status, text[:200])
        return took

    return ask


def measure(port: int, token: str, pk: int) -> bool:
    hundred = {**QUESTION, "evaluations": [{}] * 100}
    asks = {
        "empty view": poster(port, token, EMPTY, {"pk": pk}),
        "the same without its query": poster(port, token, EMPTY, {}),
        "check": poster(port, token, CHECK, QUESTION),
        "check of 100": poster(port, token, CHECK_ALL, hundred),
    }
    times: dict[str, list[float]] = {name: [] for name in asks}
    for number in range(WARM + ROUNDS):
        for name, ask in asks.items():
            took = ask()
            if number >= WARM:
                times[name].append(took)
    floor = median(times["empty view"])
    for name, each in times.items():
        p50, p95 = median(each), sorted(each)[int(len(each) * 0.95)]
        print(f"{name:28}{p50:8.2f} ms p50 {p95:8.2f} ms p95 {p50 / floor:6.2f} times the empty view")
    good = median(times["check"]) <= LIMIT * floor
    print(f"{'ok' if good else 'TOO SLOW'}: a check may take {LIMIT} times the empty view")
    return good


def main() -> int:
    from bench.servers import own_server

    with own_server():
        token, pk = world()
        with site() as port:
            return 0 if measure(port, token, pk) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2])
    else:
        sys.exit(main())
