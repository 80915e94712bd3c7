"""Random worlds of a CDAP: one namespace each, what lies in it, and who has which actions on which texts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from lakewarden.cdap.wire import write_authorizable
from lakewarden.law.dialects.cdap.authorizable import parse
from tests.real.differential.compare import LAKE, Call

ADMIN, MAKER = "admin", "maker"
STRANGER = "dora"
"""Has nothing anywhere."""
HOLDERS = ("ana", "bob", "carl")
PEOPLE = (*HOLDERS, STRANGER)
ACTIONS = ("READ", "WRITE", "EXECUTE", "ADMIN")
RIGHTS = "/v3/security/authorization"
NS = f"/v3/namespaces/{LAKE}"
HERE_ALONE = "register"
"""A call that only Lakewarden needs: it reads no jars, so it is told which programs an application has."""
JAR = "the jar"
ROLE = f"role_{LAKE}"
OF_EACH_TYPE = ("artifact", "application", "dataset", "stream", "securekey", "dataset_type", "dataset_module")
TEXTS = (
    "namespace:{}",
    "namespace:{}*",
    *("artifact:{}.shop", "artifact:{}.*", "application:{}.shop", "application:{}.s?op"),
    *("program:{}.shop.*", "program:{}.shop.service.web", "program:{}.shop.worker.clerk"),
    *("dataset:{}.orders", "dataset:{}.*", "dataset:{}.b*", "dataset:{}.new"),
    *("stream:{}.clicks", "stream:{}.*", "stream:{}.l?gs", "stream:{}.new"),
    *("securekey:{}.password", "securekey:{}.*", "securekey:{}.new"),
    *("dataset_type:{}.*", "dataset_module:{}.*", "dataset_module:{}.none", "application:{}.new"),
)
MADE: tuple[tuple[str, str, Any], ...] = (
    ("PUT", NS, {"description": "A world"}),
    ("POST", f"{NS}/artifacts/shop", JAR),
    ("PUT", f"{NS}/apps/shop", {"artifact": {"name": "shop", "version": "1.0.0", "scope": "USER"}}),
    ("PUT", f"{NS}/data/datasets/orders", {"typeName": "table"}),
    ("PUT", f"{NS}/data/datasets/bills", {"typeName": "table"}),
    ("PUT", f"{NS}/streams/clicks", {}),
    ("PUT", f"{NS}/streams/logs", {}),
    ("PUT", f"{NS}/securekeys/password", {"description": "Of the shop", "data": "x", "properties": {}}),
)


def change(verb: str, who: str, text: str, *actions: str, kind: str = "USER") -> Call:
    """A grant or a revocation, as CDAP's clients send it."""
    body = {
        "authorizable": write_authorizable(parse(text.format(LAKE))),
        "principal": {"name": who, "type": kind},
        "actions": list(actions),
    }
    return Call(ADMIN, "POST", f"{RIGHTS}/privileges/{verb}", body, "changed")


def world(rng: random.Random) -> list[Call]:
    """The calls that make a world."""
    all_texts = ("namespace:{}", "program:{}.shop.*", *(f"{type}:{{}}.*" for type in OF_EACH_TYPE))
    calls = [change("grant", MAKER, text, "ADMIN") for text in all_texts]
    calls += [Call(MAKER, method, path, body, "made") for method, path, body in MADE]
    calls += [
        Call(MAKER, "PUT", f"{NS}/apps/shop/{program}", {}, HERE_ALONE)
        for program in ("services/web", "workers/clerk")
    ]
    calls.append(Call(ADMIN, "PUT", f"{RIGHTS}/roles/{ROLE}", {}, "changed"))
    holder = rng.choice(HOLDERS)
    calls.append(Call(ADMIN, "PUT", f"{RIGHTS}/user/{holder}/roles/{ROLE}", {}, "changed"))
    return [*calls, *(granted(rng) for _ in range(rng.randint(3, 16)))]


def granted(rng: random.Random, verb: str = "grant") -> Call:
    actions = rng.sample(ACTIONS, rng.choice((1, 1, 1, 2)))
    if rng.random() < 0.2:
        return change(verb, ROLE, rng.choice(TEXTS), *actions, kind="ROLE")
    return change(verb, rng.choice(HOLDERS), rng.choice(TEXTS), *actions)


def questions(rng: random.Random, number: int) -> Iterator[Call]:
    """What people ask, while rights come and go in between."""
    for at in range(number):
        if at % 8 == 7:
            yield granted(rng, rng.choice(("grant", "grant", "revoke")))
            yield Call(ADMIN, *rng.choice(LISTED)[1:], "privileges.list")
            continue
        operation, method, path, body = rng.choice(ASKED)
        yield Call(rng.choice(PEOPLE), method, path, body, operation)


SHOP = f"{NS}/apps/shop"
WEB, CLERK = f"{SHOP}/services/web", f"{SHOP}/workers/clerk"
OF_SHOP = {"artifact": {"name": "shop", "version": "1.0.0", "scope": "USER"}}
ORDERS, TYPE = f"{NS}/data/datasets/orders", {"typeName": "table"}
VERSION = f"{NS}/artifacts/shop/versions/1.0.0"
NEW_KEY = {"description": "", "data": "y", "properties": {}}
Question = tuple[str, str, str, Any]
READING: tuple[Question, ...] = (
    ("namespace.list", "GET", "/v3/namespaces", None),
    ("namespace.get", "GET", NS, None),
    ("namespace.get", "GET", f"{NS}none", None),
    ("artifact.list", "GET", f"{NS}/artifacts", None),
    ("artifact.versions.list", "GET", f"{NS}/artifacts/shop", None),
    ("artifact.get", "GET", VERSION, None),
    ("artifact.get_property", "GET", f"{VERSION}/properties", None),
    ("application.list", "GET", f"{NS}/apps", None),
    ("application.get", "GET", SHOP, None),
    ("application.get", "GET", f"{NS}/apps/none", None),
    ("program.list", "GET", f"{NS}/services", None),
    ("program.list", "GET", f"{NS}/workers", None),
    ("program.get", "GET", WEB, None),
    ("program.get", "GET", CLERK, None),
    *(("program.get_status", "GET", f"{each}/status", None) for each in (WEB, CLERK)),
    ("program.live_info", "GET", f"{WEB}/live-info", None),
    ("program.runs", "GET", f"{WEB}/runs", None),
    ("program.logs", "GET", f"{WEB}/logs", None),
    ("program.get_runtime_args", "GET", f"{WEB}/runtimeargs", None),
    ("program.get_instances", "GET", f"{WEB}/instances", None),
    ("dataset.list", "GET", f"{NS}/data/datasets", None),
    ("dataset.get", "GET", ORDERS, None),
    ("dataset.get", "GET", f"{NS}/data/datasets/bills", None),
    ("dataset.get", "GET", f"{NS}/data/datasets/none", None),
    ("dataset.get_properties", "GET", f"{ORDERS}/properties", None),
    ("dataset_module.list", "GET", f"{NS}/data/modules", None),
    ("dataset_module.get", "GET", f"{NS}/data/modules/none", None),
    ("dataset_type.list", "GET", f"{NS}/data/types", None),
    ("dataset_type.get", "GET", f"{NS}/data/types/none", None),
    ("stream.list", "GET", f"{NS}/streams", None),
    ("stream.get", "GET", f"{NS}/streams/clicks", None),
    ("stream.list", "GET", f"{NS}none/streams", None),
    ("stream.get", "GET", f"{NS}/streams/none", None),
    ("stream.events", "GET", f"{NS}/streams/logs/events", None),
    ("securekey.list", "GET", f"{NS}/securekeys", None),
    ("securekey.read_data", "GET", f"{NS}/securekeys/password", None),
    ("securekey.metadata", "GET", f"{NS}/securekeys/password/metadata", None),
    ("securekey.metadata", "GET", f"{NS}/securekeys/none/metadata", None),
)
DOING: tuple[Question, ...] = (
    ("namespace.create", "PUT", NS, {"description": "Again"}),
    ("namespace.update", "PUT", f"{NS}/properties", {"description": "Shop"}),
    ("artifact.add", "POST", f"{NS}/artifacts/new", JAR),
    ("artifact.add_property", "PUT", f"{VERSION}/properties/a", b"b"),
    ("artifact.add_properties", "PUT", f"{VERSION}/properties", {"a": "c"}),
    ("artifact.remove_property", "DELETE", f"{VERSION}/properties/a", None),
    ("artifact.remove_properties", "DELETE", f"{VERSION}/properties", None),
    ("artifact.delete", "DELETE", f"{NS}/artifacts/new/versions/1.0.0", None),
    ("application.add", "PUT", f"{NS}/apps/new", OF_SHOP),
    ("application.add", "PUT", SHOP, OF_SHOP),
    ("application.update", "POST", f"{SHOP}/update", OF_SHOP),
    ("application.delete", "DELETE", f"{NS}/apps/new", None),
    ("program.stop", "POST", f"{WEB}/stop", None),
    ("program.start", "POST", f"{SHOP}/services/none/start", None),
    ("program.set_runtime_args", "PUT", f"{WEB}/runtimeargs", {"a": "b"}),
    ("program.set_instances", "PUT", f"{WEB}/instances", {"instances": 1}),
    ("dataset.create", "PUT", f"{NS}/data/datasets/new", TYPE),
    ("dataset.create", "PUT", ORDERS, TYPE),
    ("dataset.update", "PUT", f"{ORDERS}/properties", {"a": "b"}),
    ("dataset.truncate", "POST", f"{ORDERS}/admin/truncate", None),
    ("dataset.drop", "DELETE", f"{NS}/data/datasets/new", None),
    ("dataset.drop", "DELETE", f"{NS}/data/datasets/none", None),
    ("dataset_module.delete", "DELETE", f"{NS}/data/modules/none", None),
    ("stream.create", "PUT", f"{NS}/streams/new", {}),
    ("stream.create", "PUT", f"{NS}/streams/clicks", {}),
    ("stream.update", "PUT", f"{NS}/streams/clicks/properties", {"ttl": 60}),
    ("stream.truncate", "POST", f"{NS}/streams/logs/truncate", None),
    ("stream.send_events", "POST", f"{NS}/streams/clicks", b"an event"),
    ("stream.send_events", "POST", f"{NS}/streams/clicks/async", b"an event"),
    ("stream.drop", "DELETE", f"{NS}/streams/new", None),
    ("stream.drop", "DELETE", f"{NS}/streams/none", None),
    ("securekey.create", "PUT", f"{NS}/securekeys/new", NEW_KEY),
    ("securekey.delete", "DELETE", f"{NS}/securekeys/new", None),
    ("securekey.delete", "DELETE", f"{NS}/securekeys/none", None),
)
LISTED = tuple(
    ("privileges.list", "GET", f"{RIGHTS}/{kind}/{name}/privileges", None)
    for kind, name in (*(("user", name) for name in HOLDERS), ("role", ROLE))
)
ASKED = (*READING, *DOING)
