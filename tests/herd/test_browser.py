"""A data owner at work: in a browser, with scripts, without, by keyboard, and by turns with `herdsdk`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import herdsdk
import pytest

from accounts import people, tokens
from accounts.models import Principal
from policies.decisions.lookups.entries import entries
from tests.console.conftest import PASSWORD
from tests.console.screens import EVERY_LOOK, WIDTHS, faults
from tests.console.test_browser import EITHER_WAY, visit
from tests.factories import an_account
from tests.herd.test_sdk import _hang_up, create
from tests.herd.test_sdk import entries as entries_of
from tests.herd.world import a_herd, give, namespaces, role, the_herd, the_namespace

__all__ = ["visit"]
pytestmark = pytest.mark.browser
NAMES = {"hedda": "Hedda Herder", "olivia": "Olivia Owner", "dora": "Dora Data"}
Visit = Callable[..., Any]


@pytest.fixture
def site(transactional_db: None, live_server: Any) -> str:
    """A Herd of Hedda's behind a real server; Olivia looks after SALES."""
    herd = a_herd(owner="hedda")
    for name, display in NAMES.items():
        an_account(name, display_name=display, password=PASSWORD)
    namespaces(herd, "SALES", "STOCK")
    role("olivia")
    give("olivia", "SALES", "READ", "GRANT")
    return str(live_server.url)


@pytest.fixture
def sdk(site: str) -> Iterator[Callable[[str], Any]]:
    """`sdk("olivia")`: a client of Herd's own for that user, unchanged."""
    clients = []

    def connect(name: str) -> Any:
        configuration = herdsdk.Configuration()
        configuration.host = f"{site}/herd-app/rest"
        configuration.access_token = tokens.create(people.ensure("user", name))
        clients.append(herdsdk.ApiClient(configuration))
        return clients[-1]

    yield connect
    for client in clients:
        _hang_up(client)


def held(user: str, code: str) -> set[str]:
    pks = [principal.pk for principal in Principal.objects.filter(name__iexact=user)]
    entries_ = entries(the_herd(), objects=[the_namespace(code).id], holders=pks)
    return {permission for item in entries_ for permission in item.privileges}


def box(page: Any, permission: str, user: str) -> Any:
    return page.get_by_label(f"{permission} for {user}", exact=True)


def save(page: Any) -> None:
    page.get_by_role("button", name="Save").click()
    page.get_by_role("status").get_by_text("is changed").wait_for()


@pytest.mark.parametrize("width", WIDTHS)
@EITHER_WAY
def test_entries_are_given_changed_and_taken(scripts: bool, width: int, visit: Visit) -> None:
    page = visit("olivia", scripts=scripts, width=width)
    page.goto(f"/namespaces/{the_namespace('SALES').id}")
    page.get_by_label("User id, or a wildcard").fill("ana")
    page.get_by_label("Read for the new one").check()
    page.get_by_role("button", name="Add this user").click()
    page.get_by_text("ana may read on SALES").wait_for()
    assert held("ana", "SALES") == set()
    save(page)
    assert held("ana", "SALES") == {"READ"}

    box(page, "Execute", "ana").check()
    box(page, "Read", "ana").uncheck()
    if not scripts:
        page.get_by_role("button", name="Preview the change").click()
    page.get_by_text("ana loses Read on SALES").wait_for()
    page.get_by_text("1 person loses rights").first.wait_for()
    save(page)
    assert held("ana", "SALES") == {"EXECUTE"}
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("status").get_by_text("is undone").wait_for()
    assert held("ana", "SALES") == {"READ"}

    page.get_by_role("button", name="None for ana").click()
    page.get_by_text("Nothing is left.").wait_for()
    save(page)
    assert held("ana", "SALES") == set()


def test_each_cell_by_keyboard_alone(visit: Visit) -> None:
    give("ana", "SALES", "READ")
    page = visit("olivia")
    page.goto(f"/namespaces/{the_namespace('SALES').id}")
    focused = "document.activeElement.closest('label')?.innerText.replace(/\\s+/g, ' ').trim()"
    box(page, "Read", "ana").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "Write for ana"
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == "Write for Olivia Owner"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.innerText").startswith("None")
    page.get_by_text("ana may write on SALES").wait_for()
    page.keyboard.press("Tab")  # the whole grid is one stop
    assert page.evaluate("document.activeElement.closest('[data-matrix]')") is None
    for _ in range(6):
        if page.evaluate("document.activeElement.matches('button[type=submit], button:not([type])')"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("is changed").wait_for()
    assert held("ana", "SALES") == {"READ", "WRITE"}


@pytest.mark.seed("S3-025", "S3-026", "S3-027", "S3-028", "S3-023")
def test_browser_and_client_by_turns_without_a_seam(visit: Visit, sdk: Callable[[str], Any]) -> None:
    dora, hedda, client = visit("dora"), visit("hedda"), sdk("dora")
    dora.goto(f"/herds/{the_herd().id}")
    dora.get_by_role("link", name="Create a namespace").click()
    dora.get_by_label("Name").fill("NEW_APP")
    dora.get_by_role("button", name="Create the namespace").click()
    dora.get_by_role("heading", name="NEW_APP").wait_for()
    made = herdsdk.NamespaceApi(client).namespace_get_namespace("new_app")
    assert made.namespace_code == "NEW_APP"

    hedda.goto(f"/namespaces/{the_namespace('NEW_APP').id}")
    hedda.get_by_role("heading", name="Set up a namespace").wait_for()
    hedda.goto(f"/herds/{the_herd().id}/roles?next={the_namespace('NEW_APP').id}")
    hedda.get_by_role("combobox", name="Assign DATA_OWNER to").fill("dora")
    hedda.get_by_role("button", name="Assign DATA_OWNER").click()
    hedda.get_by_role("status").get_by_text("holds DATA_OWNER").wait_for()
    create(sdk("hedda"), "dora", "NEW_APP", "GRANT", "READ")

    hedda.goto(f"/namespaces/{the_namespace('NEW_APP').id}")
    assert box(hedda, "Grant", "Dora Data").is_checked()
    dora.reload()
    dora.get_by_label("User id, or a wildcard").fill("*@corp.com")
    dora.get_by_label("Read for the new one").check()
    dora.get_by_role("button", name="Add this user").click()
    dora.get_by_text("*@corp.com may read").wait_for()
    save(dora)
    api = entries_of(client)
    entry = api.user_namespace_authorization_get_user_namespace_authorization("*@corp.com", "NEW_APP")
    assert entry.namespace_permissions == ["READ"]

    request = herdsdk.UserNamespaceAuthorizationUpdateRequest(namespace_permissions=["WRITE", "EXECUTE"])
    changed = api.user_namespace_authorization_update_user_namespace_authorization(
        "*@CORP.com", "new_app", request
    )
    assert changed.id == entry.id
    dora.reload()
    assert [box(dora, item, "*@corp.com").is_checked() for item in ("Read", "Write", "Execute", "Grant")] == [
        False,
        True,
        True,
        False,
    ]
    box(dora, "Write", "*@corp.com").uncheck()
    dora.get_by_text("*@corp.com loses Write").wait_for()
    save(dora)
    assert api.user_namespace_authorization_get_user_namespace_authorization(
        "*@corp.com", "NEW_APP"
    ) == herdsdk.UserNamespaceAuthorization(
        id=entry.id,
        user_namespace_authorization_key=entry.user_namespace_authorization_key,
        namespace_permissions=["EXECUTE"],
    )
    create(client, "ana", "NEW_APP", "READ")
    dora.goto(f"/herds/{the_herd().id}/users?id=ana")
    dora.get_by_role("link", name="Remove from 1 namespace").click()
    dora.get_by_role("button", name="Remove ana from 1 namespace").click()
    dora.get_by_role("status").get_by_text("no entry left").wait_for()
    listed = api.user_namespace_authorization_get_user_namespace_authorizations_by_namespace("NEW_APP")
    users = [
        authorization.user_namespace_authorization_key.user_id
        for authorization in listed.user_namespace_authorizations
    ]
    assert users == ["*@corp.com", "dora"]

    mine = herdsdk.CurrentUserApi(client).current_user_get_current_user()
    dora.goto(f"/herds/{the_herd().id}/mine")
    page_text = dora.locator("main").inner_text()
    assert mine.security_roles == ["DATA_OWNER"]
    assert "DATA_OWNER" in page_text
    for authorization in mine.namespace_authorizations:
        assert authorization.namespace in page_text
    dora.goto(f"/namespaces/{the_namespace('NEW_APP').id}/history")
    page_text = dora.locator("main").inner_text()
    assert "Dora Data granted Read on NEW_APP to *@corp.com" in page_text
    assert "Dora Data granted Read on NEW_APP to ana" in page_text


@EVERY_LOOK
def test_every_page_of_a_herd_is_accessible_and_fits(looks: Any, visit: Visit) -> None:
    give("*@corp.com", "SALES", "READ", "WRITE_ATTRIBUTE")
    give("a-user-with-a-very-long-name-and-no-break@somewhere.far.example.org", "SALES", "EXECUTE")
    herd, sales, stock = the_herd().id, the_namespace("SALES").id, the_namespace("STOCK").id
    addresses = {
        "herd": f"/herds/{herd}",
        "new": f"/herds/{herd}/new",
        "mine": f"/herds/{herd}/mine",
        "roles": f"/herds/{herd}/roles",
        "a user": f"/herds/{herd}/users?id=*@corp.com",
        "removing": f"/herds/{herd}/users/remove?id=*@corp.com",
        "grid": f"/namespaces/{sales}",
        "grid with more": f"/namespaces/{sales}?wide=1&add=bo&add_may=GRANT",
        "steps": f"/namespaces/{stock}",
        "history": f"/namespaces/{sales}/history",
        "deleting": f"/namespaces/{sales}/delete",
        "taking": f"/herds/{herd}/roles/take?role=DATA_OWNER&who=user:olivia",
    }
    for name in ("hedda", "dora"):
        page = visit(name)
        for what, address in addresses.items():
            page.goto(address)
            assert not faults(page, looks, f"{what} for {name}")
