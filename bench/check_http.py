"""The cost of checks over HTTP beside an empty authenticated DRF view with one indexed query.

python bench/check_http.py
Real gunicorn, real PostgreSQL that waits for its disk, questions of all kinds in turn on kept connections, in
one run; then each kind from eight connections at once.  Every answer is looked at.  Fails for a wrong answer,
and when a yes costs more than its limit.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

LIMIT = 1.5
ROUNDS = 300
WARM = 100
CALLS_OF_EACH = 100
EIGHT = 8
FRESH = WARM + ROUNDS + EIGHT * CALLS_OF_EACH
EMPTY, CHECK, CHECK_ALL = "/bench/empty", "/access/v1/evaluation", "/access/v1/evaluations"
ORDERS = {"type": "table", "id": "demo/shop.sales.orders"}
SECRET = "demo/shop.secret"
QUESTION = {"subject": {"type": "user", "id": "ana"}, "action": {"name": "read"}, "resource": ORDERS}


def urls() -> list[Any]:
    """The site's own, and the view to compare with."""
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

    return [path(EMPTY.lstrip("/"), Empty.as_view()), path("", include("authzsite.urls"))]


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
    from policies.services import objects
    from policies.services.objects import NewObject
    from tests.api.world import BY, make_shop, token

    shop = make_shop()
    shop.allow(shop.sales, "SELECT_TABLE")
    objects.register(shop.secret, [NewObject("table", f"t{number}") for number in range(FRESH)], **BY)
    return token("user", "ana"), shop.catalog.id


@contextmanager
def site() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
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


Bodies = Iterator[Mapping[str, object]]


def poster(port: int, token: str, path: str, bodies: Bodies, right: bytes) -> Callable[[], float]:
    """A function that asks once and says how many milliseconds it took; `right` is in a right answer."""
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask() -> float:
        content = json.dumps(next(bodies)).encode()
        started = time.perf_counter()
        kept.request("POST", path, content, headers)
        answer = kept.getresponse()
        text = answer.read()
        took = (time.perf_counter() - started) * 1000
        assert answer.status == 200 and right in text, (path, answer.status, text[:200])
        return took

    return ask


def about(table: str) -> dict[str, object]:
    return {**QUESTION, "resource": {"type": "table", "id": table}}


def kinds(pk: int) -> dict[str, tuple[str, Bodies, bytes]]:
    """What is asked, by name: where, with what, and what a right answer holds."""
    yes, no = b'"decision":true', b'"decision":false'
    never_asked = (about(f"{SECRET}.t{number}") for number in itertools.count())
    hundred = {**QUESTION, "evaluations": [{}] * 100}
    half = [{}, {"resource": {"type": "table", "id": f"{SECRET}.plans"}}] * 50
    every = itertools.repeat
    return {
        "empty view": (EMPTY, every({"pk": pk}), b"catalog"),
        "the same without its query": (EMPTY, every({}), b"type"),
        "a yes": (CHECK, every(QUESTION), yes),
        "a no, asked before": (CHECK, every(about(f"{SECRET}.plans")), no),
        "a no, never asked before": (CHECK, never_asked, no),
        "100 times yes": (CHECK_ALL, every(hundred), yes),
        "50 times yes, 50 times no": (CHECK_ALL, every({**QUESTION, "evaluations": half}), no),
    }


def measure(port: int, token: str, pk: int) -> bool:
    questions = kinds(pk)
    asks = {name: poster(port, token, *kind) for name, kind in questions.items()}
    times: dict[str, list[float]] = {name: [] for name in asks}
    order, pick = list(asks), random.Random(1)
    for number in range(WARM + ROUNDS):
        pick.shuffle(order)  # who comes after a long one finds the caches of the processor empty
        for name in order:
            took = asks[name]()
            if number >= WARM:
                times[name].append(took)
    floor = median(times["empty view"])
    for name, each in times.items():
        p50, p95 = median(each), sorted(each)[int(len(each) * 0.95)]
        print(f"{name:28}{p50:8.2f} ms p50 {p95:8.2f} ms p95 {p50 / floor:6.2f} times the empty view")
    rates = {name: together(port, token, kind) for name, kind in questions.items()}
    for name, rate in rates.items():
        share = rate / rates["empty view"]
        print(f"{name:28}{rate:8.0f} calls a second from {EIGHT} connections {share:6.2f} of the empty view")
    good = median(times["a yes"]) <= LIMIT * floor
    print(f"{'ok' if good else 'TOO SLOW'}: a yes may take {LIMIT} times the empty view")
    return good


def together(port: int, token: str, kind: tuple[str, Bodies, bytes]) -> float:
    """How many calls a second are answered to several who ask at once."""
    path, bodies, right = kind
    lists = [[next(bodies) for _ in range(CALLS_OF_EACH)] for _ in range(EIGHT)]
    asks = [poster(port, token, path, iter(each), right) for each in lists]
    with ThreadPoolExecutor(EIGHT) as callers:
        started = time.perf_counter()
        list(callers.map(lambda ask: [ask() for _ in range(CALLS_OF_EACH)], asks))
        return EIGHT * CALLS_OF_EACH / (time.perf_counter() - started)


def main() -> int:
    from bench.servers import own_server

    with own_server(durable=True):
        token, pk = world()
        with site() as port:
            return 0 if measure(port, token, pk) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2])
    else:
        sys.exit(main())
