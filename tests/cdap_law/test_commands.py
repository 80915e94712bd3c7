"""`manage.py createrealm cdap` and `manage.py entity`, as a shell sees them."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from catalog.models import Realm
from catalog.queries import find, mode_of, realm_named
from lakewarden.law.objects import ObjectRef
from tests.cdap_law.world import a_cdap, give, make

pytestmark = pytest.mark.django_db


def run(*words: str) -> tuple[int, str, str]:
    """The exit code, and what was written to both sides."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(*words, stdout=out, stderr=err)
    except SystemExit as end:
        return int(end.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def the_realm(name: str) -> Realm:
    realm = realm_named(name)
    assert realm is not None
    return realm


@pytest.mark.seed("S1-014", "S1-017")
@pytest.mark.parametrize("policy", ["3.4", "3.5", "4.3"])
def test_a_realm_is_made_with_its_generation(policy: str) -> None:
    words = ("--policy", policy, "--owner", "boss", "--authorization", "off", "--authentication", "off")
    assert run("createrealm", "cdap", "c", *words, "--master-user", "cdap", "--admin-group", "sentry")[0] == 0
    realm = the_realm("c")
    assert realm.law == f"cdap{policy.replace('.', '')}"
    assert realm.settings == {
        "policy": policy,
        "authentication": "off",
        "master_user": "cdap",
        "admin_group": "sentry",
    }
    assert mode_of(realm.pk) == "off"


def test_the_latest_generation_is_the_usual_one() -> None:
    assert run("createrealm", "cdap", "c", "--owner", "boss")[0] == 0
    assert the_realm("c").law == "cdap43"
    assert mode_of(the_realm("c").pk) == "on"


def test_only_a_cdap_has_a_generation() -> None:
    code, _, err = run("createrealm", "herd", "h", "--policy", "3.5")
    assert (code, err.count("\n")) == (2, 1)
    assert realm_named("h") is None


def test_entities_are_made_changed_read_and_deleted() -> None:
    a_cdap("c")
    assert run("entity", "c", "create", "namespace:ns1", "dataset:ns1.a.b", "--principal", "etl")[0] == 0
    assert find(ObjectRef("dataset", "c", ("ns1", "a.b"))) is not None
    assert "etl" in run("entity", "c", "get", "dataset:ns1.a.b")[1]
    assert run("entity", "c", "update", "dataset:ns1.a.b", "--principal", "night")[0] == 0
    assert "night" in run("entity", "c", "get", "dataset:ns1.a.b")[1]
    assert run("entity", "c", "delete", "namespace:ns1")[0] == 0
    assert find(ObjectRef("dataset", "c", ("ns1", "a.b"))) is None


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("create", "namespace:ns1"), 1, "already exists"),
        (("create", "dataset:ns9.a"), 1, "not found"),
        (("get", "dataset:ns1.none"), 1, "not found"),
        (("delete", "dataset:ns1.none"), 1, "not found"),
        (("create", "dataset:ns1.new", "--as", "user:ana"), 1, "not authorized"),
        (("delete", "namespace:ns1", "--as", "user:ana"), 1, "not authorized"),
        (("update", "namespace:ns1", "--as", "user:ana"), 1, "not authorized"),
        (("create", "dataset"), 2, "Cannot extract the entity type"),
        (("create", "teapot:ns1"), 2, "does not support authorization"),
        (("create", "dataset:ns1.x", "--as", "ana"), 2, "names no principal"),
    ],
)
def test_what_goes_wrong_is_one_line(words: tuple[str, ...], code: int, told: str) -> None:
    root = a_cdap("c")
    make(root, "namespace:ns1", "dataset:ns1.a")
    output, _, err = run("entity", "c", *words)
    assert (output, err.count("\n")) == (code, 1)
    assert told in err


def test_each_entity_is_tried() -> None:
    root = a_cdap("c")
    make(root, "namespace:ns1")
    give(root, "ana", "ADMIN on dataset:ns1.a", "ADMIN on dataset:ns1.c")
    names = ("dataset:ns1.a", "dataset:ns1.b", "dataset:ns1.c")
    code, out, err = run("entity", "c", "create", *names, "--as", "user:ana")
    assert (code, out.count("created"), err.count("not authorized")) == (1, 2, 1)


def test_a_pattern_deletes_what_one_may_and_names_the_rest() -> None:
    root = a_cdap("c", "3.4")
    make(root, "namespace:ns1", "stream:ns1.a", "stream:ns1.b")
    give(root, "ana", "ADMIN on stream:ns1.a")
    code, out, err = run("entity", "c", "delete", "stream:ns1.*", "--as", "user:ana")
    assert (code, out) == (1, "deleted stream:ns1.a\n")
    assert "left stream:ns1.b" in err
