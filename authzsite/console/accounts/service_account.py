"""A service account: who answers for it, its tokens, whether it is enabled."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache

from accounts.entering import able
from accounts.models import Keeping, Principal, Token, User
from authzsite.console.accounts import site_admins, tokens
from authzsite.console.accounts.views import admin_only, choosing, reason_in, service_state
from authzsite.console.history import timeline
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Crumbs, Diff, DiffLine, Fact, Facts, Note, Reason
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.principal_picker import Among
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.roles.views import nonce_in
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.decisions.site import named
from policies.errors import PolicyError
from policies.record import history
from policies.services import accounts
from policies.services.grants import revision_now

ADMIN = "why-not-admin"


@dataclass(frozen=True)
class Kept:
    """A service account as one of its keepers, or a site admin, sees it."""

    service: Principal
    asker: Principal

    @cached_property
    def keeper(self) -> Principal | None:
        row = Keeping.objects.open().filter(service=self.service).select_related("keeper").first()
        return row.keeper if row else None

    @cached_property
    def enabled(self) -> bool:
        return not User.objects.filter(principal=self.service, is_active=False).exists()

    @cached_property
    def answered(self) -> bool:
        return self.keeper is not None and self.keeper.pk in able([self.keeper.pk])

    @cached_property
    def runs_the_site(self) -> bool:
        return bool(site_permissions.ask_admin(self.asker))

    def actions(self) -> list[Action]:
        number, locked = [self.service.pk], "" if self.runs_the_site else ADMIN
        told = [
            Action("What it reaches", reverse("console:person", args=number), "plain"),
            Action("Name who answers", reverse("console:service_keeper", args=number), reason=locked),
        ]
        if self.enabled:
            url = reverse("console:service_disable", args=number)
            told.append(Action("Disable", url, "danger", reason=locked))
        return told

    def facts(self) -> Facts:
        keeper = self.keeper
        url = reverse("console:person", args=[keeper.pk]) if keeper else ""
        note = "cannot sign in any more" if keeper and not self.answered else ""
        return Facts(
            (
                Fact("State", state=service_state(enabled=self.enabled, answered=self.answered)),
                Fact("Answers for it", keeper.label if keeper else "Nobody", url, note),
                Fact("Last used", self._used()),
            )
        )

    def _used(self) -> str:
        rows = Token.objects.filter(principal=self.service, last_used__isnull=False).order_by("-last_used")
        last = rows.values_list("last_used", flat=True).first()
        return words.ago(last) if last else "Never"


def _service(request: Request, id: int) -> Kept:
    """The service account; not found for who neither keeps it nor runs the site."""
    asker = asker_of(request)
    found = Principal.objects.filter(pk=id, kind=Principal.Kind.SERVICE).first()
    if found is None or not site_permissions.ask_keeper(asker, found):
        raise Http404
    return Kept(found, asker)


@never_cache
@reads_and_writes
@signed_in
def room(request: Request, id: int) -> HttpResponse:
    """Its tokens, made and taken back here; enabling it again is a button too."""
    kept = _service(request, id)
    if request.method != "POST":
        return _show(request, kept, tokens.Form())
    actor, do = Actor(kept.asker, "console"), request.POST.get("do", "")
    if do == "token":
        form = tokens.Form.read(request.POST)
        if not kept.enabled:
            form.problems["scope"] = "It is disabled: a token would open nothing."
        form = form.make(kept.service, by=actor)
        return _show(request, kept, form, 422 if form.problems else 200)
    if do == "revoke":
        say(request, tokens.revoke(request.POST, kept.service, by=actor))
    if do == "enable" and kept.runs_the_site:
        account = accounts.of_service(kept.service)
        accounts.open_again(account, by=actor, authority=site_permissions.of_admin(actor))
        say(request, f"{kept.service.label} acts again; its tokens open what they did")
    return redirect("console:service", id=id)


def _show(request: Request, kept: Kept, form: tokens.Form, status: int = 200) -> HttpResponse:
    service = kept.service
    seen = history.sight(kept.asker, [])
    latest = history.page(history.Filter(person=service), seen, limit=5).entries
    text = f"Only a site admin can create, disable or hand over a service account. {site_admins.who_words()}"
    context = {
        "crumbs": Crumbs((("Accounts", reverse("console:accounts")),) if kept.runs_the_site else ()),
        "heading": service.label,
        "kind": "Service account",
        "lead": "A program that acts under a name of its own, with the rights that were given to it.",
        "actions": kept.actions(),
        "facts": kept.facts(),
        "reason": None if kept.runs_the_site else Reason(ADMIN, text),
        "kept": kept,
        "latest": timeline.timeline(timeline.rows(latest)[:8]),
        **tokens.shown(service, form, who="it", may=True),
    }
    revision = revision_now()
    return page(
        request, "console/accounts/service.html", context, room="accounts", revision=revision, status=status
    )


# Making, naming who answers


def _keepers(text: str) -> QuerySet[Principal]:
    return named(("user", "group"), text)


@reads_and_writes
@signed_in
@admin_only
def new(request: Request) -> HttpResponse:
    """A name, and who answers for it."""
    asked = choosing(request, _keepers, "Nobody of that name is known. Make the account first.")
    name = asked.data.get("name", "").strip()[:255].replace("\0", "")

    def make(actor: Actor) -> Principal:
        authority, keeper = site_permissions.of_admin(actor), asked.chosen[0]
        return accounts.make_service(name, keeper, by=actor, authority=authority, reason=asked.reason)

    frame = {
        "heading": "Make a service account",
        "place": "A program that acts under a name of its own. A group outlives the people in it.",
        "back": reverse("console:accounts"),
        "button": f"Make {name}" if name else "Make it",
        "name_label": "Name of the service account",
        "name": name,
        "preview_empty": "Name who answers for it: a person, or a group whose people make its tokens.",
        "diff": _answers(asked, name or "it", None),
    }
    return _form(request, asked, frame, make, f"Service account {name} is made; it has no token yet")


@reads_and_writes
@signed_in
@admin_only
def keeper(request: Request, id: int) -> HttpResponse:
    """Who answers for it from now on."""
    kept = _service(request, id)
    asked = choosing(request, _keepers, "Nobody of that name is known.")

    def name_keeper(actor: Actor) -> Principal:
        authority, one = site_permissions.of_admin(actor), asked.chosen[0]
        accounts.set_keeper(kept.service, one, by=actor, authority=authority, reason=asked.reason)
        return kept.service

    frame = {
        "heading": f"Who answers for {kept.service.label}",
        "place": "Its keeper makes the tokens of a service account and answers for what it does.",
        "back": reverse("console:service", args=[id]),
        "button": f"Let {terms.spoken(asked.chosen[0])} answer" if asked.chosen else "Name who answers",
        "preview_empty": "Name a person or a group. A group outlives the people in it.",
        "diff": _answers(asked, kept.service.label, kept.keeper),
    }
    told = f"{asked.chosen[0].label} answers for {kept.service.label}" if asked.chosen else ""
    return _form(request, asked, frame, name_keeper, told)


def _answers(asked: Among, name: str, before: Principal | None) -> Diff | None:
    if not asked.chosen:
        return None
    new, rights = asked.chosen[0], "Makes and revokes its tokens."
    if before == new:
        return Diff((DiffLine("same", new.label, f"answers for {name} already"),))
    gain = DiffLine("gain", new.label, f"answers for {name}", rights)
    if before is None:
        return Diff((gain,))
    return Diff((DiffLine("lose", before.label, f"no longer answers for {name}"), gain))


def _form(
    request: Request, asked: Among, frame: dict[str, Any], act: Callable[[Actor], Principal], told: str
) -> HttpResponse:
    notes: list[Note] = []
    if request.method == "POST" and asked.saving:
        if "name" in frame and not frame["name"]:
            asked.problems["name"] = "Give it a name."
        if asked.check_who() and not asked.problems:
            actor = Actor(asker_of(request), "console", request_id=asked.nonce)
            if done_before(actor) is not None:
                return redirect(frame["back"])
            try:
                made = act(actor)
            except PolicyError as problem:
                notes = [Note("bad", "Not saved.", f"{problem} Your form is kept.")]
            else:
                say(request, told)
                return redirect("console:service", id=made.pk)
    else:
        asked.tell_nobody()
    context = {
        **frame,
        "notes": notes,
        "here": request.path,
        "nonce": asked.nonce,
        "seen": revision_now(),
        **asked.fields(),
        "reason": asked.reason,
        "problems": asked.problems,
    }
    status = 422 if notes or (asked.problems and asked.data.get("step") == "save") else 200
    return page(request, "console/roles/assign.html", context, room="accounts", status=status)


# Disabling


@reads_and_writes
@signed_in
@admin_only
def disable(request: Request, id: int) -> HttpResponse:
    """Which tokens open nothing any more; then it is done."""
    kept = _service(request, id)
    service = kept.service
    if request.method == "POST":
        actor = Actor(kept.asker, "console", request_id=nonce_in(request))
        if done_before(actor) is None:
            account, authority = accounts.of_service(service), site_permissions.of_admin(actor)
            accounts.close(account, by=actor, authority=authority, reason=reason_in(request))
        say(request, f"{service.label} is disabled; its tokens open nothing")
        return redirect("console:service", id=id)
    good = Token.objects.filter(principal=service, revoked__isnull=True)
    many = good.count()
    opened = words.count(many, "token") if many else "no token"
    used = f"Last used {kept._used()}." if kept._used() != "Never" else "Never used."
    lines = (
        DiffLine("lose", service.label, f"can do nothing while it is disabled; it has {opened}", used),
        DiffLine("same", service.label, "keeps what it was given", "It counts again when it is enabled."),
    )
    context = {
        "heading": f"Disable {service.label}?",
        "place": "Programs that use it stop at their next call.",
        "notes": [],
        "nothing": False,
        "diff": Diff(lines),
        "nonce": secrets.token_hex(12),
        "seen": revision_now(),
        "reason": "",
        "problems": {},
        "button": f"Disable {service.label}",
        "back": reverse("console:service", args=[id]),
    }
    return page(request, "console/access/revoke.html", context, room="accounts")
