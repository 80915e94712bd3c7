"""What somebody chooses of a list: its columns and rows, and views that they keep under a name."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import ListView
from authzsite.console.kit import form_resume
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display.tables import Table, listed
from authzsite.console.kit.forms import ChoicesField, ConsoleForm, SegmentsField, TextField
from authzsite.console.kit.http import Request, account_of, number_in
from authzsite.console.kit.methods import writes
from authzsite.console.kit.page import say
from authzsite.console.lists.shown import address_of, query_of

MOST = 50
"""So many views somebody keeps of one list."""
LONGEST = 1000
COMPACT = "compact"


class DisplayForm(ConsoleForm):
    """Which columns, and how far the rows stand apart."""

    columns = ChoicesField(required=False)
    rows = SegmentsField(choices=[("roomy", ""), (COMPACT, "")], otherwise="roomy")
    view = TextField(required=False)

    def __init__(self, data: Any, table: Table[Any]) -> None:
        super().__init__(data)
        self.fields["columns"].offer((column.code, str(column.label), "") for column in table.choosable)


class ViewForm(ConsoleForm):
    """The name of a view."""

    name = TextField(
        max_length=60,
        error_messages={
            "required": gettext_lazy("Enter a name for the view."),
            "max_length": gettext_lazy("A name of a view has at most 60 letters."),
        },
    )
    view = TextField(required=False)


@writes
@login_required
def display(request: Request, code: str) -> HttpResponse:
    """Show these columns in the view one is on, or whenever the list opens; and the rows of all lists so."""
    account = account_of(request)
    form = DisplayForm(request.POST, _list(code))
    if form.is_valid():
        columns, view = form.cleaned_data["columns"], _own(request, code, form.cleaned_data["view"])
        if view is not None:
            view.columns = columns
            view.save(update_fields=["columns"])
        else:
            ListView.objects.update_or_create(
                account=account, table=code, name="", defaults={"columns": columns}
            )
        account.compact_lists = form.cleaned_data["rows"] == COMPACT
        account.save(update_fields=["compact_lists"])
    return HttpResponseRedirect(_back(request))


@writes
@login_required
def save(request: Request, code: str) -> HttpResponse:
    """Keep the filters, the order and the columns under a name; one that is used already is written anew."""
    table, back, form = _list(code), _back(request), ViewForm(request.POST)
    query = query_of(urlsplit(back).query)
    if problem := _problem(request, code, form, query):
        say(request, problem)
        return HttpResponseRedirect(back)
    account, name = account_of(request), form.cleaned_data["name"]
    shown = _own(request, code, form.cleaned_data["view"]) or _opening(request, code)
    columns = shown.columns if shown else [column.code for column in table.choosable if column.at_first]
    view, _made = ListView.objects.update_or_create(
        account=account, table=code, name=name, defaults={"columns": columns, "query": query}
    )
    say(request, _("View “%(name)s” is saved") % {"name": name})
    return HttpResponseRedirect(urlsplit(back).path + address_of(view))


def _problem(request: Request, code: str, form: ViewForm, query: str) -> str:
    if not form.is_valid():
        return str(next(iter(form.errors.values()))[0])
    if len(query) > LONGEST:
        return _("Not saved: these filters are too long for a view.")
    views = ListView.objects.filter(account=account_of(request), table=code).exclude(name="")
    if views.count() >= MOST and not views.filter(name=form.cleaned_data["name"]).exists():
        return _("Not saved: you have %(most)s views of this list. Delete one first.") % {"most": MOST}
    return ""


@writes
@login_required
def delete(request: Request, code: str, id: int) -> HttpResponse:
    """Keep a view no longer; the list stays."""
    _list(code)
    view = _own(request, code, str(id))
    if view is None:
        raise Http404
    view.delete()
    say(request, _("View “%(name)s” is deleted") % {"name": view.name})
    return HttpResponseRedirect(urlsplit(_back(request)).path)


def _list(code: str) -> Table[Any]:
    table = listed(code)
    if table is None:
        raise Http404
    return table


def _own(request: Request, code: str, number: str) -> ListView | None:
    """Their own view of that number."""
    views = ListView.objects.filter(account=account_of(request), table=code).exclude(name="")
    key = number_in(number)
    return views.filter(pk=key).first() if key is not None else None


def _opening(request: Request, code: str) -> ListView | None:
    return ListView.objects.filter(account=account_of(request), table=code, name="").first()


def _back(request: Request) -> str:
    asked = request.POST.get("next", "")
    return asked if form_resume.is_own(request, asked) else reverse("console:home")
