"""What all of CDAP's calls share: errors as plain text, the realm's switches, the caller's place in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from authzsite.api.cdap.problems import (
    Denied,
    Problem,
    absent,
    denied,
    disabled,
    exists,
    holder_of,
    no_entity,
)
from authzsite.api.surface import Surface, respond
from catalog.models import Mode, Realm
from catalog.nodes import Node
from catalog.queries import mode_of, realm_named, root
from lakewarden.cdap.commands import Holder
from lakewarden.law import dialects
from policies.errors import AlreadyExists, NotFound, PolicyError, Refused
from policies.record import access_log
from policies.services.cdap_instances import Instance, NoRole

VIA = "cdap"
TEXT = "text/plain; charset=utf-8"


class CdapCall(Surface):
    """A call of CDAP's.  What comes is JSON whatever type it is said to be: its own client says none."""

    http_method_names = ["get", "post", "put", "delete"]
    realm: Realm

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.realm = the_realm()
        super().initial(request, *args, **kwargs)

    @property
    def policy(self) -> str:
        """The generation of rules: 3.4, 3.5 or 4.3."""
        return str(self.realm.settings["policy"])

    @property
    def actions(self) -> Sequence[str]:
        """The actions that this generation knows."""
        return tuple(dialects.get(self.realm.law).privileges)

    @cached_property
    def root(self) -> Node:
        return root(self.realm)

    @property
    def own_entity(self) -> str:
        """The instance itself, as an entity's text."""
        return f"instance:{self.root.name}"

    def instance(self) -> Instance:
        """The CDAP as the caller meets it."""
        return Instance(self.root, by=self.caller.actor(self._request_id))

    @property
    def _request_id(self) -> str:
        return str(self.request.META.get("HTTP_X_REQUEST_ID", ""))[:64]

    @contextmanager
    def administering(self, entity: str, role: str = "") -> Iterator[Instance]:
        """Have something done for the caller; what goes wrong is said in CDAP's words."""
        try:
            yield self.instance()
        except Refused:
            raise denied(holder_of(self.caller.principal), self.policy, ["ADMIN"], entity) from None
        except NoRole as missing:
            raise absent(Holder("role", missing.name), self.policy) from None
        except NotFound:
            raise no_entity(entity) from None
        except AlreadyExists:
            raise exists(Holder("role", role), self.policy) from None
        except PolicyError as problem:
            raise Problem(400, str(problem)) from None

    def done(self) -> HttpResponse:
        """An empty answer, as CDAP's to a change."""
        return HttpResponse(status=200, content_type=TEXT)

    def _answer_to(self, exc: Exception) -> tuple[int, str, dict[str, str]]:
        if isinstance(exc, Problem):
            return exc.status, str(exc), {}
        return super()._answer_to(exc)

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # already rendered
        if isinstance(exc, APIException) and exc.status_code == 401:
            return self._who_are_you(exc)
        if isinstance(exc, Denied):
            name = f"{self.root.name}/{exc.entity}"
            access_log.refused(self.caller.principal, exc.operation, None, name=name, via=VIA)
        status, text, headers = self._answer_to(exc)
        # a refusal repeats what was sent, half characters and all
        answer = HttpResponse(text.encode(errors="replace"), status=status, content_type=TEXT)
        for name, value in headers.items():
            answer.headers[name] = value
        return answer

    def _who_are_you(self, exc: APIException) -> HttpResponse:
        body: dict[str, Any] = {"auth_uri": [self.request.build_absolute_uri(reverse("console:sign_in"))]}
        if "HTTP_AUTHORIZATION" in self.request.META:
            body |= {"error": "invalid_token", "error_description": str(exc.detail)}
        answer = respond(body, 401)
        answer.headers["WWW-Authenticate"] = 'Bearer realm="cdap"'
        return answer


class SecurityCall(CdapCall):
    """A call below `/v3/security/authorization`, which is there while both features are on."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # before who calls: with authentication off the client comes without credentials, to be told just this
        if the_realm().settings.get("authentication") == "off":
            raise disabled("authentication")
        super().initial(request, *args, **kwargs)
        if mode_of(self.realm.pk) == Mode.Choice.OFF:
            raise disabled("authorization")


class NotHere(CdapCall):
    """Any other path below CDAP's."""

    def get(self, request: Request, **_: Any) -> HttpResponse:
        raise Problem(404, f"There is no {request.path} here.")

    post = put = delete = get


def the_realm() -> Realm:
    """The realm.  Raises Problem when no CDAP of the configured name has been made."""
    realm = realm_named(settings.LAKEWARDEN_CDAP_REALM)
    if realm is None or realm.kind != Realm.Kind.CDAP:
        raise Problem(404, f"There is no CDAP named {settings.LAKEWARDEN_CDAP_REALM} here.")
    return realm
