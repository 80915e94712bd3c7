"""Every form of the console as its page draws it, filled in so that the right person saves it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.test import Client

from policies.decisions import slices
from tests.console.site_pages import ADMIN as SITE_ADMIN
from tests.console.site_pages import ROOMS, ROOMS_OUT_THERE

ROOM = {name: (who, address) for name, who, address in (*ROOMS, *ROOMS_OUT_THERE)}


@dataclass
class Drawn(HTMLParser):
    """The forms of a page that post, by where they go: what a browser would send of them untouched."""

    address: str
    forms: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    _values: dict[str, list[str]] | None = None
    _select: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._begin(attributes)
        if self._values is None or "disabled" in attributes:
            return
        name, kind = attributes.get("name", ""), attributes.get("type", "")
        if tag == "select":
            self._select = name
        elif tag == "option" and "selected" in attributes:
            self._values[self._select] = [attributes.get("value", "")]
        elif tag == "button" and name == "step" and attributes.get("value") == "save":
            self._values[name] = ["save"]
        elif tag == "textarea" and name:
            self._values.setdefault(name, [""])
        elif tag == "input" and name and (kind not in ("checkbox", "radio") or "checked" in attributes):
            ticked = "on" if kind in ("checkbox", "radio") else ""
            self._values.setdefault(name, []).append(attributes.get("value", ticked))

    def _begin(self, attributes: dict[str, str]) -> None:
        posts = attributes.get("method", "").lower() == "post"
        values: dict[str, list[str]] = {}
        self._values = (
            self.forms.setdefault(attributes.get("action") or self.address, values) if posts else None
        )

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._values = None


@dataclass(frozen=True)
class Form:
    """A form in a room of `ROOMS`: what is typed in it, and who else may send it so that it saves."""

    room: str
    typed: Mapping[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    page: str = ""
    """Another address of the same room's person, where the room's own has not the form."""
    to: str = ""
    """Where it goes, if not to its page."""
    by: str = ""
    """Who fills it in, if not the room's person."""
    after: Form | None = None
    """What is sent before, by who fills that in."""
    drawn: bool = True
    """Whether a page draws it; a form of a message that passes is sent as it would be."""

    def __str__(self) -> str:
        return f"{self.room} {self.to}".strip()

    @property
    def who(self) -> str:
        return self.by or ROOM[self.room][0]

    @property
    def address(self) -> str:
        return self.page or ROOM[self.room][1]

    def goes_to(self, numbers: Mapping[str, Any]) -> str:
        return (self.to or self.address).format(**numbers)

    def body(self, client: Client, numbers: Mapping[str, Any]) -> dict[str, list[str]]:
        """What a browser sends when the form is filled in on its page."""
        values = self._untouched(client, numbers) if self.drawn else {}
        typed = {name.format(**numbers): [text.format(**numbers)] for name, text in self.typed.items()}
        return {**values, **typed}

    def _untouched(self, client: Client, numbers: Mapping[str, Any]) -> dict[str, list[str]]:
        page = self.address.format(**numbers)
        drawn = Drawn(page)
        drawn.feed(client.get(page).content.decode())
        path = self.goes_to(numbers).partition("?")[0]
        [values] = [values for to, values in drawn.forms.items() if to.partition("?")[0] == path]
        values.pop("csrfmiddlewaretoken", None)
        return values


WHY = {"reason": "Asked for by the board"}
LATER = {"date": "{next_month}"}
ABOVE, ADMIN, ANYBODY = ("owner above",), ("admin",), ("anybody",)
FORMS: tuple[Form, ...] = (
    Form("Inbox", {"do": "all"}, others=ANYBODY),
    Form("Inbox, settings", {"address": "new@example.org"}, others=ANYBODY),
    Form("Settings", {"do": "token"}, others=ANYBODY),
    Form("Requests, together", {"step": "approve"}, others=ABOVE),
    Form("Request", {"answer": "For the returns of May"}, to="/requests/{request_asked}/answer"),
    Form("Request", WHY, to="/requests/{request_asked}/withdraw"),
    Form("Request, decide", {"step": "approve"}, others=ABOVE),
    Form("Request, new", {**WHY, "step": "send"}, others=ANYBODY),
    Form("Requests, rules", {"min_reason": "30"}, others=ABOVE),
    Form("Requests, while away", {"who": "user:mia", **LATER}, others=ANYBODY),
    Form("Requests, while away", {"number": "{substitute}"}, to="/profile/away/end", others=ABOVE),
    Form("Review", {"d-{row_id}": "keep", "r-{row_id}": "Still works here", "step": "submit"}),
    Form("Review, one row", {"d-{row_id}": "keep", "r-{row_id}": "Still works here", "step": "submit"}),
    Form("Review, pass on", {"who": "user:marek", **WHY}),
    Form("Review, end it", WHY, others=ABOVE),
    Form("Review, more time", WHY, others=ABOVE),
    Form("Review, new", {"title": "Spring", "on": "{sales}", "step": "save"}, others=("owner",)),
    Form("Hint, mend", WHY, others=ABOVE),
    Form("Hint, dismiss", WHY, others=ABOVE),
    Form("Object, give a duty", WHY),
    Form("Object, take a duty", WHY),
    Form("Object, owner", WHY, others=("owner",)),
    Form("Grant", WHY, others=ABOVE),
    Form("Revoke", WHY, others=ABOVE),
    Form("Revoke", to="/undo/{refunds_grant}", drawn=False),
    Form("Many, grant", WHY, others=ABOVE),
    Form("Many, revoke", WHY, others=ABOVE),
    Form("Person, roles", {"role": "{role}"}),
    Form("Person, leaving", WHY, others=("owner", "admin")),
    Form("Person, same", WHY, others=("owner",)),
    Form("Group, put in", WHY),
    Form("Group, take out", WHY),
    Form("Group, new", {"name": "falcons"}),
    Form("Role, new", {"name": "falconers"}),
    Form("Role, give", WHY),
    Form("Role, take back", WHY),
    Form("Role, rights", {"MODIFY_TABLE": "allow"}),
    Form("Role, many rights", {"MODIFY_TABLE": "allow"}),
    Form("Role, delete", WHY),
    Form("Owners, hand over", WHY, others=("owner",)),
    Form("Overview of a realm", to="/pipelines/start", others=ADMIN),
    Form("Realm, mode", {"name": "demo", **WHY}),
    Form("Realm, add a member", {"name": "erika"}),
    Form("Realm, take a member out", WHY),
    Form("Realm, settings", {"master_user": "other"}),
    Form("Realm, settings", WHY, page="/realms/{second_cdap}/raise?to=4.3", by="cora"),
    Form("Realm, retention", {"keep": "days", "days": "900"}),
    Form("Realm, policy file", {"file": "{policy_file}", "plan": "{policy_plan}", "step": "save"}),
    Form("Overview of a realm", WHY, page="/overview/{root}/files/{policy_scope}/let-go"),
    Form("Realm, new", {"name": "lake", "owner": "ana"}),
    Form("Realm, new", WHY, page="/realms/{closed}/repair?who=user:ana"),
    Form("Separation, new", {"name": "Two", "one_role": "{payers}", "other_role": "{role}"}, others=ADMIN),
    Form("Separation, an exception", {"owner": "marek", **LATER, **WHY}, others=ADMIN),
    Form("Separation, end a rule", WHY, others=ADMIN),
    Form("Emergencies", {"what": "shop.sales.orders", **WHY}, by="sven"),
    Form("Emergency", {"do": "end"}, others=ADMIN),
    Form("Account", {"do": "link"}),
    Form("Account, disable", WHY),
    Form("Account, bind", {**WHY, "who": "user:tomas"}),
    Form("Account, new", {"name": "falco"}),
    Form("Service account", {"do": "token"}, others=("owner",)),
    Form("Service account, new", {"name": "loader", "who": "user:ana"}),
    Form("Service account, who answers", WHY),
    Form("Service account, disable", WHY),
    Form("Herd, roles", {"who": "mia", "role": "DATA_OWNER"}),
    Form("Herd, roles", WHY, page="/herds/{herd}/roles/take?role=DATA_OWNER&who=user:dora"),
    Form("Herd, a user", WHY, page="/herds/{herd}/users/remove?id=*@corp.com", others=("auditor",)),
    Form("Herd, new namespace", {"name": "OTHER", "charge_code": "X1"}, others=ANYBODY),
    Form("Namespace", {"may": "READ user:dora"}),
    Form("Namespace, delete", WHY, page="/namespaces/{fresh}/delete"),
    Form("CDAP, give", WHY, others=ADMIN),
    Form("CDAP, revoke", WHY, others=ADMIN),
    Form("CDAP, entities", {"entity": "dataset:ns1.fresh"}, page="/instances/{cdap}/entities/new"),
    Form("CDAP, entities", WHY, page="/instances/{cdap}/entities/delete?text=dataset:ns1.items"),
)
_DISMISS = Form("Hint, dismiss", WHY)
_DECIDE = Form("Review, one row", {"d-{row_id}": "keep", "r-{row_id}": "Still works here", "step": "submit"})
_EXCEPT = Form("Separation, an exception", {"owner": "marek", **LATER, **WHY})
_START = Form("Overview of a realm", to="/pipelines/start")
AFTER_ANOTHER = (
    Form("Hint, dismiss", to="/hints/{hint}/back", drawn=False, others=ABOVE, after=_DISMISS),
    Form(
        "Review, one row",
        {"version": "1"},
        to="/reviews/{review}/rows/{row}/back",
        drawn=False,
        after=_DECIDE,
    ),
    Form(
        "Separation, an exception",
        WHY,
        page="/separation/{rule}/let/end?who=user:ana",
        others=ADMIN,
        after=_EXCEPT,
    ),
    Form("Overview of a realm", to="/pipelines/runs/{new_run}/stop", drawn=False, others=ADMIN, after=_START),
)
"""They take back what a form did before."""
FORMS += AFTER_ANOTHER
"""Rightly sent by others too: the auditor owns the data of a namespace, the owner keeps the service."""

SAVE_NOTHING = {
    "grant_preview",
    "many_preview",
    "cdap_grant_preview",
    "namespace_preview",
    "request_foresee",
    "object_evidence",
    "review_evidence",
    "integrity_verify",
    "review_row_also",
}
"""Previews, downloads, a reading of the record, and choices that are not submitted yet."""
OF_ONES_OWN = {
    *("sign_in", "sign_out", "resume", "preferences", "welcome"),
    *("again", "oidc_begin", "second_factor", "second_step"),
    *("list_display", "list_view_save", "list_view_delete"),
    "request_apply",  # an approved plan, by its author alone: tests/console/requests/test_plans.py
}
"""There is nothing of anybody else's to change."""
_OPERATIONS = {"rate": {**WHY, "rate": "7"}, "share": {**WHY, "share": "11"}}
_RENEWED = {"password": "{password}", "policy": "report", "step": "connect"}
FORMS_OUT_THERE = (
    Form("Realm, connect", _RENEWED, page="/realms/{root}/connect?kind=postgresql&catalog=lake"),
    Form("Sync, discovery", drawn=False),
    Form("Sync, discovery", {"nightly": "no"}),
    Form("Sync, discovery", WHY, page="/sync/{backend}/discover/owner?name=mia"),
    Form("Sync, gone", {**WHY, "object": "{lake_items}"}),
    Form("Sync of a catalog", to="/sync/findings/{stuck}/stuck", drawn=False),
    Form("Sync of a catalog", WHY, page="/sync/findings/{stuck}/leave"),
    Form("Sync of a catalog", to="/sync/runs/{sync_run}/items/{failed}/retry", drawn=False),
    Form("Sync of a catalog", WHY, to="/sync/{backend}/retry", drawn=False),
    Form("Sync, pause", WHY),
    *(
        Form("Sync of a catalog", WHY, to=f"/sync/{{backend}}/{deed}", drawn=False)
        for deed in ("report", "look")
    ),
    *(Form("Sync, pause", values, page=f"/sync/{{backend}}/{deed}") for deed, values in _OPERATIONS.items()),
    Form("Sync, accept", WHY, others=ABOVE),
    Form("Sync, revoke", WHY, others=ABOVE),
    Form("Sync, adopt", WHY),
    Form("Sync, several foreign grants", WHY),
)
"""The same of a catalog with a database behind it, as `mirrored` makes it."""
FORM_OF_WHAT_WAITS = Form("Sync of a catalog", WHY, page="/sync/{backend}/agree", by=SITE_ADMIN)
"""It comes before a connection may change anything, and is gone afterwards."""
OUT_THERE = ("backend", "foreign", "sync_run", "lake_items", "stuck", "failed", "password")
"""Numbers that only a site with a database behind it has."""


IGNORED = {"policies_accessrecord", "policies_accesscounter", "policies_accessrepeat", "accounts_signin"}
"""What asking leaves behind, whoever asks."""


def state() -> dict[str, tuple[int, int]]:
    """Each table of the site with the number of its rows and a sum over their versions."""
    tables = sorted(
        {
            model._meta.db_table
            for model in apps.get_models(include_auto_created=True)
            if model._meta.managed and model._meta.app_label in ("accounts", "catalog", "policies")
        }
        - IGNORED
    )
    sums = "coalesce(sum(hashtext(ctid::text || xmin::text)::bigint), 0)"
    asked = " UNION ALL ".join(f"SELECT '{table}', count(*), {sums} FROM {table}" for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(asked)
        return {table: (rows, versions) for table, rows, versions in cursor.fetchall()}


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [table for table in before if before[table] != after[table]]


@contextmanager
def taken_back() -> Iterator[None]:
    """What is done inside has not been done."""
    atomic: Any = transaction.atomic()
    atomic._from_testcase = True  # a change refuses to be part of anything but a test
    with atomic:
        yield
        transaction.set_rollback(True)
    slices.forget_all()
