"""The calls for programs: what their OpenAPI description says, to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from authzsite.api.v1.openapi import document
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display.parts import Action
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page

SCHEMAS = "#/components/schemas/"


@dataclass(frozen=True)
class Field:
    """A parameter, or a field of a body or an answer."""

    name: str
    needed: bool
    about: str


@dataclass(frozen=True)
class Call:
    """One call as the page shows it; the texts are those of the description, in English."""

    code: str
    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    answer: tuple[Field, ...]
    statuses: str

    def has(self, folded: str) -> bool:
        return folded in f"{self.method} {self.path} {self.summary}".casefold()


@reads
@login_required
def calls_page(request: Request) -> HttpResponse:
    """Every call below `/authz/v1/` that has what is looked for."""
    text = request.GET.get("q", "").strip()[:255]
    groups: dict[str, list[Call]] = {}
    for call in _calls(document()):
        if call.has(text.casefold()):
            groups.setdefault(call.path.split("/")[3], []).append(call)
    context = {
        "heading": _("Calls for programs"),
        "lead": _("What programs can ask and change here. Each call needs a token; it takes and gives JSON."),
        "actions": [Action(_("OpenAPI description"), reverse("openapi"))],
        "asked": text,
        "groups": groups.items(),
    }
    return page(request, "console/help/calls.html", context)


def _calls(described: Mapping[str, Any]) -> Iterator[Call]:
    schemas = described["components"]["schemas"]
    for path, methods in described["paths"].items():
        for method, call in methods.items():
            parameters = call.get("parameters", ())
            answers = [call["responses"][code] for code in call["responses"] if code.startswith("2")]
            yield Call(
                call["operationId"],
                method.upper(),
                path,
                call["summary"],
                call["description"],
                tuple(Field(each["name"], each.get("required", False), "") for each in parameters),
                _fields(call.get("requestBody", {}), schemas),
                _fields(answers[0], schemas),
                ", ".join(sorted(call["responses"])),
            )


def _fields(content: Mapping[str, Any], schemas: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields of a body or an answer; none where it is no object of a known shape."""
    schema = content.get("content", {}).get("application/json", {}).get("schema", {})
    shape = schemas.get(schema.get("$ref", "").removeprefix(SCHEMAS), {})
    needed = shape.get("required", ())
    return tuple(
        Field(name, name in needed, field.get("description", ""))
        for name, field in shape.get("properties", {}).items()
    )
