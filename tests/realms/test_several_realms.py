"""A site with several realms of each kind: every page answers, none tells of a realm one is not in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.console.site_pages import ADMIN
from tests.kept import kept
from tests.realms.world import HIDDEN, STRANGERS, several_realms, text_of

Enter = Callable[[str], Client]

PARAMETER = re.compile(r"<(?:(\w+):)?(\w+)>")

site = kept(several_realms)


@pytest.fixture(autouse=True)
def _an_admin(settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})


def addresses(numbers: list[int]) -> Iterator[str]:
    """Every address of the console that a browser may ask for, with each of the numbers in it."""
    for route in _routes(get_resolver().url_patterns):
        parameters = PARAMETER.findall(route)
        if any(kind not in ("number", "int") for kind, _ in parameters):
            continue  # texts: asked for by name in test_names_of_another_realm
        if route.startswith(("api/", "herd-app/", "v1/", "v3/", "authz/", "access/", "static/")):
            continue
        for number in numbers if parameters else [0]:
            yield "/" + PARAMETER.sub(str(number), route)


def _routes(patterns: list[Any], before: str = "") -> Iterator[str]:
    for each in patterns:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _routes(each.url_patterns, route)
        elif isinstance(each, URLPattern):
            yield route.lstrip("^").rstrip("$")


@pytest.mark.parametrize("name", ["olivia", "ana", "marek", "dora", "erik", "zebra_owner", "cora", ADMIN])
def test_the_catalog_lists_the_realms_one_may_see(site: dict[str, int], signed_in: Enter, name: str) -> None:
    answer = signed_in(name).get("/catalog")
    assert answer.status_code == 200
    page = answer.content.decode()
    assert ("zebra_lake" in page) == (name == "zebra_owner")
    for realm in ("herd", "second_herd", "cdap", "second_cdap"):
        assert f">{realm}<" in page


@pytest.mark.parametrize(
    "name",
    [name if name == "marek" else pytest.param(name, marks=pytest.mark.slow) for name in STRANGERS],
)
def test_no_page_tells_of_a_realm_one_is_not_in(site: dict[str, int], signed_in: Enter, name: str) -> None:
    client = signed_in(name)
    hidden = [site[f"zebra_{part}"] for part in ("root", "table", "role", "clerk")]
    asked = [address for address in addresses(hidden) if address != "/sign-out"]
    pages = [address for address in asked if not re.search(r"\d", address)]
    # the pages once more, for what they tell of the refusals before
    telling = [address for address in [*asked, *pages] if _tells_or_fails(client, address)]
    assert telling == []


def _tells_or_fails(client: Client, address: str) -> bool:
    answer = client.get(address)
    return answer.status_code >= 500 or HIDDEN in text_of(answer)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["olivia", "marek", "dora", "hedda", "zebra_owner", ADMIN])
def test_every_page_answers_about_everything_there_is(
    site: dict[str, int], signed_in: Enter, name: str
) -> None:
    client = signed_in(name)
    asked = [address for address in addresses(sorted(set(site.values()))) if address != "/sign-out"]
    assert [address for address in asked if client.get(address).status_code >= 500] == []
