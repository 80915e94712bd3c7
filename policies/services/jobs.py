"""Starting a job: anybody who may execute it starts it, and it runs as the account that registered it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from accounts import people, tokens
from accounts.models import Principal, Token
from accounts.tokens import Run
from catalog.models import Detail, Realm
from catalog.nodes import Node
from lakewarden.law import dialects
from policies.authority import Actor, require
from policies.decisions import ask
from policies.errors import Conflict, Refused, Unsealed
from policies.events import RUN_STARTED, TOKEN_CREATED
from policies.models import Ownership
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import object_details, realm_of
from policies.services.entities import PRINCIPAL
from policies.services.tokens import made

EXECUTE = "execute"


@dataclass(frozen=True)
class Started:
    """A run that has begun; `token` is shown this once."""

    run: Run
    runs_as: Principal
    token: str
    expires: datetime


def start(program: Node, *, by: Actor, lasting: timedelta, **about: Any) -> Started:
    """Start a run for so long at most; the record keeps what is said about it.

    Raises Refused, and Conflict when nobody stands behind it, or somebody was named past the console.
    """
    if by.principal is None:
        raise Refused(gettext("Nobody is signed in."))
    with change(RUN_STARTED, realm=realm_of(program), by=by) as current:
        answer = ask.ask(by.principal, EXECUTE, program)
        authority = require(
            answer.decision,
            by,
            otherwise=gettext("You may not start %(object)s.") % {"object": program.ref.full_name},
        )
        runs_as = _account(program)
        if runs_as is None:
            raise Conflict(
                gettext("%(object)s has no account to run as.") % {"object": program.ref.full_name}
            )
        run = Run(secrets.token_hex(6), program.realm_id, by.principal)
        expires = timezone.now() + lasting
        token = tokens.create_for_run(runs_as, run, expires=expires)
        current.say(make_event(RUN_STARTED, program, runs_as, run=run.id, **about), by=authority)
    return Started(run, runs_as, token, expires)


def token_for(run: str, program: Node, *, by: Actor) -> str:
    """Another token of a run that lasts, for starters of its program.  Raises Refused, Conflict.

    What started by itself was answered to nobody: its token is fetched by what is to run it.
    """
    if by.principal is None:
        raise Refused(gettext("Nobody is signed in."))
    with change(TOKEN_CREATED, realm=realm_of(program), by=by) as current:
        answer = ask.ask(by.principal, EXECUTE, program)
        authority = require(
            answer.decision,
            by,
            otherwise=gettext("You may not start %(object)s.") % {"object": program.ref.full_name},
        )
        first = Token.objects.filter(run=run, realm=program.realm_id, view="").order_by("pk").first()
        if (
            first is None
            or first.starter is None
            or first.revoked
            or not first.expires
            or first.expires <= timezone.now()
        ):
            raise Conflict(gettext("The job has ended."))
        same = Run(run, program.realm_id, first.starter)
        token = tokens.create_for_run(first.principal, same, expires=first.expires)
        current.say(made(first.principal, token), by=authority)
    return token


def _account(program: Node) -> Principal | None:
    """Its registrar; in a CDAP whom it, its application or namespace impersonates, or the master."""
    if not dialects.get(program.kind).by_text:
        owned = Ownership.objects.open().filter(securable=program.id).select_related("owner").first()
        return owned.owner if owned else None
    said_of = {row.pk: row for row in Detail.objects.filter(securable__in=program.lineage)}
    object_details.check_written_here(said_of.values())
    named = (said_of[key].content.get(PRINCIPAL) for key in reversed(program.lineage) if key in said_of)
    realm = Realm.objects.get(pk=program.realm_id)
    if not realm.is_sealed:
        raise Unsealed(f"realm:{realm.pk}")
    name = next(filter(None, named), realm.settings.get("master_user"))
    return people.ensure("user", name) if name else None
