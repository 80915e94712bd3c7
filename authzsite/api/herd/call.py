"""What all of Herd's calls share: the type of the answer, the form of errors, the caller's office."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from authzsite.api.herd import bodies
from authzsite.api.herd.bodies import JSON, XML
from authzsite.api.herd.body_schemas import Record
from authzsite.api.herd.context import Office, the_herd
from authzsite.api.herd.problems import Denied, Problem, information
from authzsite.api.strictjson import BadBody
from authzsite.api.surface import Surface
from policies.errors import PolicyError
from policies.record import access_log
from policies.record.change import change
from policies.services import realm_of

VIA = "herd"
READING_SCOPES = ("manage", "check", "audit")


class HerdCall(Surface):
    """A call of Herd's; answers and errors are JSON or XML, as `Accept` says, and JSON when it does not."""

    http_method_names = ["get", "post", "put", "delete"]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if _answer_type(request._request) is None:
            raise Problem(406, "The answer can be application/json or application/xml.")

    def read(self, shape: Record) -> dict[str, Any]:
        """The body.  Raises Problem for a type that is neither, BadBody for what cannot be read."""
        if self.request.content_type.partition(";")[0].strip().lower() not in (JSON, XML):
            raise Problem(415, "The body must be application/json or application/xml.")
        return bodies.read(shape, self.request._request)

    def looking(self) -> Office:
        """The caller's office, to read in.  Raises Forbidden for a token that may neither ask nor manage."""
        if not any(self.caller.covers(scope) for scope in READING_SCOPES):
            self.require_scope(READING_SCOPES[0])
        return Office(the_herd(), self.caller.actor(self._request_id), self.caller.principal)

    @contextmanager
    def changing(self, kind: str) -> Iterator[Office]:
        """The caller's office inside a change, so that what is checked is what is changed."""
        self.require_scope("manage")
        bodies.receive(self.request._request)  # nobody else waits under the lock for a slow sender
        herd, actor = the_herd(), self.caller.actor(self._request_id)
        with change(kind, realm=realm_of(herd), by=actor):
            yield Office(herd, actor, self.caller.principal)

    @property
    def _request_id(self) -> str:
        return str(self.request.META.get("HTTP_X_REQUEST_ID", ""))[:64]

    def respond(self, shape: Record, value: dict[str, Any], status: int = 200) -> HttpResponse:
        media_type = _answer_type(self.request._request) or JSON
        return HttpResponse(bodies.write(shape, value, media_type), status=status, content_type=media_type)

    def respond_each(self, shape: Record, values: Iterable[Any]) -> HttpResponse:
        """Answer a list that may be long."""
        media_type = _answer_type(self.request._request) or JSON
        return HttpResponse(bodies.write_each(shape, values, media_type), content_type=media_type)

    def _error_answer(self, exc: Exception) -> tuple[int, str, dict[str, str]]:
        if isinstance(exc, Problem):
            return exc.status, str(exc), {}
        if isinstance(exc, PolicyError):
            return 400, str(exc), {}
        if isinstance(exc, BadBody):
            return 400, f"Could not read the request: {exc}.", {}
        return self._answer_to(exc)

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # already rendered
        if isinstance(exc, Denied):
            access_log.refused_all(exc.refusals, via=VIA)
        status, text, headers = self._error_answer(exc)
        response = self.respond(bodies.ERROR, information(status, text), status)
        for name, value in headers.items():
            response.headers[name] = value
        return response


class NotHere(HerdCall):
    """Any other path below Herd's."""

    def get(self, request: Request) -> HttpResponse:
        raise Problem(404, f"There is no {request.path} here.")

    post = put = delete = get


def _answer_type(request: HttpRequest) -> str | None:
    return request.get_preferred_type([JSON, XML])
