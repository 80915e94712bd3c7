"""The page of a catalog says whether its own system guards it, or the console alone."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from accounts import people
from tests.api.world import make_shop


@pytest.mark.django_db
def test_a_catalog_that_is_not_connected_is_guarded_by_the_console_alone() -> None:
    shop = make_shop()
    browser = Client()
    browser.force_login(people.make_account("marek"))
    page = browser.get(reverse("console:object", args=[shop.catalog.id])).content.decode()
    assert "By the console alone" in page
    schema = browser.get(reverse("console:object", args=[shop.sales.id])).content.decode()
    assert "By the console alone" not in schema
