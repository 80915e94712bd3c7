"""Why, about something that may not be seen: the refusal that programs get, in the console's words.

What is hidden and what is absent read alike: the lacks are those of any object of that name.
"""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from accounts.people import find
from authzsite.api.authzen.batch_decisions import ask
from authzsite.api.authzen.questions import Action, Entity, Question
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action as Button
from authzsite.console.kit.display.parts import Case, DiffLine, Verdict
from authzsite.console.kit.http import Request
from authzsite.console.requests.links import ask as asking
from lakewarden.law.principals import Principal as Name

SHAPES = {1: "catalog", 2: "schema", 3: "table"}
CANNOT = {
    "read": gettext_lazy("%(label)s cannot read %(name)s"),
    "write": gettext_lazy("%(label)s cannot write %(name)s"),
    "use": gettext_lazy("%(label)s cannot use %(name)s"),
    "grant": gettext_lazy("%(label)s cannot grant access to %(name)s"),
    "": gettext_lazy("%(label)s cannot do %(action)s on %(name)s"),
}
"""The heading for an action; without one, for any other."""


def answer(asker: Principal, action: str, what: str, type_: str, request: Request) -> dict[str, Any] | None:
    """The parts of the page for a question about the viewer; None where programs are told no more either."""
    realm, slash, name = what.partition("/")
    if not slash:
        return None
    type_ = type_ or SHAPES.get(name.count(".") + 1, "table")
    question = Question(Entity(asker.kind, asker.name), Action(action), Entity(type_, what))
    link = request.build_absolute_uri()
    [answer_] = ask(asker, [question], lambda _: link, now=timezone.now(), recorded=False)
    lacks = [lack for lack in answer_.context.get("missing", ()) if lack["kind"] != "object"]
    if answer_.allowed or not realm or not lacks:
        return None
    when = gettext("Answered at revision %(context)s.") % {
        "context": words.number(answer_.context["revision"])
    }
    values = {"label": asker.label, "action": action, "name": name}
    heading = str(CANNOT.get(action, CANNOT[""])) % values
    many = len(lacks)
    count = (
        gettext("One thing is missing.")
        if many == 1
        else gettext("%(many)s things are missing.") % {"many": words.spelled(many)}
    )
    text = gettext("%(lacks)s If you cannot see an object, we do not say whether it exists. %(when)s") % {
        "lacks": count,
        "when": when,
    }
    return {
        "verdict": Verdict("no", heading, text),
        "beside_heading": gettext("What would allow it"),
        "cases": [_case(lacks, asking([(type_, what, action)]))],
    }


def _case(lacks: list[dict[str, Any]], url: str) -> Case:
    owners = [item for item in (_principal(text) for text in dict.fromkeys(map(_owner, lacks))) if item]
    given = words.listed([terms.principal_name(owner) for owner in owners])
    given = given[:1].upper() + given[1:]
    text = (
        gettext("The smallest sufficient access. %(given)s can grant it.") % {"given": given}
        if owners
        else gettext("The smallest sufficient access.")
    )
    return Case(
        id="way-0",
        heading=gettext("This is missing"),
        lines=tuple(map(_line, lacks)),
        text=text,
        best=True,
        actions=(Button(gettext("Request access"), url, "primary"),),
    )


def _line(lack: dict[str, Any]) -> DiffLine:
    object_body = lack.get("object", {})
    _, _, name = object_body.get("id", "").partition("/")
    place = f"{object_body.get('type', '')} {name or object_body.get('id', '')}".strip()
    if lack["kind"] == "denied":
        return DiffLine(
            "stop",
            "",
            gettext("%(lack)s is denied on %(place)s")
            % {"lack": terms.right(lack["privilege"], object_body["type"]), "place": place},
        )
    if lack.get("privilege"):
        return DiffLine(
            "gain",
            "",
            gettext("%(lack)s on %(place)s")
            % {"lack": terms.right(lack["privilege"], object_body["type"]), "place": place},
        )
    return DiffLine(
        "gain",
        "",
        gettext("%(capitalize)s of %(place)s")
        % {"capitalize": lack["kind"].replace("_", " ").capitalize(), "place": place},
    )


def _owner(lack: dict[str, Any]) -> str:
    return str(lack.get("owner", ""))


def _principal(text: str) -> Principal | None:
    if not text:
        return None
    name = Name.parse(text)
    return find(name.kind, name.name)
