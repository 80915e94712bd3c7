"""How calls are described for programs that read `/authz/v1/openapi.json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from authzsite.api.v1.fields import Answer, Listed, Text, Whole

F = TypeVar("F", bound=Callable[..., Any])
TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
MOMENT = {"type": "string", "format": "date-time"}
PRINCIPAL = {"type": "string", "examples": ["user:ana", "group:analysts", "service:etl"]}

PARAMETERS: dict[str, dict[str, Any]] = {
    "realm": TEXT,
    "for": PRINCIPAL,
    "principal": PRINCIPAL,
    "action": TEXT,
    "resource": {**TEXT, "examples": ["table:demo/shop.sales.orders", "demo/shop.sales.orders"]},
    "type": TEXT,
    "as_of": {"description": "a revision; for splits also a time", "oneOf": [WHOLE, MOMENT]},
    "view": {**TEXT, "enum": ["access", "grants", "audit", "uses", "objects"]},
    "n": {"type": "integer", "minimum": 1, "maximum": 256, "default": 1},
    "after": TEXT,
    "upto": TEXT,
    "revision": WHOLE,
    "at": MOMENT,
    "since": MOMENT,
    "kind": TEXT,
    "list": {**TEXT, "enum": ["mine", "waiting", "decided", "object"], "default": "mine"},
    "actor": TEXT,
    "format": {**TEXT, "enum": ["json", "jsonl", "csv", "ocsf"]},
    "order": {**TEXT, "enum": ["risk", "person", "object"], "default": "risk"},
    "only": TEXT,
    "all": {"type": "boolean"},
    "tree": {"type": "boolean"},
    "text": TEXT,
    "cursor": TEXT,
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
}
_BRACES = str.maketrans("", "", "{}")
"""Generators make the names of functions from these, and not all of them from braces."""
PAGED = ("cursor", "limit")
"""The parameters of a list that goes on page by page."""


class Problem(Answer):
    title = Text()
    status = Whole()
    detail = Text()


PROBLEM = OpenApiResponse(Problem, "why not, as RFC 9457 writes it")


class CallSchema(AutoSchema):
    """Calls are known by method and path; every one takes and answers JSON, for a token."""

    def get_operation_id(self) -> str:
        place = self.path.removeprefix("/authz/v1/").replace("/", "-").translate(_BRACES)
        return f"{self.method.lower()}-{place}"

    def get_tags(self) -> list[str]:
        return [self.path.split("/")[3]]

    def get_auth(self) -> list[Any]:
        return [{"token": []}]

    def map_parsers(self) -> list[Any]:
        return ["application/json"]


def described(
    summary: str,
    scope: str,
    answer: Any,
    *,
    query: Sequence[str] = (),
    body: Any = None,
    status: int = 200,
    also: Sequence[int] = (),
    others: Mapping[int, str] | None = None,
    media: str = "application/json",
) -> Callable[[F], F]:
    """What a method of a call does: its answer, its body, its parameters; `!` marks those that it needs.

    `also` are other codes that the same answer leaves with.
    """
    responses: dict[Any, Any] = {
        (code, media): OpenApiResponse(answer, "the answer") for code in (status, *also)
    }
    responses |= {code: OpenApiResponse(None, text) for code, text in (others or {}).items()}
    responses |= {(code, "application/problem+json"): PROBLEM for code in (400, 401, 403)}
    return extend_schema(
        summary=summary,
        description=f"A token with scopes needs `{scope}`.",
        parameters=[_parameter(name) for name in query],
        request=body,
        responses=responses,
    )


def _parameter(name: str) -> OpenApiParameter:
    plain = name.rstrip("!")
    return OpenApiParameter(plain, PARAMETERS[plain], "query", required=name.endswith("!"))


@cache
def page_of(item: type[Answer]) -> type[Answer]:
    """One page of a list."""
    fields = {
        "results": Listed(child=item()),
        "next": Text(allow_null=True, help_text="the cursor of the next page"),
        "__doc__": page_of.__doc__,
    }
    return type(f"{item.__name__.removesuffix('Serializer')}Page", (Answer,), fields)
