"""What somebody chooses of a list: columns, order, how far rows stand apart, and views under a name."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.test import Client

from accounts.models import ListView, User
from accounts.people import ensure
from catalog.nodes import Node
from tests.console.visitors import KEPT, Page
from tests.factories import a_person, a_role, admit

Enter = Callable[[str], Client]
PAGES = (
    Page("list_display", "/lists/people/display", KEPT, 302, 302, 302, 302, 302, 302, 302, "post"),
    Page("list_display", "/lists/nothing/display", KEPT, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("list_view_save", "/lists/people/views", KEPT, 302, 302, 302, 302, 302, 302, 302, "post"),
    Page("list_view_delete", "/lists/people/views/1/delete", KEPT, 404, 404, 404, 404, 404, 404, 404, "post"),
)


def heads(client: Client, address: str) -> list[str]:
    found = re.findall(r'<th role="columnheader".*?</th>', client.get(address).content.decode(), re.S)
    return [" ".join(re.sub(r"<[^>]+>", " ", head).split()) for head in found]


def names(client: Client, address: str) -> list[str]:
    return names_in(client.get(address).content.decode())


def names_in(html: str) -> list[str]:
    return re.findall(r"<b>(.*?)</b>", html.partition("<tbody")[2])


def kept(client: Client, name: str, address: str, table: str = "people") -> str:
    """The address to which a view that was saved of an address leads."""
    return client.post(f"/lists/{table}/views", {"name": name, "next": address}).headers["Location"]


def test_chosen_columns_stay_for_who_chose_them_alone(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    assert heads(olivia, "/people") == ["Name ↑", "Kind", "In groups", "Actions"]
    chosen = {"columns": ["id", "no_column"], "rows": "roomy", "next": "/people"}
    assert olivia.post("/lists/people/display", chosen).headers["Location"] == "/people"
    assert heads(signed_in("olivia"), "/people") == ["Name ↑", "Identifier", "Actions"]
    assert heads(signed_in("marek"), "/people") == ["Name ↑", "Kind", "In groups", "Actions"]


def test_without_any_column_chosen_the_name_of_each_row_stays(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    olivia.post("/lists/people/display", {"next": "/people"})
    assert heads(olivia, "/people") == ["Name ↑", "Actions"]


def test_the_file_holds_every_column_whatever_the_page_shows(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    olivia.post("/lists/people/display", {"next": "/people"})
    content = b"".join(olivia.get("/people.csv").streaming_content).decode()  # type: ignore[attr-defined]
    assert content.splitlines()[0].lstrip("\ufeff") == "kind,name,shown as,groups"


def test_compact_rows_count_for_every_list(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    assert "data-rows" not in olivia.get("/roles").content.decode()
    olivia.post("/lists/people/display", {"columns": ["kind"], "rows": "compact", "next": "/people"})
    assert 'data-rows="compact"' in olivia.get("/roles").content.decode()


def test_a_list_in_another_order_goes_on_in_it_page_by_page(shop: Node, signed_in: Enter) -> None:
    for number in range(60):
        a_person(f"p{number:02}")
        admit(shop, f"p{number:02}")
    olivia, seen, address = signed_in("olivia"), [], "/people?sort=-kind"
    while address:
        html = olivia.get(address).content.decode()
        seen += names_in(html)
        onward = re.search(r'href="([^"]+)"\s+rel="next"', html)
        address = "/people" + onward[1].replace("&amp;", "&") if onward else ""
    assert len(seen) == len(set(seen)) > 60
    kinds = [ensure_kind(name) for name in seen if not name.startswith("p")]
    assert kinds == sorted(kinds, reverse=True)
    assert set(seen) >= {f"p{number:02}" for number in range(60)}
    assert re.search(
        r'aria-sort="descending">\s*<a href="\?sort=kind">', olivia.get("/people?sort=-kind").content.decode()
    )


def ensure_kind(label: str) -> str:
    groups = {"analysts", "staff"}
    return "group" if label in groups else "user"


def test_a_view_keeps_filters_order_and_columns(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    olivia.post("/lists/people/display", {"columns": ["id"], "next": "/people"})
    address = kept(olivia, "Teams", "/people?kind=group&sort=-name&after=3")
    [view] = ListView.objects.filter(name="Teams")
    assert address == f"/people?kind=group&sort=-name&view={view.pk}"
    olivia.post("/lists/people/display", {"columns": ["kind"], "next": "/people"})
    assert heads(olivia, address) == ["Name ↓", "Identifier", "Actions"]
    assert heads(olivia, "/people") == ["Name ↑", "Kind", "Actions"]
    assert names(olivia, address) == ["staff", "analysts"]
    html = olivia.get(address).content.decode()
    assert re.search(r'aria-current="true">Teams</a>', html)
    assert re.search(rf'name="view"\s+value="{view.pk}"', html)


def test_a_view_whose_filters_were_changed_offers_to_save_them(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    address = kept(olivia, "Teams", "/people?kind=group")
    [view] = ListView.objects.filter(name="Teams")
    assert "Save changes to" not in olivia.get(address).content.decode()
    changed = f"/people?kind=user&view={view.pk}"
    assert "Save changes to “Teams”" in olivia.get(changed).content.decode()
    olivia.post("/lists/people/views", {"name": "Teams", "view": view.pk, "next": changed})
    assert [one.query for one in ListView.objects.filter(name="Teams")] == ["kind=user"]


def test_a_view_of_somebody_else_is_not_there(shop: Node, signed_in: Enter) -> None:
    kept(signed_in("olivia"), "Teams", "/people?kind=group")
    [view] = ListView.objects.filter(name="Teams")
    marek = signed_in("marek")
    html = marek.get(f"/people?view={view.pk}").content.decode()
    assert "Teams" not in html
    assert marek.post(f"/lists/people/views/{view.pk}/delete").status_code == 404
    marek.post("/lists/people/display", {"columns": [], "view": view.pk, "next": "/people"})
    view.refresh_from_db()
    assert view.columns == ["kind", "groups"]


def test_a_view_is_deleted_and_the_list_stays(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    address = kept(olivia, "Teams", "/people?kind=group")
    [view] = ListView.objects.filter(name="Teams")
    answer = olivia.post(f"/lists/people/views/{view.pk}/delete", {"next": address})
    assert answer.headers["Location"] == "/people"
    assert not ListView.objects.filter(name="Teams").exists()
    assert names(olivia, address)


def test_a_view_needs_a_name_and_there_is_an_end_of_them(shop: Node, signed_in: Enter) -> None:
    olivia, account = signed_in("olivia"), User.objects.get(username="olivia")
    assert kept(olivia, "", "/people?kind=group") == "/people?kind=group"
    assert "Enter a name for the view." in olivia.get("/people").content.decode()
    ListView.objects.bulk_create(ListView(account=account, table="people", name=str(n)) for n in range(50))
    kept(olivia, "One more", "/people")
    assert "you have 50 views" in olivia.get("/people").content.decode()
    assert not ListView.objects.filter(name="One more").exists()


def test_a_form_that_names_another_site_leads_home(shop: Node, signed_in: Enter) -> None:
    answer = signed_in("olivia").post("/lists/people/display", {"next": "https://elsewhere.example/people"})
    assert answer.headers["Location"] == "/"


def test_every_long_list_has_views(shop: Node, signed_in: Enter) -> None:
    a_role(shop, "reading", "allow SELECT_TABLE on schema shop.sales")
    olivia = signed_in("olivia")
    for table, address in {
        "people": "/people",
        "roles": "/roles",
        "owners": "/owners",
        "catalog": f"/catalog/{shop.id}",
        "history": "/history",
    }.items():
        assert f'action="/lists/{table}/views"' in olivia.get(address).content.decode(), address
        assert "view=" in kept(olivia, "Mine", address, table)


def test_who_is_erased_leaves_no_view(shop: Node, signed_in: Enter) -> None:
    kept(signed_in("ana"), "Mine", "/people")
    User.objects.get(principal=ensure("user", "ana")).delete()
    assert not ListView.objects.exists()
